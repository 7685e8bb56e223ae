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

/* So many polls in a row that contradict the others are believed. */
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

/*
 * The interval of a track at another instant: its ends move with the slowest and the fastest rate
 * (ns/s) that its anchors leave.
 */
static void track_at(const struct bound_track *t, int64_t local, double *low_ns, double *high_ns)
{
    const double window_s = (double)window_ns / 1e9;
    const double dt = fmin(window_s, (double)(local - t->at) / 1e9);
    /* Beyond the window nothing is promised but what holds for any oscillator. */
    const double beyond = fmax(0.0, (double)(local - t->at) / 1e9 - window_s) * rate_prior;
    /* Backwards, too: samples of one group may come in any order. */
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
 * Mean frequencies since each anchor enclose today's within wander: with [l, h] now and [l', h'] at
 * an anchor dt before, the mean rate was between (l - h') / dt and (h - l') / dt. Old anchors make
 * that narrow, and the oscillator has departed from its mean by no more than wander (ns/s).
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
        /* The oscillator wandered more than was promised: what came before says nothing. */
        t->rate_low = -rate_prior;
        t->rate_high = rate_prior;
        t->count = 0;
    }
}

/* Room for another anchor: those beyond the window go, or else every second one, so that the oldest
 * reaches back as far as it can. */
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

/* Keep anchors spread over the window: a new one each 24th of what they cover, or of it. */
static void track_anchor(struct bound_track *t)
{
    const struct bound_anchor now = {t->at, t->low_ns, t->high_ns};
    const int64_t since = t->count ? t->at - t->anchors[t->count - 1].at : window_ns;
    const int64_t age = t->count ? t->at - t->anchors[0].at : 0;
    const int64_t most = window_ns / BOUND_ANCHORS;
    /*
     * Anchors come often at first, when a rate is to be learnt soon, and more rarely as they cover
     * more.
     */
    const int64_t grid = age / BOUND_ANCHORS < most ? age / BOUND_ANCHORS : most;
    if (since < grid || since <= 0) {
        return;
    }
    if (t->count == BOUND_ANCHORS) {
        track_thin(t);
    }
    t->anchors[t->count++] = now;
}

/*
 * Intersect what the track says of an instant with what an exchange says, x +- half (ns).
 * @return false, nothing changed, when the exchange contradicts the track
 */
static bool track_add(struct bound_track *t, int64_t local, double x, double half, double wander)
{
    double low = x - half, high = x + half;
    if (t->started) {
        double was_low = 0.0, was_high = 0.0;
        track_at(t, local, &was_low, &was_high);
        low = fmax(low, was_low);
        high = fmin(high, was_high);
        /*
         * Two intervals that each hold the truth cannot be disjoint: the clock was set, or a server
         * lies.
         */
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

/* An exchange that fits neither track: what is suspected now covers it as well. */
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
 * Two tracks run side by side where exchanges contradict the one that is kept: either may be the
 * truth, so the bound is the hull of both. An exchange that fits the kept one and not the suspected
 * one ends the suspicion; AGAINST_MAX groups in a row that do not fit turn it into the kept one.
 */
static bool bound_add_one(struct bound *b, const struct sample *sample)
{
    /*
     * The exchange bounds our clock against the server's; root_ns is what the server admits of its
     * own.
     */
    const double half = sample->bound_ns + sample->root_ns + grain_ns;
    if (!b->started) {
        b->origin_ns = sample->offset_ns;
        b->started = true;
    }
    /*
     * Offsets to a raw clock that begins at boot are some 1.7e18 ns: doubles hold only what they
     * differ by from the first one.
     */
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
