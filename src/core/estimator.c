/* SPDX-License-Identifier: BSD-3-Clause */
/* Offset estimators of one burst, as the papers publish them. */
#include "core/estimator.h"
#include "core/fit.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>

/* The clocks of two cores, or whole ticks of a coarse source, may contradict each other by this
 * much. */
static const double contradiction_ns = 100.0;

/* Split base + ns into a whole and a fractional part. */
static void estimator_set_offset(struct offset *out, int64_t base, double ns)
{
    const double whole = nearbyint(ns);
    out->offset = base + (int64_t)whole;
    out->frac = ns - whole;
}

static int64_t estimator_middle(const struct stamp *s)
{
    return s->sent + (s->received - s->sent) / 2;
}

/*
 * The two bounds of an exchange hold at different instants. The remote clock had passed `remote`
 * when the reply arrived, and had not reached it when the request was sent. The lower bound
 * therefore holds at `received` and the upper one at `sent`, even if the server was delayed by a
 * second in between. Return by how much, in ns, the largest drift may have moved such a bound from
 * one instant to another.
 */
static double estimator_drifted_ns(int64_t from, int64_t to)
{
    return fabs((double)(to - from)) * 1e-9 * ICTUSI_PARTING_MAX_NS_PER_S;
}

/* Find the exchange with the shortest round trip. ICTUS_ERR_CLOCK if a round trip is negative. */
static int estimator_shortest(const struct stamp *stamps, size_t n, size_t *best)
{
    if (!n) {
        return ICTUS_ERR_SAMPLES;
    }
    *best = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t rtt = stamps[i].received - stamps[i].sent;
        if (rtt < 0) {
            return ICTUS_ERR_CLOCK;
        }
        if (rtt < stamps[*best].received - stamps[*best].sent) {
            *best = i;
        }
    }
    return ICTUS_OK;
}

static void estimator_from_one(const struct stamp *s, struct offset *out)
{
    const int64_t rtt = s->received - s->sent;
    out->at = estimator_middle(s);
    /* The middle of an odd round trip is half a nanosecond after the instant `at`. */
    estimator_set_offset(out, s->remote - out->at, rtt % 2 ? -0.5 : 0.0);
    out->rtt_min_ns = (double)rtt;
    out->half_width_ns = (double)rtt / 2.0;
}

int ictusi_estimator_offset_min_rtt(const struct stamp *stamps, size_t n, struct offset *out)
{
    size_t best = 0;
    const int err = estimator_shortest(stamps, n, &best);
    if (!err) {
        estimator_from_one(&stamps[best], out);
    }
    return err;
}

/*
 * H18 algorithm 7. For exchange i the truth is in [remote - received, remote - sent]. Together they
 * leave [max of the lower, min of the upper bounds], whose middle is the estimate and half of whose
 * width is the half-width. With drift the two ends are of different instants, and the interval may
 * even be empty. Then the shortest round trip gives the uncertainty.
 */
int ictusi_estimator_offset_skampi(const struct stamp *stamps, size_t n, struct offset *out)
{
    size_t best = 0;
    const int err = estimator_shortest(stamps, n, &best);
    if (err) {
        return err;
    }
    size_t low = 0;
    size_t high = 0;
    for (size_t i = 1; i < n; i++) {
        if (stamps[i].remote - stamps[i].received > stamps[low].remote - stamps[low].received) {
            low = i; /* td_min, line 16 */
        }
        if (stamps[i].remote - stamps[i].sent < stamps[high].remote - stamps[high].sent) {
            high = i; /* td_max, line 17 */
        }
    }
    const int64_t lower = stamps[low].remote - stamps[low].received;
    const int64_t upper = stamps[high].remote - stamps[high].sent;
    const int64_t lower_at = stamps[low].received;
    const int64_t upper_at = stamps[high].sent;
    out->at = lower_at + (upper_at - lower_at) / 2;
    estimator_set_offset(out, lower, (double)(upper - lower) / 2.0);
    out->rtt_min_ns = (double)(stamps[best].received - stamps[best].sent);
    /* Both instants are equally far from the middle between them. */
    const double drifted = estimator_drifted_ns(lower_at, out->at);
    out->half_width_ns =
        drifted + (upper >= lower ? (double)(upper - lower) / 2.0 : out->rtt_min_ns / 2.0);
    return ICTUS_OK;
}

