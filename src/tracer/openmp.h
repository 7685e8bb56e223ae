/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel regions and barriers of OpenMP, where its library offers OMPT. The thread that forks a
 * region gives it a number and decides whether it is recorded at all; each member of its team
 * records when it begins and ends there. Who the members were is known once all have been there: it
 * is logged when it differs from the last region of that thread with as many.
 */
#ifndef ICTUS_TRACER_OPENMP_H
#define ICTUS_TRACER_OPENMP_H

#include <ictus/api.h>

struct ompt_tool;
struct recorder;

/* Recording of this thread is about to be switched off: leave what it has entered. */
void ictusi_openmp_muted(struct recorder *recorder);

/*
 * Recording has ended in all threads: those that wait for the next region, of which OpenMP says
 * that only then the last one ends, left the last one when all its members had come.
 */
void ictusi_openmp_finish(void);

/* What OpenMP's library calls, before anything else, to find the one tool that it will talk to. */
ICTUS_API struct ompt_tool *ompt_start_tool(unsigned version, const char *runtime);

/* Forget whom a recorder's thread has worked with. */
void ictusi_openmp_forget(struct recorder *recorder);

#endif
