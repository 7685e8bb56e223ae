/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wait is max(0, instant of the cause - enter), at most the call's length: not linear in the
 * clocks' errors, and waits of one pair of clocks share them. So sums are made anew for each error
 * history, in which the last to arrive may be another one.
 */
#include "waits/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_sided = 1.96; /* standard deviations of 95 % */

/* Append a zeroed element to an array that doubles; the new element, or NULL. */
static void *rows_append(void **array, uint64_t *count, size_t size)
{
    const uint64_t n = *count;
    if ((n & (n - 1)) == 0) {
        char *wide = realloc(*array, (n ? n * 2 : 1) * size);
        if (!wide) {
            return NULL;
        }
        *array = wide;
    }
    char *element = (char *)*array + n * size;
    memset(element, 0, size);
    *count = n + 1;
    return element;
}

static struct wait_row *row_at(struct wait_rows *rows, uint32_t state, uint32_t path,
                               uint32_t location)
{
    const uint64_t key = (uint64_t)state << 32 | path;
    int64_t *slot = ictusi_idmap_at(&rows->index, key, location, (int64_t)rows->count);
    if (!slot) {
        return NULL;
    }
    if (*slot == (int64_t)rows->count) {
        struct wait_row *row = rows_append((void **)&rows->list, &rows->count, sizeof *row);
        if (!row) {
            return NULL;
        }
        row->state = state;
        row->path = path;
        row->location = location;
    }
    return &rows->list[*slot];
}

