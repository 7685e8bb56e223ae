/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduces the samples of all processes in a batch to one number for each repetition, in each of the
 * reductions.
 */
#ifndef ICTUS_BENCH_REDUCE_H
#define ICTUS_BENCH_REDUCE_H

#include "bench/scheme.h"

/* The repetitions of one experiment, collected on rank 0. */
struct collection {
    int64_t n;                        /* valid repetitions; the same on all processes */
    int64_t invalid;                  /* invalid ones; the same on all processes */
    int64_t capacity;                 /* length of the arrays */
    double *values[ICTUS_REDUCTIONS]; /* seconds; rank 0 only */
    bool keep_ranks;                  /* whether to collect the times of every process as well */
    double *ranks_s;                  /* n times the number of processes; rank 0 only */
};

/*
 * Reduce one batch and append it. Collective over the scheme's communicator, outside of any timing.
 * Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI, the same on all processes.
 */
int ictusi_reduce_batch(const struct scheme *scheme, const struct call *call,
                        const struct sample *samples, int64_t n, struct collection *all);

void ictusi_reduce_collection_fini(struct collection *all);

#endif
