/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads that share a row of jobs. */
#ifndef ICTUS_CAUSALITY_CREW_H
#define ICTUS_CAUSALITY_CREW_H

#include <stdint.h>

/* As many threads as are sensible here: one for each processor that we may use, at most 8. */
int ictusi_crew_size(void);

/*
 * Do each job below count once. Threads, of which the caller is one, take them in order, so that
 * long ones should come first. Returns when all are done; where threads cannot be made, those that
 * there are do all.
 */
void ictusi_crew_run(int threads, uint32_t count, void (*job)(void *self, uint32_t number),
                     void *self);

#endif