static int pair_add(struct wait_rows *rows, const struct wait_pair *pair)
{
    const uint64_t key = (uint64_t)pair->waiter << 32 | pair->causer;
    int64_t *slot = ictusi_idmap_at(&rows->pair_index, key, pair->state, (int64_t)rows->pair_count);
    if (!slot) {
        return ICTUS_ERR_NOMEM;
    }
    if (*slot == (int64_t)rows->pair_count) {
        struct wait_pair *fresh =
            rows_append((void **)&rows->pairs, &rows->pair_count, sizeof *fresh);
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

static double within(double x, double most)
{
    return x < 0 ? 0 : x < most ? x : most;
}

/* The latest enter among a node's members under each error history, against the first member's. */
static void node_lanes(const struct analysis *a, uint32_t node, int64_t base, double lanes[LANES])
{
    const struct vnode *v = graph_vnode(&a->session.graph, node);
    for (int k = 0; k < LANES; k++) {
        lanes[k] = -INFINITY;
    }
    for (uint32_t i = 0; i < v->in_count; i++) {
        const uint32_t call = call_of_point(&a->calls, analysis_ins(a, node)[i]);
        const int64_t enter = call_at(&a->calls, call)->enter;
        double error[HISTORIES] = {0};
        ictusi_histories_add(&a->histories, analysis_location(a, call), enter, 1, error);
        for (size_t k = 0; k < HISTORIES; k++) {
            const double x = (double)(enter - base);
            lanes[2 * k] = lanes[2 * k] > x - error[k] ? lanes[2 * k] : x - error[k];
            lanes[2 * k + 1] = lanes[2 * k + 1] > x + error[k] ? lanes[2 * k + 1] : x + error[k];
        }
    }
}

/* A virtual node's latest enters, kept while its members' waits are added up. */
struct node_memory {
    uint32_t node;
    int64_t base;
    double lanes[LANES];
};

static void lanes_of(const struct analysis *a, uint64_t call, struct node_memory *memory,
                     double lanes[LANES], double *sigma, int64_t *raw)
{
    const struct waiting_call *c = call_at(&a->calls, call);
    const struct partner *p = partner_at(&a->partners, call);
    const struct waiting_call *k = call_at(&a->calls, p->call);
    const uint32_t location = analysis_location(a, call);
    const uint32_t other = analysis_location(a, p->call);
    const double most = (double)(c->leave - c->enter);
    const double wait = (double)analysis_wait(a, call);
    double error[HISTORIES] = {0};
    *raw = k->enter - c->enter;
    *sigma = ictusi_histories_sigma(&a->histories, location, c->enter, other, k->enter);
    memset(lanes, 0, LANES * sizeof *lanes);
    if (a->histories.source == SIGMA_ONE_CLOCK || a->histories.source == SIGMA_UNKNOWN) {
        return;
    }
    if (p->node != NODE_NONE && memory) {
        if (memory->node != p->node) {
            memory->node = p->node;
            memory->base = c->enter;
            node_lanes(a, p->node, memory->base, memory->lanes);
        }
        ictusi_histories_add(&a->histories, location, c->enter, 1, error);
        for (int i = 0; i < LANES; i++) {
            const double own = i % 2 ? error[i / 2] : -error[i / 2];
            const double x = memory->lanes[i] - (double)(c->enter - memory->base) - own;
            lanes[i] = within(x, most) - wait;
        }
        return;
    }
    if (*sigma == 0) {
        return;
    }
    ictusi_histories_add(&a->histories, location, c->enter, 1, error);
    ictusi_histories_add(&a->histories, other, k->enter, -1, error);
    for (int i = 0; i < LANES; i++) {
        const double by = i % 2 ? -error[i / 2] : error[i / 2];
        lanes[i] = within((double)*raw + by, most) - wait;
    }
}

void ictusi_wait_lanes(const struct analysis *a, uint64_t call, double lanes[LANES], double *sigma,
                       int64_t *raw)
{
    lanes_of(a, call, NULL, lanes, sigma, raw);
}

static int add_wait(struct wait_rows *rows, const struct analysis *a, uint64_t call,
                    uint32_t location, struct node_memory *memory)
{
    const struct partner *p = partner_at(&a->partners, call);
    struct wait_sum one = {.ticks = analysis_wait(a, call)};
    int64_t raw = 0;
    lanes_of(a, call, memory, one.lanes, &one.sigma, &raw);
    const bool sure = raw > 0 && (double)raw >= two_sided * one.sigma;
    one.n = one.ticks > 0;
    one.decidable = sure ? (double)one.ticks : 0;
    one.sigma = one.ticks > 0 ? one.sigma : 0;
    bool any = one.ticks > 0;
    for (int i = 0; i < LANES && !any; i++) {
        any = one.lanes[i] > 0;
    }
    if (!any) {
        return ICTUS_OK;
    }
    struct wait_row *row = row_at(rows, p->state, call_at(&a->calls, call)->path, location);
    if (!row) {
        return ICTUS_ERR_NOMEM;
    }
    ictusi_sum_add(&row->sum, &one);
    if (p->wrong_order) {
        row = row_at(rows, WAIT_WRONG_ORDER, call_at(&a->calls, call)->path, location);
        if (!row) {
            return ICTUS_ERR_NOMEM;
        }
        ictusi_sum_add(&row->sum, &one);
    }
    const struct wait_pair pair = {p->state, location, analysis_location(a, p->call), one.ticks, 1};
    return one.ticks > 0 ? pair_add(rows, &pair) : ICTUS_OK;
}

int ictusi_rows_add_up(struct wait_rows *rows, const struct analysis *a)
{
    int err = ICTUS_OK;
    struct node_memory memory = {.node = NODE_NONE};
    for (uint32_t l = 0; l < a->session.trace->layout.location_count; l++) {
        for (uint64_t i = a->calls.first[l]; i < a->calls.first[l + 1] && !err; i++) {
            if (partner_at(&a->partners, i)->call != CALL_NONE) {
                err = add_wait(rows, a, i, l, &memory);
            }
        }
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
            rows_append((void **)&rows->sites, &rows->site_count, sizeof *site);
        if (!site) {
            return NULL;
        }
        site->path = path;
    }
    return &rows->sites[*slot];
}

/* States whose waits are for the others of a collective. */
static bool is_collective(uint32_t state)
{
    return state >= WAIT_BARRIER && state <= WAIT_EARLY_SCAN;
}

int ictusi_rows_sites(struct wait_rows *rows, const struct analysis *a)
{
    const struct points *points = &a->session.history.points;
    for (uint64_t i = 0; i < points->count; i++) {
        const uint8_t in = POINT_COLLECTIVE | POINT_IN;
        if ((points->kind[i] & (POINT_CLASS | POINT_IN)) != in) {
            continue;
        }
        const struct waiting_call *c = call_at(&a->calls, call_of_point(&a->calls, i));
        struct wait_site *site = c->flags & (CALL_CUT | CALL_MUTED) ? NULL : site_at(rows, c->path);
        if (!site) {
            continue; /* no memory shows below */
        }
        site->op = (uint32_t)points->note[i].op;
        site->ticks += c->leave - c->enter;
        site->calls++;
    }
    for (uint64_t i = 0; i < rows->count; i++) {
        const struct wait_row *row = &rows->list[i];
        if (is_collective(row->state)) {
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
    for (int i = 0; i < LANES; i++) {
        sum->lanes[i] += other->lanes[i];
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Odd and even parts of what the histories add: mean square of the one, mean and variance of the
 * other. */
struct parts {
    double odd, even, spread;
};

static struct parts parts_of(const double lanes[LANES])
{
    struct parts p = {0, 0, 0};
    for (size_t k = 0; k < HISTORIES; k++) {
        const double odd = (lanes[2 * k] - lanes[2 * k + 1]) / 2;
        p.odd += odd * odd / HISTORIES;
        p.even += (lanes[2 * k] + lanes[2 * k + 1]) / 2 / HISTORIES;
    }
    for (size_t k = 0; k < HISTORIES; k++) {
        const double even = (lanes[2 * k] + lanes[2 * k + 1]) / 2 - p.even;
        p.spread += even * even / (HISTORIES - 1);
    }
    return p;
}

struct sum_range ictusi_sum_range(const struct wait_sum *sum)
{
    const double s0 = (double)sum->ticks;
    const struct parts p = parts_of(sum->lanes);
    struct sum_range r = {s0, s0, s0, 1, SUM_EXACT};
    double sorted[LANES];
    if (sum->sigma == 0 && p.odd == 0 && p.spread == 0) {
        return r;
    }
    memcpy(sorted, sum->lanes, sizeof sorted);
    qsort(sorted, LANES, sizeof *sorted, by_value);
    const double half = 2 * sqrt(p.odd + p.spread);
    const double low = fmax(0, s0 + sorted[1]);
    const double high = fmax(0, s0 + sorted[LANES - 2]);
    r.decidable = sum->ticks > 0 ? sum->decidable / s0 : 0;
    r.estimate = fmax(0, s0 - p.even);
    r.low = fmax(0, r.estimate - half);
    r.high = r.estimate + half;
    if (r.decidable >= 0.95) {
        r.kind = SUM_CERTAIN;
        if (sqrt(p.odd) >= sum->sigma / 2) { /* one clock dominates */
            r.low = low;
            r.high = high;
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
