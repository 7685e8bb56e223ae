/* SPDX-License-Identifier: BSD-3-Clause */
/* From every process's samples of a batch to one number a repetition, in each of the reductions. */
#ifndef ICTUS_BENCH_REDUCE_H
#define ICTUS_BENCH_REDUCE_H

#include "bench/scheme.h"

/* Repetitions of one experiment, collected on rank 0. */
struct collection {
    int64_t n;                        /* valid ones; the same on all processes */
    int64_t invalid;                  /* likewise */
    int64_t capacity;                 /* of the arrays */
    double *values[ICTUS_REDUCTIONS]; /* seconds; rank 0 only */
    bool keep_ranks;                  /* collect every process's times as well */
    double *ranks_s;                  /* n times processes; rank 0 only */
};

/*
 * Reduce one batch and append it. Collective over the scheme's communicator; outside of any timing.
 * Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI, the same on all processes.
 */
int ictusi_reduce_batch(const struct scheme *scheme, const struct call *call,
                        const struct sample *samples, int64_t n, struct collection *all);

void ictusi_reduce_collection_fini(struct collection *all);

#endif
