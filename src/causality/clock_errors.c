/* SPDX-License-Identifier: BSD-3-Clause */
/* The errors of a clock model: the standard deviations of the solution, and what they leave out. */
#include "causality/cholesky.h"
#include "causality/clock_private.h"
#include "causality/clock_solving.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * How many times their declared standard deviations the archive's offsets err. Where offsets lie
 * farther from the fit than they declare, all of them are scaled up, because the fit cannot know
 * which of two is right. This is the root of the reduced chi square. A clock without any pair that
 * talks both ways may take up one offset with its free level, which costs a degree of freedom. The
 * result is never less than 1: a good agreement by chance makes no error smaller than it was
 * declared.
 */
static double model_doubt(const struct clock_model *m)
{
    double squares = 0;
    double free_levels = 0;
    for (uint32_t u = 0; u < m->clocks; u++) {
        free_levels += m->degree[u] == 0;
    }
    for (uint64_t i = 0; i < m->offset_count; i++) {
        const double ratio =
            model_offset_residual(m, &m->offsets[i]) / model_offset_sd(&m->offsets[i]);
        squares += ratio * ratio;
    }
    const double known = fmax((double)m->offset_count - free_levels, 1);
    return fmax(sqrt(squares / known), 1);
}

/*
 * Add the amount by which nearby bounds contradict the fit. Misses of up to two scatters count as
 * chance. Nothing tells which of the two clocks is wrong, so both get the whole miss, at the two
 * knots around the delay and at the next one on either side.
 */
static void model_add_contradictions(struct clock_model *m)
{
    for (uint64_t i = 0; i < 2 * m->pair_count; i++) {
        const struct model_pair *pair = &m->pairs[i / 2];
        const int way = (int)(i % 2);
        for (uint32_t k = 0; k < pair->counts[way]; k++) {
            const double miss = -model_residual(m, pair, way, k) - 2 * MODEL_SCATTER;
            const double position = pair->delays[way][k].position;
            const uint32_t near = (uint32_t)fmin(fmax(position, 0), m->knots - 1);
            const uint32_t before = near > 0 ? near - 1 : 0;
            for (uint32_t knot = before; miss > 0 && knot < m->knots && knot <= near + 2; knot++) {
                double *const errors[] = {&m->error[(uint64_t)pair->a * m->knots + knot],
                                          &m->error[(uint64_t)pair->b * m->knots + knot]};
                *errors[0] = fmax(*errors[0], miss);
                *errors[1] = fmax(*errors[1], miss);
            }
        }
    }
}

/* phi of the clock that shows the time, at a knot. */
static double model_time(const struct clock_model *m, uint32_t knot)
{
    double time = 0;
    for (uint32_t u = 0; u < m->clocks; u++) {
        const double share = m->mean_is_time ? 1.0 / m->clocks : u == m->reference;
        time += share * m->phi[(uint64_t)u * m->knots + knot];
    }
    return time;
}

/*
 * The bend about a knot that is neither the first nor the last one. A single second difference may
 * be small by chance, so those nearby are averaged. If that is less than the knot's own bend, as
 * where a rate stepped, the latter counts.
 */
static double model_bend(const struct clock_model *m, const double *bends, uint32_t knot)
{
    enum { NEAR = 8 };
    const uint32_t first = knot > NEAR ? knot - NEAR : 1;
    const uint32_t last = knot + NEAR + 1 < m->knots ? knot + NEAR : m->knots - 2;
    double squares = 0;
    for (uint32_t k = first; k <= last; k++) {
        squares += bends[k] * bends[k];
    }
    return fmax(fabs(bends[knot]), sqrt(squares / (last - first + 1)));
}

/*
 * Add the error of interpolating between knots to what chance leaves, of which it is independent.
 * Between two knots h apart, a rate that walks by q per square root of time deviates from the chain
 * of straight pieces by q sqrt(h^3 / 90) (root mean square over time). The second difference at
 * their ends has a standard deviation of q sqrt(2 h^3 / 3), so two standard deviations are a
 * quarter of it. The bends are relative to the clock that shows the time, as the errors are: of two
 * clocks, the fit bends each by half of what they differ.
 */
