/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hard bound: true time minus the local clock lies within half the delay of every exchange's
 * offset, whatever the asymmetry of the path, plus what the server said in that very reply of its
 * own distance to the truth. Between exchanges the interval widens by what the frequency may be:
 * within +-200 ppm of nominal, and within +-wander of its own mean over any stretch of the last
 * hour, which earlier exchanges enclose. Pure; no statistics.
 *
 * An exchange that contradicts the others means that a promise was broken, before or now. Until it
 * is known which, both are kept and the interval is their hull.
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

/* Exchanges that agree with one another. */
struct bound_track {
    int64_t at;
    double low_ns, high_ns;     /* true time minus local minus origin at `at` */
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
    int against;     /* groups in a row that contradict what is kept */
    uint64_t broken; /* how often exchanges contradicted each other */
};

void ictusi_bound_init(struct bound *b, double wander);

/*
 * Take the exchanges of one poll in. The third poll in a row that contradicts what is kept
 * replaces it. @return false when one contradicted
 */
bool ictusi_bound_add(struct bound *b, const struct sample *samples, size_t count);

/* The new exchanges are believed and the old ones not: a clock was set. */
void ictusi_bound_believe(struct bound *b);

/* Forget everything: the clocks were set. */
void ictusi_bound_reset(struct bound *b);

/* The interval carried to an instant. */
void ictusi_bound_at(const struct bound *b, int64_t local, double *low_ns, double *high_ns);

/* What the frequency may be, relative to the local clock (ns/s). */
void ictusi_bound_rate(const struct bound *b, double *low, double *high);

#endif
