/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans the sweeps of a mesh, and estimates the offset of a burst. */
#include "core/mesh_plan.h"

#include "core/estimator.h"
#include "core/fit.h"
#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>

enum {
    EXCHANGES_MIN = 4,   /* of a round, if time is short */
    EXCHANGES_GOOD = 8,  /* of a round, for which a window is made long enough */
    ROUNDS_MIN = 8,      /* of a sweep, if time is even shorter */
    SWEEPS_LEAST = 3,    /* unless fewer are requested */
    SMALL = 32,          /* processes: fewer have fewer pairs to average over */
    FEW = 4,             /* processes: so few have hardly any */
    ADAPTIVE_FROM = 200, /* exchanges: with fewer, folds are too small */
    FOLD = (MESH_TRIAL_EXCHANGES - 1) / 2
};

static const double pi = 3.14159265358979323846;
/* 95 % of a Gaussian distribution lie within this many standard deviations. */
static const double two_sided_95 = 1.96;
/* Sweeps keep all processes busy for at most this part of the window. */
static const double busy_share = 0.7;
/* The usual windows. Few processes have no other pairs over which a wandering path could be
 * averaged, only time. Many need time to show how far their clocks walk: in 0.32 s, not even those
 * of 64 processes together show a walk of 1e-8. */
static const double window_small_s = 1.5;
static const double window_large_s = 1.0;
/* A burst is cut off after this many times its planned duration. */
static const double burst_stretch = 2.0;
/* Lower limit of a window for a requested tolerance. */
static const double window_least_s = 0.1;
/* The tolerance if none was requested: the larger of a time and a part of the round trip. */
static const double tolerance_least_ns = 150.0;
static const double tolerance_per_rtt = 0.03;
/* Standard error of a burst of four, as a part of the mean excess of its exchanges, exponential
 * in both directions. */
static const double scatter_per_excess = 0.1;
/* The same, as a part of what the median of a trial burst exceeds its shortest round trip by. */
static const double scatter_per_median = 0.15;
/* What two clocks scatter that are compared by a counter. */
static const double scatter_counter_ns = 0.5;
/* Ten times the usual walk of two clocks against each other, in ns per s per square root of a
 * second. */
static const double walk_strong = 14.0;
/* Within the window, the delays of a path wander by this part of the shortest round trip. */
static const double wander_per_rtt = 0.01;

/*
 * Exchanges of a round if there are 100 rounds. Few processes have few pairs and far more time than
 * these take. Up to FEW processes share effort_few: two processes make 2000 each, because they have
 * only one pair and nothing but time to average over. If delays do not accumulate at their minimum
 * (Erlang, log-normal), with fewer they would err more than an HCA3 that exchanges all the time.
 * Bursts are cut off if other programs need the processors.
 */
static const double effort_few = 4000.0;
static const double effort_small = 100.0;
static const double effort_large = 75.0;

/* Exchanges of each process in a window of usual length, as client or server. */
static double mesh_plan_usual_effort(const struct mesh_wish *wish)
{
    const double usual = wish->size > SMALL ? effort_large
                         : wish->size > FEW ? effort_small
                                            : effort_few / wish->size;
    return 2.0 * (double)wish->rounds * (wish->exchanges ? (double)wish->exchanges : usual);
}

static double mesh_plan_usual_window(const struct mesh_wish *wish)
{
    return wish->size > SMALL ? window_large_s : window_small_s;
}

/* Two sweeps are the best choice for independent noise, but only a third one shows whether clocks
 * walk. What is common to a burst calls for more of them: as many as leave each pair bursts that
 * are long enough for the adaptive estimator. */
static int plan_sweeps(const struct mesh_wish *wish)
{
    const double per_pair = mesh_plan_usual_effort(wish) / wish->factors;
    const int many = (int)fmin(fmax(per_pair / ADAPTIVE_FROM, SWEEPS_LEAST), MESH_SWEEPS_MAX);
    return wish->sweeps ? (int)wish->sweeps : many;
}

/* The scatter of a burst. The noisiest process shows in the time of its exchanges: half of the
 * excess in each direction, the smallest of four. */
