/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The equations by which clocks are fitted, against the sum of squares that they are to minimise:
 * all its terms written down one by one, with the least delays among the unknowns, which are then
 * eliminated in another way.
 */
#include "../check.h"

#include "causality/clock_private.h"
#include "causality/clock_solving.h"
#include "core/random.h"

#include <stdlib.h>
#include <string.h>

enum { CLOCKS = 4, KNOTS = 5, PAIRS = 4, DELAYS = 7, OFFSETS = 4, LEASTS = 2 * PAIRS };
enum { UNKNOWNS = CLOCKS * KNOTS + LEASTS };
enum { REFERENCE = 2, WARY = 4 };
static const double length_us = 40e6;

/* What is being fitted, and how. */
struct made {
    struct clock_model m;
    struct model_walk walk;
    double factor[CLOCKS];
    struct solving s;
};

/* The equations: matrix x = right, for the changes of all unknowns. */
struct equations {
    uint32_t nb, n; /* unknowns of a clock; of all clocks */
    double matrix[UNKNOWNS][UNKNOWNS], right[UNKNOWNS];
};

/* A term weight (rest - c x)^2 / 2 of the sum. */
static void term_add(struct equations *e, const double *c, double rest, double weight)
{
    for (uint32_t i = 0; i < e->n + LEASTS; i++) {
        for (uint32_t k = 0; k < e->n + LEASTS; k++) {
            e->matrix[i][k] += weight * c[i] * c[k];
        }
        e->right[i] += weight * rest * c[i];
    }
}

/* Add by times what a clock is ahead at a position. */
static void clock_put(const struct made *x, const struct equations *e, double *c, uint32_t clock,
                      double position, double by)
{
    if (x->walk.strength == 0) {
        c[clock * e->nb] += by;
        c[clock * e->nb + 1] += by * (position / (x->m.knots - 1) - 0.5);
        return;
    }
    uint32_t knot = position > 0 ? (uint32_t)position : 0;
    knot = knot < x->m.knots - 2 ? knot : x->m.knots - 2;
    c[clock * e->nb + knot] += by * (1 - (position - knot));
    c[clock * e->nb + knot + 1] += by * (position - knot);
}

/* The level or the slope over the whole run, for a line or the line nearest to all knots. */
static void course_put(const struct made *x, const struct equations *e, double *c, uint32_t clock,
                       bool slope)
{
    double squares = 0;
    for (uint32_t k = 0; k < x->m.knots; k++) {
        squares += pow(k / (x->m.knots - 1.0) - 0.5, 2);
    }
    if (x->walk.strength == 0) {
        c[clock * e->nb + slope] = 1;
        return;
    }
    for (uint32_t k = 0; k < x->m.knots; k++) {
        c[clock * e->nb + k] = slope ? (k / (x->m.knots - 1.0) - 0.5) / squares : 1.0 / x->m.knots;
    }
}

/* What a row of coefficients amounts to with the present unknowns of the clocks. */
static double row_value(const struct made *x, const struct equations *e, const double *c)
{
    double sum = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        sum += c[i] * x->s.x[i];
    }
    return sum;
}

/* How much paths differ by direction: usually 0.15 of a half round trip, as if seen three times. */
static double asymmetry_of(const struct made *x, double *usual_us)
{
    double squares = 3 * 0.15 * 0.15;
    double halves = 0;
    double pairs = 0;
    double absorbed = CLOCKS - 1;
    for (uint32_t i = 0; i < PAIRS && !x->s.start; i++) {
        const struct model_pair *p = &x->m.pairs[i];
        if (p->now[0] && p->now[1]) {
            const double half = fmax(0.2, (p->least[0] + p->least[1]) / 2);
            squares += pow((p->least[0] - p->least[1]) / 2 / half, 2);
            halves += half;
            pairs++;
        }
    }
    *usual_us = pairs > 0 ? 0.15 * halves / pairs : 0;
    /* Offsets: two of clock 1, one each of 0 and 3. */
    for (uint32_t clock = 0; clock < CLOCKS; clock++) {
        double known = 0;
        for (uint32_t i = 0; i < OFFSETS; i++) {
            const struct model_offset *o = &x->m.offsets[i];
            const double sd = (o->sd > 0 ? o->sd : 0.25) * x->s.doubt;
            known += o->clock == clock ? 1 / (sd * sd) : 0;
        }
        absorbed -= known > 0 ? *usual_us * *usual_us / (*usual_us * *usual_us + 1 / known) : 0;
    }
    return fmin(sqrt(squares / (3 + fmax(0, pairs - absorbed))), 0.58);
}

