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
    FOLDS_FEW = 4,    /* below MANY exchanges */
    MANY = 400,       /* exchanges from which FOLDS_MAX folds are large enough */
    SAMPLES_MIN = 16, /* below this, folds would hold fewer than 4 */
    BLOCKS_MIN = 3,   /* a line through fewer blocks has no residual */
    GUARD_BASE = 2,   /* outliers dropped at most: GUARD_BASE + n / GUARD_SHARE */
    GUARD_SHARE = 200,
    GUARD_SPAN_MIN = 15, /* order statistics that make the guard's yardstick, at least */
    LEAST_RATIO = 4,     /* between the numbers of delays whose least is tried */
    CANDIDATES_MAX = 12
};

/* A too-fast exchange stands off by more than this part of the yardstick. */
static const double guard_gap = 0.5;
/* The envelope's fold error is optimistic by this factor (study over ten delay models). */
static const double envelope_penalty = 1.15;
/* Lepski: two offsets disagree beyond this many standard errors of their difference. */
static const double lepski_limit = 3.0;
/*
 * Errors from so few folds are themselves uncertain: Student's 97.5 % quantile over the normal's
 * for 7 and 3 degrees of freedom, and a tenth for having chosen the smallest of several.
 */
static const double few_folds_many = 1.1 * 2.365 / 1.960;
static const double few_folds_few = 1.1 * 3.182 / 1.960;
/* The variance of the least of all delays hangs on a few of them: others are as good until so far.
 */
static const double doubt = 2.0;
/* An offset's error is known from all exchanges; what choosing the smallest makes of it. */
static const double choice_excess = 1.1;
/* Three stamps rounded to whole nanoseconds leave this, however many exchanges are averaged. */
static const double rounding_var = 1.0 / 12.0;
static const double rounding_sd = 0.29;
static const size_t block_sizes[ADAPTIVE_CHOICES] = {0, 4, 16, 64, 0};

/* Buffers and tables of one estimation. */
struct work {
    struct bounds all;     /* as measured */
    struct bounds guarded; /* outliers pushed out of the way */
    struct bounds fold;
    struct envelope envelope;
    double *scratch; /* 3 n */
    size_t folds;
    double tail_power; /* how fast the envelope's error falls with n: n^-tail_power */
};

/*
 * y = a + b t by weighted least squares; w is NULL for equal weights. The means are taken out
 * first, in a pass of their own: t reaches back minutes, and the sums of raw squares would cancel.
 * The slope is 0 if all points are of one instant.
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
    double *y = scratch + n;
    double *w = scratch + 2 * n;
    for (size_t i = 0; i < n; i++) {
        rtt[i] = b->upper[i] - b->lower[i];
        y[i] = (b->upper[i] + b->lower[i]) / 2.0;
    }
    ictusi_stats_sort(rtt, n);
    const double shortest = rtt[0];
    /*
     * The kernel is as wide as the lowest tenth of the round trips; the 1 ns keeps it from
     * vanishing where a coarse clock shows all of these alike. Beyond z = 6 a weight would be below
     * 3e-16 of the largest one.
     */
    const double scale = rtt[n / 10] - shortest + 1.0;
    for (size_t i = 0; i < n; i++) {
        const double z = (b->upper[i] - b->lower[i] - shortest) / scale;
        w[i] = z < 6.0 ? exp(-z * z) : 0.0;
    }
    return adaptive_weighted_line(b->t, y, w, n);
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
        t[k] = (b->t[first] + b->t[first + size - 1]) / 2.0;
        y[k] = (ceiling + floor) / 2.0;
    }
    return adaptive_weighted_line(t, y, NULL, blocks);
}

/* Delays of one side above a line of the given slope, sorted. */
static void adaptive_sorted_delays(const struct bounds *b, double slope, int side, double *out)
{
    for (size_t i = 0; i < b->n; i++) {
        out[i] = side ? slope * b->t[i] - b->lower[i] : b->upper[i] - slope * b->t[i];
    }
    ictusi_stats_sort(out, b->n);
}

/*
 * The largest delay that stands off below the bulk, or -INFINITY: a gap between neighbours wider
 * than guard_gap of the span to the 5 % quantile above it.
 */
static double adaptive_stand_off(const double *sorted, size_t n)
{
    const size_t most = GUARD_BASE + n / GUARD_SHARE;
    const size_t span = n / 20 > GUARD_SPAN_MIN ? n / 20 : GUARD_SPAN_MIN;
    if (most + span >= n) {
        return -INFINITY;
    }
    /*
     * From the largest delay that may be dropped down to the least: two outliers that lie close
     * together have no gap between them, but there is one above both.
     */
    for (size_t i = most; i-- > 0;) {
        if (sorted[i + 1] - sorted[i] > guard_gap * (sorted[i + 1 + span] - sorted[i + 1])) {
            return sorted[i];
        }
    }
    return -INFINITY;
}

/* Copy the bounds, with too-fast exchanges moved up so far that no minimum sees them. */
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
            const double trend = line.slope * from->t[i];
            if (!side && from->upper[i] - trend <= limit) {
                /*
                 * Moved by the whole spread of the delays and not removed: every part keeps its
                 * length, and the folds stay interleaved.
                 */
                into->upper[i] += away;
            } else if (side && trend - from->lower[i] <= limit) {
                into->lower[i] -= away;
            }
        }
    }
}

