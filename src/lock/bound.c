/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals that contain the truth. */
#include "bound.h"

#include <math.h>
#include <string.h>

/* No oscillator in service is off by more than this (ns/s). */
static const double rate_prior = 2e5;

/* Anchors older than this no longer constrain the frequency. */
static const int64_t window_ns = INT64_C(3600) * 1000000000;

/* Uncertainty of stamps in addition to the delay: the pair of clock readings. */
static const double grain_ns = 100.0;

/* This many consecutive polls that contradict the others are accepted. */
enum { AGAINST_MAX = 3 };

static void track_reset(struct bound_track *t)
{
    memset(t, 0, sizeof(*t));
    t->rate_low = -rate_prior;
    t->rate_high = rate_prior;
}

void ictusi_bound_init(struct bound *b, double wander)
{
    memset(b, 0, sizeof(*b));
    b->wander = wander * 1e9;
    ictusi_bound_reset(b);
}

void ictusi_bound_reset(struct bound *b)
{
    b->started = false;
    b->against = 0;
    track_reset(&b->kept);
    track_reset(&b->suspect);
}

/* Return the interval of a track at another instant. Its ends move with the slowest and the
 * fastest rate (ns/s) that its anchors allow. */
static void track_at(const struct bound_track *t, int64_t local, double *low_ns, double *high_ns)
{
    const double window_s = (double)window_ns / 1e9;
    const double dt = fmin(window_s, (double)(local - t->at) / 1e9);
    /* Beyond the window only the limit for any oscillator holds. */
    const double beyond = fmax(0.0, (double)(local - t->at) / 1e9 - window_s) * rate_prior;
    /* dt may be negative, because the samples of a group may come in any order. */
    *low_ns = t->low_ns + (dt >= 0 ? t->rate_low : t->rate_high) * dt - beyond;
    *high_ns = t->high_ns + (dt >= 0 ? t->rate_high : t->rate_low) * dt + beyond;
}

void ictusi_bound_at(const struct bound *b, int64_t local, double *low_ns, double *high_ns)
{
    track_at(&b->kept, local, low_ns, high_ns);
    if (b->suspect.started) {
        double low = 0.0, high = 0.0;
        track_at(&b->suspect, local, &low, &high);
        *low_ns = fmin(*low_ns, low);
        *high_ns = fmax(*high_ns, high);
    }
}

void ictusi_bound_rate(const struct bound *b, double *low, double *high)
{
    *low = b->kept.rate_low;
    *high = b->kept.rate_high;
    if (b->suspect.started) {
        *low = fmin(*low, b->suspect.rate_low);
        *high = fmax(*high, b->suspect.rate_high);
    }
}

/*
 * Bound the present frequency by the mean frequencies since each anchor. With the interval [l, h]
 * now and [l', h'] at an anchor dt earlier, the mean rate was between (l - h') / dt and (h - l') /
 * dt. Old anchors make this range narrow. The present rate differs from the mean by at most wander
 * (ns/s).
 */
static void track_narrow(struct bound_track *t, double wander)
{
    double low = -rate_prior, high = rate_prior;
    for (int i = 0; i < t->count; i++) {
        const double dt = (double)(t->at - t->anchors[i].at) / 1e9;
        if (dt > 0.0 && t->at - t->anchors[i].at <= window_ns) {
            low = fmax(low, (t->low_ns - t->anchors[i].high_ns) / dt - wander);
            high = fmin(high, (t->high_ns - t->anchors[i].low_ns) / dt + wander);
        }
    }
    if (low < high) {
        t->rate_low = low;
        t->rate_high = high;
    } else {
        /* The oscillator wandered more than was promised, so the earlier anchors say nothing. */
        t->rate_low = -rate_prior;
        t->rate_high = rate_prior;
        t->count = 0;
    }
}

/* Make room for another anchor. Anchors beyond the window are removed, or else every second one,
 * so that the oldest one reaches back as far as possible. */
static void track_thin(struct bound_track *t)
{
    const bool beyond = t->at - t->anchors[0].at > window_ns;
    int kept = 0;
    for (int i = 0; i < t->count; i++) {
        if (beyond ? i > 0 : i % 2 == 0) {
            t->anchors[kept++] = t->anchors[i];
        }
    }
    t->count = kept;
}

