/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage of calls, and their presynchronisation. */
#include "waits/calls.h"

#include <stdlib.h>

int ictusi_calls_init(struct waiting_calls *calls, const struct layout *layout,
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
        {&calls->shares, sizeof(struct share_of_time), 2 * events},
        {&calls->meetings, sizeof(struct meeting), events},
        {&calls->notices, sizeof(struct notice), events},
        {&calls->locks, sizeof(struct lock_note), events},
        {&calls->call_of, sizeof(uint32_t), events},
        {&calls->other, sizeof(uint32_t), events},
    };
    int err = ICTUS_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !err; i++) {
        err = ictusi_store_init(lists[i].store, lists[i].size, lists[i].room, STORE_IN_MEMORY, why);
    }
    return err;
}

void ictusi_calls_map(struct waiting_calls *calls, uint64_t locations,
                      int64_t (*map)(void *self, uint32_t location, int64_t stamp), void *self)
{
    for (uint32_t l = 0; l < locations; l++) {
        const uint64_t end = calls->first[l + 1];
        if (calls->begin[l] == NO_EVENTS) {
            continue;
        }
        calls->begin[l] = map(self, l, calls->begin[l]);
        int64_t last = calls->begin[l];
        for (uint64_t i = calls->first[l]; i < end; i++) {
            struct waiting_call *c = call_at(calls, i);
            const int64_t enter = map(self, l, c->enter);
            c->enter = enter > last ? enter : last;
            const int64_t leave = map(self, l, c->leave);
            c->leave = leave > c->enter ? leave : c->enter;
            last = c->leave;
        }
        calls->from = calls->begin[l] < calls->from ? calls->begin[l] : calls->from;
        calls->to = last > calls->to ? last : calls->to;
    }
    ictusi_store_relax(&calls->calls);
}

/* Numbers of calls that follow calls which were not known to who counted them. */
static void calls_renumber(const struct store *list, uint64_t from, uint32_t calls)
{
    uint32_t *number = list->area;
    for (uint64_t i = from; i < list->count; i++) {
        number[i] += number[i] == CALL_NONE ? 0 : calls;
    }
}

/* What events of windows and collectives say of their calls. */
static int calls_append_notes(struct waiting_calls *to, const struct waiting_calls *from,
                              const struct tap_part *part, struct ictus_why *why)
{
    const uint32_t calls = (uint32_t)to->calls.count;
    const uint64_t meetings = to->meetings.count;
    const uint64_t notices = to->notices.count;
    const uint64_t locks = to->locks.count;
    int err = ictusi_store_append(&to->meetings, &from->meetings, why);
    err = err ? err : ictusi_store_append(&to->notices, &from->notices, why);
    err = err ? err : ictusi_store_append(&to->locks, &from->locks, why);
    for (uint64_t i = meetings; i < to->meetings.count; i++) {
        struct meeting *m = meeting_at(to, i);
        m->begin += m->begin ? (uint32_t)part->point : 0;
        m->call += calls;
        m->end_call += calls;
    }
    for (uint64_t i = notices; i < to->notices.count; i++) {
        notice_at(to, i)->call += calls;
    }
    for (uint64_t i = locks; i < to->locks.count; i++) {
        lock_note_at(to, i)->call += calls;
    }
    return err;
}

int ictusi_calls_append(struct waiting_calls *to, const struct waiting_calls *from,
                        const struct tap_part *part, const uint32_t *paths, struct ictus_why *why)
{
    const uint64_t calls = to->calls.count;
    const uint64_t shares = to->shares.count;
    const uint64_t points = to->call_of.count;
    const uint64_t others = to->other.count;
    if (shares + from->shares.count >= UINT32_MAX || calls + from->calls.count >= CALL_NONE) {
        return ICTUS_ERR_NOMEM;
    }
    int err = calls_append_notes(to, from, part, why);
    err = err ? err : ictusi_store_append(&to->calls, &from->calls, why);
    err = err ? err : ictusi_store_append(&to->shares, &from->shares, why);
    err = err ? err : ictusi_store_append(&to->call_of, &from->call_of, why);
    err = err ? err : ictusi_store_append(&to->other, &from->other, why);
    if (err) {
        return err;
    }
    for (uint64_t i = calls; i < to->calls.count; i++) {
        struct waiting_call *c = call_at(to, i);
        c->path = paths[c->path];
        c->delta_end += (uint32_t)shares;
    }
    struct share_of_time *share = to->shares.area;
    for (uint64_t i = shares; i < to->shares.count; i++) {
        share[i].path = paths[share[i].path];
    }
    calls_renumber(&to->call_of, points, (uint32_t)calls);
    calls_renumber(&to->other, others, (uint32_t)calls);
    for (uint32_t l = part->from; l < part->to; l++) {
        to->first[l] = calls + from->first[l];
        to->first[l + 1] = calls + from->first[l + 1];
        to->begin[l] = from->begin[l];
    }
    to->bare += from->bare;
    to->muted += from->muted;
    to->cut += from->cut;
    ictusi_store_relax(&to->calls);
    ictusi_store_relax(&to->shares);
    return ICTUS_OK;
}

void ictusi_calls_free(struct waiting_calls *calls)
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
