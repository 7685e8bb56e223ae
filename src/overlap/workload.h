/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation that needs no timer: a number of units of work that takes a given time, found by
 * bisection (H08 section 4.1, steps 2 and 3).
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
    double *memory;         /* of the memory kernel */
    size_t place;
};

/* Errors: ICTUS_ERR_NOMEM. */
int ictusi_workload_init(struct workload *work, enum ictus_kernel kernel);

void ictusi_workload_fini(struct workload *work);

/* Do this many units of work. */
void ictusi_workload_do(struct workload *work, int64_t units);

/* How long this many units take: the median of a few runs, in ns. */
double ictusi_workload_time(struct workload *work, const struct source *source, int64_t units);

/*
 * Find the number of units that take target_ns on this process, within one percent if the source
 * resolves that. Errors: ICTUS_ERR_CORRUPT if twice the units do not take about twice the time.
 */
int ictusi_workload_find(struct workload *work, const struct source *source, double target_ns,
                         int64_t *units);

#endif