/* The weight of a wait, and what a bound that is broken says. */
static double delay_weight(const struct made *x, const struct model_pair *p, int way, uint32_t k,
                           double rest)
{
    const struct model_delay *d = &p->delays[way][k];
    const bool both = p->now[0] && p->now[1];
    if (x->s.posterior) {
        const bool apart = both && !model_contradicts(&x->m, p);
        const uint32_t alike = p->now[way] ? p->now[way] : p->counts[way];
        const double spread = fmax(p->spread[way], 0.05);
        return model_tells(p, way, d) ? 1 / (spread * spread * (apart ? 1 : alike)) : 0;
    }
    return x->s.start ? 1 / (0.05 + fabs(rest)) : model_delay_weight(p, way, d, rest, x->walk.even);
}

static void delays_add(const struct made *x, struct equations *e, uint32_t pair, int way)
{
    const struct model_pair *p = &x->m.pairs[pair];
    for (uint32_t k = 0; k < p->counts[way]; k++) {
        const struct model_delay *d = &p->delays[way][k];
        double c[UNKNOWNS] = {0};
        clock_put(x, e, c, p->b, d->position, way ? -1 : 1);
        clock_put(x, e, c, p->a, d->position, way ? 1 : -1);
        const double rest = d->y - row_value(x, e, c) - p->least[way];
        c[e->n + 2 * pair + (uint32_t)way] = 1;
        if (x->s.fold < 0 || d->cell / 2 % 2 != (uint32_t)x->s.fold) {
            term_add(e, c, rest, delay_weight(x, p, way, k, rest));
        }
    }
}

/* Half a round trip of a pair, by which the asymmetry of its paths is judged. */
static double pair_half(const struct made *x, const struct model_pair *p, double *asymmetry)
{
    const double half = fmax(0.2, (p->least[0] + p->least[1]) / 2);
    if (!x->s.posterior || !model_contradicts(&x->m, p)) {
        return half;
    }
    if (p->now[0] && p->now[1] && fmin(p->least[0], p->least[1]) <= 0) {
        *asymmetry = 0.58;
        return half + (p->spread[0] + p->spread[1]) / 2;
    }
    return fmax(half, fmax(p->spread[0], p->spread[1]));
}

/* A pair's delays; both ways are nearly alike, and none is below zero. */
static void pair_add(const struct made *x, struct equations *e, uint32_t pair, double asymmetry)
{
    const struct model_pair *p = &x->m.pairs[pair];
    const bool both = p->now[0] && p->now[1];
    const double half = pair_half(x, p, &asymmetry);
    const uint32_t *degree = x->m.degree;
    const uint32_t few = degree[p->a] < degree[p->b] ? degree[p->a] : degree[p->b];
    for (int way = 0; way < 2; way++) {
        double c[UNKNOWNS] = {0};
        delays_add(x, e, pair, way);
        c[e->n + 2 * pair + (uint32_t)way] = 1;
        if (p->least[way] < 0) {
            const double hard = x->s.posterior ? both ? 1 / fmax(half * half, 1) : 0
                                               : fmax(p->counts[way], 1) / (0.05 * 0.05);
            term_add(e, c, -p->least[way], hard);
        }
        term_add(e, c, 0, x->s.posterior ? 1e-12 : 1e-7); /* damping */
    }
    if (both) {
        double c[UNKNOWNS] = {0};
        c[e->n + 2 * pair] = 1;
        c[e->n + 2 * pair + 1] = -1;
        term_add(e, c, p->least[1] - p->least[0],
                 1 / (4 * asymmetry * asymmetry * half * half * fmax(few, 1)));
    }
}

