/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * About each cell of time, the delays of a pair of clocks in a few cells on either side are fitted
 * by a line with a jump in between, and by one with a bend instead. The cell itself is left out:
 * its least delays are from before the jump one way and from after it the other way.
 */
#include "causality/clock_jumps.h"

#include "causality/cholesky.h"
#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 4,                /* cells with delays that are taken from either side to find a jump */
    SIDE_LONG = 8,           /* and to tell its size */
    SIDE_LEAST = 3,          /* at least as many */
    SAMPLES = 4 * SIDE_LONG, /* both sides, both ways */
    PAIRS_MAX = 1 << 12,     /* more pairs take too long */
    JUMP_CELLS_MAX = 64,
    ROUNDS = 8
};

/* One delay near a cell. */
struct jump_sample {
    double at;  /* cells from the middle of the one that may have the jump */
    double gap; /* how far b is ahead of a, by this delay: too far by half a round trip, or back */
    int sign;   /* 1: from a to b, -1: from b to a */
};

struct jump_window {
    struct jump_sample samples[SAMPLES];
    uint32_t count;
    double middle, cell; /* of the cell, from the beginning; its length, ticks */
};

/* gap = level + slope at + jump shape(at) + sign half */
enum { FIT_LEVEL, FIT_SLOPE, FIT_JUMP, FIT_HALF, FIT_TERMS };

struct jump_fit {
    double by[FIT_TERMS];
    double miss;   /* mean |residual| */
    double broken; /* by how much the most broken bound is broken */
};

/* The course of a clock that one coefficient stretches. */
enum shape_kind { SHAPE_JUMP, SHAPE_BEND, SHAPE_RAMP };

struct jump_shape {
    enum shape_kind kind;
    double at; /* where it bends, or how long before and after the middle it climbs, cells */
};

static double jump_shape_value(const struct jump_shape *shape, double at)
{
    switch (shape->kind) {
    case SHAPE_BEND:
        return fmax(0, at - shape->at);
    case SHAPE_RAMP:
        return fmin(fmax(0, (at / shape->at + 1) / 2), 1);
    default:
        return at > 0;
    }
}

/* What a delay's gap has beyond the fit. */
static double jump_sample_rest(const struct jump_sample *s, const struct jump_shape *shape,
                               const struct jump_fit *fit)
{
    return s->gap - fit->by[FIT_LEVEL] - fit->by[FIT_SLOPE] * s->at -
           fit->by[FIT_JUMP] * jump_shape_value(shape, s->at) - fit->by[FIT_HALF] * s->sign;
}

/*
 * Least absolute residuals, by reweighted least squares, because waits are not errors of the
 * clocks.
 */
static bool jump_fit_window(const struct jump_window *w, struct jump_shape shape, double scatter,
                            struct jump_fit *fit)
{
    bool good = true;
    *fit = (struct jump_fit){.miss = 0};
    for (int round = 0; round < ROUNDS && good; round++) {
        double matrix[FIT_TERMS * FIT_TERMS] = {0};
        double step[FIT_TERMS] = {0};
        double scale[FIT_TERMS];
        for (uint32_t i = 0; i < w->count; i++) {
            const struct jump_sample *s = &w->samples[i];
            const double terms[] = {1, s->at, jump_shape_value(&shape, s->at), s->sign};
            const double rest = jump_sample_rest(s, &shape, fit);
            const double weight = round ? 1 / (scatter + fabs(rest)) : 1;
            for (int k = 0; k < FIT_TERMS; k++) {
                for (int j = 0; j < FIT_TERMS; j++) {
                    matrix[k * FIT_TERMS + j] += weight * terms[k] * terms[j];
                }
                step[k] += weight * terms[k] * rest;
            }
        }
        good = ictusi_cholesky_factorise(matrix, FIT_TERMS, scale);
        if (good) {
            ictusi_cholesky_solve(matrix, FIT_TERMS, scale, step);
        }
        for (int k = 0; k < FIT_TERMS && good; k++) {
            fit->by[k] += step[k];
        }
    }
    for (uint32_t i = 0; i < w->count; i++) {
        const double rest = jump_sample_rest(&w->samples[i], &shape, fit);
        fit->miss += fabs(rest) / w->count;
        fit->broken = fmax(fit->broken, -rest * w->samples[i].sign);
    }
    return good;
}

