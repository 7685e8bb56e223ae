/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The middle between the bounds that messages give (Duda et al. 1987 for one pair), solved by
 * weighted least squares on the graph of clocks, per stretch of time; a clock whose stretches lie
 * on a line as well as their own scatter allows gets that line.
 */
#include "causality/fit.h"

#include "core/container.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAX = 256, CELLS_MAX = 1 << 22, CG_STEPS = 400 };

/* One bidirectional pair of clocks in one stretch of time. */
struct edge {
    uint32_t a, b;
    double offset, weight; /* phi_a - phi_b, ticks */
};

static void on_pair(struct observer *observer, uint32_t point, uint32_t from, uint32_t to,
                    int64_t delay)
{
    struct fit *fit = container_of(observer, struct fit, observer);
    if (from == LAYOUT_NONE || (fit->history->points.kind[point] & POINT_CLASS) == POINT_THREAD) {
        return;
    }
    const uint32_t a = fit->unit_of[from];
    const uint32_t b = fit->unit_of[to];
    if (a == b) {
        return;
    }
    int64_t block = (int64_t)((double)(fit->stamps[point] - fit->from) * fit->per_tick);
    block = block < 0 ? 0 : block;
    block = block < fit->blocks ? block : fit->blocks - 1;
    int64_t *least = &fit->least[((uint64_t)a * fit->units + b) * fit->blocks + (uint64_t)block];
    *least = delay < *least ? delay : *least;
}

int ictusi_fit_init(struct fit *fit, const struct history *history, const uint32_t *unit_of,
                    uint32_t units, int64_t from, int64_t to, bool fine)
{
    *fit =
        (struct fit){.observer = {on_pair}, .history = history, .unit_of = unit_of, .units = units};
    if (units > FIT_UNITS_MAX) {
        return ICTUS_ERR_UNSUPPORTED;
    }
    fit->stamps = history->points.time;
    fit->from = from;
    fit->length = to > from ? to - from : 1;
    fit->blocks = fine ? BLOCKS_MAX : 1;
    while (fit->blocks > 1 && (uint64_t)units * units * fit->blocks > CELLS_MAX) {
        fit->blocks /= 2;
    }
    fit->cells = (uint64_t)units * units * fit->blocks;
    fit->per_tick = (double)fit->blocks / (double)fit->length;
    fit->least = malloc(fit->cells * sizeof *fit->least);
    if (!fit->least) {
        return ICTUS_ERR_NOMEM;
    }
    ictusi_fit_clear(fit);
    return ICTUS_OK;
}

void ictusi_fit_fini(struct fit *fit)
{
    free(fit->least);
    fit->least = NULL;
}

void ictusi_fit_clear(struct fit *fit)
{
    for (uint64_t i = 0; i < fit->cells; i++) {
        fit->least[i] = INT64_MAX;
    }
}

/* The least delay from a to b in blocks [low, high); INT64_MAX for none. */
static int64_t least_of(const struct fit *fit, uint32_t a, uint32_t b, uint32_t low, uint32_t high)
{
    const int64_t *row = &fit->least[((uint64_t)a * fit->units + b) * fit->blocks];
    int64_t least = INT64_MAX;
    for (uint32_t i = low; i < high; i++) {
        least = row[i] < least ? row[i] : least;
    }
    return least;
}

double ictusi_fit_half_trip(const struct fit *fit, uint32_t a, uint32_t b)
{
    const int64_t there = least_of(fit, a, b, 0, fit->blocks);
    const int64_t back = least_of(fit, b, a, 0, fit->blocks);
    return there == INT64_MAX || back == INT64_MAX ? -1 : ((double)there + (double)back) / 2;
}

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The edges of one stretch, and how many separate groups of clocks they leave. */
static uint32_t collect(const struct fit *fit, uint32_t low, uint32_t high, struct edge *edges,
                        uint32_t *count, uint32_t *parent)
{
    uint32_t groups = fit->units;
    *count = 0;
    for (uint32_t i = 0; i < fit->units; i++) {
        parent[i] = i;
    }
    for (uint32_t a = 0; a < fit->units; a++) {
        for (uint32_t b = a + 1; b < fit->units; b++) {
            const int64_t there = least_of(fit, a, b, low, high);
            const int64_t back = there == INT64_MAX ? INT64_MAX : least_of(fit, b, a, low, high);
            if (back == INT64_MAX) {
                continue;
            }
            const double half = fabs((double)there + (double)back) / 2 + 1;
            edges[(*count)++] =
                (struct edge){a, b, ((double)there - (double)back) / 2, 1 / (half * half)};
            const uint32_t x = root_of(parent, a);
            const uint32_t y = root_of(parent, b);
            groups -= x != y;
            parent[x > y ? x : y] = x > y ? y : x;
        }
    }
    return groups;
}

