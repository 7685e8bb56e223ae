/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An event at time t between two points p and q of a location gets the larger of two values: the
 * forward line (the lead of p, which falls by 1 - gamma: B07, equation (4)), and the backward ramp
 * (the shift of q, which falls going backwards; straight to p if that is steeper than requested).
 * Two events with different input stamps keep different stamps: each is at least one tick after the
 * preceding one, and leaves room for those that follow it before q.
 */
#include "correct/warp.h"

static uint64_t warp_as_stamp(int64_t time)
{
    return time > 0 ? (uint64_t)time : 0;
}

/* The effect of the two maps on one stamp. */
struct image {
    int64_t local, unit; /* their shifts, one after the other */
    uint32_t local_hint, unit_hint;
};

/* Broken offsets may overflow, so sums wrap around instead of trapping: see presync_afresh(). */
static int64_t shift_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t shift_minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/*
 * Apply both maps to one stamp: first the location's, from the archive's offsets, then the clock's,
 * from the fit to the messages, which takes the result of the first.
 */
static struct image image_of(const struct warp *warp, int64_t stamp)
{
    struct image image = {0, 0, warp->local_hint, warp->unit_hint};
    if (warp->local) {
        image.local = shift_minus(clock_map_at(warp->local, stamp, &image.local_hint), stamp);
    }
    if (warp->unit) {
        const int64_t time = shift_plus(stamp, image.local);
        image.unit = shift_minus(clock_map_at(warp->unit, time, &image.unit_hint), time);
    }
    return image;
}

/*
 * The pieces must be equal as well: with several pieces, the shift may be the same at both ends of
 * a stretch and different in between.
 */
static bool warp_same_image(const struct image *a, const struct image *b)
{
    return a->local == b->local && a->unit == b->unit && a->local_hint == b->local_hint &&
           a->unit_hint == b->unit_hint;
}

/*
 * Map a stamp, and find out how far ahead the same shift applies. Drift moves neighbouring events
 * by the same number of ticks, and within one piece the rounded shift is monotone. So if it is the
 * same at both ends of a stretch, it is the same in between. The length of the stretch that is
 * tried (reach, ticks) is doubled on success and halved on failure. Millions of events then cost
 * one addition each.
 */
static int64_t presync_afresh(struct warp *warp, int64_t stamp)
{
    enum { REACH_LEAST = 64 };
    const int64_t reach_most = INT64_C(1) << 40;
    const struct image image = image_of(warp, stamp);
    warp->local_hint = image.local_hint;
    warp->unit_hint = image.unit_hint;
    warp->same_shift = shift_plus(image.local, image.unit);
    warp->same_from = stamp;
    warp->same_to = stamp;
    const int64_t edge = INT64_C(1) << STAMP_BITS;
    const int64_t time = shift_plus(stamp, warp->same_shift);
    if (time < -edge || time > edge) { /* the copy will be refused */
        warp->bits |= (uint64_t)edge;
        return time < 0 ? -edge : edge;
    }
    warp->reach = warp->reach > REACH_LEAST ? warp->reach : REACH_LEAST;
    if (stamp >= 0 && stamp < INT64_MAX - reach_most) {
        const struct image end = image_of(warp, stamp + warp->reach);
        const bool same = warp_same_image(&image, &end);
        warp->same_to += same ? warp->reach + 1 : 0;
        warp->reach = !same                      ? warp->reach / 2
                      : warp->reach < reach_most ? 2 * warp->reach
                                                 : warp->reach;
    }
    return time;
}

/* Nearly all events take the first branch, which is a comparison and an addition. */
int64_t ictusi_warp_presync(struct warp *warp, uint64_t stamp)
{
    const int64_t time = (int64_t)stamp;
    return time >= warp->same_from && time < warp->same_to ? time + warp->same_shift
                                                           : presync_afresh(warp, time);
}

/*
 * How steeply the shift rises to the next point. If the requested slope does not suffice to reach
 * it from the point before, it is the straight line between the two. Backward amortisation has
 * counted that interval as steeper than requested.
 */
static double slope_behind(const struct warp *warp)
{
    const struct points *points = warp->points;
    const uint64_t q = warp->next;
    if (q == warp->start) {
        return warp->slope;
    }
    const double passed = (double)(points->time[q] - points->time[q - 1]);
    const double risen = (double)(warp->rise - (points->value[q - 1] - points->time[q - 1]));
    return risen > warp->slope * passed && passed > 0 ? risen / passed : warp->slope;
}

/*
 * Compute what is the same for all events between two points. If neither point moves, nothing
 * between them does (calm). After the last point the gap has no end, hence the largest number of
 * events.
 */
