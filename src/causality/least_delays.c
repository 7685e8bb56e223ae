/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the least delays, and computes the constant offsets that they imply (Duda et al. 1987
 * for one pair).
 */
#include "causality/least_delays.h"

#include "causality/team.h"
#include "core/container.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The cells may take 128 MB. If more pairs talk, cells become longer, down to CELLS_LEAST of them.
 */
enum { DELAYS_CELLS_MAX = 1 << 23, CELLS_LEAST = 6, ROWS_FIRST = 64, CG_STEPS = 400 };

/* A pair of clocks that talks both ways. */
struct edge {
    uint32_t a, b;
    double offset, weight; /* of the difference of the constants, a - b, ticks */
};

static bool delay_is_sooner(int64_t delay, int64_t instant, int64_t than, int64_t than_instant)
{
    return delay < than || (delay == than && instant < than_instant);
}

/*
 * Merge pairs of neighbouring cells, as if each had been one cell from the beginning. This works in
 * place: cell i is written after cells 2 i and 2 i + 1 have been read, neither of which comes
 * before it.
 */
static void cells_halve(struct least_delays *d)
{
    d->cells /= 2;
    d->per_tick = (double)d->cells / (double)d->length;
    for (uint64_t i = 0; i < d->row_count * d->cells; i++) {
        const bool second = delay_is_sooner(d->delay[2 * i + 1], d->instant[2 * i + 1],
                                            d->delay[2 * i], d->instant[2 * i]);
        d->delay[i] = d->delay[2 * i + second];
        d->instant[i] = d->instant[2 * i + second];
    }
}

/*
 * Halve the number of cells until the rows fit into memory: a coarser view of the whole trace is
 * better than none of its end.
 */
static void cells_fit(struct least_delays *d, uint64_t rows)
{
    while (rows * d->cells > DELAYS_CELLS_MAX && d->cells % 2 == 0 && d->cells / 2 >= CELLS_LEAST) {
        cells_halve(d);
    }
}

static void rows_clear(struct least_delays *d, uint64_t from, uint64_t to)
{
    for (uint64_t i = from * d->cells; i < to * d->cells; i++) {
        d->delay[i] = DELAY_NONE;
        d->instant[i] = INT64_MAX;
    }
}

/*
 * Each array is stored as soon as it has grown, so that ictusi_delays_fini() frees whatever exists.
 */
static int rows_reserve(struct least_delays *d, uint64_t rows)
{
    const uint64_t count = rows * d->cells + 1;
    uint64_t *keys = realloc(d->keys, (rows + 1) * sizeof *keys);
    if (!keys) {
        return ICTUS_ERR_NOMEM;
    }
    d->keys = keys;
    int64_t *delay = realloc(d->delay, count * sizeof *delay);
    if (!delay) {
        return ICTUS_ERR_NOMEM;
    }
    d->delay = delay;
    int64_t *instant = realloc(d->instant, count * sizeof *instant);
    if (!instant) {
        return ICTUS_ERR_NOMEM;
    }
    d->instant = instant;
    d->row_room = rows;
    return ICTUS_OK;
}

/* Append a row without delays, if it fits into memory. */
static int row_append(struct least_delays *d, uint64_t key)
{
    cells_fit(d, d->row_count + 1);
    int err = d->row_count < d->row_room ? ICTUS_OK : rows_reserve(d, 2 * d->row_room);
    err = err ? err
              : ictusi_idmap_put(&d->rows, key / d->clocks, key % d->clocks, (int64_t)d->row_count);
    if (!err) {
        d->keys[d->row_count++] = key;
        rows_clear(d, d->row_count - 1, d->row_count);
    }
    return err;
}

/* The row of an ordered pair of clocks, or DELAY_NO_ROW. */
static uint64_t row_find(const struct least_delays *d, uint64_t from, uint64_t to)
{
    const int64_t row = ictusi_idmap_get(&d->rows, from, to);
    return row == IDMAP_NONE ? DELAY_NO_ROW : (uint64_t)row;
}

