/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the estimators of a pair are made of, judged by brute force and by hand: bounds, hulls, the
 * guard against exchanges that are too fast, the choice among smallest delays.
 */
#include "core/adaptive.h"
#include "core/bounds.h"
#include "core/envelope.h"
#include "core/fit.h"
#include "core/least_delay.h"
#include "core/random.h"
#include "core/stats.h"

#include "../check.h"

#include <ictus/error.h>

#include <stdbool.h>

enum { FEW = 9, MANY = 400 };

/* Instants may be equal; none may be before the one before it. */
static void bounds_are_by_hand(void)
{
    const int64_t far = 1700000000000000000;
    struct stamp s[] = {{far - 900, 3, 0}, {far - 900, 5, 0}, {far, 7, 0}};
    struct bounds b = {0};
    s[0].received = far - 900;
    s[1].received = far - 893;
    s[2].received = far + 11;
    REQUIRE(!ictusi_bounds_create(s, 3, &b));
    CHECK(b.n == 3 && b.anchor == far + 5 && b.base == 7 - (far + 5));
    static const double sent[] = {-905e-9, -905e-9, -5e-9}, upper[] = {901.0, 903.0, 5.0},
                        received[] = {-905e-9, -898e-9, 6e-9}, lower[] = {901.0, 896.0, -6.0};
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(b.upper_t[i], sent[i], 1e-15);
        CHECK_NEAR(b.lower_t[i], received[i], 1e-15);
        CHECK_NEAR(bounds_middle(&b, (size_t)i), (sent[i] + received[i]) / 2.0, 1e-15);
        CHECK(b.upper[i] == upper[i] && b.lower[i] == lower[i]);
    }
    ictusi_bounds_free(&b);
    s[1].sent--;
    CHECK(ictusi_bounds_create(s, 3, &b) == ICTUS_ERR_CLOCK);
    s[1].sent++;
    s[0].received--;
    CHECK(ictusi_bounds_create(s, 3, &b) == ICTUS_ERR_CLOCK);
    CHECK(ictusi_bounds_create(s, 0, &b) == ICTUS_ERR_SAMPLES);
}

/* By how much a line misses the most violated bound; negative: none is. */
static double line_outside(const struct bounds *b, double slope_max, double at_zero, double slope)
{
    double outside = fabs(slope) - slope_max;
    for (size_t i = 0; i < b->n; i++) {
        outside = fmax(outside, at_zero + slope * b->upper_t[i] - b->upper[i]);
        outside = fmax(outside, b->lower[i] - at_zero - slope * b->lower_t[i]);
    }
    return outside;
}

/* The lowest and the highest value at t of all lines inside the bounds: they go through two
 * corners, or through one with the largest slope. */
static bool range_by_force(const struct bounds *b, double slope_max, double t, double *low,
                           double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < 2 * b->n; i++) {
        for (size_t j = 0; j <= 2 * b->n; j++) {
            const double x = (i % 2 ? b->upper_t : b->lower_t)[i / 2];
            const double y = (i % 2 ? b->upper : b->lower)[i / 2];
            const bool free_end = j == 2 * b->n;
            const double run = free_end ? 1.0 : (j % 2 ? b->upper_t : b->lower_t)[j / 2] - x;
            for (int way = -1; way <= 1 && (run != 0.0); way += 2) {
                const double slope =
                    free_end ? way * slope_max : ((j % 2 ? b->upper : b->lower)[j / 2] - y) / run;
                if (line_outside(b, slope_max, y - slope * x, slope) < 1e-9) {
                    *low = fmin(*low, y + slope * (t - x));
                    *high = fmax(*high, y + slope * (t - x));
                }
            }
        }
    }
    return *low <= *high;
}