/* Add the nearest delays of one direction on one side. Returns whether there are enough. */
static bool jump_window_fill(const struct least_delays *d, uint64_t row, int sign, uint32_t cell,
                             int side, int length, struct jump_window *w)
{
    int n = 0;
    for (int away = 1; away <= 2 * length && n < length; away++) {
        const int64_t at = (int64_t)cell + (int64_t)side * away;
        if (at < 0 || at >= d->cells) {
            break;
        }
        const uint64_t i = row * d->cells + (uint64_t)at;
        if (d->delay[i] != DELAY_NONE) {
            w->samples[w->count++] =
                (struct jump_sample){((double)(d->instant[i] - d->from) - w->middle) / w->cell,
                                     sign * (double)d->delay[i], sign};
            n++;
        }
    }
    return n >= SIDE_LEAST;
}

static bool jump_window_make(const struct least_delays *d, const struct delay_pair *pair,
                             uint32_t cell, int length, struct jump_window *w)
{
    *w = (struct jump_window){.cell = (double)d->length / d->cells};
    w->middle = (cell + 0.5) * w->cell;
    bool enough = true;
    for (int way = 0; way < 2; way++) {
        for (int side = -1; side <= 1 && enough; side += 2) {
            enough = jump_window_fill(d, pair->row[way], way ? -1 : 1, cell, side, length, w);
        }
    }
    return enough;
}

static const struct jump_shape shape_jump = {SHAPE_JUMP, 0};

/*
 * Whether a pair shows a jump in a cell. It must be larger than a round trip, so that waits cannot
 * pretend it, and much larger than what the line with a jump leaves, and than jumps that are fitted
 * to other cells of the pair usually are. A line with a bend must leave much more, wherever it
 * bends; and one that climbs over several cells must leave more, as two clocks may bend.
 */
static bool jump_window_shows(const struct jump_window *w, double least, double usual,
                              const struct jump_fit *fit)
{
    static const struct {
        struct jump_shape shape;
        double worse;
    } others[] = {{{SHAPE_RAMP, 1.5}, 1.3}, {{SHAPE_RAMP, 2.5}, 1.3}, {{SHAPE_BEND, -3}, 3},
                  {{SHAPE_BEND, -2}, 3},    {{SHAPE_BEND, -1}, 3},    {{SHAPE_BEND, 0}, 3},
                  {{SHAPE_BEND, 1}, 3},     {{SHAPE_BEND, 2}, 3},     {{SHAPE_BEND, 3}, 3}};
    const double scatter = least / 20;
    const double clearly = 6;
    const double seldom = 8;
    const double size = fabs(fit->by[FIT_JUMP]);
    bool shows = size > least && size > 2 * fabs(fit->by[FIT_HALF]) && size > clearly * fit->miss &&
                 size > seldom * usual;
    for (size_t i = 0; i < sizeof others / sizeof *others && shows; i++) {
        struct jump_fit other;
        shows = !jump_fit_window(w, others[i].shape, scatter, &other) ||
                other.miss > others[i].worse * fmax(fit->miss, scatter);
    }
    return shows;
}

/* What a pair shows in one cell. */
struct jump_vote {
    double size;  /* the jump of b relative to a; 0: none */
    double doubt; /* without a jump: how large a one could be that it does not show clearly */
    double level, slope, half;
};

/* Fit a jump in a cell. Returns whether there are enough delays both ways. */
static bool jump_pair_fit(const struct least_delays *d, const struct delay_pair *pair,
                          uint32_t cell, int length, double scatter, struct jump_window *w,
                          struct jump_fit *fit)
{
    return pair->row[0] != DELAY_NO_ROW && pair->row[1] != DELAY_NO_ROW &&
           jump_window_make(d, pair, cell, length, w) &&
           jump_fit_window(w, shape_jump, scatter, fit);
}

/* The size that a jump of a pair usually seems to have, in the cells where it has none. */
static double jump_pair_usual(const struct least_delays *d, const struct delay_pair *pair,
                              double least)
{
    double sizes[JUMP_CELLS_MAX];
    uint32_t n = 0;
    for (uint32_t cell = SIDE_LEAST; cell + SIDE_LEAST < d->cells && n < JUMP_CELLS_MAX; cell++) {
        struct jump_window w;
        struct jump_fit fit;
        if (jump_pair_fit(d, pair, cell, SIDE, least / 20, &w, &fit)) {
            sizes[n++] = fabs(fit.by[FIT_JUMP]);
        }
    }
    ictusi_stats_sort(sizes, n);
    return n ? sizes[n / 2] : 0;
}

