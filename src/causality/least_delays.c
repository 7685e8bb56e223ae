/* SPDX-License-Identifier: BSD-3-Clause */
/* Collecting least delays, and what they say of constant offsets (Duda et al. 1987 for one pair).
 */
#include "causality/least_delays.h"

#include "core/container.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DELAYS_CELLS_MAX = 1 << 22, CG_STEPS = 400 };

/* A pair of clocks that talks both ways. */
struct edge {
    uint32_t a, b;
    double offset, weight; /* of a's and b's constants: a - b, ticks */
};

/*
 * Called for each pair of events that depend on each other. Kept is only the shortest delay (ticks,
 * negative where the clocks contradict the order) of each ordered pair of clocks in each cell of
 * time: waiting lengthens delays, so the shortest one says most of the clocks. It may be of any
 * message, and ties are broken by the instant, so that the result does not depend on the order in
 * which ranks or threads deliver the pairs. Dependencies of threads are not messages between
 * clocks.
 */
static void delays_observe(struct observer *observer, uint32_t point, uint32_t from, uint32_t to,
                           int64_t delay)
{
    struct least_delays *d = container_of(observer, struct least_delays, observer);
    if (from == LAYOUT_NONE || (d->history->points.kind[point] & POINT_CLASS) == POINT_THREAD) {
        return;
    }
    const uint32_t a = d->clock_of[from];
    const uint32_t b = d->clock_of[to];
    if (a == b) {
        return;
    }
    const int64_t time = d->values[point];
    int64_t cell = (int64_t)((double)(time - d->from) * d->per_tick);
    cell = cell < 0 ? 0 : cell;
    cell = cell < d->cells ? cell : d->cells - 1;
    const uint64_t i = ((uint64_t)a * d->clocks + b) * d->cells + (uint64_t)cell;
    const int64_t instant = time - delay / 2; /* between the sending and the arrival */
    if (delay < d->delay[i] || (delay == d->delay[i] && instant < d->instant[i])) {
        d->delay[i] = delay;
        d->instant[i] = instant;
    }
}

int ictusi_delays_init(struct least_delays *d, const struct history *history,
                       const uint32_t *clock_of, uint32_t clocks, uint32_t cells)
{
    *d = (struct least_delays){.observer = {delays_observe},
                               .history = history,
                               .clock_of = clock_of,
                               .clocks = clocks,
                               .cells = cells};
    if (clocks > DELAYS_CLOCKS_MAX) {
        return ICTUS_ERR_UNSUPPORTED;
    }
    /* Memory grows with the square of the clocks: coarser time rather than more of it. */
    while (d->cells > 1 && (uint64_t)clocks * clocks * d->cells > DELAYS_CELLS_MAX) {
        d->cells /= 2;
    }
    d->count = (uint64_t)clocks * clocks * d->cells;
    d->delay = malloc((d->count + 1) * sizeof *d->delay);
    d->instant = malloc((d->count + 1) * sizeof *d->instant);
    return d->delay && d->instant ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_delays_fini(struct least_delays *d)
{
    free(d->delay);
    free(d->instant);
    d->delay = NULL;
    d->instant = NULL;
}

void ictusi_delays_begin(struct least_delays *d, const int64_t *values, int64_t from, int64_t to)
{
    d->values = values;
    d->from = from;
    d->length = to > from ? to - from : 1;
    d->per_tick = (double)d->cells / (double)d->length;
    for (uint64_t i = 0; i < d->count; i++) {
        d->delay[i] = DELAY_NONE;
        d->instant[i] = INT64_MAX;
    }
}

int64_t ictusi_delays_least(const struct least_delays *d, uint32_t from, uint32_t to)
{
    const int64_t *row = &d->delay[((uint64_t)from * d->clocks + to) * d->cells];
    int64_t least = DELAY_NONE;
    for (uint32_t i = 0; i < d->cells; i++) {
        least = row[i] < least ? row[i] : least;
    }
    return least;
}

double ictusi_delays_half_trip(const struct least_delays *d, uint32_t a, uint32_t b)
{
    const int64_t there = ictusi_delays_least(d, a, b);
    const int64_t back = ictusi_delays_least(d, b, a);
    return there == DELAY_NONE || back == DELAY_NONE ? -1 : ((double)there + (double)back) / 2;
}

/*
 * All pairs that talk both ways. With the least delays d_ab and d_ba, both at least 0 in truth, the
 * difference of the constants lies within (d_ab - d_ba) / 2 +- (d_ab + d_ba) / 2. The middle is the
 * observation; the half-width, plus one tick, stands for its standard error.
 */
static uint32_t edges_collect(const struct least_delays *d, struct edge *edges)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < d->clocks; a++) {
        for (uint32_t b = a + 1; b < d->clocks; b++) {
            const int64_t there = ictusi_delays_least(d, a, b);
            const int64_t back = there == DELAY_NONE ? there : ictusi_delays_least(d, b, a);
            if (back != DELAY_NONE) {
                const double half = fabs((double)there + (double)back) / 2 + 1;
                edges[count++] =
                    (struct edge){a, b, ((double)there - (double)back) / 2, 1 / (half * half)};
            }
        }
    }
    return count;
}

/* y = L x, where L is the graph's weighted Laplacian: the normal matrix of the least squares. */
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
 * Minimise sum over edges of w (offset - x_a + x_b)^2 by conjugate gradients on the normal
 * equations L x = r, preconditioned by the diagonal. L is singular, as a constant may be added to
 * all clocks of a connected component; beginning at 0 the iteration stays in the subspace without
 * it, so each component's constants have the weighted mean 0. work: 5 n.
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
    const double enough = rho * 1e-24; /* residuals 1e-12 of the first ones */
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
    struct edge *edges = malloc(((uint64_t)n * n / 2 + 1) * sizeof *edges);
    double *work = malloc((n + 1UL) * 5 * sizeof *work);
    const int err = edges && work ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        edges_solve(edges, edges_collect(d, edges), n, constants, work);
    }
    free(edges);
    free(work);
    return err;
}
