/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The distance of event times from the truth: directly, and after subtracting one line that is
 * common to all locations, because no correction can know the true time of the master's own clock.
 */
#include "correct/truth.h"

#include "archive/stamps.h"
#include "archive/trace_open.h"

#include <ictus/text.h>
#include <math.h>
#include <stdlib.h>

/* Sums over all events of d = time - truth against t = truth. */
struct distance {
    double n, t, tt, d, dd, td, largest;
};

/*
 * t is relative to the archive's beginning. Absolute times in ns have 61 bits, but squares of the
 * time since the beginning still have enough digits in a double.
 */
static void truth_add_event(struct distance *sum, uint64_t truth, uint64_t time, uint64_t origin)
{
    const double t = (double)(int64_t)(truth - origin);
    const double d = (double)(int64_t)(time - truth);
    sum->n++;
    sum->t += t;
    sum->tt += t * t;
    sum->d += d;
    sum->dd += d * d;
    sum->td += t * d;
    sum->largest = fabs(d) > sum->largest ? fabs(d) : sum->largest;
}

/* The root mean square of what remains after subtracting a common line. */
static double distance_aligned(const struct distance *s)
{
    if (s->n < 2) {
        return 0;
    }
    /*
     * Sums about the means. A least-squares line d = a + b t leaves S_dd - S_td^2 / S_tt of S_dd.
     */
    const double stt = s->tt - s->t * s->t / s->n;
    const double std = s->td - s->t * s->d / s->n;
    const double sdd = s->dd - s->d * s->d / s->n;
    const double rest = stt > 0 ? sdd - std * std / stt : sdd;
    return rest > 0 ? sqrt(rest / s->n) : 0;
}

enum { GOOD, IN, OUT, ARCHIVES };

struct comparison {
    struct trace *traces[ARCHIVES];
    struct stamps stamps[ARCHIVES];
    struct distance in, out;
    const struct clock_fit *fit;
    uint64_t declared, covered; /* events with a declared error, and those within it */
    double interval;            /* the largest relative change of an interval between neighbours */
    double made; /* the largest amount by which such a change exceeds that in the input */
};

/* By how many ticks the length of an interval differs from the true one. */
static double interval_change(const struct comparison *c, const struct stamps *stamps, uint64_t i)
{
    const uint64_t *good = c->stamps[GOOD].list;
    const double was = (double)(int64_t)(good[i] - good[i - 1]);
    return fabs((double)(int64_t)(stamps->list[i] - stamps->list[i - 1]) - was);
}

/*
 * Part of a change comes from the clock itself, where it jumped for example. The rest was made by
 * the correction. Neither counts the rounding of both ends, which is a tick each: short intervals
 * would seem to change by much.
 */
static void truth_compare_interval(struct comparison *c, uint64_t i)
{
    const double rounding = 2;
    const uint64_t *good = c->stamps[GOOD].list;
    const double was = fmax((double)(int64_t)(good[i] - good[i - 1]), 1);
    const double in = interval_change(c, &c->stamps[IN], i);
    const double out = interval_change(c, &c->stamps[OUT], i);
    c->interval = fmax(c->interval, (out - rounding) / was);
    c->made = fmax(c->made, (out - in - rounding) / was);
}

/* Whether two archives can be compared event by event. */
static int truth_same_run(const struct trace *good, const struct trace *other,
                          struct ictus_why *why)
{
    if (good->layout.location_count != other->layout.location_count ||
        good->layout.resolution != other->layout.resolution) {
        return ictus_because(why, ICTUS_ERR_ARG, "%s is not of the same run as %s", good->path,
                             other->path);
    }
    for (uint64_t i = 0; i < good->layout.location_count; i++) {
        const struct layout_location *a = &good->layout.locations[i];
        const struct layout_location *b = &other->layout.locations[i];
        if (a->events != b->events || a->ref != b->ref) {
            return ictus_because(why, ICTUS_ERR_ARG,
                                 "%s is not of the same run as %s: location %llu differs",
                                 good->path, other->path, (unsigned long long)a->ref);
        }
    }
    return ICTUS_OK;
}

/*
 * Called before anything is corrected, so that a wrong archive of the truth is reported at once and
 * not after an hour.
 */
