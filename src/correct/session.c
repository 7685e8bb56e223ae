/* SPDX-License-Identifier: BSD-3-Clause */
/* One run over one archive. */
#include "correct/session.h"

#include "archive/trace_open.h"
#include "causality/crew.h"

#include <ictus/error.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Either all ranks go on or none does: a rank that failed alone would leave the others waiting for
 * its messages.
 */
int ictusi_session_agree(const struct session *s, int err)
{
    return s->team ? s->team->agree(s->team, err) : err;
}

/*
 * Assign neighbouring locations to the same rank, so that each rank has about the same number of
 * events.
 */
static int session_share_locations(struct session *s)
{
    const struct trace *trace = s->trace;
    const uint64_t n = trace->layout.location_count;
    s->share.rank = s->team ? s->team->rank : 0;
    s->share.size = s->team ? s->team->size : 1;
    s->share.owner = calloc(n + 1, sizeof *s->share.owner);
    s->share.mine = calloc(n + 1, sizeof *s->share.mine);
    if (!s->share.owner || !s->share.mine) {
        return ICTUS_ERR_NOMEM;
    }
    double total = 0;
    for (uint64_t i = 0; i < n; i++) {
        total += (double)trace->layout.locations[i].events + 1;
    }
    double before = 0;
    for (uint64_t i = 0; i < n; i++) {
        /*
         * Each location is assigned by its middle in the running sum. So each rank gets neighbours,
         * and a large location goes to the rank that covers most of it. Each location counts one
         * more than its events, so that empty ones are distributed too.
         */
        const double middle = before + ((double)trace->layout.locations[i].events + 1) / 2;
        const int owner = (int)(middle / total * s->share.size);
        s->share.owner[i] = (uint32_t)(owner < s->share.size ? owner : s->share.size - 1);
        before += (double)trace->layout.locations[i].events + 1;
    }
    /*
     * Threads are assigned to the rank of their process, because their calls are combined there. So
     * are accelerator streams: see warp_source().
     */
    for (uint32_t i = 0; i < n; i++) {
        const bool apart = trace->layout.locations[i].process == LAYOUT_NONE;
        const uint32_t lead =
            apart ? LAYOUT_NONE
                  : trace->layout.processes[ictusi_layout_clock_process(&trace->layout, i)]
                        .rank_location;
        if (lead != LAYOUT_NONE) {
            s->share.owner[i] = s->share.owner[lead];
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        s->share.mine[i] = s->share.owner[i] == (uint32_t)s->share.rank;
    }
    return ICTUS_OK;
}

/* The location that represents a process's clock. */
static uint32_t process_lead(const struct layout *layout, uint32_t process)
{
    const uint32_t lead = layout->processes[process].rank_location;
    for (uint32_t i = 0; lead == LAYOUT_NONE && i < layout->location_count; i++) {
        if (layout->locations[i].process == process) {
            return i;
        }
    }
    return lead;
}

/*
 * Give a clock of its own to each thread that contradicts the clock of its process; these clocks
 * come last. The first thread of a process keeps its clock. So do streams and metrics, about which
 * no pair says anything.
 */
static void units_part(struct session *s, const struct check_stats *stats)
{
    const struct layout *layout = &s->trace->layout;
    for (uint32_t i = 0; i < layout->location_count; i++) {
        const uint32_t process = layout->locations[i].process;
        if (process != LAYOUT_NONE && ictusi_check_thread_apart(stats, i) &&
            process_lead(layout, process) != i) {
            s->unit_of[i] = s->unit_count++;
        }
    }
}

/* A unit is a set of locations that read one clock: those of a node or of a process. */
static void units_share(struct session *s, bool by_process)
{
    const struct layout *layout = &s->trace->layout;
    for (uint32_t i = 0; i < layout->location_count; i++) {
        const bool apart = layout->locations[i].process == LAYOUT_NONE;
        const uint32_t process = ictusi_layout_clock_process(layout, i);
        /* Locations without a process share no known clock. */
        s->process_of[i] = apart ? (uint32_t)layout->process_count + i : process;
        s->unit_of[i] =
            by_process || !layout->process_count ? process : layout->processes[process].node;
    }
    s->unit_count = (uint32_t)(by_process ? layout->process_count : layout->node_count);
    s->unit_count = s->unit_count ? s->unit_count : 1;
    s->process_units = by_process;
    s->thread_units = 0;
    s->latency.units = s->unit_count;
}

/*
 * An archive that was corrected before says whether processes had clocks of their own, and lists
 * the references of threads that had. They agree by now, but must not be merged again.
 */
void ictusi_session_part_units(struct session *s)
{
    const struct layout *layout = &s->trace->layout;
    char *processes = ictusi_archive_property(s->trace, PROCESS_CLOCKS);
    char *threads = ictusi_archive_property(s->trace, THREAD_CLOCKS);
    if (processes && !s->process_units) {
        units_share(s, true);
    }
    const uint32_t shared = s->unit_count;
    char *end = threads;
    for (char *at = threads; at && *at; at = end) {
        const uint32_t i = ictusi_archive_location(s->trace, strtoull(at, &end, 10));
        if (end == at) {
            break; /* written by another program */
        }
        const uint32_t process = i != LAYOUT_NONE ? layout->locations[i].process : LAYOUT_NONE;
        if (process != LAYOUT_NONE && s->unit_of[i] < shared &&
            process_lead(layout, process) != i) {
            s->unit_of[i] = s->unit_count++;
        }
    }
    free(processes);
    free(threads);
    s->thread_units += s->unit_count - shared;
    s->latency.units = s->unit_count;
}

char *ictusi_session_threads_text(const struct session *s)
{
    enum { DIGITS = 21 };
    const uint32_t shared = s->unit_count - s->thread_units;
    char *text = s->thread_units > 0 ? malloc((size_t)s->thread_units * DIGITS + 1) : NULL;
    size_t used = 0;
    for (uint32_t i = 0; text && i < s->trace->layout.location_count; i++) {
        if (s->unit_of[i] >= shared) {
            used += (size_t)snprintf(text + used, DIGITS + 1, "%s%" PRIu64, used ? " " : "",
                                     s->trace->layout.locations[i].ref);
        }
    }
    return text;
}

/*
 * At first all locations of a node share a clock, since they read the kernel's; if pairs within a
 * node contradict that, only those of a process.
 */
void ictusi_session_set_units(struct session *s, const struct check_stats *stats)
{
    units_share(s, stats && ictusi_check_within_nodes(stats) > 0);
    const uint32_t shared = s->unit_count;
    if (stats) {
        units_part(s, stats);
    }
    s->thread_units = s->unit_count - shared;
    s->latency.units = s->unit_count;
}

/*
 * Until delays have been estimated, a message takes at least a tick, and threads on one clock may
 * have events at the same tick.
 */
static int session_prepare_latency(struct session *s)
{
    const uint64_t n = s->trace->layout.location_count + 1;
    s->unit_of = calloc(n, sizeof *s->unit_of);
    s->process_of = calloc(n, sizeof *s->process_of);
    if (!s->unit_of || !s->process_of) {
        return ICTUS_ERR_NOMEM;
    }
    ictusi_session_set_units(s, NULL);
    s->latency = (struct latency){.units = s->unit_count,
                                  .unit_of = s->unit_of,
                                  .process_of = s->process_of,
                                  .least = 1,
                                  .thread = 0};
    return ICTUS_OK;
}

/* Tell all ranks where recording was off, whichever rank read it. */
static int session_share_gaps(struct session *s)
{
    struct stretch_list *list = &s->history.matching.stretches;
    const uint64_t n = s->trace->layout.location_count;
    uint64_t *values = calloc(n + 1, sizeof *values);
    int err = ictusi_session_agree(s, values ? ICTUS_OK : ICTUS_ERR_NOMEM);
    if (err || !values) {
        free(values);
        return err;
    }
    for (uint64_t i = 0; i < n; i++) {
        /* All ranks but the one that read a location have 0 here, so the sum is its value. */
        values[i] = (uint64_t)list->gaps[i].count << 1 | list->gaps[i].late;
    }
    err = s->team ? s->team->sums(s->team, values, n) : ICTUS_OK;
    for (uint64_t i = 0; i < n && !err; i++) {
        list->gaps[i] = (struct gaps){(uint32_t)(values[i] >> 1), values[i] & 1};
    }
    free(values);
    if (!err) {
        ictusi_stretches_seal(list);
    }
    return err;
}

/*
 * One thread per available processor, if each has enough to read; ranks of a team use one thread.
 */
static int session_count_threads(const struct session *s)
{
    enum { EVENTS_EACH = 250000 };
    uint64_t events = 0;
    if (s->team) {
        return 1;
    }
    for (uint64_t i = 0; i < s->trace->layout.location_count; i++) {
        events += s->trace->layout.locations[i].events;
    }
    const int most = ictusi_crew_size();
    const uint64_t wanted = events / EVENTS_EACH;
    return wanted < (uint64_t)most ? (int)wanted : most;
}

/* Reads the definitions only; events are read by ictusi_session_read(). */
int ictusi_session_open(struct session *s, const char *path, struct team *team,
                        struct ictus_why *why)
{
    *s = (struct session){.team = team, .why = why};
    int err = ictusi_session_agree(s, ictusi_archive_open(path, &s->trace, why));
    if (err) {
        return err;
    }
    s->threads = session_count_threads(s);
    err = session_share_locations(s);
    if (!err) {
        err = session_prepare_latency(s);
    }
    s->flow = (struct flow){
        .graph = &s->graph, .latency = &s->latency, .team = team, .threads = s->threads};
    return ictusi_session_agree(s, err);
}

/*
 * Read the events in one pass, then match them: alone by the order of the channels, in a team by
 * asking the ranks that own the other ends.
 */
int ictusi_session_read(struct session *s, struct scan_tap *tap)
{
    struct team *team = s->team;
    int err = ictusi_session_agree(
        s, ictusi_scan_read(s->trace, &(struct scan_order){s->share.mine, tap, s->threads},
                            &s->history, &s->counts));
    if (!err) {
        err = session_share_gaps(s);
    }
    if (!err) {
        err = team ? team->connect(team, &s->graph, &s->history, &s->share)
                   : ictusi_connect_history(&s->graph, &s->history, &s->share, NULL, s->threads);
    }
    return ictusi_session_agree(s, err);
}

void ictusi_session_close(struct session *s)
{
    ictusi_graph_fini(&s->graph);
    ictusi_points_drop(&s->history.points, s->threads);
    ictusi_history_fini(&s->history);
    if (s->trace) {
        ictusi_presync_free(s->maps, s->trace->layout.location_count);
    }
    ictusi_presync_free(s->units, s->unit_count);
    free(s->latency.table);
    free(s->unit_of);
    free(s->process_of);
    free(s->share.owner);
    free(s->share.mine);
    ictusi_archive_close(s->trace);
    *s = (struct session){.team = NULL};
}

/*
 * Map the times of all points in place. Maps are monotone unless offsets are broken, and stamps
 * unless clocks were set. A time that falls back is replaced by the preceding one, since the
 * equations of the logical clock need each location in order.
 */
static void session_map_times(void *self, uint32_t location)
{
    const struct session *s = self;
    int64_t *times = s->history.points.time;
    const uint64_t first = s->history.first[location];
    uint32_t hint = 0;
    for (uint64_t i = first; i < s->history.first[location + 1]; i++) {
        const int64_t time = clock_map_at(&s->maps[location], times[i], &hint);
        times[i] = i == first || time > times[i - 1] ? time : times[i - 1];
    }
}

/* Run a job for each location. */
static void session_each(struct session *s, void (*job)(void *self, uint32_t location))
{
    ictusi_crew_run(s->threads, (uint32_t)s->trace->layout.location_count, job, s);
    ictusi_points_relax(&s->history.points);
}

/*
 * Find the span from the first point of any location to the last, over all ranks. The clocks are
 * fitted to this span.
 */
int ictusi_session_span(struct session *s)
{
    const struct points *points = &s->history.points;
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (uint32_t l = 0; l < s->trace->layout.location_count; l++) {
        if (s->history.first[l + 1] > s->history.first[l]) {
            const int64_t first = points->time[s->history.first[l]];
            const int64_t last = points->time[s->history.first[l + 1] - 1];
            low = first < low ? first : low;
            high = last > high ? last : high;
        }
    }
    int err = s->team ? s->team->minima(s->team, &low, 1) : ICTUS_OK;
    if (!err && s->team) {
        err = s->team->maxima(s->team, &high, 1);
    }
    s->from = low <= high ? low : 0;
    s->to = low <= high ? high : 0;
    return err;
}

/*
 * Make maps from the archive's offsets. An identity is recognised, so that an archive with a single
 * clock keeps its exact stamps.
 */
int ictusi_session_presync(struct session *s, enum presync mode)
{
    int err = ictusi_session_agree(s, ictusi_presync_make(&s->trace->layout, mode, &s->maps));
    if (err) {
        return err;
    }
    s->presync = mode;
    s->unchanged = ictusi_presync_is_identity(s->maps, s->trace->layout.location_count);
    if (!s->unchanged) {
        session_each(s, session_map_times);
    }
    return ictusi_session_span(s);
}

/*
 * The earliest time to which the archive's beginning is mapped on any location, or an earlier
 * point.
 */
static int64_t session_find_earliest(const struct session *s)
{
    int64_t least = s->from;
    if (s->trace->global_offset >> STAMP_BITS) {
        return least;
    }
    for (uint32_t l = 0; l < s->trace->layout.location_count; l++) {
        uint32_t hints[2] = {0, 0};
        int64_t time = clock_map_at(&s->maps[l], (int64_t)s->trace->global_offset, &hints[0]);
        if (s->units) {
            time = clock_map_at(&s->units[s->unit_of[l]], time, &hints[1]);
        }
        least = time < least ? time : least;
    }
    return least;
}

/*
 * Stamps are unsigned. If synchronised times begin before 0, all of them are moved by the same
 * amount, which changes no difference.
 */
void ictusi_session_raise(struct session *s)
{
    const int64_t most = INT64_C(1) << (STAMP_BITS - 2); /* beyond this the offsets are broken */
    const int64_t least = session_find_earliest(s);
    if (least >= 0 || least < -most || s->to > 4 * most || s->presync == PRESYNC_NONE) {
        return;
    }
    struct points *points = &s->history.points;
    s->raised = -least;
    ictusi_clock_maps_raise(s->units ? s->units : s->maps,
                            s->units ? s->unit_count : s->trace->layout.location_count, s->raised);
    for (uint64_t i = 0; i < points->count; i++) {
        points->time[i] += s->raised;
    }
    ictusi_points_relax(points);
    s->from += s->raised;
    s->to += s->raised;
}

/*
 * Store in the values the times that a reader sees when it applies the archive's own offsets, so
 * that they can be checked.
 */
int ictusi_session_as_read(struct session *s)
{
    struct points *points = &s->history.points;
    struct clock_map *maps = NULL;
    const int err =
        ictusi_session_agree(s, ictusi_presync_make(&s->trace->layout, PRESYNC_ARCHIVE, &maps));
    for (uint32_t l = 0; l < s->trace->layout.location_count && !err; l++) {
        uint32_t hint = 0;
        for (uint64_t i = s->history.first[l]; i < s->history.first[l + 1]; i++) {
            points->value[i] = clock_map_at(&maps[l], points->time[i], &hint);
        }
    }
    ictusi_presync_free(maps, s->trace->layout.location_count);
    return err;
}

/* One pass over all pairs (FLOW_CHECK). Sums, maxima and minima are then the same on all ranks. */
int ictusi_session_check(struct session *s, const int64_t *values, struct check_stats *stats)
{
    int err = ictusi_session_agree(s, ictusi_check_init(stats, &s->history));
    if (!err) {
        s->flow.observer = &stats->observer;
        s->flow.known = values;
        err = ictusi_flow_run(&s->flow, FLOW_CHECK);
    }
    if (s->team && !err) {
        err = s->team->sums(s->team, stats->sums, stats->sum_count);
        err = err ? err : s->team->maxima(s->team, stats->maxima, stats->maximum_count);
        err = err ? err : s->team->minima(s->team, stats->minima, stats->minimum_count);
    }
    err = ictusi_session_agree(s, err);
    if (err) {
        ictusi_check_fini(stats);
    }
    return err;
}

static void session_map_values(void *self, uint32_t location)
{
    const struct session *s = self;
    const struct points *points = &s->history.points;
    const struct clock_map *map = &s->units[s->unit_of[location]];
    int64_t last = INT64_MIN;
    uint32_t hint = 0;
    for (uint64_t i = s->history.first[location]; i < s->history.first[location + 1]; i++) {
        const int64_t time = clock_map_at(map, points->time[i], &hint);
        last = time > last ? time : last;
        points->value[i] = last;
    }
}

/*
 * Map the times by the fitted clocks into the values, in order within each location, like
 * session_map_times(). The times themselves stay, so that a fit that is worse can be discarded.
 */
void ictusi_session_map_values(struct session *s)
{
    session_each(s, session_map_values);
}

int ictusi_session_json(struct session *s, json_t *object)
{
    const struct scan_counts *c = &s->counts;
    const struct graph *g = &s->graph;
    static const char *const names[] = {"events",
                                        "messages",
                                        "collectives",
                                        "thread_pairs",
                                        "unmatched_sends",
                                        "unmatched_receives",
                                        "incomplete",
                                        "points",
                                        "decreasing",
                                        "unknown_records",
                                        "open_calls",
                                        "lone_collective_begins",
                                        "lone_collective_ends",
                                        "foreign",
                                        "cyclic",
                                        "left_out",
                                        "unproven"};
    enum { NAMES = sizeof names / sizeof *names };
    uint64_t values[NAMES] = {c->events,          g->messages,
                              g->collectives,     g->thread_pairs,
                              g->unmatched_sends, g->unmatched_receives,
                              g->incomplete,      s->history.points.count,
                              c->decreasing,      c->unknown,
                              c->open_calls,      c->lone_begins,
                              c->lone_ends,       c->foreign,
                              s->flow.broken,     g->left_out + s->history.matching.left_out,
                              g->unproven};
    const int err = s->team ? s->team->sums(s->team, values, NAMES) : ICTUS_OK;
    (void)json_object_set_new(object, "locations",
                              json_integer((json_int_t)s->trace->layout.location_count));
    (void)json_object_set_new(object, "processes",
                              json_integer((json_int_t)s->trace->layout.process_count));
    (void)json_object_set_new(object, "nodes",
                              json_integer((json_int_t)s->trace->layout.node_count));
    (void)json_object_set_new(object, "ticks_per_second",
                              json_integer((json_int_t)s->trace->layout.resolution));
    for (int i = 0; i < NAMES; i++) {
        (void)json_object_set_new(object, names[i], json_integer((json_int_t)values[i]));
    }
    return err;
}
