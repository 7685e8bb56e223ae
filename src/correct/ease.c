/* SPDX-License-Identifier: BSD-3-Clause */
#include "correct/ease.h"

#include "causality/easing.h"

/* Rounds at most, and how many times as far as the violations alone it may raise anything. */
enum { EASE_ROUNDS = 24, EASE_FARTHER = 2 };

/* Shifts of decades come from stamps that no clock showed, and would not stay in 64 bits.
 */
static const int64_t ease_shift_max = INT64_MAX / 8;

/*
 * Values forward, then the limits that follow from them: each round needs both anew. Cycles count
 * anew, or each would be counted once a pass. Collective over the team.
 */
static int ease_pass(struct session *s, double decay)
{
    s->flow.decay = decay;
    s->flow.broken = 0;
    const int err = ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_CLOCK));
    return err ? err : ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_LIMIT));
}

/*
 * The largest shift of any point, of all ranks. No value is less than its time, so 0 is the least.
 * Collective, as all ranks decide by it.
 */
static int ease_lead(const struct session *s, int64_t *largest)
{
    const struct points *points = &s->history.points;
    *largest = 0;
    for (uint64_t i = 0; i < points->count; i++) {
        const int64_t lead = points->value[i] - points->time[i];
        *largest = lead > *largest ? lead : *largest;
    }
    return s->team ? s->team->maxima(s->team, largest, 1) : ICTUS_OK;
}

/*
 * How many sends of all ranks are in the way. Collective: all ranks get the same number and leave
 * the loop in the same round.
 */
static int ease_count(const struct session *s, double slope, uint64_t *above)
{
    *above = 0;
    for (uint32_t l = 0; l < s->trace->layout.location_count; l++) {
        *above += ictusi_easing_above(&s->history.points, s->history.first[l],
                                      s->history.first[l + 1], slope);
    }
    return s->team ? s->team->sums(s->team, above, 1) : ICTUS_OK;
}

/*
 * The ramps of the last round become floors of the sends below them: see causality/easing.h. Only
 * this round's forward pass may look at floors; the limits after it are those of its values.
 */
static int ease_round(struct session *s, double decay, double slope)
{
    for (uint32_t l = 0; l < s->trace->layout.location_count; l++) {
        ictusi_easing_floors(&s->history.points, s->history.first[l], s->history.first[l + 1],
                             slope);
    }
    s->flow.eased = true;
    const int err = ease_pass(s, decay);
    s->flow.eased = false;
    return err;
}

/*
 * A clock that stepped has no shift that is nowhere steeper than the slope: rounds would raise
 * everything around it farther and farther. Twice as far as the violations alone ask for is where
 * that is given up, and the plain passes are made again without floors. Every count and shift that
 * decides here is one of all ranks, so that they stay together. Nothing is done where no send is in
 * the way, and the values are then those of the passes before.
 */
int ictusi_ease(struct session *s, double decay, double slope)
{
    int64_t first = 0;
    int64_t lead = 0;
    uint64_t above = 0;
    bool near = true;
    int err = ease_count(s, slope, &above);
    if (err || above == 0) {
        return err;
    }
    err = ease_lead(s, &first);
    if (err || first > ease_shift_max) {
        return err;
    }
    for (int round = 0; round < EASE_ROUNDS && above > 0 && near && !err; round++) {
        err = ease_round(s, decay, slope);
        err = err ? err : ease_lead(s, &lead);
        near = lead <= EASE_FARTHER * first;
        err = err ? err : ease_count(s, slope, &above);
    }
    return err || (above == 0 && near) ? err : ease_pass(s, decay);
}