static void model_add_bends(const struct clock_model *m, double *known, double *scratch)
{
    double *bends = scratch;
    double *time = scratch + m->knots;
    for (uint32_t k = 0; k < m->knots; k++) {
        time[k] = model_time(m, k);
    }
    for (uint32_t u = 0; u < m->clocks && m->knots > 2; u++) {
        const double *own = &m->phi[(uint64_t)u * m->knots];
        double *error = &known[(uint64_t)u * m->knots];
        for (uint32_t k = 1; k + 1 < m->knots; k++) {
            bends[k] =
                (own[k - 1] - time[k - 1]) - 2 * (own[k] - time[k]) + (own[k + 1] - time[k + 1]);
        }
        for (uint32_t k = 0; k < m->knots; k++) {
            const uint32_t inner = k == 0 ? 1 : k + 1 == m->knots ? k - 1 : k;
            error[k] = hypot(error[k], model_bend(m, bends, inner) / 4);
        }
    }
}

/*
 * The variance (us^2) of one clock at one knot, relative to the clock that shows the time. For a
 * linear functional l' x it is l' A^-1 l = |L^-1 D l|^2, with the factorisation D A D = L L'.
 */
static double knot_variance(const struct solving *s, uint32_t clock, uint32_t knot)
{
    const uint32_t p = s->m->clocks;
    const struct normal *normal = &s->normal;
    const struct basis at = solving_basis(s, knot);
    memset(normal->right, 0, normal->n * sizeof *normal->right);
    for (uint32_t u = 0; u < p; u++) {
        const double time = s->m->mean_is_time ? 1.0 / p : u == s->m->reference;
        const double share = (u == clock) - time;
        solving_right(s, u)[at.at[0]] += share * at.by[0];
        solving_right(s, u)[at.at[1]] += share * at.by[1];
    }
    ictusi_cholesky_forward(normal->matrix, (uint32_t)normal->n, normal->scale, normal->right);
    double square = 0;
    for (uint64_t i = 0; i < normal->n; i++) {
        square += normal->right[i] * normal->right[i];
    }
    return square;
}

/* The exact variances, from the Cholesky factor. */
static void variances_solve(const struct solving *s, double *variance)
{
    const uint32_t knots = s->m->knots;
    for (uint64_t i = 0; i < (uint64_t)s->m->clocks * knots; i++) {
        variance[i] = knot_variance(s, (uint32_t)(i / knots), (uint32_t)(i % knots));
    }
}

/*
 * phi of a clock at a knot, from the solution, which ictusi_normal_solve() leaves in the right-hand
 * side.
 */
static double clock_errors_drawn_phi(const struct solving *s, uint32_t clock, uint32_t knot)
{
    const struct basis at = solving_basis(s, knot);
    return at.by[0] * solving_right(s, clock)[at.at[0]] +
           at.by[1] * solving_right(s, clock)[at.at[1]];
}

/* phi, from the solution, of the clock that shows the time. */
static double clock_errors_drawn_time(const struct solving *s, uint32_t knot)
{
    const struct clock_model *m = s->m;
    if (!m->mean_is_time) {
        return clock_errors_drawn_phi(s, m->reference, knot);
    }
    double sum = 0;
    for (uint32_t u = 0; u < m->clocks; u++) {
        sum += clock_errors_drawn_phi(s, u, knot);
    }
    return sum / m->clocks;
}

/*
 * How far each clock is off if, in all pairs, messages take one scatter longer from the lower clock
 * to the higher one than back. Programs send and receive in some order, and that bias is alike in
 * all pairs: along a chain of clocks it adds up, where chance would average out. A constant c added
 * to all delays of a pair acts like a change of c in phi_b - phi_a, so the right-hand side is S_ab
 * c at b and -S_ab c at a.
 */
static void errors_lean(struct solving *s, double *lean)
{
    const struct clock_model *m = s->m;
    const uint32_t nb = s->nb;
    memset(s->normal.right, 0, s->normal.n * sizeof *s->normal.right);
    for (uint64_t i = 0; i < m->pair_count; i++) {
        const double *block = s->normal.blocks + i * nb * nb;
        for (uint32_t k = 0; k < nb; k++) {
            double pull = 0;
            for (uint32_t j = 0; j < (s->walk->strength > 0 ? nb : 1); j++) {
                pull += block[(uint64_t)k * nb + j] * MODEL_SCATTER;
            }
            solving_right(s, m->pairs[i].a)[k] -= pull;
            solving_right(s, m->pairs[i].b)[k] += pull;
        }
    }
    ictusi_normal_solve(&s->normal);
    for (uint32_t k = 0; k < m->knots; k++) {
        const double time = clock_errors_drawn_time(s, k);
        for (uint32_t u = 0; u < m->clocks; u++) {
            lean[(uint64_t)u * m->knots + k] = clock_errors_drawn_phi(s, u, k) - time;
        }
    }
}

