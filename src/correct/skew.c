/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes archives with known truth: the clocks of a good archive are skewed by functions drawn from
 * a seed.
 */
#include "archive/trace_open.h"
#include "core/random.h"
#include "core/spec.h"
#include "correct/session.h"

#include <ictus/result.h>
#include <ictus/text.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of knots of a skew that is not a straight line. */
enum { KNOTS = 8192 };

enum { SCOPE_NODE, SCOPE_PROCESS, SCOPE_LOCATION };
static const char *const scopes[] = {"node", "process", "location", NULL};

enum { OFFSETS_START, OFFSETS_BOTH, OFFSETS_DROP };
static const char *const offset_names[] = {"start", "both", "drop", NULL};

struct skew_options {
    double offset, drift, walk, sine, period, step, jump, bad, noise, sd;
    int64_t seed;
    int scope, offsets;
};

#define ROW(key, kind, field, value, low, high, list, text)                                        \
    {                                                                                              \
        key, kind, offsetof(struct skew_options, field), value, low, high, list, text              \
    }

static const struct spec_param params[] = {
    ROW("offset", SPEC_SECONDS, offset, "0", 0, 1e6, NULL,
        "offset at the start, drawn from plus or minus this"),
    ROW("drift", SPEC_RATIO, drift, "0", 0, 0.01, NULL,
        "constant drift, drawn from plus or minus this"),
    ROW("walk", SPEC_RATIO, walk, "0", 0, 0.01, NULL,
        "random walk of the rate, per square root of a second"),
    ROW("sine", SPEC_SECONDS, sine, "0", 0, 1e3, NULL, "amplitude of a sinusoid"),
    ROW("period", SPEC_SECONDS, period, "1", 1e-6, 1e9, NULL, "its period"),
    ROW("step", SPEC_RATIO, step, "0", 0, 0.01, NULL,
        "step of the rate at a random instant, up or down"),
    ROW("jump", SPEC_SECONDS, jump, "0", 0, 1e3, NULL, "jump at that instant, up or down"),
    ROW("bad", SPEC_RATIO, bad, "0", 0, 0.01, NULL,
        "random walk of the second clock alone, per square root of a second"),
    ROW("noise", SPEC_SECONDS, noise, "0", 0, 1e3, NULL,
        "standard error of the offsets in the output"),
    ROW("sd", SPEC_SECONDS, sd, "0", 0, 1e3, NULL, "standard error that the output claims"),
    ROW("seed", SPEC_INT, seed, "1", 0, 1e15, NULL, "seed of all draws"),
    ROW("scope", SPEC_CHOICE, scope, "node", 0, 0, scopes, "which locations share a clock"),
    ROW("offsets", SPEC_CHOICE, offsets, "start", 0, 0, offset_names,
        "clock offsets in the output: measured at the start, also at the end, none"),
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL},
};

struct skewing {
    struct trace *trace;
    struct skew_options options;
    bool plain; /* copy the archive as it is */
    struct clock_map *maps, *skews;
    uint32_t skew_count;
    struct warp warp; /* of the location being written */
    struct warp_stats stats;
};

/* The clock that a location reads. Clock 0 is the reference and has no error. */
static uint32_t skew_scope_of(const struct skewing *s, uint32_t location)
{
    const uint32_t process = s->trace->layout.locations[location].process;
    if (s->options.scope == SCOPE_LOCATION) {
        return location;
    }
    if (process == LAYOUT_NONE) {
        return 0;
    }
    return s->options.scope == SCOPE_PROCESS ? process : s->trace->layout.processes[process].node;
}

