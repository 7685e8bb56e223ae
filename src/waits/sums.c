/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wait is max(0, instant of the cause - enter), limited to the length of the call. It is not
 * linear in the errors of the clocks, and waits between the same two clocks share those errors. So
 * sums are computed separately for each error history, in which another member may be the last to
 * arrive.
 */
#include "waits/sums.h"

#include "core/array.h"
#include "core/container.h"
#include "core/wide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_sided = 1.96; /* standard deviations of 95 % */

static bool row_is(const struct wait_row *row, uint32_t state, uint32_t path, uint32_t location)
{
    return row->state == state && row->path == path && row->location == location;
}

/*
 * The row of a state, call path and location, which is made when first needed; NULL: no memory.
 * Rows move when the list grows, so the pointer must not be kept.
 */
static struct wait_row *row_at(struct wait_rows *rows, uint32_t state, uint32_t path,
                               uint32_t location)
{
    const uint64_t guess = rows->last[state]; /* mostly several in turn are for one row */
    if (guess < rows->count && row_is(&rows->list[guess], state, path, location)) {
        return &rows->list[guess];
    }
    const uint64_t key = (uint64_t)state << 32 | path;
    int64_t *slot = ictusi_idmap_at(&rows->index, key, location, (int64_t)rows->count);
    if (!slot) {
        return NULL;
    }
    if (*slot == (int64_t)rows->count) {
        struct wait_row *row = array_append((void **)&rows->list, &rows->count, sizeof *row);
        if (!row) {
            return NULL;
        }
        row->state = state;
        row->path = path;
        row->location = location;
    }
    rows->last[state] = (uint64_t)*slot;
    return &rows->list[*slot];
}

/* Add how long one location waited for another, by waiter, causer and state. */
static int pair_add(struct wait_rows *rows, const struct wait_pair *pair)
{
    const uint64_t key = (uint64_t)pair->waiter << 32 | pair->causer;
    int64_t *slot = ictusi_idmap_at(&rows->pair_index, key, pair->state, (int64_t)rows->pair_count);
    if (!slot) {
        return ICTUS_ERR_NOMEM;
    }
    if (*slot == (int64_t)rows->pair_count) {
        struct wait_pair *fresh =
            array_append((void **)&rows->pairs, &rows->pair_count, sizeof *fresh);
        if (!fresh) {
            return ICTUS_ERR_NOMEM;
        }
        *fresh = *pair;
        return ICTUS_OK;
    }
    rows->pairs[*slot].ticks += pair->ticks;
    rows->pairs[*slot].n += pair->n;
    return ICTUS_OK;
}

/* One wait to be added to a row. */
struct wait_part {
    int64_t ticks, alike;
    double decidable, sigma;
    double confined;     /* the mean of the lanes, if the end of the call confines them */
    const double *lanes; /* NULL: no history adds anything */
};

static inline double sums_within(double x, double most)
{
    return x < 0 ? 0 : x < most ? x : most;
}

/*
 * Merge one more enter into the latest in each lane. A history's error is subtracted from what the
 * clock showed, and the second half of the lanes has the opposite sign. Enters are taken relative
 * to base as integers, because a double cannot hold a nanosecond instant since 1970.
 */
WIDE_REGISTERS static void lanes_merge(const struct analysis *a, uint32_t point, int64_t base,
                                       double lanes[LANES])
{
    const struct waiting_call *c = call_at(&a->calls, call_of_point(&a->calls, point));
    const double x = (double)(c->enter - base);
    double *const minus = lanes + HISTORIES;
    double error[HISTORIES];
    ictusi_histories_read(&a->histories, c->location, c->enter, error);
    for (size_t k = 0; k < HISTORIES; k++) {
        lanes[k] = lanes[k] > x - error[k] ? lanes[k] : x - error[k];
        minus[k] = minus[k] > x + error[k] ? minus[k] : x + error[k];
    }
}

/*
 * The latest enter among a node's members in each lane, relative to base. Histories come in pairs
 * of opposite sign, k and HISTORIES + k. Such antithetic draws have a mean without a first-order
 * error.
 */
static void node_lanes(const struct analysis *a, uint32_t node, int64_t base, double lanes[LANES])
{
    for (int k = 0; k < LANES; k++) {
        lanes[k] = -INFINITY;
    }
    /* in a scan, continue with the preceding nodes */
    for (uint32_t next = node; next != NODE_NONE;) {
        const uint32_t at = next;
        next = NODE_NONE;
        for (uint32_t i = 0; i < graph_vnode(&a->session.graph, at)->in_count; i++) {
            const uint32_t in = analysis_ins(a, at)[i];
            if (in & NODE_VIRTUAL) {
                next = in;
            } else {
                lanes_merge(a, in, base, lanes);
            }
        }
    }
}