/* Crystals are within 50 ppm of each other, and clocks begin within a thousandth of a second. */
static void clock_add(const struct made *x, struct equations *e, uint32_t clock)
{
    double level[UNKNOWNS] = {0};
    double slope[UNKNOWNS] = {0};
    course_put(x, e, level, clock, false);
    course_put(x, e, slope, clock, true);
    const double drift = 50e-6 * length_us;
    const double scale = sqrt(1e6 + drift * drift);
    const double off = fabs(row_value(x, e, level)) / scale;
    term_add(e, slope, -row_value(x, e, slope), 1 / (drift * drift));
    term_add(e, level, -row_value(x, e, level), (off > 1.5 ? 1.5 / off : 1) / (scale * scale));
    term_add(e, level, 0, x->s.posterior ? 1e-12 : 1e-6); /* damping */
    if (clock == REFERENCE) {
        term_add(e, level, -row_value(x, e, level), 1e4);
        term_add(e, slope, -row_value(x, e, slope), 1e4);
    }
    for (uint32_t k = 0; k + 2 < x->m.knots && x->walk.strength > 0; k++) {
        double c[UNKNOWNS] = {0};
        c[clock * e->nb + k] = c[clock * e->nb + k + 2] = 1;
        c[clock * e->nb + k + 1] = -2;
        const double step_s = length_us / (x->m.knots - 1) * 1e-6;
        const double sd = (x->walk.apart ? x->factor[clock] : 1) * x->walk.strength *
                          sqrt(step_s * step_s * step_s * 2 / 3) * 1e6;
        const double bend = row_value(x, e, c);
        term_add(e, c, -bend, (fabs(bend) > 1.5 * sd ? 1.5 * sd / fabs(bend) : 1) / (sd * sd));
    }
}

static void offsets_add(const struct made *x, struct equations *e)
{
    for (uint32_t i = 0; i < OFFSETS; i++) {
        const struct model_offset *o = &x->m.offsets[i];
        double c[UNKNOWNS] = {0};
        clock_put(x, e, c, o->clock, o->position, 1);
        clock_put(x, e, c, REFERENCE, o->position, -1);
        const double sd = (o->sd > 0 ? o->sd : 0.25) * x->s.doubt;
        const double rest = o->value - row_value(x, e, c);
        const bool wary = x->s.step < WARY && !x->s.posterior;
        term_add(e, c, rest,
                 wary ? 1 / (25 + sd * sd + rest * rest) : 2 / (2 * sd * sd + rest * rest));
    }
}

/* Eliminate the least delays, one after the other. */
static void leasts_eliminate(struct equations *e)
{
    for (uint32_t last = e->n + LEASTS; last-- > e->n;) {
        for (uint32_t i = 0; i < last; i++) {
            const double part = e->matrix[i][last] / e->matrix[last][last];
            for (uint32_t k = 0; k < last; k++) {
                e->matrix[i][k] -= part * e->matrix[last][k];
            }
            e->right[i] -= part * e->right[last];
        }
    }
}