static void laplacian(const struct edge *edges, uint32_t count, const double *x, double *y,
                      uint32_t n)
{
    memset(y, 0, n * sizeof *y);
    for (uint32_t i = 0; i < count; i++) {
        const double flow = edges[i].weight * (x[edges[i].a] - x[edges[i].b]);
        y[edges[i].a] += flow;
        y[edges[i].b] -= flow;
    }
}

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Conjugate gradients on the graph's Laplacian, preconditioned by its diagonal. */
static void solve_edges(const struct edge *edges, uint32_t count, uint32_t n, double *x,
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
    double rho = dot(r, z, n);
    const double enough = rho * 1e-24;
    for (int step = 0; step < CG_STEPS && rho > enough; step++) {
        laplacian(edges, count, p, q, n);
        const double alpha = rho / dot(p, q, n);
        if (!isfinite(alpha)) {
            break;
        }
        for (uint32_t i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            z[i] = d[i] > 0 ? r[i] / d[i] : 0;
        }
        const double next = dot(r, z, n);
        for (uint32_t i = 0; i < n; i++) {
            p[i] = z[i] + next / rho * p[i];
        }
        rho = next;
    }
}

struct solver {
    struct edge *edges;
    uint32_t *parent;
    double *x, *work;
};

static void solver_fini(struct solver *s)
{
    free(s->edges);
    free(s->parent);
    free(s->x);
    free(s->work);
}

static int solver_init(struct solver *s, uint32_t units)
{
    s->edges = malloc(((uint64_t)units * units / 2 + 1) * sizeof *s->edges);
    s->parent = malloc((units + 1UL) * sizeof *s->parent);
    s->x = malloc((units + 1UL) * sizeof *s->x);
    s->work = malloc((units + 1UL) * 5 * sizeof *s->work);
    if (s->edges && s->parent && s->x && s->work) {
        return ICTUS_OK;
    }
    solver_fini(s);
    return ICTUS_ERR_NOMEM;
}

/*
 * The finest division of the trace in which the clocks hang together as in the whole, in most of
 * the parts: a trace may begin and end without messages.
 */
static uint32_t choose_parts(const struct fit *fit, struct solver *s)
{
    uint32_t count = 0;
    const uint32_t groups = collect(fit, 0, fit->blocks, s->edges, &count, s->parent);
    for (uint32_t parts = fit->blocks; parts > 1; parts /= 2) {
        const uint32_t span = fit->blocks / parts;
        uint32_t whole = 0;
        for (uint32_t i = 0; i < parts; i++) {
            whole += collect(fit, i * span, (i + 1) * span, s->edges, &count, s->parent) == groups;
        }
        if (whole * 4 >= parts * 3) {
            return parts;
        }
    }
    return 1;
}

/* Parts without a solution lie on the line between their neighbours, or like the nearest one. */
static void fill_gaps(double *values, const bool *solved, uint32_t parts)
{
    uint32_t last = parts;
    for (uint32_t i = 0; i < parts; i++) {
        if (!solved[i]) {
            continue;
        }
        const uint32_t from = last == parts ? 0 : last + 1;
        for (uint32_t k = from; k < i; k++) {
            values[k] = last == parts ? values[i]
                                      : values[last] + (values[i] - values[last]) *
                                                           (double)(k - last) / (double)(i - last);
        }
        last = i;
    }
    for (uint32_t k = last + 1; last < parts && k < parts; k++) {
        values[k] = values[last];
    }
}

