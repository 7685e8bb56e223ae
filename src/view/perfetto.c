/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Perfetto JSON (Chrome's Trace Event Format): slices for regions, flows for messages, instants for
 * events, counters for metrics. Times are microseconds with three decimals, so that no nanosecond
 * is lost. Waits are on rows of their own, because a slice that does not lie exactly within its
 * call would break the nesting of calls. Messages are matched like those of ictus check, in the
 * order in which receives were posted (MPI 4.0, 3.5): the first reading of the events matches them,
 * and the second one writes.
 */
#include "archive/global_events.h"
#include "archive/metric_names.h"
#include "view/arrows.h"

#include <ictus/text.h>
#include <ictus/trace.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct exporting {
    struct session session;
    struct trace *trace;
    FILE *out;
    uint64_t *next;    /* by location: its first point not yet written or passed */
    uint32_t *threads; /* by location: its number within its process */
    bool begun;
    bool timed;
    uint64_t first; /* ns: the first event, to which the times of waits are relative */
};

static void perfetto_write_text(FILE *out, const char *text)
{
    (void)fputc('"', out);
    /* Bytes from 0x80 on are UTF-8, which JSON accepts unchanged. */
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            (void)fputc('\\', out);
            (void)fputc(*c, out);
        } else if (*c < 0x20) {
            (void)fprintf(out, "\\u%04x", *c);
        } else {
            (void)fputc(*c, out);
        }
    }
    (void)fputc('"', out);
}

/* The number of a location's process; 0 if it has none. */
static uint32_t perfetto_process(const struct exporting *x, OTF2_LocationRef location)
{
    const uint32_t at = ictusi_archive_location(x->trace, location);
    const uint32_t process = at == LAYOUT_NONE ? at : x->trace->layout.locations[at].process;
    return process == LAYOUT_NONE ? 0 : x->trace->layout.processes[process].ref;
}

/* The thread number. Not every recorder stores it in the location's reference. */
static uint32_t perfetto_thread(const struct exporting *x, OTF2_LocationRef location)
{
    const uint32_t at = ictusi_archive_location(x->trace, location);
    return at == LAYOUT_NONE ? 0 : x->threads[at];
}

/* Number the locations of each process in the order of their definitions. */
static int perfetto_number(struct exporting *x)
{
    const struct layout *layout = &x->trace->layout;
    uint32_t *counts = calloc((size_t)layout->process_count + 1, sizeof *counts);
    x->threads = calloc((size_t)layout->location_count + 1, sizeof *x->threads);
    for (uint32_t l = 0; l < layout->location_count && counts && x->threads; l++) {
        const uint32_t process = layout->locations[l].process;
        /* Locations without a process share another counter, after those of the processes. */
        x->threads[l] = counts[process == LAYOUT_NONE ? layout->process_count : process]++;
    }
    const int err = counts && x->threads ? ICTUS_OK : ICTUS_ERR_NOMEM;
    free(counts);
    return err;
}

/*
 * Write the beginning that all records share. The caller continues after a comma and closes the
 * brace.
 */
