/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Least delays both ways say how far two clocks can be apart: with d_ab the least delay seen from a
 * to b in a cell of time, the error e_b - e_a lies in [-d_ba, d_ab]. What one cell shows, its
 * neighbours know too, but for what clocks may drift apart meanwhile. Half a round trip h is the
 * trace's least h0, of which each way may have some share k more or less; where it is longer there
 * was queueing, divided between both ways nobody knows how; and the least delay itself is too long
 * by about the gap g to the next ones, as the least of many exponential ones is. Queueing and gaps
 * are two views of one excess, of which the larger counts:
 *
 *     s^2 = max((h - h0)^2 / 3, (g_ab^2 + g_ba^2) / 4) + (k h0)^2 / 6,   k = 0.3
 *
 * All pairs together make a network of measurements. Its least squares solution is taken off clocks
 * that messages have brought together before; the errors of that solution are what is drawn.
 * Asymmetry of one path cannot be seen, but round a loop of paths errors must add up to nothing,
 * and what they do add up to tells how large they are. Clocks that are believed as they are may be
 * anywhere between there and that solution.
 */
#include "waits/message_errors.h"

#include "core/laplacian.h"
#include "core/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 256, LEAST_KEPT = 4 };
static const double drift_apart = 1e-6; /* of clocks brought together, from cell to cell */
static const double asymmetry = 0.3;    /* share of half a round trip, uniform in +- */
static const double loops_presumed = 4; /* how many loops what is presumed of it is worth */

/* The pairs of clocks that see each other both ways, and what that is worth at one knot. */
struct network {
    struct graph_edge *edges;
    const struct delay_pair **pairs; /* of each edge */
    double *sigma;
    double *scatter; /* variance of a pair's middle from how its least delays scatter */
    uint64_t count;
    struct laplacian laplacian;
};

/* A pair's delays in one direction, in which somebody talks. */
static const int64_t *delays_row(const struct least_delays *seen, const struct delay_pair *pair,
                                 int way)
{
    return &seen->delay[pair->row[way] * seen->cells];
}

static bool talks_both_ways(const struct delay_pair *pair)
{
    return pair->row[0] != DELAY_NO_ROW && pair->row[1] != DELAY_NO_ROW;
}

/*
 * By how much the least delay of an ordered pair may be too long; negative: none was seen. Of the
 * least of many, gaps to the next ones are as large as what is missing below.
 */
static double delays_excess(const int64_t *row, uint32_t cells)
{
    int64_t least[LEAST_KEPT];
    uint32_t n = 0;
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t at = n;
        while (row[i] != DELAY_NONE && at > 0 && least[at - 1] > row[i]) {
            at--;
            if (at + 1 < LEAST_KEPT) {
                least[at + 1] = least[at];
            }
        }
        if (row[i] != DELAY_NONE && at < LEAST_KEPT) {
            least[at] = row[i];
            n += n < LEAST_KEPT;
        }
    }
    return n > 1 ? (double)(least[n - 1] - least[0]) / (n - 1) : (double)n - 1;
}

/* Cells learn from their neighbours. */
static void delays_tighten(const struct least_delays *seen)
{
    const int64_t more = (int64_t)ceil(drift_apart * (double)seen->length / seen->cells);
    for (uint64_t row = 0; row < seen->row_count; row++) {
        int64_t *d = &seen->delay[row * seen->cells];
        for (uint32_t i = 1; i < seen->cells; i++) {
            const int64_t before = d[i - 1] == DELAY_NONE ? DELAY_NONE : d[i - 1] + more;
            d[i] = before < d[i] ? before : d[i];
        }
        for (uint32_t i = seen->cells - 1; i-- > 0;) {
            const int64_t after = d[i + 1] == DELAY_NONE ? DELAY_NONE : d[i + 1] + more;
            d[i] = after < d[i] ? after : d[i];
        }
    }
}

/* Half of the least round trip of all: what no queue lengthens. */
static double delays_least_half(const struct least_delays *seen)
{
    double least = INFINITY;
    for (uint64_t p = 0; p < seen->pair_count; p++) {
        const struct delay_pair *pair = &seen->pairs[p];
        if (!talks_both_ways(pair)) {
            continue;
        }
        const int64_t *forth = delays_row(seen, pair, 0);
        const int64_t *back = delays_row(seen, pair, 1);
        for (uint32_t i = 0; i < seen->cells && forth[i] != DELAY_NONE && back[i] != DELAY_NONE;
             i++) {
            least = fmin(least, ((double)forth[i] + (double)back[i]) / 2);
        }
    }
    return least > 0 ? least : 0;
}

/* The cells that tell of a knot: of two, the first and the last third; else those around it. */
static void knot_cells(uint32_t cells, uint32_t knots, uint32_t knot, uint32_t *from, uint32_t *to)
{
    const double width = knots > 2 ? (double)cells / (knots - 1) : (double)cells / 1.5;
    const double middle = (double)knot * cells / (knots - 1);
    const double low = middle - width / 2;
    const double high = middle + width / 2;
    *from = low > 0 ? (uint32_t)low : 0;
    *to = high < cells ? (uint32_t)ceil(high) : cells;
    *from = *from < *to ? *from : *to - 1;
}

