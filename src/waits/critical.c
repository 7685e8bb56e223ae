/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The walk is made once with the recorded times, and once under each error history, which may
 * decide differently wherever a wait is not certain.
 */
#include "waits/critical.h"

#include "waits/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * With more calls than this, the walks under error histories would take longer than everything
 * else, and are not made: shares then have no intervals.
 */
enum { WALKED_MAX = 1 << 19, AS_READ = -1 };

struct walk {
    const struct times *times;
    struct critical *critical;
    int lane;       /* AS_READ, or an error history */
    int64_t *spent; /* by location */
    uint64_t steps;
};

/* The path ends in the location whose last event is the latest. */
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
 * How long a call waits (ticks), either as recorded or under a history. The wait is how late the
 * partner came, plus the difference between the history's errors of the two clocks at the two
 * instants. It is clamped to between 0 and the length of the call. Between locations on one clock
 * all histories agree.
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
        return 0; /* it waits in no history */
    }
    const struct waiting_call *c = call_at(&a->calls, call);
    const double by = ictusi_histories_at(h, location, c->enter, w->lane) -
                      ictusi_histories_at(h, other, c->enter + p->late, w->lane);
    const double x = (double)p->late + by;
    const double most = (double)(c->leave - c->enter);
    return x <= 0 ? 0 : (int64_t)(x < most ? x : most);
}

/*
 * Whether the path came to a call from another location without a wait: a thread was started there,
 * or threads were joined. Thread events are instants, in which nothing can wait.
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
 * Add a segment of the path on one location. It runs from a call (or CALL_NONE, the beginning of
 * the location) to the call `to`, which the path left at the instant segment.to. That instant may
 * be before the call was entered, if a wait was cut short by the end of its call. What lies in
 * between is not on the path. Under a history, only the time per location is kept.
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
    /* Calls that do not wait, or whose wait is not followed, count in full. */
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
 * Walk back from the last event (Boehme, Wolf and others 2012): along a location until a call that
 * waited. What happened during the wait is not on the path. The path continues at the partner, from
 * the call that ended the wait. Each segment ends where the one found before it begins, so that all
 * of them add up to the total time.
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
    /*
     * Each step passes a call, so more steps than calls mean a circle of waits in a broken trace.
     */
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
 * Repeat the walk under one history. Shares are relative to its own length, because its errors move
 * the ends of all segments.
 */
static int walk_lane(struct walk *w, uint64_t locations, double *lanes, struct ictus_why *why)
{
    double length = 0;
    memset(w->spent, 0, locations * sizeof *w->spent);
    const int err = walk_back(w, why);
    for (uint64_t l = 0; l < locations; l++) {
        /* A history that moves both ends of a segment may place its end before its beginning. */
        w->spent[l] = w->spent[l] > 0 ? w->spent[l] : 0;
        length += (double)w->spent[l];
    }
    for (uint64_t l = 0; l < locations; l++) {
        lanes[l * LANES] = length > 0 ? (double)w->spent[l] / length : 0;
    }
    return err;
}

/* Repeat the walk under every history to find the share of each location. */
static int walk_lanes(struct critical *c, const struct times *times, struct ictus_why *why)
{
    const uint64_t n = times->analysis->session.trace->layout.location_count;
    int64_t *spent = calloc(n + 1, sizeof *spent);
    double *lanes = calloc((n + 1) * LANES, sizeof *lanes); /* of a location after another */
    int err = spent && lanes ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (int lane = 0; lane < LANES && !err; lane++) {
        struct walk w = {times, c, lane, spent, 0};
        err = walk_lane(&w, n, lanes + lane, why);
    }
    for (uint64_t l = 0; l < n && !err; l++) {
        double *shares = lanes + l * LANES;
        qsort(shares, LANES, sizeof *shares, critical_by_share);
        /*
         * Drop one value at either end: (80 + 1 - 4) / (80 + 1) = 95 % of shares are expected
         * between the 2nd and the 79th.
         */
        c->low[l] = shares[1];
        c->high[l] = shares[LANES - 2];
    }
    free(spent);
    free(lanes);
    return err;
}

/* Intervals where no history says another thing, or where they are unknown. */
static void critical_tell_intervals(struct critical *c, const struct analysis *a, bool unknown)
{
    for (uint64_t l = 0; l < a->session.trace->layout.location_count && c->length > 0; l++) {
        const double share = (double)c->by_location[l] / (double)c->length;
        c->low[l] = c->high[l] = unknown ? NAN : share;
    }
}

/*
 * On one clock every history walks the same path. If the errors are unknown there are no histories,
 * and nothing is known of the intervals.
 */
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
    const struct histories *h = &a->histories;
    const bool exact =
        h->source == SIGMA_ONE_CLOCK || (h->source == SIGMA_ARCHIVE && h->reach == 0);
    const bool many = w.steps >= WALKED_MAX / LANES;
    const bool unknown = !exact && (h->source == SIGMA_UNKNOWN || many);
    critical_tell_intervals(c, a, unknown);
    return !err && !exact && !unknown ? walk_lanes(c, times, why) : err;
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