static void hulls_are_those_of_brute_force(void)
{
    struct rng rng;
    int possible = 0;
    ictusi_random_seed(&rng, 31, 0);
    for (int trial = 0; trial < 300; trial++) {
        double sent[FEW], received[FEW], upper[FEW], lower[FEW];
        double margin = 0.0, low, high, least, most;
        struct bounds b = {.n = 1 + (size_t)trial % FEW,
                           .upper_t = sent,
                           .lower_t = received,
                           .upper = upper,
                           .lower = lower};
        struct envelope e;
        const double slope_max = trial % 3 ? 40.0 : 4.0,
                     at = 4.0 * ictusi_random_uniform(&rng) - 3.0;
        for (size_t i = 0; i < b.n; i++) {
            sent[i] = 0.3 * (double)i - 2.0 + 0.2 * ictusi_random_uniform(&rng);
            received[i] = sent[i] + 0.1 * ictusi_random_uniform(&rng);
            upper[i] = 8.0 * sent[i] + 12.0 * ictusi_random_uniform(&rng);
            lower[i] = 8.0 * received[i] - 12.0 * ictusi_random_uniform(&rng);
        }
        REQUIRE(!ictusi_envelope_reserve(b.n, &e));
        ictusi_envelope_build(&b, &e);
        const struct trend middle = ictusi_envelope_middle(&e, slope_max, &margin);
        const bool possibly = range_by_force(&b, slope_max, at, &least, &most);
        CHECK(ictusi_envelope_range(&e, slope_max, at, &low, &high) == possibly);
        CHECK((margin >= 0.0) == possibly);
        if (possibly) {
            possible++;
            CHECK_NEAR(low, least, 1e-6);
            CHECK_NEAR(high, most, 1e-6);
        }
        /* Half the margin is left on either side, and no other slope leaves more. */
        CHECK_NEAR(line_outside(&b, slope_max, middle.at_zero, middle.slope), -margin / 2.0,
                   1e-6 + fmax(0.0, fabs(middle.slope) - slope_max + margin / 2.0));
        for (double slope = -slope_max; slope <= slope_max; slope += slope_max / 50.0) {
            double top = INFINITY, bottom = -INFINITY;
            for (size_t i = 0; i < b.n; i++) {
                top = fmin(top, upper[i] - slope * sent[i]);
                bottom = fmax(bottom, lower[i] - slope * received[i]);
            }
            CHECK(top - bottom <= margin + 1e-6);
        }
        ictusi_envelope_free(&e);
    }
    CHECK(possible > 100 && possible < 290);
}

/* Exchanges of clocks that do not drift apart, in an order of their own for each direction. */
static void exchanges_make(const double *above, const double *below, size_t n, struct stamp *s)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t sent = 1000000 * (int64_t)i, up = (int64_t)above[i], down = (int64_t)below[i];
        s[i] = (struct stamp){sent, sent + up, sent + up + down};
    }
}

/* What Lepski's rule takes: the most certain of n, n / 16, n / 64 ... delays that contradicts none
 * of those before it, where the second must be twice as certain as the smallest of all. */
static size_t lepski(const double *sorted[2], size_t n, struct least_delay *taken)
{
    struct least_delay tried[8];
    size_t best = 0;
    for (size_t z = 0; z < 8; z++) {
        const double m = (double)n / (z ? pow(4.0, (double)z + 1.0) : 1.0);
        if (m < 1.0) {
            break;
        }
        const struct least_delay a = ictusi_least_delay(sorted[0], n, m),
                                 b = ictusi_least_delay(sorted[1], n, m);
        tried[z] = (struct least_delay){(a.value - b.value) / 2.0, (a.variance + b.variance) / 4.0};
        for (size_t y = 0; y < z; y++) {
            if (fabs(tried[z].value - tried[y].value) >
                3.0 * sqrt(tried[z].variance + tried[y].variance) + 0.29) {
                *taken = tried[best];
                return best;
            }
        }
        best = tried[z].variance < (best ? 1.0 : 2.0) * tried[best].variance ? z : best;
    }
    *taken = tried[best];
    return best;
}

