/* SPDX-License-Identifier: BSD-3-Clause */
#include "correct/ease.h"

#include "causality/crew.h"
#include "causality/easing.h"

#include <stdlib.h>

/*
 * The largest number of rounds, and how many times farther than the violations alone they may raise
 * anything.
 */
enum { EASE_ROUNDS = 24, EASE_FARTHER = 2 };

/* Shifts of decades come from invalid stamps, and would overflow 64 bits. */
static const int64_t ease_shift_max = INT64_MAX / 8;

/*
 * A forward pass, followed by the limits that result from it; each round needs both. Cycles are
 * counted from 0, because otherwise each would be counted once per pass. Collective over the team.
 */
static int ease_pass(struct session *s, double decay)
{
    s->flow.decay = decay;
    s->flow.broken = 0;
    const int err = ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_CLOCK));
    return err ? err : ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_LIMIT));
}

/* The state of the points after a round. Threads fill in the parts of their locations. */
struct easing_look {
    struct session *session;
    double slope;
    int64_t *lead;   /* by location: the largest shift of any point */
    uint64_t *above; /* by location: sends that would exceed their limits */
};

static void ease_look_at(void *self, uint32_t l)
{
    const struct easing_look *look = self;
    const struct history *history = &look->session->history;
    const struct points *points = &history->points;
    int64_t largest = 0;
    for (uint64_t i = history->first[l]; i < history->first[l + 1]; i++) {
        const int64_t lead = points->value[i] - points->time[i];
        largest = lead > largest ? lead : largest;
    }
    look->lead[l] = largest;
    look->above[l] =
        ictusi_easing_above(points, history->first[l], history->first[l + 1], look->slope);
}

/*
 * Find the largest shift of any point, and the number of sends above their limits, over all ranks.
 * No value is less than its time, so the least shift is 0. Collective: all ranks get the same
 * numbers and leave the loop in the same round.
 */
static int ease_look(struct easing_look *look, int64_t *largest, uint64_t *above)
{
    struct session *s = look->session;
    const uint32_t n = (uint32_t)s->trace->layout.location_count;
    ictusi_crew_run(s->threads, n, ease_look_at, look);
    *largest = 0;
    *above = 0;
    for (uint32_t l = 0; l < n; l++) {
        *largest = look->lead[l] > *largest ? look->lead[l] : *largest;
        *above += look->above[l];
    }
    const int err = s->team ? s->team->maxima(s->team, largest, 1) : ICTUS_OK;
    return err || !s->team ? err : s->team->sums(s->team, above, 1);
}

static void ease_set_floors(void *self, uint32_t l)
{
    const struct easing_look *look = self;
    struct history *history = &look->session->history;
    ictusi_easing_floors(&history->points, history->first[l], history->first[l + 1], look->slope);
}

/*
 * The ramps of the last round become floors of the sends below them: see causality/easing.h. Only
 * the forward pass of this round uses floors. The limits after it follow from its values alone.
 */
static int ease_round(struct easing_look *look, double decay)
{
    struct session *s = look->session;
    ictusi_crew_run(s->threads, (uint32_t)s->trace->layout.location_count, ease_set_floors, look);
    s->flow.eased = true;
    const int err = ease_pass(s, decay);
    s->flow.eased = false;
    return err;
}

/*
 * Repeat rounds until no send is above its limit. For a clock that stepped, no shift exists that is
 * nowhere steeper than the slope, and rounds would raise everything around it farther and farther.
 * So the attempt is given up at twice the shift that the violations alone require, and the plain
 * passes are repeated without floors. All counts and shifts used for decisions are taken over all
 * ranks, so that the ranks stay together. If no send is above its limit at first, nothing is done,
 * and the values are those of the passes before.
 */
static int ease_by(struct easing_look *look, double decay)
{
    int64_t first = 0;
    int64_t lead = 0;
    uint64_t above = 0;
    bool near = true;
    int err = ease_look(look, &first, &above);
    if (err || above == 0 || first > ease_shift_max) {
        return err;
    }
    for (int round = 0; round < EASE_ROUNDS && above > 0 && near && !err; round++) {
        err = ease_round(look, decay);
        err = err ? err : ease_look(look, &lead, &above);
        near = lead <= EASE_FARTHER * first;
    }
    return err || (above == 0 && near) ? err : ease_pass(look->session, decay);
}

int ictusi_ease(struct session *s, double decay, double slope)
{
    const uint64_t n = s->trace->layout.location_count + 1;
    struct easing_look look = {s, slope, calloc(n, sizeof *look.lead),
                               calloc(n, sizeof *look.above)};
    const int err = ictusi_session_agree(s, look.lead && look.above ? ICTUS_OK : ICTUS_ERR_NOMEM);
    const int eased = err ? err : ease_by(&look, decay);
    free(look.lead);
    free(look.above);
    return eased;
}
