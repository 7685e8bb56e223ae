/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fit of a clock model by iteratively reweighted least squares. Each step solves the normal
 * equations of the following terms for the change of the unknowns:
 *
 *     loss(y - phi_b + phi_a - D)   of all delays; e < 0 is forbidden, e > 0 a wait
 *     D >= 0
 *     (D_ab - D_ba) / 2             near 0, within a part of the half round trip
 *     phi_u - phi_ref - value       of the archive's offsets (Student, 2 degrees of freedom)
 *     second differences of phi     a random walk of the frequency (Huber: it may step)
 *     drift and level of phi        near 0: crystals are sold within +-50 ppm
 *
 * Each D occurs only together with the two clocks of its pair, and only with their difference. So
 * the D are eliminated first (a Schur complement of one or two unknowns per pair).
 */
#include "causality/clock_private.h"
#include "causality/clock_solving.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double drift_sd = 50e-6;
static const double level_scale = 1e3;      /* us: beyond it the pull of a level is constant */
static const double usual_asymmetry = 0.15; /* sd in half round trips, before any is seen */
static const double most_asymmetry = 0.58;  /* sd if nothing is known: uniform in +-h */
static const double usual_counts = 3;       /* the usual asymmetry counts as this many pairs */
static const double least_half_trip = 0.2;  /* us */
static const double huber = 1.5;            /* limit for second differences and levels, in sd */
static const double pin = 1e4;              /* weight that fixes the clock that shows the time */
static const double level_damping = 1e-6;   /* holds whatever no data determine */
static const double delay_damping = 1e-7;
static const double hardly = 1e-12; /* damping for the errors, which it must not reduce */

static double *clock_solve_own_block(const struct solving *s, uint32_t clock)
{
    return &s->normal.own[(uint64_t)clock * s->nb * s->nb];
}

static double *edge_block(const struct solving *s, uint64_t edge)
{
    return &s->normal.blocks[edge * s->nb * s->nb];
}

/* phi at all knots from the unknowns. */
static void phi_from_unknowns(const struct solving *s)
{
    struct clock_model *m = s->m;
    for (uint32_t u = 0; u < m->clocks; u++) {
        for (uint32_t k = 0; k < m->knots; k++) {
            const struct basis b = solving_basis(s, k);
            const double *x = &s->x[(uint64_t)u * s->nb];
            m->phi[(uint64_t)u * m->knots + k] = b.by[0] * x[b.at[0]] + b.by[1] * x[b.at[1]];
        }
    }
}

/*
 * Level and slope over the whole trace, as functionals of a clock's unknowns. For knots they are
 * those of a least-squares line over x = -1/2 ... 1/2, whose mean is 0: the mean of phi, and sum of
 * x phi over sum of x^2. For a line they are the unknowns themselves.
 */
static void clock_solve_set_functionals(struct solving *s)
{
    const uint32_t knots = s->m->knots;
    double squares = 0;
    for (uint32_t k = 0; k < knots; k++) {
        const double x = (double)k / (knots - 1) - 0.5;
        squares += x * x;
    }
    for (uint32_t k = 0; k < s->nb; k++) {
        const bool line = s->walk->strength == 0;
        s->level[k] = line ? k == 0 : 1.0 / knots;
        s->slope[k] = line ? k == 1 : ((double)k / (knots - 1) - 0.5) / squares;
    }
}

/* l' x, for the unknowns x of one clock. */
static double functional_value(const double *l, const double *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += l[i] * x[i];
    }
    return sum;
}

/* The unknowns nearest to the present phi. Lines are fitted to the knots by least squares. */
static void unknowns_from_phi(struct solving *s)
{
    const struct clock_model *m = s->m;
    for (uint32_t u = 0; u < m->clocks; u++) {
        const double *row = &m->phi[(uint64_t)u * m->knots];
        double *x = &s->x[(uint64_t)u * s->nb];
        if (s->walk->strength > 0) {
            memcpy(x, row, m->knots * sizeof *row);
            continue;
        }
        double squares = 0;
        x[0] = 0;
        x[1] = 0;
        for (uint32_t k = 0; k < m->knots; k++) {
            const double at = (double)k / (m->knots - 1) - 0.5;
            squares += at * at;
            x[0] += row[k] / m->knots;
            x[1] += row[k] * at;
        }
        x[1] /= squares;
    }
    phi_from_unknowns(s);
}

