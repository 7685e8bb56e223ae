/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks compared through a counter that their processes share. */
#include "core/calibration.h"

#include "core/fit.h"
#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>

/* At least so many different values make a clock fine enough. A coarser one shows a tick that may
 * be any part of a step old. */
enum { HALF = CALIBRATION_READINGS / 2, DIFFERENT_LEAST = HALF, PASSES = 2 };
/* Readings are kept if their brackets are at most this many times as wide as those of a quarter. */
static const double kept_width = 1.5;
/* Clocks are read in whole nanoseconds, of which this is left in the end. */
static const double rounding_sigma_ns = 0.1;
/* How much the rate of a clock may have changed since an earlier point, relative: daemons adjust
 * rates, and clocks wander. */
static const double rate_change = 1e-6;
/* How well a series shows the rate by itself, relative. */
static const double series_rate_sigma = 1e-3;
/*
 * A clock is read somewhere between the two readings of the counter, and at the same place in both
 * processes, since both execute the same instructions. What differs is at most this part of the
 * time between the two readings.
 */
static const double place_per_bracket = 0.005;
/* A difference contradicts the messages if it is outside of what they allow by more than this many
 * standard deviations, and the rounding of two stamps. */
static const double contradiction = 5.0;
static const double rounding_margin_ns = 2.0;
/* Fewer meetings than this are not averaged; the best one is taken. */
enum { AVERAGED_FROM = 8 };
/* A meeting is left out if it claims to be so many times as uncertain as the best, or if it is so
 * many standard deviations away from the others. */
static const double bad_ratio = 4.0;
static const double strange = 4.0;
/* Two processes that meet again and again still differ by what all their meetings share. */
static const double average_sigma_ns = 0.02;
/* Ratio of a Gaussian's standard deviation to the median of its absolute value. */
static const double sigma_per_median = 1.4826;
/* Sigma of an edge as a part of its half-width, if it does not state one. */
static const double sigma_per_half_width = 0.1;

static int calibration_check(const struct calibration_reading *readings)
{
    int different = 1;
    for (int i = 0; i < CALIBRATION_READINGS; i++) {
        const struct calibration_reading *r = &readings[i];
        if (r->after < r->before || (i && (r->before < r[-1].after || r->clock < r[-1].clock))) {
            return ICTUS_ERR_CLOCK;
        }
        different += i && r->clock != r[-1].clock;
    }
    return different < DIFFERENT_LEAST ? ICTUS_ERR_SAMPLES : ICTUS_OK;
}

/* Return a reading that was certainly not interrupted, if any was not. */
static const struct calibration_reading *
calibration_tightest(const struct calibration_reading *readings)
{
    const struct calibration_reading *best = readings;
    for (int i = 1; i < CALIBRATION_READINGS; i++) {
        if (readings[i].after - readings[i].before < best->after - best->before) {
            best = &readings[i];
        }
    }
    return best;
}

/* The rate of the clock as the series itself shows it: the median over readings that
 * are half a series apart, of which an interruption spoils only a few. */
static double calibration_series_rate(const struct calibration_reading *readings)
{
    double rates[HALF];
    for (int i = 0; i < HALF; i++) {
        const struct calibration_reading *a = &readings[i];
        const struct calibration_reading *b = &readings[i + HALF];
        rates[i] = b->before > a->before
                       ? (double)(b->clock - a->clock) / (double)(b->before - a->before)
                       : 0.0;
    }
    ictusi_stats_sort(rates, HALF);
    return ictusi_stats_quantile(rates, HALF, 0.5);
}

/* What the readings kept of a series say about the clock at the tightest one's `before`. */
struct summary {
    double value; /* mean, in ns after the tightest one's clock */
    double sigma; /* of the mean */
    double moved; /* mean distance of the readings in time, in ns */
};

/*
 * Average the readings that were not interrupted, each moved to the tightest one by the rate of the
 * clock. The counter of some processors advances in steps of 10 ns. A median, or the common part of
 * all brackets, is then where two steps meet, and jumps by 5 ns if two processes differ by a
 * fraction of a nanosecond. A mean follows this fraction, if the readings fall on all parts of a
 * step.
 */
