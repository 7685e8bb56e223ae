/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least delays that messages and collectives show between clocks: by ordered pair of clocks and
 * stretch of time. All that the fit of clocks needs of a trace, however long it is. Only pairs that
 * talk take room, so that a thousand clocks of which each has ten neighbours need 10000 rows.
 */
#ifndef ICTUS_CAUSALITY_LEAST_DELAYS_H
#define ICTUS_CAUSALITY_LEAST_DELAYS_H

#include "causality/flow.h"
#include "core/idmap.h"

/* Where nothing was seen. */
#define DELAY_NONE INT64_MAX

/* Of a direction in which nobody talks. */
#define DELAY_NO_ROW UINT64_MAX

/* Two clocks a < b that talk; row[0]: of the delays from a to b, row[1]: from b to a. */
struct delay_pair {
    uint32_t a, b;
    uint64_t row[2];
};

struct least_delays {
    struct observer observer; /* first member */
    const uint32_t *clock_of; /* by location */
    const int64_t *values;    /* of the points: the times that are looked at */
    uint32_t clocks, cells;   /* cells: of time */
    int64_t from, length;     /* of the trace, ticks */
    double per_tick;          /* cells */
    int64_t *delay, *instant; /* rows x cells; instant: of the middle */
    uint64_t *keys;           /* by row: sender x clocks + receiver */
    uint64_t row_count, row_room;
    struct idmap rows;        /* of sender and receiver */
    struct delay_pair *pairs; /* after ictusi_delays_finish(), by a and b */
    uint64_t pair_count;
    int err; /* of a row that found no room */
};

/*
 * At most that many cells of time: fewer where so many pairs talk that rows would take too much
 * memory. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_delays_init(struct least_delays *delays, const uint32_t *clock_of, uint32_t clocks,
                       uint32_t cells);
void ictusi_delays_fini(struct least_delays *delays);

/* Forget what was seen; then look at these values, which lie in [from, to]. */
void ictusi_delays_begin(struct least_delays *delays, const int64_t *values, int64_t from,
                         int64_t to);

/* A delay between two clocks that arrives at this time: what the observer does. */
void ictusi_delays_add(struct least_delays *delays, uint32_t from, uint32_t to, int64_t time,
                       int64_t delay);

/*
 * After looking: what all ranks of the team (or NULL) have seen, and list the pairs. Collective
 * over the team. Errors: ICTUS_ERR_NOMEM, the team's; the same on all ranks.
 */
int ictusi_delays_finish(struct least_delays *delays, struct team *team);

/* The least delay of a row in the whole trace, or DELAY_NONE. */
int64_t ictusi_delays_least(const struct least_delays *delays, uint64_t row);

/* Half the least round trip of a pair in ticks, or a negative number where it is unknown. */
double ictusi_delays_half_trip(const struct least_delays *delays, const struct delay_pair *pair);

/*
 * One constant a clock, ticks, to be added to its times: the middle of what both directions allow,
 * least squares over all pairs that talk both ways. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_delays_constants(const struct least_delays *delays, double *constants);

#endif