/*
 * Add a quadratic prior with target 0 for one functional of a clock. The equations are solved for a
 * step, so the right-hand side is the negative gradient at x.
 */
static void clock_solve_add_prior(struct solving *s, uint32_t u, const double *l, double weight)
{
    const double value = functional_value(l, &s->x[(uint64_t)u * s->nb], s->nb);
    double *block = clock_solve_own_block(s, u);
    for (uint32_t i = 0; i < s->nb; i++) {
        for (uint32_t k = 0; k < s->nb; k++) {
            block[(uint64_t)i * s->nb + k] += weight * l[i] * l[k];
        }
        solving_right(s, u)[i] -= weight * value * l[i];
    }
}

/*
 * Fix the level and slope of the clock that shows the time, and damp the steps. What moves all
 * clocks alike cannot be observed, so something has to be fixed. If it were the mean clock, a clock
 * that nothing contradicts would move relative to the reference whenever others are mended.
 */
static void clock_solve_add_pins(struct solving *s)
{
    clock_solve_add_prior(s, s->m->reference, s->level, pin);
    clock_solve_add_prior(s, s->m->reference, s->slope, pin);
    const double damping = s->posterior ? hardly : level_damping;
    for (uint32_t u = 0; u < s->m->clocks; u++) {
        double *block = clock_solve_own_block(s, u);
        for (uint32_t i = 0; i < s->nb; i++) {
            for (uint32_t k = 0; k < s->nb; k++) {
                block[(uint64_t)i * s->nb + k] += damping * s->level[i] * s->level[k];
            }
        }
    }
}

/*
 * What is known of crystals without any message. Levels have a Huber loss: a quadratic pull within
 * 1.5 scales and a constant one beyond, expressed as the weight of a reweighted least squares step.
 */
static void clock_solve_add_oscillators(struct solving *s)
{
    const struct clock_model *m = s->m;
    const double drift = drift_sd * m->length;
    /* Clocks that once agreed may have drifted apart since. */
    const double scale = hypot(level_scale, drift);
    for (uint32_t u = 0; u < m->clocks; u++) {
        const double level =
            fabs(functional_value(s->level, &s->x[(uint64_t)u * s->nb], s->nb)) / scale;
        clock_solve_add_prior(s, u, s->slope, 1 / (drift * drift));
        clock_solve_add_prior(s, u, s->level,
                              fmin(1, huber / fmax(level, 1e-12)) / (scale * scale));
    }
}

/*
 * The frequency walks by strength * sqrt(t). A second difference of phi over knots h apart weighs
 * the steps of the frequency by a triangle of height h, whose square integrates to 2/3 h^3. That is
 * its variance for a strength of 1. Neighbouring second differences are correlated (1/4) but are
 * treated as independent. The Huber loss makes the cost of a step in the rate proportional to the
 * step, not to its square.
 */
static void clock_solve_add_bends(struct solving *s)
{
    static const double difference[] = {1, -2, 1};
    const struct clock_model *m = s->m;
    const double step_s = m->length / (m->knots - 1) * 1e-6;
    for (uint32_t u = 0; u < m->clocks && s->walk->strength > 0; u++) {
        const double factor = s->walk->apart ? s->walk->factor[u] : 1;
        const double sd = factor * s->walk->strength * pow(step_s, 1.5) * sqrt(2.0 / 3) * 1e6;
        for (uint32_t k = 0; k + 2 < m->knots; k++) {
            const double bend = functional_value(difference, &s->x[(uint64_t)u * s->nb + k], 3);
            const double w = fmin(1, huber / fmax(fabs(bend) / sd, 1e-12)) / (sd * sd);
            for (uint32_t i = 0; i < 3; i++) {
                for (uint32_t j = 0; j < 3; j++) {
                    clock_solve_own_block(s, u)[(uint64_t)(k + i) * s->nb + k + j] +=
                        w * difference[i] * difference[j];
                }
                solving_right(s, u)[k + i] -= w * bend * difference[i];
            }
        }
    }
}

