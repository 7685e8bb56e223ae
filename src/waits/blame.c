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
#include "core/array.h"
#include "waits/charges.h"

#include <math.h>
#include <stdlib.h>

/* A rate that is open on a location for calls later than `until`. */
struct open_rate {
    int64_t until; /* -1: for all calls */
    uint32_t next; /* in the list of rates that wait for the same call, or of free ones */
};

/* The rates that are open on a location: a heap with the largest `until` on top. */
struct rate_heap {
    uint32_t *list;
    uint32_t count;
    uint64_t room;
};

/* At most so many threads find charges, or keep ledgers. Two more jobs are each for one thread. */
enum { DESKS = 4, CLERKS = 4, JOBS = 2 + DESKS + CLERKS };

/*
 * What the replay makes of a number of calls in four stages: they are passed (replay_order.c),
 * their charges are found (charges.c), and made entries of the ledger, which are carried out
 * (ledger.c).
 */
struct replay_page {
    _Alignas(CACHE_LINE) uint64_t count;
    struct replay_step *steps;
    struct charge *charges;          /* by step */
    struct charge_desk desks[DESKS]; /* each finds the charges of an equal part of the steps */
    struct ledger_page ledger;
};

enum replay_stage { STAGE_PASS, STAGE_CHARGE, STAGE_ENTER, STAGE_CARRY_OUT, STAGES };

/* What different threads change lies apart in memory: see struct ledger. */
struct replay {
    struct blame *blame;
    const struct analysis *analysis;
    const struct times *times;
    const struct syncs *syncs;
    uint32_t turn, desks, clerks;
    bool apart; /* the stages work on different pages at the same time */
    struct replay_page pages[STAGES];
    struct ledger ledgers[CLERKS];
    int err[JOBS];
    struct replay_order order;
    _Alignas(CACHE_LINE) uint64_t entered; /* steps since memory was last released */
    struct rate_heap *heaps;               /* by location */
    struct store pending; /* uint32_t, by call: list of rates to open when it is passed */
    struct open_rate *rates;
    uint32_t rate_count, free_rate;
    uint64_t rate_room;
    struct ledger_key *keys; /* of rows */
    uint64_t key_count;
};

/* Fewer steps make a page if one thread does all with it while its calls are in the cache. */
enum { PAGE_SHORT = 1 << 10, PAGE_LONG = 1 << 12 };

enum { ENTERED_HELD = 1 << 17 };

static uint64_t page_most(const struct replay *r)
{
    return r->apart ? PAGE_LONG : PAGE_SHORT;
}