/* The error of one clock, in ticks, at regular knots from the beginning to the end of the trace. */
static void skew_draw(const struct skewing *s, uint32_t clock, const int64_t *times,
                      double *offsets)
{
    const struct skew_options *o = &s->options;
    const double resolution = (double)s->trace->layout.resolution;
    struct rng rng;
    /*
     * Each clock has a random stream of its own, and all numbers are drawn whatever is requested.
     * So requesting another kind of error leaves the others unchanged.
     */
    ictusi_random_seed(&rng, (uint64_t)o->seed, clock);
    const double offset = o->offset * (2 * ictusi_random_uniform(&rng) - 1);
    const double drift = o->drift * (2 * ictusi_random_uniform(&rng) - 1);
    const double phase = 6.283185307179586 * ictusi_random_uniform(&rng);
    /* Within the middle 60 % of the trace, so that both rates last long enough to be fitted. */
    const double step_at = (0.2 + 0.6 * ictusi_random_uniform(&rng)) *
                           (double)(times[KNOTS - 1] - times[0]) / resolution;
    const double sign = ictusi_random_uniform(&rng) < 0.5 ? -1 : 1;
    const double walk = clock == 1 && o->bad > 0 ? o->bad : o->walk;
    double rate = 0;
    double wandered = 0;
    for (int i = 0; i < KNOTS; i++) {
        const double t = (double)(times[i] - times[0]) / resolution;
        /*
         * The rate performs a random walk (variance walk^2 per second), and the offset is its
         * integral, as for crystal oscillators over minutes.
         */
        if (i > 0) {
            const double passed = (double)(times[i] - times[i - 1]) / resolution;
            rate += walk * sqrt(passed) * ictusi_random_normal(&rng);
            wandered += rate * passed;
        }
        /* The value at 0 is subtracted, so that `offset` is the offset at the start. */
        const double sine = o->sine * (sin(6.283185307179586 * t / o->period + phase) - sin(phase));
        const double stepped = t > step_at ? sign * (o->step * (t - step_at) + o->jump) : 0;
        const double error = clock == 0 ? 0 : offset + drift * t + wandered + sine + stepped;
        offsets[i] = error * resolution;
    }
}

/*
 * The knots are so close (8192 over the trace) that the bends of a walk between them do not matter.
 */
static int skews_make(struct skewing *s)
{
    const struct trace *trace = s->trace;
    int64_t *times = malloc(KNOTS * sizeof *times);
    double *offsets = malloc(KNOTS * sizeof *offsets);
    s->skew_count = (uint32_t)(trace->layout.location_count + trace->layout.process_count + 1);
    s->skews = calloc(s->skew_count, sizeof *s->skews);
    int err = times && offsets && s->skews ? ICTUS_OK : ICTUS_ERR_NOMEM;
    const double length = trace->layout.length > KNOTS ? (double)trace->layout.length : KNOTS;
    for (int i = 0; i < KNOTS && !err; i++) {
        times[i] = (int64_t)trace->global_offset + (int64_t)(length * i / (KNOTS - 1));
    }
    for (uint32_t l = 0; l < trace->layout.location_count && !err; l++) {
        const uint32_t clock = skew_scope_of(s, l);
        if (!s->skews[clock].pieces) {
            skew_draw(s, clock, times, offsets);
            err = ictusi_clock_map_knots(&s->skews[clock], times, offsets, KNOTS);
        }
    }
    free(times);
    free(offsets);
    return err;
}

/* Stamps cannot be negative. If the first would be, all are raised by the same amount. */
static void skews_raise(struct skewing *s)
{
    const struct trace *trace = s->trace;
    int64_t least = 0;
    for (uint32_t l = 0; l < trace->layout.location_count; l++) {
        uint32_t hint = 0;
        const int64_t time =
            clock_map_at(&s->skews[skew_scope_of(s, l)], (int64_t)trace->global_offset, &hint);
        least = time < least ? time : least;
    }
    ictusi_clock_maps_raise(s->skews, s->skew_count, -least);
}

/*
 * The maps of a location: first the offsets of the input, which make its clocks agree, then the
 * error of its clock.
 */
static void *skew_open_warp(void *self, uint32_t location)
{
    const struct skewing *s = self;
    struct warp *warp = malloc(sizeof *warp);
    if (warp) {
        *warp = (struct warp){.local = &s->maps[location],
                              .unit = s->plain ? NULL : &s->skews[skew_scope_of(s, location)]};
    }
    return warp;
}

static uint64_t skew_warp_event(void *walk, uint64_t stamp)
{
    return ictusi_warp_event(walk, stamp);
}

static uint64_t skew_warp_other(const void *walk, uint64_t stamp)
{
    return ictusi_warp_other(walk, stamp);
}

static bool skew_close_warp(void *self, void *walk, bool copied)
{
    struct skewing *s = self;
    struct warp *warp = walk;
    const bool good = warp->bits >> STAMP_BITS == 0;
    if (copied) {
        ictusi_warp_add_stats(&s->stats, warp);
    }
    free(warp);
    return good;
}