/*
 * Delays that fall and rise again, the same in both directions, so that the middles of exchanges
 * show no drift; the fastest in one direction are faster by a gap: 2 ns more (wide) or less than
 * half of what `span` of the others span. Returns the smallest of these others.
 */
static double delays_make(double delays[2][MANY], size_t n, size_t fast, int side, bool wide)
{
    const size_t span = n > 300 ? n / 20 : 15, first = n / 2 - fast / 2;
    double rest[MANY];
    for (size_t i = 0; i < n; i++) {
        delays[0][i] = delays[1][i] = rest[i] = 5000.0 + 20.0 * fabs((double)i - (double)(n / 2));
    }
    for (size_t i = first; i <= n / 2 + fast / 2; i++) {
        rest[i] = fast % 2 || i != n / 2 ? INFINITY : rest[i];
        delays[side][i] = rest[i];
    }
    ictusi_stats_sort(rest, n);
    const double gap = 0.5 * (rest[span] - rest[0]) + (wide ? 2.0 : -2.0);
    for (size_t i = first; i <= n / 2 + fast / 2; i++) {
        delays[side][i] = fmin(delays[side][i], rest[0] - (delays[side][i] < 1e9 ? 0.0 : gap));
    }
    return rest[0];
}

/*
 * Exchanges that stand off by more than half of what 15 of the others, or one in twenty, span are
 * left out (moved up by all that the delays span), if they are at most two, and one more for each
 * 200 exchanges.
 */
static void too_fast_ones_are_left_out(void)
{
    static const struct adaptive_slope known = {0.0, 0.0};
    for (int trial = 0; trial < 2 * 2 * 2 * 4; trial++) {
        const size_t n = trial % 2 ? 99 : MANY - 1, most = n == 99 ? 2 : 3;
        const size_t fast = 1 + (size_t)trial / 8;
        const int side = trial / 2 % 2, wide = trial / 4 % 2;
        const bool dropped = wide && fast <= most;
        double delays[2][MANY], sorted[2][MANY];
        struct stamp s[MANY];
        struct line line;
        struct line_error error;
        struct least_delay wanted;
        const double least = delays_make(delays, n, fast, side, wide);
        memcpy(sorted, delays, sizeof(sorted));
        for (size_t i = 0; i < n && dropped; i++) {
            const double fastest = delays[side][n / 2 - fast / 2];
            sorted[side][i] += delays[side][i] < least ? delays[side][0] - fastest : 0.0;
        }
        ictusi_stats_sort(sorted[0], n);
        ictusi_stats_sort(sorted[1], n);
        exchanges_make(delays[0], delays[1], n, s);
        (void)lepski((const double *[2]){sorted[0], sorted[1]}, n, &wanted);
        REQUIRE(!ictusi_adaptive_fit(s, n, &known, &line, &error, NULL));
        CHECK_NEAR((double)line.offset + line.frac, wanted.value, 0.01);
        CHECK_NEAR(error.offset_var_ns2, 1.0 / 12.0 + 1.21 * wanted.variance, 0.01);
    }
}

/* Moves up what is left out as too fast. Returns the largest of these delays, or 0. */
static double delays_guard(double *sorted, size_t n, double share)
{
    const size_t span = n > 300 ? n / 20 : 15;
    for (size_t i = 2 + n / 200 + span < n ? 2 + n / 200 : 0; i-- > 0;) {
        if (sorted[i + 1] - sorted[i] > share * (sorted[i + 1 + span] - sorted[i + 1])) {
            const double limit = sorted[i], away = sorted[n - 1] - sorted[0];
            for (size_t k = 0; k <= i; k++) {
                sorted[k] += away;
            }
            ictusi_stats_sort(sorted, n);
            return limit;
        }
    }
    return 0.0;
}

/* Whether a delay is among those that decided. */
static double delay_counts(double delay, double limit, double last)
{
    return delay > limit && delay <= last ? 1.0 : 0.0;
}

