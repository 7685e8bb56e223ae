/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel regions and barriers of OpenMP, if its library supports OMPT. The thread that forks a
 * region numbers it and decides whether it is recorded at all. Each member of its team records when
 * it begins and ends there. The members are known once all have taken part. They are logged if they
 * differ from those of the thread's last region with the same number of members.
 */
#ifndef ICTUS_TRACER_OPENMP_H
#define ICTUS_TRACER_OPENMP_H

#include <ictus/api.h>

struct ompt_tool;
struct recorder;

/* Recording of this thread is about to be switched off: leave what it has entered. */
void ictusi_openmp_muted(struct recorder *recorder);

/*
 * Recording has ended in all threads. OpenMP reports the end of a region to waiting threads only
 * when the next region begins. For the last region, they are recorded as having left when all
 * members had arrived.
 */
void ictusi_openmp_finish(void);

/* Called by the OpenMP library, before anything else, to find the one tool that it will use. */
ICTUS_API struct ompt_tool *ompt_start_tool(unsigned version, const char *runtime);

/* Forget the teams of a recorder's thread. */
void ictusi_openmp_forget(struct recorder *recorder);

#endif
