/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fit of a clock model: iteratively reweighted least squares. Each step solves the normal
 * equations of
 *
 *   loss(y - phi_b + phi_a - D)   of all delays; e < 0 is forbidden, e > 0 a wait
 *   D >= 0
 *   (D_ab - D_ba) / 2             near 0 within a part of the half round trip
 *   phi_u - phi_ref - value       of the archive's offsets (Student, 2 degrees of freedom)
 *   second differences of phi     a random walk of the frequency (Huber: it may step)
 *   drift and level of phi        near 0: crystals are sold within +-50 ppm
 *
 * for the step. Every D meets only the two clocks of its pair, and only their difference, so that
 * it is eliminated before (a Schur complement of one or two unknowns a pair).
 */
#include "causality/cholesky.h"
#include "causality/clock_private.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double drift_sd = 50e-6;
static const double level_scale = 1e3;     /* us: a level's pull is bounded beyond */
static const double usual_asymmetry = 0.2; /* sd in half round trips, before any is seen */
static const double most_asymmetry = 0.58; /* uniform in +-h: nothing is known */
static const double usual_counts = 3;      /* the usual one counts as so many pairs */
static const double least_half_trip = 0.2; /* us */
static const double huber = 1.5;           /* of second differences and levels, in sd */
static const double mean_pin = 1e4;        /* of the mean clock, which nobody can see */
static const double level_damping = 1e-6;  /* of steps: nothing moves where nothing pulls */
static const double delay_damping = 1e-7;
static const double hardly = 1e-12; /* what damps the errors, which are to be no smaller for it */

/* The unknowns of one pair's D, in terms of the step of phi_b - phi_a. */
struct eliminated {
    double inverse[3]; /* of the symmetric matrix of both D: 00, 01, 11 */
    double pull[2];    /* its right side */
    double *coupling;  /* 2 x nb */
};

/* One solution under way. */
struct solving {
    struct clock_model *m;
    const struct model_walk *walk;
    int fold;
    bool posterior; /* weights for the errors: what the data are worth, not what leads to the fit */
    bool start;     /* nothing is known yet */
    int step;
    uint32_t nb, n;                     /* unknowns of a clock, and of all */
    double *matrix, *right, *scale, *x; /* n x n, n, n, n: x are the unknowns of phi */
    double *level, *slope;              /* nb: how they follow from a clock's unknowns */
    double *block, *side;               /* nb x nb, nb: of a pair */
    struct eliminated *eliminated;
    double *couplings;
    double asymmetry; /* sd in half round trips */
    double doubt;     /* how many times the archive's standard deviations its offsets err */
};

/* The two unknowns of a clock that matter at a position, and by how much. */
struct basis {
    uint32_t at[2];
    double by[2];
};

static struct basis basis_at(const struct solving *s, double position)
{
    const uint32_t knots = s->m->knots;
    if (s->walk->strength == 0) {
        return (struct basis){{0, 1}, {1, position / (knots - 1) - 0.5}};
    }
    double low = floor(position);
    low = low > 0 ? low : 0;
    low = low < knots - 2 ? low : knots - 2;
    const uint32_t i = (uint32_t)low;
    return (struct basis){{i, i + 1}, {1 - (position - low), position - low}};
}

static double *matrix_at(const struct solving *s, uint32_t clock, uint32_t other)
{
    return &s->matrix[(uint64_t)clock * s->nb * s->n + (uint64_t)other * s->nb];
}

/* phi of all knots from the unknowns. */
static void phi_from_unknowns(const struct solving *s)
{
    struct clock_model *m = s->m;
    for (uint32_t u = 0; u < m->clocks; u++) {
        for (uint32_t k = 0; k < m->knots; k++) {
            const struct basis b = basis_at(s, k);
            const double *x = &s->x[(uint64_t)u * s->nb];
            m->phi[(uint64_t)u * m->knots + k] = b.by[0] * x[b.at[0]] + b.by[1] * x[b.at[1]];
        }
    }
}

/* Level and slope (over the whole trace) of knots by least squares; as unknowns they are itself. */
static void set_functionals(struct solving *s)
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

static double functional_value(const double *l, const double *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += l[i] * x[i];
    }
    return sum;
}

