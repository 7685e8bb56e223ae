/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk is done once as read off, and once under each error history, which decides otherwise
 * where a wait is not certain. */
#include "waits/critical.h"

#include "waits/sums.h"

#include <stdlib.h>
#include <string.h>

/* Beyond so many calls, the walks under error histories would take longer than all the rest. */
enum { WALKED_MAX = 1 << 19, AS_READ = -1 };

struct walk {
    const struct times *times;
    struct critical *critical;
    int lane;       /* AS_READ, or an error history */
    int64_t *spent; /* by location */
    uint64_t steps;
};

/* Where the path begins: the location that ends last. */
static uint32_t critical_last_location(const struct analysis *a)
{
    const uint64_t locations = a->session.trace->layout.location_count;
    uint32_t last = 0;
    int64_t latest = INT64_MIN;
    for (uint32_t l = 0; l < locations; l++) {
        if (a->calls.first[l + 1] > a->calls.first[l]) {
            const int64_t end = call_at(&a->calls, a->calls.first[l + 1] - 1)->leave;
            last = end > latest ? l : last;
            latest = end > latest ? end : latest;
        }
    }
    return last;
}

/*
 * How long a call waits (ticks), as read off or under the history: how late the partner came, and
 * by how much the history's errors of both clocks differ at the two instants; never less than 0,
 * nor more than the call took. Between locations of one clock every history says the same.
 */
static int64_t walk_wait(const struct walk *w, uint32_t location, uint64_t call)
{
    const struct analysis *a = w->times->analysis;
    const struct histories *h = &a->histories;
    const struct partner *p = partner_at(&a->partners, call);
    if (p->state == WAIT_NONE) {
        return 0;
    }
    const uint32_t other = w->lane == AS_READ ? location : p->location;
    if (h->clock_of[other] == h->clock_of[location]) {
        return analysis_wait(a, call);
    }
    if ((double)p->late < -2 * h->reach - 1) {
        return 0; /* in no history */
    }
    const struct waiting_call *c = call_at(&a->calls, call);
    const double by = ictusi_histories_at(h, location, c->enter, w->lane) -
                      ictusi_histories_at(h, other, c->enter + p->late, w->lane);
    const double x = (double)p->late + by;
    const double most = (double)(c->leave - c->enter);
    return x <= 0 ? 0 : (int64_t)(x < most ? x : most);
}

/*
 * Whether a location came to a call from another one without waiting in it: a thread that was begun
 * there, or a join of threads. Events of threads are instants, in which nobody can wait.
 */
static bool walk_springs(const struct walk *w, uint32_t location, uint64_t call)
{
    const struct analysis *a = w->times->analysis;
    const struct partner *p = partner_at(&a->partners, call);
    if (p->state == WAIT_NONE || !(call_at(&a->calls, call)->flags & CALL_BARE) ||
        (p->state != WAIT_TEAM_BARRIER && p->state != WAIT_JOIN)) {
        return false;
    }
    const int64_t came = call_at(&a->calls, p->call)->enter;
    return call == a->calls.first[location] || came > call_at(&a->calls, call - 1)->leave;
}

/*
 * A stretch of the path on one location: from a call, or from CALL_NONE, the location's beginning,
 * to before another one, which the path came to at an instant `end` and no later. It may have come
 * there before that call was entered, where a wait was cut off by the end of its call: what lies
 * between is not on it. Under a history only the time is kept, by location.
 */
static int walk_segment(struct walk *w, uint32_t location, uint32_t from, uint64_t to,
                        struct critical_segment segment, struct ictus_why *why)
{
    const struct analysis *a = w->times->analysis;
    struct critical *critical = w->critical;
    w->spent[location] += segment.to - segment.from;
    if (w->lane != AS_READ) {
        return ICTUS_OK;
    }
    /* Calls of no wait, or whose wait is not followed, count whole: nothing waits here. */
    ictusi_times_between(w->times, &critical->by_path, location, from, to);
    ictusi_times_trim(w->times, &critical->by_path, location, from, to,
                      call_at(&a->calls, to)->enter - segment.to);
    critical->length += segment.to - segment.from;
    struct store *segments = &critical->segments;
    const int err = ictusi_store_grow(segments, 1, why);
    if (!err) {
        ((struct critical_segment *)segments->area)[segments->count++] = segment;
    }
    return err;
}

/*
 * Backwards from the last event (Boehme, Wolf and others 2012): along a location until a call that
 * waited. What happened during the wait is not on the path, which goes on where it was waited for:
 * at the partner, from the call that ended the wait. Each stretch ends where the one told before it
 * begins, so that all of them add up to the whole.
 */