static double plan_scatter(const struct mesh_trial *trial)
{
    const double excess_ns = trial->exchange_s * 1e9 - trial->rtt_ns;
    return excess_ns > trial->rtt_ns ? fmax(trial->scatter_ns, scatter_per_excess * excess_ns)
                                     : trial->scatter_ns;
}

/*
 * Return how long the sweeps must be spread so that the error at the horizon is within the
 * tolerance. With bursts of standard error s, r rounds and K sweeps over T seconds, the error of a
 * drift is about s sqrt(2/r) sqrt(8/(K+1)) / T. Exchanges fill the window, so s falls as the root
 * of T. T thus grows as the 2/3rd power of the noise, and linearly with a path's wander, which does
 * not fall. Clocks that are compared by a counter need less time for what was asked, because no
 * path is involved. If nothing was asked they get the usual time, which shows whether they walk.
 */
static double plan_window(const struct mesh_wish *wish, const struct mesh_trial *trial, int sweeps)
{
    const double usual = mesh_plan_usual_window(wish);
    const bool asked = wish->tolerance_s > 0.0;
    const bool pathless = asked && trial->calibrated;
    const double scatter_ns = pathless ? scatter_counter_ns : plan_scatter(trial);
    const double tolerance_ns = asked ? wish->tolerance_s * 1e9
                                      : fmax(tolerance_least_ns, tolerance_per_rtt * trial->rtt_ns);
    const double pairs = fmax((double)wish->factors, 2.0);
    const double gain = two_sided_95 * wish->horizon_s * sqrt(2.0 / pairs) *
                        sqrt(8.0 / (sweeps + 1.0)) / tolerance_ns;
    const double least = sweeps * wish->factors * EXCHANGES_GOOD * trial->exchange_s / busy_share;
    const double by_noise = pow(gain * scatter_ns, 2.0 / 3.0) * cbrt(least);
    const double by_wander = gain * wander_per_rtt * trial->rtt_ns;
    const double needed = fmax(fmax(by_noise, least), asked && !pathless ? by_wander : 0.0);
    return fmin(fmax(needed, asked ? window_least_s : usual), wish->limit_s);
}

static struct mesh_plan plan_for_sweeps(const struct mesh_wish *wish,
                                        const struct mesh_trial *trial, int sweeps)
{
    struct mesh_plan plan = {.sweeps = sweeps, .rounds = wish->factors};
    plan.window_s = wish->window_s > 0.0 ? wish->window_s : plan_window(wish, trial, sweeps);
    /* A longer window is filled with more exchanges. A requested window gets the requested
     * exchanges. */
    const double more =
        wish->window_s > 0.0 ? 1.0 : fmax(plan.window_s / mesh_plan_usual_window(wish), 1.0);
    const double asked = more * mesh_plan_usual_effort(wish) / sweeps;
    const double budget_s = busy_share * plan.window_s / sweeps;
    const double fitting = trial->exchange_s > 0.0 ? budget_s / trial->exchange_s : asked;
    const double pairs = fmin(asked, fitting);
    if (plan.rounds > ROUNDS_MIN && pairs / plan.rounds < EXCHANGES_MIN) {
        plan.rounds = (int)fmax(pairs / EXCHANGES_MIN, ROUNDS_MIN);
    }
    plan.exchanges = (int)fmax(fmin(pairs / plan.rounds, 1e6), EXCHANGES_MIN);
    plan.exchanges =
        plan.exchanges > asked / plan.rounds ? (int)fmax(asked / plan.rounds, 1.0) : plan.exchanges;
    plan.length_s = (double)plan.rounds * plan.exchanges * trial->exchange_s;
    /*
     * A trial sees only a moment. If other programs used the cores then, an exchange took
     * milliseconds, and a burst would have as few as three exchanges: its bounds would be 10 ms
     * apart, and clocks drift by microseconds in that time. Few processes therefore continue as
     * long as their share of the window lasts. With many processes the slowest pair would delay all
     * others, so they keep to the plan.
     */
    plan.most = plan.exchanges;
    plan.burst_s = burst_stretch * plan.length_s / plan.rounds;
    if (wish->size <= FEW) {
        plan.most = (int)fmax(fmin(asked / plan.rounds, 1e6), plan.exchanges);
        plan.burst_s = budget_s / plan.rounds;
    }
    return plan;
}