/* The archive's clock properties: from the first skewed stamp to the last. */
static void skew_properties(void *self, uint64_t clock[4])
{
    const struct skewing *s = self;
    if (!s->plain && s->stats.events > 0) {
        const int64_t first = s->stats.first > 0 ? s->stats.first : 0;
        clock[1] = (uint64_t)first;
        clock[2] = (uint64_t)(s->stats.last - first) + 1;
    }
}

/* The offsets to be written to the skewed archive: the true ones plus noise, at one end or both. */
static uint32_t skew_new_offsets(void *self, uint32_t location, struct clock_offset list[2])
{
    const struct skewing *s = self;
    if (s->plain || s->options.offsets == OFFSETS_DROP) {
        return 0;
    }
    const uint32_t clock = skew_scope_of(s, location);
    const struct clock_map *skew = &s->skews[clock];
    const double resolution = (double)s->trace->layout.resolution;
    struct rng rng;
    /* A random stream of its own, so that requesting other offsets does not change the skew. */
    ictusi_random_seed(&rng, (uint64_t)s->options.seed, clock + (UINT64_C(1) << 32));
    uint32_t hint = 0;
    int64_t wrong = 0;
    const int64_t start = (int64_t)s->trace->global_offset;
    const int64_t end = start + (int64_t)s->trace->layout.length;
    for (int i = 0; i < 2; i++) {
        const bool at_end = i == 1 && s->options.offsets == OFFSETS_BOTH;
        const int64_t at = at_end ? end : start;
        const int64_t stamp = clock_map_at(skew, at, &hint);
        if (clock > 0 && (i == 0 || at_end)) {
            wrong = llround(s->options.noise * ictusi_random_normal(&rng) * resolution);
        }
        /*
         * OTF2's readers ignore a single record, so an offset at the start only is written twice, a
         * tick apart and with the same error, which makes it a constant.
         */
        list[i] = (struct clock_offset){(uint64_t)stamp + (i == 1 && !at_end), at - stamp + wrong,
                                        s->options.sd * resolution};
    }
    return 2;
}

static int skew_write_skewed(struct skewing *s, const char *out, struct ictus_why *why)
{
    const struct copy_job job = {.trace = s->trace,
                                 .out = out,
                                 .clock = {.open = skew_open_warp,
                                           .event = skew_warp_event,
                                           .other = skew_warp_other,
                                           .close = skew_close_warp,
                                           .self = s},
                                 .definitions = {.properties = skew_properties,
                                                 .new_offsets = skew_new_offsets,
                                                 .self = s,
                                                 .keep_offsets = s->plain}};
    return ictusi_copy_run(&job, why);
}

static int skew_read_spec(const char *text, struct skew_options *options, struct ictus_why *why)
{
    struct spec spec = {.name = "skew"};
    if (strlen(text) >= sizeof spec.options) {
        return ictus_because(why, ICTUS_ERR_SPEC, "the skew is too long");
    }
    memcpy(spec.options, text, strlen(text) + 1);
    return ictusi_spec_read(&spec, params, options, why);
}

int ictus_trace_skew(const char *in, const char *out, const char *skew, json_t **report,
                     struct ictus_why *why)
{
    struct skewing s = {.trace = NULL};
    if (!in || !skew || !report) {
        return ICTUS_ERR_ARG;
    }
    s.plain = skew[0] == '\0';
    int err = skew_read_spec(skew, &s.options, why);
    if (!err) {
        err = ictusi_output_copy_check(in, out, why);
    }
    if (!err) {
        err = ictusi_archive_open(in, &s.trace, why);
    }
    if (!err) {
        err = ictusi_presync_make(&s.trace->layout, s.plain ? PRESYNC_NONE : PRESYNC_ARCHIVE,
                                  &s.maps);
    }
    if (!err && !s.plain) {
        err = skews_make(&s);
    }
    if (!err && !s.plain) {
        skews_raise(&s);
    }
    if (!err) {
        err = skew_write_skewed(&s, out, why);
    }
    if (!err) {
        *report = json_pack("{s:s, s:o, s:o, s:o, s:I}", "type", "trace-skew", "archive",
                            ictus_result_text(in), "output", ictus_result_text(out), "skew",
                            ictus_result_text(skew), "events", (json_int_t)s.stats.events);
    }
    ictusi_presync_free(s.maps, s.trace ? s.trace->layout.location_count : 0);
    ictusi_presync_free(s.skews, s.skew_count);
    ictusi_archive_close(s.trace);
    return err;
}