/* The surest cell of a pair: the error's middle, and by how much half of the round trip exceeds the
 * least one; negative: not seen. */
static double pair_measure(const struct least_delays *seen, const struct delay_pair *pair,
                           const uint32_t span[2], double least, double *middle)
{
    const int64_t *forth = delays_row(seen, pair, 0);
    const int64_t *back = delays_row(seen, pair, 1);
    double best = INFINITY;
    for (uint32_t i = span[0]; i < span[1]; i++) {
        if (forth[i] == DELAY_NONE || back[i] == DELAY_NONE) {
            return -1;
        }
        const double half = ((double)forth[i] + (double)back[i]) / 2;
        if (half < best) {
            best = half;
            *middle = ((double)forth[i] - (double)back[i]) / 2;
        }
    }
    return best > least ? best - least : 0;
}

static int network_init(struct network *n, const struct least_delays *seen)
{
    n->edges = calloc(seen->pair_count + 1, sizeof *n->edges);
    n->pairs = calloc(seen->pair_count + 1, sizeof *n->pairs);
    n->sigma = calloc(seen->pair_count + 1, sizeof *n->sigma);
    n->scatter = calloc(seen->pair_count + 1, sizeof *n->scatter);
    if (!n->edges || !n->pairs || !n->sigma || !n->scatter) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < seen->pair_count; i++) {
        const struct delay_pair *pair = &seen->pairs[i];
        if (talks_both_ways(pair)) {
            const double forth = delays_excess(delays_row(seen, pair, 0), seen->cells);
            const double back = delays_excess(delays_row(seen, pair, 1), seen->cells);
            n->scatter[n->count] = (forth * forth + back * back) / 4;
            n->pairs[n->count] = pair;
            n->edges[n->count++] = (struct graph_edge){(int32_t)pair->a, (int32_t)pair->b, 0, 0};
        }
    }
    return ictusi_laplacian_create((int)seen->clocks, &n->laplacian);
}

static void network_fini(struct network *n)
{
    free(n->edges);
    free(n->pairs);
    free(n->sigma);
    free(n->scatter);
    ictusi_laplacian_free(&n->laplacian);
}

/* Whether the pairs connect all clocks. */
static bool network_is_whole(const struct network *n, uint32_t clocks, uint32_t *group)
{
    uint32_t groups = clocks;
    for (uint32_t i = 0; i < clocks; i++) {
        group[i] = i;
    }
    for (uint64_t i = 0; i < n->count; i++) {
        uint32_t a = (uint32_t)n->edges[i].a;
        uint32_t b = (uint32_t)n->edges[i].b;
        while (group[a] != a) {
            a = group[a] = group[group[a]];
        }
        while (group[b] != b) {
            b = group[b] = group[group[b]];
        }
        groups -= a != b;
        group[a > b ? a : b] = a > b ? b : a;
    }
    return groups == 1;
}

static void network_measure(struct network *n, const struct least_delays *seen, double least,
                            uint32_t knots, uint32_t knot)
{
    uint32_t span[2];
    knot_cells(seen->cells, knots, knot, &span[0], &span[1]);
    for (uint64_t i = 0; i < n->count; i++) {
        struct graph_edge *e = &n->edges[i];
        const double queue = pair_measure(seen, n->pairs[i], span, least, &e->y);
        const double bent = asymmetry * least;
        const double variance = fmax(queue * queue / 3, n->scatter[i]) + bent * bent / 6;
        n->sigma[i] = fmax(sqrt(variance), 0.5); /* half a tick */
        e->weight = queue >= 0 ? 1 / (n->sigma[i] * n->sigma[i]) : 0;
    }
}

/* Mean square of what the middles contradict each other by, in their own sigmas, over all loops. */
static int network_contradiction(struct network *n, double *x, uint32_t clocks, double *sum)
{
    memset(x, 0, clocks * sizeof *x);
    const int err = ictusi_laplacian_solve(&n->laplacian, n->edges, n->count, x);
    *sum = 0;
    for (uint64_t i = 0; i < n->count; i++) {
        const struct graph_edge *e = &n->edges[i];
        const double off = e->y - (x[e->b] - x[e->a]);
        *sum += off * off * e->weight;
    }
    return err;
}

/* How much larger errors are than presumed, as far as loops tell. */
static int network_factor(struct network *n, const struct least_delays *seen, double least,
                          uint32_t knots, double *factor)
{
    const double loops = (double)n->count - (double)seen->clocks + 1;
    double *x = calloc(seen->clocks, sizeof *x);
    double all = 0;
    int err = x ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint32_t k = 0; k < knots && !err; k++) {
        double sum = 0;
        network_measure(n, seen, least, knots, k);
        err = network_contradiction(n, x, seen->clocks, &sum);
        all += sum / knots;
    }
    free(x);
    *factor = sqrt((loops_presumed + all) / (loops_presumed + fmax(loops, 0)));
    return err;
}