/*
 * Only the shortest delay of each ordered pair of clocks in each cell is kept (ticks; negative
 * where the clocks contradict the order). Waiting lengthens delays, so the shortest one says most
 * about the clocks. It may come from any message. Ties are broken by the instant, so that the
 * result does not depend on the order in which ranks or threads deliver the pairs.
 */
void ictusi_delays_add(struct least_delays *d, uint32_t from, uint32_t to, int64_t time,
                       int64_t delay)
{
    uint64_t row = row_find(d, from, to);
    if (row == DELAY_NO_ROW) {
        d->err = d->err ? d->err : row_append(d, (uint64_t)from * d->clocks + to);
        row = d->row_count - 1;
    }
    if (d->err) {
        return;
    }
    int64_t cell = (int64_t)((double)(time - d->from) * d->per_tick);
    cell = cell < 0 ? 0 : cell;
    cell = cell < d->cells ? cell : d->cells - 1;
    const uint64_t i = row * d->cells + (uint64_t)cell;
    const int64_t instant = time - delay / 2; /* between the sending and the arrival */
    if (delay_is_sooner(delay, instant, d->delay[i], d->instant[i])) {
        d->delay[i] = delay;
        d->instant[i] = instant;
    }
}

/* Called for each pair of dependent events. Pairs on the same clock say nothing and are skipped. */
static void delays_observe(struct observer *observer, uint32_t point, uint32_t from, uint32_t to,
                           int64_t delay)
{
    struct least_delays *d = container_of(observer, struct least_delays, observer);
    if (from == LAYOUT_NONE) {
        return;
    }
    const uint32_t a = d->clock_of[from];
    const uint32_t b = d->clock_of[to];
    if (a != b) {
        ictusi_delays_add(d, a, b, d->values[point], delay);
    }
}

/* Another table over the same time, so that cells of both cover the same instants. */
static struct observer *delays_split(struct observer *observer)
{
    const struct least_delays *d = container_of(observer, struct least_delays, observer);
    struct least_delays *other = malloc(sizeof *other);
    if (other && ictusi_delays_init(other, d->clock_of, d->clocks, d->cells)) {
        ictusi_delays_fini(other);
        free(other);
        return NULL;
    }
    if (other) {
        ictusi_delays_begin(other, d->values, d->from, d->from + d->length);
    }
    return other ? &other->observer : NULL;
}

/* Merge a row of another table, which must have as many cells as this one. */
static int row_join(struct least_delays *d, struct least_delays *other, uint64_t row)
{
    const uint64_t key = other->keys[row];
    uint64_t own = row_find(d, key / d->clocks, key % d->clocks);
    if (own == DELAY_NO_ROW) {
        const int err = row_append(d, key);
        own = d->row_count - 1;
        if (err) {
            return err;
        }
    }
    while (other->cells > d->cells) {
        cells_halve(other);
    }
    for (uint32_t i = 0; i < d->cells; i++) {
        const uint64_t from = row * d->cells + i;
        const uint64_t to = own * d->cells + i;
        if (delay_is_sooner(other->delay[from], other->instant[from], d->delay[to],
                            d->instant[to])) {
            d->delay[to] = other->delay[from];
            d->instant[to] = other->instant[from];
        }
    }
    return ICTUS_OK;
}

/*
 * Merge another table. Tables are halved as they fill, so the two may have different resolutions;
 * the coarser one decides. Minima can be merged in any order.
 */
static int delays_join(struct observer *observer, struct observer *its)
{
    struct least_delays *d = container_of(observer, struct least_delays, observer);
    struct least_delays *other = container_of(its, struct least_delays, observer);
    d->err = d->err ? d->err : other->err;
    while (d->cells > other->cells) {
        cells_halve(d);
    }
    for (uint64_t row = 0; row < other->row_count && !d->err; row++) {
        d->err = row_join(d, other, row);
    }
    ictusi_delays_fini(other);
    free(other);
    return d->err;
}

