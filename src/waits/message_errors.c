/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least delays in both directions limit how far apart two clocks can be. With d_ab the least
 * delay seen from a to b in a cell of time, the error e_b - e_a lies in [-d_ba, d_ab] there. If
 * clocks are lines (two knots), so is the error, and the lines of error_lines.h are what the cells
 * of the whole run permit. If clocks walk, the lines are taken over the two stretches next to a
 * knot.
 *
 * No message takes less time than its path. Let h0 be half of the least round trip of the trace.
 * Each bound is first narrowed by h0 - g, where g is how much the least delays may
 * themselves be too long. g is the gap to the next larger delays, because the least of many
 * exponential delays exceeds the true minimum by about as much as it is below the next one. Let s^2
 * be the variance over the remaining lines, taken as equally likely. It overstates the errors that
 * are observed with known clocks (bench/waits/cover), since lines near the middle are more likely.
 * The error of a pair consists of its own part and one part for each of its clocks. A clock's part
 * is the same in all its pairs, because one late exit from a collective lengthens the delays of all
 * members. So the variance is
 *
 *     0.15 s^2 + (k h0)^2 / 6 of the pair, k = 0.3, and 0.1 min s^2 of each clock.
 *
 * Threads of one process that have clocks of their own meet in barriers and pass each other locks.
 * There, one event may follow another one at once, in either direction, or after any time. So no
 * path can be told from the bounds: they stay as they are, and all lines within them are equally
 * likely.
 *
 * The pairs form a measurement network. Its least squares solution is subtracted from clocks that
 * messages have synchronised before, and the errors of that solution are what is drawn. The
 * asymmetry of a single path cannot be seen, but around a loop of paths the errors must add up to
 * zero, and what they actually add up to tells how large they are. Clocks that are taken as they
 * are may be anywhere between their present state and that solution. That goes for clocks that
 * nobody fitted, and for those of a network that leaves some clock uncertain by more than h0: the
 * middle of wide bounds is then a worse estimate than the fit, which weighs all delays together.
 */
#include "waits/message_errors.h"

#include "core/laplacian.h"
#include "core/random.h"
#include "waits/error_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 256, LEAST_KEPT = 4 };
static const double drift_most = 2e-4;  /* of two clocks relative to each other */
static const double drift_apart = 1e-6; /* of two walking clocks, from a line around a knot */
static const double asymmetry = 0.3;    /* share of half a round trip, uniform in +-asymmetry */
static const double of_pair = 0.15;     /* share of the variance of equally likely lines */
static const double of_clock = 0.1;     /* the same, for each of a pair's clocks */
static const double loops_presumed = 4; /* the weight of the presumed errors, in loops */

/*
 * The pairs of clocks with messages in both directions, and how well they are determined at one
 * knot.
 */
struct network {
    struct graph_edge *edges;
    const struct delay_pair **pairs; /* of each edge */
    double *sigma;                   /* ticks, of each edge at the present knot */
    double *bent;         /* the part of sigma common to all knots: asymmetry of the path */
    double *queue;        /* variance of the lines that no delay contradicts */
    double *own;          /* variance, by clock: an error common to all its pairs */
    double *least;        /* ticks, by edge: half of the least round trip; 0 between threads */
    double *drawn;        /* by clock: that common error in the present history */
    const uint32_t *home; /* by clock: for a thread's own clock that of its process, else itself */
    /* ticks by which the least delay of each direction may be too long, from the scatter */
    double *scatter;
    struct error_lines lines;
    uint64_t count;
    struct laplacian laplacian;
};

/* A pair's delays in one direction; there must be messages in it. */
static const int64_t *delays_row(const struct least_delays *seen, const struct delay_pair *pair,
                                 int way)
{
    return &seen->delay[pair->row[way] * seen->cells];
}

static bool message_errors_talks_both_ways(const struct delay_pair *pair)
{
    return pair->row[0] != DELAY_NO_ROW && pair->row[1] != DELAY_NO_ROW;
}

/*
 * How much the least delay of an ordered pair may be too long; negative: no delay was seen. The
 * least of many delays is about as far from the true minimum as from its neighbours. So the result
 * is the mean gap between the few least ones; a single delay has no gap.
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

/*
 * Propagate bounds to neighbouring cells, so that each cell has one. With each cell, a bound widens
 * by the most that clocks may drift in it. One pass forward and one back are enough, because the
 * second pass propagates what the first one brought.
 */
