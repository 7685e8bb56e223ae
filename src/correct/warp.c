/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between two points p and q of a location an event at time t gets the greater of the forward
 * line (the lead of p, falling by 1 - gamma: B07, equation (4)) and the backward ramp (the shift of
 * q, falling backwards; straight to p where that is steeper than asked). Two events with different
 * input stamps keep different stamps: each is at least one tick after the one before, and leaves
 * room for those that follow it before q.
 */
#include "correct/warp.h"

#include <math.h>

static uint64_t as_stamp(int64_t time)
{
    return time > 0 ? (uint64_t)time : 0;
}

/* What the two maps do to one stamp. */
struct image {
    int64_t local, unit; /* shifts, one after the other */
    uint32_t local_hint, unit_hint;
};

static struct image image_of(const struct warp *warp, int64_t stamp)
{
    struct image image = {0, 0, warp->local_hint, warp->unit_hint};
    if (warp->local) {
        image.local = clock_map_at(warp->local, stamp, &image.local_hint) - stamp;
    }
    if (warp->unit) {
        const int64_t time = stamp + image.local;
        image.unit = clock_map_at(warp->unit, time, &image.unit_hint) - time;
    }
    return image;
}

static bool same_image(const struct image *a, const struct image *b)
{
    return a->local == b->local && a->unit == b->unit && a->local_hint == b->local_hint &&
           a->unit_hint == b->unit_hint;
}

/*
 * A drift moves neighbouring events by the same number of ticks. Within one piece the rounded shift
 * is monotone, so where it is the same at both ends of a stretch it is so in between.
 */
static int64_t presync_afresh(struct warp *warp, int64_t stamp)
{
    enum { REACH_LEAST = 64 };
    const int64_t reach_most = INT64_C(1) << 40;
    const struct image image = image_of(warp, stamp);
    warp->local_hint = image.local_hint;
    warp->unit_hint = image.unit_hint;
    warp->same_shift = image.local + image.unit;
    warp->same_from = stamp;
    warp->same_to = stamp;
    warp->reach = warp->reach > REACH_LEAST ? warp->reach : REACH_LEAST;
    if (stamp >= 0 && stamp < INT64_MAX - reach_most) {
        const struct image end = image_of(warp, stamp + warp->reach);
        const bool same = same_image(&image, &end);
        warp->same_to += same ? warp->reach + 1 : 0;
        warp->reach = !same                      ? warp->reach / 2
                      : warp->reach < reach_most ? 2 * warp->reach
                                                 : warp->reach;
    }
    return stamp + warp->same_shift;
}

int64_t ictusi_warp_presync(struct warp *warp, uint64_t stamp)
{
    const int64_t time = (int64_t)stamp;
    return time >= warp->same_from && time < warp->same_to ? time + warp->same_shift
                                                           : presync_afresh(warp, time);
}

/* The shift that the point before gives, at a later time. */
static int64_t forward_shift(const struct warp *warp, int64_t time)
{
    if (warp->next == warp->start) {
        return 0;
    }
    const struct points *points = warp->points;
    const uint64_t p = warp->next - 1;
    const int64_t shift = points->value[p] - points->time[p] -
                          (int64_t)(warp->decay * (double)(time - points->time[p]));
    return shift > 0 ? shift : 0;
}

/* The shift that leads up to the point behind. */
static int64_t backward_shift(const struct warp *warp, int64_t time)
{
    const struct points *points = warp->points;
    const uint64_t q = warp->next;
    const int64_t shift = points->value[q] - points->time[q];
    if (shift <= 0) {
        return 0;
    }
    /* Events of damaged archives may lie behind the point that they lead to. */
    const double left = time < points->time[q] ? (double)(points->time[q] - time) : 0.0;
    double slope = warp->slope;
    if (q > warp->start) {
        const double passed = (double)(points->time[q] - points->time[q - 1]);
        const double risen = (double)(shift - (points->value[q - 1] - points->time[q - 1]));
        if (risen > slope * passed && passed > 0) {
            slope = risen / passed;
        }
    }
    const double rest = (double)shift - slope * left;
    return rest > 0 ? (int64_t)floor(rest) : 0;
}

