/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory the processes of a replay go through before they arrive, so that the calls that
 * were recorded take as long as they did in the application.
 */
#ifndef ICTUS_BENCH_FOOTPRINT_H
#define ICTUS_BENCH_FOOTPRINT_H

#include <stdint.h>

/* Numbers of bytes that are tried, in ascending order. */
enum { FOOTPRINT_LEVELS = 8 };
extern const int64_t ictusi_footprint_levels[FOOTPRINT_LEVELS];

/*
 * The footprint with which a call takes the target, in bytes, a multiple of a cache line. took has
 * the median at each level, in the unit of the target; all are positive. More memory never makes a
 * call faster, so medians that say so are averaged (their logarithms; Ayer and others 1955).
 * Between two levels the line through their logarithms counts; beyond all of them, the nearest
 * level does, the smallest of equal ones.
 */
int64_t ictusi_footprint_find(const double took[FOOTPRINT_LEVELS], double target);

#endif