int ictusi_delays_init(struct least_delays *d, const uint32_t *clock_of, uint32_t clocks,
                       uint32_t cells)
{
    *d = (struct least_delays){.observer = {delays_observe, delays_split, delays_join},
                               .clock_of = clock_of,
                               .clocks = clocks,
                               .length = 1,
                               .cells = cells};
    return rows_reserve(d, ROWS_FIRST);
}

void ictusi_delays_fini(struct least_delays *d)
{
    free(d->delay);
    free(d->instant);
    free(d->keys);
    free(d->pairs);
    ictusi_idmap_fini(&d->rows);
    *d = (struct least_delays){.observer = d->observer};
}

void ictusi_delays_begin(struct least_delays *d, const int64_t *values, int64_t from, int64_t to)
{
    d->values = values;
    d->from = from;
    d->length = to > from ? to - from : 1;
    d->per_tick = (double)d->cells / (double)d->length;
    d->row_count = 0;
    d->pair_count = 0;
    ictusi_idmap_fini(&d->rows);
}

static int keys_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sort the keys and drop duplicates; @return the number left. */
static uint64_t keys_sort(uint64_t *keys, uint64_t count)
{
    uint64_t n = 0;
    qsort(keys, count, sizeof *keys, keys_compare);
    for (uint64_t i = 0; i < count; i++) {
        keys[n] = keys[i];
        n += i + 1 == count || keys[i + 1] != keys[i];
    }
    return n;
}

/* List the pairs of all rows, in an order that does not depend on which was seen first. */
static int pairs_list(struct least_delays *d)
{
    uint64_t *keys = malloc((d->row_count + 1) * sizeof *keys);
    struct delay_pair *pairs = realloc(d->pairs, (d->row_count + 1) * sizeof *pairs);
    d->pairs = pairs ? pairs : d->pairs;
    if (!keys || !pairs) {
        free(keys);
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t row = 0; row < d->row_count; row++) {
        const uint64_t a = d->keys[row] / d->clocks;
        const uint64_t b = d->keys[row] % d->clocks;
        keys[row] = a < b ? a * d->clocks + b : b * d->clocks + a;
    }
    d->pair_count = keys_sort(keys, d->row_count);
    for (uint64_t i = 0; i < d->pair_count; i++) {
        const uint64_t a = keys[i] / d->clocks;
        const uint64_t b = keys[i] % d->clocks;
        pairs[i] = (struct delay_pair){.a = (uint32_t)a, .b = (uint32_t)b};
        pairs[i].row[0] = row_find(d, a, b);
        pairs[i].row[1] = row_find(d, b, a);
    }
    free(keys);
    return ICTUS_OK;
}

/*
 * The distinct keys of all ranks; the caller frees *keys. Each rank fills in its own part of a
 * list, and the largest number everywhere else, so that a minimum over all ranks assembles the
 * parts.
 */
static int keys_gather(const struct least_delays *d, struct team *team, uint64_t **keys,
                       uint64_t *count)
{
    uint64_t *counts = calloc((unsigned)team->size + 1UL, sizeof *counts);
    int err = team->agree(team, counts ? ICTUS_OK : ICTUS_ERR_NOMEM);
    uint64_t before = 0;
    *count = 0;
    if (!err) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): agreed above */
        counts[team->rank] = d->row_count;
        err = team->sums(team, counts, (unsigned)team->size);
    }
    for (int r = 0; r < team->size && !err; r++) {
        before += r < team->rank ? counts[r] : 0;
        *count += counts[r];
    }
    free(counts);
    int64_t *all = err ? NULL : malloc((*count + 1) * sizeof *all);
    err = err ? err : team->agree(team, all ? ICTUS_OK : ICTUS_ERR_NOMEM);
    for (uint64_t i = 0; i < *count && !err; i++) {
        const bool own = i >= before && i - before < d->row_count;
        all[i] = own ? (int64_t)d->keys[i - before] : INT64_MAX;
    }
    err = err ? err : team->minima(team, all, *count);
    *keys = (uint64_t *)all;
    *count = err ? 0 : keys_sort(*keys, *count);
    return err;
}

