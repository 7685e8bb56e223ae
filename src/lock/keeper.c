/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns the sources into the published clock. */
#include "keeper.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Corrections are slewed away within this time (ns), but by no more than slew_max (ns per ns). */
static const double slew_time_ns = 5e8;
static const double slew_max = 5e-4;

/* A poll may be late by this before readers regard the clock as in holdover. */
static const double grace = 2.5;
static const double grace_s = 3.0;

/* No polls are made this close (ns) to a leap second, because servers may be early or late. */
static const int64_t leap_before_ns = 2000000000;
static const int64_t leap_after_ns = 3000000000;

/* The clock as if there were no leap seconds. */
static int64_t plain_clock(const struct keeper *keeper, int64_t raw)
{
    const struct page_clock *c = &keeper->clock;
    const double d = (double)(raw - c->anchor);
    /*
     * The line minus what has not been slewed away yet. At the anchor the clock shows what it
     * showed before, which is slew_ns off the line, and it approaches the line by slew_rate (ns per
     * ns).
     */
    const double left = fmax(0.0, fabs(c->slew_ns) - c->slew_rate * d);
    return c->value + (raw - c->anchor) + llround(c->slope * d - copysign(left, c->slew_ns));
}

int64_t ictusi_keeper_clock(const struct keeper *keeper, int64_t raw)
{
    const struct page_clock *c = &keeper->clock;
    return keeper->published ? ictusi_page_leapt(plain_clock(keeper, raw), c->leap_at, c->leap_ns)
                             : 0;
}

/*
 * Compute a source's estimate and intervals at an instant, relative to a common origin. Each
 * discipline and each bound counts from an origin of its own (ns). Only differences of origins are
 * converted to double. They are exact below 2^53 ns (104 days), and those of sources of one clock
 * are.
 */
static void keeper_propose(const struct upstream *source, int64_t now, int64_t origin,
                           struct candidate *c)
{
    const struct discipline *d = &source->discipline;
    const double shift = (double)(d->origin_ns - origin);
    const double shift_bound = (double)(source->bound.origin_ns - origin);
    const struct kalman k = ictusi_discipline_predict(d, now);
    memset(c, 0, sizeof(*c));
    c->offset_ns = k.phase + shift;
    c->frequency = k.frequency;
    c->pp = k.pp;
    c->pf = k.pf;
    c->ff = k.ff;
    ictusi_bound_at(&source->bound, now, &c->low_ns, &c->high_ns);
    ictusi_bound_rate(&source->bound, &c->rate_low, &c->rate_high);
    c->low_ns += shift_bound;
    c->high_ns += shift_bound;
    /* A source that falls silent keeps its vote, with an interval that widens, because silence
     * is not consent. */
    c->votes = d->started && source->bound.started && !source->dead;
    c->counts = c->votes && source->locked;
    c->selection = source->reach == 0                     ? ICTUS_SOURCE_UNREACHABLE
                   : source->stratum > PACKET_STRATUM_MAX ? ICTUS_SOURCE_UNSYNCHRONISED
                                                          : ICTUS_SOURCE_SETTLING;
}

/*
 * Return the leap second that most of the agreeing sources announce: 0, 1 or 2 as in the packet. A
 * majority is required, because otherwise a single server with a stale leap file would move the
 * clock by a second.
 */
static int keeper_announced_leap(const struct keeper *keeper)
{
    int agree = 0;
    int flags[4] = {0};
    for (int i = 0; i < keeper->source_count; i++) {
        const struct upstream *s = &keeper->sources[i];
        if (s->selection >= ICTUS_SOURCE_TRUECHIMER && s->reach) {
            agree++;
            flags[s->leap & 3]++;
        }
    }
    return 2 * flags[1] > agree ? 1 : 2 * flags[2] > agree ? 2 : 0;
}

/*
 * Prefer sources that answer. If none does, those that did answer carry the clock on. If a leap
 * second is announced, a source that does not announce it may smear it. Such a source is left out
 * of the mean before it begins to drift.
 */
