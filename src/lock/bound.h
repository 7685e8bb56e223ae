/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hard bound: the true offset lies within half the delay of every exchange's offset, whatever
 * the asymmetry of the path. Between exchanges the interval widens by what the frequency may be:
 * within +-200 ppm of nominal, and within +-wander of its own mean over any stretch of the last
 * hour, which earlier exchanges enclose. Pure; no statistics.
 */
#ifndef ICTUS_LOCK_BOUND_H
#define ICTUS_LOCK_BOUND_H

#include "sample.h"

#include <stdbool.h>
#include <stdint.h>

enum { BOUND_ANCHORS = 24 };

struct bound_anchor {
    int64_t at;
    double low_ns, high_ns;
};

struct bound {
    int64_t origin_ns; /* offsets are relative to this */
    int64_t at;
    double low_ns, high_ns;     /* the true offset minus origin at `at` */
    double rate_low, rate_high; /* ns/s */
    double wander;              /* ns/s */
    struct bound_anchor anchors[BOUND_ANCHORS];
    int count; /* of anchors */
    bool started;
    uint64_t broken; /* how often exchanges contradicted each other: a clock was set */
};

void ictusi_bound_init(struct bound *b, double wander);

/* Intersect with one exchange. @return false when it contradicts the others: then starts over */
bool ictusi_bound_add(struct bound *b, const struct sample *sample);

/* Forget everything: the clocks were set. */
void ictusi_bound_reset(struct bound *b);

/* The interval carried to an instant not before the last exchange. */
void ictusi_bound_at(const struct bound *b, int64_t local, double *low_ns, double *high_ns);

#endif
