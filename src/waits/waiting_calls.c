/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage of calls, and their presynchronisation. */
#include "waits/waiting_calls.h"

#include "causality/crew.h"

#include <stdlib.h>

/*
 * Each event has at most two calls: its own, and one of no length if it releases a lock (follow.c).
 * The room reserves addresses only, not memory (store.h).
 */
int ictusi_waiting_calls_init(struct waiting_calls *calls, const struct layout *layout,
                              struct ictus_why *why)
{
    const uint64_t n = layout->location_count;
    uint64_t events = 0;
    for (uint64_t i = 0; i < n; i++) {
        events += layout->locations[i].events + 1;
    }
    *calls = (struct waiting_calls){.from = INT64_MAX, .to = INT64_MIN};
    calls->first = calloc(n + 1, sizeof *calls->first);
    calls->begin = calloc(n + 1, sizeof *calls->begin);
    if (!calls->first || !calls->begin) {
        return ICTUS_ERR_NOMEM;
    }
    const struct {
        struct store *store;
        size_t size;
        uint64_t room;
    } lists[] = {
        {&calls->calls, sizeof(struct waiting_call), 2 * events},
        {&calls->shares, sizeof(uint64_t), SHARES_WIDE * (2 * events)},
        {&calls->meetings, sizeof(struct meeting), events},
        {&calls->notices, sizeof(struct notice), events},
        {&calls->locks, sizeof(struct lock_note), events},
        {&calls->call_of, sizeof(uint32_t), events},
        {&calls->other, sizeof(uint32_t), events},
    };
    int err = ICTUS_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !err; i++) {
        /* There are more shares than calls, but they are small. */
        const size_t held = lists[i].store == &calls->shares ? 2 * lists[i].size : lists[i].size;
        err = ictusi_store_init(lists[i].store, lists[i].size, lists[i].room,
                                CALLS_IN_MEMORY * held, why);
    }
    return err;
}

struct calls_mapping {
    struct waiting_calls *calls;
    calls_map *map;
    void *self;
};

/*
 * Presynchronise the calls of a location, in ticks. The maps of clocks are piecewise linear and may
 * step back between pieces. An instant is then set to that of the preceding event, because waits
 * and shares of time must add up to the location's total.
 */
static void calls_map_location(void *self, uint32_t location)
{
    enum { MAPPED = 1 << 18 }; /* calls whose memory is held */
    const struct calls_mapping *m = self;
    struct waiting_calls *calls = m->calls;
    if (calls->begin[location] == NO_EVENTS) {
        return;
    }
    struct map_hints enters = {0, 0, 0}; /* calls are long: their ends have hints of their own */
    struct map_hints leaves = {0, 0, 0};
    int64_t last = m->map(m->self, location, calls->begin[location], &enters);
    calls->begin[location] = last;
    for (uint64_t i = calls->first[location]; i < calls->first[location + 1]; i++) {
        if (i % MAPPED == 0) {
            ictusi_store_relax(&calls->calls);
        }
        struct waiting_call *c = call_at(calls, i);
        int64_t enter = m->map(m->self, location, c->enter, &enters);
        enter = enter > last ? enter : last;
        int64_t leave = m->map(m->self, location, c->leave, &leaves);
        leave = leave > enter ? leave : enter;
        /* unchanged calls need not be written to the file again */
        if (enter != c->enter || leave != c->leave) {
            c->enter = enter;
            c->leave = leave;
        }
        last = leave;
    }
}

/* The last call of a location with events is its end. */
void ictusi_waiting_calls_map(struct waiting_calls *calls, uint32_t locations, int threads,
                              calls_map *map, void *self)
{
    struct calls_mapping mapping = {calls, map, self};
    ictusi_crew_run(threads, locations, calls_map_location, &mapping);
    for (uint32_t l = 0; l < locations; l++) {
        if (calls->begin[l] != NO_EVENTS) {
            const int64_t last = call_at(calls, calls->first[l + 1] - 1)->leave;
            calls->from = calls->begin[l] < calls->from ? calls->begin[l] : calls->from;
            calls->to = last > calls->to ? last : calls->to;
        }
    }
    ictusi_store_relax(&calls->calls);
}

void ictusi_waiting_calls_relax(const struct waiting_calls *calls)
{
    ictusi_store_relax(&calls->calls);
    ictusi_store_relax(&calls->shares);
    ictusi_store_relax(&calls->call_of);
    ictusi_store_relax(&calls->other);
}

/*
 * How the numbers of a part change when it is appended. Threads read blocks of locations at the
 * same time, each counting calls, shares, points and paths from 0. Blocks are joined in the order
 * of locations, so that the result does not depend on the number of threads.
 */
struct renumbering {
    uint32_t calls, shares, points; /* to be added */
    const uint32_t *paths;          /* by number in the part */
};

