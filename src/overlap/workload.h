/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation that needs no timer: so many units of work, found by bisection to take so long (H08
 * section 4.1, steps 2 and 3).
 */
#ifndef ICTUS_OVERLAP_WORKLOAD_H
#define ICTUS_OVERLAP_WORKLOAD_H

#include "clock/source.h"

#include <ictus/overlap.h>
#include <stddef.h>
#include <stdint.h>

struct workload {
    enum ictus_kernel kernel;
    volatile double result; /* volatile: the work must not be optimised away */
    double *memory;         /* of the memory-bound kernel */
    size_t place;
};

/* Errors: ICTUS_ERR_NOMEM. */
int ictusi_workload_init(struct workload *work, enum ictus_kernel kernel);

void ictusi_workload_fini(struct workload *work);

/* Do so many units. */
void ictusi_workload_do(struct workload *work, int64_t units);

/* How long so many units take: the median of a few runs, in ns. */
double ictusi_workload_time(struct workload *work, const struct source *source, int64_t units);

/*
 * The units that take target_ns on this process, within a hundredth where the source resolves it.
 * Errors: ICTUS_ERR_CORRUPT where twice the units do not take about twice the time.
 */
int ictusi_workload_find(struct workload *work, const struct source *source, double target_ns,
                         int64_t *units);

#endif