/*
 * Variances from random draws of the solution. Each standard deviation has a relative error of
 * 1/sqrt(2 DRAWS). The seed is derived from the model, so that an archive gets the same errors
 * every time.
 */
static void variances_draw(struct solving *s, double *variance)
{
    enum { DRAWS = 64 };
    const struct clock_model *m = s->m;
    struct rng rng;
    ictusi_random_seed(&rng, m->clocks, m->pair_count);
    for (int draw = 0; draw < DRAWS; draw++) {
        ictusi_normal_draw(&s->normal, &rng);
        ictusi_normal_solve(&s->normal);
        for (uint32_t k = 0; k < m->knots; k++) {
            const double time = clock_errors_drawn_time(s, k);
            for (uint32_t u = 0; u < m->clocks; u++) {
                const double off = clock_errors_drawn_phi(s, u, k) - time;
                variance[(uint64_t)u * m->knots + k] += off * off / DRAWS;
            }
        }
    }
}

/*
 * The variances of a solution at the present phi, and its lean. For lines at the phi of a walk, the
 * unknowns become those of the nearest lines, while the residuals of the delays remain those of the
 * walk. So phi is restored after solving_init() has replaced it. Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_UNSUPPORTED.
 */
static int errors_solve(struct clock_model *m, const struct model_walk *walk, double *variance,
                        double *lean)
{
    const uint64_t count = (uint64_t)m->clocks * m->knots;
    struct solving s = {.m = m, .walk = walk, .fold = -1, .posterior = true};
    double *phi = malloc((count + 1) * sizeof *phi);
    if (!phi) {
        return ICTUS_ERR_NOMEM;
    }
    s.doubt = model_doubt(m);
    memcpy(phi, m->phi, count * sizeof *phi);
    int err = ictusi_solving_init(&s);
    memcpy(m->phi, phi, count * sizeof *phi);
    free(phi);
    if (err) {
        return err;
    }
    ictusi_solving_assemble(&s);
    err = ictusi_normal_factorise(&s.normal) ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
    if (!err && s.normal.dense) {
        variances_solve(&s, variance);
    } else if (!err) {
        variances_draw(&s, variance);
    }
    if (!err) {
        errors_lean(&s, lean);
    }
    ictusi_solving_fini(&s);
    return err;
}

/*
 * A walk can do all that lines can, so its error is never smaller than theirs. For a walk that
 * hardly bends, the chain of pieces is so stiff that rounding alone determines its level; the error
 * of lines reveals that.
 */
int ictusi_clock_model_errors(struct clock_model *m, const struct model_walk *walk)
{
    const struct model_walk kinds[] = {*walk, {.strength = 0}};
    const int kind_count = walk->strength > 0 ? 2 : 1;
    const uint64_t count = (uint64_t)m->clocks * m->knots;
    double *variance = malloc((3 * count + 2UL * m->knots + 1) * sizeof *variance);
    int err = variance ? ICTUS_OK : ICTUS_ERR_NOMEM;
    double *lean = variance ? variance + count : NULL;
    double *known = variance ? lean + count : NULL;
    memset(m->error, 0, count * sizeof *m->error);
    model_add_contradictions(m);
    for (int k = 0; k < kind_count && !err; k++) {
        memset(variance, 0, (k ? 2 : 3) * count * sizeof *variance);
        err = errors_solve(m, &kinds[k], variance, lean);
        for (uint64_t i = 0; i < count && !err; i++) {
            known[i] = fmax(known[i], hypot(2 * sqrt(variance[i]), lean[i]));
        }
    }
    if (!err) {
        model_add_bends(m, known, known + count);
    }
    for (uint64_t i = 0; i < count && !err; i++) {
        m->error[i] += hypot(known[i], MODEL_SCATTER);
    }
    free(variance);
    return err;
}
