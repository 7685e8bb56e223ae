/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a fit of the clocks of a session. The model is fitted on one rank, the leader, but
 * all ranks observe the trace for it.
 */
#ifndef ICTUS_CORRECT_FITTING_H
#define ICTUS_CORRECT_FITTING_H

#include "correct/clock_fit.h"

/* The largest number of knots: 49 are the ends of 48 cells of time. */
enum { FITTING_CELLS = 48, FITTING_KNOTS_MANY = 49 };

struct fitting {
    struct clock_source source; /* first member */
    struct clock_fit *fit;
    struct session *session;
    struct least_delays delays;
    int64_t *constants; /* by clock, ticks: added before anything else */
    double worst;       /* the largest violation before anything was done, us */
    int64_t from, to;   /* the span of the times, including the constants */
    double us_per_tick;
};

/* The first location of a clock that has offsets, or LAYOUT_NONE; it represents the clock. */
uint32_t ictusi_fitting_spokesman(const struct session *session, uint32_t unit);

/* The clock that shows the time: the first one with offsets, or the first one. */
uint32_t ictusi_fitting_reference(const struct session *session);

/* Set the session's maps of all clocks. Errors: ICTUS_ERR_NOMEM. */
int ictusi_fitting_set_maps(struct fitting *fitting);

/* Observe all delays with these values as times, from one instant to another. Collective. */
int ictusi_fitting_look_at(struct fitting *fitting, const int64_t *values, int64_t from,
                           int64_t to);

/* The same, with the times corrected by the jumps and the model's phi. Collective. */
int ictusi_fitting_look_again(struct fitting *fitting);

/* The leader tells the others its phi, and whether they are to look again. Collective. */
int ictusi_fitting_share_phi(struct fitting *fitting, uint64_t *more);

#endif
