/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of regions: calls and inclusive times over all locations. */
#include "trace/reading.h"

#include <ictus/text.h>
#include <ictus/trace.h>

#include <stdlib.h>
#include <string.h>

struct row {
    const char *name;
    uint64_t calls, total_ns, least_ns, most_ns;
};

/* Open regions of a location. */
struct frame {
    uint64_t entered_ns;
    uint32_t region;
};

struct stack {
    struct frame *frames;
    size_t depth, room;
};

struct profiling {
    struct reading r;
    struct row *rows;
    struct stack *stacks;
};

static struct stack *stack_of(struct profiling *p, OTF2_LocationRef location)
{
    const uint32_t at = ictusi_keymap_find(&p->r.location_keys, location + 1);
    return at == KEYMAP_NONE ? NULL : &p->stacks[at];
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct profiling *p = user;
    struct stack *s = stack_of(p, location);
    (void)attributes;
    if (!s) {
        return OTF2_CALLBACK_SUCCESS;
    }
    if (s->depth == s->room) {
        const size_t room = s->room ? s->room * 2 : 32;
        struct frame *frames = realloc(s->frames, room * sizeof(*frames));
        if (!frames) {
            p->r.failed = ICTUS_ERR_NOMEM;
            return OTF2_CALLBACK_INTERRUPT;
        }
        s->frames = frames;
        s->room = room;
    }
    s->frames[s->depth++] = (struct frame){ictusi_reading_ns(&p->r, time), region};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_leave(OTF2_LocationRef location, OTF2_TimeStamp time, void *user,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct profiling *p = user;
    struct stack *s = stack_of(p, location);
    (void)attributes;
    if (!s || s->depth == 0 || s->frames[s->depth - 1].region != region) {
        return OTF2_CALLBACK_SUCCESS;
    }
    const uint64_t lasted = ictusi_reading_ns(&p->r, time) - s->frames[--s->depth].entered_ns;
    const uint32_t at = ictusi_keymap_find(&p->r.region_keys, (uint64_t)region + 1);
    if (at != KEYMAP_NONE) {
        struct row *row = &p->rows[at];
        row->least_ns = row->calls == 0 || lasted < row->least_ns ? lasted : row->least_ns;
        row->most_ns = lasted > row->most_ns ? lasted : row->most_ns;
        row->total_ns += lasted;
        row->calls++;
    }
    return OTF2_CALLBACK_SUCCESS;
}

static int by_time(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    return x->total_ns < y->total_ns ? 1 : -(x->total_ns > y->total_ns);
}

static void print_rows(struct profiling *p, FILE *out)
{
    const uint32_t count = p->r.region_keys.count;
    for (uint32_t i = 0; i < count; i++) {
        p->rows[i].name = ictusi_reading_string(&p->r, p->r.regions[i].name);
    }
    qsort(p->rows, count, sizeof(*p->rows), by_time);
    (void)fprintf(out, "%-32s %10s %14s %12s %12s %12s\n", "region", "calls", "total_ns", "min_ns",
                  "mean_ns", "max_ns");
    for (uint32_t i = 0; i < count; i++) {
        const struct row *row = &p->rows[i];
        if (row->calls > 0) {
            (void)fprintf(out, "%-32s %10llu %14llu %12llu %12llu %12llu\n", row->name,
                          (unsigned long long)row->calls, (unsigned long long)row->total_ns,
                          (unsigned long long)row->least_ns,
                          (unsigned long long)(row->total_ns / row->calls),
                          (unsigned long long)row->most_ns);
        }
    }
}

int ictus_trace_print_profile(const char *archive, FILE *out, struct ictus_why *why)
{
    struct profiling p = {.rows = NULL};
    if (!archive || !out) {
        return ICTUS_ERR_ARG;
    }
    int err = ictusi_reading_open(archive, &p.r, why);
    if (err) {
        return err;
    }
    p.rows = calloc((size_t)p.r.region_keys.count + 1, sizeof(*p.rows));
    p.stacks = calloc((size_t)p.r.location_keys.count + 1, sizeof(*p.stacks));
    OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();
    err = p.rows && p.stacks && c ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        (void)OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(c, on_enter);
        (void)OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(c, on_leave);
        err = ictusi_reading_events(&p.r, c, &p, why);
        err = p.r.failed ? p.r.failed : err;
    }
    if (!err) {
        print_rows(&p, out);
    }
    if (c) {
        OTF2_GlobalEvtReaderCallbacks_Delete(c);
    }
    for (uint32_t i = 0; p.stacks && i < p.r.location_keys.count; i++) {
        free(p.stacks[i].frames);
    }
    free(p.stacks);
    free(p.rows);
    ictusi_reading_close(&p.r);
    return err;
}
