/* SPDX-License-Identifier: BSD-3-Clause */
/* Refining a session's clocks by its messages. */
#ifndef ICTUS_CORRECT_CLOCK_FIT_H
#define ICTUS_CORRECT_CLOCK_FIT_H

#include "causality/clock_choice.h"
#include "correct/session.h"

/* What was chosen, for the report. */
struct clock_fit {
    struct clock_model model;
    struct clock_choice choice;
    bool tried;
    uint32_t *clock_of;       /* by location */
    uint32_t thread_clocks;   /* of them those of single threads */
    int64_t from, to, raised; /* of the model's first and last knot; added to all times later */
    double us_per_tick;
};

/*
 * Fit clocks to the messages, on top of the archive's offsets: nodes are clocks, or processes where
 * nodes' processes disagree, and threads that disagree with their process. stats are those of the
 * times as they are, and become those of the new times where they are kept: no violation may then
 * be larger than the worst one before. Collective over the session's team; the fit is to be freed
 * in any case.
 */
int ictusi_clock_fit_run(struct clock_fit *fit, struct session *session, struct check_stats *stats);
void ictusi_clock_fit_fini(struct clock_fit *fit);

/*
 * The error of a location's clock at an instant of the corrected trace, in ticks; negative where
 * nothing is known of it, and for the clock that shows the time, which has none.
 */
double ictusi_clock_fit_error(const struct clock_fit *fit, uint32_t location, int64_t time);

/* Add "clock_model" and what it says of each clock to a report. */
void ictusi_clock_fit_json(const struct clock_fit *fit, json_t *object);

#endif