/* The error at the horizon that the noise of usual bursts leaves, by the formula of plan_window(),
 * or that of bursts with the reference, which all clocks are compared with. */
static double plan_noise(const struct mesh_wish *wish, const struct mesh_trial *trial,
                         const struct mesh_plan *plan)
{
    const double scatter_ns = fmax(trial->scatter_ns, scatter_per_median * trial->excess_ns);
    const double burst_ns = scatter_ns * sqrt((double)EXCHANGES_GOOD / plan->exchanges);
    return wish->horizon_s * burst_ns * sqrt(2.0 / plan->rounds) *
           sqrt(8.0 / (plan->sweeps + 1.0)) / plan->window_s;
}

/*
 * Where noise exceeds what even strong walks do until the horizon, these need not be seen, and in a
 * shorter window than usual they cannot be. The exchanges of a third sweep are worth more in the
 * other two then. Noise of a single node other than the reference does not count, because the walks
 * of all other clocks would go unseen, and their stated errors would be too small.
 */
struct mesh_plan ictusi_mesh_plan(const struct mesh_wish *wish, const struct mesh_trial *trial)
{
    const int sweeps = plan_sweeps(wish);
    const struct mesh_plan plan = plan_for_sweeps(wish, trial, sweeps);
    const double walked_ns = walk_strong * pow(wish->horizon_s, 1.5) / sqrt(3.0);
    const bool unseen =
        plan.window_s < window_large_s || plan_noise(wish, trial, &plan) > walked_ns;
    return !wish->sweeps && sweeps == SWEEPS_LEAST && unseen ? plan_for_sweeps(wish, trial, 2)
                                                             : plan;
}

/*
 * Chebyshev's points, (1 - cos(pi k / (K - 1))) / 2 of the window. The variance of a slope falls
 * with the sum of (t - mean)^2, so sweeps near the ends are worth more than those in the middle.
 * The latter still show whether the clock bent. Starts are earlier by the length of a sweep, so
 * that the last sweep ends with the window.
 */
double ictusi_mesh_plan_start(const struct mesh_plan *plan, int k)
{
    const double part = (1.0 - cos(pi * k / (plan->sweeps - 1))) / 2.0;
    return k ? fmax(plan->window_s * part - plan->length_s, 0.0) : 0.0;
}

int ictusi_mesh_trial(const struct stamp *stamps, struct mesh_trial *seen)
{
    double rtts[MESH_TRIAL_EXCHANGES - 1];
    struct stamp halves[2][FOLD];
    struct offset offsets[2];
    for (int i = 1; i < MESH_TRIAL_EXCHANGES; i++) {
        rtts[i - 1] = (double)(stamps[i].received - stamps[i].sent);
        halves[i % 2][(i - 1) / 2] = stamps[i];
    }
    for (int h = 0; h < 2; h++) {
        const int err = ictusi_estimator_offset_skampi(halves[h], FOLD, &offsets[h]);
        if (err) {
            return err;
        }
    }
    ictusi_stats_sort(rtts, MESH_TRIAL_EXCHANGES - 1);
    seen->exchange_s = ictusi_stats_quantile(rtts, MESH_TRIAL_EXCHANGES - 1, 0.5) * 1e-9;
    seen->rtt_ns = rtts[0];
    seen->excess_ns = seen->exchange_s * 1e9 - rtts[0];
    /* The difference of two independent offsets has twice the variance of one. */
    seen->scatter_ns =
        fabs((double)(offsets[1].offset - offsets[0].offset) + offsets[1].frac - offsets[0].frac) /
        sqrt(2.0);
    return ICTUS_OK;
}