/* The same as it was assembled: an edge acts on the difference of two clocks. */
static void equations_take(const struct made *x, struct equations *e)
{
    const struct normal *normal = &x->s.normal;
    const uint32_t nb = e->nb;
    for (uint32_t i = 0; i < e->n; i++) {
        e->right[i] = normal->right[i];
        for (uint32_t k = 0; k < nb; k++) {
            e->matrix[i][i / nb * nb + k] += normal->own[i * nb + k];
        }
    }
    for (uint64_t edge = 0; edge < normal->edge_count; edge++) {
        const uint32_t a = normal->edges[edge].a * nb;
        const uint32_t b = normal->edges[edge].b * nb;
        for (uint32_t i = 0; i < nb * nb; i++) {
            const double by = normal->blocks[edge * nb * nb + i];
            e->matrix[a + i / nb][a + i % nb] += by;
            e->matrix[b + i / nb][b + i % nb] += by;
            e->matrix[a + i / nb][b + i % nb] -= by;
            e->matrix[b + i / nb][a + i % nb] -= by;
        }
    }
}

static void pair_fill(struct made *x, uint32_t pair, uint32_t a, uint32_t b, struct rng *rng)
{
    struct model_pair *p = &x->m.pairs[pair];
    *p = (struct model_pair){.a = a, .b = b};
    for (int way = 0; way < 2; way++) {
        p->delays[way] = &x->m.delays[(2 * pair + (uint32_t)way) * DELAYS];
        p->counts[way] = pair == 3 && way ? 0 : DELAYS - pair;
        p->now[way] = pair == 3 && way ? 0 : DELAYS - 2 * pair;
        p->least[way] = pair == 1 && way ? -0.5 : 12 + 3 * ictusi_random_uniform(rng);
        for (uint32_t k = 0; k < p->counts[way]; k++) {
            struct model_delay *d = &p->delays[way][k];
            const double wait = 4 * ictusi_random_exponential(rng) - (pair == 2 ? 0.8 : 0.1);
            d->cell = k;
            d->position = (x->m.knots - 1) * (k + ictusi_random_uniform(rng)) / DELAYS;
            d->now = k < p->now[way];
            d->y = wait + p->least[way] + model_shift(&x->m, p, way, d->position);
        }
    }
}

static struct made *made_open(uint32_t knots, double strength, uint64_t seed)
{
    static const struct model_offset offsets[OFFSETS] = {
        {0, 0.2, 0, 0.5}, {1, 0, 0, 0.7}, {1, 0.9, 0, 0}, {3, 0.5, 0, 3}};
    struct made *x = calloc(1, sizeof *x);
    struct rng rng;
    REQUIRE(x && !ictusi_clock_model_init(&x->m, CLOCKS, knots, length_us));
    ictusi_random_seed(&rng, seed, 0);
    x->m.pairs = calloc(PAIRS, sizeof *x->m.pairs);
    x->m.delays = calloc(2UL * PAIRS * DELAYS, sizeof *x->m.delays);
    x->m.offsets = calloc(OFFSETS, sizeof *x->m.offsets);
    REQUIRE(x->m.pairs && x->m.delays && x->m.offsets);
    x->m.pair_count = PAIRS;
    x->m.delay_count = 2UL * PAIRS * DELAYS;
    x->m.offset_count = OFFSETS;
    x->m.reference = REFERENCE;
    for (uint32_t i = 0; i < CLOCKS * knots; i++) {
        x->factor[i / knots] = 1 + i / knots;
        x->m.phi[i] = (i / knots == 3 ? 9000 : 100) + 20 * ictusi_random_normal(&rng) +
                      30.0 * (i / knots) * (i % knots);
    }
    for (uint32_t u = 0; u < CLOCKS; u++) {
        x->m.degree[u] = u == 3 ? 0 : 3 - u;
    }
    pair_fill(x, 0, 0, 1, &rng);
    pair_fill(x, 1, 0, 2, &rng);
    pair_fill(x, 2, 1, 2, &rng);
    pair_fill(x, 3, 2, 3, &rng);
    for (uint32_t i = 0; i < OFFSETS; i++) {
        struct model_offset *o = &x->m.offsets[i];
        *o = offsets[i];
        o->position *= knots - 1;
        o->value = ictusi_clock_model_at(&x->m, x->m.phi, o->clock, o->position) -
                   ictusi_clock_model_at(&x->m, x->m.phi, REFERENCE, o->position) +
                   2 * ictusi_random_normal(&rng);
    }
    x->walk = (struct model_walk){.strength = strength, .factor = x->factor};
    x->s = (struct solving){.m = &x->m, .walk = &x->walk, .fold = -1, .doubt = 1};
    return x;
}