static struct summary calibration_summarize(const struct calibration_reading *readings,
                                            const struct calibration_reading *tight,
                                            double ns_per_tick)
{
    double widths[CALIBRATION_READINGS];
    for (int i = 0; i < CALIBRATION_READINGS; i++) {
        widths[i] = (double)(readings[i].after - readings[i].before);
    }
    ictusi_stats_sort(widths, CALIBRATION_READINGS);
    const double widest = kept_width * ictusi_stats_quantile(widths, CALIBRATION_READINGS, 0.25);
    struct summary s = {0.0, 0.0, 0.0};
    double square = 0.0;
    int count = 0;
    for (int i = 0; i < CALIBRATION_READINGS; i++) {
        const struct calibration_reading *r = &readings[i];
        const double width = (double)(r->after - r->before);
        if (width <= widest) {
            const double since = ns_per_tick * ((double)(r->before - tight->before) + width / 2.0);
            const double value = (double)(r->clock - tight->clock) - since;
            count++;
            s.value += value;
            s.moved += fabs(since);
            square += value * value;
        }
    }
    s.value /= count;
    s.moved /= count;
    s.sigma = sqrt(fmax(square / count - s.value * s.value, 0.0) / count);
    return s;
}

/* Set the rate of a clock since an earlier point. The point itself errs by sigma_ns so far. */
static void calibration_set_rate(const struct calibration_point *earlier, double sigma_ns,
                                 struct calibration_point *point)
{
    const double ticks = (double)(point->ticks - earlier->ticks);
    const double ns = (double)(point->clock - earlier->clock) + point->frac - earlier->frac;
    if (ticks > 0.0 && ns > 0.0) {
        point->ns_per_tick = ns / ticks;
        point->rate_sigma = (earlier->sigma_ns + sigma_ns) / ns + rate_change;
    }
}

/* Set clock and sigma, given the rate. */
static void calibration_evaluate(const struct calibration_reading *readings,
                                 const struct calibration_reading *tight,
                                 struct calibration_point *point)
{
    const struct summary s = calibration_summarize(readings, tight, point->ns_per_tick);
    const double rate_sigma = point->rate_sigma < INFINITY ? point->rate_sigma : series_rate_sigma;
    const double whole = nearbyint(s.value);
    point->clock = tight->clock + (int64_t)whole;
    point->frac = s.value - whole;
    point->sigma_ns = hypot(hypot(s.sigma, rounding_sigma_ns), rate_sigma * s.moved);
}

int ictusi_calibration_point(const struct calibration_reading *readings,
                             const struct calibration_point *earlier,
                             struct calibration_point *point)
{
    const int err = calibration_check(readings);
    if (err) {
        return err;
    }
    const struct calibration_reading *tight = calibration_tightest(readings);
    *point = (struct calibration_point){.ticks = tight->before,
                                        .clock = tight->clock,
                                        .ns_per_tick = calibration_series_rate(readings),
                                        .rate_sigma = INFINITY};
    point->bracket_ns = point->ns_per_tick * (double)(tight->after - tight->before);
    /* The rate follows from the point, and the point is better known with the rate. */
    double sigma_ns = point->bracket_ns;
    for (int pass = 0; pass < PASSES; pass++) {
        if (earlier) {
            calibration_set_rate(earlier, sigma_ns, point);
        }
        calibration_evaluate(readings, tight, point);
        sigma_ns = point->sigma_ns;
    }
    return ICTUS_OK;
}

/* How much later than the server's point the client's is, in ns. */
static double pair_gap(const struct calibration_pair *pair)
{
    return pair->server.ns_per_tick * (double)(pair->client.ticks - pair->server.ticks);
}

double ictusi_calibration_sigma(const struct calibration_pair *pair)
{
    const struct calibration_point *c = &pair->client;
    const struct calibration_point *s = &pair->server;
    const bool known = fmax(fmax(c->sigma_ns, s->sigma_ns), s->rate_sigma) < INFINITY;
    return known ? hypot(hypot(c->sigma_ns, s->sigma_ns), fabs(pair_gap(pair)) * s->rate_sigma)
                 : INFINITY;
}

