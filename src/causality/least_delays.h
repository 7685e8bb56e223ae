/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least delays that messages and collectives show between clocks, by ordered pair of clocks and
 * cell of time. This is all that the fit of the clocks needs from a trace, however long it is. Only
 * pairs that talk take room, so a thousand clocks with ten neighbours each need 10000 rows.
 */
#ifndef ICTUS_CAUSALITY_LEAST_DELAYS_H
#define ICTUS_CAUSALITY_LEAST_DELAYS_H

#include "causality/flow.h"
#include "core/idmap.h"

/* The delay of a cell in which nothing was seen. */
#define DELAY_NONE INT64_MAX

/* The row of a direction in which no message was seen. */
#define DELAY_NO_ROW UINT64_MAX

/* Two clocks a < b that talk; row[0] holds delays from a to b, row[1] from b to a. */
struct delay_pair {
    uint32_t a, b;
    uint64_t row[2];
};

struct least_delays {
    struct observer observer; /* first member */
    const uint32_t *clock_of; /* by location */
    const int64_t *values;    /* by point: the times to examine */
    uint32_t clocks, cells;   /* cells: intervals of time */
    int64_t from, length;     /* of the trace, ticks */
    double per_tick;          /* cells per tick */
    int64_t *delay, *instant; /* rows x cells; instant: midway between send and arrival */
    uint64_t *keys;           /* by row: sender x clocks + receiver */
    uint64_t row_count, row_room;
    struct idmap rows;        /* (sender, receiver) -> row */
    struct delay_pair *pairs; /* after ictusi_delays_finish(), sorted by a and b */
    uint64_t pair_count;
    int err; /* the first error of a row that could not be added */
};

/*
 * cells is the largest number of intervals of time. It is reduced if so many pairs talk that the
 * rows would take too much memory. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_delays_init(struct least_delays *delays, const uint32_t *clock_of, uint32_t clocks,
                       uint32_t cells);
void ictusi_delays_fini(struct least_delays *delays);

/* Discard what was seen. From now on examine these values, which lie in [from, to]. */
void ictusi_delays_begin(struct least_delays *delays, const int64_t *values, int64_t from,
                         int64_t to);

/* Add a delay between two clocks that ends at this time. The observer calls this. */
void ictusi_delays_add(struct least_delays *delays, uint32_t from, uint32_t to, int64_t time,
                       int64_t delay);

/*
 * Call after all delays have been added. Merges what all ranks of the team (or NULL) have seen, and
 * lists the pairs. Collective over the team. Errors: ICTUS_ERR_NOMEM, and those of the team; the
 * same on all ranks.
 */
int ictusi_delays_finish(struct least_delays *delays, struct team *team);

/* The least delay of a row in the whole trace, or DELAY_NONE. */
int64_t ictusi_delays_least(const struct least_delays *delays, uint64_t row);

/* Half the least round trip of a pair in ticks, or a negative number if it is unknown. */
double ictusi_delays_half_trip(const struct least_delays *delays, const struct delay_pair *pair);

/*
 * One constant per clock, ticks, to be added to its times: the least-squares solution over all
 * pairs that talk both ways, where each pair contributes the middle of the interval that both
 * directions allow. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_delays_constants(const struct least_delays *delays, double *constants);

#endif
