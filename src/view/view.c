/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ictus_timeline_read(): the events are read twice. The first time they are read like those of
 * ictus check, which refuses damaged files and matches the messages. The second time they are read
 * for calls and metrics, one location after the other.
 */
#include "archive/metric_names.h"
#include "core/plain.h"
#include "view/arrows.h"
#include "view/density.h"
#include "view/series.h"
#include "view/slices.h"

#include <ictus/result.h>
#include <ictus/text.h>
#include <ictus/timeline.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * How often and how long a region was entered. There is one row per defined region; the last row is
 * for undefined regions.
 */
struct region_time {
    uint64_t calls;
    int64_t total, least, most; /* ns */
};

struct frame {
    int64_t entered; /* ns */
    uint32_t name;
};

struct view {
    struct session session;
    struct picture_clock clock;
    struct slices slices;
    struct density density;
    struct series_list series;
    struct region_time *regions;
    struct frame *stack;
    uint32_t depth, room;
    uint32_t track;
    int64_t first; /* ns: the first enter of all tracks */
    int64_t since; /* of the track: since when its present activity lasts */
    int err;
};

static int64_t view_now(const struct view *v, OTF2_TimeStamp stamp)
{
    return ictusi_arrows_picture_ns(&v->clock, (int64_t)stamp);
}

/* Add the activity up to now to the bins. */
static void view_pass(struct view *v, int64_t now)
{
    if (v->depth > 0) {
        /*
         * Only the innermost region gets the time. The times of the profile, in contrast, include
         * inner calls.
         */
        ictusi_density_add(&v->density, v->track, v->stack[v->depth - 1].name, v->since, now);
    }
    v->since = now;
}

/* Add a call to the profile. Its time includes inner calls (view_pass() has times without them). */
static void view_leave(struct view *v, int64_t now)
{
    const struct frame *frame = &v->stack[v->depth - 1];
    /* A clock that was set back during the call would make this negative. */
    const int64_t lasted = now > frame->entered ? now - frame->entered : 0;
    struct region_time *r = &v->regions[frame->name];
    r->least = r->calls == 0 || lasted < r->least ? lasted : r->least;
    r->most = lasted > r->most ? lasted : r->most;
    r->total += lasted;
    r->calls++;
    ictusi_slices_add(&v->slices,
                      (struct slice){frame->entered, lasted, frame->name, v->track, v->depth - 1});
    v->depth--;
}

/*
 * After view_pass(), v->since is the present time, and the first enter of all unless there was an
 * earlier one.
 */
static OTF2_CallbackCode view_on_enter(OTF2_LocationRef location, OTF2_TimeStamp time,
                                       uint64_t position, void *user,
                                       OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct view *v = user;
    const int64_t row = ictusi_idmap_get(&v->session.trace->regions.index, region, 0);
    (void)location;
    (void)position;
    (void)attributes;
    view_pass(v, view_now(v, time));
    if (v->depth == v->room) {
        const uint32_t room = v->room ? 2 * v->room : 64;
        struct frame *stack = realloc(v->stack, room * sizeof *stack);
        if (!stack) {
            v->err = ICTUS_ERR_NOMEM;
            return OTF2_CALLBACK_INTERRUPT;
        }
        v->stack = stack;
        v->room = room;
    }
    const uint64_t none = v->session.trace->regions.count; /* row of undefined regions */
    v->first = v->since < v->first ? v->since : v->first;
    v->stack[v->depth++] =
        (struct frame){v->since, (uint32_t)(row == IDMAP_NONE ? none : (uint64_t)row)};
    return OTF2_CALLBACK_SUCCESS;
}