/* When the last member of a collective arrived, in each lane: ticks since base. */
struct node_latest {
    int64_t base;
    double lanes[LANES];
};

/*
 * The lanes of a member of a collective, for which another member may be the last in each lane. A
 * lane holds what that history adds to the recorded wait.
 */
WIDE_REGISTERS static void lanes_of_member(const struct analysis *a, uint64_t call,
                                           const struct node_latest *node, double lanes[LANES])
{
    const struct waiting_call *c = call_at(&a->calls, call);
    const double most = (double)(c->leave - c->enter);
    const double wait = (double)analysis_wait(a, call);
    const double since = (double)(c->enter - node->base);
    const double *const latest = node->lanes;
    double error[HISTORIES];
    ictusi_histories_read(&a->histories, c->location, c->enter, error);
    for (int k = 0; k < HISTORIES; k++) {
        lanes[k] = sums_within(latest[k] - since + error[k], most) - wait;
        lanes[HISTORIES + k] = sums_within(latest[HISTORIES + k] - since - error[k], most) - wait;
    }
}

static int sums_by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * A lock is acquired after it was released, so no wait for one ends after its call, and lanes in
 * which it does are impossible. The m possible ones of n remain, with equal probability, and the
 * lane of rank r becomes the value of rank r m / n. Lanes keep their order, which sums of waits
 * with common errors need. x: unclipped waits. Returns false if all lanes are possible.
 */
static bool lanes_confine(double x[LANES], double most)
{
    double sorted[LANES];
    double mapped[LANES];
    size_t possible = 0;
    memcpy(sorted, x, sizeof sorted);
    qsort(sorted, LANES, sizeof *sorted, sums_by_value);
    while (possible < LANES && sorted[possible] <= most) {
        possible++;
    }
    for (size_t rank = 0; rank < LANES; rank++) { /* at the midpoints of n and of m equal parts */
        const double at = ((double)rank + 0.5) * (double)possible / LANES - 0.5;
        const size_t below = at > 0 ? (size_t)at : 0;
        const double low = below < possible ? sorted[below] : most;
        const double high = below + 1 < possible ? sorted[below + 1] : most;
        mapped[rank] = low + fmax(0, at - (double)below) * (high - low);
    }
    for (size_t i = 0; i < LANES && possible < LANES; i++) {
        const double *place = bsearch(&x[i], sorted, LANES, sizeof *sorted, sums_by_value);
        x[i] = place ? mapped[place - sorted] : most;
    }
    return possible < LANES;
}

static double lanes_mean(const double lanes[LANES])
{
    double mean = 0;
    for (int i = 0; i < LANES; i++) {
        mean += lanes[i] / LANES;
    }
    return mean;
}

/*
 * How the histories add to a wait: whether they differ at all, and their mean if the end of the
 * call confines it.
 */
struct lanes_kind {
    bool apart;
    double confined;
};

WIDE_REGISTERS
static struct lanes_kind lanes_of_pair(const struct analysis *a, uint64_t call,
                                       struct history_range range, double lanes[LANES])
{
    const struct waiting_call *c = call_at(&a->calls, call);
    const struct partner *p = partner_at(&a->partners, call);
    const struct histories *h = &a->histories;
    const double late = (double)p->late;
    const double most = (double)(c->leave - c->enter);
    const double wait = (double)analysis_wait(a, call);
    double error[HISTORIES];
    double others[HISTORIES];
    /* On one clock the difference of two readings is exact. */
    if (h->clock_of[c->location] == h->clock_of[p->location] || h->reach == 0) {
        return (struct lanes_kind){false, 0};
    }
    if (p->state == WAIT_RMA_LOCK) {
        range = (struct history_range){0, HISTORIES}; /* lanes confine each other */
    }
    ictusi_histories_read_some(h, c->location, c->enter, range, error);
    ictusi_histories_read_some(h, p->location, c->enter + p->late, range, others);
    for (int k = range.from; k < range.to; k++) {
        /*
         * Each error is taken at its own instant, because the clocks drift between the two enters.
         */
        const double by = error[k] - others[k];
        lanes[k] = late + by;
        lanes[HISTORIES + k] = late - by;
    }
    const bool confined = p->state == WAIT_RMA_LOCK && lanes_confine(lanes, most);
    for (int k = range.from; k < range.to; k++) {
        lanes[k] = sums_within(lanes[k], most) - wait;
        lanes[HISTORIES + k] = sums_within(lanes[HISTORIES + k], most) - wait;
    }
    return (struct lanes_kind){true, confined ? lanes_mean(lanes) : 0};
}