/* The unknowns that are nearest to the present phi. */
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

/* A quadratic prior of one functional of a clock, with a target of 0. */
static void add_prior(struct solving *s, uint32_t u, const double *l, double weight)
{
    const double value = functional_value(l, &s->x[(uint64_t)u * s->nb], s->nb);
    double *block = matrix_at(s, u, u);
    for (uint32_t i = 0; i < s->nb; i++) {
        for (uint32_t k = 0; k < s->nb; k++) {
            block[(uint64_t)i * s->n + k] += weight * l[i] * l[k];
        }
        s->right[(uint64_t)u * s->nb + i] -= weight * value * l[i];
    }
}

/* The mean clock keeps its level and slope; steps are damped. */
static void add_pins(struct solving *s)
{
    const uint32_t p = s->m->clocks;
    const double *const functionals[] = {s->level, s->slope};
    for (int f = 0; f < 2; f++) {
        const double *l = functionals[f];
        double mean = 0;
        for (uint32_t u = 0; u < p; u++) {
            mean += functional_value(l, &s->x[(uint64_t)u * s->nb], s->nb);
        }
        for (uint64_t i = 0; i < s->n; i++) {
            const double weight = mean_pin / p / p * l[i % s->nb];
            for (uint64_t k = 0; k < s->n; k++) {
                s->matrix[i * s->n + k] += weight * l[k % s->nb];
            }
            s->right[i] -= weight * mean;
        }
    }
    const double damping = s->posterior ? hardly : level_damping;
    for (uint32_t u = 0; u < p; u++) {
        double *block = matrix_at(s, u, u);
        for (uint32_t i = 0; i < s->nb; i++) {
            for (uint32_t k = 0; k < s->nb; k++) {
                block[(uint64_t)i * s->n + k] += damping * s->level[i] * s->level[k];
            }
        }
    }
}

static void add_oscillators(struct solving *s)
{
    const struct clock_model *m = s->m;
    const double drift = drift_sd * m->length;
    /* Clocks that agreed once may have drifted apart since. */
    const double scale = s->posterior ? hypot(level_scale, drift) : level_scale;
    for (uint32_t u = 0; u < m->clocks; u++) {
        const double level =
            fabs(functional_value(s->level, &s->x[(uint64_t)u * s->nb], s->nb)) / scale;
        add_prior(s, u, s->slope, 1 / (drift * drift));
        add_prior(s, u, s->level, fmin(1, huber / fmax(level, 1e-12)) / (scale * scale));
    }
}

static void add_bends(struct solving *s)
{
    static const double difference[] = {1, -2, 1};
    const struct clock_model *m = s->m;
    const double step_s = m->length / (m->knots - 1) * 1e-6;
    for (uint32_t u = 0; u < m->clocks && s->walk->strength > 0; u++) {
        const double factor = s->walk->apart ? s->walk->factor[u] : 1;
        const double sd = factor * s->walk->strength * pow(step_s, 1.5) * sqrt(2.0 / 3) * 1e6;
        for (uint32_t k = 0; k + 2 < m->knots; k++) {
            const uint64_t at = (uint64_t)u * s->nb + k;
            const double bend = functional_value(difference, &s->x[at], 3);
            const double w = fmin(1, huber / fmax(fabs(bend) / sd, 1e-12)) / (sd * sd);
            for (uint32_t i = 0; i < 3; i++) {
                for (uint32_t j = 0; j < 3; j++) {
                    s->matrix[(at + i) * s->n + at + j] += w * difference[i] * difference[j];
                }
                s->right[at + i] -= w * bend * difference[i];
            }
        }
    }
}

/* weight * (phi_b - phi_a)'s basis at a position, with this much left to explain. */
static void add_difference(struct solving *s, uint32_t a, uint32_t b, const struct basis *at,
                           double weight, double rest)
{
    const uint32_t clocks[] = {a, b};
    for (int i = 0; i < 4; i++) {
        const double left = (i < 2 ? -1 : 1) * at->by[i % 2];
        const uint64_t row = (uint64_t)clocks[i / 2] * s->nb + at->at[i % 2];
        for (int k = 0; k < 4; k++) {
            const double right = (k < 2 ? -1 : 1) * at->by[k % 2];
            const uint64_t column = (uint64_t)clocks[k / 2] * s->nb + at->at[k % 2];
            s->matrix[row * s->n + column] += weight * left * right;
        }
        s->right[row] += weight * rest * left;
    }
}