static void keeper_prefer(const struct keeper *keeper, struct candidate *candidates)
{
    const int leap = keeper_announced_leap(keeper);
    bool reachable = false, flagged = false;
    for (int i = 0; i < keeper->source_count; i++) {
        const struct upstream *s = &keeper->sources[i];
        reachable = reachable || (candidates[i].counts && s->reach);
        flagged = flagged || (candidates[i].counts && s->reach && leap && s->leap == leap);
    }
    for (int i = 0; i < keeper->source_count; i++) {
        const struct upstream *s = &keeper->sources[i];
        candidates[i].counts =
            candidates[i].counts && (!reachable || s->reach) && (!flagged || s->leap == leap);
    }
}

/* Refine the result of the selection for the table of sources. */
static enum ictus_lock_selection keeper_show(const struct upstream *source,
                                             const struct candidate *c)
{
    const bool plain = c->selection == ICTUS_SOURCE_TRUECHIMER;
    return source->reach == 0         ? ICTUS_SOURCE_UNREACHABLE
           : plain && !source->locked ? ICTUS_SOURCE_SETTLING
                                      : c->selection;
}

/* Nothing is agreed on, so take the hull of all intervals. It can be wide, but it is right if a
 * single source is right. An intersection would be empty, or would be right only if all are. */
static void keeper_cover_all(const struct candidate *candidates, int count, struct consensus *c)
{
    c->low_ns = INFINITY;
    c->high_ns = -INFINITY;
    for (int i = 0; i < count; i++) {
        if (candidates[i].votes) {
            c->low_ns = fmin(c->low_ns, candidates[i].low_ns);
            c->high_ns = fmax(c->high_ns, candidates[i].high_ns);
            c->rate_low = fmin(c->rate_low, candidates[i].rate_low);
            c->rate_high = fmax(c->rate_high, candidates[i].rate_high);
        }
    }
}

/* Publish a guess under the hull of all sources: a clock that goes on as before, or begins with
 * the first estimate. */
static bool keeper_guess(struct keeper *keeper, const struct candidate *candidates, int64_t now,
                         int64_t origin)
{
    struct consensus c = {.selected = keeper->selected};
    int first = 0;
    while (first < keeper->source_count && !candidates[first].votes) {
        first++;
    }
    if (first == keeper->source_count) {
        return false;
    }
    if (keeper->published) {
        c.offset_ns = (double)(plain_clock(keeper, now) - now - origin);
        c.frequency = keeper->clock.slope * 1e9;
    } else {
        c.selected = first;
        c.offset_ns = candidates[first].offset_ns;
        c.frequency = candidates[first].frequency;
    }
    keeper_cover_all(candidates, keeper->source_count, &c);
    /* The estimate may be anywhere in the hull, so sigma is the distance to its far end. */
    const double far = fmax(c.high_ns - c.offset_ns, c.offset_ns - c.low_ns);
    c.pp = far * far;
    c.ff = c.rate_high * c.rate_high;
    keeper->consensus = c;
    keeper->selected = c.selected;
    return true;
}

