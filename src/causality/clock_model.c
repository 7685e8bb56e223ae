/* SPDX-License-Identifier: BSD-3-Clause */
/* The storage of a model, its delays, and what they predict. The equations are in clock_solve.c. */
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
 * phi (or its error) of a clock at a position, us: linear between the two neighbouring knots.
 * Before the first knot and after the last one the outermost piece is extended, since the archive's
 * offsets may have been measured outside the span of the messages.
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

double ictusi_clock_model_position(const struct clock_model *m, int64_t from, int64_t to,
                                   int64_t instant)
{
    return (double)(instant - from) / (double)(to - from) * (m->knots - 1);
}

/* The observation being read, and the pairs of the previous ones. */
struct seeing {
    const struct least_delays *d;
    double us_per_tick;
    const struct model_pair *old; /* the next earlier pair; old_end: none is left */
    const struct model_pair *old_end;
    struct model_delay *next;
};

/* What phi subtracts from a time that a clock showed, in units of positions. */
static double clock_model_shown_off(const struct clock_model *m, uint32_t clock, double shown)
{
    return ictusi_clock_model_at(m, m->phi, clock, shown) * (m->knots - 1) / m->length;
}

/*
 * What a clock showed, given the time that remains after phi is subtracted. The inverse has no
 * closed form, so it is found by fixed-point iteration.
 */
static double clock_model_shown_at(const struct clock_model *m, uint32_t clock, double position)
{
    double shown = position;
    for (int i = 0; i < 3; i++) { /* drifts are small: each round gains four digits */
        shown = position + clock_model_shown_off(m, clock, shown);
    }
    return shown;
}

/* Recompute a delay for the present phi from what the clocks showed. */
static void delay_see(const struct clock_model *m, const struct model_pair *pair, int way,
                      struct model_delay *delay)
{
    const double sent =
        delay->sent - clock_model_shown_off(m, way ? pair->b : pair->a, delay->sent);
    const double received =
        delay->received - clock_model_shown_off(m, way ? pair->a : pair->b, delay->received);
    delay->position = (sent + received) / 2;
    delay->seen = (received - sent) * m->length / (m->knots - 1);
    delay->y = delay->seen + model_shift(m, pair, way, delay->position);
}

/* The delay that a cell holds. The value seen has phi subtracted already, so y adds it back. */
static struct model_delay delay_new(const struct clock_model *m, const struct seeing *s,
                                    const struct model_pair *pair, int way, uint64_t i)
{
    const int64_t from = s->d->from;
    const double at = ictusi_clock_model_position(m, from, from + s->d->length, s->d->instant[i]);
    const double seen = (double)s->d->delay[i] * s->us_per_tick;
    const double half = seen / 2 * (m->knots - 1) / m->length;
    return (struct model_delay){.position = at,
                                .seen = seen,
                                .y = seen + model_shift(m, pair, way, at),
                                .sent = clock_model_shown_at(m, way ? pair->b : pair->a, at - half),
                                .received =
                                    clock_model_shown_at(m, way ? pair->a : pair->b, at + half)};
}

/*
 * The delays of a pair in one direction, in the order of time. Cells without a message take no
 * room, so a pair that seldom talks takes little. Returns whether this direction contradicts the
 * clocks and was not seen before. Directions seen earlier do not count: otherwise the observations
 * would go on as long as anything contradicts.
 */
static bool clock_model_fill_way(const struct clock_model *m, struct seeing *s,
                                 struct model_pair *pair, int way, uint64_t row,
                                 const struct model_pair *before)
{
    const double contradicts = -1; /* us */
    const struct model_delay *old = before ? before->delays[way] : NULL;
    const struct model_delay *old_end = before ? old + before->counts[way] : NULL;
    const uint64_t first = row == DELAY_NO_ROW ? 0 : row * s->d->cells;
    bool news = false;
    pair->delays[way] = s->next;
    for (uint32_t c = 0; c < s->d->cells; c++) {
        while (old < old_end && old->cell < c) {
            old++;
        }
        struct model_delay *delay = s->next;
        if (row != DELAY_NO_ROW && s->d->delay[first + c] != DELAY_NONE) {
            *delay = delay_new(m, s, pair, way, first + c);
            delay->cell = c;
            delay->now = true;
            pair->now[way]++;
            news = news || delay->seen < contradicts;
            s->next++;
        } else if (old < old_end && old->cell == c) {
            *delay = *old;
            delay->now = false;
            delay_see(m, pair, way, delay);
            s->next++;
        }
    }
    pair->counts[way] = (uint32_t)(s->next - pair->delays[way]);
    return news && !(before && before->counts[way]);
}

/* Both lists of pairs, the earlier ones and those seen now, are sorted. */
static bool clock_model_is_before(const struct model_pair *old, const struct delay_pair *pair)
{
    return old->a < pair->a || (old->a == pair->a && old->b < pair->b);
}

static void clock_model_see_ways(struct clock_model *m, struct seeing *s, struct model_pair *pair,
                                 const struct delay_pair *now, const struct model_pair *old)
{
    for (int way = 0; way < 2; way++) {
        m->news += clock_model_fill_way(m, s, pair, way, now ? now->row[way] : DELAY_NO_ROW, old);
        pair->least[way] = old ? old->least[way] : 0; /* a good first guess of D */
    }
    m->degree[pair->a] += model_talks_both_ways(pair);
    m->degree[pair->b] += model_talks_both_ways(pair);
}

/*
 * The next pair in order, seen before, now, or both. The two lists are merged: each step takes the
 * lesser pair, or both where they are equal.
 */
