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

#include "core/array.h"

#include <stdlib.h>
#include <string.h>

/*
 * Slot 0 is the estimate; the others are one lane per history. With a single clock there is only
 * the estimate.
 */
enum { ESTIMATE, FIRST_LANE, SLOTS = FIRST_LANE + LANES };

/* A rate that is open on a location for calls later than `until`. */
struct open_rate {
    int64_t until;       /* -1: for all calls */
    uint32_t next;       /* in the list of rates that wait for the same call, or of free ones */
    int64_t rate[SLOTS]; /* in units of 2^-32 */
};

/* Index 0 means no rate. */
enum { RATE_NONE = 0 };

struct walker {
    uint64_t cursor; /* one past the next call to pass */
    int64_t time;    /* when that call was left */
    bool queued;
    int64_t open[SLOTS];
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
    int slots;              /* in use */
    struct walker *walkers; /* by location */
    struct store calls;     /* struct passing, by call */
    uint64_t passed;        /* calls since memory was last released */
    struct open_rate *rates;
    uint32_t rate_count, rate_room, free_rate;
    uint32_t *ready; /* heap of locations, the latest on top */
    uint32_t ready_count;
    struct time_map own, other;
    double *charge; /* scratch */
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

/*
 * Open the rates of a call, once all waits for it have been charged. They do not apply to the
 * call's own wait, which came after the call was entered, and the others waited for that enter.
 */
static int walker_open(struct replay *r, struct walker *w, uint64_t call)
{
    int err = ICTUS_OK;
    struct passing *passing = replay_call(r, call);
    for (uint32_t i = passing->pending, next; i != RATE_NONE && !err; i = next) {
        next = r->rates[i].next;
        for (int k = 0; k < r->slots; k++) {
            w->open[k] += r->rates[i].rate[k];
        }
        err = heap_push(r, w, i);
    }
    passing->pending = RATE_NONE;
    return err;
}

/*
 * Close the rates whose interval begins at or after this call. For most calls there are none, and
 * only the top of the heap is examined.
 */
static void walker_close(struct replay *r, struct walker *w, uint64_t call)
{
    while (w->heap_count && r->rates[w->heap[0]].until >= (int64_t)call) {
        const uint32_t index = heap_pop(r, w);
        for (int k = 0; k < r->slots; k++) {
            w->open[k] -= r->rates[index].rate[k];
        }
        rate_release(r, index);
    }
}

/*
 * The row of a location and call path, which is made when it is first blamed; NULL: no memory. Rows
 * move when the list grows, so the pointer must not be kept.
 */
static struct blame_row *blame_at(struct blame *d, uint32_t location, uint32_t path)
{
    int64_t *slot = ictusi_idmap_at(&d->index, location, path, (int64_t)d->count);
    if (!slot) {
        return NULL;
    }
    if (*slot == (int64_t)d->count) {
        struct blame_row *row = array_append((void **)&d->list, &d->count, sizeof *row);
        if (!row) {
            return NULL;
        }
        row->location = location;
        row->path = path;
    }
    return &d->list[*slot];
}

/* One wait being charged. */
struct charge {
    uint32_t call, cause, location, other;
    double direct, later; /* w and k as recorded */
    double all[SLOTS];    /* w + k */
    double delay, waits;  /* D and O */
};

/*
 * The delays of q relative to p by call path, written to r->charge in the order of r->other's list.
 * What q did while recording was off is unknown and counts as nobody's delay.
 */
static void blame_charge_delays(struct replay *r, struct charge *c, const struct sync_point *sync)
{
    ictusi_time_map_clear(&r->own);
    ictusi_time_map_clear(&r->other);
    ictusi_times_between(r->times, &r->own, c->location, sync->own, c->call);
    ictusi_times_between(r->times, &r->other, c->other, sync->other, c->cause);
    for (uint32_t i = 0; i < r->other.count; i++) {
        const uint32_t path = r->other.listed[i];
        const int64_t more = r->other.ticks[path] - r->own.ticks[path];
        r->charge[i] = more > 0 && path != PATH_MUTED ? (double)more : 0;
        c->delay += r->charge[i];
    }
    c->waits = (double)r->other.waited;
}

/*
 * Direct blame is what the delay of q cost p. Indirect blame is what it cost those that in turn
 * waited for p.
 */
static int blame_charge_rows(struct replay *r, const struct charge *c)
{
    const double sum = c->delay + c->waits;
    for (uint32_t i = 0; i < r->other.count; i++) {
        if (r->charge[i] <= 0) {
            continue;
        }
        struct blame_row *row = blame_at(r->blame, c->other, r->other.listed[i]);
        if (!row) {
            return ICTUS_ERR_NOMEM;
        }
        const double part = r->charge[i] / sum;
        row->direct += c->direct * part;
        row->indirect += c->later * part;
        for (int k = FIRST_LANE; k < r->slots; k++) {
            row->lanes[k - FIRST_LANE] += c->all[k] * part;
        }
    }
    return ICTUS_OK;
}

/*
 * Open a rate on the causer's own waits. The rate stays with the causing call until that is passed.
 * Rates are limited to 2^26, so that sums of many fit into 64 bits.
 */
static int waits_charge(struct replay *r, const struct charge *c, uint32_t until)
{
    const double sum = c->delay + c->waits;
    const uint32_t index = c->waits > 0 ? rate_new(r) : RATE_NONE;
    if (index == RATE_NONE) {
        return c->waits > 0 ? ICTUS_ERR_NOMEM : ICTUS_OK;
    }
    struct open_rate *rate = &r->rates[index];
    double scaled[SLOTS];
    rate->until = until == CALL_NONE ? -1 : (int64_t)until;
    for (int k = 0; k < r->slots; k++) {
        const double x = c->all[k] / sum * 0x1p32;
        scaled[k] = x < 0x1p58 ? x : 0x1p58;
    }
    for (int k = 0; k < r->slots; k++) {
        rate->rate[k] = (int64_t)scaled[k];
    }
    struct passing *cause = replay_call(r, c->cause);
    rate->next = cause->pending;
    cause->pending = index;
    return ICTUS_OK;
}

/*
 * The wait under each history, for the cause found by the estimate, and the sum of the open rates.
 * Rates are in units of 2^-32 up to here.
 */
static void blame_charge_lanes(const struct replay *r, struct charge *c, const struct walker *w)
{
    const double wait = (double)analysis_wait(r->analysis, c->call);
    double *const lanes = c->all + FIRST_LANE;
    c->all[ESTIMATE] = c->direct = wait;
    if (r->slots > FIRST_LANE) {
        const bool spread = ictusi_wait_lanes(r->analysis, c->call, lanes);
        for (int k = 0; k < LANES; k++) {
            lanes[k] = spread ? lanes[k] + wait : wait;
            r->blame->total_lanes[k] += lanes[k];
        }
    }
    c->later = wait * (double)w->open[ESTIMATE] * 0x1p-32;
    for (int k = 0; k < r->slots && w->heap_count > 0; k++) {
        c->all[k] += wait * (double)w->open[k] * 0x1p-32;
    }
}

static void blame_ready_push(struct replay *r, uint32_t location);

/*
 * Divide one wait among what its causer did since the two last synchronised, then release the
 * causer: the last charged wait for a call makes its location ready again, if that has reached the
 * call.
 */
static int blame_charge_call(struct replay *r, uint32_t location, uint32_t call)
{
    const struct analysis *a = r->analysis;
    const struct partner *p = partner_at(&a->partners, call);
    struct charge c; /* not all members are used */
    c.call = call;
    c.cause = p->call;
    c.location = location;
    c.other = p->location;
    c.delay = 0;
    blame_charge_lanes(r, &c, &r->walkers[location]);
    r->blame->total += c.direct;
    const struct sync_point sync = ictusi_syncs_before(r->syncs, call);
    blame_charge_delays(r, &c, &sync);
    int err = ICTUS_OK;
    if (c.delay + c.waits > 0) {
        err = blame_charge_rows(r, &c);
        err = err ? err : waits_charge(r, &c, sync.other);
    } else {
        r->blame->unattributed += c.all[ESTIMATE];
    }
    uint32_t *dependents = &replay_call(r, c.cause)->dependents;
    if (*dependents > 0 && --*dependents == 0 && r->walkers[c.other].cursor == c.cause + 1ULL) {
        blame_ready_push(r, c.other);
    }
    return err;
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
    walker_close(r, w, call);
    int err = ICTUS_OK;
    if (analysis_wait(r->analysis, call) > 0) {
        err = blame_charge_call(r, location, (uint32_t)call);
    }
    err = err ? err : walker_open(r, w, call);
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
    r->charge = calloc(a->paths.count + 1, sizeof *r->charge);
    if (!r->walkers || !r->ready || !r->charge) {
        return ICTUS_ERR_NOMEM;
    }
    int err = ictusi_store_init(&r->calls, sizeof(struct passing), calls,
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
    free(r->charge);
    free(r->rates);
    ictusi_time_map_fini(&r->own);
    ictusi_time_map_fini(&r->other);
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
    const enum sigma_source source = r.analysis->histories.source;
    r.slots = source == SIGMA_ARCHIVE || source == SIGMA_MESSAGES ? SLOTS : FIRST_LANE;
    const uint64_t locations = r.analysis->session.trace->layout.location_count;
    int err = replay_prepare(&r, why);
    for (uint32_t l = 0; l < locations && !err; l++) {
        blame_ready_push(&r, l);
    }
    do {
        while (r.ready_count && !err) {
            err = blame_walk(&r, blame_ready_pop(&r));
        }
    } while (!err && blame_break_circle(&r));
    replay_free(&r);
    return err;
}

void ictusi_blame_free(struct blame *blame)
{
    free(blame->list);
    ictusi_idmap_fini(&blame->index);
    *blame = (struct blame){.list = NULL};
}
