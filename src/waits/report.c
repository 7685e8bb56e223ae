/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of a result file: the total, wait states by site and by rank, and pairs. */
#include "waits/waits.h"

#include <ictus/error.h>
#include <ictus/result.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_TEXT = 256 };

/* The largest number of pairs reported. */
enum { PAIRS_TOLD = 1 << 16 };

static double report_seconds(const struct wait_results *r, double ticks)
{
    return ticks / (double)r->analysis->session.trace->layout.resolution;
}

static const char *const source_names[] = {
    [SIGMA_ONE_CLOCK] = "one-clock",
    [SIGMA_ARCHIVE] = "archive",
    [SIGMA_MESSAGES] = "messages",
    [SIGMA_UNKNOWN] = "unknown",
};

static const char *const kind_names[] = {
    [SUM_EXACT] = "exact",
    [SUM_CERTAIN] = "certain",
    [SUM_ABOUT] = "about",
    [SUM_AT_MOST] = "at-most",
};

/*
 * Only here do the trace's ticks become seconds. If the errors of the clocks are unknown, a sum is
 * only an upper limit, and its interval is from 0 to infinity.
 */
static bool report_set_sum(const struct wait_results *r, json_t *object, const struct wait_sum *sum)
{
    const struct sum_range range = ictusi_sum_range(sum);
    const bool unknown = r->analysis->histories.source == SIGMA_UNKNOWN;
    json_t *more = json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:s}", "n", (json_int_t)sum->n, "wait_s",
        report_seconds(r, range.estimate), "wait_low_s", report_seconds(r, range.low),
        "wait_high_s", report_seconds(r, range.high), "wait_raw_s",
        report_seconds(r, (double)sum->ticks), "share",
        r->rank_ticks > 0 ? range.estimate / r->rank_ticks : 0, "decidable",
        unknown ? 0 : range.decidable, "kind", kind_names[unknown ? SUM_AT_MOST : range.kind]);
    if (more && unknown) {
        (void)json_object_set_new(more, "wait_low_s", json_real(0));
        (void)json_object_set_new(more, "wait_high_s", json_null());
    }
    const bool done = more && json_object_update(object, more) == 0;
    json_decref(more);
    return done;
}

/* Values of enum wait_state from WAIT_STATES on are parts of other states, or not waits. */
static bool report_is_wait(uint32_t state)
{
    return state < WAIT_STATES;
}

static json_t *report_left_out_json(const struct wait_results *r)
{
    const struct analysis *a = r->analysis;
    const struct graph *g = &a->session.graph;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "unmatched_sends",
                     (json_int_t)g->unmatched_sends, "unmatched_receives",
                     (json_int_t)g->unmatched_receives, "incomplete_collectives",
                     (json_int_t)g->incomplete, "muted_waits", (json_int_t)a->partners.muted,
                     "calls_cut", (json_int_t)a->calls.cut, "without_region",
                     (json_int_t)a->calls.bare, "cyclic_waits", (json_int_t)r->blame->cyclic);
}

/*
 * The sum over the states that are waits. Those from WAIT_STATES on are left out: wrong order is a
 * part of late sender, and possible waits and completions are not waiting.
 */
static json_t *report_whole_json(const struct wait_results *r)
{
    const struct analysis *a = r->analysis;
    const struct trace *trace = a->session.trace;
    struct wait_sum *sum = calloc(1, sizeof *sum);
    json_t *object = NULL;
    for (uint64_t i = 0; sum && i < r->rows->count; i++) {
        if (report_is_wait(r->rows->list[i].state)) {
            ictusi_sum_add(sum, &r->rows->list[i].sum);
        }
    }
    if (sum) {
        const double wall = a->calls.to > a->calls.from ? (double)(a->calls.to - a->calls.from) : 0;
        object = json_pack(
            "{s:s, s:o, s:I, s:I, s:I, s:f, s:f, s:s, s:f, s:o}", "type", "waits", "archive",
            ictus_result_text(trace->path), "processes", (json_int_t)trace->layout.process_count,
            "locations", (json_int_t)trace->layout.location_count, "nodes",
            (json_int_t)trace->layout.node_count, "wall_s", report_seconds(r, wall), "rank_time_s",
            report_seconds(r, r->rank_ticks), "sigma_source", source_names[a->histories.source],
            "clock_sigma_ns", report_seconds(r, a->histories.worst) * 1e9, "left_out",
            report_left_out_json(r));
        (void)json_object_set_new(object, "unattributed_s",
                                  json_real(report_seconds(r, r->blame->unattributed)));
    }
    if (object && !report_set_sum(r, object, sum)) {
        json_decref(object);
        object = NULL;
    }
    free(sum);
    return object;
}

