/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for clocks that jumped, one jump at a time: where the messages show one, they are
 * looked at closer, until it is known between which of them it happened. Then the next one is seen
 * better.
 */
#include "correct/jump_search.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A trace with more jumps than this has something else. */
enum { JUMPS_MAX = 64 };

/* Look closer at the time in which a jump was found, until nothing more can be told. Collective. */
static int jump_search_place(struct fitting *f, struct jump_finding *finding)
{
    enum { LOOKS = 3 };
    int err = ICTUS_OK;
    for (int i = 0; i < LOOKS && !err; i++) {
        const struct clock_jump *last = &finding->jump;
        const int64_t beside = (last->to - last->from) / (FITTING_CELLS - 8) * 2 + FITTING_CELLS;
        err = ictusi_fitting_look_at(f, f->session->history.points.value, last->from - beside,
                                     last->to + beside);
        err = err ? err
                  : ictusi_session_agree(f->session, ictusi_clock_jump_place(&f->delays, finding));
    }
    /* A clock that is set back must still run ahead, at half its pace at least. */
    struct clock_jump *jump = &finding->jump;
    const int64_t room = 2 * llround(fabs(jump->size)) + 1 - (jump->to - jump->from);
    jump->from -= room > 0 ? room / 2 + 1 : 0;
    jump->to += room > 0 ? room / 2 + 1 : 0;
    return err;
}

/*
 * Fit lines to what was seen, and look again. Without, clocks that are far apart would show little:
 * the last one into a collective seems to be whose clock is ahead. Collective.
 */
static int jump_search_fit_lines(struct fitting *f, int rounds)
{
    struct clock_model *m = &f->fit->model;
    const struct model_walk lines = {.strength = 0};
    uint64_t more = true;
    int err = ictusi_fitting_look_again(f);
    for (int i = 0; i < rounds && !err; i++) {
        if (!f->session->team || f->session->team->rank == 0) {
            err = ictusi_clock_model_see(m, &f->delays, f->us_per_tick);
            err = err ? err : ictusi_clock_model_solve(m, &lines, -1, 12, i == 0);
        }
        const int said = ictusi_fitting_share_phi(f, &more);
        err = ictusi_session_agree(f->session, err ? err : said);
        err = err ? err : ictusi_fitting_look_again(f);
    }
    m->cells = 0; /* forget what was seen: the next jump changes it */
    return err;
}

/*
 * Keep a jump. Its instants are those of the times without phi, but the maps' are those before. The
 * clock that shows the time is not moved, so if it seems to have jumped, all others did, back.
 */
static void jump_search_keep(struct fitting *f, const struct clock_jump *jump)
{
    const struct clock_model *m = &f->fit->model;
    const double at = ictusi_clock_model_position(m, f->from, f->to, jump->from);
    const bool others = jump->clock == ictusi_fitting_reference(f->session);
    for (uint32_t u = 0; u < m->clocks && f->fit->jump_count < JUMPS_MAX; u++) {
        if ((u == jump->clock) != others) {
            const int64_t phi = llround(ictusi_clock_model_at(m, m->phi, u, at) / f->us_per_tick);
            struct clock_jump *kept = &f->fit->jumps[f->fit->jump_count++];
            *kept = (struct clock_jump){u, others ? -jump->size : jump->size, 0, jump->from + phi,
                                        jump->to + phi};
        }
    }
}

/* Jumps whose size is not known well enough are none: rates that change may look like one. */
static void jump_search_drop(struct fitting *f)
{
    const double least = 3; /* standard errors */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->fit->jump_count; i++) {
        const struct clock_jump *jump = &f->fit->jumps[i];
        if (fabs(jump->size) > least * jump->error) {
            f->fit->jumps[kept++] = *jump;
        }
    }
    f->fit->jump_count = kept;
}

/* What is left of the jumps was seen when they were all in the way of each other. Collective. */
static int jump_search_refine(struct fitting *f)
{
    enum { ROUNDS = 2 };
    int err = ICTUS_OK;
    for (int round = 0; round < ROUNDS && f->fit->jump_count && !err; round++) {
        err = jump_search_fit_lines(f, 1);
        for (uint32_t i = 0; i < f->fit->jump_count && !err; i++) {
            err = ictusi_clock_jump_rest(&f->delays, &f->fit->jumps[i]);
        }
        err = ictusi_session_agree(f->session, err);
    }
    return err;
}

/*
 * Find the clocks that jumped, one jump at a time, beginning with the one that explains most. All
 * ranks have the same delays, and so find the same. Collective.
 */
int ictusi_jump_search_run(struct fitting *f)
{
    const double least_us = 1;
    struct session *s = f->session;
    struct clock_fit *fit = f->fit;
    struct jump_finding finding = {.witnesses =
                                       malloc((s->unit_count + 1UL) * sizeof *finding.witnesses)};
    fit->jumps = malloc(JUMPS_MAX * sizeof *fit->jumps);
    int err = ictusi_session_agree(s, finding.witnesses && fit->jumps ? ICTUS_OK : ICTUS_ERR_NOMEM);
    bool found = f->worst > least_us;
    while (found && !err && fit->jump_count < JUMPS_MAX) {
        err = jump_search_fit_lines(f, fit->jump_count ? 1 : 4);
        err = err ? err
                  : ictusi_session_agree(
                        s, ictusi_clock_jump_find(&f->delays, ictusi_fitting_reference(s),
                                                  least_us / f->us_per_tick, &finding, &found));
        err = err || !found ? err : jump_search_place(f, &finding);
        found = found && !finding.gradual;
        if (!err && found) {
            jump_search_keep(f, &finding.jump);
        }
    }
    err = err ? err : jump_search_refine(f);
    jump_search_drop(f);
    memset(fit->model.phi, 0,
           (uint64_t)fit->model.clocks * fit->model.knots * sizeof *fit->model.phi);
    free(finding.witnesses);
    return err;
}

/* The size of a jump is known only so well, and so is the clock after it, or before it. */
void ictusi_jump_search_add_errors(struct fitting *f)
{
    const struct clock_model *m = &f->fit->model;
    for (uint32_t i = 0; i < f->fit->jump_count; i++) {
        const struct clock_jump *jump = &f->fit->jumps[i];
        for (uint32_t k = 0; k < m->knots; k++) {
            double *error = &m->error[(uint64_t)jump->clock * m->knots + k];
            *error = hypot(*error, jump->error * f->us_per_tick);
        }
    }
}

void ictusi_jump_search_decline(struct fitting *f)
{
    const struct clock_model *m = &f->fit->model;
    for (uint32_t i = 0; i < f->fit->jump_count; i++) {
        const struct clock_jump *jump = &f->fit->jumps[i];
        for (uint32_t k = 0; k < m->knots; k++) {
            m->error[(uint64_t)jump->clock * m->knots + k] += fabs(jump->size) * f->us_per_tick;
        }
    }
    f->fit->jump_count = 0;
}
