/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of a report that show what caused the waits, where the critical path runs, and what
 * collectives themselves cost.
 */
#include "waits/waits.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SITE_TEXT = 256, SEGMENTS_TOLD = 1000 };

static double causes_seconds(const struct wait_results *r, double ticks)
{
    return ticks / (double)r->analysis->session.trace->layout.resolution;
}

static void causes_set_site(const struct wait_results *r, json_t *object, uint32_t path)
{
    char text[SITE_TEXT];
    ictusi_paths_text(&r->analysis->paths, path, text, sizeof text);
    (void)json_object_set_new(object, "call",
                              json_string(ictusi_paths_leaf(&r->analysis->paths, path)));
    (void)json_object_set_new(object, "site", json_string(text));
}

static double row_total(const struct blame_row *row)
{
    return row->direct + row->indirect;
}

/* Sort by blame in descending order; equal ones by location and path. */
static int causes_by_blame(const void *a, const void *b)
{
    const struct blame_row *x = a;
    const struct blame_row *y = b;
    if (row_total(x) != row_total(y)) {
        return row_total(x) > row_total(y) ? -1 : 1;
    }
    if (x->location != y->location) {
        return x->location < y->location ? -1 : 1;
    }
    return (x->path > y->path) - (x->path < y->path);
}

static int causes_by_number(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The share of all waiting that a row caused under one history. */
static double lane_share(const struct blame *d, const struct blame_row *row, int lane)
{
    if (d->total_lanes[lane] <= 0) { /* with a single clock there is only the estimate */
        return d->total > 0 ? row_total(row) / d->total : 0;
    }
    /*
     * The share is computed within one error history. Numerator and denominator err together, so
     * the interval of the share is usually narrower than that of either.
     */
    return row->lanes[lane] / d->total_lanes[lane];
}

/*
 * In how many histories this row is the largest cause; ties count for each. This compares with all
 * rows for each history, so it is done only for the leading rows.
 */
static json_int_t causes_first_draws(const struct blame *d, const struct blame_row *row)
{
    json_int_t count = 0;
    for (int k = 0; k < LANES; k++) {
        bool first = true;
        for (uint64_t i = 0; i < d->count && first; i++) {
            first = d->list[i].lanes[k] <= row->lanes[k];
        }
        count += first;
    }
    return count;
}

static int cause_json(const struct wait_results *r, const struct blame_row *row, bool leading,
                      json_t *list)
{
    const struct blame *d = r->blame;
    double shares[LANES];
    for (int k = 0; k < LANES; k++) {
        shares[k] = lane_share(d, row, k);
    }
    /*
     * The interval runs from the second smallest to the second largest share of the histories. By
     * order statistics, (80 + 1 - 4) / (80 + 1) = 95 % of such shares are expected within it.
     */
    qsort(shares, LANES, sizeof *shares, causes_by_number);
    json_t *object =
        json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "type", "wait-cause", "direct_s",
                  causes_seconds(r, row->direct), "indirect_s", causes_seconds(r, row->indirect),
                  "share", d->total > 0 ? row_total(row) / d->total : 0, "share_low", shares[1],
                  "share_high", shares[LANES - 2]);
    if (!object) {
        return ICTUS_ERR_NOMEM;
    }
    ictusi_report_set_place(r, object, row->location);
    causes_set_site(r, object, row->path);
    if (leading && d->total_lanes[0] > 0) {
        (void)json_object_set_new(object, "first_draws", json_integer(causes_first_draws(d, row)));
        (void)json_object_set_new(object, "draws", json_integer(LANES));
    }
    return json_array_append_new(list, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

static int delays_json(const struct wait_results *r, json_t *list)
{
    enum { LEADING = 8 };
    int err = ICTUS_OK;
    if (r->blame->count > 0) { /* otherwise there may be no list */
        qsort(r->blame->list, r->blame->count, sizeof *r->blame->list, causes_by_blame);
    }
    for (uint64_t i = 0; i < r->blame->count && !err; i++) {
        err = cause_json(r, &r->blame->list[i], i < LEADING, list);
    }
    return err;
}

/* An end of an interval; nothing is known of one that was not computed. */
static json_t *causes_bound(double share)
{
    return isfinite(share) ? json_real(share) : json_null();
}

/* share_low and share_high come from the error histories: see walk_lanes(). */
static int causes_critical_locations_json(const struct wait_results *r, json_t *list)
{
    const struct critical *c = r->critical;
    int err = ICTUS_OK;
    for (uint32_t l = 0; l < r->analysis->session.trace->layout.location_count && !err; l++) {
        if (c->by_location[l] <= 0) {
            continue;
        }
        json_t *object =
            json_pack("{s:s, s:s, s:f, s:f, s:o, s:o}", "type", "critical-path", "of", "rank",
                      "time_s", causes_seconds(r, (double)c->by_location[l]), "share",
                      (double)c->by_location[l] / (double)c->length, "share_low",
                      causes_bound(c->low[l]), "share_high", causes_bound(c->high[l]));
        ictusi_report_set_place(r, object, l);
        err = json_array_append_new(list, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
    }
    return err;
}

/* The number of locations that recorded anything. */
static double location_count(const struct analysis *a)
{
    double n = 0;
    for (uint64_t l = 0; l < a->session.trace->layout.location_count; l++) {
        n += a->calls.first[l + 1] - a->calls.first[l] > 1;
    }
    return n > 0 ? n : 1;
}

/* imbalance_s is how much longer the path is in a region than locations are on average. */
static int causes_critical_paths_json(const struct wait_results *r, json_t *list)
{
    const struct critical *c = r->critical;
    const double locations = location_count(r->analysis);
    int err = ICTUS_OK;
    for (uint32_t i = 0; i < c->by_path.count && !err; i++) {
        const uint32_t path = c->by_path.listed[i];
        const double ticks = (double)c->by_path.ticks[path];
        /*
         * Boehme, Wolf and others (2012): the time of the path in a region minus the mean over
         * locations. It is 0 for balanced work.
         */
        const double mean = (double)r->times->totals.ticks[path] / locations;
        if (ticks <= 0) {
            continue;
        }
        json_t *object = json_pack("{s:s, s:s, s:f, s:f, s:f}", "type", "critical-path", "of",
                                   "site", "time_s", causes_seconds(r, ticks), "share",
                                   c->length > 0 ? ticks / (double)c->length : 0, "imbalance_s",
                                   causes_seconds(r, ticks > mean ? ticks - mean : 0));
        causes_set_site(r, object, path);
        err = json_array_append_new(list, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
    }
    return err;
}

/*
 * The whole path and its segments, from first to last. The segments are omitted if there are too
 * many.
 */
static int segments_json(const struct wait_results *r, json_t *list)
{
    const struct critical *c = r->critical;
    const struct critical_segment *segments = c->segments.area;
    const uint64_t n = c->segments.count;
    json_t *object =
        json_pack("{s:s, s:s, s:f, s:I}", "type", "critical-path", "of", "program", "time_s",
                  causes_seconds(r, (double)c->length), "stretches", (json_int_t)n);
    json_t *told = json_array();
    for (uint64_t i = n; i-- > 0 && n <= SEGMENTS_TOLD;) {
        const double from = (double)(segments[i].from - r->analysis->calls.from);
        const double to = (double)(segments[i].to - r->analysis->calls.from);
        (void)json_array_append_new(
            told,
            json_pack(
                "[I, f, f]",
                (json_int_t)r->analysis->session.trace->layout.locations[segments[i].location].ref,
                causes_seconds(r, from), causes_seconds(r, to)));
    }
    (void)json_object_set_new(object, "raw_stretches", told);
    return json_array_append_new(list, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

/*
 * "mixed" if the interval lies between one third and two thirds. Otherwise the side of one half on
 * which the interval lies, or "undecidable" if it contains one half.
 */
static const char *causes_verdict_of(double low, double high)
{
    if (low >= 1.0 / 3 && high <= 2.0 / 3) {
        return "mixed";
    }
    return low > 0.5 ? "skew" : high < 0.5 ? "transfer" : "undecidable";
}

/*
 * What a collective costs: skew is the time spent waiting for the last member, and transfer is the
 * rest. Errors of the clocks shift time between the two, but do not change their sum. If nothing is
 * known about the clocks, any division is possible.
 */
static int sites_json(const struct wait_results *r, json_t *list)
{
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < r->rows->site_count && !err; i++) {
        const struct wait_site *site = &r->rows->sites[i];
        const bool unknown = r->analysis->histories.source == SIGMA_UNKNOWN;
        const struct sum_range skew = ictusi_sum_range(&site->skew);
        const double all = (double)site->ticks;
        if (all <= 0) {
            continue;
        }
        const double low = unknown ? 0 : fmin(1, skew.low / all);
        const double high = unknown ? 1 : fmin(1, skew.high / all);
        json_t *object =
            json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:s}", "type", "collective-site",
                      "calls", (json_int_t)site->calls, "time_s", causes_seconds(r, all), "skew_s",
                      causes_seconds(r, skew.estimate), "transfer_s",
                      causes_seconds(r, fmax(0, all - skew.estimate)), "skew_share",
                      fmin(1, skew.estimate / all), "skew_low", low, "skew_high", high, "verdict",
                      causes_verdict_of(low, high));
        causes_set_site(r, object, site->path);
        err = json_array_append_new(list, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
    }
    return err;
}

int ictusi_causes_json(const struct wait_results *r, json_t *list)
{
    int err = delays_json(r, list);
    err = err ? err : segments_json(r, list);
    err = err ? err : causes_critical_locations_json(r, list);
    err = err ? err : causes_critical_paths_json(r, list);
    return err ? err : sites_json(r, list);
}