/*
 * Rearrange the rows into the order of these keys. Rows that only other ranks have seen are empty.
 * The old table is freed, also after errors.
 */
static int rows_arrange(struct least_delays *d, const uint64_t *keys, uint64_t count)
{
    struct least_delays old = *d;
    d->delay = NULL;
    d->instant = NULL;
    d->keys = NULL;
    d->rows = (struct idmap){NULL, 0, 0};
    d->row_count = 0;
    int err = rows_reserve(d, count + ROWS_FIRST);
    for (uint64_t i = 0; i < count && !err; i++) {
        err = row_append(d, keys[i]);
        const uint64_t row = row_find(&old, keys[i] / d->clocks, keys[i] % d->clocks);
        if (!err && row != DELAY_NO_ROW) {
            const size_t bytes = d->cells * sizeof *d->delay;
            memcpy(&d->delay[i * d->cells], &old.delay[row * d->cells], bytes);
            memcpy(&d->instant[i * d->cells], &old.instant[row * d->cells], bytes);
        }
    }
    free(old.delay);
    free(old.instant);
    free(old.keys);
    ictusi_idmap_fini(&old.rows);
    return err;
}

/* The least delay over all ranks; among equal ones the earliest. */
static int cells_share(struct least_delays *d, struct team *team)
{
    const uint64_t count = d->row_count * d->cells;
    int64_t *own = malloc((count + 1) * sizeof *own);
    int err = team->agree(team, own ? ICTUS_OK : ICTUS_ERR_NOMEM);
    if (!err) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): agreed above */
        memcpy(own, d->delay, count * sizeof *own);
        err = team->minima(team, d->delay, count);
    }
    for (uint64_t i = 0; i < count && !err; i++) {
        d->instant[i] = own[i] == d->delay[i] ? d->instant[i] : INT64_MAX;
    }
    free(own);
    return err ? err : team->minima(team, d->instant, count);
}

/*
 * Give all ranks the rows of all. Before minima can be taken element by element, the tables must
 * have the same cells and the same rows in the same order. Collective.
 */
static int rows_share(struct least_delays *d, struct team *team)
{
    int64_t cells = d->cells;
    uint64_t *keys = NULL;
    uint64_t count = 0;
    int err = team->minima(team, &cells, 1);
    while (!err && d->cells > cells) {
        cells_halve(d);
    }
    err = err ? err : keys_gather(d, team, &keys, &count);
    if (!err) {
        cells_fit(d, count);
        err = rows_arrange(d, keys, count);
    }
    free(keys);
    err = team->agree(team, err);
    return err ? err : cells_share(d, team);
}

int ictusi_delays_finish(struct least_delays *d, struct team *team)
{
    int err = team ? team->agree(team, d->err) : d->err;
    err = err || !team ? err : rows_share(d, team);
    err = err ? err : pairs_list(d);
    return team ? team->agree(team, err) : err;
}

int64_t ictusi_delays_least(const struct least_delays *d, uint64_t row)
{
    int64_t least = DELAY_NONE;
    for (uint32_t i = 0; row != DELAY_NO_ROW && i < d->cells; i++) {
        const int64_t delay = d->delay[row * d->cells + i];
        least = delay < least ? delay : least;
    }
    return least;
}

double ictusi_delays_half_trip(const struct least_delays *d, const struct delay_pair *pair)
{
    const int64_t there = ictusi_delays_least(d, pair->row[0]);
    const int64_t back = ictusi_delays_least(d, pair->row[1]);
    return there == DELAY_NONE || back == DELAY_NONE ? -1 : ((double)there + (double)back) / 2;
}

