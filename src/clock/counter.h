/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bare time stamp counter of the processor, and a test whether two processes read the same one.
 * Processes that read the same counter can compare their clocks through it, without messages
 * (core/calibration.h).
 */
#ifndef ICTUS_CLOCK_COUNTER_H
#define ICTUS_CLOCK_COUNTER_H

#include "clock/source.h"
#include "core/calibration.h"

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

/*
 * Return a name that two processes share if and only if they run on the same kernel and that kernel
 * keeps time by the counter, which means that it has found the counters of all cores to agree.
 * Return 0 if nothing is promised.
 */
uint64_t ictusi_counter_name(void);

/* Read a source `count` times in a row, each time between two readings of the counter. */
void ictusi_counter_bracket(const struct source *source, struct calibration_reading *readings,
                            int count);

#endif
