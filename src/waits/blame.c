/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Backward replay. A call is passed once every wait for it has been charged. Then k, the blame that
 * later waits put on its own wait, is final. Let p wait w for q, and let a and b be the calls of
 * their last common synchronisation. For each call path c
 *
 *     d[c] = max(0, time_q[c] in (b, now) - time_p[c] in (a, E))
 *     D = sum of d[c],  O = sum of the waits of q in its interval
 *     direct[q,c] += w d[c] / (D + O);  indirect[q,c] += k d[c] / (D + O)
 *     k(v) += (w + k) w_v / (D + O) for each of these waits v
 *
 * so that direct, indirect, and what cannot be attributed (D + O = 0) add up to all waits. The
 * waits v are not visited one by one. Instead, the rate (w + k) / (D + O) is open on q from the
 * causing call back to b, and a wait takes the sum of the open rates. That sum is an integer in
 * units of 2^-32, so that opening and closing a rate leaves no rounding error.
 */
#include "waits/blame.h"

#include "causality/crew.h"

#include <stdlib.h>
#include <string.h>

/* A rate that is open on a location for calls later than `until`. */
struct open_rate {
    int64_t until; /* -1: for all calls */
    uint32_t next; /* in the list of rates that wait for the same call, or of free ones */
};

struct walker {
    uint64_t cursor; /* one past the next call to pass */
    int64_t time;    /* when that call was left */
    bool queued;
    uint32_t *heap; /* open rates, a heap with the largest `until` on top */
    uint32_t heap_count, heap_room;
};

/* What the replay knows about a call; initially zero. */
struct passing {
    uint32_t dependents; /* waits for it that have not been charged yet */
    uint32_t pending;    /* list of rates to open when it is passed */
};

struct replay {
    struct blame *blame;
    const struct analysis *analysis;
    const struct times *times;
    const struct syncs *syncs;
    struct ledger ledger;
    struct ledger_page pages[2]; /* one is filled while the other is carried out */
    int filled;                  /* which one */
    struct walker *walkers;      /* by location */
    struct store calls;          /* struct passing, by call */
    uint64_t passed;             /* calls since memory was last released */
    struct open_rate *rates;
    uint32_t rate_count, rate_room, free_rate;
    uint32_t *ready; /* heap of locations, the latest on top */
    uint32_t ready_count;
    struct time_map own, other;
    uint32_t row_count;
    int err, done_err; /* of the two halves */
};

static struct passing *replay_call(const struct replay *r, uint64_t call)
{
    return (struct passing *)r->calls.area + call;
}

/*
 * Take a rate from the free list, or append one. There are as many as are open at the same time,
 * not as many as there are waits. RATE_NONE: no memory.
 */
static uint32_t rate_new(struct replay *r)
{
    if (r->free_rate != RATE_NONE) {
        const uint32_t index = r->free_rate;
        r->free_rate = r->rates[index].next;
        return index;
    }
    if (r->rate_count >= r->rate_room) {
        const uint32_t room = r->rate_room ? 2 * r->rate_room : 256;
        struct open_rate *wide = realloc(r->rates, room * sizeof *wide);
        if (!wide) {
            return RATE_NONE;
        }
        r->rates = wide;
        r->rate_room = room;
    }
    return r->rate_count++;
}

static void rate_release(struct replay *r, uint32_t index)
{
    r->rates[index].next = r->free_rate;
    r->free_rate = index;
}

/*
 * The heap order. Calls are passed from the last to the first, so the rate that closes first, the
 * one with the largest `until`, is on top.
 */
static bool rate_before(const struct replay *r, uint32_t a, uint32_t b)
{
    return r->rates[a].until > r->rates[b].until;
}