/* The first steps trust nobody fully: an archive that is wrong must not decide the rest. */
static void add_offsets(struct solving *s)
{
    enum { WARY_STEPS = 4 };
    const struct clock_model *m = s->m;
    for (uint64_t i = 0; i < m->offset_count; i++) {
        const struct model_offset *o = &m->offsets[i];
        const double sd = model_offset_sd(o) * (s->posterior ? s->doubt : 1);
        const double rest = model_offset_residual(m, o);
        const double weight = s->step < WARY_STEPS && !s->posterior
                                  ? 1 / (25 + sd * sd + rest * rest)
                                  : 2 / (2 * sd * sd + rest * rest);
        const struct basis at = basis_at(s, o->position);
        add_difference(s, m->reference, o->clock, &at, weight, rest);
    }
}

/*
 * What a delay is worth to the error: its typical wait. Where no message goes back, nothing tells
 * waits that grow from clocks that drift apart, so all of a pair's delays count as one.
 */
static double posterior_weight(const struct model_pair *pair, int way)
{
    const double spread = fmax(pair->spread[way], MODEL_SCATTER);
    return 1 / (spread * spread * (pair->counts[!way] ? 1 : pair->counts[way]));
}

/* The delays of one direction: into the pair's block and side, and into its D's row. */
static void collect_way(struct solving *s, struct model_pair *pair, int way, double sums[2],
                        double *coupling)
{
    const double sign = way ? -1 : 1;
    sums[0] = 0;
    sums[1] = 0;
    ictusi_model_spread(s->m, pair, way, s->fold);
    const double spread = pair->spread[way];
    const double worth = posterior_weight(pair, way);
    for (uint32_t k = 0; k < pair->counts[way]; k++) {
        const struct model_delay *delay = &pair->delays[way][k];
        if (model_is_held(delay, s->fold)) {
            continue;
        }
        const double r = model_residual(s->m, pair, way, k);
        const double w = s->posterior ? worth
                         : s->start   ? 1 / (MODEL_SCATTER + fabs(r))
                                      : model_weight(spread, r);
        const struct basis at = basis_at(s, delay->position);
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 2; j++) {
                s->block[(uint64_t)at.at[i] * s->nb + at.at[j]] += w * at.by[i] * at.by[j];
            }
            s->side[at.at[i]] += sign * w * r * at.by[i];
            coupling[at.at[i]] += sign * w * at.by[i];
        }
        sums[0] += w;
        sums[1] += w * r;
    }
}

