/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus_correct(): presynchronise, forward pass, limits, backward pass, write, report. */
#include "correct/correct.h"

#include "causality/crew.h"

#include "correct/clock_fit.h"
#include "correct/ease.h"
#include "correct/forced.h"
#include "correct/truth.h"

#include <ictus/result.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of one correction. */
struct correction {
    const struct ictus_correct_options *options;
    struct session session;
    struct clock_fit clocks;
    json_t *report;
    double gamma; /* of the last pass */
    double bend;  /* largest relative change of an interval by a clock's map */
    int passes;
    bool clean;        /* nothing to repair: times are only presynchronised */
    bool keep_offsets; /* nothing to do at all: the archive stays as it is */
    double error_ns;
    struct backward_stats backward;
    struct warp_stats warps;
    struct forced forced;
};

/* The state for one location that is being written. */
struct walk {
    struct warp warp;
    struct forced forced;
};

void ictus_correct_defaults(struct ictus_correct_options *options)
{
    *options = (struct ictus_correct_options){.size = sizeof *options,
                                              .presync = ICTUS_PRESYNC_AUTO,
                                              .gamma = 0.99,
                                              .passes = 3,
                                              .error_s = 1e-3,
                                              .slope = 0.01,
                                              .latency_s = -1,
                                              .node_latency_s = -1};
}

/* Check the options. One rank also checks the truth, before anything is written. */
static int correct_check_options(const struct ictus_correct_options *o, bool first,
                                 struct ictus_why *why)
{
    if (!o || o->size != sizeof *o || !o->in) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "the options were made for another version of this library");
    }
    if (!(o->gamma >= 0 && o->gamma < 1)) {
        return ictus_because(why, ICTUS_ERR_ARG, "gamma must be at least 0 and less than 1");
    }
    if (!(o->slope > 0 && o->slope <= 1)) {
        return ictus_because(why, ICTUS_ERR_ARG, "the slope must be more than 0 and at most 1");
    }
    if (o->passes < 1) {
        return ictus_because(why, ICTUS_ERR_ARG, "there must be at least one pass");
    }
    const int err = ictusi_output_copy_check(o->in, o->out, why);
    return !err && first && o->truth ? ictusi_truth_check(o->truth, o->in, why) : err;
}

static void correct_say_check(struct correction *c, const struct check_stats *stats,
                              const char *prefix)
{
    ictusi_check_json(stats, c->report, prefix, false);
}

/* Check these values, add the result to the report, and tell whether there was no violation. */
static int report_check(struct correction *c, const int64_t *values, const char *prefix,
                        bool *clean)
{
    struct check_stats stats;
    const int err = ictusi_session_check(&c->session, values, &stats);
    if (err) {
        return err;
    }
    correct_say_check(c, &stats, prefix);
    *clean = ictusi_check_all_violations(&stats) == 0;
    ictusi_check_fini(&stats);
    return ICTUS_OK;
}

static enum presync correct_first_presync(enum ictus_presync wanted)
{
    switch (wanted) {
    case ICTUS_PRESYNC_NONE:
        return PRESYNC_NONE;
    case ICTUS_PRESYNC_OFFSET:
        return PRESYNC_OFFSET;
    case ICTUS_PRESYNC_ARCHIVE:
        return PRESYNC_ARCHIVE;
    case ICTUS_PRESYNC_LINEAR:
        return PRESYNC_LINEAR;
    default:
        return PRESYNC_AUTO;
    }
}

/* If the times have no violation, raw or with the archive's offsets, the offsets can stay in it. */
static int correct_look_as_read(struct correction *c)
{
    const int err = ictusi_session_as_read(&c->session);
    return err ? err
               : report_check(c, c->session.history.points.value, "as_read_", &c->keep_offsets);
}

/* Apply the archive's own offsets, and update stats to the resulting times. */
static int correct_apply_offsets(struct correction *c, struct check_stats *stats)
{
    struct session *s = &c->session;
    int err = ictusi_session_presync(s, correct_first_presync(c->options->presync));
    if (!err && !s->unchanged) {
        ictusi_check_fini(stats);
        err = ictusi_session_check(s, s->history.points.time, stats);
    }
    if (!err) {
        correct_say_check(c, stats, "presync_");
    }
    return err;
}

/*
 * Check the times as recorded, then with the archive's offsets, then with the clocks fitted to the
 * messages. The report lists the violations after each step. A trace without violations as recorded
 * and without offsets is left alone, because it may well have a single clock. In all other cases
 * the messages are used, since offsets without violations may still be microseconds off.
 */