static void delays_tighten(const struct least_delays *seen)
{
    const int64_t more = (int64_t)ceil(drift_most * (double)seen->length / seen->cells);
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

/*
 * The cells that bear on a knot, and the knot's position among them, as a share. With two knots,
 * between which clocks are lines, all cells count; otherwise those up to the neighbouring knots.
 */
static double knot_cells(const struct least_delays *seen, const struct delay_pair *pair,
                         uint32_t knots, uint32_t knot, struct delay_cells *cells)
{
    const double width = (double)seen->cells / (knots - 1);
    const double at = width * knot;
    const double low = knots > 2 ? fmax(0, at - width) : 0;
    const double high = knots > 2 ? fmin(seen->cells, at + width) : seen->cells;
    cells->forth = delays_row(seen, pair, 0);
    cells->back = delays_row(seen, pair, 1);
    cells->from = (uint32_t)low;
    cells->to = (uint32_t)ceil(high);
    const double cell = (double)seen->length / seen->cells; /* ticks */
    cells->drift = drift_most * cell * (cells->to - cells->from);
    cells->near = at;
    cells->apart = knots > 2 ? drift_apart * cell : 0;
    return (at - cells->from) / (cells->to - cells->from);
}

/*
 * Whether two clocks belong to one process. Its threads are closer to each other than processes
 * are.
 */
static bool edge_is_within(const struct network *n, uint64_t i)
{
    return n->home[n->edges[i].a] == n->home[n->edges[i].b];
}

/*
 * Half of the least round trip of all pairs between processes, which no queueing lengthens. Threads
 * of a process have none.
 */
static void network_least_half(struct network *n, const struct least_delays *seen, uint32_t knots)
{
    double least = INFINITY;
    for (uint64_t i = 0; i < n->count; i++) {
        for (uint32_t k = 0; k < (knots > 2 ? knots : 1) && !edge_is_within(n, i); k++) {
            struct delay_cells cells;
            (void)knot_cells(seen, n->pairs[i], knots, k, &cells);
            least = fmin(least, ictusi_error_lines_margin(&n->lines, &cells) / 2);
        }
    }
    for (uint64_t i = 0; i < n->count; i++) {
        n->least[i] = edge_is_within(n, i) ? 0 : fmax(0, least);
    }
}

static int network_init(struct network *n, const struct least_delays *seen, const uint32_t *home)
{
    n->edges = calloc(seen->pair_count + 1, sizeof *n->edges);
    n->pairs = calloc(seen->pair_count + 1, sizeof *n->pairs);
    n->sigma = calloc(seen->pair_count + 1, sizeof *n->sigma);
    n->bent = calloc(seen->pair_count + 1, sizeof *n->bent);
    n->queue = calloc(seen->pair_count + 1, sizeof *n->queue);
    n->own = calloc(seen->clocks + 1, sizeof *n->own);
    n->least = calloc(seen->pair_count + 1, sizeof *n->least);
    n->drawn = calloc(seen->clocks + 1, sizeof *n->drawn);
    n->scatter = calloc(seen->pair_count + 1, sizeof *n->scatter);
    n->home = home;
    if (!n->edges || !n->pairs || !n->sigma || !n->bent || !n->queue || !n->own || !n->least ||
        !n->drawn || !n->scatter) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < seen->pair_count; i++) {
        const struct delay_pair *pair = &seen->pairs[i];
        if (message_errors_talks_both_ways(pair)) {
            const double forth = delays_excess(delays_row(seen, pair, 0), seen->cells);
            const double back = delays_excess(delays_row(seen, pair, 1), seen->cells);
            n->scatter[n->count] = fmax(0.5, sqrt(3 * (forth * forth + back * back) / 4));
            n->pairs[n->count] = pair;
            n->edges[n->count++] = (struct graph_edge){(int32_t)pair->a, (int32_t)pair->b, 0, 0};
        }
    }
    const int err = ictusi_error_lines_init(&n->lines, seen->cells);
    return err ? err : ictusi_laplacian_create((int)seen->clocks, &n->laplacian);
}

static void network_fini(struct network *n)
{
    free(n->edges);
    free(n->pairs);
    free(n->sigma);
    free(n->bent);
    free(n->queue);
    free(n->own);
    free(n->least);
    free(n->drawn);
    free(n->scatter);
    ictusi_error_lines_fini(&n->lines);
    ictusi_laplacian_free(&n->laplacian);
}

/*
 * Whether the pairs connect all clocks. group becomes the lowest clock of each clock's connected
 * group, which is always the root of its group.
 */
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
    for (uint32_t i = 0; i < clocks; i++) {
        group[i] = group[group[i]]; /* lower numbers are done already and give the lowest */
    }
    return groups == 1;
}