/* Add the term of phi_b - phi_a at a position, with this weight and this residual. */
static void clock_solve_add_difference(struct solving *s, uint64_t edge, const struct basis *at,
                                       double weight, double rest)
{
    double *block = edge_block(s, edge);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) {
            block[(uint64_t)at->at[i] * s->nb + at->at[k]] += weight * at->by[i] * at->by[k];
        }
        solving_right(s, s->normal.edges[edge].a)[at->at[i]] -= weight * rest * at->by[i];
        solving_right(s, s->normal.edges[edge].b)[at->at[i]] += weight * rest * at->by[i];
    }
}

/* How many steps do not trust the archive's offsets. */
enum { WARY_STEPS = 4 };

/*
 * In the first steps no offset is fully trusted, so that a wrong archive does not determine the
 * rest.
 */
static void clock_solve_add_offsets(struct solving *s)
{
    const struct clock_model *m = s->m;
    uint64_t edge = m->pair_count;
    for (uint64_t i = 0; i < m->offset_count; i++) {
        const struct model_offset *o = &m->offsets[i];
        edge += i > 0 && o->clock != m->offsets[i - 1].clock;
        const double sd = model_offset_sd(o) * s->doubt;
        const double rest = model_offset_residual(m, o);
        /*
         * The weight of Student's distribution with 2 degrees of freedom, scaled to 1 / sd^2 for a
         * residual of 0. In the first steps each offset is treated as if it erred by 5 us more,
         * with the tails of a Cauchy distribution.
         */
        const double weight = s->step < WARY_STEPS && !s->posterior
                                  ? 1 / (25 + sd * sd + rest * rest)
                                  : 2 / (2 * sd * sd + rest * rest);
        const struct basis at = solving_basis(s, o->position);
        clock_solve_add_difference(s, edge, &at, weight, rest);
    }
}

/*
 * What a delay contributes to the errors: its typical wait is its standard deviation. If no message
 * goes back, growing waits cannot be told from clocks that drift apart. If bounds are broken, all
 * delays are off alike. In both cases the delays of a pair count as one.
 */
static double posterior_weight(const struct model_pair *pair, int way, bool apart)
{
    const double spread = fmax(pair->spread[way], MODEL_SCATTER);
    const uint32_t alike = pair->now[way] ? pair->now[way] : pair->counts[way];
    return 1 / (spread * spread * (apart ? 1 : alike));
}

/*
 * Accumulate the delays of one direction into the pair's block and side, and into the row of its D.
 * With the basis b at a delay's position, the step d of phi_b - phi_a and the step dD of D minimise
 *
 *     sum of w (r - sign b' d - dD)^2,    sign = -1 for delays from b to a.
 *
 * Of this, block receives w b b', side receives sign w r b, coupling receives sign w b (the product
 * of d and dD), and sums receives w and w r for dD.
 */
static void clock_solve_collect_way(struct solving *s, uint64_t edge, int way, double sums[2],
                                    double *coupling)
{
    struct model_pair *pair = &s->m->pairs[edge];
    double *block = edge_block(s, edge);
    const double sign = way ? -1 : 1;
    sums[0] = 0;
    sums[1] = 0;
    ictusi_model_spread(s->m, pair, way, s->fold);
    const double worth =
        posterior_weight(pair, way, model_talks_both_ways(pair) && !s->contradicts);
    for (uint32_t k = 0; k < pair->counts[way]; k++) {
        const struct model_delay *delay = &pair->delays[way][k];
        if (model_is_held(delay, s->fold)) {
            continue;
        }
        const double r = model_residual(s->m, pair, way, k);
        /*
         * The first step minimises the sum of absolute values (a regression to the median), which
         * needs no scale of the waits: that is not known yet.
         */
        const double w = s->posterior ? (model_tells(pair, way, delay) ? worth : 0)
                         : s->start   ? 1 / (MODEL_SCATTER + fabs(r))
                                      : model_delay_weight(pair, way, delay, r, s->walk->even);
        const struct basis at = solving_basis(s, delay->position);
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 2; j++) {
                block[(uint64_t)at.at[i] * s->nb + at.at[j]] += w * at.by[i] * at.by[j];
            }
            s->side[at.at[i]] += sign * w * r * at.by[i];
            coupling[at.at[i]] += sign * w * at.by[i];
        }
        sums[0] += w;
        sums[1] += w * r;
    }
}

