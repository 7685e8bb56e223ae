/* SPDX-License-Identifier: BSD-3-Clause */
/* The adaptive pair estimator: guard, slope by folds, offset by Lepski's rule. */
#include "core/adaptive.h"
#include "core/bounds.h"
#include "core/envelope.h"
#include "core/fit.h"
#include "core/least_delay.h"
#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOLDS_MAX = 8,
    FOLDS_FEW = 4,    /* for fewer than MANY exchanges */
    MANY = 400,       /* with this many exchanges, FOLDS_MAX folds are large enough */
    SAMPLES_MIN = 16, /* with fewer, a fold would have fewer than 4 */
    BLOCKS_MIN = 3,   /* a line through fewer blocks has no residuals */
    TENTH = 10,     /* a fold of fewer exchanges has nothing but its shortest in the lowest tenth */
    GUARD_BASE = 2, /* at most GUARD_BASE + n / GUARD_SHARE outliers are dropped */
    GUARD_SHARE = 200,
    GUARD_SPAN_MIN = 15, /* minimum number of order statistics in the span of comparison */
    LEAST_RATIO = 4,     /* ratio between the numbers m of delays that are tried */
    CANDIDATES_MAX = 12
};

/* A too-fast exchange is separated by more than this part of the span of comparison. */
static const double guard_gap = 0.5;
/* The fold error of the envelope is too small by this factor (from a study of ten delay models). */
static const double envelope_penalty = 1.15;
/* Lepski: two offsets disagree if they differ by this many standard errors of their difference. */
static const double lepski_limit = 3.0;
/* Errors from so few folds are themselves uncertain: the ratio of Student's 97.5 % quantile to
 * the normal one for 7 and 3 degrees of freedom, and 10 % for choosing the smallest of several. */
static const double few_folds_many = 1.1 * 2.365 / 1.960;
static const double few_folds_few = 1.1 * 3.182 / 1.960;
/* The variance of the smallest of all delays depends on a few of them. Others are preferred only
 * if their variance is not above this multiple of it. */
static const double doubt = 2.0;
/* The error of the offset is known from all exchanges; this factor allows for choosing the
 * smallest. */
static const double choice_excess = 1.1;
/* The rounding of three stamps to whole ns leaves this, however many exchanges are averaged. */
static const double rounding_var = 1.0 / 12.0;
static const double rounding_sd = 0.29;
/* The hull's line touches several exchanges: those are as fast as the fastest, but for rounding. */
static const double touching = 1e-6;
static const size_t block_sizes[ADAPTIVE_CHOICES] = {0, 4, 16, 64, 0};

/* Buffers and tables of one estimation. */
struct work {
    struct bounds all;     /* as measured */
    struct bounds guarded; /* with the outliers moved out of the way */
    struct bounds fold;
    struct envelope envelope;
    double *scratch; /* 3 n */
    size_t folds;
    double tail_power; /* the error of the envelope falls as n^-tail_power */
};

/*
 * Fit y = a + b t by weighted least squares; w = NULL means equal weights. The means are subtracted
 * first, in a pass of their own, because t covers minutes and sums of raw squares would cancel. The
 * slope is 0 if all points are at one instant.
 */
static struct trend adaptive_weighted_line(const double *t, const double *y, const double *w,
                                           size_t n)
{
    double sum = 0.0;
    double t_mean = 0.0;
    double y_mean = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double wi = w ? w[i] : 1.0;
        sum += wi;
        t_mean += wi * t[i];
        y_mean += wi * y[i];
    }
    t_mean /= sum;
    y_mean /= sum;
    double tt = 0.0;
    double ty = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double wi = w ? w[i] : 1.0;
        tt += wi * (t[i] - t_mean) * (t[i] - t_mean);
        ty += wi * (t[i] - t_mean) * (y[i] - y_mean);
    }
    const double slope = tt > 0.0 ? ty / tt : 0.0;
    return (struct trend){y_mean - slope * t_mean, slope};
}

