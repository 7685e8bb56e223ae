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
    int err = calls->first && calls->begin ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err =
        err ? err : ictusi_store_init(&calls->calls, sizeof(struct waiting_call), 2 * events, why);
    err = err ? err
              : ictusi_store_init(&calls->shares, sizeof(struct share_of_time), 2 * events, why);
    err = err ? err : ictusi_store_init(&calls->meetings, sizeof(struct meeting), events, why);
    err = err ? err : ictusi_store_init(&calls->notices, sizeof(struct notice), events, why);
    err = err ? err : ictusi_store_init(&calls->locks, sizeof(struct lock_note), events, why);
    err = err ? err : ictusi_store_init(&calls->call_of, sizeof(uint32_t), events, why);
    return err ? err : ictusi_store_init(&calls->other, sizeof(uint32_t), events, why);
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