static int correct_presynchronise(struct correction *c)
{
    struct session *s = &c->session;
    const enum ictus_presync wanted = c->options->presync;
    struct check_stats stats;
    int err = ictusi_session_check(s, s->history.points.time, &stats);
    if (err) {
        return err;
    }
    correct_say_check(c, &stats, "raw_");
    err = correct_apply_offsets(c, &stats);
    c->clean = !err && ictusi_check_all_violations(&stats) == 0;
    if (!err && (wanted == ICTUS_PRESYNC_MESSAGES ||
                 (wanted == ICTUS_PRESYNC_AUTO && !(c->clean && s->unchanged)))) {
        err = ictusi_clock_fit_run(&c->clocks, s, &stats);
        if (!err) {
            correct_say_check(c, &stats, "fit_");
            c->clean = ictusi_check_all_violations(&stats) == 0;
        }
    }
    ictusi_check_fini(&stats);
    if (!err) {
        c->bend = s->units ? ictusi_clock_maps_bend(s->units, s->unit_count) : 0;
        ictusi_session_raise(s);
    }
    return err || !c->clean || wanted != ICTUS_PRESYNC_NONE ? err : correct_look_as_read(c);
}

/*
 * The limit on how much an interval may be changed holds for all changes together. The clock's map
 * takes up to `bend` of it. The ramps get the rest, but at least half.
 */
static double correct_leave(const struct correction *c, double asked)
{
    return fmax(asked - c->bend, asked / 2);
}

/* The largest error that remains at the end, over all locations, in ns (B07 5.2). */
static int correct_end_error(struct correction *c, double *error_ns)
{
    const struct session *s = &c->session;
    const struct points *points = &s->history.points;
    int64_t largest = 0;
    for (uint32_t l = 0; l < s->trace->layout.location_count; l++) {
        if (s->history.first[l + 1] > s->history.first[l]) {
            const uint64_t last = s->history.first[l + 1] - 1;
            /* Only forward leads can remain, because LC is never below its input. */
            const int64_t lead = points->value[last] - points->time[last];
            largest = lead > largest ? lead : largest;
        }
    }
    const int err = s->team ? s->team->maxima(s->team, &largest, 1) : ICTUS_OK;
    *error_ns = (double)largest * 1e9 / (double)s->trace->layout.resolution;
    return err;
}

/* Passes of the forward amortisation, each with a smaller gamma, until the error is small. */
static int correct_forward(struct correction *c)
{
    const double rounding = 1e-9; /* more than that of ten times 1 - 0.9 */
    double before = INFINITY;
    int err = ICTUS_OK;
    c->gamma = c->options->gamma;
    for (c->passes = 1;; c->passes++) {
        c->session.flow.decay = correct_leave(c, 1 - c->gamma);
        c->session.flow.broken = 0;
        err = ictusi_session_agree(&c->session, ictusi_flow_run(&c->session.flow, FLOW_CLOCK));
        if (!err) {
            err = correct_end_error(c, &c->error_ns);
        }
        /*
         * gamma 0.99, then 0.9: with each pass a lead decays ten times as fast. Intervals after a
         * jump shrink by up to 1 - gamma, so the gentlest value comes first, and 0, at which they
         * would vanish, never. Another pass is made only if the error at the end is too large and
         * the last pass reduced it by 1 % or more.
         */
        const double faster = (1 - c->gamma) * 10;
        if (err || c->passes >= c->options->passes || faster > 1 - rounding ||
            c->error_ns <= c->options->error_s * 1e9 || c->error_ns >= before * 0.99) {
            return err;
        }
        before = c->error_ns;
        c->gamma = 1 - faster;
    }
}

/* The data that threads need to process a location. */
struct backing {
    struct correction *correction;
    struct backward_stats *stats; /* by location */
    int *err;                     /* by location */
};

static void backing_do(void *self, uint32_t location)
{
    const struct backing *b = self;
    struct history *history = &b->correction->session.history;
    b->err[location] = ictusi_backward(
        &history->points, history->first[location], history->first[location + 1],
        correct_leave(b->correction, b->correction->options->slope), &b->stats[location]);
}

