/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models compete on delays that were left out of their fit: pairs of neighbouring cells of time in
 * turn. Leaving out pairs of clocks instead would leak: who waits for the same late sender waits
 * everywhere.
 */
#include "causality/clock_choice.h"

#include "causality/clock_private.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_FIT = 12, STEPS_TRIAL = 6, LINE_ROUNDS = 2, LINE_ROUNDS_MAX = 24, TURNS = 2 };

static const double walks[] = {1e-9, 1e-8, 1e-7, 1e-6, 1e-5}; /* 1/sqrt(s) */

/* A walk must explain this share more than the best so far. */
static const double worth_a_walk = 0.05;

/* A clock that bends that much more than the others gets a factor of its own. */
static const double bends_more = 4;

/* Moves beyond so many times what they heal (and what is unknown anyway) are refused. */
static const double too_far = 10;

struct gain;

/* One competition. */
struct choosing {
    struct clock_model *m;
    struct clock_source *source;
    struct clock_choice *choice;
    double *phi;        /* kept while trials change it */
    double *declined;   /* phi that the base was taken for; or zeros */
    double *least;      /* the same of D, two a pair */
    double *scores[3];  /* of the base, the best so far, a trial */
    double nearest;     /* the strength of the best walk of all clocks alike, if it won or not */
    uint64_t *pair_of;  /* of each score */
    uint64_t count;     /* in each */
    double violation;   /* the largest of the base, us */
    struct gain *gains; /* by clock */
};

enum { SCORE_BASE, SCORE_BEST, SCORE_TRIAL };

/* Numbers in phi, error and the like: one a clock and knot. */
static uint64_t phi_count(const struct clock_model *m)
{
    return (uint64_t)m->clocks * m->knots;
}

/*
 * Trials fit the model in place, without the delays of a fold: phi and D are put aside before, and
 * back afterwards. No look at the trace may come in between, since that makes a new list of pairs.
 */
static void model_keep(struct choosing *c)
{
    memcpy(c->phi, c->m->phi, phi_count(c->m) * sizeof *c->phi);
    for (uint64_t i = 0; i < 2 * c->m->pair_count; i++) {
        c->least[i] = c->m->pairs[i / 2].least[i % 2];
    }
}

static void model_restore(struct choosing *c)
{
    memcpy(c->m->phi, c->phi, phi_count(c->m) * sizeof *c->phi);
    for (uint64_t i = 0; i < 2 * c->m->pair_count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): kept before */
        c->m->pairs[i / 2].least[i % 2] = c->least[i];
    }
}

static double clock_choice_mean_of(const double *values, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return sum / (double)(n ? n : 1);
}

/* The gain of a trial over the best, of some of the delays. */
struct gain {
    double n, sum, squares, old;
};

static void gain_add(struct gain *gain, double old, double new)
{
    gain->n++;
    gain->sum += old - new;
    gain->squares += (old - new) * (old - new);
    gain->old += old;
}

/* Beyond so many standard errors, and beyond this part of what there was. */
static bool gain_counts(const struct gain *gain, double errors, double part)
{
    const double n = fmax(gain->n, 1);
    const double mean = gain->sum / n;
    const double variance = fmax(gain->squares / n - mean * mean, 0);
    return mean > fmax(errors * sqrt(variance / n), part * gain->old / n);
}

/*
 * Whether the trial beats the best by more than chance and by this part of it: for all clocks, or
 * for one of them (of which the best one is looked at: it takes more to be no chance) and no worse
 * for all.
 */
static bool trial_wins(const struct choosing *c, double part)
{
    const double errors = 2;
    const double errors_of_one = 4;
    const double part_of_one = 4 * part;
    struct gain all = {0};
    memset(c->gains, 0, c->m->clocks * sizeof *c->gains);
    for (uint64_t i = 0; i < c->count; i++) {
        const double old = c->scores[SCORE_BEST][i];
        const double new = c->scores[SCORE_TRIAL][i];
        const struct model_pair *pair = &c->m->pairs[c->pair_of[i]];
        gain_add(&all, old, new);
        gain_add(&c->gains[pair->a], old, new);
        gain_add(&c->gains[pair->b], old, new);
    }
    bool one = false;
    for (uint32_t u = 0; u < c->m->clocks && !one; u++) {
        one = gain_counts(&c->gains[u], errors_of_one, part_of_one);
    }
    return gain_counts(&all, errors, one ? 0 : part);
}

