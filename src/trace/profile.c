/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a table of regions: calls and inclusive times over all locations. */
#include "archive/global_events.h"

#include "archive/trace_open.h"

#include <ictus/text.h>
#include <ictus/trace.h>

#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS = 24 };

struct row {
    const char *name;
    uint64_t calls, total_ns, least_ns, most_ns;
};

/* The open regions of a location. */
struct frame {
    uint64_t entered_ns;
    uint32_t region;
};

struct stack {
    struct frame *frames;
    size_t depth, room;
};

/* Amounts read from files and written to files; the index is OTF2_IO_OPERATION_MODE. */
struct traffic {
    uint64_t operations, bytes;
};

struct profiling {
    struct trace *trace;
    struct row *rows;
    struct stack *stacks; /* by location */
    struct idmap begun;   /* operations on files: process and handle, operation number -> mode */
    struct traffic traffic[OTF2_IO_OPERATION_MODE_WRITE + 1];
    int err;
};

static struct stack *profile_stack_of(struct profiling *p, OTF2_LocationRef location)
{
    const uint32_t at = ictusi_archive_location(p->trace, location);
    return at == LAYOUT_NONE ? NULL : &p->stacks[at];
}

static OTF2_CallbackCode profile_on_enter(OTF2_LocationRef location, OTF2_TimeStamp time,
                                          void *user, OTF2_AttributeList *attributes,
                                          OTF2_RegionRef region)
{
    struct profiling *p = user;
    struct stack *s = profile_stack_of(p, location);
    (void)attributes;
    if (!s) {
        return OTF2_CALLBACK_SUCCESS;
    }
    if (s->depth == s->room) {
        const size_t room = s->room ? s->room * 2 : 32;
        struct frame *frames = realloc(s->frames, room * sizeof(*frames));
        if (!frames) {
            p->err = ICTUS_ERR_NOMEM;
            return OTF2_CALLBACK_INTERRUPT;
        }
        s->frames = frames;
        s->room = room;
    }
    s->frames[s->depth++] = (struct frame){ictusi_archive_ns(p->trace, time), region};
    return OTF2_CALLBACK_SUCCESS;
}

/* The leave of a region that was entered before recording began is ignored. */
static OTF2_CallbackCode profile_on_leave(OTF2_LocationRef location, OTF2_TimeStamp time,
                                          void *user, OTF2_AttributeList *attributes,
                                          OTF2_RegionRef region)
{
    struct profiling *p = user;
    struct stack *s = profile_stack_of(p, location);
    (void)attributes;
    if (!s || s->depth == 0 || s->frames[s->depth - 1].region != region) {
        return OTF2_CALLBACK_SUCCESS;
    }
    const uint64_t lasted = ictusi_archive_ns(p->trace, time) - s->frames[--s->depth].entered_ns;
    const int64_t at = ictusi_idmap_get(&p->trace->regions.index, region, 0);
    if (at != IDMAP_NONE) {
        struct row *row = &p->rows[at];
        row->least_ns = row->calls == 0 || lasted < row->least_ns ? lasted : row->least_ns;
        row->most_ns = lasted > row->most_ns ? lasted : row->most_ns;
        row->total_ns += lasted;
        row->calls++;
    }
    return OTF2_CALLBACK_SUCCESS;
}

/*
 * A handle is open in a process, and an operation may end in another thread than the one in which
 * it began. So the key holds the process.
 */