/* The offset and its variance; the instant at which it is best known, which decides how far the
 * error of the slope shows. */
static void choices_are_those_of_the_rule(void)
{
    static const struct adaptive_slope known = {0.0, 9.0};
    struct rng rng;
    int chosen[8] = {0};
    ictusi_random_seed(&rng, 37, 0);
    for (int trial = 0; trial < 100; trial++) {
        const size_t n = trial % 4 < 2 ? MANY : 150;
        const bool mirrored = trial % 2; /* so that the guard, too, sees no drift */
        double delays[2][MANY], sorted[2][MANY];
        struct stamp s[MANY];
        struct line line;
        struct line_error error;
        struct least_delay wanted;
        double limits[2];
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < n; i++) {
                const double bulk = 300.0 * (4.0 + ictusi_random_normal(&rng));
                const double sharp =
                    300.0 * ictusi_random_exponential(&rng) * (trial % 5 ? 1.0 : 1.0 + side);
                delays[side][i] = mirrored && i >= n / 2
                                      ? delays[side][n - 1 - i]
                                      : 5000.0 + round(trial % 3 ? fmax(bulk, 0.0) : sharp);
            }
            memcpy(sorted[side], delays[side], n * sizeof(double));
            ictusi_stats_sort(sorted[side], n);
            limits[side] = delays_guard(sorted[side], n, mirrored ? 0.5 : 0.12);
        }
        exchanges_make(delays[0], delays[1], n, s);
        const size_t best = lepski((const double *[2]){sorted[0], sorted[1]}, n, &wanted);
        const size_t rank = best ? (size_t)pow(4.0, (double)best + 1.0) : 1;
        double sum = 0.0, count = 0.0;
        for (size_t i = 0; i < n; i++) {
            const int64_t anchor = (s[n - 1].sent + s[n - 1].received) / 2;
            const double above = delay_counts(delays[0][i], limits[0], sorted[0][rank - 1]);
            const double below = delay_counts(delays[1][i], limits[1], sorted[1][rank - 1]);
            sum += above * (double)(s[i].sent - anchor) * 1e-9;
            sum += below * (double)(s[i].received - anchor) * 1e-9;
            count += above + below;
        }
        const double centre = sum / count;
        REQUIRE(!ictusi_adaptive_fit(s, n, &known, &line, &error, NULL));
        if (mirrored || limits[0] + limits[1] == 0.0) {
            chosen[best]++;
            CHECK_NEAR((double)line.offset + line.frac, wanted.value, 1e-3);
            CHECK_NEAR(error.slope_var_ns2_per_s2, 9.0, 1e-12);
            CHECK_NEAR(error.covariance_ns2_per_s, -9.0 * centre, 1e-6);
            CHECK_NEAR(error.offset_var_ns2,
                       1.0 / 12.0 + 1.21 * wanted.variance + 9.0 * centre * centre, 1e-3);
        }
    }
    CHECK(chosen[0] > 5 && chosen[1] + chosen[2] + chosen[3] > 5);
}

/* Least squares with weights that fall with the round trip: by how much it exceeds the shortest, in
 * units of what the lowest tenth does. */
static double slope_weighted(const struct bounds *b)
{
    double rtts[MANY], sum[4] = {0.0}, t_mean = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        rtts[i] = b->upper[i] - b->lower[i];
        t_mean += bounds_middle(b, i) / (double)b->n;
    }
    ictusi_stats_sort(rtts, b->n);
    for (size_t i = 0; i < b->n; i++) {
        const double z = (b->upper[i] - b->lower[i] - rtts[0]) / (rtts[b->n / 10] - rtts[0] + 1.0);
        const double w = exp(-z * z), t = bounds_middle(b, i) - t_mean;
        const double y = (b->upper[i] + b->lower[i]) / 2.0;
        sum[0] += w;
        sum[1] += w * t;
        sum[2] += w * y;
        sum[3] += w * t * t;
    }
    double above = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        const double z = (b->upper[i] - b->lower[i] - rtts[0]) / (rtts[b->n / 10] - rtts[0] + 1.0);
        const double t = bounds_middle(b, i) - t_mean - sum[1] / sum[0];
        above += exp(-z * z) * t * ((b->upper[i] + b->lower[i]) / 2.0 - sum[2] / sum[0]);
    }
    return above / (sum[3] - sum[1] * sum[1] / sum[0]);
}

