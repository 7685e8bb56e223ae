/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bare time stamp counter of the processor, and a test whether two processes read the same one.
 * Two processes that read the same counter have an offset of exactly 0. An exchange of counter
 * readings between them therefore measures the asymmetry of the path and not an offset.
 */
#ifndef ICTUS_CLOCK_COUNTER_H
#define ICTUS_CLOCK_COUNTER_H

#include "clock/source.h"

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_MONOTONIC_RAW and the counter, read at the same moment. */
struct counter_pair {
    uint64_t ticks;
    int64_t ns;
};

/* Return whether the processor promises that the counter neither stops nor changes its rate. */
bool ictusi_counter_invariant(void);

/* Read both clocks several times and return the pair with the smallest uncertainty. */
struct counter_pair ictusi_counter_pair(void);

/* Return the ns per tick since `then`, or 0 if too little time has passed to measure it. */
double ictusi_counter_tick_ns(const struct counter_pair *then);

/*
 * Return a name that two processes share if and only if they run on the same kernel and that kernel
 * keeps time by the counter, which means that it has found the counters of all cores to agree.
 * Return 0 if nothing is promised.
 */
uint64_t ictusi_counter_name(void);

/* Return a source that reads bare ticks. It is not in the registry. NULL if there is no counter. */
const struct source *ictusi_counter_source(void);

#endif