/* The region that is left is not checked: calls are nested, so it is the innermost one. */
static OTF2_CallbackCode view_on_leave(OTF2_LocationRef location, OTF2_TimeStamp time,
                                       uint64_t position, void *user,
                                       OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct view *v = user;
    (void)location;
    (void)position;
    (void)attributes;
    (void)region;
    view_pass(v, view_now(v, time));
    if (v->depth > 0) {
        view_leave(v, v->since);
    }
    return OTF2_CALLBACK_SUCCESS;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode view_on_metric(OTF2_LocationRef location, OTF2_TimeStamp time,
                                        uint64_t position, void *user,
                                        OTF2_AttributeList *attributes, OTF2_MetricRef metric,
                                        uint8_t count, const OTF2_Type *types,
                                        const OTF2_MetricValue *values)
{
    struct view *v = user;
    const int64_t now = view_now(v, time);
    (void)location;
    (void)position;
    (void)attributes;
    for (uint8_t i = 0; i < count && !v->err; i++) {
        const uint32_t member = ictusi_metric_member(v->session.trace, metric, i);
        /* Members that are not defined have no name under which they could be shown. */
        const double value = member == LAYOUT_NONE ? NAN
                                                   : ictusi_metric_value(v->session.trace, member,
                                                                         types[i], values[i]);
        if (isfinite(value)) { /* JSON cannot represent others */
            v->err = ictusi_series_add(&v->series, v->track, member, now, value);
        }
    }
    return v->err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/*
 * Read the events of one track as readers see the archive, with clock offsets applied. The scan has
 * read the same events, so irregularities were reported then.
 */
static int view_track(struct view *v, uint32_t track, const OTF2_EvtReaderCallbacks *set)
{
    struct trace *trace = v->session.trace;
    const bool said = trace->said;
    uint64_t read = 0;
    OTF2_EvtReader *reader =
        OTF2_Reader_GetEvtReader(trace->reader, trace->layout.locations[track].ref);
    v->track = track;
    v->depth = 0;
    if (!reader) {
        return ICTUS_OK;
    }
    if (OTF2_EvtReader_ApplyClockOffsets(reader, true) == OTF2_SUCCESS &&
        OTF2_Reader_RegisterEvtCallbacks(trace->reader, reader, set, v) == OTF2_SUCCESS) {
        (void)OTF2_Reader_ReadAllLocalEvents(trace->reader, reader, &read);
    }
    (void)OTF2_Reader_CloseEvtReader(trace->reader, reader);
    trace->said = said;
    while (v->depth > 0) { /* what never ended lasts until the track's last event */
        view_leave(v, v->since);
    }
    return v->err;
}

static int view_read(struct view *v)
{
    struct trace *trace = v->session.trace;
    OTF2_EvtReaderCallbacks *set = OTF2_EvtReaderCallbacks_New();
    int err = set ? ICTUS_OK : ICTUS_ERR_NOMEM;
    /* The scan has closed them. */
    if (!err && OTF2_Reader_OpenEvtFiles(trace->reader) != OTF2_SUCCESS) {
        err = ictus_because(trace->why, ICTUS_ERR_CORRUPT,
                            "%s: the event files cannot be opened again", trace->path);
    }
    if (!err) {
        OTF2_EvtReaderCallbacks_SetEnterCallback(set, view_on_enter);
        OTF2_EvtReaderCallbacks_SetLeaveCallback(set, view_on_leave);
        OTF2_EvtReaderCallbacks_SetMetricCallback(set, view_on_metric);
    }
    for (uint32_t l = 0; l < trace->layout.location_count && !err; l++) {
        err = view_track(v, l, set);
    }
    (void)OTF2_Reader_CloseEvtFiles(trace->reader);
    OTF2_EvtReaderCallbacks_Delete(set);
    return err;
}

/* The names of all tracks, in the order by which slices, arrows and metrics refer to them. */
static json_t *view_tracks(const struct trace *trace)
{
    json_t *list = json_array();
    for (uint64_t l = 0; l < trace->layout.location_count; l++) {
        const struct layout_location *at = &trace->layout.locations[l];
        const char *process = at->process == LAYOUT_NONE
                                  ? ""
                                  : ictusi_archive_name(trace, &trace->processes,
                                                        trace->layout.processes[at->process].ref);
        const char *name = ictusi_archive_name(trace, &trace->locations, at->ref);
        (void)json_array_append_new(list, json_pack("{s:o, s:o, s:I}", "name", json_string(name),
                                                    "process", json_string(process), "location",
                                                    (json_int_t)at->ref));
    }
    return list;
}

/* The names of regions, to which slices and bins refer by index. */
static json_t *view_names(const struct trace *trace)
{
    json_t *list = json_array();
    for (uint64_t i = 0; i < trace->regions.count; i++) {
        const char *name = ictusi_archive_string(trace, trace->regions.rows[i].string);
        (void)json_array_append_new(list, json_string(name));
    }
    /* The name of the row for undefined regions, which is one after the last. */
    (void)json_array_append_new(list, json_string("?"));
    return list;
}

/*
 * A list for each track, with four numbers per slice: start, duration, index of the name, and
 * depth.
 */
static json_t *view_slices(const struct view *v)
{
    json_t *lists = json_array();
    size_t i = 0;
    for (uint32_t l = 0; l < v->session.trace->layout.location_count; l++) {
        json_t *list = json_array();
        int64_t before = 0;
        /*
         * The list is sorted by track and start, so i passes through it once. Starts are written as
         * differences, which have fewer digits.
         */
        for (; i < v->slices.count && v->slices.list[i].track == l; i++) {
            const struct slice *s = &v->slices.list[i];
            (void)json_array_append_new(list, json_integer(s->start - before));
            (void)json_array_append_new(list, json_integer(s->duration));
            (void)json_array_append_new(list, json_integer(s->name));
            (void)json_array_append_new(list, json_integer(s->depth));
            before = s->start;
        }
        (void)json_array_append_new(lists, list);
    }
    return lists;
}

/* Two numbers per bin: the region that took up most of it, and its share in percent. */
static json_t *view_density(const struct view *v)
{
    /* Only if slices were dropped: otherwise the slices themselves show everything. */
    json_t *lists = json_array();
    for (uint32_t l = 0; l < v->session.trace->layout.location_count && v->slices.dropped > 0;
         l++) {
        json_t *list = json_array();
        for (uint32_t b = 0; b < v->density.count; b++) {
            uint32_t name = 0;
            double share = 0;
            const bool any = ictusi_density_most(&v->density, l, b, &name, &share);
            (void)json_array_append_new(list, json_integer(any ? (json_int_t)name : -1));
            (void)json_array_append_new(list, json_integer((json_int_t)(100 * share + 0.5)));
        }
        (void)json_array_append_new(lists, list);
    }
    return lists;
}

/* Every k-th value of each series (`every`), out of n. */
static json_t *view_metrics(const struct view *v)
{
    const struct trace *trace = v->session.trace;
    json_t *list = json_array();
    for (uint64_t i = 0; i < v->series.count; i++) {
        const struct metric_series *s = v->series.list[i];
        const struct trace_metric *member = &trace->metrics.members[s->member];
        json_t *points = json_array();
        for (uint32_t p = 0; p < s->count; p++) {
            (void)json_array_append_new(points, json_integer(s->time[p]));
            (void)json_array_append_new(points, json_real(s->value[p]));
        }
        (void)json_array_append_new(
            list, json_pack("{s:I, s:o, s:o, s:I, s:I, s:o}", "track", (json_int_t)s->track, "name",
                            json_string(ictusi_archive_string(trace, member->name)), "unit",
                            json_string(ictusi_archive_string(trace, member->unit)), "every",
                            (json_int_t)s->every, "n", (json_int_t)s->seen, "points", points));
    }
    return list;
}

/* A region that was never entered has no row. */
static json_t *view_profile(const struct view *v)
{
    const struct trace *trace = v->session.trace;
    json_t *list = json_array();
    for (uint64_t i = 0; i < trace->regions.count; i++) {
        const struct region_time *r = &v->regions[i];
        if (r->calls > 0) {
            const double total = (double)r->total * 1e-9;
            (void)json_array_append_new(
                list,
                json_pack("{s:o, s:I, s:f, s:f, s:f, s:f}", "name",
                          json_string(ictusi_archive_string(trace, trace->regions.rows[i].string)),
                          "count", (json_int_t)r->calls, "total_s", total, "mean_s",
                          total / (double)r->calls, "min_s", (double)r->least * 1e-9, "max_s",
                          (double)r->most * 1e-9));
        }
    }
    return list;
}

/* What the archive states about the error of its clock; empty if it states nothing. */
static json_t *view_clock(const struct trace *trace)
{
    static const char *const names[2][2] = {{"ICTUS::CLOCK::SIGMA_NS", "sigma_ns"},
                                            {"ICTUS::CLOCK::BOUND_NS", "bound_ns"}};
    json_t *clock = json_object();
    uint32_t count = 0;
    char **all = NULL;
    if (OTF2_Reader_GetPropertyNames(trace->reader, &count, &all) != OTF2_SUCCESS) {
        return clock;
    }
    for (int i = 0; i < 2; i++) {
        for (uint32_t p = 0; p < count; p++) {
            char *text = NULL;
            if (strcmp(all[p], names[i][0]) == 0 &&
                OTF2_Reader_GetProperty(trace->reader, names[i][0], &text) == OTF2_SUCCESS) {
                (void)json_object_set_new(clock, names[i][1], json_real(plain_strtod(text, NULL)));
            }
            free(text);
        }
    }
    free((void *)all);
    return clock;
}

static json_t *view_json(struct view *v)
{
    const struct trace *trace = v->session.trace;
    uint64_t events = 0;
    for (uint64_t l = 0; l < trace->layout.location_count; l++) {
        events += trace->layout.locations[l].events;
    }
    json_t *object = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:o}",
        "type", "timeline", "archive", ictus_result_text(trace->path), "tracks", view_tracks(trace),
        "names", view_names(trace), "slices", view_slices(v), "density", view_density(v), "bin_ns",
        (json_int_t)v->density.width, "bin_count", (json_int_t)v->density.count, "metrics",
        view_metrics(v), "metric_count", (json_int_t)v->series.values, "series_count",
        (json_int_t)v->series.seen, "profile", view_profile(v), "dropped",
        (json_int_t)v->slices.dropped, "shortest_ns",
        (json_int_t)(v->slices.dropped > 0 ? v->slices.least : 0), "events", (json_int_t)events,
        "first_ns", (json_int_t)(v->first == INT64_MAX ? 0 : v->first), "clock", view_clock(trace));
    if (object && ictusi_arrows_json(&v->session, &v->clock, object)) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

/*
 * Memory is needed for the points of the archive's messages, twice the number of slices kept, about
 * 65536 bins, and the series of metrics. Only the points grow with the length of the run.
 */
static int view_run(struct view *v, const char *archive, size_t slices, json_t **timeline,
                    struct ictus_why *why)
{
    struct session *s = &v->session;
    int err = ictusi_session_open(s, archive, NULL, why);
    err = err ? err : ictusi_session_read(s, NULL);
    err = err ? err : ictusi_session_as_read(s);
    if (err) {
        return err;
    }
    const double tick_ns = 1e9 / (double)s->trace->layout.resolution;
    const double length = (double)s->trace->layout.length * tick_ns;
    v->first = INT64_MAX;
    v->clock = (struct picture_clock){s->trace, (int64_t)s->trace->global_offset};
    v->regions = calloc(s->trace->regions.count + 1, sizeof *v->regions);
    err = v->regions ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err : ictusi_slices_init(&v->slices, slices);
    /*
     * A run longer than an int64 of nanoseconds comes from a damaged definition. Converting such a
     * double would be undefined.
     */
    err = err ? err
              : ictusi_density_init(&v->density, s->trace->layout.location_count,
                                    length < 4e18 ? (int64_t)length : INT64_MAX / 2);
    err = err ? err : view_read(v);
    if (!err) {
        ictusi_slices_finish(&v->slices);
        *timeline = view_json(v);
        err = *timeline ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    return err;
}

int ictus_timeline_read(const char *archive, size_t slices, json_t **timeline,
                        struct ictus_why *why)
{
    if (!archive || !timeline) {
        return ICTUS_ERR_ARG;
    }
    struct view *v = calloc(1, sizeof *v);
    if (!v) {
        return ICTUS_ERR_NOMEM;
    }
    const int err = view_run(v, archive, slices, timeline, why);
    ictusi_series_fini(&v->series);
    ictusi_density_fini(&v->density);
    ictusi_slices_fini(&v->slices);
    free(v->regions);
    free(v->stack);
    ictusi_session_close(&v->session);
    free(v);
    return err;
}