static void record_begin_ns(struct exporting *x, char phase, OTF2_LocationRef location, uint64_t ns)
{
    const uint32_t process = perfetto_process(x, location);
    (void)fprintf(x->out, "%s{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u,\"ts\":%llu.%03u",
                  x->begun ? ",\n" : "\n", phase, process, perfetto_thread(x, location),
                  (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
    x->begun = true;
}

static void perfetto_record_begin(struct exporting *x, char phase, OTF2_LocationRef location,
                                  uint64_t time)
{
    const uint64_t ns = ictusi_archive_ns(x->trace, time);
    /*
     * The first record that has a time is the earliest event, because events are read in order of
     * time.
     */
    x->first = x->timed ? x->first : ns;
    x->timed = true;
    record_begin_ns(x, phase, location, ns);
}

static OTF2_CallbackCode perfetto_on_enter(OTF2_LocationRef location, OTF2_TimeStamp time,
                                           void *user, OTF2_AttributeList *attributes,
                                           OTF2_RegionRef region)
{
    struct exporting *x = user;
    (void)attributes;
    perfetto_record_begin(x, 'B', location, time);
    (void)fputs(",\"name\":", x->out);
    perfetto_write_text(x->out, ictusi_archive_name(x->trace, &x->trace->regions, region));
    (void)fputc('}', x->out);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode perfetto_on_leave(OTF2_LocationRef location, OTF2_TimeStamp time,
                                           void *user, OTF2_AttributeList *attributes,
                                           OTF2_RegionRef region)
{
    struct exporting *x = user;
    (void)attributes;
    (void)region;
    perfetto_record_begin(x, 'E', location, time);
    (void)fputc('}', x->out);
    return OTF2_CALLBACK_SUCCESS;
}

/*
 * The point that the scan made for one end of a message. It is found by time, because the points
 * and events of a location are in the same order. NODE_NONE if there is none, because the other end
 * is unknown.
 */
static uint32_t perfetto_point(struct exporting *x, OTF2_LocationRef location, uint64_t time,
                               uint8_t side)
{
    const struct history *history = &x->session.history;
    const struct points *points = &history->points;
    const uint32_t l = ictusi_archive_location(x->trace, location);
    if (l == LAYOUT_NONE) {
        return NODE_NONE;
    }
    /* The search continues after the last point that was found, and ends at a later time. */
    for (uint64_t i = x->next[l]; i < history->first[l + 1]; i++) {
        if (points->value[i] > (int64_t)time) {
            break;
        }
        if (points->value[i] == (int64_t)time && (points->kind[i] & POINT_CLASS) == POINT_P2P &&
            (points->kind[i] & side)) {
            x->next[l] = i + 1;
            return (uint32_t)i;
        }
    }
    return NODE_NONE;
}

/*
 * Write one end of an arrow, identified by the sending point. Nothing is written if it has no other
 * end.
 */
static void record_flow(struct exporting *x, bool send, OTF2_LocationRef location, uint64_t time,
                        uint32_t comm, uint32_t tag, uint64_t bytes)
{
    const struct points *points = &x->session.history.points;
    const uint32_t point = perfetto_point(x, location, time, send ? POINT_OUT : POINT_IN);
    /* Both ends have the number of the send, by which the viewer joins them. */
    const uint32_t sender = point == NODE_NONE || send ? point : points->link[point];
    if (sender >= NODE_VIRTUAL || ictusi_arrow_end(points, sender) == NODE_NONE) {
        return;
    }
    perfetto_record_begin(x, send ? 's' : 'f', location, time);
    (void)fprintf(x->out,
                  ",\"cat\":\"message\",\"name\":\"message\",\"id\":\"%u\"%s,"
                  "\"args\":{\"bytes\":%llu,\"tag\":%u,\"comm\":%u}}",
                  sender, send ? "" : ",\"bp\":\"e\"", (unsigned long long)bytes, tag, comm);
}

static OTF2_CallbackCode perfetto_on_send(OTF2_LocationRef location, OTF2_TimeStamp time,
                                          void *user, OTF2_AttributeList *attributes,
                                          uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                          uint64_t bytes)
{
    (void)attributes;
    (void)receiver;
    record_flow(user, true, location, time, comm, tag, bytes);
    return OTF2_CALLBACK_SUCCESS;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode perfetto_on_isend(OTF2_LocationRef location, OTF2_TimeStamp time,
                                           void *user, OTF2_AttributeList *attributes,
                                           uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                           uint64_t bytes, uint64_t request)
{
    (void)request;
    return perfetto_on_send(location, time, user, attributes, receiver, comm, tag, bytes);
}

static OTF2_CallbackCode perfetto_on_recv(OTF2_LocationRef location, OTF2_TimeStamp time,
                                          void *user, OTF2_AttributeList *attributes,
                                          uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                          uint64_t bytes)
{
    (void)attributes;
    (void)sender;
    record_flow(user, false, location, time, comm, tag, bytes);
    return OTF2_CALLBACK_SUCCESS;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode perfetto_on_irecv(OTF2_LocationRef location, OTF2_TimeStamp time,
                                           void *user, OTF2_AttributeList *attributes,
                                           uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                           uint64_t bytes, uint64_t request)
{
    (void)request;
    return perfetto_on_recv(location, time, user, attributes, sender, comm, tag, bytes);
}

static OTF2_CallbackCode perfetto_on_event(OTF2_LocationRef location, OTF2_TimeStamp time,
                                           void *user, OTF2_AttributeList *attributes,
                                           OTF2_ParameterRef parameter, uint64_t value)
{
    struct exporting *x = user;
    (void)attributes;
    perfetto_record_begin(x, 'i', location, time);
    (void)fputs(",\"s\":\"t\",\"name\":", x->out);
    perfetto_write_text(x->out, ictusi_archive_name(x->trace, &x->trace->parameters, parameter));
    (void)fprintf(x->out, ",\"args\":{\"value\":%llu}}", (unsigned long long)value);
    return OTF2_CALLBACK_SUCCESS;
}

/*
 * Each member of a metric is a separate counter. Counters belong to processes, so the id contains
 * the thread.
 */
static OTF2_CallbackCode perfetto_on_metric(OTF2_LocationRef location, OTF2_TimeStamp time,
                                            void *user, OTF2_AttributeList *attributes,
                                            OTF2_MetricRef metric, uint8_t count,
                                            const OTF2_Type *types, const OTF2_MetricValue *values)
{
    struct exporting *x = user;
    (void)attributes;
    for (uint8_t i = 0; i < count; i++) {
        const uint32_t member = ictusi_metric_member(x->trace, metric, i);
        const double value = member == LAYOUT_NONE
                                 ? NAN
                                 : ictusi_metric_value(x->trace, member, types[i], values[i]);
        if (!isfinite(value)) {
            continue; /* it is undefined, or a value that JSON cannot represent */
        }
        const struct trace_metric *told = &x->trace->metrics.members[member];
        perfetto_record_begin(x, 'C', location, time);
        (void)fputs(",\"name\":", x->out);
        perfetto_write_text(x->out, ictusi_archive_string(x->trace, told->name));
        (void)fprintf(x->out, ",\"id\":\"%u\",\"args\":{", perfetto_thread(x, location));
        const char *unit = ictusi_archive_string(x->trace, told->unit);
        perfetto_write_text(x->out, *unit ? unit : "value");
        (void)fprintf(x->out, ":%.17g}}", value);
    }
    return OTF2_CALLBACK_SUCCESS;
}

/* Write a text member of a wait as an argument of a slice. */
static void perfetto_write_wait_text(struct exporting *x, const char *name, const json_t *wait,
                                     const char *member)
{
    const char *text = json_string_value(json_object_get(wait, member));
    (void)fprintf(x->out, "\"%s\":", name);
    perfetto_write_text(x->out, text ? text : "");
    (void)fputc(',', x->out);
}

/* Write one end of a wait. Its beginning states for whom it waits, and how certain that is. */
static void record_wait(struct exporting *x, char phase, const json_t *wait, double seconds,
                        size_t number)
{
    const json_int_t location = json_integer_value(json_object_get(wait, "location"));
    const json_t *sigma = json_object_get(wait, "sigma_s");
    const double since = seconds > 0 ? round(seconds * 1e9) : 0;
    record_begin_ns(x, phase, (OTF2_LocationRef)location, x->first + (uint64_t)since);
    (void)fprintf(x->out, ",\"cat\":\"wait\",\"id\":\"wait-%zu\",\"name\":", number);
    perfetto_write_text(x->out, json_string_value(json_object_get(wait, "state")));
    if (phase == 'b') {
        (void)fputs(",\"args\":{", x->out);
        perfetto_write_wait_text(x, "call", wait, "call");
        perfetto_write_wait_text(x, "site", wait, "site");
        perfetto_write_wait_text(x, "for_call", wait, "causer_call");
        (void)fprintf(x->out, "\"for_rank\":%lld,\"sigma_ns\":",
                      (long long)json_integer_value(json_object_get(wait, "causer_rank")));
        if (json_is_number(sigma)) {
            (void)fprintf(x->out, "%.6g}", json_number_value(sigma) * 1e9);
        } else {
            (void)fputs("null}", x->out);
        }
    }
    (void)fputc('}', x->out);
}

/* The longest waits, as slices next to the calls. */
static void perfetto_write_waits(struct exporting *x, const json_t *waits)
{
    static const double longest = 1e9; /* s; no trace is longer */
    size_t i = 0;
    const json_t *wait = NULL;
    json_array_foreach(waits, i, wait)
    {
        const char *type = json_string_value(json_object_get(wait, "type"));
        const double from = json_number_value(json_object_get(wait, "from_s"));
        const double lasts = json_number_value(json_object_get(wait, "wait_s"));
        if (type && strcmp(type, "wait-instance") == 0 && from < longest && lasts < longest &&
            json_is_string(json_object_get(wait, "state"))) {
            record_wait(x, 'b', wait, from, i);
            record_wait(x, 'e', wait, from + lasts, i);
        }
    }
}

/*
 * Metadata records: without them, the viewer would show numbers instead of the names of processes
 * and threads.
 */
static void perfetto_write_names(struct exporting *x)
{
    const struct trace *trace = x->trace;
    for (uint64_t i = 0; i < trace->processes.count; i++) {
        const struct name_row *row = &trace->processes.rows[i];
        (void)fprintf(x->out,
                      "%s{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":",
                      x->begun ? ",\n" : "\n", (unsigned)row->ref);
        perfetto_write_text(x->out, ictusi_archive_string(trace, row->string));
        (void)fputs("}}", x->out);
        x->begun = true;
    }
    for (uint64_t i = 0; i < trace->locations.count; i++) {
        const struct name_row *row = &trace->locations.rows[i];
        (void)fprintf(x->out,
                      "%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\",\"args\":"
                      "{\"name\":",
                      x->begun ? ",\n" : "\n", perfetto_process(x, row->ref),
                      perfetto_thread(x, row->ref));
        perfetto_write_text(x->out, ictusi_archive_string(trace, row->string));
        (void)fputs("}}", x->out);
        x->begun = true;
    }
}

static int perfetto_write(struct exporting *x, const json_t *waits)
{
    const struct layout *layout = &x->trace->layout;
    OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();
    x->next = calloc(layout->location_count + 1, sizeof *x->next);
    int err = c && x->next ? perfetto_number(x) : ICTUS_ERR_NOMEM;
    if (!err) {
        memcpy(x->next, x->session.history.first, layout->location_count * sizeof *x->next);
        (void)OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(c, perfetto_on_enter);
        (void)OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(c, perfetto_on_leave);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(c, perfetto_on_send);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCallback(c, perfetto_on_isend);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(c, perfetto_on_recv);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvCallback(c, perfetto_on_irecv);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMetricCallback(c, perfetto_on_metric);
        (void)OTF2_GlobalEvtReaderCallbacks_SetParameterUnsignedIntCallback(c, perfetto_on_event);
        (void)fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", x->out);
        perfetto_write_names(x);
        err = ictusi_global_events_read(x->trace, c, x);
        perfetto_write_waits(x, waits);
        (void)fputs("\n]}\n", x->out);
    }
    OTF2_GlobalEvtReaderCallbacks_Delete(c);
    free(x->next);
    free(x->threads);
    return err;
}

int ictus_trace_export_perfetto(const char *archive, const json_t *waits, FILE *out,
                                struct ictus_why *why)
{
    if (!archive || !out) {
        return ICTUS_ERR_ARG;
    }
    struct exporting *x = calloc(1, sizeof *x);
    if (!x) {
        return ICTUS_ERR_NOMEM;
    }
    x->out = out;
    int err = ictusi_session_open(&x->session, archive, NULL, why);
    err = err ? err : ictusi_session_read(&x->session, NULL);
    err = err ? err : ictusi_session_as_read(&x->session);
    if (!err) {
        x->trace = x->session.trace;
        err = perfetto_write(x, waits);
    }
    if (!err && ferror(out)) {
        err = ictus_because(why, ICTUS_ERR_IO, "the export cannot be written: %s", strerror(errno));
    }
    ictusi_session_close(&x->session);
    free(x);
    return err;
}