/* The next trial writes over what was the best until now. */
static void trial_becomes_best(struct choosing *c)
{
    double *best = c->scores[SCORE_TRIAL];
    c->scores[SCORE_TRIAL] = c->scores[SCORE_BEST];
    c->scores[SCORE_BEST] = best;
}

/*
 * Score a walk, or the base (NULL), on both folds; the model stays as it is. What one fold leaves
 * out the other fits, so that each delay that was seen last is scored once, by a fit that did not
 * know it. Scores of two models are in the same order, by which they are compared one by one.
 */
static int clock_choice_held_out(struct choosing *c, const struct model_walk *walk, int score)
{
    int err = ICTUS_OK;
    uint64_t n = 0;
    model_keep(c);
    for (int fold = 0; fold < 2 && !err; fold++) {
        if (walk) {
            err = ictusi_clock_model_solve(c->m, walk, fold, STEPS_TRIAL, false);
        } else {
            ictusi_clock_model_delays_only(c->m, fold);
        }
        n += ictusi_clock_model_score(c->m, fold, &c->scores[score][n], &c->pair_of[n]);
        model_restore(c);
    }
    c->count = n;
    return err;
}

/*
 * Another look at the trace, and the room that its delays need. Each array that was moved is taken
 * over at once, so that it is freed whatever fails after it.
 */