static void jump_vote_cast(const struct least_delays *d, const struct delay_pair *pair,
                           uint32_t cell, double least, double usual, struct jump_vote *vote)
{
    struct jump_window w;
    struct jump_fit fit;
    *vote = (struct jump_vote){.doubt = INFINITY};
    if (!jump_pair_fit(d, pair, cell, SIDE, least / 20, &w, &fit)) {
        return;
    }
    if (jump_window_shows(&w, least, usual, &fit)) {
        *vote = (struct jump_vote){fit.by[FIT_JUMP], 0, fit.by[FIT_LEVEL],
                                   fit.by[FIT_SLOPE] / w.cell, fit.by[FIT_HALF]};
    } else {
        vote->doubt = fmax(fabs(fit.by[FIT_JUMP]), fit.broken);
    }
}

/* A clock that may have jumped in the present cell. */
struct jump_candidate {
    double size;      /* the median of what its pairs show */
    double explained; /* by how much such a jump explains them */
    uint32_t clear;   /* how many show it */
};

/* What the pairs of a clock show of it, sorted, and the number of them that show a jump. */
static uint32_t jump_sizes_collect(const struct least_delays *d, const struct jump_vote *votes,
                                   uint32_t clock, double *sizes, uint32_t *clear)
{
    const double alike = 0.3;
    double most = 0;
    uint32_t n = 0;
    for (uint64_t i = 0; i < d->pair_count; i++) {
        const struct delay_pair *pair = &d->pairs[i];
        const bool own = pair->a == clock || pair->b == clock;
        if (own && votes[i].size != 0) {
            sizes[n++] = pair->b == clock ? votes[i].size : -votes[i].size;
            most = fmax(most, fabs(votes[i].size));
        }
    }
    *clear = n;
    for (uint64_t i = 0; i < d->pair_count && *clear; i++) {
        const struct delay_pair *pair = &d->pairs[i];
        const bool none = votes[i].size == 0 && votes[i].doubt < alike * most;
        if (none && (pair->a == clock || pair->b == clock)) {
            sizes[n++] = 0;
        }
    }
    ictusi_stats_sort(sizes, n);
    return n;
}

static struct jump_candidate jump_candidate_make(const struct least_delays *d,
                                                 const struct jump_vote *votes, uint32_t clock,
                                                 double *sizes)
{
    struct jump_candidate c = {0};
    const uint32_t n = jump_sizes_collect(d, votes, clock, sizes, &c.clear);
    if (n == 0) {
        return c;
    }
    c.size = sizes[n / 2];
    if (fabs(sizes[(n - 1) / 2]) < fabs(c.size)) {
        c.size = sizes[(n - 1) / 2];
    }
    for (uint32_t i = 0; i < n; i++) {
        c.explained += fabs(sizes[i]) - fabs(sizes[i] - c.size);
    }
    return c;
}

/*
 * How much better a clock's jump explains the votes than one of another clock would, those of its
 * pairs. Jumps that nobody else can have made come first: what they explain tells others apart.
 */
static double jump_margin(const struct least_delays *d, const struct jump_vote *votes,
                          const struct jump_candidate *candidates, uint32_t clock)
{
    double rival = 0;
    for (uint64_t i = 0; i < d->pair_count; i++) {
        const struct delay_pair *pair = &d->pairs[i];
        if (votes[i].size != 0 && (pair->a == clock || pair->b == clock)) {
            const uint32_t other = pair->a == clock ? pair->b : pair->a;
            rival = fmax(rival, candidates[other].explained);
        }
    }
    return candidates[clock].explained - rival;
}

static void jump_set_witnesses(const struct least_delays *d, const struct jump_vote *votes,
                               struct jump_finding *finding)
{
    finding->count = 0;
    for (uint64_t i = 0; i < d->pair_count; i++) {
        const struct delay_pair *pair = &d->pairs[i];
        const bool own = pair->b == finding->jump.clock || pair->a == finding->jump.clock;
        const double size = pair->b == finding->jump.clock ? votes[i].size : -votes[i].size;
        if (own && fabs(size - finding->jump.size) < 0.3 * fabs(finding->jump.size)) {
            finding->witnesses[finding->count++] = (struct jump_witness){
                pair->a, pair->b, votes[i].level, votes[i].slope, votes[i].half};
        }
    }
}

/* The state of a search. */
struct jump_search {
    struct jump_vote *votes;
    struct jump_candidate *candidates;
    double *sizes, *usual; /* usual: by pair */
    double most;
};