/* The 2 x 2 system of a pair's D, and its inverse. */
static void pair_eliminate(struct solving *s, const struct model_pair *pair, double sums[2][2],
                           struct eliminated *e)
{
    const uint32_t *degree = s->m->degree;
    const double square = MODEL_SCATTER * MODEL_SCATTER;
    const bool both = pair->counts[0] && pair->counts[1];
    const double half = fmax(least_half_trip, (pair->least[0] + pair->least[1]) / 2);
    const uint32_t few = degree[pair->a] < degree[pair->b] ? degree[pair->a] : degree[pair->b];
    const double tie =
        both ? 1 / (4 * s->asymmetry * s->asymmetry * half * half * (few > 1 ? few : 1)) : 0;
    double diagonal[2];
    for (int way = 0; way < 2; way++) {
        double below = pair->least[way] < 0 ? 1 / square : 0;
        if (s->posterior) { /* one bound alone does not say how far beyond it the clocks are */
            below *= both ? square / (half > 1 ? half * half : 1) : 0;
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

/* Take the D out of the pair's block and side. */
static void reduce_pair(const struct solving *s, const struct eliminated *e)
{
    const double *c0 = e->coupling;
    const double *c1 = e->coupling + s->nb;
    for (uint32_t i = 0; i < s->nb; i++) {
        const double left0 = c0[i] * e->inverse[0] + c1[i] * e->inverse[1];
        const double left1 = c0[i] * e->inverse[1] + c1[i] * e->inverse[2];
        for (uint32_t k = 0; k < s->nb; k++) {
            s->block[(uint64_t)i * s->nb + k] -= left0 * c0[k] + left1 * c1[k];
        }
        s->side[i] -= left0 * e->pull[0] + left1 * e->pull[1];
    }
}

static void add_block(const struct solving *s, const struct model_pair *pair)
{
    double *const diagonals[] = {matrix_at(s, pair->a, pair->a), matrix_at(s, pair->b, pair->b)};
    double *const others[] = {matrix_at(s, pair->a, pair->b), matrix_at(s, pair->b, pair->a)};
    for (uint64_t i = 0; i < s->nb; i++) {
        for (uint32_t k = 0; k < s->nb; k++) {
            const double value = s->block[i * s->nb + k];
            diagonals[0][i * s->n + k] += value;
            diagonals[1][i * s->n + k] += value;
            others[0][i * s->n + k] -= value;
            others[1][i * s->n + k] -= value;
        }
        s->right[(uint64_t)pair->a * s->nb + i] -= s->side[i];
        s->right[(uint64_t)pair->b * s->nb + i] += s->side[i];
    }
}

/*
 * How much paths differ by direction: (D_ab - D_ba) / 2 against half the round trip. Seen it can be
 * where pairs close loops, or where the archive's offsets speak for the clocks as well.
 */
static void set_asymmetry(struct solving *s)
{
    const struct clock_model *m = s->m;
    const double prior = usual_asymmetry * usual_asymmetry;
    double squares = usual_counts * prior;
    double pairs = 0;
    for (uint64_t i = 0; i < m->pair_count && !s->start; i++) {
        const struct model_pair *pair = &m->pairs[i];
        if (pair->counts[0] && pair->counts[1]) {
            const double half = fmax(least_half_trip, (pair->least[0] + pair->least[1]) / 2);
            const double part = (pair->least[0] - pair->least[1]) / 2 / half;
            squares += part * part;
            pairs++;
        }
    }
    const double known = m->offset_count ? pairs : fmax(pairs - (m->clocks - 1.0), 0);
    s->asymmetry = fmin(sqrt(squares / (usual_counts + known)), most_asymmetry);
}

static void add_pairs(struct solving *s)
{
    for (uint64_t i = 0; i < s->m->pair_count; i++) {
        struct model_pair *pair = &s->m->pairs[i];
        struct eliminated *e = &s->eliminated[i];
        double sums[2][2];
        e->coupling = &s->couplings[2 * i * s->nb];
        memset(e->coupling, 0, 2UL * s->nb * sizeof *e->coupling);
        memset(s->block, 0, (uint64_t)s->nb * s->nb * sizeof *s->block);
        memset(s->side, 0, s->nb * sizeof *s->side);
        collect_way(s, pair, 0, sums[0], e->coupling);
        collect_way(s, pair, 1, sums[1], e->coupling + s->nb);
        pair_eliminate(s, pair, sums, e);
        reduce_pair(s, e);
        add_block(s, pair);
    }
}

static void solve_assemble(struct solving *s)
{
    memset(s->matrix, 0, (uint64_t)s->n * s->n * sizeof *s->matrix);
    memset(s->right, 0, s->n * sizeof *s->right);
    set_asymmetry(s);
    add_pairs(s);
    add_pins(s);
    add_oscillators(s);
    add_bends(s);
    add_offsets(s);
}

/* The D follow the step of phi. */
static void step_delays(const struct solving *s)
{
    for (uint64_t i = 0; i < s->m->pair_count; i++) {
        struct model_pair *pair = &s->m->pairs[i];
        const struct eliminated *e = &s->eliminated[i];
        double pull[2];
        for (int way = 0; way < 2; way++) {
            const double *c = e->coupling + (way ? s->nb : 0);
            pull[way] = e->pull[way] -
                        functional_value(c, &s->right[(uint64_t)pair->b * s->nb], s->nb) +
                        functional_value(c, &s->right[(uint64_t)pair->a * s->nb], s->nb);
        }
        pair->least[0] += e->inverse[0] * pull[0] + e->inverse[1] * pull[1];
        pair->least[1] += e->inverse[1] * pull[0] + e->inverse[2] * pull[1];
    }
}

/* One step; how far phi moved at most, or a negative number where there is no solution. */
static double solve_step(struct solving *s)
{
    double largest = 0;
    solve_assemble(s);
    if (!ictusi_cholesky_factorise(s->matrix, s->n, s->scale)) {
        return -1;
    }
    ictusi_cholesky_solve(s->matrix, s->n, s->scale, s->right);
    for (uint32_t i = 0; i < s->n; i++) {
        if (!isfinite(s->right[i])) {
            return -1;
        }
        largest = fmax(largest, fabs(s->right[i]));
    }
    step_delays(s);
    for (uint32_t i = 0; i < s->n; i++) {
        s->x[i] += s->right[i];
    }
    phi_from_unknowns(s);
    return largest;
}

static void solving_fini(struct solving *s)
{
    free(s->matrix);
    free(s->right);
    free(s->eliminated);
    free(s->couplings);
}

static int solving_init(struct solving *s)
{
    const struct clock_model *m = s->m;
    s->nb = s->walk->strength > 0 ? m->knots : 2;
    s->n = m->clocks * s->nb;
    s->matrix = malloc((uint64_t)s->n * s->n * sizeof *s->matrix);
    double *vectors = calloc(3UL * s->n + (s->nb + 3UL) * s->nb, sizeof *vectors);
    s->eliminated = calloc(m->pair_count + 1, sizeof *s->eliminated);
    s->couplings = calloc(2 * m->pair_count * s->nb + 1, sizeof *s->couplings);
    s->right = vectors;
    if (!s->matrix || !vectors || !s->eliminated || !s->couplings) {
        solving_fini(s);
        return ICTUS_ERR_NOMEM;
    }
    s->scale = s->right + s->n;
    s->x = s->scale + s->n;
    s->level = s->x + s->n;
    s->slope = s->level + s->nb;
    s->side = s->slope + s->nb;
    s->block = s->side + s->nb;
    set_functionals(s);
    unknowns_from_phi(s);
    return ICTUS_OK;
}

int ictusi_clock_model_solve(struct clock_model *m, const struct model_walk *walk, int fold,
                             int steps, bool afresh)
{
    enum { STEPS_LEAST = 5 };
    const double enough = 1e-3; /* us */
    struct solving s = {.m = m, .walk = walk, .fold = fold};
    int err = solving_init(&s);
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
    solving_fini(&s);
    return err;
}

/* The variance of one clock at one knot, relative to the clock that shows the time. */
static double knot_variance(const struct solving *s, uint32_t clock, uint32_t knot, double *row)
{
    const uint32_t p = s->m->clocks;
    const struct basis at = basis_at(s, knot);
    memset(row, 0, s->n * sizeof *row);
    for (uint32_t u = 0; u < p; u++) {
        const double time = s->m->mean_is_time ? 1.0 / p : u == s->m->reference;
        const double share = (u == clock) - time;
        row[(uint64_t)u * s->nb + at.at[0]] += share * at.by[0];
        row[(uint64_t)u * s->nb + at.at[1]] += share * at.by[1];
    }
    ictusi_cholesky_forward(s->matrix, s->n, s->scale, row);
    return functional_value(row, row, s->n);
}

int ictusi_clock_model_errors(struct clock_model *m, const struct model_walk *walk)
{
    struct solving s = {.m = m, .walk = walk, .fold = -1, .posterior = true};
    s.doubt = ictusi_model_doubt(m);
    int err = solving_init(&s);
    if (err) {
        return err;
    }
    solve_assemble(&s);
    err = ictusi_cholesky_factorise(s.matrix, s.n, s.scale) ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
    memset(m->error, 0, (uint64_t)m->clocks * m->knots * sizeof *m->error);
    if (!err) {
        ictusi_model_add_contradictions(m);
    }
    for (uint64_t i = 0; i < (uint64_t)m->clocks * m->knots && !err; i++) {
        const double variance =
            knot_variance(&s, (uint32_t)(i / m->knots), (uint32_t)(i % m->knots), s.right);
        m->error[i] += 2 * sqrt(variance) + MODEL_SCATTER;
    }
    ictusi_model_add_bends(m);
    solving_fini(&s);
    return err;
}
