/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads blocks of locations in several threads. Each thread has a reader, a history and a tap of
 * its own. Afterwards these are appended in the order of the locations, so that everything has the
 * number that one thread would have given it. A block that could not be read is read again by the
 * caller's thread, which reports what is wrong with it.
 *
 * The calls of one process are counted across its locations, so no process is divided between two
 * blocks.
 */
#include "archive/scan_parts.h"

#include "causality/crew.h"

#include <pthread.h>
#include <stdlib.h>

struct part {
    uint32_t from, to; /* its locations */
    struct scan scan;
    struct trace trace; /* the archive's definitions, with a reader of its own */
    struct history history;
    struct scan_counts counts;
    pthread_t thread;
    bool running;
    int err;
};

/*
 * Locations in the same group must be read by one thread. A location without a process is a group
 * of its own.
 */
static uint64_t part_group(const struct layout *layout, uint32_t location)
{
    return layout->locations[location].process == LAYOUT_NONE
               ? layout->process_count + location
               : ictusi_layout_clock_process(layout, location);
}

/*
 * Find where blocks may begin: after a location if no group that has begun continues later. reach
 * is the last location of all groups that have begun. The end counts as a border.
 */
static bool *part_borders(const struct layout *layout)
{
    const uint64_t n = layout->location_count;
    bool *border = calloc(n + 1, sizeof *border);
    uint32_t *last = calloc(layout->process_count + n + 1, sizeof *last);
    uint32_t reach = 0;
    if (!border || !last) {
        free(border);
        free(last);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        last[part_group(layout, i)] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        border[i] = i > reach;
        const uint32_t own = last[part_group(layout, i)];
        reach = own > reach ? own : reach;
    }
    free(last);
    border[n] = true;
    return border;
}

static uint64_t distance_of(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/*
 * Divide the locations into blocks with about the same number of events, and return the number of
 * blocks. If an equal share ends within a group, the nearer border is used. If there are few
 * borders, there are fewer blocks than requested. `wanted` divides before it multiplies, because
 * the product of two numbers from a damaged archive could overflow.
 */
static int parts_cut(const struct layout *layout, struct part *parts, int most)
{
    const uint32_t n = (uint32_t)layout->location_count;
    bool *border = part_borders(layout);
    uint64_t total = 0;
    uint64_t before = 0;   /* events of the locations before i */
    uint64_t previous = 0; /* the same, before the last border */
    uint32_t last = 0;     /* the last border, if no block begins there */
    int count = 1;
    for (uint32_t i = 0; i < n; i++) {
        total += layout->locations[i].events;
    }
    for (uint32_t i = 1; i <= n && border && count < most; i++) {
        before += layout->locations[i - 1].events;
        const uint64_t wanted = total / (uint64_t)most * (uint64_t)count;
        if (border[i] && before >= wanted) {
            const bool earlier = last > parts[count - 1].from &&
                                 distance_of(previous, wanted) < distance_of(before, wanted);
            parts[count].from = earlier ? last : i;
            count += earlier || i < n;
        }
        if (border[i]) {
            last = i;
            previous = before;
        }
    }
    free(border);
    for (int k = 0; k < count; k++) {
        parts[k].to = k + 1 < count ? parts[k + 1].from : n;
    }
    return count;
}

/* Read the local definitions, which contain the mapping tables for the events. */
static bool part_read_definitions(const struct part *part)
{
    const struct layout *layout = &part->trace.layout;
    OTF2_Reader *reader = part->trace.reader;
    for (uint32_t i = part->from; i < part->to; i++) {
        if (OTF2_Reader_SelectLocation(reader, layout->locations[i].ref) != OTF2_SUCCESS) {
            return false;
        }
    }
    if (OTF2_Reader_OpenDefFiles(reader) != OTF2_SUCCESS) {
        return true; /* there are no local definitions */
    }
    bool good = true;
    for (uint32_t i = part->from; i < part->to && good; i++) {
        OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, layout->locations[i].ref);
        uint64_t read = 0;
        if (definitions) {
            good = OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &read) == OTF2_SUCCESS;
            OTF2_Reader_CloseDefReader(reader, definitions);
        }
    }
    (void)OTF2_Reader_CloseDefFiles(reader);
    return good;
}

static void *part_run(void *self)
{
    struct part *part = self;
    part->err = ictusi_scan_locations(&part->scan, part->from, part->to);
    return NULL;
}

