/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least delays that messages and collectives show between clocks: by ordered pair of clocks and
 * stretch of time. All that the fit of clocks needs of a trace, however long it is.
 */
#ifndef ICTUS_CAUSALITY_LEAST_DELAYS_H
#define ICTUS_CAUSALITY_LEAST_DELAYS_H

#include "causality/flow.h"

/* More clocks than this are left as they are. */
enum { DELAYS_CLOCKS_MAX = 2048 };

/* Where nothing was seen. */
#define DELAY_NONE INT64_MAX

struct least_delays {
    struct observer observer; /* first member */
    const struct history *history;
    const uint32_t *clock_of; /* by location */
    const int64_t *values;    /* of the points: the times that are looked at */
    uint32_t clocks, cells;   /* cells: of time */
    int64_t from, length;     /* of the trace, ticks */
    double per_tick;          /* cells */
    int64_t *delay, *instant; /* clocks x clocks x cells, sender first; instant: of the middle */
    uint64_t count;
};

/* At most that many cells of time. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_UNSUPPORTED (clocks). */
int ictusi_delays_init(struct least_delays *delays, const struct history *history,
                       const uint32_t *clock_of, uint32_t clocks, uint32_t cells);
void ictusi_delays_fini(struct least_delays *delays);

/* Forget what was seen; then look at these values, which lie in [from, to]. */
void ictusi_delays_begin(struct least_delays *delays, const int64_t *values, int64_t from,
                         int64_t to);

/* The least delay of an ordered pair in the whole trace, or DELAY_NONE. */
int64_t ictusi_delays_least(const struct least_delays *delays, uint32_t from, uint32_t to);

/* Half the least round trip of a pair in ticks, or a negative number where it is unknown. */
double ictusi_delays_half_trip(const struct least_delays *delays, uint32_t a, uint32_t b);

/*
 * One constant a clock, ticks, to be added to its times: the middle of what both directions allow,
 * least squares over all pairs that talk both ways. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_delays_constants(const struct least_delays *delays, double *constants);

#endif
