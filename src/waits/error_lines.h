/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the difference of two clocks may be over a stretch of time, if it is a straight line there:
 * all lines that no delay contradicts.
 */
#ifndef ICTUS_WAITS_ERROR_LINES_H
#define ICTUS_WAITS_ERROR_LINES_H

#include "core/envelope.h"

#include <stdint.h>

/* The least delays in both directions by cell of time, and the range of cells that is used. */
struct delay_cells {
    const int64_t *forth, *back; /* ticks; the difference lies in [-back, forth] */
    uint32_t from, to;           /* the stretch: cells from <= i < to */
    double drift;                /* ticks: the most by which a line rises or falls in the stretch */
    /* position of the knot, in cells; ticks by which bounds widen per cell away from it */
    double near, apart;
};

/*
 * Moments over all lines of a stretch, taken as equally likely: ticks at its beginning and at its
 * end.
 */
struct line_spread {
    double mean[2];
    double square[2], product; /* variances, covariance */
};

/* Work space, which is reused for one stretch after the other. */
struct error_lines {
    struct bounds bounds;
    struct envelope envelope;
    double drift;
};

/* Call ictusi_error_lines_fini() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_error_lines_init(struct error_lines *lines, uint32_t cells);
void ictusi_error_lines_fini(struct error_lines *lines);

/*
 * Load a stretch. Returns the room between the bounds at the best line, ticks. If it is negative,
 * no line fits, and each bound would have to give way by half of it.
 */
double ictusi_error_lines_margin(struct error_lines *lines, const struct delay_cells *cells);

/*
 * The spread of lines in the loaded stretch, with each bound narrowed by `shrink`, which must be
 * less than half of the margin.
 */
struct line_spread ictusi_error_lines_spread(const struct error_lines *lines, double shrink);

#endif