/* Add the ramps before each jump, for each location separately. */
static int correct_backward(struct correction *c)
{
    const struct session *s = &c->session;
    const uint32_t n = (uint32_t)s->trace->layout.location_count;
    struct backing b = {c, calloc(n + 1UL, sizeof *b.stats), calloc(n + 1UL, sizeof *b.err)};
    int err = b.stats && b.err ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        ictusi_crew_run(s->threads, n, backing_do, &b);
    }
    for (uint32_t l = 0; l < n && !err; l++) {
        err = b.err[l];
        ictusi_backward_add(&c->backward, &b.stats[l]);
    }
    free(b.stats);
    free(b.err);
    return err;
}

/*
 * In order: the least delays, LC forward (B07 equation 4), the limits of the sends backward,
 * raising sends that would make ramps steep (ease.h), and the ramps before each jump. This gives
 * the values of the points. Events between them follow when the archive is written (warp.h).
 */
static int correct_amortise(struct correction *c)
{
    struct session *s = &c->session;
    struct points *points = &s->history.points;
    int err = ictusi_session_latency(s, c->options->latency_s, c->options->node_latency_s);
    if (!err) {
        err = correct_forward(c);
    }
    if (!err) {
        err = ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_LIMIT));
    }
    if (!err) {
        err = ictusi_ease(s, correct_leave(c, 1 - c->gamma), correct_leave(c, c->options->slope));
    }
    err = err ? err : correct_backward(c);
    ictusi_points_relax(points);
    return ictusi_session_agree(s, err);
}

/* The times just checked are the result. They have no violation: no second check is needed. */
static int report_clean(struct correction *c)
{
    struct check_stats none;
    const int err = ictusi_check_init(&none, &c->session.history);
    if (!err) {
        ictusi_check_json(&none, c->report, "", false);
        ictusi_check_fini(&none);
    }
    c->gamma = c->options->gamma;
    return ictusi_session_agree(&c->session, err);
}

/* The location whose points move one without points: the first thread of its process. */
static uint32_t warp_source(const struct session *s, uint32_t location, bool *by_time)
{
    *by_time = false;
    if (s->history.first[location + 1] > s->history.first[location] ||
        !s->trace->layout.process_count) {
        return location;
    }
    const bool apart =
        s->process_of[location] >= s->trace->layout.process_count; /* then the first one */
    const uint32_t lead =
        s->trace->layout.processes[apart ? 0 : s->process_of[location]].rank_location;
    if (lead == LAYOUT_NONE || !s->share.mine[lead]) {
        return location;
    }
    *by_time = true;
    return lead;
}

/* Begin to write a location: its maps, its points, and the slopes that no interval may exceed. */
static void *correct_open_walk(void *self, uint32_t location)
{
    const struct correction *c = self;
    const struct session *s = &c->session;
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        return NULL;
    }
    struct warp *warp = &walk->warp;
    warp->bent = c->bend > c->options->slope / 2;
    walk->forced.slope = warp->bent ? c->options->slope : correct_leave(c, c->options->slope);
    const uint32_t source = warp_source(s, location, &warp->by_time);
    warp->local = s->unchanged ? NULL : &s->maps[location];
    warp->unit = s->units ? &s->units[s->unit_of[location]] : NULL;
    warp->points = c->clean ? NULL : &s->history.points;
    warp->forced = &walk->forced;
    warp->location = location;
    warp->start = s->history.first[source];
    warp->next = warp->start;
    warp->end = s->history.first[source + 1];
    warp->decay = correct_leave(c, 1 - c->gamma);
    warp->slope = correct_leave(c, c->options->slope);
    ictusi_points_relax(&s->history.points); /* of the locations written so far */
    return walk;
}

static uint64_t correct_walk_event(void *self, uint64_t stamp)
{
    struct walk *walk = self;
    return ictusi_warp_event(&walk->warp, stamp);
}

static uint64_t correct_walk_other(const void *self, uint64_t stamp)
{
    const struct walk *walk = self;
    return ictusi_warp_other(&walk->warp, stamp);
}

/*
 * One thread at a time closes walks (copy_callbacks.h), so the sums need no lock. A walk whose
 * events were not written does not count, because another one follows.
 */
static bool correct_close_walk(void *self, void *its, bool copied)
{
    struct correction *c = self;
    struct walk *walk = its;
    const bool good = walk->warp.bits >> STAMP_BITS == 0;
    if (copied) {
        ictusi_warp_add_stats(&c->warps, &walk->warp);
        ictusi_forced_add(&c->forced, &walk->forced);
    }
    free(walk);
    return good;
}