/* Keep the anchors spread over the window. A new one is added after each 24th of the time that
 * they cover, or of the window. */
static void track_anchor(struct bound_track *t)
{
    const struct bound_anchor now = {t->at, t->low_ns, t->high_ns};
    const int64_t since = t->count ? t->at - t->anchors[t->count - 1].at : window_ns;
    const int64_t age = t->count ? t->at - t->anchors[0].at : 0;
    const int64_t most = window_ns / BOUND_ANCHORS;
    /* Anchors are frequent at first, so that the rate is learned soon, and rarer the more time
     * they cover. */
    const int64_t grid = age / BOUND_ANCHORS < most ? age / BOUND_ANCHORS : most;
    if (since < grid || since <= 0) {
        return;
    }
    if (t->count == BOUND_ANCHORS) {
        track_thin(t);
    }
    t->anchors[t->count++] = now;
}

/* Intersect the interval of the track with that of an exchange, x +- half (ns). @return false,
 * with nothing changed, if the exchange contradicts the track */
static bool track_add(struct bound_track *t, int64_t local, double x, double half, double wander)
{
    double low = x - half, high = x + half;
    if (t->started) {
        double was_low = 0.0, was_high = 0.0;
        track_at(t, local, &was_low, &was_high);
        low = fmax(low, was_low);
        high = fmin(high, was_high);
        /* Two intervals that both contain the truth cannot be disjoint. Either the clock was
         * set, or a server is wrong. */
        if (low > high) {
            return false;
        }
    }
    t->at = local;
    t->low_ns = low;
    t->high_ns = high;
    if (t->started) {
        track_narrow(t, wander);
    }
    t->started = true;
    track_anchor(t);
    return true;
}

/* An exchange fits neither track, so the suspected interval is extended to cover it. */
static void suspect_more(struct bound *b, int64_t local, double x, double half)
{
    double low = x - half, high = x + half;
    if (b->suspect.started) {
        double was_low = 0.0, was_high = 0.0;
        track_at(&b->suspect, local, &was_low, &was_high);
        low = fmin(low, was_low);
        high = fmax(high, was_high);
    }
    track_reset(&b->suspect);
    (void)track_add(&b->suspect, local, (low + high) / 2.0, (high - low) / 2.0, b->wander);
}

/*
 * If exchanges contradict the kept track, a second one is kept beside it. Either may be the truth,
 * so the bound is the hull of both. An exchange that fits the kept track and not the suspected one
 * ends the suspicion. AGAINST_MAX consecutive polls that do not fit replace the kept track by the
 * suspected one.
 */
static bool bound_add_one(struct bound *b, const struct sample *sample)
{
    /* The exchange bounds our clock against the server's. root_ns is the server's own distance
     * to the truth, as it states it. */
    const double half = sample->bound_ns + sample->root_ns + grain_ns;
    if (!b->started) {
        b->origin_ns = sample->offset_ns;
        b->started = true;
    }
    /* Offsets to a raw clock that starts at boot are about 1.7e18 ns. A double is used only for
     * the difference to the first offset. */
    const double x = (double)(sample->offset_ns - b->origin_ns);
    const bool fits = track_add(&b->kept, sample->local, x, half, b->wander);
    const bool fits_suspect =
        b->suspect.started && track_add(&b->suspect, sample->local, x, half, b->wander);
    if (fits && !fits_suspect) {
        track_reset(&b->suspect);
    } else if (!fits && !fits_suspect) {
        suspect_more(b, sample->local, x, half);
    }
    return fits;
}

bool ictusi_bound_add(struct bound *b, const struct sample *samples, size_t count)
{
    bool fits = true;
    for (size_t i = 0; i < count; i++) {
        fits = bound_add_one(b, &samples[i]) && fits;
    }
    b->against = fits ? 0 : b->against + 1;
    b->broken += !fits;
    if (b->against >= AGAINST_MAX) {
        ictusi_bound_believe(b);
    }
    return fits;
}

void ictusi_bound_believe(struct bound *b)
{
    if (b->suspect.started) {
        b->kept = b->suspect;
        track_reset(&b->suspect);
    }
    b->against = 0;
}