/* Least squares over the middles, each weighted by how close its round trip is to the minimum. */
static struct trend rtt_weighted(const struct bounds *b, double *scratch)
{
    const size_t n = b->n;
    double *rtt = scratch;
    double *t = scratch; /* once the round trips have been used */
    double *y = scratch + n;
    double *w = scratch + 2 * n;
    for (size_t i = 0; i < n; i++) {
        rtt[i] = b->upper[i] - b->lower[i];
        y[i] = (b->upper[i] + b->lower[i]) / 2.0;
    }
    ictusi_stats_sort(rtt, n);
    const double shortest = rtt[0];
    /*
     * The kernel is as wide as the lowest tenth of the round trips. The 1 ns keeps it from
     * vanishing if a coarse clock makes all of these equal. Beyond z = 6 a weight would be below
     * 3e-16 of the largest one.
     */
    const double scale = rtt[n / TENTH] - shortest + 1.0;
    for (size_t i = 0; i < n; i++) {
        const double z = (b->upper[i] - b->lower[i] - shortest) / scale;
        t[i] = bounds_middle(b, i);
        w[i] = z < 6.0 ? exp(-z * z) : 0.0;
    }
    return adaptive_weighted_line(t, y, w, n);
}

/* OLS through the SKaMPI offsets of consecutive blocks. */
static struct trend block_line(const struct bounds *b, size_t size, double *scratch)
{
    if (b->n / size < BLOCKS_MIN) {
        size = b->n / BLOCKS_MIN;
    }
    size = size ? size : 1;
    const size_t blocks = b->n / size;
    double *t = scratch;
    double *y = scratch + blocks;
    for (size_t k = 0; k < blocks; k++) {
        const size_t first = k * size;
        double ceiling = b->upper[first];
        double floor = b->lower[first];
        for (size_t i = first + 1; i < first + size; i++) {
            ceiling = fmin(ceiling, b->upper[i]);
            floor = fmax(floor, b->lower[i]);
        }
        t[k] = (bounds_middle(b, first) + bounds_middle(b, first + size - 1)) / 2.0;
        y[k] = (ceiling + floor) / 2.0;
    }
    return adaptive_weighted_line(t, y, NULL, blocks);
}

/* The delays of one direction, relative to a line of the given slope, sorted. */
static void adaptive_sorted_delays(const struct bounds *b, double slope, int side, double *out)
{
    for (size_t i = 0; i < b->n; i++) {
        out[i] = side ? bounds_below(b, i, slope) : bounds_above(b, i, slope);
    }
    ictusi_stats_sort(out, b->n);
}

/*
 * Return the largest delay that is separated from the bulk, or -INFINITY: below it and its upper
 * neighbour there is a gap wider than guard_gap times the span from that neighbour to the 5 %
 * quantile.
 */
static double adaptive_stand_off(const double *sorted, size_t n)
{
    const size_t most = GUARD_BASE + n / GUARD_SHARE;
    const size_t span = n / 20 > GUARD_SPAN_MIN ? n / 20 : GUARD_SPAN_MIN;
    if (most + span >= n) {
        return -INFINITY;
    }
    /* Search from the largest delay that may be dropped down to the smallest. Two outliers that
     * are close together have no gap between them, but there is one above both. */
    for (size_t i = most; i-- > 0;) {
        if (sorted[i + 1] - sorted[i] > guard_gap * (sorted[i + 1 + span] - sorted[i + 1])) {
            return sorted[i];
        }
    }
    return -INFINITY;
}

/* Copy the bounds, with too-fast exchanges moved so far up that no minimum sees them. */
static void adaptive_guard(struct work *w)
{
    const struct bounds *from = &w->all;
    struct bounds *into = &w->guarded;
    ictusi_bounds_fold(from, 0, 1, into);
    const struct trend line = rtt_weighted(from, w->scratch);
    for (int side = 0; side < 2; side++) {
        adaptive_sorted_delays(from, line.slope, side, w->scratch);
        const double limit = adaptive_stand_off(w->scratch, from->n);
        const double away = w->scratch[from->n - 1] - w->scratch[0];
        for (size_t i = 0; i < from->n && limit > -INFINITY; i++) {
            /* The exchange is moved by the whole spread of the delays and not removed. All parts
             * thus keep their length, and the folds stay interleaved. */
            if (!side && bounds_above(from, i, line.slope) <= limit) {
                into->upper[i] += away;
            } else if (side && bounds_below(from, i, line.slope) <= limit) {
                into->lower[i] -= away;
            }
        }
    }
}