static void clock_model_see_pair(struct clock_model *m, struct seeing *s,
                                 const struct delay_pair **seen, const struct delay_pair *seen_end)
{
    const struct model_pair *old = s->old < s->old_end ? s->old : NULL;
    const struct delay_pair *now = *seen < seen_end ? *seen : NULL;
    now = old && now && clock_model_is_before(old, now) ? NULL : now;
    old = old && now && (old->a != now->a || old->b != now->b) ? NULL : old;
    struct model_pair *pair = &m->pairs[m->pair_count++];
    *pair = (struct model_pair){.a = now ? now->a : s->old->a, .b = now ? now->b : s->old->b};
    clock_model_see_ways(m, s, pair, now, old);
    if (now) {
        ++*seen;
    }
    if (old) {
        s->old++;
    }
}

/*
 * Merge an observation with the earlier ones. A delay that was seen before remains a true bound
 * even if it is not seen now. Of a collective's members only the latest is seen to hold up the
 * others, and which one that is depends on the clocks. Each observation thus adds a few of the
 * existing bounds, and the earlier ones must not be lost. Delays from cells of another length
 * cannot be kept. The old delays are copied before their list is freed.
 */
int ictusi_clock_model_see(struct clock_model *m, const struct least_delays *d, double us_per_tick)
{
    struct model_pair *old = m->pairs;
    struct model_delay *old_delays = m->delays;
    const uint64_t old_count = m->cells == d->cells ? m->pair_count : 0;
    const uint64_t old_room = m->cells == d->cells ? m->delay_count : 0;
    m->pairs = calloc(d->pair_count + old_count + 1, sizeof *m->pairs);
    m->delays = calloc(d->row_count * d->cells + old_room + 1, sizeof *m->delays);
    m->cells = d->cells;
    m->pair_count = 0;
    m->delay_count = 0;
    m->news = 0;
    memset(m->degree, 0, m->clocks * sizeof *m->degree);
    const bool room = m->pairs && m->delays;
    struct seeing s = {d, us_per_tick, old, old ? old + old_count : NULL, m->delays};
    const struct delay_pair *seen = d->pairs;
    const struct delay_pair *seen_end = seen ? seen + d->pair_count : NULL;
    while (room && (seen < seen_end || s.old < s.old_end)) {
        clock_model_see_pair(m, &s, &seen, seen_end);
    }
    m->delay_count = room ? (uint64_t)(s.next - m->delays) : 0;
    free(old);
    free(old_delays);
    return room ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * A negative delay is a message that arrives before it was sent. All of them count, not only the
 * worst one: where a clock jumps, no chain of pieces heals the violation at the jump, however many
 * others it heals.
 */
double ictusi_clock_model_violation(const struct clock_model *m)
{
    double sum = 0;
    for (uint64_t i = 0; i < m->delay_count; i++) {
        sum += fmax(0, -m->delays[i].seen);
    }
    return sum;
}

/*
 * Models are compared by how well they predict the cells that were held out. The score of a delay
 * with residual r is ln(1 + |r| / 0.1 us). It grows slowly, so that a few late messages, which no
 * clock explains, do not decide between models.
 */
uint64_t ictusi_clock_model_score(const struct clock_model *m, int fold, double *score,
                                  uint64_t *pair_of)
{
    const double unit = 0.1; /* us: smaller errors do not matter */
    uint64_t n = 0;
    for (uint64_t i = 0; i < m->pair_count; i++) {
        const struct model_pair *pair = &m->pairs[i];
        for (int way = 0; way < 2; way++) {
            for (uint32_t k = 0; k < pair->counts[way]; k++) {
                if (pair->delays[way][k].now && model_is_held(&pair->delays[way][k], fold)) {
                    const double r = model_residual(m, pair, way, k);
                    pair_of[n] = i;
                    score[n++] = log1p(fabs(r) / unit);
                }
            }
        }
    }
    return n;
}

/*
 * Waiting only lengthens a delay, so the least residual is the first guess for D. The steps refine
 * it.
 */
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
 * The residuals e are waits, which are about exponential, with a median of ln 2 times the mean. The
 * scale is taken from the median, since a few long waits dominate the mean.
 */
void ictusi_model_spread(const struct clock_model *m, struct model_pair *pair, int way, int fold)
{
    double rest[MODEL_CELLS_MAX];
    uint32_t n = 0;
    for (uint32_t k = 0; k < pair->counts[way]; k++) {
        const struct model_delay *delay = &pair->delays[way][k];
        if (!model_is_held(delay, fold) && model_tells(pair, way, delay)) {
            rest[n++] = fmax(0, model_residual(m, pair, way, k));
        }
    }
    const double median = n ? ictusi_model_median(rest, n) : 1;
    pair->spread[way] = fmax(2 * MODEL_SCATTER, median);
}

/*
 * One step of iteratively reweighted least squares for D of a pair in one direction, us: D <- D +
 * sum(w r) / sum(w). The weights are those of model_weight(), so that short waits count most.
 */
static void delay_step(const struct clock_model *m, struct model_pair *pair, int way, int fold)
{
    double weights = 0;
    double sum = 0;
    ictusi_model_spread(m, pair, way, fold);
    for (uint32_t k = 0; k < pair->counts[way]; k++) {
        if (!model_is_held(&pair->delays[way][k], fold)) {
            const double r = model_residual(m, pair, way, k);
            const double w = model_delay_weight(pair, way, &pair->delays[way][k], r, false);
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

void ictusi_clock_model_decline(struct clock_model *m)
{
    for (uint64_t i = 0; i < (uint64_t)m->clocks * m->knots; i++) {
        m->error[i] += fabs(m->phi[i]);
        m->phi[i] = 0;
    }
}