/* The value at block b of a line through the middles of the parts. */
static double part_value(const double *values, uint32_t parts, uint32_t span, uint32_t b)
{
    const double at = ((double)b + 0.5) / (double)span - 0.5;
    if (parts == 1) {
        return values[0];
    }
    double low = floor(at);
    low = low < 0 ? 0 : low;
    low = low > parts - 2 ? parts - 2 : low;
    const uint32_t i = (uint32_t)low;
    return values[i] + (at - low) * (values[i + 1] - values[i]);
}

static void solve_parts(const struct fit *fit, struct solver *s, uint32_t parts, double *values,
                        bool *solved)
{
    const uint32_t span = fit->blocks / parts;
    uint32_t count = 0;
    const uint32_t groups = collect(fit, 0, fit->blocks, s->edges, &count, s->parent);
    for (uint32_t i = 0; i < parts; i++) {
        solved[i] = collect(fit, i * span, (i + 1) * span, s->edges, &count, s->parent) == groups;
        solve_edges(s->edges, count, fit->units, s->x, s->work);
        for (uint32_t u = 0; u < fit->units; u++) {
            values[(uint64_t)u * parts + i] = s->x[u] - s->x[root_of(s->parent, u)];
        }
    }
}

int ictusi_fit_solve(struct fit *fit, double *knots, uint32_t *used)
{
    struct solver s;
    int err = solver_init(&s, fit->units);
    if (err) {
        return err;
    }
    const uint32_t parts = choose_parts(fit, &s);
    double *values = calloc((uint64_t)fit->units * parts, sizeof *values);
    bool *solved = calloc(parts, sizeof *solved);
    if (values && solved) {
        solve_parts(fit, &s, parts, values, solved);
        for (uint32_t u = 0; u < fit->units; u++) {
            double *row = &values[(uint64_t)u * parts];
            fill_gaps(row, solved, parts);
            for (uint32_t b = 0; b < fit->blocks; b++) {
                knots[(uint64_t)u * fit->blocks + b] +=
                    part_value(row, parts, fit->blocks / parts, b);
            }
        }
        *used = parts;
    } else {
        err = ICTUS_ERR_NOMEM;
    }
    free(values);
    free(solved);
    solver_fini(&s);
    return err;
}

int ictusi_fit_constants(struct fit *fit, double *constants)
{
    struct solver s;
    bool solved = false;
    const int err = solver_init(&s, fit->units);
    if (err) {
        return err;
    }
    solve_parts(fit, &s, 1, constants, &solved);
    solver_fini(&s);
    for (uint64_t i = 0; i < fit->cells; i++) {
        const uint64_t pair = i / fit->blocks;
        if (fit->least[i] != INT64_MAX) {
            fit->least[i] +=
                llround(constants[pair % fit->units]) - llround(constants[pair / fit->units]);
        }
    }
    return ICTUS_OK;
}

void ictusi_fit_straighten(double *knots, uint32_t n, uint32_t parts)
{
    if (n < 2 || parts < 2) {
        return;
    }
    /* White scatter of sd s has second differences of sd sqrt(6) s; parts, not knots, are free. */
    const uint32_t span = n / parts;
    double sx = 0;
    double sy = 0;
    double sxx = 0;
    double sxy = 0;
    for (uint32_t i = 0; i < n; i++) {
        sx += i;
        sy += knots[i];
        sxx += (double)i * i;
        sxy += i * knots[i];
    }
    const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    const double start = (sy - slope * sx) / n;
    double rest = 0;
    double bends = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double r = knots[i] - start - slope * i;
        rest += r * r;
    }
    uint32_t m = 0;
    for (uint32_t i = span / 2; i + 2 * span < n; i += span, m++) {
        const double bend = knots[i] - 2 * knots[i + span] + knots[i + 2 * span];
        bends += bend * bend;
    }
    const double scatter = m ? sqrt(bends / m / 6) : 0;
    if (m >= 2 && sqrt(rest / n) > 1.5 * scatter + 1) {
        return; /* it wanders: keep the pieces */
    }
    for (uint32_t i = 0; i < n; i++) {
        knots[i] = start + slope * i;
    }
}