/*
 * Measure a pair's difference at a knot from its bounds. Each bound is narrowed by half the least
 * round trip, minus what that may itself be too long. If clocks are lines, knot 0 stands for the
 * difference in the middle of the run, and knot 1 for how much it grows from there to the end: for
 * most pairs these two are known almost independently of each other.
 */
static void pair_measure(struct network *n, uint64_t i, const struct least_delays *seen,
                         uint32_t knots, uint32_t knot)
{
    struct delay_cells cells;
    struct graph_edge *e = &n->edges[i];
    const double least = n->least[i];
    const double at = knot_cells(seen, n->pairs[i], knots, knot, &cells);
    const double margin = ictusi_error_lines_margin(&n->lines, &cells);
    const double shrink = margin > 0 ? fmax(0, least - n->scatter[i]) : margin;
    const struct line_spread line = ictusi_error_lines_spread(&n->lines, shrink);
    const bool slope = knots == 2 && knot == 1;
    const double by[2] = {knots > 2 ? 1 - at : slope ? -0.5 : 0.5, knots > 2 ? at : 0.5};
    const double variance = by[0] * by[0] * line.square[0] + by[1] * by[1] * line.square[1] +
                            2 * by[0] * by[1] * line.product;
    n->bent[i] = slope ? 0 : asymmetry * least / sqrt(6);
    n->queue[i] = fmax(0, variance);
    const double share = edge_is_within(n, i) ? 1 : of_pair;
    n->sigma[i] = fmax(sqrt(share * n->queue[i] + n->bent[i] * n->bent[i]), 0.5); /* half a tick */
    e->y = by[0] * line.mean[0] + by[1] * line.mean[1];
    e->weight = 1 / (n->sigma[i] * n->sigma[i]);
}

static void network_measure(struct network *n, const struct least_delays *seen, uint32_t knots,
                            uint32_t knot)
{
    for (uint32_t c = 0; c < seen->clocks; c++) {
        n->own[c] = INFINITY;
    }
    for (uint64_t i = 0; i < n->count; i++) {
        pair_measure(n, i, seen, knots, knot);
        const uint32_t ends[2] = {(uint32_t)n->edges[i].a, (uint32_t)n->edges[i].b};
        /* a process's clock also stands for those of all its threads */
        for (int k = 0; k < 2; k++) {
            if (!edge_is_within(n, i) || n->home[ends[k]] != ends[k]) {
                n->own[ends[k]] = fmin(n->own[ends[k]], of_clock * n->queue[i]);
            }
        }
    }
    for (uint32_t c = 0; c < seen->clocks; c++) {
        n->own[c] = isfinite(n->own[c]) ? n->own[c] : 0;
    }
}

/*
 * The mean square by which the measured differences contradict each other, in units of their own
 * sigmas, summed over all loops. Along a tree of pairs the solution absorbs all contradictions, so
 * only loops leave any. Pairs of threads of one process are left out.
 */
static int network_contradiction(struct network *n, double *x, uint32_t clocks, double *sum)
{
    memset(x, 0, clocks * sizeof *x);
    const int err = ictusi_laplacian_solve(&n->laplacian, n->edges, n->count, x);
    *sum = 0;
    for (uint64_t i = 0; i < n->count; i++) {
        if (edge_is_within(n, i)) {
            continue;
        }
        const struct graph_edge *e = &n->edges[i];
        const double off = e->y - (x[e->b] - x[e->a]);
        *sum += off * off * e->weight;
    }
    return err;
}

/*
 * How much larger the errors are than presumed, as far as loops tell. With the presumed errors,
 * each loop would contribute 1 on average. A few loops prove little, so the presumed errors are
 * included with a fixed weight. This is about paths, and threads of one process have none.
 */
static int network_factor(struct network *n, const struct least_delays *seen, uint32_t knots,
                          double *factor)
{
    double loops = 1;
    for (uint64_t i = 0; i < n->count; i++) {
        loops += !edge_is_within(n, i);
    }
    for (uint32_t c = 0; c < seen->clocks; c++) {
        loops -= n->home[c] == c;
    }
    double *x = calloc(seen->clocks, sizeof *x);
    double all = 0;
    int err = x ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint32_t k = 0; k < knots && !err; k++) {
        double sum = 0;
        network_measure(n, seen, knots, k);
        err = network_contradiction(n, x, seen->clocks, &sum);
        all += sum / knots;
    }
    free(x);
    *factor = sqrt((loops_presumed + all) / (loops_presumed + fmax(loops, 0)));
    return err;
}