bool ictusi_wait_lanes(const struct analysis *a, uint64_t call, struct history_range range,
                       double lanes[LANES])
{
    return lanes_of_pair(a, call, range, lanes).apart;
}

/*
 * A wait recorded as 0 still counts if it is positive in some history. Otherwise errors could only
 * ever make a sum smaller.
 */
static bool lanes_any(const double lanes[LANES])
{
    bool any = false;
    for (int i = 0; i < LANES && !any; i++) {
        any = lanes[i] > 0;
    }
    return any;
}

/* Add a wait to the row of its state and of the call's path and location. */
WIDE_REGISTERS static int row_add(struct wait_rows *rows, uint32_t state,
                                  const struct waiting_call *c, const struct wait_part *part)
{
    struct wait_row *row = row_at(rows, state, c->path, c->location);
    if (!row) {
        return ICTUS_ERR_NOMEM;
    }
    row->sum.ticks += part->ticks;
    row->sum.alike += part->alike;
    row->sum.n += part->ticks > 0;
    row->sum.decidable += part->decidable;
    row->sum.sigma += part->sigma;
    row->sum.confined += part->confined;
    for (int i = 0; i < LANES && part->lanes; i++) {
        row->sum.lanes[i] += part->lanes[i];
    }
    return ICTUS_OK;
}

/*
 * node: for a member of a collective under error histories, else NULL. A wait is decidable if its
 * cause is late by at least 1.96 standard deviations. The lateness is used instead of the wait,
 * because the wait is limited by the length of the call.
 */
static int sums_add_wait(struct wait_rows *rows, const struct analysis *a, uint64_t call,
                         const struct node_latest *node)
{
    const struct histories *h = &a->histories;
    const struct partner *p = partner_at(&a->partners, call);
    const struct waiting_call *c = call_at(&a->calls, call);
    const int64_t wait = analysis_wait(a, call);
    double lanes[LANES];
    if ((double)p->late < -2 * h->reach - 1) {
        return ICTUS_OK; /* it waits in no history */
    }
    struct lanes_kind kind = {node != NULL, 0};
    if (node) {
        lanes_of_member(a, call, node, lanes);
    } else {
        kind = lanes_of_pair(a, call, (struct history_range){0, HISTORIES}, lanes);
    }
    const bool open = kind.apart;
    if (wait <= 0 && !(open && lanes_any(lanes))) {
        return ICTUS_OK;
    }
    const double sigma =
        wait > 0 ? ictusi_histories_sigma(h, c->location, c->enter, p->location, c->enter + p->late)
                 : 0;
    const bool sure = wait > 0 && (double)p->late >= two_sided * sigma;
    const struct wait_part part = {.ticks = wait,
                                   .alike = open ? 0 : wait,
                                   .decidable = sure ? (double)wait : 0,
                                   .sigma = sigma,
                                   .confined = kind.confined,
                                   .lanes = open ? lanes : NULL};
    int err = row_add(rows, p->state, c, &part);
    if (*partner_wrong_order(&a->partners, call) && !err) {
        err = row_add(rows, WAIT_WRONG_ORDER, c, &part);
    }
    const struct wait_pair pair = {p->state, c->location, p->location, wait, 1};
    return wait > 0 && !err ? pair_add(rows, &pair) : err;
}

/*
 * Add the waits of all members of a collective whose last member may differ in each history: sums
 * over a maximum of uncertain times. The maximum is computed once for all members in each lane, and
 * each member subtracts its own enter from it.
 */
static int sums_add_node(struct wait_rows *rows, const struct analysis *a, uint32_t node)
{
    const uint32_t outs = graph_vnode(&a->session.graph, node)->out_count;
    struct node_latest latest;
    bool known = false;
    int err = ICTUS_OK;
    for (uint32_t i = 0; i < outs && !err; i++) {
        const uint32_t out = analysis_outs(a, node)[i];
        const uint32_t call = out & NODE_VIRTUAL ? CALL_NONE : call_of_point(&a->calls, out);
        if (call == CALL_NONE || partner_at(&a->partners, call)->node != node) {
            continue;
        }
        if (!known) {
            known = true;
            latest.base = call_at(&a->calls, call)->enter;
            node_lanes(a, node, latest.base, latest.lanes);
        }
        err = sums_add_wait(rows, a, call, &latest);
    }
    return err;
}

