/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bare counter of this machine's processor, and whether all processes here read the same one.
 * Two processes that do know each other's time: what an exchange of its readings shows is not
 * their offset, which is 0, but how much their two ways differ.
 */
#ifndef ICTUS_CLOCK_COUNTER_H
#define ICTUS_CLOCK_COUNTER_H

#include "clock/source.h"

#include <stdbool.h>
#include <stdint.h>

/* The counter and CLOCK_MONOTONIC_RAW, read at one moment. */
struct counter_pair {
    uint64_t ticks;
    int64_t ns;
};

/* Whether the processor promises a counter that neither stops nor changes its rate. */
bool ictusi_counter_invariant(void);

/* The tightest of several readings of both. */
struct counter_pair ictusi_counter_pair(void);

/* Nanoseconds of a tick, by what passed since `then`; 0 where too little did. */
double ictusi_counter_tick_ns(const struct counter_pair *then);

/*
 * A name that two processes have in common if and only if they run on one kernel which itself keeps
 * time by the counter, so that it has found it alike on all cores; 0: nothing is promised.
 */
uint64_t ictusi_counter_name(void);

/* A source of bare ticks, not in the registry; NULL where there is no counter. */
const struct source *ictusi_counter_source(void);

#endif
