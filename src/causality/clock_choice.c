/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cross-validation between models of the clocks. Each model is scored on delays that were left out
 * of its fit: pairs of neighbouring cells of time, in two folds. Leaving out pairs of clocks
 * instead would leak information, because everybody who waits for the same late sender shows the
 * same wait.
 */
#include "causality/clock_choice.h"

#include "causality/clock_private.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_FIT = 12, STEPS_TRIAL = 6, LINE_ROUNDS = 2, LINE_ROUNDS_MAX = 24, TURNS = 2 };

static const double walks[] = {1e-9, 1e-8, 1e-7, 1e-6, 1e-5}; /* 1/sqrt(s) */

/* A walk must lower the mean score of the best model so far by at least this share. */
static const double worth_a_walk = 0.05;

/* A clock whose bends are this many times those of the usual clock gets a factor of its own. */
static const double bends_more = 4;

/*
 * A model is refused if its largest move exceeds this many times the violation it heals, or its own
 * error where that is larger.
 */
static const double too_far = 10;

struct gain;

/* The state of one competition. */
struct choosing {
    struct clock_model *m;
    struct clock_source *source;
    struct clock_choice *choice;
    double *phi;        /* saved while a trial changes it */
    double *declined;   /* the phi that was given up for the base, or zeros */
    double *least;      /* the saved D, two per pair */
    double *scores[3];  /* of the base, the best so far, a trial */
    double nearest;     /* strength of the best walk common to all clocks, whether or not it won */
    uint64_t *pair_of;  /* the pair each score belongs to */
    uint64_t count;     /* scores in each array */
    double violation;   /* the worst one of the base, us */
    double violations;  /* the sum of all of them */
    struct gain *gains; /* by clock */
};

enum { SCORE_BASE, SCORE_BEST, SCORE_TRIAL };

/* The number of entries in phi, error and similar arrays: one per clock and knot. */
static uint64_t phi_count(const struct clock_model *m)
{
    return (uint64_t)m->clocks * m->knots;
}

/*
 * Trials fit the model in place, without the delays of one fold. So phi and D are saved before a
 * trial and restored after it. The trace must not be observed in between, because that makes a new
 * list of pairs.
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

/*
 * Sums from which the mean gain of a trial over the best model is judged, for some of the delays.
 */
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

/* Whether the mean gain exceeds both this many standard errors and this part of the old score. */
static bool gain_counts(const struct gain *gain, double errors, double part)
{
    const double n = fmax(gain->n, 1);
    const double mean = gain->sum / n;
    const double variance = fmax(gain->squares / n - mean * mean, 0);
    return mean > fmax(errors * sqrt(variance / n), part * gain->old / n);
}

/* What the trial gains over the best model, by clock (in gains) and in all. */
static struct gain trial_gain(const struct choosing *c)
{
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
    return all;
}

/*
 * Whether the trial beats the best model by more than chance, and by at least this part of its
 * score. Two standard errors are enough over all clocks. A single clock may also decide, if all
 * clocks together do not get worse. That clock is picked as the best of many, so it must gain by
 * four standard errors and four times the part.
 */
static bool trial_wins(const struct choosing *c, double part)
{
    const double errors = 2;
    const double errors_of_one = 4;
    const double part_of_one = 4 * part;
    const struct gain all = trial_gain(c);
    bool one = false;
    for (uint32_t u = 0; u < c->m->clocks && !one; u++) {
        one = gain_counts(&c->gains[u], errors_of_one, part_of_one);
    }
    return gain_counts(&all, errors, one ? 0 : part);
}

/*
 * Whether a stronger walk beats a weaker one of its kind. It has no more unknowns, so it need not
 * be worth anything. One standard error is required, as is usual among models of growing strength:
 * about the minimum the scores hardly differ, and a walk that is too strong follows the waits.
 */
static bool trial_wins_among_walks(const struct choosing *c)
{
    const double errors = 1;
    const struct gain all = trial_gain(c);
    return gain_counts(&all, errors, 0);
}