/* Judge one cell. */
static void jump_search_cell(const struct least_delays *d, uint32_t cell, uint32_t reference,
                             double least, struct jump_search *s, struct jump_finding *finding)
{
    const double clearer = 0.2;
    const uint32_t witnesses_of_time = 2; /* one alone may have jumped itself */
    const double cell_length = (double)d->length / d->cells;
    for (uint64_t i = 0; i < d->pair_count; i++) {
        jump_vote_cast(d, &d->pairs[i], cell, least, s->usual[i], &s->votes[i]);
    }
    for (uint32_t u = 0; u < d->clocks; u++) {
        s->candidates[u] = jump_candidate_make(d, s->votes, u, s->sizes);
        if (u == reference && s->candidates[u].clear < witnesses_of_time) {
            s->candidates[u] = (struct jump_candidate){0};
        }
    }
    for (uint32_t u = 0; u < d->clocks; u++) {
        const struct jump_candidate *c = &s->candidates[u];
        if (c->size == 0 || c->explained <= 0) {
            continue;
        }
        const double margin = jump_margin(d, s->votes, s->candidates, u);
        /* If another clock may as well have jumped, who did is not known, and nobody is moved. */
        const double worth = margin > clearer * c->explained ? margin : 0;
        if (worth > s->most) {
            s->most = worth;
            finding->jump =
                (struct clock_jump){u, c->size, 0, d->from + (int64_t)((cell - 1) * cell_length),
                                    d->from + (int64_t)((cell + 2) * cell_length)};
            finding->gradual = false;
            finding->centre = d->from + (int64_t)((cell + 0.5) * cell_length);
            jump_set_witnesses(d, s->votes, finding);
        }
    }
}

int ictusi_clock_jump_find(const struct least_delays *d, uint32_t reference, double least,
                           struct jump_finding *finding, bool *found)
{
    struct jump_search s = {malloc((d->pair_count + 1) * sizeof *s.votes),
                            malloc((d->clocks + 1UL) * sizeof *s.candidates),
                            malloc((d->clocks + 1UL) * sizeof *s.sizes),
                            malloc((d->pair_count + 1) * sizeof *s.usual), 0};
    const int err = s.votes && s.candidates && s.sizes && s.usual ? ICTUS_OK : ICTUS_ERR_NOMEM;
    const bool few = d->pair_count <= PAIRS_MAX;
    for (uint64_t i = 0; i < d->pair_count && !err && few; i++) {
        s.usual[i] = jump_pair_usual(d, &d->pairs[i], least);
    }
    for (uint32_t cell = SIDE_LEAST; !err && few && cell + SIDE_LEAST < d->cells; cell++) {
        jump_search_cell(d, cell, reference, least, &s, finding);
    }
    *found = s.most > 0;
    free(s.votes);
    free(s.candidates);
    free(s.sizes);
    free(s.usual);
    return err;
}

/* A delay about a jump: how much more it speaks for having been seen before the jump than after. */
struct jump_moment {
    int64_t instant;
    double after;     /* loss as one before the jump, less that as one after it */
    double broken[2]; /* by how much it breaks a bound if it is from before, or from after */
    bool tells;       /* a wait as short as usual: it is hardly from the other side */
    bool clear;       /* certainly: from the other side it would break a bound */
};

static int moments_compare(const void *a, const void *b)
{
    const struct jump_moment *x = a;
    const struct jump_moment *y = b;
    return (x->instant > y->instant) - (x->instant < y->instant);
}

/* A wait is to be expected, but a delay below the least one is not. */
static double jump_loss(double rest, double unit)
{
    return log1p(rest < 0 ? -4 * rest / unit : rest / unit);
}

static uint64_t jump_moments_collect(const struct least_delays *d, const struct jump_finding *f,
                                     struct jump_moment *moments)
{
    const double usual = 0.7;
    uint64_t n = 0;
    for (uint32_t k = 0; k < 2 * f->count; k++) {
        const struct jump_witness *w = &f->witnesses[k / 2];
        const int sign = k % 2 ? -1 : 1;
        const int64_t row = ictusi_idmap_get(&d->rows, k % 2 ? w->b : w->a, k % 2 ? w->a : w->b);
        const double size = w->b == f->jump.clock ? f->jump.size : -f->jump.size;
        /* The first and the last cell also have whatever lies beyond. */
        for (uint32_t c = 1; row != IDMAP_NONE && c + 1 < d->cells; c++) {
            const uint64_t i = (uint64_t)row * d->cells + c;
            if (d->delay[i] == DELAY_NONE) {
                continue;
            }
            const double due = w->level + w->slope * (double)(d->instant[i] - f->centre);
            const double rest = (double)d->delay[i] - sign * due - fabs(w->half);
            const double unit = fmax(fabs(w->half), fabs(size) / 20);
            const double later = rest - sign * size;
            /* A bound that only one of the two keeps, and that one nearly exactly. */
            const double near = sign * size > 0 ? rest : later;
            const double more = jump_loss(rest, unit) - jump_loss(later, unit);
            moments[n++] =
                (struct jump_moment){.instant = d->instant[i],
                                     .after = more,
                                     .broken = {-rest, -later},
                                     .tells = fabs(more) > usual * log1p(fabs(size) / unit),
                                     .clear = near < 0.5 * fabs(size) && near > -0.2 * fabs(size)};
        }
    }
    return n;
}