static json_int_t rank_of(const struct wait_results *r, uint32_t location)
{
    const uint32_t process = r->analysis->session.trace->layout.locations[location].process;
    return process == LAYOUT_NONE ? -1 : (json_int_t)process;
}

/*
 * The name of a location, or NULL for the one that stands for its process in communicators. Its
 * number alone would tell a reader nothing: tracers count threads in the upper half of 64 bits.
 */
static json_t *report_thread(const struct wait_results *r, uint32_t location)
{
    const struct trace *trace = r->analysis->session.trace;
    const struct layout_location *l = &trace->layout.locations[location];
    const char *name = ictusi_archive_name(trace, &trace->locations, l->ref);
    const bool first =
        l->process != LAYOUT_NONE && trace->layout.processes[l->process].rank_location == location;
    return first || !*name ? NULL : json_string(name);
}

void ictusi_report_set_place(const struct wait_results *r, json_t *object, uint32_t location)
{
    const struct layout_location *l = &r->analysis->session.trace->layout.locations[location];
    json_t *thread = report_thread(r, location);
    (void)json_object_set_new(object, "rank", json_integer(rank_of(r, location)));
    (void)json_object_set_new(object, "location", json_integer((json_int_t)l->ref));
    if (thread) {
        (void)json_object_set_new(object, "thread", thread);
    }
}

/* Sort the rows into an order that does not depend on how they came about. */
static int report_by_key(const void *a, const void *b)
{
    const struct wait_row *x = *(const struct wait_row *const *)a;
    const struct wait_row *y = *(const struct wait_row *const *)b;
    if (x->state != y->state) {
        return x->state < y->state ? -1 : 1;
    }
    if (x->path != y->path) {
        return x->path < y->path ? -1 : 1;
    }
    return (x->location > y->location) - (x->location < y->location);
}

/* Over which rows a sum extends. */
enum extent { EXTENT_STATE, EXTENT_SITE, EXTENT_ALL, EXTENT_RANK, EXTENTS };

static int report_by_rank(const void *a, const void *b)
{
    const struct wait_row *x = *(const struct wait_row *const *)a;
    const struct wait_row *y = *(const struct wait_row *const *)b;
    if (x->state != y->state) {
        return x->state < y->state ? -1 : 1;
    }
    return (x->location > y->location) - (x->location < y->location);
}

static json_t *sum_json(const struct wait_results *r, const struct wait_row *row,
                        const struct wait_sum *sum, enum extent extent)
{
    static const char *const types[EXTENTS] = {"wait-total", "wait-site", "wait-state",
                                               "wait-rank"};
    char text[PATH_TEXT];
    const struct paths *paths = &r->analysis->paths;
    json_t *object = json_pack("{s:s, s:s}", "type", types[extent], "state",
                               ictusi_wait_state_name((enum wait_state)row->state));
    json_t *place = json_object();
    if (extent == EXTENT_SITE || extent == EXTENT_ALL) {
        ictusi_paths_text(paths, row->path, text, sizeof text);
        (void)json_object_set_new(place, "call", json_string(ictusi_paths_leaf(paths, row->path)));
        (void)json_object_set_new(place, "site", json_string(text));
    }
    if (extent >= EXTENT_ALL) {
        ictusi_report_set_place(r, place, row->location);
    }
    const bool done =
        object && json_object_update(object, place) == 0 && report_set_sum(r, object, sum);
    json_decref(place);
    if (!done) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Whether two neighbours in the sorted list belong to the same sum. */
static bool report_same_sum(const struct wait_row *a, const struct wait_row *b, enum extent extent)
{
    if (extent == EXTENT_RANK) {
        return a->state == b->state && a->location == b->location;
    }
    return a->state == b->state && (extent == EXTENT_STATE || a->path == b->path) &&
           extent != EXTENT_ALL;
}

/* Report sums over runs of the sorted rows. */
static int extent_json(const struct wait_results *r, const struct wait_row *const *sorted,
                       enum extent extent, json_t *list)
{
    const uint64_t n = r->rows->count;
    struct wait_sum *sum = calloc(1, sizeof *sum);
    int err = sum ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; i < n && !err; i++) {
        ictusi_sum_add(sum, &sorted[i]->sum);
        if (i + 1 == n || !report_same_sum(sorted[i], sorted[i + 1], extent)) {
            json_t *object = sum_json(r, sorted[i], sum, extent);
            err = json_array_append_new(list, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
            *sum = (struct wait_sum){.ticks = 0};
        }
    }
    free(sum);
    return err;
}

/*
 * Rows are sums for one state, call path and location; all reported figures are sums over runs of
 * rows. Lanes are added before an interval is computed. The intervals of parts must not be added,
 * because the parts share the errors of their clocks.
 */
static int rows_json(const struct wait_results *r, json_t *list)
{
    const uint64_t n = r->rows->count;
    const struct wait_row **sorted = calloc(n + 1, sizeof *sorted);
    int err = sorted ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; i < n && !err; i++) {
        sorted[i] = &r->rows->list[i];
    }
    if (!err) {
        qsort(sorted, n, sizeof *sorted, report_by_key);
    }
    for (int extent = EXTENT_STATE; extent < EXTENTS && !err; extent++) {
        if (extent == EXTENT_RANK) {
            qsort(sorted, n, sizeof *sorted, report_by_rank);
        }
        err = extent_json(r, sorted, (enum extent)extent, list);
    }
    free(sorted);
    return err;
}