static uint64_t profile_handle_key(const struct profiling *p, OTF2_LocationRef location,
                                   OTF2_IoHandleRef handle)
{
    const uint32_t at = ictusi_archive_location(p->trace, location);
    const uint32_t process = at == LAYOUT_NONE ? at : p->trace->layout.locations[at].process;
    return (uint64_t)process << 32 | handle;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode profile_on_io_begin(OTF2_LocationRef location, OTF2_TimeStamp time,
                                             void *user, OTF2_AttributeList *attributes,
                                             OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,
                                             OTF2_IoOperationFlag flags, uint64_t bytes,
                                             uint64_t number)
{
    struct profiling *p = user;
    (void)time;
    (void)attributes;
    (void)flags;
    (void)bytes;
    p->err = ictusi_idmap_put(&p->begun, profile_handle_key(p, location, handle), number, mode);
    return p->err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode profile_on_io_complete(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                void *user, OTF2_AttributeList *attributes,
                                                OTF2_IoHandleRef handle, uint64_t bytes,
                                                uint64_t number)
{
    struct profiling *p = user;
    const uint64_t key = profile_handle_key(p, location, handle);
    const int64_t mode = ictusi_idmap_get(&p->begun, key, number);
    (void)time;
    (void)attributes;
    if (mode == OTF2_IO_OPERATION_MODE_READ || mode == OTF2_IO_OPERATION_MODE_WRITE) {
        p->traffic[mode].operations++;
        p->traffic[mode].bytes += bytes;
    }
    ictusi_idmap_remove(&p->begun, key, number);
    return OTF2_CALLBACK_SUCCESS;
}

static void profile_print_traffic(const struct profiling *p, FILE *out)
{
    static const char *const names[] = {"read from files", "written to files"};
    for (int i = 0; i <= OTF2_IO_OPERATION_MODE_WRITE; i++) {
        if (p->traffic[i].operations > 0) {
            (void)fprintf(out, "%-*s %8llu operations %13llu bytes\n", NAME_COLUMNS, names[i],
                          (unsigned long long)p->traffic[i].operations,
                          (unsigned long long)p->traffic[i].bytes);
        }
    }
}

static int profile_by_time(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    return x->total_ns < y->total_ns ? 1 : -(x->total_ns > y->total_ns);
}

/* Print a time in microseconds, with fewer decimals if it would exceed its column. */
static void profile_print_time(uint64_t ns, int width, FILE *out)
{
    char text[40];
    int length = width + 1;
    for (int decimals = 3; decimals >= 0 && length > width; decimals--) {
        length = snprintf(text, sizeof text, "%.*f", decimals, 1e-3 * (double)ns);
    }
    (void)fprintf(out, " %*s", width, text);
}

/* Rows have 80 columns. A name longer than its column gets a line of its own. */
static void profile_print_row(const struct row *row, FILE *out)
{
    const bool fits = strlen(row->name) <= NAME_COLUMNS;
    (void)fprintf(out, "%-*s%s%*s %8llu", NAME_COLUMNS, row->name, fits ? "" : "\n",
                  fits ? 0 : NAME_COLUMNS, "", (unsigned long long)row->calls);
    profile_print_time(row->total_ns, 13, out);
    profile_print_time(row->least_ns, 10, out);
    profile_print_time(row->total_ns / row->calls, 10, out);
    profile_print_time(row->most_ns, 10, out);
    (void)fputc('\n', out);
}

static void profile_print_rows(struct profiling *p, FILE *out)
{
    const uint64_t count = p->trace->regions.count;
    for (uint64_t i = 0; i < count; i++) {
        p->rows[i].name = ictusi_archive_string(p->trace, p->trace->regions.rows[i].string);
    }
    qsort(p->rows, count, sizeof(*p->rows), profile_by_time);
    (void)fprintf(out, "%-*s %8s %13s %10s %10s %10s\n", NAME_COLUMNS, "region", "calls",
                  "total us", "min us", "mean us", "max us");
    for (uint64_t i = 0; i < count; i++) {
        if (p->rows[i].calls > 0) {
            profile_print_row(&p->rows[i], out);
        }
    }
}

int ictus_trace_print_profile(const char *archive, FILE *out, struct ictus_why *why)
{
    struct profiling p = {.rows = NULL};
    if (!archive || !out) {
        return ICTUS_ERR_ARG;
    }
    int err = ictusi_archive_open(archive, &p.trace, why);
    if (err) {
        return err;
    }
    p.rows = calloc(p.trace->regions.count + 1, sizeof(*p.rows));
    p.stacks = calloc(p.trace->layout.location_count + 1, sizeof(*p.stacks));
    OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();
    err = p.rows && p.stacks && c ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        (void)OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(c, profile_on_enter);
        (void)OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(c, profile_on_leave);
        (void)OTF2_GlobalEvtReaderCallbacks_SetIoOperationBeginCallback(c, profile_on_io_begin);
        (void)OTF2_GlobalEvtReaderCallbacks_SetIoOperationCompleteCallback(c,
                                                                           profile_on_io_complete);
        err = ictusi_global_events_read(p.trace, c, &p);
        err = p.err ? p.err : err;
    }
    if (!err) {
        profile_print_rows(&p, out);
        profile_print_traffic(&p, out);
    }
    if (c) {
        OTF2_GlobalEvtReaderCallbacks_Delete(c);
    }
    for (uint64_t i = 0; p.stacks && i < p.trace->layout.location_count; i++) {
        free(p.stacks[i].frames);
    }
    free(p.stacks);
    free(p.rows);
    ictusi_idmap_fini(&p.begun);
    ictusi_archive_close(p.trace);
    return err;
}