/* Select among the sources. @return whether there is a line to publish */
static bool keeper_choose(struct keeper *keeper, int64_t now, int64_t origin)
{
    struct candidate candidates[ICTUS_LOCK_SOURCES_MAX];
    struct consensus consensus;
    for (int i = 0; i < keeper->source_count; i++) {
        keeper_propose(&keeper->sources[i], now, origin, &candidates[i]);
    }
    keeper_prefer(keeper, candidates);
    const bool agreed = ictusi_select(candidates, keeper->source_count, &consensus);
    for (int i = 0; i < keeper->source_count; i++) {
        keeper->sources[i].selection = keeper_show(&keeper->sources[i], &candidates[i]);
    }
    keeper->agreement = consensus.voters == 0                              ? AGREEMENT_NONE
                        : !agreed                                          ? AGREEMENT_DISSENT
                        : consensus.agreeing < keeper->options.min_sources ? AGREEMENT_FEW
                                                                           : AGREEMENT_MAJORITY;
    /*
     * There are three cases. With a majority the combined line is published. Before the first
     * majority, or after the agreement is lost, a guess under the hull is published as unlocked.
     * Otherwise, with no voters at this moment, the existing line goes on and becomes holdover by
     * its age.
     */
    const bool unlocked = !keeper->published || keeper->clock.state == ICTUS_LOCK_UNLOCKED;
    if (keeper->agreement == AGREEMENT_MAJORITY && consensus.selected >= 0) {
        keeper->consensus = consensus;
        keeper->selected = consensus.selected;
        return true;
    }
    const bool lost = keeper->agreement == AGREEMENT_DISSENT || keeper->agreement == AGREEMENT_FEW;
    /* A clock in service goes on as before, unless the agreement on which it is based is lost. */
    const bool line = (unlocked || lost) && keeper_guess(keeper, candidates, now, origin);
    keeper->consensus.voters = consensus.voters;
    keeper->consensus.agreeing = consensus.agreeing;
    keeper->consensus.liars = consensus.liars;
    return line;
}

/* Offsets are relative to one source's origin, because a double has no room for an absolute time
 * of decades in ns. */
static int64_t keeper_common_origin(const struct keeper *keeper)
{
    for (int i = 0; i < keeper->source_count; i++) {
        if (keeper->sources[i].discipline.started) {
            return keeper->sources[i].discipline.origin_ns;
        }
    }
    return 0;
}

/* Return whether one of the sources that make the clock has given a measurement recently. */
static bool keeper_is_fresh(const struct keeper *keeper, int64_t now)
{
    for (int i = 0; i < keeper->source_count; i++) {
        const struct upstream *s = &keeper->sources[i];
        const double age = (double)(now - s->last_good) / 1e9;
        /* A few intervals, plus the time that a whole group of exchanges may take. */
        const double late =
            grace * ldexp(s->interval_s, s->polite) + grace_s + s->spacing_s * GROUP_MAX;
        if (s->selection >= ICTUS_SOURCE_COMBINED && s->missed < 3 && age < late) {
            return true;
        }
    }
    return false;
}

/* The clock is locked if there is an agreement and a recent measurement. Without the latter, a
 * clock that was locked is in holdover. Without the former, nothing is promised. */
static enum ictus_lock_state state_of(const struct keeper *keeper, int64_t now)
{
    const bool was = keeper->published && keeper->clock.state != ICTUS_LOCK_UNLOCKED;
    switch (keeper->agreement) {
    case AGREEMENT_DISSENT:
    case AGREEMENT_FEW:
        return ICTUS_LOCK_UNLOCKED;
    case AGREEMENT_MAJORITY:
        if (keeper_is_fresh(keeper, now)) {
            return ICTUS_LOCK_LOCKED;
        }
        break;
    case AGREEMENT_NONE:
        break;
    }
    return was ? ICTUS_LOCK_HOLDOVER : ICTUS_LOCK_UNLOCKED;
}

/*
 * Return the interval of the slowest source that makes the clock. good_until is based on it. After
 * that time readers themselves regard the clock as in holdover, because a daemon that hangs cannot
 * announce it.
 */
static double interval_in_force(const struct keeper *keeper)
{
    double longest = 0.0;
    for (int i = 0; i < keeper->source_count; i++) {
        const struct upstream *s = &keeper->sources[i];
        if (s->selection >= ICTUS_SOURCE_COMBINED && s->reach) {
            longest = fmax(longest, ldexp(s->interval_s, s->polite));
        }
    }
    return longest;
}

/*
 * The absolute clock continues from what it showed by slewing, unless it has to step.
 *     showed = what readers saw at the anchor; behind = line - showed (ns)
 * The first line, and the first one after an unlocked time, is taken as it is. It starts a new
 * epoch if it is locked, because nothing was promised before. Later, a difference of up to makestep
 * is slewed away. A larger one is a step, and a new epoch tells readers not to compare across it.
 */