bool ictusi_mesh_slope(const struct stamp *first, const struct stamp *last, size_t n,
                       struct adaptive_slope *slope)
{
    struct offset a;
    struct offset b;
    if (ictusi_estimator_offset_skampi(first, n, &a) ||
        ictusi_estimator_offset_skampi(last, n, &b) || b.at <= a.at) {
        return false;
    }
    const double span_s = (double)(b.at - a.at) * 1e-9;
    /*
     * Half-widths are hard limits and not standard deviations. Using them as sigmas is on the safe
     * side. The 1 ns keeps a coarse clock, whose bounds meet, from claiming a slope without error.
     */
    const double sd = fmax(hypot(a.half_width_ns, b.half_width_ns), 1.0) / span_s;
    slope->ns_per_s = ((double)(b.offset - a.offset) + b.frac - a.frac) / span_s;
    slope->variance = sd * sd;
    /*
     * Two clocks that are each within the limit may drift apart by twice as much. If a slope were
     * refused here, each burst of some milliseconds would estimate its own, with an error of 100
     * ppm.
     */
    return fabs(slope->ns_per_s) <= ICTUSI_PARTING_MAX_NS_PER_S;
}

/*
 * Take the middle between the tightest bounds after subtracting the drift. During the 10 ms for
 * which a process may lose its core, 300 ppm are 3 us, and the tightest bounds would be those of
 * the first and the last exchange, whatever their delays. The drift is subtracted by letting the
 * local clock run at the remote one's rate, because an exchange that waited for the other side has
 * its two bounds at different instants. n < ADAPTIVE_FROM.
 */
static int burst_skampi(const struct stamp *stamps, size_t n, double ns_per_s, struct offset *o)
{
    struct stamp level[ADAPTIVE_FROM];
    const double rate = ns_per_s * 1e-9;
    const int64_t start = n ? stamps[0].sent : 0;
    for (size_t i = 0; i < n; i++) {
        const struct stamp *s = &stamps[i];
        level[i] = *s;
        level[i].sent += (int64_t)nearbyint(rate * (double)(s->sent - start));
        level[i].received += (int64_t)nearbyint(rate * (double)(s->received - start));
    }
    const int err = ictusi_estimator_offset_skampi(level, n, o);
    if (!err) {
        o->at = start + (int64_t)nearbyint((double)(o->at - start) / (1.0 + rate));
        const double drifted = rate * (double)(o->at - start);
        const double whole = nearbyint(drifted);
        o->offset += (int64_t)whole;
        o->frac += drifted - whole;
    }
    return err;
}

int ictusi_mesh_burst(const struct stamp *stamps, size_t n, enum mesh_pair pair,
                      const struct adaptive_slope *slope, struct mesh_edge *edge)
{
    struct offset o;
    const double ns_per_s = slope ? slope->ns_per_s : 0.0;
    int err = pair == MESH_PAIR_MIN_RTT ? ictusi_estimator_offset_min_rtt(stamps, n, &o)
              : n < ADAPTIVE_FROM       ? burst_skampi(stamps, n, ns_per_s, &o)
                                        : ictusi_estimator_offset_skampi(stamps, n, &o);
    if (err) {
        return err;
    }
    edge->at = o.at;
    edge->offset = o.offset;
    edge->frac = o.frac;
    edge->rtt_ns = o.rtt_min_ns;
    if (pair == MESH_PAIR_ADAPTIVE || (pair == MESH_PAIR_AUTO && n >= ADAPTIVE_FROM)) {
        struct line line;
        struct line_error error;
        err = ictusi_adaptive_fit(stamps, n, slope, &line, &error, NULL);
        if (err) {
            return err;
        }
        /* Move the offset to where it is best known. From there it moves by the drift of the
         * clocks and not by that of the burst. */
        const double variance = error.slope_var_ns2_per_s2;
        /* The variance of the offset at distance d, v + 2 d c + d^2 s, is smallest at d = -c /
         * s. */
        const double best_s = variance > 0.0 ? -error.covariance_ns2_per_s / variance : 0.0;
        edge->at = line.anchor + (int64_t)nearbyint(best_s * 1e9);
        error = ictusi_line_error_move(&error, (double)(edge->at - line.anchor) * 1e-9);
        line = ictusi_line_move(&line, edge->at);
        edge->offset = line.offset;
        edge->frac = line.frac;
        edge->sigma_ns = ictusi_line_error_sigma(&error, 0.0);
    }
    double low = 0.0;
    double high = 0.0;
    err = ictusi_estimator_offset_interval(stamps, n, edge->at, edge->offset, &low, &high);
    edge->half_width_ns = fmax(fabs(high - edge->frac), fabs(edge->frac - low));
    return err;
}