/* The arrays are swapped: the next trial overwrites the scores of the former best model. */
static void trial_becomes_best(struct choosing *c)
{
    double *best = c->scores[SCORE_TRIAL];
    c->scores[SCORE_TRIAL] = c->scores[SCORE_BEST];
    c->scores[SCORE_BEST] = best;
}

/*
 * Score a walk, or the base (NULL), on both folds, and leave the model as it was. What one fold
 * leaves out is predicted by the fit to the other, so that each delay of the last observation is
 * scored once, by a fit that did not see it. All models list their scores in the same order, so
 * that they can be compared delay by delay.
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
 * Observe the trace again, and make room for the delays that this finds. Each array is stored as
 * soon as it has been reallocated, so that it is freed even if a later allocation fails.
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

/*
 * Alternate between fitting and observing while an observation shows new contradictions: who is
 * seen to wait for whom depends on the clocks.
 */
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
 * Compare each clock's bends (second differences of phi) with those of the median clock, and tell
 * whether any clock stands out. Bends that all clocks share belong to the clock that phi is
 * relative to, so the median is subtracted first. A clock's factor is the root mean square of its
 * bends divided by that of the usual clock, and at least 1.
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
 * Find the best strength for this kind of walk, beginning at the kind's own strength and going up.
 * The first of the kind has to be worth replacing the best model so far; a stronger one only has to
 * predict better than that. The search stops after two strengths in a row that are worse, but only
 * once some walk has won: the weakest walks do not differ from lines, so they neither win nor lose.
 */