static int report_by_pair(const void *a, const void *b)
{
    const struct wait_pair *x = a;
    const struct wait_pair *y = b;
    if (x->waiter != y->waiter) {
        return x->waiter < y->waiter ? -1 : 1;
    }
    if (x->causer != y->causer) {
        return x->causer < y->causer ? -1 : 1;
    }
    return (x->state > y->state) - (x->state < y->state);
}

static int pairs_json(const struct wait_results *r, json_t *list)
{
    const struct trace *trace = r->analysis->session.trace;
    int err = ICTUS_OK;
    if (r->rows->pair_count > 0) { /* otherwise there is no list */
        qsort(r->rows->pairs, r->rows->pair_count, sizeof *r->rows->pairs, report_by_pair);
    }
    for (uint64_t i = 0; i < r->rows->pair_count && i < PAIRS_TOLD && !err; i++) {
        const struct wait_pair *p = &r->rows->pairs[i];
        json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:f}", "type", "wait-pair", "state",
                                   ictusi_wait_state_name((enum wait_state)p->state), "waiter",
                                   (json_int_t)trace->layout.locations[p->waiter].ref, "causer",
                                   (json_int_t)trace->layout.locations[p->causer].ref, "n",
                                   (json_int_t)p->n, "wait_s", report_seconds(r, (double)p->ticks));
        err = json_array_append_new(list, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
    }
    return err;
}

/*
 * One wait: who waited, where, when (in seconds since the first event), for whom, and when that one
 * arrived.
 */
static json_t *instance_json(const struct wait_results *r, const struct wait_instance *instance)
{
    const struct analysis *a = r->analysis;
    const struct layout_location *locations = a->session.trace->layout.locations;
    const struct partner *p = partner_at(&a->partners, instance->call);
    const struct waiting_call *c = call_at(&a->calls, instance->call);
    const struct waiting_call *k = call_at(&a->calls, p->call);
    const uint32_t waiter = analysis_location(a, instance->call);
    const uint32_t causer = analysis_location(a, p->call);
    const double sigma = ictusi_histories_sigma(&a->histories, waiter, c->enter, causer, k->enter);
    char text[PATH_TEXT];
    ictusi_paths_text(&a->paths, c->path, text, sizeof text);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:o, s:I, s:I, s:s}", "type",
                  "wait-instance", "state", ictusi_wait_state_name((enum wait_state)p->state),
                  "call", ictusi_paths_leaf(&a->paths, c->path), "site", text, "from_s",
                  report_seconds(r, (double)(c->enter - a->calls.from)), "wait_s",
                  report_seconds(r, (double)instance->ticks), "cause_s",
                  report_seconds(r, (double)(k->enter - a->calls.from)), "sigma_s",
                  isfinite(sigma) ? json_real(report_seconds(r, sigma)) : json_null(),
                  "causer_rank", rank_of(r, causer), "causer", (json_int_t)locations[causer].ref,
                  "causer_call", ictusi_paths_leaf(&a->paths, k->path));
    json_t *thread = report_thread(r, causer);
    ictusi_report_set_place(r, object, waiter);
    if (thread) {
        (void)json_object_set_new(object, "causer_thread", thread);
    }
    return object;
}

static int instances_json(const struct wait_results *r, json_t *list)
{
    int err = ICTUS_OK;
    for (uint32_t i = 0; i < r->instances->count && !err; i++) {
        err = json_array_append_new(list, instance_json(r, &r->instances->list[i]))
                  ? ICTUS_ERR_NOMEM
                  : ICTUS_OK;
    }
    return err;
}

int ictusi_waits_json(const struct wait_results *r, json_t *list)
{
    int err = json_array_append_new(list, report_whole_json(r)) ? ICTUS_ERR_NOMEM : ICTUS_OK;
    err = err ? err : rows_json(r, list);
    err = err ? err : pairs_json(r, list);
    return err ? err : instances_json(r, list);
}