static void keeper_set_value(struct keeper *keeper, struct page_clock *next, int64_t showed)
{
    const double behind = (double)(next->value - showed);
    next->slew_ns = 0.0;
    next->slew_rate = 0.0;
    if (!keeper->published || keeper->clock.state == ICTUS_LOCK_UNLOCKED) {
        next->epoch += keeper->published && next->state == ICTUS_LOCK_LOCKED ? 1 : 0;
        return;
    }
    keeper->largest_change_ns = fmax(keeper->largest_change_ns, fabs(behind));
    if (fabs(behind) > keeper->options.makestep_s * 1e9) {
        next->epoch++;
        keeper->steps++;
        return;
    }
    next->slew_ns = behind;
    /* A correction takes half a second if 500 ppm suffice for it, and longer otherwise. The
     * clock never runs backwards, because its rate stays within 500 ppm of the line's. */
    next->slew_rate = fmin(slew_max, fmax(1e-9, fabs(behind) / slew_time_ns));
}

bool ictusi_keeper_changed_too_far(const struct keeper *keeper)
{
    const double most_ns = keeper->options.maxchange_s * 1e9;
    return most_ns > 0.0 && keeper->largest_change_ns > most_ns;
}

/*
 * The difference clock keeps its value and changes only its rate. elapsed(now) = elapsed(anchor) +
 * d + slope d is continued exactly at the new anchor, where the absolute clock may step. Intervals
 * measured by it have only the error of the frequency.
 */
static void keeper_set_elapsed(struct keeper *keeper, struct page_clock *next, int64_t now)
{
    const struct page_clock *old = &keeper->clock;
    if (!keeper->published) {
        next->elapsed = 0;
        return;
    }
    /* The value is rounded to whole ns and the remainder is carried over. Otherwise thousands of
     * updates a day would add up to a drift. */
    const double rest = old->slope * (double)(now - old->anchor) + keeper->elapsed_frac;
    const double round = rint(rest);
    next->elapsed = old->elapsed + (now - old->anchor) + (int64_t)round;
    keeper->elapsed_frac = rest - round;
}

/* Return the end of the month in UTC, which is where leap seconds are. */
static int64_t month_end(int64_t utc_ns)
{
    const time_t now = (time_t)(utc_ns / ICTUS_NS_PER_S);
    struct tm date;
    if (!gmtime_r(&now, &date)) {
        return 0;
    }
    struct tm next = {.tm_year = date.tm_year, .tm_mon = date.tm_mon + 1, .tm_mday = 1};
    return (int64_t)timegm(&next) * ICTUS_NS_PER_S;
}

/* Leap indicator 1: the last minute of the month has 61 seconds, so that UTC falls back by one.
 * 2: it has 59 (RFC 5905, 7.3). */
static void keeper_set_leap(const struct keeper *keeper, struct page_clock *next)
{
    const int leap = keeper_announced_leap(keeper);
    next->leap = leap;
    next->leap_ns = leap == 1 ? -ICTUS_NS_PER_S : leap == 2 ? ICTUS_NS_PER_S : 0;
    next->leap_at = leap ? month_end(next->value) : 0;
}

int64_t ictusi_keeper_leap(struct keeper *keeper, int64_t raw)
{
    struct page_clock *c = &keeper->clock;
    if (!keeper->published || !c->leap_ns) {
        return 0;
    }
    /* An inserted second repeats the last one after the end of the month. A deleted second is
     * skipped before the end, so that the jump comes one second earlier on the line. */
    const int64_t edge = c->leap_ns > 0 ? c->leap_at - c->leap_ns : c->leap_at;
    const int64_t left = edge - plain_clock(keeper, raw);
    if (left > leap_before_ns) {
        return 0;
    }
    if (left <= 0) {
        /* Readers have already leapt by themselves. Now the line leaps and shows the same. */
        c->value += c->leap_ns;
        for (int i = 0; i < keeper->source_count; i++) {
            ictusi_upstream_leap(&keeper->sources[i], c->leap_ns);
        }
        c->leap_ns = 0;
        c->leap = 0;
        ictusi_page_publish(&keeper->page, c);
    }
    return raw + left + leap_after_ns;
}

