/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fitted model of the clocks amounts to: what it violates, how far it moves, how it errs. */
#include "causality/clock_private.h"

#include <math.h>
#include <stdlib.h>

/* The worst violation among the delays as they are seen now, us. */
double ictusi_model_worst_violation(const struct clock_model *m)
{
    double worst = 0;
    for (uint64_t i = 0; i < m->delay_count; i++) {
        worst = fmax(worst, -m->delays[i].seen);
    }
    return worst;
}

/*
 * How well levels are known: the mean over all clocks of the error where it is least. Around a jump
 * errors are large whatever the clocks are fitted by.
 */
double ictusi_model_level_error(const struct clock_model *m)
{
    double sum = 0;
    for (uint32_t u = 0; u < m->clocks; u++) {
        double least = INFINITY;
        for (uint32_t k = 0; k < m->knots; k++) {
            least = fmin(least, m->error[(uint64_t)u * m->knots + k]);
        }
        sum += least;
    }
    return sum / m->clocks;
}

double ictusi_model_largest_error(const struct clock_model *m)
{
    double largest = 0;
    for (uint64_t i = 0; i < (uint64_t)m->clocks * m->knots; i++) {
        largest = fmax(largest, m->error[i]);
    }
    return largest;
}

double ictusi_model_largest_move(const struct clock_model *m)
{
    double largest = 0;
    for (uint64_t i = 0; i < (uint64_t)m->clocks * m->knots; i++) {
        largest = fmax(largest, fabs(m->phi[i]));
    }
    return largest;
}

/*
 * A model that moves all clocks, relative to the one that shows the time, by no more than their
 * stated error, two standard deviations, does not show that they were wrong.
 */
bool ictusi_model_moves(const struct clock_model *m)
{
    const double *time = &m->phi[(uint64_t)m->reference * m->knots];
    bool moves = false;
    for (uint64_t i = 0; i < (uint64_t)m->clocks * m->knots && !moves; i++) {
        moves = fabs(m->phi[i] - time[i % m->knots]) > m->error[i];
    }
    return moves;
}

static int measures_compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * How many times their stated standard deviations the offsets of the usual clock err, and at
 * least 1. Each clock contributes the upper median of its own offsets (of two, the larger), and the
 * median over all clocks is taken. So one outlier among many offsets of a clock has no effect. If
 * the only two contradict each other, neither deserves more trust, and their mean is nearer to the
 * truth than either.
 */
double ictusi_model_offsets_scatter(const struct clock_model *m, double *ratios)
{
    uint32_t clocks = 0;
    for (uint64_t first = 0, end = 0; first < m->offset_count; first = end) {
        uint64_t n = 0;
        while (end < m->offset_count && m->offsets[end].clock == m->offsets[first].clock) {
            const struct model_offset *o = &m->offsets[end++];
            ratios[clocks + n++] = fabs(model_offset_residual(m, o)) / model_offset_sd(o);
        }
        qsort(&ratios[clocks], n, sizeof *ratios, measures_compare);
        ratios[clocks] = ratios[clocks + n / 2];
        clocks += n > 1;
    }
    return clocks ? fmax(ictusi_model_median(ratios, clocks), 1) : 1;
}
