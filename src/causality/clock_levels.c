/* SPDX-License-Identifier: BSD-3-Clause */
/* The levels of clocks, where the archive's offsets tell them as well as messages do. */
#include "causality/clock_private.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>

/*
 * How far the fit moves a clock on average, us, relative to the clock that shows the time. *error:
 * its mean error.
 */
static double levels_moved(const struct clock_model *m, uint32_t clock, double *error)
{
    const double *own = &m->phi[(uint64_t)clock * m->knots];
    const double *time = &m->phi[(uint64_t)m->reference * m->knots];
    double sum = 0;
    *error = 0;
    for (uint32_t k = 0; k < m->knots; k++) {
        sum += own[k] - time[k];
        *error += m->error[(uint64_t)clock * m->knots + k] / m->knots;
    }
    return sum / m->knots;
}

/*
 * Whether the archive's offsets agree with where the clocks are without the fit. They do not if a
 * clock jumped between them: what puts it anywhere then are the messages that show the jump.
 */
static bool levels_are_observed(const struct clock_model *m)
{
    const double chance = 3; /* standard deviations */
    bool observed = true;
    for (uint64_t i = 0; i < m->offset_count && observed; i++) {
        observed = fabs(m->offsets[i].value) <= chance * model_offset_sd(&m->offsets[i]);
    }
    return observed;
}

/* Whether no message would arrive before it was sent. */
static bool levels_are_possible(const struct clock_model *m, const double *moved)
{
    bool possible = true;
    for (uint64_t i = 0; i < m->pair_count && possible; i++) {
        const struct model_pair *pair = &m->pairs[i];
        const double less = moved[pair->a] - moved[pair->b];
        possible = (pair->counts[0] == 0 || pair->least[0] >= less) &&
                   (pair->counts[1] == 0 || pair->least[1] >= -less);
    }
    return possible;
}

double ictusi_model_error_beside(double error, double distance)
{
    const double one_sided = 1.645 / 2; /* 95 % of a normal distribution; errors are 2 sd */
    return fmax(error, fabs(distance) + one_sided * error);
}

/*
 * If the fit moves a clock by d and errs by s, the clock was nearer to the truth before with the
 * probability that a normal variable exceeds d / 2s. For several clocks the root of the sum of all
 * (d / s)^2 takes the place of d / s: below 3, that is one case in 15 or more.
 */
int ictusi_clock_model_keep_levels(struct clock_model *m)
{
    const double enough = 1.5; /* in errors, which are 2 s */
    double *moved = calloc(m->clocks + 1UL, sizeof *moved);
    double squares = 0;
    if (!moved) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < m->offset_count; i++) {
        const uint32_t clock = m->offsets[i].clock;
        if (i == 0 || clock != m->offsets[i - 1].clock) {
            double error = 0;
            moved[clock] = levels_moved(m, clock, &error);
            squares += (moved[clock] / error) * (moved[clock] / error);
        }
    }
    const bool keep =
        squares < enough * enough && levels_are_observed(m) && levels_are_possible(m, moved);
    for (uint64_t i = 0; i < (uint64_t)m->clocks * m->knots && keep; i++) {
        m->phi[i] -= moved[i / m->knots];
        m->error[i] = ictusi_model_error_beside(m->error[i], moved[i / m->knots]);
    }
    free(moved);
    return ICTUS_OK;
}
