/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals that hold the truth. */
#include "bound.h"

#include <math.h>
#include <string.h>

/* No oscillator in service is further off (ns/s). */
static const double rate_prior = 2e5;

/* Anchors older than this no longer constrain the frequency. */
static const int64_t window_ns = INT64_C(3600) * 1000000000;

/* Stamps are good to this beside the delay: the pair of clock readings. */
static const double grain_ns = 100.0;

void ictusi_bound_init(struct bound *b, double wander)
{
    memset(b, 0, sizeof(*b));
    b->wander = wander * 1e9;
    ictusi_bound_reset(b);
}

void ictusi_bound_reset(struct bound *b)
{
    b->started = false;
    b->count = 0;
    b->rate_low = -rate_prior;
    b->rate_high = rate_prior;
}

void ictusi_bound_at(const struct bound *b, int64_t local, double *low_ns, double *high_ns)
{
    const double dt = (double)(local - b->at) / 1e9;
    /* Backwards, too: samples of one group may come in any order. */
    *low_ns = b->low_ns + (dt >= 0 ? b->rate_low : b->rate_high) * dt;
    *high_ns = b->high_ns + (dt >= 0 ? b->rate_high : b->rate_low) * dt;
}

/* Mean frequencies since each anchor enclose today's within wander. */
static void narrow_rate(struct bound *b)
{
    double low = -rate_prior, high = rate_prior;
    for (int i = 0; i < b->count; i++) {
        const double dt = (double)(b->at - b->anchors[i].at) / 1e9;
        if (dt > 0.0 && b->at - b->anchors[i].at <= window_ns) {
            low = fmax(low, (b->low_ns - b->anchors[i].high_ns) / dt - b->wander);
            high = fmin(high, (b->high_ns - b->anchors[i].low_ns) / dt + b->wander);
        }
    }
    if (low < high) {
        b->rate_low = low;
        b->rate_high = high;
    } else {
        b->rate_low = -rate_prior;
        b->rate_high = rate_prior;
        b->count = 0;
        b->broken++;
    }
}

/* Keep anchors spread over the window: a new one each 24th of it, and the first ones at once. */
static void keep_anchor(struct bound *b)
{
    const struct bound_anchor now = {b->at, b->low_ns, b->high_ns};
    const bool full = b->count == BOUND_ANCHORS;
    const int64_t since = b->count ? b->at - b->anchors[b->count - 1].at : window_ns;
    const int64_t age = b->count ? b->at - b->anchors[0].at : 0;
    const int64_t grid = age / BOUND_ANCHORS > window_ns / BOUND_ANCHORS ? window_ns / BOUND_ANCHORS
                                                                         : age / BOUND_ANCHORS;
    if (since < grid || since <= 0) {
        return;
    }
    if (full) {
        memmove(b->anchors, b->anchors + 1, sizeof(b->anchors[0]) * (BOUND_ANCHORS - 1));
        b->count--;
    }
    b->anchors[b->count++] = now;
}

static void start(struct bound *b, const struct sample *sample, double half)
{
    b->origin_ns = sample->offset_ns;
    b->at = sample->local;
    b->low_ns = -half;
    b->high_ns = half;
    b->started = true;
    keep_anchor(b);
}

bool ictusi_bound_add(struct bound *b, const struct sample *sample)
{
    const double half = sample->bound_ns + grain_ns;
    if (!b->started) {
        start(b, sample, half);
        return true;
    }
    double low = 0.0, high = 0.0;
    const double x = (double)(sample->offset_ns - b->origin_ns);
    ictusi_bound_at(b, sample->local, &low, &high);
    low = fmax(low, x - half);
    high = fmin(high, x + half);
    if (low > high) {
        b->broken++;
        ictusi_bound_reset(b);
        start(b, sample, half);
        return false;
    }
    b->at = sample->local;
    b->low_ns = low;
    b->high_ns = high;
    narrow_rate(b);
    keep_anchor(b);
    return true;
}
