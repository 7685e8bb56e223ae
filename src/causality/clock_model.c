/* SPDX-License-Identifier: BSD-3-Clause */
/* The storage of a model, its delays and what they predict. The equations are in clock_solve.c. */
#include "causality/clock_model.h"

#include "causality/clock_private.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int ictusi_clock_model_init(struct clock_model *m, uint32_t clocks, uint32_t knots,
                            double length_us)
{
    *m = (struct clock_model){.clocks = clocks, .knots = knots, .length = length_us};
    m->phi = calloc((uint64_t)clocks * knots + 1, sizeof *m->phi);
    m->error = calloc((uint64_t)clocks * knots + 1, sizeof *m->error);
    m->degree = calloc(clocks + 1UL, sizeof *m->degree);
    return m->phi && m->error && m->degree ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_clock_model_fini(struct clock_model *m)
{
    free(m->phi);
    free(m->error);
    free(m->degree);
    free(m->pairs);
    free(m->delays);
    free(m->offsets);
    *m = (struct clock_model){0};
}

/*
 * phi (or its error) of a clock, us: linear between the two knots around the position. Before the
 * first knot and after the last one the outermost piece is continued, since offsets of the archive
 * may have been measured outside the span of the messages.
 */
double ictusi_clock_model_at(const struct clock_model *m, const double *values, uint32_t clock,
                             double position)
{
    const double *row = &values[(uint64_t)clock * m->knots];
    double low = floor(position);
    low = low > 0 ? low : 0;
    low = low < m->knots - 2 ? low : m->knots - 2;
    const uint32_t i = (uint32_t)low;
    return row[i] + (position - low) * (row[i + 1] - row[i]);
}

/*
 * The pairs that talk, in one direction or both; one direction alone bounds phi on one side only.
 * The room that their delays take at most goes to delay_count.
 */
static int list_pairs(struct clock_model *m, const struct least_delays *d)
{
    m->pair_count = 0;
    m->delay_count = 0;
    m->pairs = calloc(d->pair_count + 1, sizeof *m->pairs);
    memset(m->degree, 0, m->clocks * sizeof *m->degree);
    for (uint64_t i = 0; i < d->pair_count && m->pairs; i++) {
        const struct delay_pair *pair = &d->pairs[i];
        const bool there = pair->row[0] != DELAY_NO_ROW;
        const bool back = pair->row[1] != DELAY_NO_ROW;
        m->pairs[m->pair_count++] = (struct model_pair){.a = pair->a, .b = pair->b};
        m->delay_count += (uint64_t)(there + back) * d->cells;
        m->degree[pair->a] += there && back;
        m->degree[pair->b] += there && back;
    }
    m->delays = m->pairs ? calloc(m->delay_count + 1, sizeof *m->delays) : NULL;
    return m->delays ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/* An instant in ticks as a position between the knots, 0 to knots - 1. */
static double seen_position(const struct clock_model *m, const struct least_delays *d,
                            int64_t instant)
{
    return (double)(instant - d->from) / (double)d->length * (m->knots - 1);
}

/*
 * The delays of a pair in one direction, in the order of time. Cells without a message have none,
 * so a pair that talks seldom takes little room. Returns where the next row begins.
 */
static struct model_delay *fill_row(const struct clock_model *m, const struct least_delays *d,
                                    uint64_t row, struct model_delay *next)
{
    const uint64_t first = row * d->cells;
    for (uint32_t c = 0; row != DELAY_NO_ROW && c < d->cells; c++) {
        if (d->delay[first + c] == DELAY_NONE) {
            continue;
        }
        const double at = seen_position(m, d, d->instant[first + c]);
        *next++ =
            (struct model_delay){.cell = c, .position = at, .seen = (double)d->delay[first + c]};
    }
    return next;
}

int ictusi_clock_model_see(struct clock_model *m, const struct least_delays *d, double us_per_tick)
{
    struct model_pair *old = m->pairs;
    const uint64_t old_count = m->pair_count;
    free(m->delays);
    m->cells = d->cells;
    if (list_pairs(m, d)) {
        free(old);
        m->pair_count = 0;
        m->delay_count = 0;
        return ICTUS_ERR_NOMEM;
    }
    struct model_delay *next = m->delays;
    for (uint64_t i = 0; i < m->pair_count; i++) {
        struct model_pair *pair = &m->pairs[i];
        for (int way = 0; way < 2; way++) {
            pair->delays[way] = next;
            next = fill_row(m, d, d->pairs[i].row[way], next);
            pair->counts[way] = (uint32_t)(next - pair->delays[way]);
            /* The same pairs are seen again after each correction: D is a good first guess. */
            pair->least[way] = old_count == m->pair_count ? old[i].least[way] : 0;
            for (uint32_t k = 0; k < pair->counts[way]; k++) {
                struct model_delay *delay = &pair->delays[way][k];
                delay->seen *= us_per_tick;
                /* What the clocks showed: seen had the present phi subtracted, y has it again. */
                delay->y = delay->seen + model_shift(m, pair, way, delay->position);
            }
        }
    }
    m->delay_count = (uint64_t)(next - m->delays);
    free(old);
    return ICTUS_OK;
}

/*
 * A delay below 0 is a message that arrives before it was sent. Only the worst one of each ordered
 * pair counts: others of the same pair are mended by the same shift.
 */
double ictusi_clock_model_violation(const struct clock_model *m)
{
    double sum = 0;
    for (uint64_t i = 0; i < m->pair_count; i++) {
        for (int way = 0; way < 2; way++) {
            double worst = 0;
            for (uint32_t k = 0; k < m->pairs[i].counts[way]; k++) {
                const double seen = m->pairs[i].delays[way][k].seen;
                worst = seen < worst ? seen : worst;
            }
            sum -= worst;
        }
    }
    return sum;
}

/*
 * Models are compared by how well they predict the cells that were held out. The score of a delay
 * is ln(1 + |r| / 0.1 us): it grows slowly, so that a few late messages, which no clock explains,
 * do not decide between models.
 */
uint64_t ictusi_clock_model_score(const struct clock_model *m, int fold, double *score,
                                  uint64_t *pair_of)
{
    const double unit = 0.1; /* us: errors below do not matter */
    uint64_t n = 0;
    for (uint64_t i = 0; i < m->pair_count; i++) {
        const struct model_pair *pair = &m->pairs[i];
        for (int way = 0; way < 2; way++) {
            for (uint32_t k = 0; k < pair->counts[way]; k++) {
                if (model_is_held(&pair->delays[way][k], fold)) {
                    const double r = model_residual(m, pair, way, k);
                    pair_of[n] = i;
                    score[n++] = log1p(fabs(r) / unit);
                }
            }
        }
    }
    return n;
}

/* Waiting only lengthens a delay, so D is the least residual; the steps then refine it. */
void ictusi_model_least_guess(const struct clock_model *m, struct model_pair *pair, int way,
                              int fold)
{
    double least = INFINITY;
    pair->least[way] = 0;
    for (uint32_t k = 0; k < pair->counts[way]; k++) {
        if (!model_is_held(&pair->delays[way][k], fold)) {
            least = fmin(least, model_residual(m, pair, way, k));
        }
    }
    pair->least[way] = isfinite(least) ? least : 0;
}

static int model_compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double ictusi_model_median(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, model_compare);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/*
 * The residuals e are waits, about exponential, whose median is ln 2 times their mean. The median
 * stands for the scale, since the mean of waits is ruled by a few long ones.
 */
void ictusi_model_spread(const struct clock_model *m, struct model_pair *pair, int way, int fold)
{
    double rest[MODEL_CELLS_MAX];
    uint32_t n = 0;
    for (uint32_t k = 0; k < pair->counts[way]; k++) {
        if (!model_is_held(&pair->delays[way][k], fold)) {
            rest[n++] = fmax(0, model_residual(m, pair, way, k));
        }
    }
    const double median = n ? ictusi_model_median(rest, n) : 1;
    pair->spread[way] = fmax(2 * MODEL_SCATTER, median);
}

/*
 * One step of iteratively reweighted least squares for D of a pair in one direction, us:
 * D <- D + sum(w r) / sum(w). Weights follow model_weight(), so short waits count most.
 */
static void delay_step(const struct clock_model *m, struct model_pair *pair, int way, int fold)
{
    double weights = 0;
    double sum = 0;
    ictusi_model_spread(m, pair, way, fold);
    for (uint32_t k = 0; k < pair->counts[way]; k++) {
        if (!model_is_held(&pair->delays[way][k], fold)) {
            const double r = model_residual(m, pair, way, k);
            const double w = model_weight(pair->spread[way], r);
            weights += w;
            sum += w * r;
        }
    }
    pair->least[way] += sum / fmax(weights, 1e-9);
}

void ictusi_clock_model_delays_only(struct clock_model *m, int fold)
{
    enum { STEPS = 12 };
    for (uint64_t i = 0; i < 2 * m->pair_count; i++) {
        struct model_pair *pair = &m->pairs[i / 2];
        ictusi_model_least_guess(m, pair, (int)(i % 2), fold);
        for (int step = 0; step < STEPS; step++) {
            delay_step(m, pair, (int)(i % 2), fold);
        }
    }
}

void ictusi_clock_model_align(struct clock_model *m)
{
    const double *row = &m->phi[(uint64_t)m->reference * m->knots];
    double level = 0;
    double slope = 0;
    double squares = 0;
    for (uint32_t k = 0; k < m->knots; k++) {
        const double x = (double)k / (m->knots - 1) - 0.5;
        level += row[k] / m->knots;
        slope += row[k] * x;
        squares += x * x;
    }
    slope /= squares;
    for (uint32_t k = 0; k < m->knots; k++) {
        const double off = m->mean_is_time ? level + slope * ((double)k / (m->knots - 1) - 0.5)
                                           : m->phi[(uint64_t)m->reference * m->knots + k];
        for (uint32_t u = 0; u < m->clocks; u++) {
            m->phi[(uint64_t)u * m->knots + k] -= off;
        }
    }
}