/*
 * Start reading a block. Everything is the thread's own, except for the definitions, which are not
 * modified while events are read. Each thread has its own reader, because OTF2's readers are not
 * thread-safe. If a thread cannot be started, the caller reads its block itself.
 */
static void part_begin(struct part *part, const struct scan *whole)
{
    const struct layout *layout = &whole->trace->layout;
    uint64_t events = 0;
    for (uint32_t i = part->from; i < part->to; i++) {
        events += layout->locations[i].events;
    }
    part->trace = *whole->trace;
    part->trace.why = NULL; /* only the caller's thread reports errors */
    part->trace.reader = OTF2_Reader_Open(whole->trace->path);
    part->scan = (struct scan){.trace = &part->trace,
                               .history = &part->history,
                               .counts = &part->counts,
                               .mine = whole->mine};
    if (whole->tap) {
        part->scan.tap = whole->tap->ops->split(whole->tap);
    }
    const bool able =
        part->trace.reader && (part->scan.tap || !whole->tap) &&
        OTF2_Reader_SetSerialCollectiveCallbacks(part->trace.reader) == OTF2_SUCCESS &&
        part_read_definitions(part) &&
        ictusi_history_init(&part->history, layout, events, NULL) == ICTUS_OK;
    part->running = able && pthread_create(&part->thread, NULL, part_run, part) == 0;
}

static void counts_add(struct scan_counts *to, const struct scan_counts *more)
{
    to->events += more->events;
    to->decreasing += more->decreasing;
    to->unknown += more->unknown;
    to->open_calls += more->open_calls;
    to->cancelled += more->cancelled;
    to->lone_begins += more->lone_begins;
    to->lone_ends += more->lone_ends;
    to->foreign += more->foreign;
}

/* A block that is appended to the whole; `point` is where its points begin there. */
struct part_joining {
    struct part *part;
    struct scan *whole;
    uint64_t point;
    struct ictus_why why; /* of the history */
    int err[2];
};

/* A tap uses nothing of the history here, so the two are appended at the same time. */
static void part_join_half(void *self, uint32_t half)
{
    struct part_joining *j = self;
    struct part *part = j->part;
    struct scan_tap *tap = j->whole->tap;
    if (half == 0) {
        j->err[half] =
            ictusi_history_append(j->whole->history, &part->history, part->from, part->to, &j->why);
    } else {
        j->err[half] =
            tap->ops->join(tap, part->scan.tap, &(struct tap_part){part->from, part->to, j->point});
    }
}

/* Append a block. Called in the order of the blocks, which is the order of the locations. */
static int part_join(struct part *part, struct scan *whole)
{
    struct part_joining j = {.part = part, .whole = whole, .point = whole->history->points.count};
    counts_add(whole->counts, &part->counts);
    ictusi_crew_run(2, whole->tap ? 2 : 1, part_join_half, &j);
    if (j.err[0] && whole->trace->why) {
        *whole->trace->why = j.why;
    }
    return j.err[0] ? j.err[0] : j.err[1];
}

static void part_end(struct part *part)
{
    if (part->scan.tap) {
        part->scan.tap->ops->release(part->scan.tap);
    }
    if (part->trace.reader) {
        (void)OTF2_Reader_Close(part->trace.reader);
    }
    ictusi_history_fini(&part->history);
}

/*
 * The first block is read into the caller's own history while the threads read the others. All
 * threads have ended before anything is joined, also after errors.
 */
int ictusi_scan_parts(struct scan *scan, int threads)
{
    struct part *parts = calloc((size_t)threads, sizeof *parts);
    if (!parts) {
        return ICTUS_ERR_NOMEM;
    }
    const int count = parts_cut(&scan->trace->layout, parts, threads);
    for (int k = 1; k < count; k++) {
        part_begin(&parts[k], scan);
    }
    int err = ictusi_scan_locations(scan, parts[0].from, parts[0].to);
    for (int k = 1; k < count; k++) {
        if (parts[k].running) {
            (void)pthread_join(parts[k].thread, NULL);
        }
    }
    for (int k = 1; k < count; k++) {
        if (!err && parts[k].running && !parts[k].err) {
            err = part_join(&parts[k], scan);
        } else if (!err) {
            err = ictusi_scan_locations(scan, parts[k].from, parts[k].to);
        }
        part_end(&parts[k]);
    }
    free(parts);
    return err;
}