/*
 * Collect all pairs that talk both ways. The true delays d_ab and d_ba are at least 0, so the
 * difference of the constants lies within (d_ab - d_ba) / 2 +- (d_ab + d_ba) / 2. The middle is the
 * observation; the half-width plus one tick serves as its standard error.
 */
static uint32_t edges_collect(const struct least_delays *d, struct edge *edges)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < d->pair_count; i++) {
        const struct delay_pair *pair = &d->pairs[i];
        const int64_t there = ictusi_delays_least(d, pair->row[0]);
        const int64_t back = ictusi_delays_least(d, pair->row[1]);
        if (there != DELAY_NONE && back != DELAY_NONE) {
            const double half = fabs((double)there + (double)back) / 2 + 1;
            edges[count++] = (struct edge){pair->a, pair->b, ((double)there - (double)back) / 2,
                                           1 / (half * half)};
        }
    }
    return count;
}

/*
 * y = L x, where L is the weighted Laplacian of the graph: the normal matrix of the least squares
 * problem.
 */
static void edges_laplacian(const struct edge *edges, uint32_t count, const double *x, double *y,
                            uint32_t n)
{
    memset(y, 0, n * sizeof *y);
    for (uint32_t i = 0; i < count; i++) {
        const double flow = edges[i].weight * (x[edges[i].a] - x[edges[i].b]);
        y[edges[i].a] += flow;
        y[edges[i].b] -= flow;
    }
}

static double dot_product(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/*
 * Minimise the sum over edges of w (offset - x_a + x_b)^2, by conjugate gradients on the normal
 * equations L x = r with a diagonal preconditioner. L is singular, because a constant may be added
 * to all clocks of a connected component. Starting from 0, the iteration stays in the subspace
 * orthogonal to these constants, so the weighted mean of each component is 0. work: 5 n.
 */
static void edges_solve(const struct edge *edges, uint32_t count, uint32_t n, double *x,
                        double *work)
{
    double *r = work;
    double *p = work + n;
    double *q = work + 2UL * n;
    double *d = work + 3UL * n;
    double *z = work + 4UL * n;
    memset(work, 0, 5UL * n * sizeof *work);
    memset(x, 0, n * sizeof *x);
    for (uint32_t i = 0; i < count; i++) {
        r[edges[i].a] += edges[i].weight * edges[i].offset;
        r[edges[i].b] -= edges[i].weight * edges[i].offset;
        d[edges[i].a] += edges[i].weight;
        d[edges[i].b] += edges[i].weight;
    }
    for (uint32_t i = 0; i < n; i++) {
        z[i] = d[i] > 0 ? r[i] / d[i] : 0;
        p[i] = z[i];
    }
    double rho = dot_product(r, z, n);
    const double enough = rho * 1e-24; /* residuals of 1e-12 of the first ones */
    for (int step = 0; step < CG_STEPS && rho > enough; step++) {
        edges_laplacian(edges, count, p, q, n);
        const double alpha = rho / dot_product(p, q, n);
        if (!isfinite(alpha)) {
            break;
        }
        for (uint32_t i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            z[i] = d[i] > 0 ? r[i] / d[i] : 0;
        }
        const double next = dot_product(r, z, n);
        for (uint32_t i = 0; i < n; i++) {
            p[i] = z[i] + next / rho * p[i];
        }
        rho = next;
    }
}

int ictusi_delays_constants(const struct least_delays *d, double *constants)
{
    const uint32_t n = d->clocks;
    struct edge *edges = malloc((d->pair_count + 1) * sizeof *edges);
    double *work = malloc((n + 1UL) * 5 * sizeof *work);
    const int err = edges && work ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        edges_solve(edges, edges_collect(d, edges), n, constants, work);
    }
    free(edges);
    free(work);
    return err;
}