/*
 * Draw one history at one knot. Each pair errs by its path's asymmetry, which all knots share, and
 * by the rest of its sigma. If clocks walk, half of the rest is common to all knots. If clocks are
 * lines, their middles and slopes are drawn. Both random streams are advanced equally in all cases,
 * so that all knots of a history see the same common part.
 */
static int history_solve(struct network *n, struct rng *common, struct rng *own, bool walk,
                         double *x, uint32_t clocks)
{
    for (uint64_t i = 0; i < n->count; i++) {
        const double bent = n->bent[i] * ictusi_random_normal(common);
        const double shared = ictusi_random_normal(common);
        const double alone = ictusi_random_normal(own);
        const double rest = sqrt(fmax(0, n->sigma[i] * n->sigma[i] - n->bent[i] * n->bent[i]));
        n->edges[i].y = bent + rest * (walk ? (shared + alone) * M_SQRT1_2 : alone);
    }
    memset(x, 0, clocks * sizeof *x);
    const int err = ictusi_laplacian_solve(&n->laplacian, n->edges, n->count, x);
    for (uint32_t c = 0; c < clocks; c++) {
        const double shared = ictusi_random_normal(common);
        const double alone = ictusi_random_normal(own);
        n->drawn[c] = sqrt(n->own[c]) * (walk ? (shared + alone) * M_SQRT1_2 : alone);
        /* Errors are relative to the first clock. */
        x[c] += n->drawn[n->home[c]] + (n->home[c] != c ? n->drawn[c] : 0) - n->drawn[0];
    }
    return err;
}

/*
 * The solution at a knot, its variances (into sigma), and histories of it. The common random stream
 * is the same for all knots of a history; the other one belongs to this knot.
 */
static int knot_draw(struct histories *h, struct network *n, uint64_t seed, uint32_t knot,
                     double factor)
{
    const uint32_t clocks = h->clock_count;
    const bool walk = h->clocks[0].count > 2;
    double *x = calloc(2UL * clocks, sizeof *x);
    double *variance = x ? x + clocks : NULL;
    int err = x ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err : ictusi_laplacian_solve(&n->laplacian, n->edges, n->count, x);
    for (uint32_t c = 0; c < clocks && !err; c++) {
        h->clocks[c].off[knot] = x[c];
    }
    for (uint32_t k = 0; k < HISTORIES && !err; k++) {
        struct rng common;
        struct rng own;
        ictusi_random_seed(&common, seed, k);
        ictusi_random_seed(&own, seed, HISTORIES * (knot + 1UL) + k);
        err = history_solve(n, &common, &own, walk, x, clocks);
        for (uint32_t c = 0; c < clocks && !err; c++) {
            h->clocks[c].history[(size_t)knot * HISTORIES + k] = x[c];
        }
    }
    err =
        err ? err : ictusi_laplacian_resistance(&n->laplacian, n->edges, n->count, variance, NULL);
    for (uint32_t c = 0; c < clocks && !err; c++) {
        const uint32_t home = n->home[c];
        const double own = (home > 0 ? n->own[home] + n->own[0] : 0) + (home != c ? n->own[c] : 0);
        const double paths = fmax(0, fmin(variance[home], variance[c]));
        h->clocks[c].sigma[knot] =
            sqrt(factor * factor * paths + fmax(0, variance[c] - paths) + own);
    }
    free(x);
    return err;
}

/*
 * Convert middles and slopes of lines to values at both ends. The two parts are treated as
 * independent, so their variances add up at either end.
 */
static void clock_turn(struct clock_errors *c)
{
    const double square = c->sigma[0] * c->sigma[0] + c->sigma[1] * c->sigma[1];
    const double off[2] = {c->off[0] - c->off[1], c->off[0] + c->off[1]};
    for (size_t k = 0; k < HISTORIES; k++) {
        const double middle = c->history[k];
        const double slope = c->history[HISTORIES + k];
        c->history[k] = middle - slope;
        c->history[HISTORIES + k] = middle + slope;
    }
    for (int k = 0; k < 2; k++) {
        c->off[k] = off[k];
        c->sigma[k] = sqrt(square);
    }
}

/*
 * Scale the draws of a clock at a knot so that they have exactly its variance; the sample variance
 * of 40 draws would be off by 11 %. If clocks are taken as they are, the shift that the solution
 * calls for is another part of their error. It is multiplied by one random factor per history, for
 * all clocks and knots. A uniform distribution up to the full shift has a mean square of one third
 * of its square. The stream restarts each time, so that the factor is the same for all clocks and
 * knots.
 */