int ictusi_estimator_offset_interval(const struct stamp *stamps, size_t n, int64_t at,
                                     int64_t offset, double *low_ns, double *high_ns)
{
    *low_ns = -INFINITY;
    *high_ns = INFINITY;
    /*
     * A clock that stepped within the burst shows as exchanges whose intervals exclude each other
     * by more than the largest drift explains. This is refused, because a wrong interval is worse
     * than a wide one.
     */
    for (size_t i = 0; i < n; i++) {
        const struct stamp *s = &stamps[i];
        if (s->received < s->sent || (i && s->sent < stamps[i - 1].received)) {
            return ICTUS_ERR_CLOCK;
        }
        const double lower = (double)(s->remote - s->received - offset);
        const double upper = (double)(s->remote - s->sent - offset);
        const double after = estimator_drifted_ns(s->received, at);
        const double before = estimator_drifted_ns(s->sent, at);
        *low_ns = fmax(*low_ns, lower - after);
        *high_ns = fmin(*high_ns, upper + before);
    }
    if (n == 0) {
        return ICTUS_ERR_SAMPLES;
    }
    return *low_ns > *high_ns + contradiction_ns ? ICTUS_ERR_CLOCK : ICTUS_OK;
}

double ictusi_estimator_rtt_mean(const struct stamp *stamps, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)(stamps[i].received - stamps[i].sent);
    }
    return n ? sum / (double)n : 0.0;
}

/* remote - received of an exchange, and its index. */
struct lag {
    int64_t ns;
    size_t index;
};

static int estimator_by_lag(const void *a, const void *b)
{
    const struct lag *x = a;
    const struct lag *y = b;
    return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns)
                          : (x->index > y->index) - (x->index < y->index);
}

/*
 * H18 algorithm 8: offset = median(remote - received) + rtt / 2, with one mean round trip for the
 * pair. The mean includes every delay that was too long, and the median does not. If delays have a
 * long tail, the offset is too large by half of what the tail adds to the mean.
 */
int ictusi_estimator_offset_mean_rtt(const struct stamp *stamps, size_t n, double rtt_ns,
                                     struct offset *out)
{
    size_t best = 0;
    const int err = estimator_shortest(stamps, n, &best);
    if (err) {
        return err;
    }
    /*
     * The median must be an element, because the result is dated to its exchange. Ties are broken
     * by the index, so that the result does not depend on the order in which qsort() leaves them.
     */
    struct lag *lags = malloc(n * sizeof(*lags));
    if (!lags) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        lags[i] = (struct lag){stamps[i].remote - stamps[i].received, i};
    }
    qsort(lags, n, sizeof(*lags), estimator_by_lag);
    /* The lower median, because line 17 requires an element. */
    const struct lag median = lags[(n - 1) / 2];
    free(lags);
    const struct stamp *s = &stamps[median.index];
    out->at = s->received;
    estimator_set_offset(out, median.ns, rtt_ns / 2.0);
    out->rtt_min_ns = (double)(stamps[best].received - stamps[best].sent);
    /* The truth is in [lag, lag + this round trip], which is not symmetric around the estimate. */
    out->half_width_ns =
        fmax(fabs(rtt_ns / 2.0), fabs((double)(s->received - s->sent) - rtt_ns / 2.0));
    return ICTUS_OK;
}

struct netgauge ictusi_estimator_netgauge_begin(size_t patience)
{
    return (struct netgauge){.patience = patience};
}

bool ictusi_estimator_netgauge_add(struct netgauge *state, const struct stamp *stamp)
{
    const int64_t rtt = stamp->received - stamp->sent;
    /* Only a strictly shorter round trip counts. A coarse clock repeats its minimum again and
     * again, and if an equal round trip counted as an improvement, the burst would never end. */
    if (!state->any || rtt < state->best.received - state->best.sent) {
        state->best = *stamp;
        state->any = true;
        state->unimproved = 0;
    } else {
        state->unimproved++;
    }
    return state->unimproved >= state->patience;
}

int ictusi_estimator_netgauge_offset(const struct netgauge *state, struct offset *out)
{
    return ictusi_estimator_offset_min_rtt(&state->best, state->any ? 1 : 0, out);
}