/*
 * The distribution of delays near its minimum is modelled as F(x) ~ x^alpha, with Hill's estimator
 * on the lowest tenth. The minimum of n delays then has an error of order n^(-1/alpha).
 */
static double tail_power(const struct bounds *b, double slope, double *scratch)
{
    size_t k = b->n / 10;
    k = k < 8 ? (b->n < 8 ? b->n : 8) : k;
    double alpha = 0.0;
    for (int side = 0; side < 2; side++) {
        adaptive_sorted_delays(b, slope, side, scratch);
        const double span = scratch[k - 1] - scratch[0] + 1e-6;
        double sum = 1e-12;
        int count = 0;
        for (size_t i = 1; i + 1 < k; i++) {
            const double part = (scratch[i] - scratch[0]) / span;
            if (part > touching) {
                sum -= log(part);
                count++;
            }
        }
        /* Hill (1975): the mean of -log(part) estimates 1 / alpha. Each direction counts half. */
        alpha += (double)count / sum / 2.0;
    }
    /* The power is limited to the range between that of a mean (n^-1/2) and that of a sharp edge
     * (n^-1 at alpha = 1), because alpha is estimated from few values and may be far off. */
    return alpha > 0.0 ? fmin(fmax(1.0 / alpha, 0.5), 1.0) : 0.5;
}

static struct trend adaptive_candidate(struct work *w, const struct bounds *b, int which)
{
    if (which == ADAPTIVE_ENVELOPE) {
        ictusi_envelope_build(b, &w->envelope);
        return ictusi_envelope_middle(&w->envelope, ICTUSI_DRIFT_MAX_NS_PER_S, NULL);
    }
    if (which == ADAPTIVE_WEIGHTED) {
        return rtt_weighted(b, w->scratch);
    }
    return block_line(b, block_sizes[which], w->scratch);
}

/* Return a candidate's standard error from its scatter over folds, or INFINITY if the folds are
 * too small. */
static double slope_error(struct work *w, int which)
{
    const struct bounds *from = which == ADAPTIVE_WEIGHTED ? &w->all : &w->guarded;
    if (block_sizes[which] && from->n / w->folds / block_sizes[which] < BLOCKS_MIN) {
        return INFINITY;
    }
    if (which == ADAPTIVE_WEIGHTED && from->n / w->folds < TENTH) {
        return INFINITY; /* a single exchange has all the weight, and no slope: no scatter either */
    }
    double slopes[FOLDS_MAX];
    for (size_t j = 0; j < w->folds; j++) {
        ictusi_bounds_fold(from, j, w->folds, &w->fold);
        slopes[j] = adaptive_candidate(w, &w->fold, which).slope;
    }
    const double sd = ictusi_stats_sd(slopes, w->folds);
    if (which == ADAPTIVE_ENVELOPE) {
        /*
         * The scatter is that of estimates from n / folds exchanges. With all n exchanges, the
         * error of a mean is smaller by the root of the number of folds, and that of an envelope by
         * the power from the tail of the delays.
         */
        return envelope_penalty * sd * pow((double)w->folds, -w->tail_power);
    }
    return sd / sqrt((double)w->folds);
}

/* Return m of candidate z: n, then ever smaller numbers. 0: there is no such candidate. */
static double adaptive_least_of(size_t n, int z)
{
    const double m = (double)n / pow(LEAST_RATIO, z ? z + 1 : 0);
    return m >= 1.0 ? m : 0.0;
}

/* The offset at t = 0, at a given slope, from the smallest delays of both directions. */
static struct least_delay least_offset(const double *above, const double *below, size_t n, double m)
{
    const struct least_delay a = ictusi_least_delay(above, n, m);
    const struct least_delay b = ictusi_least_delay(below, n, m);
    return (struct least_delay){(a.value - b.value) / 2.0, (a.variance + b.variance) / 4.0};
}

/* Return the mean instant of the delays on which a smallest of m is based. The offset at that
 * instant does not depend on the error of the slope. */