/*
 * Between which instants the jump happened. The likeliest are the nearest delays on either side
 * that tell anything. If they are so close that intervals between them would change by more than
 * one in a hundred, the jump is spread as far as delays that leave no doubt permit.
 */
static void jump_set_bracket(struct clock_jump *jump, const struct jump_moment *moments, uint64_t n,
                             uint64_t best)
{
    const double gentle = 100;
    int64_t near[2] = {jump->from, jump->to};
    int64_t far[2] = {jump->from, jump->to};
    for (uint64_t i = 0; i < n; i++) {
        const int side = i >= best;
        const int64_t instant = moments[i].instant;
        if (moments[i].tells) {
            near[side] = side ? (instant < near[1] ? instant : near[1])
                              : (instant > near[0] ? instant : near[0]);
        }
        if (moments[i].clear && (moments[i].after > 0) == (side == 1)) {
            far[side] = side ? (instant < far[1] ? instant : far[1])
                             : (instant > far[0] ? instant : far[0]);
        }
    }
    const int64_t wide = llround(gentle * fabs(jump->size));
    const int64_t beside = near[1] - near[0] < wide ? (wide - (near[1] - near[0])) / 2 : 0;
    jump->from = near[0] - beside > far[0] ? near[0] - beside : far[0];
    jump->to = near[1] + beside < far[1] ? near[1] + beside : far[1];
}

int ictusi_clock_jump_place(const struct least_delays *d, struct jump_finding *f)
{
    const double abrupt = 0.25;
    struct jump_moment *moments = malloc((2UL * f->count * d->cells + 1) * sizeof *moments);
    if (!moments) {
        return ICTUS_ERR_NOMEM;
    }
    const uint64_t n = jump_moments_collect(d, f, moments);
    qsort(moments, n, sizeof *moments, moments_compare);
    double sum = 0;
    double least = 0;
    uint64_t best = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += moments[i].after;
        if (sum < least) {
            least = sum;
            best = i + 1;
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        f->gradual = f->gradual || moments[i].broken[i >= best] > abrupt * fabs(f->jump.size);
    }
    jump_set_bracket(&f->jump, moments, n, best);
    free(moments);
    return ICTUS_OK;
}

int ictusi_clock_jump_rest(const struct least_delays *d, struct clock_jump *jump)
{
    const double alike = 0.3;
    double *sizes = malloc((d->clocks + 1UL) * sizeof *sizes);
    if (!sizes) {
        return ICTUS_ERR_NOMEM;
    }
    const double at = ((double)(jump->from - d->from) + (double)(jump->to - d->from)) / 2;
    double miss = 0;
    uint32_t n = 0;
    for (uint64_t i = 0; i < d->pair_count; i++) {
        const struct delay_pair *pair = &d->pairs[i];
        struct jump_window w;
        struct jump_fit fit;
        if ((pair->a == jump->clock || pair->b == jump->clock) &&
            jump_pair_fit(d, pair, (uint32_t)(at * d->per_tick), SIDE_LONG, fabs(jump->size) / 100,
                          &w, &fit) &&
            fmax(fit.broken, fabs(fit.by[FIT_JUMP])) < alike * fabs(jump->size)) {
            sizes[n++] = pair->b == jump->clock ? fit.by[FIT_JUMP] : -fit.by[FIT_JUMP];
            miss += fit.miss;
        }
    }
    if (n) {
        ictusi_stats_sort(sizes, n);
        jump->size += (sizes[(n - 1) / 2] + sizes[n / 2]) / 2;
        jump->error = miss / n / sqrt(n);
    }
    free(sizes);
    return ICTUS_OK;
}