/*
 * Waits within one clock are exact on that clock, which may still run faster or slower than true
 * time. A clock whose error grows shows too much time, which is subtracted.
 */
static void row_add_rate(struct wait_row *row, const struct histories *h)
{
    double rate[HISTORIES];
    ictusi_histories_rate(h, row->location, rate);
    for (int k = 0; k < HISTORIES; k++) {
        const double by = (double)row->sum.alike * rate[k];
        row->sum.lanes[k] -= by;
        row->sum.lanes[HISTORIES + k] += by;
    }
}

/*
 * Members of collectives are added later, node by node (sums_add_node()), because another member
 * may be the last in each history. Without error histories the last member is the same for all, and
 * no such pass is needed.
 */
static int rows_stretch(struct call_pass *pass, uint32_t location, uint64_t from, uint64_t to)
{
    struct wait_rows *rows = container_of(pass, struct wait_rows, pass);
    const struct analysis *a = rows->analysis;
    const bool by_node = a->histories.reach > 0;
    int err = ICTUS_OK;
    (void)location;
    for (uint64_t i = from; i < to && !err; i++) {
        const struct partner *p = partner_at(&a->partners, i);
        if (p->state != WAIT_NONE && !(by_node && p->node != NODE_NONE)) {
            err = sums_add_wait(rows, a, i, NULL);
        }
    }
    return err;
}

void ictusi_rows_begin(struct wait_rows *rows, const struct analysis *a)
{
    rows->pass.stretch = rows_stretch;
    rows->analysis = a;
}

int ictusi_rows_end(struct wait_rows *rows)
{
    const struct analysis *a = rows->analysis;
    const bool by_node = a->histories.reach > 0;
    uint64_t passed = 0;
    int err = ICTUS_OK;
    for (uint64_t n = 0; n < a->session.graph.vnode_count && by_node && !err; n++) {
        err = sums_add_node(rows, a, NODE_VIRTUAL | (uint32_t)n);
        analysis_pass(a, &passed, CALLS_APART * (uint64_t)a->session.graph.vnodes[n].out_count);
    }
    for (uint64_t i = 0; i < rows->count && !err; i++) {
        row_add_rate(&rows->list[i], &a->histories);
    }
    return err;
}

static struct wait_site *site_at(struct wait_rows *rows, uint32_t path)
{
    int64_t *slot = ictusi_idmap_at(&rows->site_index, path, 0, (int64_t)rows->site_count);
    if (!slot) {
        return NULL;
    }
    if (*slot == (int64_t)rows->site_count) {
        struct wait_site *site =
            array_append((void **)&rows->sites, &rows->site_count, sizeof *site);
        if (!site) {
            return NULL;
        }
        site->path = path;
    }
    return &rows->sites[*slot];
}

/* Whether a state is a wait for the other members of a collective. */
static bool sums_is_collective(uint32_t state)
{
    return state >= WAIT_BARRIER && state <= WAIT_EARLY_SCAN;
}

void ictusi_rows_sites(struct wait_rows *rows)
{
    const struct analysis *a = rows->analysis;
    const struct points *points = &a->session.history.points;
    uint64_t passed = 0;
    for (uint64_t i = 0; i < points->count; i++) {
        const uint8_t in = POINT_COLLECTIVE | POINT_IN;
        analysis_pass(a, &passed, 1);
        if ((points->kind[i] & (POINT_CLASS | POINT_IN)) != in) {
            continue;
        }
        const struct waiting_call *c = call_at(&a->calls, call_of_point(&a->calls, i));
        struct wait_site *site = c->flags & (CALL_CUT | CALL_MUTED) ? NULL : site_at(rows, c->path);
        if (!site) {
            continue; /* the lack of memory is reported below */
        }
        site->op = (uint32_t)points->note[i].op;
        site->ticks += c->leave - c->enter;
        site->calls++;
    }
}

int ictusi_rows_sites_end(struct wait_rows *rows)
{
    for (uint64_t i = 0; i < rows->count; i++) {
        const struct wait_row *row = &rows->list[i];
        if (sums_is_collective(row->state)) {
            struct wait_site *site = site_at(rows, row->path);
            if (!site) {
                return ICTUS_ERR_NOMEM;
            }
            ictusi_sum_add(&site->skew, &row->sum);
        }
    }
    return ICTUS_OK;
}

