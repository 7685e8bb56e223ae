/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What two clocks' difference may be over a stretch of time, if it is a straight line there: all
 * lines that no delay contradicts.
 */
#ifndef ICTUS_WAITS_ERROR_LINES_H
#define ICTUS_WAITS_ERROR_LINES_H

#include "core/envelope.h"

#include <stdint.h>

/* Least delays both ways, cell by cell of time, and which of the cells are looked at. */
struct delay_cells {
    const int64_t *forth, *back; /* ticks; the difference lies in [-back, forth] */
    uint32_t from, to;           /* the stretch: cells from <= i < to */
    double drift;                /* ticks: lines rise or fall by so much in the stretch at most */
    double near, apart;          /* a cell; ticks that bounds are wider for each cell from there */
};

/* Of all lines of a stretch, as likely as each other: ticks at its beginning and at its end. */
struct line_spread {
    double mean[2];
    double square[2], product; /* variances, covariance */
};

/* Room for one stretch after the other. */
struct error_lines {
    struct bounds bounds;
    struct envelope envelope;
    double drift;
};

/* Errors: ICTUS_ERR_NOMEM. Released by ictusi_error_lines_fini(), after errors too. */
int ictusi_error_lines_init(struct error_lines *lines, uint32_t cells);
void ictusi_error_lines_fini(struct error_lines *lines);

/*
 * Take a stretch over. Returns what is left between the bounds where the best line is, ticks;
 * negative: no line fits, and bounds would have to give way by half of that each.
 */
double ictusi_error_lines_margin(struct error_lines *lines, const struct delay_cells *cells);

/* Of the stretch taken over, with bounds that are narrower by `shrink` each; less than half of its
 * margin. */
struct line_spread ictusi_error_lines_spread(const struct error_lines *lines, double shrink);

#endif