static void warp_look_around(struct warp *warp)
{
    const struct points *points = warp->points;
    const uint64_t q = warp->next;
    const bool before = q > warp->start;
    const bool behind = q < warp->end;
    warp->lead_time = before ? points->time[q - 1] : 0;
    warp->lead = before ? points->value[q - 1] - warp->lead_time : 0;
    warp->rise_time = behind ? points->time[q] : 0;
    warp->rise = behind ? points->value[q] - warp->rise_time : 0;
    warp->rise_slope = warp->rise > 0 ? slope_behind(warp) : 0;
    warp->ahead = behind ? points->gap[q] : UINT64_MAX;
    warp->calm = warp->lead == 0 && warp->rise == 0;
    warp->around = q + 1;
}

/* The shift due to the preceding point, at a later time. */
static int64_t warp_forward_shift(const struct warp *warp, int64_t time)
{
    /*
     * B07 equation (4) between events: LC(t) = C(t) + lead - (1 - gamma) (C(t) - C(p)). The lead is
     * reduced by 1 - gamma of the time that passes, and never becomes negative.
     */
    const int64_t shift = warp->lead - (int64_t)(warp->decay * (double)(time - warp->lead_time));
    return warp->lead > 0 && shift > 0 ? shift : 0;
}

/* The shift that leads up to the next point. */
static int64_t warp_backward_shift(const struct warp *warp, int64_t time)
{
    /* In damaged archives, events may lie after the point that they lead up to. */
    const double left = time < warp->rise_time ? (double)(warp->rise_time - time) : 0.0;
    const double rest = (double)warp->rise - warp->rise_slope * left;
    return warp->rise > 0 && rest > 0 ? (int64_t)rest : 0;
}

/*
 * Both lines limit how intervals shrink: the forward line those after p, the ramp those before q.
 * The larger value satisfies both.
 */
static int64_t warp_between(const struct warp *warp, int64_t time)
{
    const int64_t shift = warp_forward_shift(warp, time);
    const int64_t ramp = warp_backward_shift(warp, time);
    return time + (ramp > shift ? ramp : shift);
}

/*
 * Place an event between points: in order, apart from its neighbours, and before the next point. As
 * many ticks are kept free before that point as there are events left (gap less since), but never
 * more than in the input. Stamps that were equal may stay equal.
 */
static int64_t warp_place(const struct warp *warp, int64_t time)
{
    int64_t out = warp_between(warp, time);
    const int64_t least = warp->output + (time > warp->input);
    if (warp->stats.events > 0 && out < least) {
        out = least;
    }
    if (warp->next < warp->end && !warp->by_time) {
        const uint64_t q = warp->next;
        const int64_t left = (int64_t)(warp->points->gap[q] - warp->since);
        const int64_t apart = warp->points->time[q] - time;
        int64_t keep = left < apart ? left : apart;
        keep = keep > 0 ? keep : 0;
        /*
         * The upper bound is applied last and wins. An event before its predecessor is put right by
         * warp_go_on(), but one beyond q would push q off the value that the passes found.
         */
        if (out > warp->points->value[q] - keep) {
            out = warp->points->value[q] - keep;
        }
    }
    return out;
}

/*
 * Points get the values that the passes found, and events between them those of warp_place(). A
 * location that follows another one's points, such as a GPU stream, is moved by time, because its
 * own events are not those points. Otherwise, points are recognised by counting events, since
 * several events may share one stamp.
 */
static int64_t warp_next_value(struct warp *warp, int64_t time)
{
    if (!warp->points) {
        return time;
    }
    while (warp->by_time && warp->next < warp->end && warp->points->time[warp->next] <= time) {
        warp->next++;
    }
    if (warp->around != warp->next + 1) {
        warp_look_around(warp);
    }
    if (warp->by_time) {
        return warp_place(warp, time);
    }
    warp->since++;
    if (warp->since == warp->ahead) {
        warp->since = 0;
        return warp->points->value[warp->next++];
    }
    return warp->calm ? time : warp_place(warp, time);
}

/*
 * The number of edges that a value reaches or exceeds. Counted without branches, which would be
 * mispredicted.
 */
static int bin_of(const double edges[WARP_BINS - 1], double value)
{
    int bin = 0;
    for (int i = 0; i < WARP_BINS - 1; i++) {
        bin += value >= edges[i];
    }
    return bin;
}

/*
 * Count in histograms by decades: absolute in ticks, and relative to the length of the interval in
 * the input, if that is not 0.
 */