static void calls_mend(const void *self, void *elements, uint64_t count)
{
    const struct renumbering *to = self;
    struct waiting_call *list = elements;
    for (uint64_t i = 0; i < count; i++) {
        list[i].path = to->paths[list[i].path];
        list[i].delta_end += to->shares;
    }
}

static void shares_mend(const void *self, void *elements, uint64_t count)
{
    const struct renumbering *to = self;
    uint64_t *list = elements;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t path = to->paths[list[i] >> (SHARE_TICKS + 1)];
        list[i] = path << (SHARE_TICKS + 1) | (list[i] & ((UINT64_C(2) << SHARE_TICKS) - 1));
    }
}

/* CALL_NONE is not a number and stays. */
static void numbers_mend(const void *self, void *elements, uint64_t count)
{
    const struct renumbering *to = self;
    uint32_t *list = elements;
    for (uint64_t i = 0; i < count; i++) {
        list[i] += list[i] == CALL_NONE ? 0 : to->calls;
    }
}

/* 0 means no beginning and stays. */
static void meetings_mend(const void *self, void *elements, uint64_t count)
{
    const struct renumbering *to = self;
    struct meeting *list = elements;
    for (uint64_t i = 0; i < count; i++) {
        list[i].begin += list[i].begin ? to->points : 0;
        list[i].call += to->calls;
        list[i].end_call += to->calls;
    }
}

static void notices_mend(const void *self, void *elements, uint64_t count)
{
    const struct renumbering *to = self;
    struct notice *list = elements;
    for (uint64_t i = 0; i < count; i++) {
        list[i].call += to->calls;
    }
}

static void locks_mend(const void *self, void *elements, uint64_t count)
{
    const struct renumbering *to = self;
    struct lock_note *list = elements;
    for (uint64_t i = 0; i < count; i++) {
        list[i].call += to->calls;
    }
}

enum { LISTS = 7 };

/* One list that is appended to another. */
struct list_join {
    struct store *to, *from;
    store_mend *mend;
    const struct renumbering *add;
    struct ictus_why why;
    int err;
};

static void calls_join_list(void *self, uint32_t number)
{
    struct list_join *join = (struct list_join *)self + number;
    join->err = ictusi_store_take(join->to, join->from, join->mend, join->add, &join->why);
}

/*
 * Append a part's lists piece by piece, and release each piece as it is taken. The largest lists
 * come first.
 */
int ictusi_waiting_calls_append(struct waiting_calls *to, struct waiting_calls *from,
                                const struct tap_part *part, const uint32_t *paths,
                                struct ictus_why *why)
{
    const uint64_t calls = to->calls.count;
    const uint64_t shares = to->shares.count;
    if (shares + from->shares.count >= UINT32_MAX || calls + from->calls.count >= CALL_NONE) {
        return ICTUS_ERR_NOMEM;
    }
    const struct renumbering add = {(uint32_t)calls, (uint32_t)shares, (uint32_t)part->point,
                                    paths};
    struct list_join lists[LISTS] = {
        {.to = &to->calls, .from = &from->calls, .mend = calls_mend},
        {.to = &to->shares, .from = &from->shares, .mend = shares_mend},
        {.to = &to->call_of, .from = &from->call_of, .mend = numbers_mend},
        {.to = &to->other, .from = &from->other, .mend = numbers_mend},
        {.to = &to->meetings, .from = &from->meetings, .mend = meetings_mend},
        {.to = &to->notices, .from = &from->notices, .mend = notices_mend},
        {.to = &to->locks, .from = &from->locks, .mend = locks_mend},
    };
    int err = ICTUS_OK;
    for (int i = 0; i < LISTS; i++) {
        lists[i].add = &add;
    }
    ictusi_crew_run(ictusi_crew_size(), LISTS, calls_join_list, lists);
    for (int i = 0; i < LISTS && !err; i++) {
        err = lists[i].err;
        if (err && why) {
            *why = lists[i].why;
        }
    }
    for (uint32_t l = part->from; l < part->to && !err; l++) {
        to->first[l] = calls + from->first[l];
        to->first[l + 1] = calls + from->first[l + 1];
        to->begin[l] = from->begin[l];
    }
    to->bare += from->bare;
    to->muted += from->muted;
    to->cut += from->cut;
    ictusi_waiting_calls_relax(to);
    return err;
}

void ictusi_waiting_calls_free(struct waiting_calls *calls)
{
    ictusi_store_fini(&calls->calls);
    ictusi_store_fini(&calls->shares);
    ictusi_store_fini(&calls->call_of);
    ictusi_store_fini(&calls->other);
    ictusi_store_fini(&calls->meetings);
    ictusi_store_fini(&calls->notices);
    ictusi_store_fini(&calls->locks);
    free(calls->first);
    free(calls->begin);
    calls->first = NULL;
    calls->begin = NULL;
}