/*
 * The 2 x 2 system of a pair's D, and its inverse. Two terms are added to the delays. tie is the
 * weight of (D_ab - D_ba)^2, which comes from how asymmetric paths usually are, and also appears
 * off the diagonal. below pulls a negative D back to 0, because a message cannot take less than no
 * time. It is as stiff as all delays of the pair together could be if they were broken bounds, so
 * that it holds however many bounds a jump breaks.
 */
static void pair_eliminate(struct solving *s, const struct model_pair *pair, double sums[2][2],
                           struct eliminated *e)
{
    const uint32_t *degree = s->m->degree;
    const double square = MODEL_SCATTER * MODEL_SCATTER;
    const bool both = model_talks_both_ways(pair);
    double half = fmax(least_half_trip, (pair->least[0] + pair->least[1]) / 2);
    double asymmetry = s->asymmetry;
    if (s->contradicts && model_is_least(pair)) {
        /* Broken bounds hold D down. What the delays have beyond may be of either direction. */
        half += (pair->spread[0] + pair->spread[1]) / 2;
        asymmetry = most_asymmetry;
    } else if (s->contradicts) { /* the round trip is not known */
        half = fmax(half, fmax(pair->spread[0], pair->spread[1]));
    }
    const uint32_t few = degree[pair->a] < degree[pair->b] ? degree[pair->a] : degree[pair->b];
    const double tie =
        both ? 1 / (4 * asymmetry * asymmetry * half * half * (few > 1 ? few : 1)) : 0;
    double diagonal[2];
    for (int way = 0; way < 2; way++) {
        double below = pair->least[way] < 0 ? fmax(pair->counts[way], 1) / square : 0;
        if (s->posterior) { /* one bound alone does not say how far the clocks are from it */
            below = below > 0 && both ? 1 / fmax(half * half, 1) : 0;
        }
        const double other = both ? pair->least[!way] : pair->least[way];
        diagonal[way] = sums[way][0] + below + tie + (s->posterior ? hardly : delay_damping);
        e->pull[way] = sums[way][1] - below * pair->least[way] - tie * (pair->least[way] - other);
    }
    const double determinant = diagonal[0] * diagonal[1] - tie * tie;
    e->inverse[0] = diagonal[1] / determinant;
    e->inverse[1] = tie / determinant;
    e->inverse[2] = diagonal[0] / determinant;
}

/*
 * Eliminate the D from the pair's block and side by the Schur complement: S - C' M^-1 C and side -
 * C' M^-1 pull, where M is the pair's 2 x 2 matrix and C holds both couplings.
 */
static void clock_solve_reduce_pair(const struct solving *s, const struct eliminated *e,
                                    double *block)
{
    const double *c0 = e->coupling;
    const double *c1 = e->coupling + s->nb;
    for (uint32_t i = 0; i < s->nb; i++) {
        const double left0 = c0[i] * e->inverse[0] + c1[i] * e->inverse[1];
        const double left1 = c0[i] * e->inverse[1] + c1[i] * e->inverse[2];
        for (uint32_t k = 0; k < s->nb; k++) {
            block[(uint64_t)i * s->nb + k] -= left0 * c0[k] + left1 * c1[k];
        }
        s->side[i] -= left0 * e->pull[0] + left1 * e->pull[1];
    }
}

/*
 * How many asymmetries the levels of the clocks absorb. Without offsets these are as many as a
 * spanning tree of the pairs has edges, clocks - 1. An offset that is known better than a pair with
 * the usual asymmetry tells a clock's level keeps it from absorbing any; one that is known worse
 * hardly does.
 */
static double clock_solve_absorbed(const struct solving *s, double usual_us)
{
    const struct clock_model *m = s->m;
    double absorbed = m->clocks - 1.0;
    for (uint64_t first = 0, end = 0; first < m->offset_count; first = end) {
        double known = 0;
        while (end < m->offset_count && m->offsets[end].clock == m->offsets[first].clock) {
            const double sd = model_offset_sd(&m->offsets[end++]) * s->doubt;
            known += 1 / (sd * sd);
        }
        absorbed -= usual_us * usual_us / (usual_us * usual_us + 1 / known);
    }
    return absorbed;
}