static uint32_t *replay_pending(const struct replay *r, uint64_t call)
{
    return (uint32_t *)r->pending.area + call;
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
    const bool room =
        array_widen((void **)&r->rates, r->rate_count + 1ULL, &r->rate_room, sizeof *r->rates);
    return room ? r->rate_count++ : RATE_NONE;
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
static int heap_push(struct replay *r, struct rate_heap *heap, uint32_t index)
{
    if (!array_widen((void **)&heap->list, heap->count + 1ULL, &heap->room, sizeof *heap->list)) {
        return ICTUS_ERR_NOMEM;
    }
    uint32_t at = heap->count++;
    while (at > 0 && rate_before(r, index, heap->list[(at - 1) / 2])) {
        heap->list[at] = heap->list[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->list[at] = index;
    return ICTUS_OK;
}

static uint32_t heap_pop(struct replay *r, struct rate_heap *heap)
{
    const uint32_t top = heap->list[0];
    const uint32_t last = heap->list[--heap->count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && rate_before(r, heap->list[child + 1], heap->list[child])) {
            child++;
        }
        if (!rate_before(r, heap->list[child], last)) {
            break;
        }
        heap->list[at] = heap->list[child];
        at = child;
    }
    heap->list[at] = last;
    return top;
}

static int ledger_note(struct ledger_page *ledger, enum ledger_act act, uint32_t location,
                       uint32_t rate)
{
    struct ledger_entry *entry = ictusi_ledger_add(ledger);
    if (entry) {
        *entry = (struct ledger_entry){.act = (uint8_t)act, .location = location, .rate = rate};
    }
    return entry ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * Open the rates of a call, once all waits for it have been charged. They do not apply to the
 * call's own wait, which came after the call was entered, and the others waited for that enter.
 */
static int rates_open(struct replay *r, struct ledger_page *ledger, const struct replay_step *step)
{
    int err = ICTUS_OK;
    uint32_t *pending = replay_pending(r, step->call);
    for (uint32_t i = *pending, next; i != RATE_NONE && !err; i = next) {
        next = r->rates[i].next;
        err = ledger_note(ledger, LEDGER_OPEN, step->location, i);
        err = err ? err : heap_push(r, &r->heaps[step->location], i);
    }
    *pending = RATE_NONE;
    return err;
}

/*
 * Close the rates whose interval begins at or after this call. For most calls there are none, and
 * only the top of the heap is examined.
 */
static int rates_close(struct replay *r, struct ledger_page *ledger, const struct replay_step *step)
{
    struct rate_heap *heap = &r->heaps[step->location];
    int err = ICTUS_OK;
    while (heap->count && r->rates[heap->list[0]].until >= (int64_t)step->call && !err) {
        const uint32_t index = heap_pop(r, heap);
        err = ledger_note(ledger, LEDGER_CLOSE, step->location, index);
        rate_release(r, index);
    }
    return err;
}

/* The row of a location and call path; rows are numbered in the order of their first charge. */
static int blame_key_find(struct replay *r, const struct charge_part *part, uint32_t *row)
{
    int64_t *known =
        ictusi_idmap_at(&r->blame->index, part->location, part->path, (int64_t)r->key_count);
    if (known && *known == (int64_t)r->key_count) {
        struct ledger_key *key = array_append((void **)&r->keys, &r->key_count, sizeof *key);
        if (!key) {
            return ICTUS_ERR_NOMEM;
        }
        *key = (struct ledger_key){part->location, part->path};
    }
    *row = known ? (uint32_t)*known : 0;
    return known ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * Open a rate on the causer's own waits. The rate stays with the causing call until that is passed.
 * If that has been, because waits form a circle, it opens no more.
 */
static int blame_add_rate(struct replay *r, const struct charge *charge, uint32_t cause,
                          uint32_t *index)
{
    *index = rate_new(r);
    if (*index == RATE_NONE) {
        return ICTUS_ERR_NOMEM;
    }
    struct open_rate *rate = &r->rates[*index];
    uint32_t *pending = replay_pending(r, cause);
    rate->until = charge->until == CALL_NONE ? -1 : (int64_t)charge->until;
    rate->next = *pending;
    *pending = *index;
    return ICTUS_OK;
}

/* Enter the charge of one wait into the ledger. */
static int blame_enter(struct replay *r, struct ledger_page *ledger, const struct replay_step *step,
                       const struct charge *charge, const struct charge_part *parts)
{
    uint32_t rate = RATE_NONE;
    int err = ICTUS_OK;
    for (uint32_t i = 0; i < charge->parts && !err; i++) {
        struct ledger_part *part = ictusi_ledger_add_part(ledger);
        err = part ? blame_key_find(r, &parts[i], &part->row) : ICTUS_ERR_NOMEM;
        if (!err) {
            part->delay = parts[i].delay;
        }
    }
    if (!err && charge->waits > 0) {
        const uint32_t cause = partner_at(&r->analysis->partners, step->call)->call;
        err = blame_add_rate(r, charge, cause, &rate);
    }
    struct ledger_entry *entry = err ? NULL : ictusi_ledger_add(ledger);
    if (!entry) {
        return ICTUS_ERR_NOMEM;
    }
    *entry = (struct ledger_entry){.act = LEDGER_CHARGE,
                                   .rated = r->heaps[step->location].count > 0,
                                   .location = step->location,
                                   .rate = rate,
                                   .call = step->call,
                                   .parts = charge->parts,
                                   .delay = charge->delay,
                                   .waits = charge->waits};
    return ICTUS_OK;
}

/* The steps whose charges a desk finds. */
static uint64_t page_part(const struct replay *r, const struct replay_page *page, uint32_t desk)
{
    return page->count * desk / r->desks;
}

/*
 * Make entries of the charges. The order matters. Rates whose interval begins at a call close
 * before its wait is charged, and rates whose interval ends at it open afterwards, because neither
 * interval includes the call's own wait.
 */
static int replay_enter(struct replay *r, struct replay_page *page)
{
    int err = ICTUS_OK;
    ictusi_ledger_page_clear(&page->ledger);
    for (uint32_t d = 0; d < r->desks; d++) {
        const struct charge_part *parts = page->desks[d].parts;
        const uint64_t to = page_part(r, page, d + 1);
        for (uint64_t i = page_part(r, page, d); i < to && !err; i++) {
            const struct replay_step *step = &page->steps[i];
            err = rates_close(r, &page->ledger, step);
            if (!err && analysis_waits(r->analysis, step->call)) {
                err = blame_enter(r, &page->ledger, step, &page->charges[i], parts);
                if (page->charges[i].parts) { /* a desk without any has no list */
                    parts += page->charges[i].parts;
                }
            }
            err = err ? err : rates_open(r, &page->ledger, step);
        }
    }
    r->entered += page->count;
    if (r->entered > ENTERED_HELD) {
        r->entered = 0;
        ictusi_store_relax(&r->pending);
        ictusi_syncs_relax(r->syncs);
        ictusi_times_relax(r->times);
    }
    return err;
}

/* Let the ledger know all rates and rows that have been mentioned. */
static int replay_make(struct replay *r)
{
    int err = ICTUS_OK;
    for (uint32_t i = 0; i < r->clerks && !err; i++) {
        err = ictusi_ledger_make(&r->ledgers[i], r->rate_count, r->key_count);
    }
    return err;
}

static struct replay_page *replay_page_at(struct replay *r, enum replay_stage stage)
{
    return &r->pages[r->apart ? (r->turn + STAGES - stage) % STAGES : 0];
}

static int replay_charge(struct replay *r, uint32_t desk)
{
    struct replay_page *page = replay_page_at(r, STAGE_CHARGE);
    const uint64_t from = page_part(r, page, desk);
    return ictusi_charges_find(&page->desks[desk], page->steps + from, page->charges + from,
                               page_part(r, page, desk + 1) - from);
}

/* One of the jobs of a turn, in the order of the stages. */
static void replay_job(void *self, uint32_t number)
{
    struct replay *r = self;
    int *err = &r->err[number];
    if (number == 0) {
        struct replay_page *page = replay_page_at(r, STAGE_PASS);
        page->count = ictusi_replay_order_pass(&r->order, page->steps, page_most(r));
    } else if (number <= r->desks) {
        *err = replay_charge(r, number - 1);
    } else if (number == r->desks + 1) {
        *err = replay_enter(r, replay_page_at(r, STAGE_ENTER));
        *err = *err || r->apart ? *err : replay_make(r);
    } else if (r->apart || !r->err[r->desks + 1]) { /* the page that was entered in this turn */
        const struct replay_page *page = replay_page_at(r, STAGE_CARRY_OUT);
        ictusi_ledger_do(&r->ledgers[number - r->desks - 2], &page->ledger);
    }
}

/*
 * Do one job after the other with one page until all calls are passed, or all jobs at the same
 * time, each with another page. Threads are started for each turn, so that pages must be worth it.
 */
static int replay_run(struct replay *r)
{
    const uint32_t jobs = 2 + r->desks + r->clerks;
    bool any = true;
    int err = ICTUS_OK;
    for (; any && !err; r->turn++) {
        ictusi_crew_run(r->analysis->session.threads, jobs, replay_job, r);
        for (uint32_t i = 0; i < jobs && !err; i++) {
            err = r->err[i];
        }
        err = err ? err : replay_make(r);
        any = false;
        for (int i = 0; i < STAGES; i++) {
            any = any || r->pages[i].count > 0;
        }
    }
    return err;
}

static int page_init(struct replay *r, struct replay_page *page)
{
    page->steps = calloc(page_most(r), sizeof *page->steps);
    page->charges = calloc(page_most(r), sizeof *page->charges);
    int err = page->steps && page->charges ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint32_t d = 0; d < r->desks && !err; d++) {
        err = ictusi_charge_desk_init(&page->desks[d], r->times, r->syncs);
    }
    return err;
}

static void page_free(struct replay_page *page)
{
    for (int d = 0; d < DESKS; d++) {
        ictusi_charge_desk_free(&page->desks[d]);
    }
    free(page->steps);
    free(page->charges);
    ictusi_ledger_page_free(&page->ledger);
}

static int replay_init(struct replay *r, struct ictus_why *why)
{
    const struct analysis *a = r->analysis;
    const uint32_t threads = a->session.threads > 1 ? (uint32_t)a->session.threads : 1;
    const uint64_t calls = a->calls.calls.count;
    r->apart = threads > 1;
    r->desks = threads < DESKS ? threads : DESKS;
    r->clerks = threads < CLERKS ? threads : CLERKS;
    r->heaps = calloc(a->session.trace->layout.location_count + 1, sizeof *r->heaps);
    int err = r->heaps ? ictusi_replay_order_init(&r->order, a, why) : ICTUS_ERR_NOMEM;
    for (uint32_t i = 0; i < r->clerks && !err; i++) { /* equal parts of the histories */
        const struct history_range range = {(int)(HISTORIES * i / r->clerks),
                                            (int)(HISTORIES * (i + 1) / r->clerks)};
        err = ictusi_ledger_init(&r->ledgers[i], a, range);
    }
    err = err ? err
              : ictusi_store_init(&r->pending, sizeof(uint32_t), calls,
                                  CALLS_IN_MEMORY * sizeof(uint32_t), why);
    err = err ? err : ictusi_store_grow(&r->pending, calls, why);
    ictusi_store_populate(&r->pending, 0, err ? 0 : calls);
    for (int i = 0; i < (r->apart ? STAGES : 1) && !err; i++) {
        err = page_init(r, &r->pages[i]);
    }
    return err;
}

static void replay_free(struct replay *r)
{
    const uint64_t locations = r->analysis->session.trace->layout.location_count;
    for (uint64_t l = 0; r->heaps && l < locations; l++) {
        free(r->heaps[l].list);
    }
    free(r->heaps);
    ictusi_store_fini(&r->pending);
    free(r->rates);
    free(r->keys);
    for (int i = 0; i < STAGES; i++) {
        page_free(&r->pages[i]);
    }
    ictusi_replay_order_free(&r->order);
    for (int i = 0; i < CLERKS; i++) {
        ictusi_ledger_free(&r->ledgers[i]);
    }
}

/*
 * Waits that were cut out of a circle pass nothing on, so the part that was charged to them is
 * nobody's. Without a circle, all parts add up to the total but for rounding.
 */
static void blame_leave_circles(struct blame *blame)
{
    double charged = 0.0;
    if (blame->cyclic == 0) {
        return;
    }
    for (uint64_t i = 0; i < blame->count; i++) {
        charged += blame->list[i].direct + blame->list[i].indirect;
    }
    blame->unattributed = fmax(0.0, blame->total - charged);
}

/* Join the results of the ledgers. All have the same estimate. */
static int replay_join(const struct replay *r)
{
    struct blame *blame = r->blame;
    const struct ledger *first = &r->ledgers[0];
    blame->list = calloc(r->key_count + 1, sizeof *blame->list);
    if (!blame->list) {
        return ICTUS_ERR_NOMEM;
    }
    blame->count = r->key_count;
    blame->total = first->total;
    blame->unattributed = first->unattributed;
    blame->cyclic = r->order.cyclic;
    for (uint32_t i = 0; i < r->clerks; i++) {
        ictusi_ledger_total(&r->ledgers[i], blame->total_lanes);
    }
    for (uint64_t row = 0; row < blame->count; row++) {
        blame->list[row].location = r->keys[row].location;
        blame->list[row].path = r->keys[row].path;
        for (uint32_t i = 0; i < r->clerks; i++) {
            ictusi_ledger_read(&r->ledgers[i], row, &blame->list[row]);
        }
    }
    blame_leave_circles(blame);
    return ICTUS_OK;
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
    int err = replay_init(&r, why);
    err = err ? err : replay_run(&r);
    err = err ? err : replay_join(&r);
    replay_free(&r);
    return err;
}

void ictusi_blame_free(struct blame *blame)
{
    free(blame->list);
    ictusi_idmap_fini(&blame->index);
    *blame = (struct blame){.list = NULL};
}