/* Note how far the system clock is ahead of this one (ns). It is only for display and not used
 * by the loop. */
static void keeper_show_offset(struct keeper *keeper, int64_t now)
{
    keeper->system_offset_ns =
        (double)(ictusi_timebase_real(&keeper->base, now) - ictusi_keeper_clock(keeper, now));
}

double ictusi_keeper_offset(struct keeper *keeper)
{
    (void)ictusi_timebase_read(&keeper->base);
    keeper_show_offset(keeper, ictusi_timebase_raw_now());
    return keeper->system_offset_ns;
}

/* Publish the same line in another state. */
static void keeper_republish(struct keeper *keeper, int64_t now)
{
    if (keeper->published) {
        keeper_show_offset(keeper, now);
        keeper->clock.state = state_of(keeper, now);
        ictusi_page_publish(&keeper->page, &keeper->clock);
    }
}

/*
 * Called after each poll: choose, build the next line from now on, and publish it as a whole.
 * Readers extrapolate the line that they have. The order is consensus, state, value, elapsed,
 * uncertainty. The value may be refused by --maxchange, and then nothing of the new line is
 * published. By the page's two slots, a reader sees all of a line or nothing.
 */
void ictusi_keeper_update(struct keeper *keeper)
{
    struct page_clock next = keeper->clock;
    const int64_t now = ictusi_timebase_raw_now();
    const int64_t origin = keeper_common_origin(keeper);
    if (!keeper_choose(keeper, now, origin)) {
        keeper_republish(keeper, now);
        return;
    }
    const struct consensus *c = &keeper->consensus;
    next.state = state_of(keeper, now);
    next.anchor = now;
    next.value = now + origin + llround(c->offset_ns);
    next.slope = c->frequency * 1e-9;
    keeper_set_value(keeper, &next, keeper->published ? plain_clock(keeper, now) : 0);
    if (ictusi_keeper_changed_too_far(keeper)) {
        /* The daemon ends here. Readers keep the clock that they had, but without any promise. */
        keeper->clock.state = ICTUS_LOCK_UNLOCKED;
        ictusi_page_publish(&keeper->page, &keeper->clock);
        return;
    }
    keeper_set_elapsed(keeper, &next, now);
    next.pp_ns2 = c->pp;
    next.pf_ns2_per_s = c->pf;
    next.ff_ns2_per_s2 = c->ff;
    next.walk_ns2_per_s3 = keeper->sources[keeper->selected].discipline.walk_ns2_per_s3;
    /* An estimate outside the interval that contains the truth is as wrong as its far end. */
    next.bound_ns = fmax(c->high_ns - c->offset_ns, c->offset_ns - c->low_ns);
    next.bound_rate = fmax(c->rate_high - c->frequency, c->frequency - c->rate_low);
    next.good_until = now + (int64_t)(1e9 * (grace * interval_in_force(keeper) + grace_s));
    keeper_set_leap(keeper, &next);
    keeper->clock = next;
    keeper->published = true;
    keeper_show_offset(keeper, now);
    ictusi_page_publish(&keeper->page, &keeper->clock);
}

/* Note what happened to the machine since the last call. While it was suspended the raw clock
 * stood still, so everything that was learned about offsets is wrong by that time. */
unsigned ictusi_keeper_watch(struct keeper *keeper)
{
    unsigned events = 0;
    if (keeper->base.stepped != keeper->seen_steps) {
        events |= TIMEBASE_STEPPED;
        keeper->system_steps++; /* the raw clock is not affected */
    }
    if (keeper->base.suspended != keeper->seen_sleeps) {
        events |= TIMEBASE_SUSPENDED;
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
    keeper->seen_steps = keeper->base.stepped;
    keeper->seen_sleeps = keeper->base.suspended;
    return events;
}