int ictusi_rows_aside(struct wait_rows *rows, enum wait_state state, uint32_t path,
                      uint32_t location, int64_t ticks)
{
    struct wait_row *row = row_at(rows, state, path, location);
    if (!row) {
        return ICTUS_ERR_NOMEM;
    }
    row->sum.ticks += ticks;
    row->sum.n++;
    return ICTUS_OK;
}

void ictusi_rows_free(struct wait_rows *rows)
{
    free(rows->list);
    free(rows->pairs);
    free(rows->sites);
    ictusi_idmap_fini(&rows->site_index);
    ictusi_idmap_fini(&rows->index);
    ictusi_idmap_fini(&rows->pair_index);
    *rows = (struct wait_rows){.list = NULL};
}

void ictusi_sum_add(struct wait_sum *sum, const struct wait_sum *other)
{
    sum->ticks += other->ticks;
    sum->n += other->n;
    sum->decidable += other->decidable;
    sum->sigma += other->sigma;
    sum->confined += other->confined;
    for (int i = 0; i < LANES; i++) {
        sum->lanes[i] += other->lanes[i];
    }
}

/*
 * What the histories add, split into its odd and even parts: the mean square of the odd part, and
 * the mean and variance of the even part.
 */
struct parts {
    double odd, even, spread;
};

static struct parts parts_of(const double lanes[LANES])
{
    struct parts p = {0, 0, 0};
    for (size_t k = 0; k < HISTORIES; k++) {
        const double odd = (lanes[k] - lanes[HISTORIES + k]) / 2;
        p.odd += odd * odd / HISTORIES;
        p.even += (lanes[k] + lanes[HISTORIES + k]) / 2 / HISTORIES;
    }
    for (size_t k = 0; k < HISTORIES; k++) {
        const double even = (lanes[k] + lanes[HISTORIES + k]) / 2 - p.even;
        p.spread += even * even / (HISTORIES - 1);
    }
    return p;
}

/*
 * The 95 % interval of a sum. S0 + lanes are the sums under each history. With O and Q the odd and
 * even parts over a pair of signs, S0 - mean Q removes the second-order bias that a maximum of
 * noisy times adds. The half-width of the interval is 2 sqrt(mean O^2 + var Q), with 2 instead of
 * 1.96 because the variance is estimated from 40 draws. If one clock carries most of the error,
 * clamping at 0 and at the length of the call makes the distribution asymmetric, and order
 * statistics of the lanes are more accurate (docs/waits.md).
 */
struct sum_range ictusi_sum_range(const struct wait_sum *sum)
{
    const double s0 = (double)sum->ticks;
    const struct parts p = parts_of(sum->lanes);
    /* Confined lanes are possible waits. All others contain the errors that S0 has already. */
    const double even = p.even - 2 * sum->confined;
    struct sum_range r = {s0, s0, s0, 1, SUM_EXACT};
    double sorted[LANES];
    if (sum->sigma == 0 && p.odd == 0 && p.spread == 0) {
        return r;
    }
    memcpy(sorted, sum->lanes, sizeof sorted);
    qsort(sorted, LANES, sizeof *sorted, sums_by_value);
    const double half = 2 * sqrt(p.odd + p.spread);
    const double low = fmax(0, s0 + sorted[1]);
    const double high = fmax(0, s0 + sorted[LANES - 2]);
    r.decidable = sum->ticks > 0 ? sum->decidable / s0 : 0;
    /* In no history do calls wait longer than they last, so neither may the estimate. */
    r.estimate = fmin(fmax(0, s0 - even), fmax(0, s0 + sorted[LANES - 1]));
    r.low = fmax(0, r.estimate - half);
    r.high = r.estimate + half;
    if (r.decidable >= 0.95) {
        r.kind = SUM_CERTAIN;
        if (sqrt(p.odd) >= sum->sigma / 2) { /* one clock dominates */
            r.low = low;
            r.high = high;
            r.estimate = fmin(fmax(r.estimate, low), high);
        }
    } else if (r.decidable >= 0.75) {
        r.kind = SUM_ABOUT;
        r.low = fmin(r.low, low);
        r.high = fmax(r.high, high);
    } else {
        r.kind = SUM_AT_MOST;
        r.low = 0;
        r.high = fmax(r.high, high);
    }
    return r;
}