static void warp_count_interval(struct warp_stats *stats, int64_t old, int64_t new)
{
    static const double ticks[] = {1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
    static const double ratios[] = {1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1};
    const int64_t change = new > old ? new - old : old - new;
    stats->stretched++;
    stats->largest_stretch = change > stats->largest_stretch ? change : stats->largest_stretch;
    stats->absolute[change < 10 ? 0 : bin_of(ticks, (double)change)]++;
    if (old > 0) {
        const double ratio = (double)change / (double)old;
        stats->largest_ratio = ratio > stats->largest_ratio ? ratio : stats->largest_ratio;
        stats->relative[bin_of(ratios, ratio)]++;
    }
}

/*
 * An interval is identified by its beginning in the output, and warp->output is still that of its
 * first event.
 */
static void warp_keep_forced(struct warp *warp, int64_t old, int64_t new)
{
    if (warp->forced && forced_is(warp->forced, old, new)) {
        const struct forced_interval interval = {warp->output, old, new, warp->location};
        ictusi_forced_keep(warp->forced, &interval);
    }
}

static void warp_count_move(struct warp_stats *stats, int64_t shift)
{
    stats->moved++;
    stats->largest_shift = shift > stats->largest_shift ? shift : stats->largest_shift;
}

/* Additional work for the first event of a location. */
static int64_t warp_begin(struct warp *warp, uint64_t stamp, int64_t time)
{
    const int64_t out = warp_next_value(warp, time);
    warp->stats.first_raw = stamp;
    warp->stats.first = out;
    return out;
}

/*
 * The length of an interval before its clock's map changed it, since the map counts as a change in
 * the same way as ramps. The archive's own offsets are applied first and do not count: they are
 * known, however fast the clocks drift apart.
 */
static int64_t warp_unbent(const struct warp *warp, uint64_t stamp)
{
    uint32_t hint = warp->local_hint;
    int64_t from = (int64_t)warp->raw;
    int64_t to = (int64_t)stamp;
    if (warp->local) {
        from = clock_map_at(warp->local, from, &hint);
        to = clock_map_at(warp->local, to, &hint);
    }
    return to > from ? shift_minus(to, from) : 0;
}

/* Later events. They stay in order, whatever their stamps say. */
static int64_t warp_go_on(struct warp *warp, uint64_t stamp, int64_t time)
{
    warp->stats.decreasing += stamp < warp->raw;
    const int64_t value = warp_next_value(warp, time);
    const int64_t out = value > warp->output ? value : warp->output;
    const int64_t length = time - warp->input;
    if (out - warp->output != length) {
        warp_count_interval(&warp->stats, length, out - warp->output);
    }
    if (warp->bent || out - warp->output != length) {
        warp_keep_forced(warp, warp->bent ? warp_unbent(warp, stamp) : length, out - warp->output);
    }
    return out;
}

/*
 * stamp -> presynchronised time -> corrected time. Both steps are monotone. A stamp that goes back,
 * because a clock was set, counts as the preceding one; otherwise points would be passed twice.
 */
uint64_t ictusi_warp_event(struct warp *warp, uint64_t stamp)
{
    struct warp_stats *stats = &warp->stats;
    int64_t time = ictusi_warp_presync(warp, stamp);
    int64_t out = 0;
    if (stats->events == 0) {
        out = warp_begin(warp, stamp, time);
    } else {
        time = time > warp->input ? time : warp->input;
        out = warp_go_on(warp, stamp, time);
    }
    if (out != time) {
        warp_count_move(stats, out - time);
    }
    stats->events++;
    /* A single check at the end then shows whether any stamp was too large. */
    warp->bits |= stamp;
    warp->raw = stamp;
    warp->input = time;
    warp->output = out;
    return warp_as_stamp(out);
}

/*
 * Works on a copy, because the instant may lie on either side of the current event, and the state
 * must not change.
 */
uint64_t ictusi_warp_other(const struct warp *warp, uint64_t stamp)
{
    struct warp probe = *warp;
    const int64_t time = ictusi_warp_presync(&probe, stamp);
    if (!probe.points) {
        return warp_as_stamp(time);
    }
    while (probe.next < probe.end && probe.points->time[probe.next] < time) {
        probe.next++;
    }
    while (probe.next > probe.start && probe.points->time[probe.next - 1] > time) {
        probe.next--;
    }
    warp_look_around(&probe);
    return warp_as_stamp(warp_between(&probe, time));
}

/* Only sums and extremes, so the order of the locations does not matter. */
void ictusi_warp_add_stats(struct warp_stats *sum, const struct warp *warp)
{
    const struct warp_stats *part = &warp->stats;
    if (part->events == 0) {
        return;
    }
    const bool fresh = sum->events == 0;
    sum->events += part->events;
    sum->moved += part->moved;
    sum->decreasing += part->decreasing;
    sum->stretched += part->stretched;
    sum->largest_shift =
        part->largest_shift > sum->largest_shift ? part->largest_shift : sum->largest_shift;
    sum->largest_stretch =
        part->largest_stretch > sum->largest_stretch ? part->largest_stretch : sum->largest_stretch;
    sum->largest_ratio =
        part->largest_ratio > sum->largest_ratio ? part->largest_ratio : sum->largest_ratio;
    for (int i = 0; i < WARP_BINS; i++) {
        sum->absolute[i] += part->absolute[i];
        sum->relative[i] += part->relative[i];
    }
    sum->first = fresh || part->first < sum->first ? part->first : sum->first;
    sum->last = fresh || warp->output > sum->last ? warp->output : sum->last;
    sum->first_raw = fresh || part->first_raw < sum->first_raw ? part->first_raw : sum->first_raw;
    sum->last_raw = fresh || warp->raw > sum->last_raw ? warp->raw : sum->last_raw;
}