/*
 * Estimate how much paths differ by direction: (D_ab - D_ba) / 2 relative to half the round trip.
 * This can be seen only where pairs close loops, or where the archive's offsets also determine the
 * clocks. What belongs to a clock and not to a pair, because a node is slower to send than to
 * receive, closes no loop and cannot be seen at all.
 */
static void clock_solve_set_asymmetry(struct solving *s)
{
    const struct clock_model *m = s->m;
    const double prior = usual_asymmetry * usual_asymmetry;
    double squares = usual_counts * prior;
    double halves = 0;
    double pairs = 0;
    for (uint64_t i = 0; i < m->pair_count && !s->start; i++) {
        const struct model_pair *pair = &m->pairs[i];
        if (model_talks_both_ways(pair)) {
            const double half = fmax(least_half_trip, (pair->least[0] + pair->least[1]) / 2);
            const double part = (pair->least[0] - pair->least[1]) / 2 / half;
            squares += part * part;
            halves += half;
            pairs++;
        }
    }
    const double usual_us = usual_asymmetry * halves / fmax(pairs, 1);
    const double known = fmax(pairs - clock_solve_absorbed(s, usual_us), 0);
    s->asymmetry = fmin(sqrt(squares / (usual_counts + known)), most_asymmetry);
}

/*
 * side and contradicts belong to one pair at a time. What the elimination of its D leaves is kept
 * for step_delays(). The side acts on phi_b - phi_a, so it is added at b and subtracted at a.
 */
static void clock_solve_add_pairs(struct solving *s)
{
    for (uint64_t i = 0; i < s->m->pair_count; i++) {
        const struct model_pair *pair = &s->m->pairs[i];
        struct eliminated *e = &s->eliminated[i];
        double sums[2][2];
        e->coupling = &s->couplings[2 * i * s->nb];
        memset(e->coupling, 0, 2UL * s->nb * sizeof *e->coupling);
        memset(s->side, 0, s->nb * sizeof *s->side);
        s->contradicts = s->posterior && model_contradicts(s->m, pair);
        clock_solve_collect_way(s, i, 0, sums[0], e->coupling);
        clock_solve_collect_way(s, i, 1, sums[1], e->coupling + s->nb);
        pair_eliminate(s, pair, sums, e);
        clock_solve_reduce_pair(s, e, edge_block(s, i));
        for (uint32_t k = 0; k < s->nb; k++) {
            solving_right(s, pair->a)[k] -= s->side[k];
            solving_right(s, pair->b)[k] += s->side[k];
        }
    }
}

void ictusi_solving_assemble(struct solving *s)
{
    ictusi_normal_clear(&s->normal);
    if (!s->posterior) {
        s->doubt = s->step < WARY_STEPS ? 1 : ictusi_model_offsets_scatter(s->m, s->ratios);
    }
    clock_solve_set_asymmetry(s);
    clock_solve_add_pairs(s);
    clock_solve_add_pins(s);
    clock_solve_add_oscillators(s);
    clock_solve_add_bends(s);
    clock_solve_add_offsets(s);
}

/* The D follow from the step d of phi_b - phi_a: dD = M^-1 (pull - C d). */
static void step_delays(const struct solving *s)
{
    for (uint64_t i = 0; i < s->m->pair_count; i++) {
        struct model_pair *pair = &s->m->pairs[i];
        const struct eliminated *e = &s->eliminated[i];
        double pull[2];
        for (int way = 0; way < 2; way++) {
            const double *c = e->coupling + (way ? s->nb : 0);
            pull[way] = e->pull[way] - functional_value(c, solving_right(s, pair->b), s->nb) +
                        functional_value(c, solving_right(s, pair->a), s->nb);
        }
        pair->least[0] += e->inverse[0] * pull[0] + e->inverse[1] * pull[1];
        pair->least[1] += e->inverse[1] * pull[0] + e->inverse[2] * pull[1];
    }
}

/*
 * Make one step. Returns the largest change of phi, or a negative number if there is no solution.
 */
