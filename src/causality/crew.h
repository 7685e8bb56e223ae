/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads that work through a list of jobs. */
#ifndef ICTUS_CAUSALITY_CREW_H
#define ICTUS_CAUSALITY_CREW_H

#include <stdint.h>

/* A sensible number of threads: one for each processor that this process may use, at most 8. */
int ictusi_crew_size(void);

/*
 * Run each job below count once. The threads, including the caller, take the jobs in order, so long
 * ones should come first. Returns when all are done. If some threads cannot be created, the others
 * do all the work.
 */
void ictusi_crew_run(int threads, uint32_t count, void (*job)(void *self, uint32_t number),
                     void *self);

#endif