static double least_instant(const struct work *w, double slope, double m)
{
    const struct bounds *b = &w->guarded;
    /* About n / m delays of each direction are as small as the expected smallest of m. These
     * determined it. */
    const size_t rank = (size_t)((double)b->n / m);
    const size_t last = rank > 1 ? rank - 1 : 0;
    double sum = 0.0;
    double count = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        if (bounds_above(b, i, slope) <= w->scratch[last]) {
            sum += b->upper_t[i];
            count += 1.0;
        }
        if (bounds_below(b, i, slope) <= w->scratch[b->n + last]) {
            sum += b->lower_t[i];
            count += 1.0;
        }
    }
    return sum / count;
}

/*
 * Lepski's choice. It starts with the smallest of all delays and goes on to the smallest of fewer.
 * The latter are more certain if delays do not accumulate at their minimum, but wrong if the
 * directions differ. The candidate with the smallest standard error is taken, until one contradicts
 * those before it. *instant is where the offset is best known.
 */
static struct least_delay adaptive_choose_offset(struct work *w, double slope, double *instant)
{
    struct least_delay tried[CANDIDATES_MAX];
    double *above = w->scratch;
    double *below = w->scratch + w->guarded.n;
    adaptive_sorted_delays(&w->guarded, slope, 0, above);
    adaptive_sorted_delays(&w->guarded, slope, 1, below);
    int best = 0;
    bool agree = true;
    for (int z = 0; z < CANDIDATES_MAX && agree && adaptive_least_of(w->guarded.n, z) > 0.0; z++) {
        tried[z] = least_offset(above, below, w->guarded.n, adaptive_least_of(w->guarded.n, z));
        for (int y = 0; y < z && agree; y++) {
            /* Each candidate must agree with all earlier ones and not only with the last.
             * Otherwise a slow trend from one to the next would pass. */
            agree = fabs(tried[z].value - tried[y].value) <=
                    lepski_limit * sqrt(tried[z].variance + tried[y].variance) + rounding_sd;
        }
        const double least = (best ? 1.0 : doubt) * tried[best].variance;
        best = agree && tried[z].variance < least ? z : best;
    }
    *instant = least_instant(w, slope, adaptive_least_of(w->guarded.n, best));
    return tried[best];
}

/* Return the hard bound of the line at its anchor: from all lines inside the bounds, or else
 * from the exchanges. */
static double adaptive_hard_bound(struct work *w, const struct trend *trend)
{
    double low = 0.0;
    double high = 0.0;
    ictusi_envelope_build(&w->all, &w->envelope);
    if (ictusi_envelope_range(&w->envelope, ICTUSI_PARTING_MAX_NS_PER_S, 0.0, &low, &high)) {
        return fmax(high - trend->at_zero, trend->at_zero - low);
    }
    /* Noisy stamps contradict each other. The widest exchange contains what the others miss. */
    double bound = 0.0;
    for (size_t i = 0; i < w->all.n; i++) {
        const double above = bounds_above(&w->all, i, trend->slope) - trend->at_zero;
        const double below = bounds_below(&w->all, i, trend->slope) + trend->at_zero;
        bound = fmax(bound, fmax(fabs(above), fabs(below)));
    }
    return bound;
}

/* Return the slope that scatters least over the folds, and its variance. */
static struct adaptive_slope adaptive_slope(struct work *w, enum adaptive_choice *choice)
{
    ictusi_envelope_build(&w->guarded, &w->envelope);
    const struct trend hull = ictusi_envelope_middle(&w->envelope, ICTUSI_DRIFT_MAX_NS_PER_S, NULL);
    w->tail_power = tail_power(&w->guarded, hull.slope, w->scratch);
    int best = 0;
    double least = INFINITY;
    for (int which = 0; which < ADAPTIVE_CHOICES; which++) {
        const double se = slope_error(w, which);
        if (se < least) {
            least = se;
            best = which;
        }
    }
    const struct bounds *from = best == ADAPTIVE_WEIGHTED ? &w->all : &w->guarded;
    const double student = w->folds == FOLDS_MAX ? few_folds_many : few_folds_few;
    *choice = (enum adaptive_choice)best;
    return (struct adaptive_slope){.ns_per_s = adaptive_candidate(w, from, best).slope,
                                   .variance =
                                       least < INFINITY ? student * student * least * least : 0.0};
}