/* How far two clocks may drift apart between two instants of one of them, in ns: each is within the
 * limit. */
static double burst_drifted(int64_t a, int64_t b)
{
    return ICTUSI_PARTING_MAX_NS_PER_S * fabs((double)(a - b)) * 1e-9;
}

/* What the exchanges of a burst prove about the fraction of an edge's offset. */
static void burst_interval(const struct calibration_burst *burst, const struct mesh_edge *edge,
                           double *low, double *high)
{
    *low = -INFINITY;
    *high = INFINITY;
    for (size_t i = 0; i < burst->n; i++) {
        const struct stamp *s = &burst->stamps[i];
        const double lower = (double)(s->remote - s->received - edge->offset);
        const double upper = (double)(s->remote - s->sent - edge->offset);
        *low = fmax(*low, lower - burst_drifted(s->received, edge->at));
        *high = fmin(*high, upper + burst_drifted(s->sent, edge->at));
    }
}

/* The meetings of a burst that are worth averaging. */
struct meetings {
    const struct calibration_pair *best;
    int count;
    double since[CALIBRATION_MEETINGS]; /* ns of the client's clock after the best one */
    double value[CALIBRATION_MEETINGS]; /* ns: the offset, minus the whole part of the best one's */
};

/* The offset that a pair shows, in ns, apart from the whole part of its clocks' difference. */
static double pair_rest(const struct calibration_pair *pair)
{
    return pair_gap(pair) + pair->server.frac - pair->client.frac;
}

/* Return false if no meeting shows anything. */
static bool meetings_collect(const struct calibration_burst *burst, struct meetings *m)
{
    double least = INFINITY;
    for (int i = 0; i < burst->meetings; i++) {
        const double sigma = ictusi_calibration_sigma(&burst->seen[i]);
        m->best = sigma < least ? &burst->seen[i] : m->best;
        least = fmin(least, sigma);
    }
    m->count = 0;
    for (int i = 0; i < burst->meetings && least < INFINITY; i++) {
        const struct calibration_pair *p = &burst->seen[i];
        const int64_t client = p->client.clock - m->best->client.clock;
        const int64_t server = p->server.clock - m->best->server.clock;
        if (ictusi_calibration_sigma(p) <= bad_ratio * least) {
            m->since[m->count] = (double)client + p->client.frac;
            m->value[m->count++] = (double)(server - client) + pair_rest(p);
        }
    }
    return least < INFINITY;
}

/* How fast the values grow: the median over meetings that are half of them apart. */
static double meetings_slope(const struct meetings *m)
{
    double slopes[CALIBRATION_MEETINGS / 2];
    const int half = m->count / 2;
    for (int i = 0; i < half; i++) {
        slopes[i] = (m->value[i + half] - m->value[i]) / (m->since[i + half] - m->since[i]);
    }
    ictusi_stats_sort(slopes, (size_t)half);
    return ictusi_stats_quantile(slopes, (size_t)half, 0.5);
}

/*
 * Average the meetings: the mean value at their mean instant, without those that are far from the
 * line through most of them. What a single one shows scatters by the roundings of the counter and
 * of both clocks, which differ from one to the next.
 */
