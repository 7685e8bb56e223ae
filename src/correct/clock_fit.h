/* SPDX-License-Identifier: BSD-3-Clause */
/* Refines the clocks of a session by means of its messages. */
#ifndef ICTUS_CORRECT_CLOCK_FIT_H
#define ICTUS_CORRECT_CLOCK_FIT_H

#include "causality/clock_choice.h"
#include "causality/clock_jumps.h"
#include "correct/session.h"

/* The chosen model, for the report. */
struct clock_fit {
    struct clock_model model;
    struct clock_choice choice;
    struct clock_jump *jumps; /* what clocks jumped by, beside the model's phi */
    uint32_t jump_count;
    bool tried;
    uint32_t *clock_of;     /* by location */
    uint32_t thread_clocks; /* how many of the clocks belong to single threads */
    /* first and last knot of the model; what was added to all times later */
    int64_t from, to, raised;
    double us_per_tick;
};

/*
 * Fit clocks to the messages, on top of the archive's offsets. There is one clock per node, or per
 * process where the processes of a node disagree, and one per thread that disagrees with its
 * process. stats must be those of the present times. They become those of the new times if these
 * are kept, which requires that no violation exceeds the previous worst one. Collective over the
 * session's team. The fit must be freed in any case.
 */
int ictusi_clock_fit_run(struct clock_fit *fit, struct session *session, struct check_stats *stats);
void ictusi_clock_fit_fini(struct clock_fit *fit);

/*
 * The error of a location's clock at an instant of the corrected trace, in ticks. Negative if
 * nothing is known about it, and for the clock that shows the time, which has no error.
 */
double ictusi_clock_fit_error(const struct clock_fit *fit, uint32_t location, int64_t time);

/*
 * How far a clock has jumped ahead by an instant of the common time, ticks; and the same by what
 * the clock shows then, with its constant added.
 */
double ictusi_clock_fit_jumped(const struct clock_fit *fit, uint32_t clock, int64_t instant);
double ictusi_clock_fit_jumped_by(const struct clock_fit *fit, uint32_t clock, int64_t shown);

/* Add "clock_model" and its results for each clock to a report. */
void ictusi_clock_fit_json(const struct clock_fit *fit, json_t *object);

#endif