static int choice_observe(struct choosing *c)
{
    const int err = c->source->observe(c->source, c->m);
    if (err) {
        return err;
    }
    double *wide = realloc(c->least, (2 * c->m->pair_count + 1) * sizeof *c->least);
    c->least = wide ? wide : c->least;
    uint64_t *pairs = realloc(c->pair_of, (c->m->delay_count + 1) * sizeof *pairs);
    c->pair_of = pairs ? pairs : c->pair_of;
    wide = pairs ? wide : NULL;
    for (int i = 0; i < 3 && wide; i++) {
        double *score = realloc(c->scores[i], (c->m->delay_count + 1) * sizeof *score);
        wide = score ? wide : NULL;
        c->scores[i] = score ? score : c->scores[i];
    }
    return wide ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/* Again as long as there is news of who waits for whom: each look may show others than the last. */
static int fit_lines(struct choosing *c)
{
    const struct model_walk lines = {.strength = 0};
    int err = ictusi_clock_model_solve(c->m, &lines, -1, STEPS_FIT, true);
    bool more = true;
    for (int round = 0; round < LINE_ROUNDS_MAX && more && !err; round++) {
        err = choice_observe(c);
        more = round + 1 < LINE_ROUNDS || c->m->news > 0;
        err = err ? err : ictusi_clock_model_solve(c->m, &lines, -1, STEPS_FIT, false);
    }
    return err ? err : choice_observe(c);
}

/*
 * Each clock's bends (second differences of phi) beside those of the median clock; whether one
 * stands out. Bends that all clocks seem to have are those of the clock that phi is relative to.
 * A factor is the root mean square of a clock's bends in those of the usual clock, at least 1.
 */
static bool clock_choice_find_factors(const struct clock_model *m, struct model_walk *walk,
                                      double *scratch)
{
    double largest = 0;
    memset(walk->factor, 0, m->clocks * sizeof *walk->factor);
    for (uint32_t k = 0; k + 2 < m->knots; k++) {
        for (uint32_t u = 0; u < m->clocks; u++) {
            const double *row = &m->phi[(uint64_t)u * m->knots + k];
            scratch[u] = row[0] - 2 * row[1] + row[2];
        }
        const double median = ictusi_model_median(scratch, m->clocks);
        for (uint32_t u = 0; u < m->clocks; u++) {
            const double *row = &m->phi[(uint64_t)u * m->knots + k];
            const double bend = row[0] - 2 * row[1] + row[2] - median;
            walk->factor[u] += bend * bend;
        }
    }
    for (uint32_t u = 0; u < m->clocks; u++) {
        walk->factor[u] = sqrt(walk->factor[u] / m->knots);
        scratch[u] = walk->factor[u];
    }
    const double usual = fmax(ictusi_model_median(scratch, m->clocks), 1e-9);
    for (uint32_t u = 0; u < m->clocks; u++) {
        walk->factor[u] = fmax(walk->factor[u] / usual, 1);
        largest = fmax(largest, walk->factor[u]);
    }
    return largest >= bends_more;
}

/*
 * The best strength of a kind of walks from the kind's own on; a walk is tried until it gets worse,
 * twice in a row, which counts only once some walk has won: the weakest ones differ from lines by
 * nothing.
 */
static int clock_choice_try_walks(struct choosing *c, const struct model_walk *kind)
{
    enum { WALKS = sizeof walks / sizeof *walks, PATIENCE = 2 };
    double lowest = INFINITY;
    int err = ICTUS_OK;
    int worse = 0;
    for (int i = 0; i < WALKS && worse < PATIENCE && !err; i++) {
        struct model_walk walk = *kind;
        if (walks[i] < kind->strength) {
            continue;
        }
        walk.strength = walks[i];
        err = clock_choice_held_out(c, &walk, SCORE_TRIAL);
        if (err == ICTUS_ERR_UNSUPPORTED) {
            err = ICTUS_OK; /* that one has no solution */
            continue;
        }
        const double score = clock_choice_mean_of(c->scores[SCORE_TRIAL], c->count);
        if (!err && !kind->apart && score < lowest) {
            lowest = score;
            c->nearest = walk.strength;
        }
        if (!err && trial_wins(c, worth_a_walk)) {
            c->choice->walk = walk;
            trial_becomes_best(c);
            worse = 0;
        } else {
            worse += c->choice->walk.strength > 0;
        }
    }
    return err;
}

/*
 * Then the clocks that move more than the others, each by its own factor. One that wanders among
 * many that do not may be all that a walk is for: alike, the others pay for it.
 */
static int clock_choice_try_factors(struct choosing *c)
{
    if (c->nearest == 0 || c->m->clocks < 3) {
        return ICTUS_OK;
    }
    double *scratch = malloc(c->m->clocks * sizeof *scratch);
    if (!scratch) {
        return ICTUS_ERR_NOMEM;
    }
    struct model_walk alike = c->choice->walk;
    alike.strength = alike.strength > 0 ? alike.strength : c->nearest;
    alike.apart = false;
    model_keep(c);
    int err = ictusi_clock_model_solve(c->m, &alike, -1, STEPS_TRIAL, false);
    const bool some = !err && clock_choice_find_factors(c->m, &c->choice->walk, scratch);
    model_restore(c);
    free(scratch);
    alike.strength = 0;
    alike.apart = true;
    return err || !some ? err : clock_choice_try_walks(c, &alike);
}

static int fit_walk(struct choosing *c)
{
    int err = ictusi_clock_model_solve(c->m, &c->choice->walk, -1, STEPS_FIT, false);
    return err ? err : choice_observe(c);
}

static void clock_choice_forget_walk(struct clock_choice *choice)
{
    choice->walk = (struct model_walk){.factor = choice->walk.factor};
}

/*
 * The second turn chooses again from the delays as they are seen after the first turn's walk was
 * taken off: in collectives others may be the last to come than seemed so through lines. A turn
 * that chooses the same strength once more ends it.
 */
static int clock_choice_choose_strength(struct choosing *c)
{
    const struct model_walk lines = {.strength = 0};
    int err = ICTUS_OK;
    for (int turn = 0; turn < TURNS && !err; turn++) {
        const double before = c->choice->walk.strength;
        if (turn > 0) {
            clock_choice_forget_walk(c->choice);
            err = clock_choice_held_out(c, &lines, SCORE_BEST);
        }
        const struct model_walk alike = c->choice->walk;
        err = err ? err : clock_choice_try_walks(c, &alike);
        err = err ? err : clock_choice_try_factors(c);
        if (err || (c->choice->walk.strength == 0 && turn == 0)) {
            return err;
        }
        err = fit_walk(c);
        if (turn > 0 && c->choice->walk.strength == before) {
            break;
        }
    }
    return err;
}

/*
 * Clocks that jump break bounds whatever they are fitted by, and bounds that may not be broken then
 * bend clocks all around. Where some are, a walk by which they count no more than waits competes as
 * well: of clocks that do not jump it predicts less, since the least delays say more than the
 * middle ones.
 */
static int clock_choice_try_even(struct choosing *c)
{
    struct model_walk even = c->choice->walk;
    bool broken = false;
    for (uint64_t i = 0; i < c->m->pair_count && !broken; i++) {
        broken = model_contradicts(c->m, &c->m->pairs[i]);
    }
    const int err = broken ? clock_choice_held_out(c, &even, SCORE_BEST) : ICTUS_OK;
    even.even = true;
    return err || !broken ? err : clock_choice_try_walks(c, &even);
}

/* The worst of the delays as they are seen now, as a violation. */
static double clock_choice_worst_violation(const struct clock_model *m)
{
    double worst = 0;
    for (uint64_t i = 0; i < m->delay_count; i++) {
        worst = fmax(worst, -m->delays[i].seen);
    }
    return worst;
}

static double clock_choice_largest_error(const struct clock_model *m)
{
    double largest = 0;
    for (uint64_t i = 0; i < phi_count(m); i++) {
        largest = fmax(largest, m->error[i]);
    }
    return largest;
}

/*
 * The walk that was chosen last, or the one before again if it is known better, or if the last one
 * leaves a violation that is worse than the base's: where bounds may break, nothing but the usual
 * asymmetry of paths may be left to hold a clock's level.
 */
static int clock_choice_fit_even(struct choosing *c, const struct model_walk *before)
{
    const struct model_walk even = c->choice->walk;
    double *phi = malloc(phi_count(c->m) * sizeof *phi);
    int err = phi ? ictusi_clock_model_errors(c->m, before) : ICTUS_ERR_NOMEM;
    const double error = clock_choice_largest_error(c->m);
    if (!err) {
        memcpy(phi, c->m->phi, phi_count(c->m) * sizeof *phi);
        err = fit_walk(c);
    }
    err = err ? err : fit_walk(c);
    err = err ? err : ictusi_clock_model_errors(c->m, &even);
    if (!err && (clock_choice_largest_error(c->m) > error ||
                 clock_choice_worst_violation(c->m) > c->violation)) {
        c->choice->walk = *before;
        memcpy(c->m->phi, phi, phi_count(c->m) * sizeof *phi);
        err = choice_observe(c);
        err = err ? err : fit_walk(c);
    }
    free(phi);
    return err;
}

static int clock_choice_choose_walk(struct choosing *c)
{
    int err = clock_choice_choose_strength(c);
    const struct model_walk before = c->choice->walk;
    err = err ? err : clock_choice_try_even(c);
    if (err || c->choice->walk.strength == 0) {
        return err;
    }
    err = c->choice->walk.even ? clock_choice_fit_even(c, &before) : fit_walk(c);
    c->choice->kind = c->choice->walk.strength > 0 ? CLOCKS_WALK : CLOCKS_LINES;
    return err;
}

static double clock_choice_largest_move(const struct clock_model *m)
{
    double largest = 0;
    for (uint64_t i = 0; i < phi_count(m); i++) {
        largest = fmax(largest, fabs(m->phi[i]));
    }
    return largest;
}

/*
 * A model that moves times much farther than the violations that it heals answers to something
 * else: waits that grow, or stamps of another kind. What is within its own error is not held
 * against it.
 */
static bool moves_too_far(struct choosing *c)
{
    const double moves = clock_choice_largest_move(c->m);
    if (moves <= too_far * fmax(c->violation, clock_choice_largest_error(c->m))) {
        return false;
    }
    c->choice->refused = c->choice->kind;
    c->choice->moves = moves;
    c->choice->heals = c->violation;
    return true;
}

/* Back to what was known before. */
static int clock_choice_take_base(struct choosing *c)
{
    c->choice->kind = CLOCKS_BASE;
    clock_choice_forget_walk(c->choice);
    ictusi_clock_model_align(c->m);
    memcpy(c->declined, c->m->phi, phi_count(c->m) * sizeof *c->declined);
    memset(c->m->phi, 0, phi_count(c->m) * sizeof *c->m->phi);
    int err = choice_observe(c);
    if (!err) {
        ictusi_clock_model_delays_only(c->m, -1);
    }
    return err;
}

/*
 * A walk, but the lines again where it goes too far; their phi is kept aside. Their D need not be
 * kept: the last look makes new pairs, and another solution finds it.
 */
static int clock_choose_above_lines(struct choosing *c)
{
    double *lines = malloc(phi_count(c->m) * sizeof *lines);
    if (!lines) {
        return ICTUS_ERR_NOMEM;
    }
    c->choice->kind = CLOCKS_LINES;
    memcpy(lines, c->m->phi, phi_count(c->m) * sizeof *lines);
    int err = c->m->knots > 2 ? clock_choice_choose_walk(c) : ICTUS_OK;
    err = err ? err : ictusi_clock_model_errors(c->m, &c->choice->walk);
    if (!err && c->choice->kind == CLOCKS_WALK && moves_too_far(c)) {
        c->choice->kind = CLOCKS_LINES;
        clock_choice_forget_walk(c->choice);
        memcpy(c->m->phi, lines, phi_count(c->m) * sizeof *lines);
        err = choice_observe(c);
        err = err ? err : ictusi_clock_model_solve(c->m, &c->choice->walk, -1, STEPS_FIT, false);
        err = err ? err : choice_observe(c);
        err = err ? err : ictusi_clock_model_errors(c->m, &c->choice->walk);
    }
    free(lines);
    return err;
}

/*
 * The violations that all models are held against are those of the base, before phi is fitted. A
 * base that violates nothing is left only for lines that predict better.
 */
static int choice_make(struct choosing *c)
{
    const struct model_walk lines = {.strength = 0};
    int err = choice_observe(c);
    c->violation = clock_choice_worst_violation(c->m);
    const double before = ictusi_clock_model_violation(c->m);
    err = err ? err : clock_choice_held_out(c, NULL, SCORE_BASE);
    const double base = clock_choice_mean_of(c->scores[SCORE_BASE], c->count);
    err = err ? err : fit_lines(c);
    err = err ? err : clock_choice_held_out(c, &lines, SCORE_BEST);
    const double score = clock_choice_mean_of(c->scores[SCORE_BEST], c->count);
    if (err || (c->violation <= 0 && score >= base)) {
        return err ? err : clock_choice_take_base(c);
    }
    err = clock_choose_above_lines(c);
    const double after = ictusi_clock_model_violation(c->m);
    const double best = clock_choice_mean_of(c->scores[SCORE_BEST], c->count);
    /*
     * Violations may grow by 0.1 us for each direction of a pair, twice the least scatter of a
     * delay: that is rounding. A model that predicts worse than the base must at least halve them.
     */
    const bool worse = after > before + 0.1 * (double)(2 * c->m->pair_count) ||
                       (best > base && after > before / 2);
    if (!err && (moves_too_far(c) || worse)) {
        c->choice->refused = c->choice->kind;
        err = clock_choice_take_base(c);
    }
    return err;
}

/* What the base shows may be as far off as what was fitted instead says, and by the fit's error. */
static void clock_choice_add_declined(struct choosing *c)
{
    for (uint64_t i = 0; i < phi_count(c->m); i++) {
        c->m->error[i] += fabs(c->declined[i]);
    }
}

int ictusi_clock_choice_run(struct clock_model *m, struct clock_source *source,
                            struct clock_choice *choice)
{
    struct choosing c = {.m = m, .source = source, .choice = choice};
    *choice = (struct clock_choice){.kind = CLOCKS_BASE};
    choice->walk.factor = calloc(m->clocks + 1UL, sizeof *choice->walk.factor);
    c.phi = malloc((phi_count(m) + 1) * sizeof *c.phi);
    c.gains = calloc(m->clocks + 1UL, sizeof *c.gains);
    c.declined = calloc(phi_count(m) + 1, sizeof *c.declined);
    const bool room = choice->walk.factor && c.phi && c.gains && c.declined;
    int err = room ? choice_make(&c) : ICTUS_ERR_NOMEM;
    m->mean_is_time = !err && choice->walk.apart && choice->walk.factor[m->reference] >= bends_more;
    err = err ? err : ictusi_clock_model_errors(m, &choice->walk);
    if (!err) {
        clock_choice_add_declined(&c);
    }
    free(c.declined);
    free(c.phi);
    free(c.gains);
    free(c.pair_of);
    free(c.least);
    for (int i = 0; i < 3; i++) {
        free(c.scores[i]);
    }
    return err;
}

void ictusi_clock_choice_fini(struct clock_choice *choice)
{
    free(choice->walk.factor);
    choice->walk.factor = NULL;
}