/* Sums, maxima and minima over the ranks. Ratios are sent as multiples of 1e-12. */
static int correct_add_up_warps(struct correction *c)
{
    enum { OWN_SUMS = 7 };
    struct team *team = c->session.team;
    struct warp_stats *w = &c->warps;
    if (!team) {
        return ICTUS_OK;
    }
    int err = ictusi_forced_share(&c->forced, team);
    uint64_t sums[OWN_SUMS + 2 * WARP_BINS] = {
        w->moved,          w->decreasing,     w->stretched,       w->events,
        c->backward.steep, c->backward.jumps, c->backward.limited};
    memcpy(sums + OWN_SUMS, w->absolute, sizeof w->absolute);
    memcpy(sums + OWN_SUMS + WARP_BINS, w->relative, sizeof w->relative);
    const bool any = w->events > 0;
    int64_t maxima[] = {w->largest_shift,
                        w->largest_stretch,
                        (int64_t)(w->largest_ratio * 1e12),
                        (int64_t)(c->backward.largest_slope * 1e12),
                        any ? w->last : INT64_MIN,
                        any ? (int64_t)w->last_raw : INT64_MIN};
    int64_t minima[] = {any ? w->first : INT64_MAX, any ? (int64_t)w->first_raw : INT64_MAX};
    err = err ? err : team->sums(team, sums, sizeof sums / sizeof *sums);
    err = err ? err : team->maxima(team, maxima, sizeof maxima / sizeof *maxima);
    err = err ? err : team->minima(team, minima, sizeof minima / sizeof *minima);
    /* If there are no events at all, maxima and minima still hold the neutral elements. */
    if (err || sums[3] == 0) {
        return err;
    }
    w->moved = sums[0];
    w->decreasing = sums[1];
    w->stretched = sums[2];
    w->events = sums[3];
    c->backward.steep = sums[4];
    c->backward.jumps = sums[5];
    c->backward.limited = sums[6];
    memcpy(w->absolute, sums + OWN_SUMS, sizeof w->absolute);
    memcpy(w->relative, sums + OWN_SUMS + WARP_BINS, sizeof w->relative);
    w->largest_shift = maxima[0];
    w->largest_stretch = maxima[1];
    w->largest_ratio = (double)maxima[2] / 1e12;
    c->backward.largest_slope = (double)maxima[3] / 1e12;
    w->last = maxima[4];
    w->last_raw = (uint64_t)maxima[5];
    w->first = minima[0];
    w->first_raw = (uint64_t)minima[1];
    return ICTUS_OK;
}

/*
 * Called when all events have been written. The global offset becomes the first corrected stamp,
 * and the length becomes the time from there to the last one. The real time of the global offset
 * moves along with it. Collective, because the result depends on sums over all ranks; the copy
 * calls it on all of them.
 */
static void correct_properties(void *self, uint64_t clock[4])
{
    struct correction *c = self;
    const struct trace *trace = c->session.trace;
    if (correct_add_up_warps(c) || c->warps.events == 0 || c->keep_offsets) {
        return;
    }
    const int64_t first = c->warps.first > 0 ? c->warps.first : 0;
    const int64_t last = c->warps.last > first ? c->warps.last : first;
    clock[1] = (uint64_t)first;
    clock[2] = (uint64_t)(last - first) + 1;
    if (trace->realtime != OTF2_UNDEFINED_TIMESTAMP) {
        /* The real time of the global offset, which has moved. */
        const double ticks = (double)(first - c->session.raised - (int64_t)trace->global_offset);
        clock[3] =
            trace->realtime + (uint64_t)(int64_t)(ticks * 1e9 / (double)trace->layout.resolution);
    }
}

/*
 * Times are mapped while the archive is copied: events are read a second time, and are never in
 * memory all at once.
 */
static int correct_write_out(struct correction *c)
{
    struct session *s = &c->session;
    const bool fitted = c->clocks.choice.kind != CLOCKS_BASE && s->units;
    char *threads = fitted ? ictusi_session_threads_text(s) : NULL;
    const struct copy_job job = {.trace = s->trace,
                                 .out = c->options->out,
                                 .mine = s->share.mine,
                                 .clock = {.open = correct_open_walk,
                                           .event = correct_walk_event,
                                           .other = correct_walk_other,
                                           .close = correct_close_walk,
                                           .self = c},
                                 .definitions = {.properties = correct_properties,
                                                 .self = c,
                                                 .thread_clocks = threads,
                                                 .process_clocks = fitted && s->process_units,
                                                 .keep_offsets = c->keep_offsets,
                                                 .raised = s->raised},
                                 .team = s->team,
                                 .threads = s->threads,
                                 .restamp = s->counts.unknown == 0};
    const int err = ictusi_copy_run(&job, s->why);
    free(threads);
    return err;
}

