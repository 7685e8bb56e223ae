/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks compared through a counter that their processes share. Each process reads its clock
 * between two readings of the counter, many times in a row. Where two clocks stand at one value of
 * the counter is the difference between them, and no message is involved. Messages decide whether
 * the counter is shared at all: a difference that no message between the two allows is refused.
 * They also remain the only source of hard bounds. docs/mesh.md, "A counter that clocks share".
 */
#ifndef ICTUS_CORE_CALIBRATION_H
#define ICTUS_CORE_CALIBRATION_H

#include "core/mesh.h"
#include "core/stamp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CALIBRATION_READINGS = 256, /* of a series: about 20 us */
    CALIBRATION_MEETINGS = 128, /* of a pair after a burst, at most */
    CALIBRATION_SWEEPS_MAX = 16 /* as MESH_SWEEPS_MAX */
};

/* One reading of a clock, in ns, between two of the counter, in ticks. */
struct calibration_reading {
    int64_t before, clock, after;
};

/* Where a clock stands at one value of the counter. */
struct calibration_point {
    int64_t ticks;
    int64_t clock;     /* ns, whole part */
    double frac;       /* ns, fraction */
    double sigma_ns;   /* of the clock at this value of the counter */
    double bracket_ns; /* shortest time between two readings of the counter */
    double ns_per_tick;
    double rate_sigma; /* relative, of ns_per_tick; INFINITY: unknown */
};

/* The clocks of both processes of a pair, at nearly the same moment. */
struct calibration_pair {
    struct calibration_point client, server;
};

/* A burst of exchanges and what the counter showed right after it, in one or several meetings. */
struct calibration_burst {
    const struct stamp *stamps;
    size_t n;
    const struct calibration_pair *seen;
    int meetings; /* up to CALIBRATION_MEETINGS */
};

/*
 * Evaluate a series of CALIBRATION_READINGS readings. earlier: a point of the same clock, from
 * which its rate follows; NULL: none yet, and the rate stays unknown. Errors: ICTUS_ERR_SAMPLES (a
 * clock too coarse for this), ICTUS_ERR_CLOCK (clock or counter ran backwards).
 */
int ictusi_calibration_point(const struct calibration_reading *readings,
                             const struct calibration_point *earlier,
                             struct calibration_point *point);

/* Return the standard deviation, in ns, of the offset that a pair of points shows. INFINITY if they
 * show none. */
double ictusi_calibration_sigma(const struct calibration_pair *pair);

/*
 * Replace the offsets of a pair's edges, one for each of `count` (1 to CALIBRATION_SWEEPS_MAX)
 * bursts, by those that the counter showed. On input the edges are what the messages of these
 * bursts showed. Either all are replaced or none, since the two ways leave different systematic
 * errors, which cancel in a drift only if all bursts have the same one. None are if one of them
 * contradicts its messages, or if the messages know the offset better. The half-widths remain
 * those of the messages. Return whether the edges were replaced.
 */
bool ictusi_calibration_replace(const struct calibration_burst *bursts, int count,
                                struct mesh_edge *edges);

#endif
