/* SPDX-License-Identifier: BSD-3-Clause */
/* What the errors of a clock model hold beside the solution's own standard deviations. */
#include "causality/clock_private.h"

#include <math.h>

/*
 * Offsets that lie farther off the fit than their standard deviations say have larger ones, all of
 * them: which of two is right the fit cannot know. Every group of clocks that messages do not join
 * both ways may take up one offset a clock with its level.
 */
double ictusi_model_doubt(const struct clock_model *m)
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

/* What bounds around contradict the fit by. */
void ictusi_model_add_contradictions(struct clock_model *m)
{
    for (uint64_t i = 0; i < 2 * m->pair_count; i++) {
        const struct model_pair *pair = &m->pairs[i / 2];
        const int way = (int)(i % 2);
        for (uint32_t k = 0; k < pair->counts[way]; k++) {
            const double miss = -model_residual(m, pair, way, k) - 2 * MODEL_SCATTER;
            const int64_t near = (int64_t)pair->delays[way][k].position;
            for (int64_t at = near - 1; at <= near + 2 && miss > 0; at++) {
                const uint64_t knot = (uint64_t)(at < 0 ? 0 : at >= m->knots ? m->knots - 1 : at);
                double *const errors[] = {&m->error[(uint64_t)pair->a * m->knots + knot],
                                          &m->error[(uint64_t)pair->b * m->knots + knot]};
                *errors[0] = fmax(*errors[0], miss);
                *errors[1] = fmax(*errors[1], miss);
            }
        }
    }
}

/*
 * A rate that changes by r in the middle between two knots leaves the chain of pieces by a quarter
 * of r times their distance, and bends it there by as much as that product in all.
 */
void ictusi_model_add_bends(struct clock_model *m)
{
    for (uint32_t u = 0; u < m->clocks; u++) {
        const double *row = &m->phi[(uint64_t)u * m->knots];
        double *error = &m->error[(uint64_t)u * m->knots];
        for (uint32_t k = 0; k + 2 < m->knots; k++) {
            const double bend = fabs(row[k] - 2 * row[k + 1] + row[k + 2]) / 4;
            error[k + 1] += bend;
            error[k] += k == 0 ? bend : 0;
            error[k + 2] += k + 3 == m->knots ? bend : 0;
        }
    }
}
