/* SPDX-License-Identifier: BSD-3-Clause */
/* The minimum delay mu(k, i) of B07: per ordered pair of units (processes or nodes), in ticks. */
#ifndef ICTUS_CAUSALITY_LATENCY_H
#define ICTUS_CAUSALITY_LATENCY_H

#include <stdint.h>

/*
 * With more units than this, no table is kept, since it grows with their square: all pairs get the
 * least delay.
 */
enum { LATENCY_UNITS_MAX = 2048 };

struct latency {
    uint32_t units;
    const uint32_t *unit_of;    /* by location */
    const uint32_t *process_of; /* by location */
    int64_t *table;             /* units x units, sender first; NULL: all pairs have the least */
    int64_t least;              /* for collectives: no pair of processes has less */
    int64_t thread;             /* between the threads of one process */
};

static inline int64_t latency_of(const struct latency *latency, uint32_t from, uint32_t to)
{
    if (latency->process_of[from] == latency->process_of[to]) {
        return latency->thread;
    }
    return latency->table ? latency->table[(uint64_t)latency->unit_of[from] * latency->units +
                                           latency->unit_of[to]]
                          : latency->least;
}

#endif