static json_t *correct_bins_json(const uint64_t *counts, double first_edge, const char *key)
{
    json_t *list = json_array();
    double edge = first_edge;
    for (int i = 0; i < WARP_BINS; i++, edge *= 10) {
        (void)json_array_append_new(
            list, json_pack("{s:f, s:I}", key, edge, "intervals", (json_int_t)counts[i]));
    }
    return list;
}

/* How far the times were moved, in ns. Ratios are relative to the length of the interval. */
static void report_moves(struct correction *c)
{
    static const char *const presyncs[] = {"auto",   "none",    "offset",
                                           "linear", "archive", "messages"};
    const struct warp_stats *w = &c->warps;
    const double ns = 1e9 / (double)c->session.trace->layout.resolution;
    json_t *more = json_pack(
        "{s:s, s:i, s:f, s:f, s:I, s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:I, s:I}", "presync",
        presyncs[c->session.presync], "passes", c->passes, "gamma", c->gamma, "error_end_ns",
        c->error_ns, "moved_events", (json_int_t)w->moved, "max_shift_ns",
        (double)w->largest_shift * ns, "largest_slope", c->backward.largest_slope, "asked_slope",
        c->options->slope, "steep_intervals", (json_int_t)c->backward.steep, "changed_intervals",
        (json_int_t)w->stretched, "max_interval_change_ns", (double)w->largest_stretch * ns,
        "max_interval_change_relative", w->largest_ratio, "ramps", (json_int_t)c->backward.jumps,
        "limited_ramps", (json_int_t)c->backward.limited);
    c->clocks.raised = c->session.raised;
    (void)json_object_set_new(c->report, "raised_ns", json_real((double)c->session.raised * ns));
    ictusi_clock_fit_json(&c->clocks, c->report);
    ictusi_forced_json(&c->forced, c->session.trace, &c->clocks, c->report);
    (void)json_object_update(c->report, more);
    json_decref(more);
    (void)json_object_set_new(c->report, "interval_changes",
                              correct_bins_json(w->absolute, 10 * ns, "below_ns"));
    (void)json_object_set_new(c->report, "interval_changes_relative",
                              correct_bins_json(w->relative, 1e-9, "below"));
}

static int correct_open(struct correction *c)
{
    struct session *s = &c->session;
    bool clean = false;
    int err = correct_presynchronise(c);
    if (!err && c->clean) {
        err = report_clean(c);
    } else if (!err) {
        err = correct_amortise(c);
        err = err ? err : report_check(c, s->history.points.value, "", &clean);
    }
    if (!err) {
        err = correct_write_out(c);
    }
    if (!err) {
        report_moves(c);
        err = ictusi_session_json(s, c->report);
    }
    return err;
}

/*
 * Errors are agreed on before the first collective step and after the last one. The caller owns the
 * report; after an error there is none.
 */
int ictusi_correct_team(const struct ictus_correct_options *options, struct team *team,
                        json_t **report, struct ictus_why *why)
{
    struct correction c = {.options = options};
    const bool first = !team || team->rank == 0;
    int err = report ? correct_check_options(options, first, why) : ICTUS_ERR_ARG;
    err = team ? team->agree(team, err) : err;
    if (err) {
        return err;
    }
    c.report = json_pack("{s:s, s:o, s:o, s:i}", "type", "correct", "archive",
                         ictus_result_text(options->in), "output", ictus_result_text(options->out),
                         "ranks", team ? team->size : 1);
    err = c.report ? ictusi_session_open(&c.session, options->in, team, why) : ICTUS_ERR_NOMEM;
    err = err ? err : ictusi_session_read(&c.session, NULL);
    if (!err) {
        err = correct_open(&c);
    }
    if (c.report) {
        ictusi_session_close(&c.session);
    }
    if (!err && options->truth && first) {
        err = ictusi_truth_compare(options->truth, options->in, options->out, &c.clocks, c.report,
                                   why);
    }
    ictusi_clock_fit_fini(&c.clocks);
    err = team ? team->agree(team, err) : err;
    if (err) {
        json_decref(c.report);
        return err;
    }
    *report = c.report;
    return ICTUS_OK;
}

int ictus_correct(const struct ictus_correct_options *options, json_t **report,
                  struct ictus_why *why)
{
    return ictusi_correct_team(options, NULL, report, why);
}