static double solve_step(struct solving *s)
{
    const double *step = s->normal.right;
    double largest = 0;
    ictusi_solving_assemble(s);
    if (!ictusi_normal_factorise(&s->normal)) {
        return -1;
    }
    ictusi_normal_solve(&s->normal);
    for (uint64_t i = 0; i < s->normal.n; i++) {
        if (!isfinite(step[i])) {
            return -1;
        }
        largest = fmax(largest, fabs(step[i]));
    }
    step_delays(s);
    for (uint64_t i = 0; i < s->normal.n; i++) {
        s->x[i] += step[i];
    }
    phi_from_unknowns(s);
    return largest;
}

void ictusi_solving_fini(struct solving *s)
{
    ictusi_normal_fini(&s->normal);
    free(s->x);
    free(s->eliminated);
    free(s->couplings);
}

/* One edge per pair, and one to the reference for each clock that has offsets. */
static void clock_solve_set_edges(struct solving *s)
{
    const struct clock_model *m = s->m;
    struct normal_edge *edge = s->normal.edges;
    for (uint64_t i = 0; i < m->pair_count; i++) {
        *edge++ = (struct normal_edge){m->pairs[i].a, m->pairs[i].b};
    }
    for (uint64_t i = 0; i < m->offset_count; i++) {
        if (i == 0 || m->offsets[i].clock != m->offsets[i - 1].clock) {
            *edge++ = (struct normal_edge){m->reference, m->offsets[i].clock};
        }
    }
}

/* Offsets are sorted by clock, so each change of the clock is another edge. */
static uint64_t clock_solve_count_edges(const struct clock_model *m)
{
    uint64_t count = m->pair_count + (m->offset_count > 0);
    for (uint64_t i = 1; i < m->offset_count; i++) {
        count += m->offsets[i].clock != m->offsets[i - 1].clock;
    }
    return count;
}

int ictusi_solving_init(struct solving *s)
{
    const struct clock_model *m = s->m;
    s->nb = s->walk->strength > 0 ? m->knots : 2;
    int err = ictusi_normal_init(&s->normal, m->clocks, s->nb, clock_solve_count_edges(m),
                                 m->clocks <= NORMAL_DENSE_MAX);
    s->x = calloc(s->normal.n + 3UL * s->nb + m->offset_count, sizeof *s->x);
    s->eliminated = calloc(m->pair_count + 1, sizeof *s->eliminated);
    s->couplings = calloc(2 * m->pair_count * s->nb + 1, sizeof *s->couplings);
    if (err || !s->x || !s->eliminated || !s->couplings) {
        ictusi_solving_fini(s);
        return ICTUS_ERR_NOMEM;
    }
    s->level = s->x + s->normal.n;
    s->slope = s->level + s->nb;
    s->side = s->slope + s->nb;
    s->ratios = s->side + s->nb;
    clock_solve_set_functionals(s);
    clock_solve_set_edges(s);
    unknowns_from_phi(s);
    return ICTUS_OK;
}

/*
 * The iteration ends when no unknown moves by a nanosecond any more, but not before the archive's
 * offsets have counted with their own standard deviations, which happens from step WARY_STEPS on.
 */
int ictusi_clock_model_solve(struct clock_model *m, const struct model_walk *walk, int fold,
                             int steps, bool afresh)
{
    enum { STEPS_LEAST = 5 };
    const double enough = 1e-3; /* us */
    struct solving s = {.m = m, .walk = walk, .fold = fold};
    int err = ictusi_solving_init(&s);
    if (err) {
        return err;
    }
    for (uint64_t i = 0; i < m->pair_count && afresh; i++) {
        ictusi_model_least_guess(m, &m->pairs[i], 0, fold);
        ictusi_model_least_guess(m, &m->pairs[i], 1, fold);
    }
    for (s.step = 0; s.step < steps && !err; s.step++) {
        s.start = afresh && s.step == 0;
        const double moved = solve_step(&s);
        err = moved < 0 ? ICTUS_ERR_UNSUPPORTED : ICTUS_OK;
        if (s.step >= STEPS_LEAST && moved < enough) {
            break;
        }
    }
    ictusi_solving_fini(&s);
    return err;
}