/*
 * The delays' distribution near its minimum is taken as F(x) ~ x^alpha (Hill's estimator on the
 * lowest tenth); the minimum of n then errs like n^(-1/alpha).
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
            if (part > 0.0) {
                sum -= log(part);
                count++;
            }
        }
        /* Hill (1975): the mean of -log(part) estimates 1 / alpha. Each direction counts half. */
        alpha += (double)count / sum / 2.0;
    }
    /*
     * Between the rate of an average (n^-1/2) and that of a sharp edge (n^-1 at alpha = 1): alpha
     * comes from few values and may be far off either.
     */
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

/* A candidate's standard error from its scatter over folds; INFINITY where folds are too small. */
static double slope_error(struct work *w, int which)
{
    const struct bounds *from = which == ADAPTIVE_WEIGHTED ? &w->all : &w->guarded;
    if (block_sizes[which] && from->n / w->folds / block_sizes[which] < BLOCKS_MIN) {
        return INFINITY;
    }
    double slopes[FOLDS_MAX];
    for (size_t j = 0; j < w->folds; j++) {
        ictusi_bounds_fold(from, j, w->folds, &w->fold);
        slopes[j] = adaptive_candidate(w, &w->fold, which).slope;
    }
    const double sd = ictusi_stats_sd(slopes, w->folds);
    if (which == ADAPTIVE_ENVELOPE) {
        /*
         * The scatter is that of estimates from n / folds exchanges. With all n an average's error
         * falls by the root of the number of folds, an envelope's by the power that the delays'
         * tail shows.
         */
        return envelope_penalty * sd * pow((double)w->folds, -w->tail_power);
    }
    return sd / sqrt((double)w->folds);
}

/* Of how many delays the z-th candidate takes the least: all, then ever fewer; 0: of none. */
static double adaptive_least_of(size_t n, int z)
{
    const double m = (double)n / pow(LEAST_RATIO, z ? z + 1 : 0);
    return m >= 1.0 ? m : 0.0;
}

/* Offset at t = 0, at a given slope, from the least of both sides. */
static struct least_delay least_offset(const double *above, const double *below, size_t n, double m)
{
    const struct least_delay a = ictusi_least_delay(above, n, m);
    const struct least_delay b = ictusi_least_delay(below, n, m);
    return (struct least_delay){(a.value - b.value) / 2.0, (a.variance + b.variance) / 4.0};
}

/*
 * The mean instant of the delays that a least of m is made of: whatever the slope errs by, the
 * offset there is as good.
 */
static double least_instant(const struct work *w, double slope, double m)
{
    const struct bounds *b = &w->guarded;
    /*
     * About n / m delays of each direction are as low as the least of m is on average; they
     * decided.
     */
    const size_t rank = (size_t)((double)b->n / m);
    const size_t last = rank > 1 ? rank - 1 : 0;
    double sum = 0.0;
    double count = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        const double trend = slope * b->t[i];
        const int near = (b->upper[i] - trend <= w->scratch[last]) +
                         (trend - b->lower[i] <= w->scratch[b->n + last]);
        sum += near * b->t[i];
        count += near;
    }
    return sum / count;
}

/*
 * Lepski's choice: from the least of all delays on to those of fewer, which are surer where delays
 * do not pile up but wrong where both ways' differ, the one with the smallest standard error until
 * one contradicts those before it. Says at which instant it is best known.
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
            /*
             * Each candidate must agree with all of those before it, not only with the last one: a
             * slow trend from one to the next would pass otherwise.
             */
            agree = fabs(tried[z].value - tried[y].value) <=
                    lepski_limit * sqrt(tried[z].variance + tried[y].variance) + rounding_sd;
        }
        const double least = (best ? 1.0 : doubt) * tried[best].variance;
        best = agree && tried[z].variance < least ? z : best;
    }
    *instant = least_instant(w, slope, adaptive_least_of(w->guarded.n, best));
    return tried[best];
}

/* The hard bound of the line at its anchor: from all lines inside the bounds, else per exchange. */
static double adaptive_hard_bound(struct work *w, const struct trend *trend)
{
    double low = 0.0;
    double high = 0.0;
    ictusi_envelope_build(&w->all, &w->envelope);
    if (ictusi_envelope_range(&w->envelope, ICTUSI_DRIFT_MAX_NS_PER_S, 0.0, &low, &high)) {
        return fmax(high - trend->at_zero, trend->at_zero - low);
    }
    /* Noisy stamps contradict each other: the widest exchange contains what the others miss. */
    double bound = 0.0;
    for (size_t i = 0; i < w->all.n; i++) {
        const double value = trend->at_zero + trend->slope * w->all.t[i];
        bound = fmax(bound, fmax(fabs(w->all.upper[i] - value), fabs(value - w->all.lower[i])));
    }
    return bound;
}

/* The slope that scatters least over folds, and its variance. */
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

/*
 * Guard, slope and offset in this order: the guard needs only a rough slope of its own, and the
 * offset is a minimum over delays, which mean something only once the slope has been taken out.
 */
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
        .bound_slope_ns_per_s = ICTUSI_DRIFT_MAX_NS_PER_S + fabs(trend.slope),
    };
    return trend;
}

/* Too few for folds: least squares over the exchanges themselves. */
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
        points[i] = (struct offset){b->anchor + (int64_t)llround(b->t[i] * 1e9), b->base,
                                    (b->upper[i] + b->lower[i]) / 2.0, rtt, rtt / 2.0};
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