static void clock_scale(struct clock_errors *c, uint32_t knot, bool solved, uint64_t seed)
{
    double *draws = &c->history[(size_t)knot * HISTORIES];
    const double variance = c->sigma[knot] * c->sigma[knot];
    const double off = solved ? 0 : c->off[knot];
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
    c->off[knot] = solved ? c->off[knot] : 0;
}

/* Whether some clock is uncertain by more than half of the least round trip. */
static bool network_is_loose(const struct network *n, const struct histories *h)
{
    double least = 0;
    double worst = 0;
    for (uint64_t i = 0; i < n->count; i++) {
        least = fmax(least, n->least[i]);
    }
    for (uint32_t c = 0; c < h->clock_count; c++) {
        for (uint32_t k = 0; k < h->clocks[c].count; k++) {
            worst = fmax(worst, h->clocks[c].sigma[k]);
        }
    }
    return worst > least;
}

static int network_draw(struct histories *h, struct network *n, const struct session *s,
                        const struct least_delays *seen, uint32_t fitted)
{
    const uint32_t knots = fitted > 0 ? fitted : 2;
    const uint64_t seed = s->trace->layout.length;
    double factor = 1;
    network_least_half(n, seen, knots);
    int err = network_factor(n, seen, knots, &factor);
    for (uint32_t c = 0; c < h->clock_count && !err; c++) {
        err = ictusi_clock_errors_init(&h->clocks[c], knots);
        for (uint32_t k = 0; k < knots && !err; k++) {
            h->clocks[c].times[k] = seen->from + (int64_t)((double)seen->length * k / (knots - 1));
        }
    }
    for (uint32_t k = 0; k < knots && !err; k++) {
        network_measure(n, seen, knots, k);
        err = knot_draw(h, n, seed, k, factor);
    }
    const bool solved = fitted > 0 && !network_is_loose(n, h);
    for (uint32_t c = 0; c < h->clock_count && !err; c++) {
        if (knots == 2) {
            clock_turn(&h->clocks[c]);
        }
        for (uint32_t k = 0; k < knots; k++) {
            clock_scale(&h->clocks[c], k, solved, seed);
        }
    }
    return err;
}

/*
 * Collect the delays between clocks and make the network from them. Collective. The scatter of the
 * delays is taken before cells learn from their neighbours, which would hide it.
 */
static int network_see(struct network *n, struct least_delays *seen, const struct histories *h,
                       struct session *s)
{
    int err = ictusi_session_agree(s, ictusi_delays_init(seen, h->clock_of, h->clock_count, CELLS));
    if (!err) {
        ictusi_delays_begin(seen, s->history.points.time, s->from, s->to);
        s->flow.observer = &seen->observer;
        s->flow.known = s->history.points.time;
        err = ictusi_session_agree(s, ictusi_flow_run(&s->flow, FLOW_CHECK));
    }
    err = err ? err : ictusi_delays_finish(seen, s->team);
    err = err ? err : network_init(n, seen, h->home);
    if (!err) {
        delays_tighten(seen);
    }
    return ictusi_session_agree(s, err);
}

int ictusi_message_errors(struct histories *h, struct session *s, uint32_t fitted)
{
    struct least_delays seen = {.delay = NULL};
    struct network n = {.edges = NULL};
    h->source = SIGMA_UNKNOWN;
    if (s->to <= s->from) {
        return ICTUS_OK;
    }
    uint32_t *group = calloc(h->clock_count, sizeof *group);
    int err = ictusi_session_agree(s, group ? ICTUS_OK : ICTUS_ERR_NOMEM);
    err = err ? err : network_see(&n, &seen, h, s);
    bool whole = !err && network_is_whole(&n, h->clock_count, group);
    if (!err && !whole && ictusi_histories_rejoin(h, s, group)) {
        network_fini(&n);
        ictusi_delays_fini(&seen);
        n = (struct network){.edges = NULL};
        seen = (struct least_delays){.delay = NULL};
        h->source = h->clock_count > 1 ? SIGMA_UNKNOWN : SIGMA_ONE_CLOCK;
        err = h->clock_count > 1 ? network_see(&n, &seen, h, s) : ICTUS_OK;
        whole = h->clock_count > 1 && !err && network_is_whole(&n, h->clock_count, group);
    }
    if (whole) {
        h->source = SIGMA_MESSAGES;
        err = network_draw(h, &n, s, &seen, fitted);
    }
    network_fini(&n);
    free(group);
    ictusi_delays_fini(&seen);
    return ictusi_session_agree(s, err);
}