static int64_t between(const struct warp *warp, int64_t time)
{
    int64_t shift = forward_shift(warp, time);
    if (warp->next < warp->end) {
        const int64_t ramp = backward_shift(warp, time);
        shift = ramp > shift ? ramp : shift;
    }
    return time + shift;
}

/* An event between points: in order, apart from its neighbours, and before the next point. */
static int64_t place(const struct warp *warp, int64_t time)
{
    int64_t out = between(warp, time);
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
        if (out > warp->points->value[q] - keep) {
            out = warp->points->value[q] - keep;
        }
    }
    return out;
}

/* Whether neither neighbouring point was moved: then nothing between them is. */
static bool is_calm(const struct warp *warp)
{
    const struct points *points = warp->points;
    const uint64_t q = warp->next;
    return (q == warp->end || points->value[q] == points->time[q]) &&
           (q == warp->start || points->value[q - 1] == points->time[q - 1]);
}

static int64_t next_value(struct warp *warp, int64_t time)
{
    if (!warp->points) {
        return time;
    }
    if (warp->by_time) {
        while (warp->next < warp->end && warp->points->time[warp->next] <= time) {
            warp->next++;
        }
        return place(warp, time);
    }
    if (warp->since == 0) {
        warp->calm = is_calm(warp);
        warp->ahead = warp->next < warp->end ? warp->points->gap[warp->next] : UINT64_MAX;
    }
    warp->since++;
    if (warp->since == warp->ahead) {
        warp->since = 0;
        return warp->points->value[warp->next++];
    }
    return warp->calm ? time : place(warp, time);
}

static void count_interval(struct warp_stats *stats, int64_t old, int64_t new)
{
    if (new == old) {
        return;
    }
    const int64_t change = new > old ? new - old : old - new;
    stats->stretched++;
    stats->largest_stretch = change > stats->largest_stretch ? change : stats->largest_stretch;
    int bin = 0;
    for (int64_t edge = 10; bin < WARP_BINS - 1 && change >= edge; edge *= 10) {
        bin++;
    }
    stats->absolute[bin]++;
    if (old > 0) {
        const double ratio = (double)change / (double)old;
        stats->largest_ratio = ratio > stats->largest_ratio ? ratio : stats->largest_ratio;
        bin = 0;
        for (double edge = 1e-9; bin < WARP_BINS - 1 && ratio >= edge; edge *= 10) {
            bin++;
        }
        stats->relative[bin]++;
    }
}

uint64_t ictusi_warp_event(struct warp *warp, uint64_t stamp)
{
    struct warp_stats *stats = &warp->stats;
    int64_t time = ictusi_warp_presync(warp, stamp);
    if (stats->events > 0) {
        stats->decreasing += stamp < warp->raw;
        time = time > warp->input ? time : warp->input;
    } else {
        stats->first_raw = stamp;
    }
    int64_t out = next_value(warp, time);
    if (stats->events > 0) {
        out = out > warp->output ? out : warp->output;
        count_interval(stats, time - warp->input, out - warp->output);
    } else {
        stats->first = out;
    }
    const int64_t shift = out - time;
    stats->moved += shift != 0;
    stats->largest_shift = shift > stats->largest_shift ? shift : stats->largest_shift;
    stats->events++;
    stats->last = out;
    stats->last_raw = stamp;
    warp->raw = stamp;
    warp->input = time;
    warp->output = out;
    return as_stamp(out);
}

uint64_t ictusi_warp_other(const struct warp *warp, uint64_t stamp)
{
    struct warp probe = *warp;
    const int64_t time = ictusi_warp_presync(&probe, stamp);
    if (!probe.points) {
        return as_stamp(time);
    }
    while (probe.next < probe.end && probe.points->time[probe.next] < time) {
        probe.next++;
    }
    while (probe.next > probe.start && probe.points->time[probe.next - 1] > time) {
        probe.next--;
    }
    return as_stamp(between(&probe, time));
}

void ictusi_warp_add_stats(struct warp_stats *sum, const struct warp_stats *part)
{
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
    sum->last = fresh || part->last > sum->last ? part->last : sum->last;
    sum->first_raw = fresh || part->first_raw < sum->first_raw ? part->first_raw : sum->first_raw;
    sum->last_raw = fresh || part->last_raw > sum->last_raw ? part->last_raw : sum->last_raw;
}
