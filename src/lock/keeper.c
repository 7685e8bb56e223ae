/* SPDX-License-Identifier: BSD-3-Clause */
/* From sources to the published clock. */
#include "keeper.h"

#include <math.h>
#include <string.h>

/* Corrections are slewed away in this time, at no more than slew_max; larger ones step. */
static const double slew_time_ns = 5e8;
static const double slew_max = 5e-4;
static const double step_ns = 1e7;

/* A poll may be this much late before readers call it holdover. */
static const double grace = 2.5;
static const double grace_s = 3.0;

int64_t ictusi_keeper_clock(const struct keeper *keeper, int64_t raw)
{
    const struct page_clock *c = &keeper->clock;
    if (!keeper->published) {
        return 0;
    }
    const double d = (double)(raw - c->anchor);
    const double left = fmax(0.0, fabs(c->slew_ns) - c->slew_rate * d);
    return c->value + (raw - c->anchor) + llround(c->slope * d - copysign(left, c->slew_ns));
}

/* A source's estimate and interval at an instant, relative to a common origin. */
static void propose(const struct upstream *source, int64_t now, int64_t origin, struct candidate *c)
{
    const struct discipline *d = &source->discipline;
    const double shift = (double)(d->origin_ns - origin);
    const double shift_bound = (double)(source->bound.origin_ns - origin);
    const double root = source->root_delay_ns / 2 + source->root_dispersion_ns;
    const struct kalman k = ictusi_discipline_predict(d, now);
    memset(c, 0, sizeof(*c));
    c->offset_ns = k.phase + shift;
    c->frequency = k.frequency;
    c->pp = k.pp;
    c->pf = k.pf;
    c->ff = k.ff;
    ictusi_bound_at(&source->bound, now, &c->low_ns, &c->high_ns);
    c->low_ns += shift_bound - root;
    c->high_ns += shift_bound + root;
    c->usable = d->started && source->bound.started &&
                ictusi_discipline_locked(d, source->interval_s) && !source->dead;
    c->selection = source->reach == 0                     ? ICTUS_SOURCE_UNREACHABLE
                   : source->stratum > PACKET_STRATUM_MAX ? ICTUS_SOURCE_UNSYNCHRONISED
                                                          : ICTUS_SOURCE_SETTLING;
}

/* Prefer sources that answer; where none does, those that did carry the clock on. */
static bool any_reachable(const struct keeper *keeper, const struct candidate *candidates)
{
    bool any = false;
    for (int i = 0; i < keeper->source_count; i++) {
        any = any || (candidates[i].usable && keeper->sources[i].reach);
    }
    return any;
}

static bool choose(struct keeper *keeper, int64_t now, int64_t origin)
{
    struct candidate candidates[ICTUS_LOCK_SOURCES_MAX];
    struct consensus consensus;
    for (int i = 0; i < keeper->source_count; i++) {
        propose(&keeper->sources[i], now, origin, &candidates[i]);
    }
    if (any_reachable(keeper, candidates)) {
        for (int i = 0; i < keeper->source_count; i++) {
            candidates[i].usable = candidates[i].usable && keeper->sources[i].reach;
        }
    }
    const bool agreed = ictusi_select(candidates, keeper->source_count, &consensus);
    for (int i = 0; i < keeper->source_count; i++) {
        keeper->sources[i].selection = candidates[i].selection;
    }
    keeper->majority = agreed;
    if (agreed) {
        keeper->consensus = consensus;
        keeper->selected = consensus.selected;
    }
    return agreed;
}

/* A first guess for readers before anything is locked: the best estimate of any source. */
static bool guess(struct keeper *keeper, int64_t now, int64_t origin)
{
    for (int i = 0; i < keeper->source_count; i++) {
        const struct upstream *s = &keeper->sources[i];
        if (s->discipline.started && s->bound.started) {
            struct candidate c;
            propose(s, now, origin, &c);
            keeper->consensus = (struct consensus){c.offset_ns, c.frequency, c.pp,      c.pf,
                                                   c.ff,        c.low_ns,    c.high_ns, i};
            keeper->selected = i;
            return true;
        }
    }
    return false;
}

static int64_t common_origin(const struct keeper *keeper)
{
    for (int i = 0; i < keeper->source_count; i++) {
        if (keeper->sources[i].discipline.started) {
            return keeper->sources[i].discipline.origin_ns;
        }
    }
    return 0;
}

static enum ictus_lock_state state_of(const struct keeper *keeper, int64_t now, bool agreed)
{
    const bool was = keeper->published && keeper->clock.state != ICTUS_LOCK_UNLOCKED;
    bool fresh = false;
    for (int i = 0; i < keeper->source_count; i++) {
        const struct upstream *s = &keeper->sources[i];
        const bool counts = s->selection >= ICTUS_SOURCE_COMBINED;
        const double age = (double)(now - s->last_good) / 1e9;
        fresh = fresh || (counts && s->missed < 3 &&
                          age < grace * s->interval_s + grace_s + s->spacing_s * GROUP_MAX);
    }
    if (agreed && fresh) {
        return ICTUS_LOCK_LOCKED;
    }
    return was ? ICTUS_LOCK_HOLDOVER : ICTUS_LOCK_UNLOCKED;
}

