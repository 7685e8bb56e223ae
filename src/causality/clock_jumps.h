/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks that jump: a clock that was set, or that stood still. No line and no walk of the frequency
 * follows that, so jumps are found and removed before clocks are fitted. One is taken only if the
 * messages of several stretches of time on both sides, both ways, say so.
 */
#ifndef ICTUS_CAUSALITY_CLOCK_JUMPS_H
#define ICTUS_CAUSALITY_CLOCK_JUMPS_H

#include "causality/least_delays.h"

/* Another clock that shows a jump: how far b was ahead of a before it, ticks. */
struct jump_witness {
    uint32_t a, b;
    double level, slope; /* at the jump's centre; per tick */
    double half;         /* half a round trip */
};

struct clock_jump {
    uint32_t clock;
    double size;      /* how far the clock jumped ahead, ticks */
    double error;     /* standard error of the size */
    int64_t from, to; /* it happened between these instants of the common time */
};

/* A jump that was found, and who shows it. */
struct jump_finding {
    struct clock_jump jump;
    int64_t centre;
    bool gradual; /* it takes its time: rates changed, and the clock did not jump */
    struct jump_witness *witnesses; /* room for one per clock */
    uint32_t count;
};

/*
 * Find the largest jump that the delays show. reference: the clock that shows the time. Of two
 * clocks that nobody else tells apart, the other one jumped; the reference itself seems to jump if
 * all others did. least: the smallest jump to look for, ticks. finding->witnesses must have room
 * for one per clock. *found tells whether there is any. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_clock_jump_find(const struct least_delays *delays, uint32_t reference, double least,
                           struct jump_finding *finding, bool *found);

/*
 * Narrow down when a jump happened, by delays that were collected between jump.from and jump.to.
 * Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_clock_jump_place(const struct least_delays *delays, struct jump_finding *finding);

/*
 * Improve the size of a jump by the delays that are seen with it removed. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_clock_jump_rest(const struct least_delays *delays, struct clock_jump *jump);

#endif