/* Least squares through the middles between the tightest bounds of blocks; of at least three. */
static double slope_of_blocks(const struct bounds *b, size_t block)
{
    double sum[4] = {0.0};
    const size_t size = b->n / block < 3 ? b->n / 3 : block, count = b->n / size;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < count; k++) {
            double top = INFINITY, bottom = -INFINITY;
            for (size_t i = k * size; i < (k + 1) * size; i++) {
                top = fmin(top, b->upper[i]);
                bottom = fmax(bottom, b->lower[i]);
            }
            const double t =
                (bounds_middle(b, k * size) + bounds_middle(b, (k + 1) * size - 1)) / 2.0;
            const double y = (top + bottom) / 2.0;
            if (pass) {
                sum[2] += (t - sum[0]) * (y - sum[1]);
                sum[3] += (t - sum[0]) * (t - sum[0]);
            } else {
                sum[0] += t / (double)count;
                sum[1] += y / (double)count;
            }
        }
    }
    return sum[2] / sum[3];
}

static double slope_by(enum adaptive_choice which, const struct bounds *b)
{
    static const size_t blocks[] = {0, 4, 16, 64};
    struct envelope e;
    if (which == ADAPTIVE_WEIGHTED) {
        return slope_weighted(b);
    }
    if (which != ADAPTIVE_ENVELOPE) {
        return slope_of_blocks(b, blocks[which]);
    }
    REQUIRE(!ictusi_envelope_reserve(b->n, &e));
    ictusi_envelope_build(b, &e);
    const double slope = ictusi_envelope_middle(&e, ICTUSI_DRIFT_MAX_NS_PER_S, NULL).slope;
    ictusi_envelope_free(&e);
    return slope;
}

/* The delay of one direction relative to a line through 0. */
static double bounds_delay(const struct bounds *b, size_t i, int side, double slope)
{
    return side ? slope * b->lower_t[i] - b->lower[i] : b->upper[i] - slope * b->upper_t[i];
}

/* The power with which the error of a minimum falls: Hill's, of the lowest tenth of the delays. */
static double power_of_tail(const struct bounds *b, double slope)
{
    const size_t k = b->n < 80 ? 8 : b->n / 10;
    double alpha = 0.0;
    for (int side = 0; side < 2; side++) {
        double delays[MANY], sum = 0.0, count = 0.0;
        for (size_t i = 0; i < b->n; i++) {
            delays[i] = bounds_delay(b, i, side, slope);
        }
        ictusi_stats_sort(delays, b->n);
        for (size_t i = 1; i < k - 1; i++) {
            if (delays[i] - delays[0] > 1e-4) { /* or it touches the line, too */
                sum += log((delays[k - 1] - delays[0]) / (delays[i] - delays[0]));
                count += 1.0;
            }
        }
        alpha += count / sum / 2.0;
    }
    return fmin(fmax(1.0 / alpha, 0.5), 1.0);
}

/* Moves exchanges that are too fast, relative to the rough line, out of the way. */
static void bounds_guard(const struct bounds *all, struct bounds *b)
{
    const double slope = slope_weighted(all);
    ictusi_bounds_fold(all, 0, 1, b);
    for (int side = 0; side < 2; side++) {
        double delays[MANY], sorted[MANY];
        for (size_t i = 0; i < b->n; i++) {
            sorted[i] = delays[i] = bounds_delay(all, i, side, slope);
        }
        ictusi_stats_sort(sorted, b->n);
        const double least = sorted[0], away = sorted[b->n - 1] - least;
        const double limit = delays_guard(sorted, b->n, 0.5);
        for (size_t i = 0; i < b->n && limit != 0.0; i++) {
            (side ? b->lower : b->upper)[i] += delays[i] <= limit ? (side ? -away : away) : 0.0;
        }
    }
}

