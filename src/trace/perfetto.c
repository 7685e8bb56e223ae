/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Perfetto JSON (the Trace Event Format of Chrome): slices for regions, flows for messages,
 * instants for events, counters for metrics. Times are microseconds with three decimals, so that
 * no nanosecond is lost. Messages match in order on each channel of sender, receiver, communicator
 * and tag, as MPI's own matching does (MPI 4.0, 3.5).
 */
#include "archive/global_events.h"
#include "archive/trace_open.h"
#include "trace/keymap.h"

#include <ictus/text.h>
#include <ictus/trace.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct channel {
    uint64_t sent, received;
};

struct exporting {
    struct trace *trace;
    FILE *out;
    struct keymap channel_keys;
    struct channel *channels;
    bool begun;
    int err;
};

static void write_text(FILE *out, const char *text)
{
    (void)fputc('"', out);
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

/* The number of a location's process, 0 where it has none. */
static uint32_t perfetto_process(const struct exporting *x, OTF2_LocationRef location)
{
    const uint32_t at = ictusi_trace_location(x->trace, location);
    const uint32_t process = at == LAYOUT_NONE ? at : x->trace->layout.locations[at].process;
    return process == LAYOUT_NONE ? 0 : x->trace->layout.processes[process].ref;
}

/* The location at a communicator's rank, as the one at location sees it; UINT64_MAX: unknown. */
static uint64_t perfetto_peer(const struct exporting *x, OTF2_LocationRef location, uint32_t comm,
                              uint32_t rank)
{
    const struct layout *layout = &x->trace->layout;
    const uint32_t own = ictusi_trace_location(x->trace, location);
    const uint32_t index = ictusi_trace_comm(x->trace, comm);
    if (own == LAYOUT_NONE || index == LAYOUT_NONE) {
        return UINT64_MAX;
    }
    const uint32_t position = ictusi_layout_rank(layout, index, own);
    const uint32_t peer = ictusi_layout_peer(layout, index, own, position, rank);
    return peer == LAYOUT_NONE ? UINT64_MAX : layout->locations[peer].ref;
}

/* The beginning that all records share; the caller continues after a comma and closes the brace. */
static void record_begin(struct exporting *x, char phase, OTF2_LocationRef location, uint64_t time)
{
    const uint64_t ns = ictusi_trace_ns(x->trace, time);
    const uint32_t process = perfetto_process(x, location);
    (void)fprintf(x->out, "%s{\"ph\":\"%c\",\"pid\":%u,\"tid\":%llu,\"ts\":%llu.%03u",
                  x->begun ? ",\n" : "\n", phase, process, (unsigned long long)(location >> 32),
                  (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
    x->begun = true;
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct exporting *x = user;
    (void)attributes;
    record_begin(x, 'B', location, time);
    (void)fputs(",\"name\":", x->out);
    write_text(x->out, ictusi_trace_name(x->trace, &x->trace->regions, region));
    (void)fputc('}', x->out);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_leave(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct exporting *x = user;
    (void)attributes;
    (void)region;
    record_begin(x, 'E', location, time);
    (void)fputc('}', x->out);
    return OTF2_CALLBACK_SUCCESS;
}

static uint64_t key_mix(uint64_t hash, uint64_t value)
{
    hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
    return hash * UINT64_C(0xff51afd7ed558ccd);
}

static struct channel *channel_of(struct exporting *x, uint64_t from, uint64_t to, uint32_t comm,
                                  uint32_t tag, uint32_t *number)
{
    bool fresh = false;
    const uint64_t key = key_mix(key_mix(key_mix(key_mix(1, from), to), comm), tag);
    *number = ictusi_keymap_put(&x->channel_keys, key, &fresh);
    if (*number == KEYMAP_NONE) {
        return NULL;
    }
    if (fresh) {
        if ((*number & (*number - 1)) == 0) {
            struct channel *wider =
                realloc(x->channels, (size_t)(*number ? *number * 2 : 1) * sizeof(*wider));
            if (!wider) {
                return NULL;
            }
            x->channels = wider;
        }
        x->channels[*number] = (struct channel){0, 0};
    }
    return &x->channels[*number];
}

/* One end of an arrow. */
static void record_flow(struct exporting *x, bool send, OTF2_LocationRef location, uint64_t time,
                        uint32_t peer, uint32_t comm, uint32_t tag, uint64_t bytes)
{
    const uint64_t other = perfetto_peer(x, location, comm, peer);
    const uint64_t process = location & UINT32_MAX; /* threads of a process share its channels */
    uint32_t number = 0;
    struct channel *channel = send ? channel_of(x, process, other, comm, tag, &number)
                                   : channel_of(x, other, process, comm, tag, &number);
    if (!channel) {
        x->err = ICTUS_ERR_NOMEM;
        return;
    }
    record_begin(x, send ? 's' : 'f', location, time);
    (void)fprintf(x->out,
                  ",\"cat\":\"message\",\"name\":\"message\",\"id\":\"%u.%llu\"%s,"
                  "\"args\":{\"bytes\":%llu,\"tag\":%u,\"comm\":%u}}",
                  number, (unsigned long long)(send ? channel->sent++ : channel->received++),
                  send ? "" : ",\"bp\":\"e\"", (unsigned long long)bytes, tag, comm);
}

static OTF2_CallbackCode on_send(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                 OTF2_AttributeList *attributes, uint32_t receiver,
                                 OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    (void)attributes;
    record_flow(user, true, location, time, receiver, comm, tag, bytes);
    return OTF2_CALLBACK_SUCCESS;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_isend(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                  OTF2_AttributeList *attributes, uint32_t receiver,
                                  OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    (void)request;
    return on_send(location, time, user, attributes, receiver, comm, tag, bytes);
}

static OTF2_CallbackCode on_recv(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                 OTF2_AttributeList *attributes, uint32_t sender, OTF2_CommRef comm,
                                 uint32_t tag, uint64_t bytes)
{
    (void)attributes;
    record_flow(user, false, location, time, sender, comm, tag, bytes);
    return OTF2_CALLBACK_SUCCESS;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_irecv(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                  OTF2_AttributeList *attributes, uint32_t sender,
                                  OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    (void)request;
    return on_recv(location, time, user, attributes, sender, comm, tag, bytes);
}

static OTF2_CallbackCode on_event(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                  OTF2_AttributeList *attributes, OTF2_ParameterRef parameter,
                                  uint64_t value)
{
    struct exporting *x = user;
    (void)attributes;
    record_begin(x, 'i', location, time);
    (void)fputs(",\"s\":\"t\",\"name\":", x->out);
    write_text(x->out, ictusi_trace_name(x->trace, &x->trace->parameters, parameter));
    (void)fprintf(x->out, ",\"args\":{\"value\":%llu}}", (unsigned long long)value);
    return OTF2_CALLBACK_SUCCESS;
}

static void write_names(struct exporting *x)
{
    const struct trace *trace = x->trace;
    for (uint64_t i = 0; i < trace->processes.count; i++) {
        const struct name_row *row = &trace->processes.rows[i];
        (void)fprintf(x->out,
                      "%s{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":",
                      x->begun ? ",\n" : "\n", (unsigned)row->ref);
        write_text(x->out, ictusi_trace_string(trace, row->string));
        (void)fputs("}}", x->out);
        x->begun = true;
    }
    for (uint64_t i = 0; i < trace->locations.count; i++) {
        const struct name_row *row = &trace->locations.rows[i];
        (void)fprintf(x->out,
                      "%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%llu,\"name\":\"thread_name\",\"args\":"
                      "{\"name\":",
                      x->begun ? ",\n" : "\n", perfetto_process(x, row->ref),
                      (unsigned long long)(row->ref >> 32));
        write_text(x->out, ictusi_trace_string(trace, row->string));
        (void)fputs("}}", x->out);
        x->begun = true;
    }
}

int ictus_trace_export_perfetto(const char *archive, FILE *out, struct ictus_why *why)
{
    struct exporting x = {.out = out};
    if (!archive || !out) {
        return ICTUS_ERR_ARG;
    }
    int err = ictusi_trace_open(archive, &x.trace, why);
    if (err) {
        return err;
    }
    OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();
    if (c) {
        (void)OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(c, on_enter);
        (void)OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(c, on_leave);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(c, on_send);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCallback(c, on_isend);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(c, on_recv);
        (void)OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvCallback(c, on_irecv);
        (void)OTF2_GlobalEvtReaderCallbacks_SetParameterUnsignedIntCallback(c, on_event);
        (void)fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
        write_names(&x);
        err = ictusi_global_events_read(x.trace, c, &x);
        (void)fputs("\n]}\n", out);
        OTF2_GlobalEvtReaderCallbacks_Delete(c);
    }
    err = err || c ? err : ICTUS_ERR_NOMEM;
    err = err ? err : x.err;
    if (!err && ferror(out)) {
        err = ictus_because(why, ICTUS_ERR_IO, "writing: %s", strerror(errno));
    }
    ictusi_trace_close(x.trace);
    ictusi_keymap_free(&x.channel_keys);
    free(x.channels);
    return err;
}