/* Binary heap. Intervals may overlap in any way, but those that reach back least close first. */
static int heap_push(struct replay *r, struct walker *w, uint32_t index)
{
    if (w->heap_count == w->heap_room) {
        const uint32_t room = w->heap_room ? 2 * w->heap_room : 16;
        uint32_t *wide = realloc(w->heap, room * sizeof *wide);
        if (!wide) {
            return ICTUS_ERR_NOMEM;
        }
        w->heap = wide;
        w->heap_room = room;
    }
    uint32_t at = w->heap_count++;
    while (at > 0 && rate_before(r, index, w->heap[(at - 1) / 2])) {
        w->heap[at] = w->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    w->heap[at] = index;
    return ICTUS_OK;
}

static uint32_t heap_pop(struct replay *r, struct walker *w)
{
    const uint32_t top = w->heap[0];
    const uint32_t last = w->heap[--w->heap_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < w->heap_count; child = 2 * at + 1) {
        if (child + 1 < w->heap_count && rate_before(r, w->heap[child + 1], w->heap[child])) {
            child++;
        }
        if (!rate_before(r, w->heap[child], last)) {
            break;
        }
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
    return top;
}

static int replay_note(struct replay *r, enum ledger_act act, uint32_t location, uint32_t rate)
{
    struct ledger_entry *entry = ictusi_ledger_add(&r->pages[r->filled]);
    if (entry) {
        *entry = (struct ledger_entry){.act = (uint8_t)act, .location = location, .rate = rate};
    }
    return entry ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * Open the rates of a call, once all waits for it have been charged. They do not apply to the
 * call's own wait, which came after the call was entered, and the others waited for that enter.
 */
static int walker_open(struct replay *r, uint32_t location, uint64_t call)
{
    int err = ICTUS_OK;
    struct passing *passing = replay_call(r, call);
    for (uint32_t i = passing->pending, next; i != RATE_NONE && !err; i = next) {
        next = r->rates[i].next;
        err = replay_note(r, LEDGER_OPEN, location, i);
        err = err ? err : heap_push(r, &r->walkers[location], i);
    }
    passing->pending = RATE_NONE;
    return err;
}

/*
 * Close the rates whose interval begins at or after this call. For most calls there are none, and
 * only the top of the heap is examined.
 */
static int walker_close(struct replay *r, uint32_t location, uint64_t call)
{
    struct walker *w = &r->walkers[location];
    int err = ICTUS_OK;
    while (w->heap_count && r->rates[w->heap[0]].until >= (int64_t)call && !err) {
        const uint32_t index = heap_pop(r, w);
        err = replay_note(r, LEDGER_CLOSE, location, index);
        rate_release(r, index);
    }
    return err;
}

/* Attribute a part of the next charge to the row of a location and call path. */
static int blame_add_part(struct replay *r, uint32_t location, uint32_t path, double delay)
{
    int64_t *row = ictusi_idmap_at(&r->blame->index, location, path, (int64_t)r->row_count);
    struct ledger_part *part = row ? ictusi_ledger_add_part(&r->pages[r->filled]) : NULL;
    if (!part) {
        return ICTUS_ERR_NOMEM;
    }
    *part = (struct ledger_part){(uint32_t)*row, location, path, delay};
    r->row_count += *row == (int64_t)r->row_count;
    return ICTUS_OK;
}

/*
 * Add the delays of q relative to p by call path, in the order of r->other's list. What q did while
 * recording was off is unknown and counts as nobody's delay.
 */
static int blame_add_delays(struct replay *r, uint32_t location, const struct partner *p,
                            const struct sync_point *sync, struct ledger_entry *charge)
{
    int err = ICTUS_OK;
    ictusi_time_map_clear(&r->own);
    ictusi_time_map_clear(&r->other);
    ictusi_times_between(r->times, &r->own, location, sync->own, charge->call);
    ictusi_times_between(r->times, &r->other, p->location, sync->other, p->call);
    for (uint32_t i = 0; i < r->other.count && !err; i++) {
        const uint32_t path = r->other.listed[i];
        const int64_t more = r->other.ticks[path] - r->own.ticks[path];
        if (more > 0 && path != PATH_MUTED) {
            err = blame_add_part(r, p->location, path, (double)more);
            charge->delay += (double)more;
            charge->parts++;
        }
    }
    charge->waits = (double)r->other.waited;
    return err;
}

/*
 * Open a rate on the causer's own waits. The rate stays with the causing call until that is passed.
 */
static int blame_add_rate(struct replay *r, struct ledger_entry *charge, uint32_t cause,
                          uint32_t until)
{
    charge->rate = rate_new(r);
    if (charge->rate == RATE_NONE) {
        return ICTUS_ERR_NOMEM;
    }
    struct open_rate *rate = &r->rates[charge->rate];
    rate->until = until == CALL_NONE ? -1 : (int64_t)until;
    struct passing *passing = replay_call(r, cause);
    rate->next = passing->pending;
    passing->pending = charge->rate;
    return ICTUS_OK;
}

static void blame_ready_push(struct replay *r, uint32_t location);

/*
 * Divide one wait among what its causer did since the two last synchronised, then release the
 * causer: the last charged wait for a call makes its location ready again, if that has reached the
 * call.
 */
static int blame_charge_call(struct replay *r, uint32_t location, uint32_t call)
{
    const struct partner *p = partner_at(&r->analysis->partners, call);
    const struct sync_point sync = ictusi_syncs_before(r->syncs, call);
    struct ledger_entry charge = {.act = LEDGER_CHARGE, .location = location, .call = call};
    int err = blame_add_delays(r, location, p, &sync, &charge);
    if (!err && charge.waits > 0) {
        err = blame_add_rate(r, &charge, p->call, sync.other);
    }
    struct ledger_entry *entry = err ? NULL : ictusi_ledger_add(&r->pages[r->filled]);
    if (!entry) {
        return ICTUS_ERR_NOMEM;
    }
    *entry = charge;
    uint32_t *dependents = &replay_call(r, p->call)->dependents;
    if (*dependents > 0 && --*dependents == 0 && r->walkers[p->location].cursor == p->call + 1ULL) {
        blame_ready_push(r, p->location);
    }
    return ICTUS_OK;
}

/* Move the cursor of a location to one past its next call to pass. */
static void walker_place(struct replay *r, uint32_t location, uint64_t cursor)
{
    struct walker *w = &r->walkers[location];
    w->cursor = cursor;
    w->time = cursor > r->analysis->calls.first[location]
                  ? call_at(&r->analysis->calls, cursor - 1)->leave
                  : INT64_MIN;
}

static void blame_ready_push(struct replay *r, uint32_t location)
{
    struct walker *w = &r->walkers[location];
    if (w->queued || w->cursor == r->analysis->calls.first[location]) {
        return;
    }
    w->queued = true;
    uint32_t at = r->ready_count++;
    while (at > 0 && w->time > r->walkers[r->ready[(at - 1) / 2]].time) {
        r->ready[at] = r->ready[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    r->ready[at] = location;
}

/*
 * The latest call comes first: the replay goes from the end of the trace to its beginning. Any
 * order in which waiters precede their causers finds the same rates. With this one, all locations
 * go back through time together, so that only part of the trace has to be in memory.
 */
static uint32_t blame_ready_pop(struct replay *r)
{
    const uint32_t top = r->ready[0];
    const uint32_t last = r->ready[--r->ready_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < r->ready_count; child = 2 * at + 1) {
        if (child + 1 < r->ready_count &&
            r->walkers[r->ready[child + 1]].time > r->walkers[r->ready[child]].time) {
            child++;
        }
        if (r->walkers[r->ready[child]].time <= r->walkers[last].time) {
            break;
        }
        r->ready[at] = r->ready[child];
        at = child;
    }
    r->ready[at] = last;
    r->walkers[top].queued = false;
    return top;
}

/*
 * Release memory from time to time. Passed calls are not needed again, and the earlier ones are
 * elsewhere in memory.
 */
static void replay_rest(struct replay *r)
{
    const uint64_t before = r->passed;
    analysis_pass(r->analysis, &r->passed, 1);
    if (r->passed < before) {
        ictusi_store_relax(&r->calls);
        ictusi_syncs_relax(r->syncs);
        ictusi_times_relax(r->times);
    }
}

/*
 * Pass the call before the cursor, unless a wait for it has not been charged yet. The order
 * matters. Rates whose interval begins at this call close before its wait is charged, and rates
 * whose interval ends at it open afterwards, because neither interval includes the call's own wait.
 */
static int blame_walk(struct replay *r, uint32_t location)
{
    struct walker *w = &r->walkers[location];
    const uint64_t call = w->cursor - 1;
    if (replay_call(r, call)->dependents > 0) {
        return ICTUS_OK; /* the last of them pushes it again */
    }
    replay_rest(r);
    int err = walker_close(r, location, call);
    if (!err && analysis_wait(r->analysis, call) > 0) {
        err = blame_charge_call(r, location, (uint32_t)call);
    }
    err = err ? err : walker_open(r, location, call);
    walker_place(r, location, call);
    blame_ready_push(r, location);
    return err;
}

/*
 * No location can advance: in a broken trace, waits form a circle. The latest call is passed
 * anyway. Waits that are charged to that call later open no rate, because it has been passed.
 */
static bool blame_break_circle(struct replay *r)
{
    const uint64_t locations = r->analysis->session.trace->layout.location_count;
    uint32_t latest = UINT32_MAX;
    for (uint32_t l = 0; l < locations; l++) {
        if (r->walkers[l].cursor > r->analysis->calls.first[l] &&
            (latest == UINT32_MAX || r->walkers[l].time > r->walkers[latest].time)) {
            latest = l;
        }
    }
    if (latest == UINT32_MAX) {
        return false;
    }
    uint32_t *dependents = &replay_call(r, r->walkers[latest].cursor - 1)->dependents;
    r->blame->cyclic += *dependents;
    *dependents = 0;
    blame_ready_push(r, latest);
    return true;
}

/* Count the waits for each call, and place each location at its last call. */
static int replay_prepare(struct replay *r, struct ictus_why *why)
{
    const struct analysis *a = r->analysis;
    const uint64_t locations = a->session.trace->layout.location_count;
    const uint64_t calls = a->calls.calls.count;
    r->walkers = calloc(locations + 1, sizeof *r->walkers);
    r->ready = calloc(locations + 1, sizeof *r->ready);
    int err = r->walkers && r->ready ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err : ictusi_ledger_init(&r->ledger, a);
    err = err ? err
              : ictusi_store_init(&r->calls, sizeof(struct passing), calls,
                                  CALLS_IN_MEMORY * sizeof(struct passing), why);
    err = err ? err : ictusi_store_grow(&r->calls, calls, why);
    for (uint64_t i = 0; i < calls && !err; i++) {
        if (analysis_wait(a, i) > 0) {
            replay_call(r, partner_at(&a->partners, i)->call)->dependents++;
        }
        replay_rest(r);
    }
    for (uint32_t l = 0; l < locations && !err; l++) {
        walker_place(r, l, a->calls.first[l + 1]);
    }
    err = err ? err : ictusi_time_map_init(&r->own, a->paths.count);
    return err ? err : ictusi_time_map_init(&r->other, a->paths.count);
}

static void replay_free(struct replay *r)
{
    const uint64_t locations = r->analysis->session.trace->layout.location_count;
    for (uint64_t l = 0; r->walkers && l < locations; l++) {
        free(r->walkers[l].heap);
    }
    free(r->walkers);
    free(r->ready);
    ictusi_store_fini(&r->calls);
    free(r->rates);
    ictusi_ledger_free(&r->ledger);
    ictusi_ledger_page_free(&r->pages[0]);
    ictusi_ledger_page_free(&r->pages[1]);
    ictusi_time_map_fini(&r->own);
    ictusi_time_map_fini(&r->other);
}

/*
 * Fill a page. One thread alone carries a page out while its calls are still in the cache. Two
 * threads are started for each page, which must be worth it.
 */
static void blame_fill(struct replay *r)
{
    enum { SHORT = 1 << 10, LONG = 1 << 13 };
    const struct ledger_page *page = &r->pages[r->filled];
    const uint64_t most = r->analysis->session.threads > 1 ? LONG : SHORT;
    while (!r->err && page->count < most && (r->ready_count || blame_break_circle(r))) {
        if (r->ready_count) {
            r->err = blame_walk(r, blame_ready_pop(r));
        }
    }
}

/* One job fills a page, the other carries out the preceding one. */
static void blame_turn(void *self, uint32_t number)
{
    struct replay *r = self;
    if (number == 0) {
        blame_fill(r);
    } else {
        r->done_err = ictusi_ledger_do(&r->ledger, &r->pages[!r->filled]);
    }
}

/* Keep the results of the replay, which the caller frees. */
static void replay_keep(const struct replay *r)
{
    struct blame *blame = r->blame;
    blame->list = r->ledger.rows;
    blame->count = r->ledger.row_count;
    blame->total = r->ledger.total;
    blame->unattributed = r->ledger.unattributed;
    memcpy(blame->total_lanes, r->ledger.total_lanes, sizeof blame->total_lanes);
}

int ictusi_blame_find(struct blame *blame, const struct times *times, const struct syncs *syncs,
                      struct ictus_why *why)
{
    struct replay r = {.blame = blame,
                       .analysis = times->analysis,
                       .times = times,
                       .syncs = syncs,
                       .rate_count = 1,
                       .free_rate = RATE_NONE};
    const uint64_t locations = r.analysis->session.trace->layout.location_count;
    r.err = replay_prepare(&r, why);
    for (uint32_t l = 0; l < locations && !r.err; l++) {
        blame_ready_push(&r, l);
    }
    bool any = true;
    while (any && !r.err && !r.done_err) {
        ictusi_crew_run(r.analysis->session.threads, 2, blame_turn, &r);
        any = r.pages[r.filled].count > 0;
        r.filled = !r.filled;
    }
    replay_keep(&r);
    replay_free(&r);
    return r.err ? r.err : r.done_err;
}

void ictusi_blame_free(struct blame *blame)
{
    free(blame->list);
    ictusi_idmap_fini(&blame->index);
    *blame = (struct blame){.list = NULL};
}