int ictusi_truth_check(const char *good, const char *in, struct ictus_why *why)
{
    struct trace *truth = NULL;
    struct trace *input = NULL;
    int err = ictusi_archive_open(good, &truth, why);
    err = err ? err : ictusi_archive_open(in, &input, why);
    err = err ? err : truth_same_run(truth, input, why);
    ictusi_archive_close(input);
    ictusi_archive_close(truth);
    return err;
}

/*
 * Count whether the truth lies within the declared error of an event. The clock that shows the time
 * declares no error, and its events do not count.
 */
static void truth_compare_error(struct comparison *c, uint32_t location, uint64_t i)
{
    const uint64_t time = c->stamps[OUT].list[i];
    const double error = ictusi_clock_fit_error(c->fit, location, (int64_t)time);
    if (error >= 0) {
        c->declared++;
        c->covered += fabs((double)(int64_t)(time - c->stamps[GOOD].list[i])) <= error;
    }
}

/* Only one location's stamps of the three archives are in memory at a time: 24 bytes per event. */
static int truth_compare_location(struct comparison *c, uint32_t location)
{
    int err = ICTUS_OK;
    for (int i = 0; i < ARCHIVES && !err; i++) {
        free(c->stamps[i].list);
        err = ictusi_stamps_read(c->traces[i], location, true, &c->stamps[i]);
    }
    const uint64_t origin = c->traces[GOOD]->global_offset;
    for (uint64_t i = 0; i < c->stamps[GOOD].count && !err; i++) {
        if (i < c->stamps[IN].count && i < c->stamps[OUT].count) {
            truth_add_event(&c->in, c->stamps[GOOD].list[i], c->stamps[IN].list[i], origin);
            truth_add_event(&c->out, c->stamps[GOOD].list[i], c->stamps[OUT].list[i], origin);
            if (i > 0) {
                truth_compare_interval(c, i);
            }
            truth_compare_error(c, location, i);
        }
    }
    return err;
}

/*
 * RMS and maximum before and after, in ns. The aligned values are those without the line that no
 * correction can know. ratio is after over before, so below 1 is better.
 */
static void report_distance(const struct comparison *c, json_t *report)
{
    const double ns = 1e9 / (double)c->traces[GOOD]->layout.resolution;
    const double n = c->in.n > 0 ? c->in.n : 1;
    const double in_rms = sqrt(c->in.dd / n) * ns;
    const double out_rms = sqrt(c->out.dd / n) * ns;
    json_t *truth = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "input_max_ns", c->in.largest * ns,
        "input_rms_ns", in_rms, "input_aligned_rms_ns", distance_aligned(&c->in) * ns,
        "output_max_ns", c->out.largest * ns, "output_rms_ns", out_rms, "output_aligned_rms_ns",
        distance_aligned(&c->out) * ns, "ratio_rms", in_rms > 0 ? out_rms / in_rms : 0, "ratio_max",
        c->in.largest > 0 ? c->out.largest / c->in.largest : 0, "output_interval", c->interval,
        "made_interval", c->made);
    if (c->declared) {
        (void)json_object_set_new(truth, "output_covered",
                                  json_real((double)c->covered / (double)c->declared));
    }
    (void)json_object_set_new(report, "truth", truth);
}

int ictusi_truth_compare(const char *good, const char *in, const char *out,
                         const struct clock_fit *fit, json_t *report, struct ictus_why *why)
{
    struct comparison c = {.traces = {NULL}, .fit = fit};
    const char *const paths[ARCHIVES] = {good, in, out};
    int err = ICTUS_OK;
    for (int i = 0; i < ARCHIVES && !err; i++) {
        err = ictusi_archive_open(paths[i], &c.traces[i], why);
        if (!err && OTF2_Reader_OpenEvtFiles(c.traces[i]->reader) != OTF2_SUCCESS) {
            err = ictus_because(why, ICTUS_ERR_CORRUPT, "%s: its events cannot be read", paths[i]);
        }
    }
    for (int i = IN; i < ARCHIVES && !err; i++) {
        err = truth_same_run(c.traces[GOOD], c.traces[i], why);
    }
    for (uint32_t i = 0; !err && i < c.traces[GOOD]->layout.location_count; i++) {
        err = truth_compare_location(&c, i);
    }
    if (!err) {
        report_distance(&c, report);
    }
    for (int i = 0; i < ARCHIVES; i++) {
        free(c.stamps[i].list);
        ictusi_archive_close(c.traces[i]);
    }
    return err;
}
