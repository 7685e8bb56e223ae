/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hard bound. True time minus the local clock differs from the offset of every exchange by at
 * most half its delay, whatever the asymmetry of the path, plus the distance to the truth that the
 * server states in that reply. Between exchanges the interval widens by the possible frequencies.
 * They are within +-200 ppm of nominal. They are also within +-wander of their own mean over any
 * part of the last hour, and earlier exchanges bound that mean. Pure; no statistics.
 *
 * An exchange that contradicts the others means that a promise was broken, either before or now.
 * Until it is known which, both are kept, and the interval is their hull.
 */
#ifndef ICTUS_LOCK_BOUND_H
#define ICTUS_LOCK_BOUND_H

#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOUND_ANCHORS = 24 };

struct bound_anchor {
    int64_t at;
    double low_ns, high_ns;
};

/* Exchanges that are consistent with each other. */
struct bound_track {
    int64_t at;
    double low_ns, high_ns;     /* interval of true time - local - origin at `at` */
    double rate_low, rate_high; /* ns/s */
    struct bound_anchor anchors[BOUND_ANCHORS];
    int count; /* of anchors */
    bool started;
};

struct bound {
    int64_t origin_ns; /* offsets are relative to this */
    double wander;     /* ns/s */
    bool started;
    struct bound_track kept, suspect;
    int against;     /* consecutive polls that contradict what is kept */
    uint64_t broken; /* how often exchanges contradicted each other */
};

void ictusi_bound_init(struct bound *b, double wander);

/* Add the exchanges of one poll. The third consecutive poll that contradicts what is kept
 * replaces it. @return false if an exchange contradicted */
bool ictusi_bound_add(struct bound *b, const struct sample *samples, size_t count);

/* Accept the new exchanges and drop the old ones, because a clock was set. */
void ictusi_bound_believe(struct bound *b);

/* Forget everything, because the clocks were set. */
void ictusi_bound_reset(struct bound *b);

/* Return the interval at a local instant. */
void ictusi_bound_at(const struct bound *b, int64_t local, double *low_ns, double *high_ns);

/* Return the range of possible frequencies relative to the local clock (ns/s). */
void ictusi_bound_rate(const struct bound *b, double *low, double *high);

#endif