static double longest_interval(const struct keeper *keeper)
{
    double longest = 0.0;
    for (int i = 0; i < keeper->source_count; i++) {
        longest = fmax(longest, keeper->sources[i].interval_s);
    }
    return longest;
}

/* The absolute clock goes on from what it showed, by slewing, unless it has to jump. */
static void set_value(struct keeper *keeper, struct page_clock *next, int64_t showed, bool stepped)
{
    next->slew_ns = 0.0;
    next->slew_rate = 0.0;
    if (!keeper->published || keeper->clock.state == ICTUS_LOCK_UNLOCKED) {
        next->epoch += keeper->published && next->state == ICTUS_LOCK_LOCKED ? 1 : 0;
        return;
    }
    const double behind = (double)(next->value - showed);
    if (stepped || fabs(behind) > step_ns) {
        next->epoch++;
        keeper->steps++;
        return;
    }
    next->slew_ns = behind;
    next->slew_rate = fmin(slew_max, fmax(1e-9, fabs(behind) / slew_time_ns));
}

/* The difference clock keeps its value and only changes its rate. */
static void set_elapsed(struct keeper *keeper, struct page_clock *next, int64_t now)
{
    const struct page_clock *old = &keeper->clock;
    if (!keeper->published) {
        next->elapsed = 0;
        return;
    }
    const double rest = old->slope * (double)(now - old->anchor) + keeper->elapsed_frac;
    const double round = rint(rest);
    next->elapsed = old->elapsed + (now - old->anchor) + (int64_t)round;
    keeper->elapsed_frac = rest - round;
}

/* How fast truth and line may part: the widest of what the selected sources' bounds allow. */
static double bound_rate(const struct keeper *keeper, double frequency)
{
    const struct bound *b = &keeper->sources[keeper->selected].bound;
    return fmax(fabs(b->rate_high - frequency), fabs(b->rate_low - frequency));
}

static void show_offset(struct keeper *keeper, int64_t now)
{
    keeper->system_offset_ns =
        (double)(ictusi_timebase_real(&keeper->base, now) - ictusi_keeper_clock(keeper, now));
}

void ictusi_keeper_update(struct keeper *keeper, bool stepped)
{
    struct page_clock next = keeper->clock;
    const int64_t now = ictusi_raw_now();
    const int64_t origin = common_origin(keeper);
    const bool agreed = choose(keeper, now, origin);
    const bool unlocked = !keeper->published || keeper->clock.state == ICTUS_LOCK_UNLOCKED;
    if (!agreed && !(unlocked && guess(keeper, now, origin))) {
        if (keeper->published) {
            show_offset(keeper, now);
            keeper->clock.state = state_of(keeper, now, false);
            ictusi_page_publish(&keeper->page, &keeper->clock);
        }
        return;
    }
    const struct consensus *c = &keeper->consensus;
    next.state = state_of(keeper, now, agreed);
    next.anchor = now;
    next.value = now + origin + llround(c->offset_ns);
    next.slope = c->frequency * 1e-9;
    set_value(keeper, &next, ictusi_keeper_clock(keeper, now), stepped);
    set_elapsed(keeper, &next, now);
    next.pp_ns2 = c->pp;
    next.pf_ns2_per_s = c->pf;
    next.ff_ns2_per_s2 = c->ff;
    next.walk_ns2_per_s3 = keeper->sources[keeper->selected].discipline.walk_ns2_per_s3;
    /* An estimate outside the interval that holds the truth is as wrong as its far end. */
    next.bound_ns = fmax(c->high_ns - c->offset_ns, c->offset_ns - c->low_ns);
    next.bound_rate = bound_rate(keeper, c->frequency);
    next.good_until = now + (int64_t)(1e9 * (grace * longest_interval(keeper) + grace_s));
    next.leap = keeper->sources[keeper->selected].leap;
    keeper->clock = next;
    keeper->published = true;
    show_offset(keeper, now);
    ictusi_page_publish(&keeper->page, &keeper->clock);
}

void ictusi_keeper_watch(struct keeper *keeper, unsigned events)
{
    if (events & TIMEBASE_STEPPED) {
        keeper->system_steps++; /* the raw clock does not care */
    }
    if (events & TIMEBASE_SUSPENDED) {
        keeper->suspends++;
        for (int i = 0; i < keeper->source_count; i++) {
            ictusi_upstream_restart(&keeper->sources[i]);
        }
        if (keeper->published) {
            keeper->clock.state = ICTUS_LOCK_UNLOCKED;
            keeper->clock.epoch++;
            ictusi_page_publish(&keeper->page, &keeper->clock);
        }
    }
}