/* The way that scatters least over interleaved parts, what it makes of all, and with what error. */
static enum adaptive_choice slope_of_least_scatter(const struct bounds *all, double *slope,
                                                   double *sd)
{
    static const size_t blocks[ADAPTIVE_CHOICES] = {0, 4, 16, 64, 0};
    const size_t parts = all->n >= 400 ? 8 : 4;
    enum adaptive_choice best = ADAPTIVE_ENVELOPE;
    struct bounds guarded, fold;
    REQUIRE(!ictusi_bounds_reserve(all->n, &guarded) && !ictusi_bounds_reserve(all->n, &fold));
    bounds_guard(all, &guarded);
    const double power = power_of_tail(&guarded, slope_by(ADAPTIVE_ENVELOPE, &guarded));
    *sd = INFINITY;
    for (int which = 0; which < ADAPTIVE_CHOICES; which++) {
        const struct bounds *from = which == ADAPTIVE_WEIGHTED ? all : &guarded;
        double slopes[8];
        for (size_t j = 0; j < parts; j++) {
            ictusi_bounds_fold(from, j, parts, &fold);
            slopes[j] = slope_by((enum adaptive_choice)which, &fold);
        }
        const double scatter = ictusi_stats_sd(slopes, parts);
        const double error =
            which ? scatter / sqrt((double)parts) : 1.15 * scatter * pow((double)parts, -power);
        if (error < *sd &&
            all->n / parts >= (which == ADAPTIVE_WEIGHTED ? 10 : 3 * blocks[which])) {
            *sd = error;
            best = (enum adaptive_choice)which;
            *slope = slope_by(best, from);
        }
    }
    *sd *= parts == 8 ? 1.1 * 2.365 / 1.960
                      : 1.1 * 3.182 / 1.960; /* Student's, and 10 % for choosing */
    ictusi_bounds_free(&guarded);
    ictusi_bounds_free(&fold);
    return best;
}

/* Delays of several shapes, so that each way is the best one now and then. */
static void slopes_are_those_that_scatter_least(void)
{
    static const size_t sizes[] = {16, 60, 110, MANY - 1, MANY};
    struct rng rng;
    int chosen[ADAPTIVE_CHOICES] = {0};
    ictusi_random_seed(&rng, 43, 0);
    for (int trial = 0; trial < 150; trial++) {
        const size_t n = sizes[trial % 5];
        struct stamp s[MANY];
        struct bounds b;
        struct line line;
        struct line_error error;
        enum adaptive_choice choice, wanted;
        double slope = 0.0, sd, wander = 0.0;
        for (size_t i = 0; i < n; i++) {
            const int64_t sent = 10000000 * (int64_t)i;
            double delay[2];
            wander += trial % 3 ? 0.0 : 20.0 * ictusi_random_normal(&rng);
            for (int side = 0; side < 2; side++) {
                const double bulk = 300.0 * (4.0 + ictusi_random_normal(&rng));
                const double sharp = 300.0 * ictusi_random_exponential(&rng);
                delay[side] = 5000.0 + (trial % 2 ? sharp : bulk);
            }
            s[i].sent = sent;
            s[i].remote = sent + (int64_t)(delay[0] + wander + 3e-5 * (double)sent);
            s[i].received = sent + (int64_t)(delay[0] + delay[1]);
        }
        REQUIRE(!ictusi_bounds_create(s, n, &b));
        wanted = slope_of_least_scatter(&b, &slope, &sd);
        ictusi_bounds_free(&b);
        REQUIRE(!ictusi_adaptive_fit(s, n, NULL, &line, &error, &choice));
        CHECK(choice == wanted);
        CHECK_NEAR(line.slope * 1e9, slope, 1e-6 * fabs(slope));
        CHECK_NEAR(error.slope_var_ns2_per_s2, sd * sd, 1e-6 * sd * sd);
        chosen[choice]++;
    }
    CHECK(chosen[ADAPTIVE_ENVELOPE] > 9 && chosen[ADAPTIVE_BLOCKS_4] > 9);
    CHECK(chosen[ADAPTIVE_WEIGHTED] > 9);
}

