/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated job for code that calls MPI by its own names. Its barrier may be planted: ranks leave
 * it at instants that the test chooses.
 */
#ifndef ICTUS_TESTS_JOB_NAMES_H
#define ICTUS_TESTS_JOB_NAMES_H

#include "job.h"

enum { NAMED_RANKS = 5, NAMED_BARRIERS = 1024, NAMED_LATENCY_NS = 1000 };

/* By rank, or by number of the barrier. */
struct named_barriers {
    int turn[NAMED_RANKS]; /* so many barriers came a rank through */
    int64_t last_entry[NAMED_BARRIERS], first_entry[NAMED_BARRIERS];
    /* A rank leaves so long after the last entry; 0: when messages let it. */
    int64_t over_ns;
    int64_t stagger_ns[NAMED_RANKS]; /* and rank r barrier k so much later: (r + k) modulo ranks */
};

extern struct named_barriers named_barriers;

/* What synchronises such a job well enough. */
extern const char named_clock[];

/* Run a job of NAMED_RANKS ranks on as many quiet nodes, which lose their cores as often; 0: never.
 */
void named_job_run(void (*rank_main)(int rank, void *context), void *context, double away_every_s);

#endif