/* The order is guard, slope, offset. The guard needs only a rough slope of its own. The offset
 * is a minimum over delays, which are meaningful only after the slope has been subtracted. */
static struct trend adaptive_estimate(struct work *w, const struct adaptive_slope *known,
                                      struct line_error *error, enum adaptive_choice *choice)
{
    adaptive_guard(w);
    const struct adaptive_slope slope = known ? *known : adaptive_slope(w, choice);
    double centre = 0.0;
    const struct least_delay offset = adaptive_choose_offset(w, slope.ns_per_s, &centre);
    const struct trend trend = {offset.value, slope.ns_per_s};
    const double offset_var = rounding_var + choice_excess * choice_excess * offset.variance;
    *error = (struct line_error){
        .offset_var_ns2 = offset_var + centre * centre * slope.variance,
        .covariance_ns2_per_s = -centre * slope.variance,
        .slope_var_ns2_per_s2 = slope.variance,
        .bound_ns = adaptive_hard_bound(w, &trend),
        .bound_slope_ns_per_s = ICTUSI_PARTING_MAX_NS_PER_S + fabs(trend.slope),
    };
    return trend;
}

/* There are too few exchanges for folds, so use least squares over the exchanges themselves. */
static int fit_few(const struct bounds *b, struct line *line, struct line_error *error)
{
    struct offset points[SAMPLES_MIN];
    double weights[SAMPLES_MIN];
    double scale = INFINITY;
    for (size_t i = 0; i < b->n; i++) {
        scale = fmin(scale, b->upper[i] - b->lower[i] + 1.0);
    }
    for (size_t i = 0; i < b->n; i++) {
        const double rtt = b->upper[i] - b->lower[i];
        points[i] = (struct offset){b->anchor + (int64_t)llround(bounds_middle(b, i) * 1e9),
                                    b->base, (b->upper[i] + b->lower[i]) / 2.0, rtt, rtt / 2.0};
        const double excess = (rtt - scale) / scale;
        weights[i] = 1.0 / (1.0 + 400.0 * excess * excess); /* an excess of 5 % halves it */
    }
    return ictusi_fit_wls(points, weights, b->n, line, error);
}

static void work_free(struct work *w)
{
    ictusi_bounds_free(&w->all);
    ictusi_bounds_free(&w->guarded);
    ictusi_bounds_free(&w->fold);
    ictusi_envelope_free(&w->envelope);
    free(w->scratch);
}

static int work_reserve(struct work *w, size_t n)
{
    w->folds = n >= MANY ? FOLDS_MAX : FOLDS_FEW;
    w->scratch = malloc(3 * n * sizeof(*w->scratch));
    if (!w->scratch || ictusi_bounds_reserve(n, &w->guarded) ||
        ictusi_bounds_reserve(n, &w->fold) || ictusi_envelope_reserve(n, &w->envelope)) {
        return ICTUS_ERR_NOMEM;
    }
    return ICTUS_OK;
}

int ictusi_adaptive_fit(const struct stamp *stamps, size_t n, const struct adaptive_slope *known,
                        struct line *line, struct line_error *error, enum adaptive_choice *choice)
{
    struct work w = {0};
    int err = ictusi_bounds_create(stamps, n, &w.all);
    if (err) {
        return err;
    }
    struct line_error found;
    enum adaptive_choice chosen = ADAPTIVE_WEIGHTED;
    if (n < SAMPLES_MIN) {
        err = fit_few(&w.all, line, &found);
    } else {
        err = work_reserve(&w, n);
        if (!err) {
            const struct trend trend = adaptive_estimate(&w, known, &found, &chosen);
            *line = ictusi_line_make(w.all.anchor, w.all.base, trend.at_zero, trend.slope * 1e-9);
        }
    }
    work_free(&w);
    if (!err && error) {
        *error = found;
    }
    if (!err && choice) {
        *choice = chosen;
    }
    return err;
}