/* Where stamps contradict each other, so that no line fits, the bound is that of the exchange that
 * is farthest from the line. */
static void stamps_that_contradict_bound_all_the_same(void)
{
    struct stamp s[40];
    struct line line;
    struct line_error error;
    double farthest = 0.0;
    for (int i = 0; i < 40; i++) {
        const int64_t sent = 1000000 * (int64_t)i;
        s[i] = (struct stamp){sent,
                              sent + 500 +
                                  (i == 7    ? 90000
                                   : i == 30 ? -40000
                                             : 0),
                              sent + 1000};
    }
    REQUIRE(!ictusi_adaptive_fit(s, 40, NULL, &line, &error, NULL));
    for (int i = 0; i < 40; i++) {
        const double t = (double)(s[i].sent + s[i].received) / 2.0 - (double)line.anchor;
        const double value = (double)line.offset + line.frac + line.slope * t;
        farthest = fmax(farthest, fmax(fabs((double)(s[i].remote - s[i].sent) - value),
                                       fabs((double)(s[i].remote - s[i].received) - value)));
    }
    CHECK(farthest > 80000.0);
    CHECK_NEAR(error.bound_ns, farthest, 1.0);
}

/* With fewer than 16 exchanges: least squares, in which an excess of 5 % halves the weight. */
static void few_exchanges_are_weighed_by_their_round_trips(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 41, 0);
    for (size_t n = 3; n < 16; n++) {
        struct stamp s[16];
        struct line line;
        double sum[5] = {0.0}, least = INFINITY;
        for (size_t i = 0; i < n; i++) {
            const int64_t sent = 100000 * (int64_t)i;
            s[i].sent = sent;
            s[i].remote = sent + 500 + (int64_t)(100.0 * ictusi_random_uniform(&rng));
            s[i].received = s[i].remote + 500 + (int64_t)(100.0 * ictusi_random_uniform(&rng));
            least = fmin(least, (double)(s[i].received - sent) + 1.0);
        }
        for (size_t i = 0; i < n; i++) {
            const double rtt = (double)(s[i].received - s[i].sent);
            const double t =
                (double)(s[i].received + s[i].sent - s[n - 1].received - s[n - 1].sent) / 2.0;
            const double y = (double)s[i].remote - (double)(s[i].received + s[i].sent) / 2.0;
            const double w = 1.0 / (1.0 + pow((rtt - least) / least / 0.05, 2.0));
            sum[0] += w;
            sum[1] += w * t;
            sum[2] += w * y;
            sum[3] += w * t * t;
            sum[4] += w * t * y;
        }
        const double slope =
            (sum[0] * sum[4] - sum[1] * sum[2]) / (sum[0] * sum[3] - sum[1] * sum[1]);
        const double offset = (sum[2] - slope * sum[1]) / sum[0];
        REQUIRE(!ictusi_adaptive_fit(s, n, NULL, &line, NULL, NULL));
        CHECK_NEAR((double)line.offset + line.frac, offset, 0.6); /* instants are whole ns */
        CHECK_NEAR(line.slope, slope, 1e-5);
    }
}

int main(void)
{
    bounds_are_by_hand();
    hulls_are_those_of_brute_force();
    too_fast_ones_are_left_out();
    choices_are_those_of_the_rule();
    few_exchanges_are_weighed_by_their_round_trips();
    slopes_are_those_that_scatter_least();
    stamps_that_contradict_bound_all_the_same();
    return check_result();
}