static void made_close(struct made *x)
{
    ictusi_solving_fini(&x->s);
    ictusi_clock_model_fini(&x->m);
    free(x);
}

/* Unknowns of lines begin as those of the line that is nearest to all knots. */
static void lines_are_nearest(const struct made *x, const double *phi)
{
    for (uint32_t u = 0; u < CLOCKS && x->walk.strength == 0; u++) {
        double square = 0;
        double level = 0;
        double slope = 0;
        for (uint32_t k = 0; k < x->m.knots; k++) {
            const double at = k / (x->m.knots - 1.0) - 0.5;
            square += at * at;
            level += phi[u * x->m.knots + k] / x->m.knots;
            slope += phi[u * x->m.knots + k] * at;
        }
        CHECK_NEAR(x->s.x[2 * u], level, 1e-9);
        CHECK_NEAR(x->s.x[2 * u + 1], slope / square, 1e-9);
    }
}

/* The equations are those of the sum of squares. */
static void equations_are_right(struct made *x)
{
    static struct equations wanted;
    static struct equations got;
    double usual_us = 0;
    double phi[CLOCKS * KNOTS];
    memcpy(phi, x->m.phi, CLOCKS * (size_t)x->m.knots * sizeof *phi);
    REQUIRE(!ictusi_solving_init(&x->s));
    lines_are_nearest(x, phi);
    ictusi_solving_assemble(&x->s);
    memset(&wanted, 0, sizeof wanted);
    memset(&got, 0, sizeof got);
    wanted.nb = got.nb = x->walk.strength > 0 ? x->m.knots : 2;
    wanted.n = got.n = CLOCKS * wanted.nb;
    const double asymmetry = asymmetry_of(x, &usual_us);
    CHECK_NEAR(x->s.asymmetry, asymmetry, 1e-12);
    for (uint32_t i = 0; i < PAIRS; i++) {
        pair_add(x, &wanted, i, asymmetry);
    }
    for (uint32_t u = 0; u < CLOCKS; u++) {
        clock_add(x, &wanted, u);
    }
    offsets_add(x, &wanted);
    leasts_eliminate(&wanted);
    equations_take(x, &got);
    for (uint32_t i = 0; i < wanted.n; i++) {
        const double scale = sqrt(wanted.matrix[i][i]);
        CHECK_NEAR(got.right[i], wanted.right[i], 1e-6 * fabs(wanted.right[i]) + 1e-9);
        for (uint32_t k = 0; k < wanted.n; k++) {
            CHECK_NEAR(got.matrix[i][k], wanted.matrix[i][k],
                       1e-7 * scale * sqrt(wanted.matrix[k][k]));
        }
    }
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 24; seed++) {
        const uint32_t knots = seed % 3 == 2 ? 2 : KNOTS;
        struct made *x = made_open(knots, seed % 3 == 0 ? (double)seed * 1e-7 : 0, seed);
        x->walk.apart = seed % 2;
        x->walk.even = seed % 5 == 0;
        x->s.step = (int)(seed % 7);
        x->s.start = seed % 7 == 0;
        x->s.fold = (int)(seed % 4) - 1 < 2 ? (int)(seed % 4) - 1 : -1;
        x->s.posterior = seed > 16;
        x->s.start = x->s.start && !x->s.posterior;
        x->s.fold = x->s.posterior ? -1 : x->s.fold;
        x->s.doubt = x->s.posterior ? 1.5 : 1;
        equations_are_right(x);
        made_close(x);
    }
    return check_result();
}