static double meetings_average(const struct meetings *m, double *since, double *value)
{
    double level[CALIBRATION_MEETINGS];
    double sorted[CALIBRATION_MEETINGS];
    const double slope = meetings_slope(m);
    for (int i = 0; i < m->count; i++) {
        sorted[i] = level[i] = m->value[i] - slope * m->since[i];
    }
    ictusi_stats_sort(sorted, (size_t)m->count);
    const double middle = ictusi_stats_quantile(sorted, (size_t)m->count, 0.5);
    for (int i = 0; i < m->count; i++) {
        sorted[i] = fabs(level[i] - middle);
    }
    ictusi_stats_sort(sorted, (size_t)m->count);
    const double usual = sigma_per_median * ictusi_stats_quantile(sorted, (size_t)m->count, 0.5);
    const double limit = strange * fmax(usual, rounding_sigma_ns);
    double sums[3] = {0.0, 0.0, 0.0};
    int kept = 0;
    for (int i = 0; i < m->count; i++) {
        const double away = level[i] - middle;
        if (fabs(away) <= limit) {
            sums[0] += m->since[i];
            sums[1] += away;
            sums[2] += away * away;
            kept++;
        }
    }
    const double mean = sums[1] / kept;
    *since = sums[0] / kept;
    *value = middle + mean + slope * *since;
    /* The middle and the slope use two degrees of freedom. */
    const double variance = fmax(sums[2] / kept - mean * mean, 0.0) / (kept - 2);
    return hypot(sqrt(variance), average_sigma_ns);
}

/* Set an edge to what the meetings after its burst showed. Return its sigma, or INFINITY. */
static double burst_set_edge(const struct calibration_burst *burst, struct mesh_edge *edge)
{
    struct meetings m = {.best = burst->seen};
    if (!meetings_collect(burst, &m)) {
        return INFINITY;
    }
    double since = m.best->client.frac;
    double value = pair_rest(m.best);
    const double sigma = m.count >= AVERAGED_FROM ? meetings_average(&m, &since, &value)
                                                  : ictusi_calibration_sigma(m.best);
    const double whole = nearbyint(value);
    edge->at = m.best->client.clock + (int64_t)nearbyint(since);
    edge->offset = m.best->server.clock - m.best->client.clock + (int64_t)whole;
    edge->frac = value - whole;
    edge->path_ns =
        place_per_bracket * (m.best->client.bracket_ns + m.best->server.bracket_ns) / 2.0;
    return sigma;
}

/* Set the edge of one burst to what the counter showed. Return false if its messages contradict
 * that. */
static bool burst_replace(const struct calibration_burst *burst, struct mesh_edge *edge)
{
    double low = 0.0;
    double high = 0.0;
    const double sigma = burst_set_edge(burst, edge);
    if (!(sigma < INFINITY)) {
        return false;
    }
    burst_interval(burst, edge, &low, &high);
    const double allowed = contradiction * sigma + rounding_margin_ns;
    if (edge->frac < low - allowed || edge->frac > high + allowed) {
        return false;
    }
    /* No offset leaves what is proven. */
    edge->frac = fmin(fmax(edge->frac, low), fmax(low, high));
    edge->half_width_ns = fmax(fabs(high - edge->frac), fabs(edge->frac - low));
    edge->sigma_ns = sigma;
    return true;
}

/* The systematic part of the variance of what edges of a pair say. */
static double calibration_path(const struct mesh_edge *edge)
{
    const double path =
        edge->path_ns > 0.0 ? edge->path_ns : ICTUSI_ASYMMETRY_PER_RTT * edge->rtt_ns;
    return path * path;
}

/* What an edge adds to the certainty of its pair: one over the variance of its noise. */
static double calibration_certainty(const struct mesh_edge *edge)
{
    const double sigma =
        edge->sigma_ns > 0.0 ? edge->sigma_ns : sigma_per_half_width * edge->half_width_ns;
    return 1.0 / fmax(sigma * sigma, rounding_sigma_ns * rounding_sigma_ns);
}

bool ictusi_calibration_replace(const struct calibration_burst *bursts, int count,
                                struct mesh_edge *edges)
{
    struct mesh_edge seen[CALIBRATION_SWEEPS_MAX];
    double certain[2] = {0.0, 0.0};
    for (int k = 0; k < count; k++) {
        seen[k] = edges[k];
        if (!burst_replace(&bursts[k], &seen[k])) {
            return false;
        }
        certain[0] += calibration_certainty(&edges[k]);
        certain[1] += calibration_certainty(&seen[k]);
    }
    const bool better = 1.0 / certain[1] + calibration_path(&seen[0]) <
                        1.0 / certain[0] + calibration_path(&edges[0]);
    for (int k = 0; k < count && better; k++) {
        edges[k] = seen[k];
    }
    return better;
}