/* One history at one knot: each pair errs by a part that all knots share, and one of its own. */
static int history_solve(struct network *n, struct rng *common, struct rng *own, double *x,
                         uint32_t clocks)
{
    for (uint64_t i = 0; i < n->count; i++) {
        n->edges[i].y =
            n->sigma[i] * (ictusi_random_normal(common) + ictusi_random_normal(own)) * M_SQRT1_2;
    }
    memset(x, 0, clocks * sizeof *x);
    return ictusi_laplacian_solve(&n->laplacian, n->edges, n->count, x);
}

/*
 * The draws of a clock at a knot have exactly its variance: 40 of them alone would err by 11 %.
 * What the solution moves the clock by is added, by one factor for all clocks and knots of a
 * history.
 */
static void history_scale(struct clock_errors *c, uint32_t knot, double variance, double off,
                          uint64_t seed)
{
    double *draws = &c->history[(size_t)knot * HISTORIES];
    double square = 0;
    for (int k = 0; k < HISTORIES; k++) {
        square += draws[k] * draws[k] / HISTORIES;
    }
    const double factor = square > 0 ? sqrt(variance / square) : 0;
    struct rng shared;
    ictusi_random_seed(&shared, seed, UINT64_MAX);
    for (int k = 0; k < HISTORIES; k++) {
        draws[k] = draws[k] * factor + off / sqrt(3) * ictusi_random_normal(&shared);
    }
    c->sigma[knot] = sqrt(variance + off * off / 3);
}

static int knot_draw(struct histories *h, struct network *n, uint64_t seed, uint32_t knot,
                     double factor, bool fitted)
{
    const uint32_t clocks = h->clock_count;
    double *x = calloc(3UL * clocks, sizeof *x);
    int err = x ? ICTUS_OK : ICTUS_ERR_NOMEM;
    /* What the middles say of the clocks as they are. */
    err = err ? err : ictusi_laplacian_solve(&n->laplacian, n->edges, n->count, x + 2UL * clocks);
    for (uint32_t k = 0; k < HISTORIES && !err; k++) {
        struct rng common;
        struct rng own;
        ictusi_random_seed(&common, seed, k);
        ictusi_random_seed(&own, seed, HISTORIES * (knot + 1UL) + k);
        err = history_solve(n, &common, &own, x, clocks);
        for (uint32_t c = 0; c < clocks && !err; c++) {
            h->clocks[c].history[(size_t)knot * HISTORIES + k] = x[c];
        }
    }
    err = err ? err
              : ictusi_laplacian_resistance(&n->laplacian, n->edges, n->count, x + clocks, NULL);
    for (uint32_t c = 0; c < clocks && !err; c++) {
        const double off = x[2UL * clocks + c];
        h->clocks[c].off[knot] = fitted ? off : 0;
        history_scale(&h->clocks[c], knot, factor * factor * fmax(0, x[clocks + c]),
                      fitted ? 0 : off, seed);
    }
    free(x);
    return err;
}

static int network_draw(struct histories *h, struct network *n, const struct session *s,
                        const struct least_delays *seen, uint32_t fitted)
{
    const uint32_t knots = fitted > 0 ? fitted : 2;
    const double least = delays_least_half(seen);
    double factor = 1;
    int err = network_factor(n, seen, least, knots, &factor);
    for (uint32_t c = 0; c < h->clock_count && !err; c++) {
        err = ictusi_clock_errors_init(&h->clocks[c], knots);
        for (uint32_t k = 0; k < knots && !err; k++) {
            h->clocks[c].times[k] = seen->from + (int64_t)((double)seen->length * k / (knots - 1));
        }
    }
    for (uint32_t k = 0; k < knots && !err; k++) {
        network_measure(n, seen, least, knots, k);
        err = knot_draw(h, n, s->trace->layout.length, k, factor, fitted > 0);
    }
    return err;
}

int ictusi_message_errors(struct histories *h, struct session *s, uint32_t fitted)
{
    struct least_delays seen = {.delay = NULL};
    struct network n = {.edges = NULL};
    uint32_t *group = NULL;
    h->source = SIGMA_UNKNOWN;
    if (s->to <= s->from) {
        return ICTUS_OK;
    }
    int err = ictusi_session_agree(
        s, ictusi_delays_init(&seen, &s->history, h->clock_of, h->clock_count, CELLS));
    if (!err) {
        ictusi_delays_begin(&seen, s->history.points.time, s->from, s->to);
        s->flow.observer = &seen.observer;
        s->flow.known = s->history.points.time;
        err = ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_CHECK));
    }
    err = err ? err : ictusi_delays_finish(&seen, s->team);
    if (!err) {
        group = calloc(h->clock_count, sizeof *group);
        err = group ? network_init(&n, &seen) : ICTUS_ERR_NOMEM;
        delays_tighten(&seen);
    }
    if (!err && network_is_whole(&n, h->clock_count, group)) {
        h->source = SIGMA_MESSAGES;
        err = network_draw(h, &n, s, &seen, fitted);
    }
    network_fini(&n);
    free(group);
    ictusi_delays_fini(&seen);
    return ictusi_session_agree(s, err);
}