static int walk_back(struct walk *w, struct ictus_why *why)
{
    const struct analysis *a = w->times->analysis;
    uint32_t location = critical_last_location(a);
    uint64_t to = a->calls.first[location + 1] - 1;
    uint64_t at = to;
    int64_t end = call_at(&a->calls, to)->leave;
    uint64_t passed = 0;
    int err = ICTUS_OK;
    /* Each step passes a call: more steps than calls are a circle of waits in a broken trace. */
    while (!err && at > a->calls.first[location] && w->steps++ < a->calls.calls.count * 2) {
        at--;
        analysis_pass(a, &passed, 1);
        const bool springs = walk_springs(w, location, at);
        const int64_t wait = walk_wait(w, location, at);
        if (springs || wait > 0) {
            analysis_pass(a, &passed, CALLS_APART);
            const int64_t begin = call_at(&a->calls, at)->enter + wait;
            err = walk_segment(w, location, (uint32_t)at, to,
                               (struct critical_segment){location, begin, end}, why);
            end = begin;
            to = partner_at(&a->partners, at)->call;
            location = analysis_location(a, to);
            at = to;
        }
    }
    return err ? err
               : walk_segment(w, location, CALL_NONE, to,
                              (struct critical_segment){location, a->calls.begin[location], end},
                              why);
}

static int critical_by_share(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * The same under every history: what share each location has. Shares are of each history's own
 * length, as its errors move the ends of all stretches.
 */
static int walk_lanes(struct critical *c, const struct times *times, struct ictus_why *why)
{
    const uint64_t n = times->analysis->session.trace->layout.location_count;
    int64_t *spent = calloc((n + 1) * LANES, sizeof *spent);
    int err = spent ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (int lane = 0; lane < LANES && !err; lane++) {
        struct walk w = {times, c, lane, spent + (size_t)lane * n, 0};
        err = walk_back(&w, why);
    }
    double lengths[LANES] = {0};
    for (uint64_t i = 0; i < n * LANES && !err; i++) {
        /* Under a history that moves both ends of a stretch, it may end before it begins. */
        spent[i] = spent[i] > 0 ? spent[i] : 0;
        lengths[i / n] += (double)spent[i];
    }
    for (uint64_t l = 0; l < n && !err; l++) {
        double shares[LANES];
        for (int lane = 0; lane < LANES; lane++) {
            const double own = (double)spent[(size_t)lane * n + l];
            shares[lane] = lengths[lane] > 0 ? own / lengths[lane] : 0;
        }
        qsort(shares, LANES, sizeof *shares, critical_by_share);
        /* The second at either end: between these two of 80 lies 77/81 = 95 % of what is drawn. */
        c->low[l] = shares[1];
        c->high[l] = shares[LANES - 2];
    }
    free(spent);
    return err;
}

/* Without error histories both ends of an interval are the share as it was read off. */
int ictusi_critical_find(struct critical *c, const struct times *times, struct ictus_why *why)
{
    const struct analysis *a = times->analysis;
    const uint64_t n = a->session.trace->layout.location_count;
    *c = (struct critical){.by_location = calloc(n + 1, sizeof *c->by_location),
                           .low = calloc(n + 1, sizeof *c->low),
                           .high = calloc(n + 1, sizeof *c->high)};
    int err = c->by_location && c->low && c->high ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err : ictusi_time_map_init(&c->by_path, a->paths.count);
    err = err ? err
              : ictusi_store_init(&c->segments, sizeof(struct critical_segment),
                                  2 * a->calls.calls.count + 2, STORE_IN_MEMORY, why);
    if (err || n == 0) {
        return err;
    }
    struct walk w = {times, c, AS_READ, c->by_location, 0};
    err = walk_back(&w, why);
    for (uint64_t l = 0; l < n && c->length > 0; l++) {
        c->low[l] = c->high[l] = (double)c->by_location[l] / (double)c->length;
    }
    /* On one clock every history walks the same path; without known errors there are none. */
    const bool open = a->histories.source == SIGMA_ARCHIVE || a->histories.source == SIGMA_MESSAGES;
    return !err && open && w.steps < WALKED_MAX / LANES ? walk_lanes(c, times, why) : err;
}

void ictusi_critical_free(struct critical *c)
{
    ictusi_store_fini(&c->segments);
    ictusi_time_map_fini(&c->by_path);
    free(c->by_location);
    free(c->low);
    free(c->high);
    *c = (struct critical){.low = NULL};
}