static int clock_choice_try_walks(struct choosing *c, const struct model_walk *kind)
{
    enum { WALKS = sizeof walks / sizeof *walks, PATIENCE = 2 };
    double lowest = INFINITY;
    int err = ICTUS_OK;
    int worse = 0;
    bool won = false;
    /* Factors are tried only if a clock bends much more than the others: that is reason enough. */
    const double worth = kind->apart && !kind->even ? 0 : worth_a_walk;
    for (int i = 0; i < WALKS && worse < PATIENCE && !err; i++) {
        struct model_walk walk = *kind;
        if (walks[i] < kind->strength) {
            continue;
        }
        walk.strength = walks[i];
        err = clock_choice_held_out(c, &walk, SCORE_TRIAL);
        if (err == ICTUS_ERR_UNSUPPORTED) {
            err = ICTUS_OK; /* this walk has no solution */
            continue;
        }
        const double score = clock_choice_mean_of(c->scores[SCORE_TRIAL], c->count);
        if (!err && !kind->apart && score < lowest) {
            lowest = score;
            c->nearest = walk.strength;
        }
        if (!err && (won ? trial_wins_among_walks(c) : trial_wins(c, worth))) {
            won = true;
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
 * Then try a factor for each clock that moves more than the others. A single clock that wanders
 * among many that do not may be the only reason for a walk. With one strength for all, the others
 * would pay for it.
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
 * The second turn chooses again, from the delays as they appear once the first turn's walk has been
 * subtracted. In collectives the member that comes last may then be another one than lines
 * suggested. A turn that chooses the same strength again ends the search.
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
 * Clocks that jump break bounds whatever model is fitted, and if bounds must hold, the jump bends
 * all clocks around it. Where bounds are broken, a walk that counts a broken bound like a wait
 * competes as well. It is not offered otherwise, because for clocks that do not jump it predicts
 * worse: the least delays say more than the median ones.
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

/*
 * Use the walk that was chosen last. Return to the one before if that one has the smaller error, or
 * if the last one violates more than the base: where bounds may break, nothing but the usual
 * asymmetry of paths may be left to determine a clock's level.
 */
static int clock_choice_fit_even(struct choosing *c, const struct model_walk *before)
{
    const struct model_walk even = c->choice->walk;
    double *phi = malloc(phi_count(c->m) * sizeof *phi);
    int err = phi ? ictusi_clock_model_errors(c->m, before) : ICTUS_ERR_NOMEM;
    const double level = ictusi_model_level_error(c->m);
    const double error = ictusi_model_largest_error(c->m);
    if (!err) {
        memcpy(phi, c->m->phi, phi_count(c->m) * sizeof *phi);
        err = fit_walk(c);
    }
    err = err ? err : fit_walk(c);
    err = err ? err : ictusi_clock_model_errors(c->m, &even);
    const bool worse =
        ictusi_model_level_error(c->m) > level && ictusi_model_largest_error(c->m) > error;
    if (!err && (worse || ictusi_clock_model_violation(c->m) > c->violations)) {
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

/*
 * A model that moves times much farther than the violations it heals explains something else: waits
 * that grow, or stamps of another kind. A move within the model's own error is not held against it.
 */
static bool moves_too_far(const struct choosing *c)
{
    return ictusi_model_largest_move(c->m) >
           too_far * fmax(c->violation, ictusi_model_largest_error(c->m));
}

static void clock_choice_refuse(struct clock_choice *choice, const struct clock_model *m,
                                double heals)
{
    choice->refused = choice->kind;
    choice->moves = ictusi_model_largest_move(m);
    choice->heals = heals;
}

/* Discard the fit and return to the base (phi = 0), but keep the discarded phi. */
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
 * Fit a walk, and return to the lines if it moves times too far. Only phi of the lines is saved. D
 * need not be, because the next observation makes new pairs and solving again finds it.
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
        clock_choice_refuse(c->choice, c->m, c->violation);
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
 * Violations may grow by 0.1 us in each direction of a pair, which is twice the least scatter of a
 * delay and counts as rounding. A model that predicts worse than the base, which scores `base`,
 * must at least halve the violations.
 */
static bool choice_worsens(const struct choosing *c, double base)
{
    const double before = c->violations;
    const double after = ictusi_clock_model_violation(c->m);
    const double best = clock_choice_mean_of(c->scores[SCORE_BEST], c->count);
    return after > before + 0.1 * (double)(2 * c->m->pair_count) ||
           (best > base && after > before / 2);
}

/*
 * All models are judged against the violations of the base, before phi is fitted. A base without
 * violations is given up only for lines that predict better, and for a model that says that it is
 * wrong by more than chance: otherwise moving the events would harm too often.
 */
static int choice_make(struct choosing *c)
{
    const struct model_walk lines = {.strength = 0};
    int err = choice_observe(c);
    c->violation = ictusi_model_worst_violation(c->m);
    c->violations = ictusi_clock_model_violation(c->m);
    err = err ? err : clock_choice_held_out(c, NULL, SCORE_BASE);
    const double base = clock_choice_mean_of(c->scores[SCORE_BASE], c->count);
    err = err ? err : fit_lines(c);
    err = err ? err : clock_choice_held_out(c, &lines, SCORE_BEST);
    const double score = clock_choice_mean_of(c->scores[SCORE_BEST], c->count);
    if (err || (c->violation <= 0 && score >= base)) {
        return err ? err : clock_choice_take_base(c);
    }
    err = clock_choose_above_lines(c);
    if (!err && (moves_too_far(c) || choice_worsens(c, base))) {
        clock_choice_refuse(c->choice, c->m, c->violation);
        err = clock_choice_take_base(c);
    } else if (!err && c->violation <= 0 && !ictusi_model_moves(c->m)) {
        err = clock_choice_take_base(c);
    }
    return err;
}

/* The base may be wrong by as much as the declined fit says, plus the error of that fit. */
static void clock_choice_add_declined(struct choosing *c)
{
    for (uint64_t i = 0; i < phi_count(c->m); i++) {
        c->m->error[i] = ictusi_model_error_beside(c->m->error[i], c->declined[i]);
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
    if (!err && choice->kind != CLOCKS_BASE && c.violation <= 0 && !m->mean_is_time) {
        err = ictusi_clock_model_keep_levels(m);
    }
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

void ictusi_clock_choice_decline(struct clock_choice *choice, struct clock_model *m, double heals)
{
    if (choice->kind != CLOCKS_BASE) {
        clock_choice_refuse(choice, m, heals);
    }
    ictusi_clock_model_decline(m);
    choice->kind = CLOCKS_BASE;
    clock_choice_forget_walk(choice);
}

void ictusi_clock_choice_fini(struct clock_choice *choice)
{
    free(choice->walk.factor);
    choice->walk.factor = NULL;
}
