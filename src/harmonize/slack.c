/* SPDX-License-Identifier: BSD-3-Clause */
/* The slack of common starts: a tail quantile of recent needs. */
#include "harmonize/slack.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    FEW = 3,     /* fewer needs give no median */
    ENOUGH = 24, /* needs before quantiles are trusted */
    /*
     * If UNLIKE of the last LOOK needs are beyond a quantile that one in ten of the others passes,
     * conditions have changed. Under constant conditions this happens about once in 100 000 calls.
     */
    LOOK = 8,
    UNLIKE = 7,
    LOOK_FROM = 64 /* needs remembered before this test is made */
};
static const double unlike_share = 0.1;

/* Rate of starts that may miss the instant although they are within the tolerance, and the
 * largest slack that is spent on this, in medians. It is smaller than the one for late starts. */
#define MISSED 0.01
#define MISSED_REACH 8.0

/* Distance, in units of the scale, between the two points that define the tail: log(0.1 /
 * 0.025). */
#define TAIL_SPAN 1.3862943611198906

/*
 * The window shows where the tail begins, but only late starts show how long it is. Each late start
 * lengthens the tail by the factor BOOST, and each call in time shortens it again, so that both
 * balance at the given rate: rate * log(BOOST) + (1 - rate) * log(1 - BOOST_LOG * rate) is about 0
 * with BOOST_LOG = log(1.6). Late starts in a row count once, because they are one burst, which the
 * window learns by itself.
 */
#define BOOST 1.6
#define BOOST_LOG 0.47
#define BOOST_LEAST 0.5
#define BOOST_MOST 32.0
enum { BOOST_EVERY = 100 };

/* With few needs: this factor times the largest need so far. */
#define EARLY_FACTOR 3.0
/* With none or very few needs: at most this factor times the first guess. */
#define FIRST_FACTOR 4.0

/* Return how far, in units of its scale, an exponential tail that begins at the 90 % quantile
 * must be followed to reach this rate. */
static double slack_depth(double rate)
{
    return rate < 0.1 ? log(0.1 / rate) : 0.0;
}

void ictusi_slack_init(struct slack *slack, const struct slack_options *options, double first_ns)
{
    memset(slack, 0, sizeof(*slack));
    slack->options = *options;
    slack->first_ns = first_ns;
    slack->boost = 1.0;
    slack->late_depth = slack_depth(options->late);
    slack->missed_depth = slack_depth(fmax(options->late, MISSED));
}

/* Return the first place in the sorted window whose value is not below `value`. */
static size_t slack_place_of(const struct slack *slack, double value)
{
    size_t low = 0;
    size_t high = slack->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (slack->sorted[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void slack_forget_oldest(struct slack *slack)
{
    const size_t place = slack_place_of(slack, slack->recent[slack->next]);
    memmove(&slack->sorted[place], &slack->sorted[place + 1],
            (slack->count - place - 1) * sizeof(double));
    slack->count--;
}

/* Moves up to SLACK_WINDOW numbers of 8 bytes, in about 50 ns, while other processes are still
 * on their way. */
static void slack_insert(struct slack *slack, double needed_ns)
{
    if (slack->count == SLACK_WINDOW) {
        slack_forget_oldest(slack);
    }
    const size_t place = slack_place_of(slack, needed_ns);
    memmove(&slack->sorted[place + 1], &slack->sorted[place],
            (slack->count - place) * sizeof(double));
    slack->sorted[place] = needed_ns;
    slack->recent[slack->next] = needed_ns;
    slack->next = (slack->next + 1) % SLACK_WINDOW;
    slack->count++;
}

/*
 * Return whether the last few needs, including this one, are unlike all others, because work
 * between calls has begun or ended. The ranks in the sorted window are those of the others'
 * quantiles if this is so.
 */
static bool times_changed(const struct slack *slack, double needed_ns)
{
    if (slack->count < LOOK_FROM) {
        return false;
    }
    const size_t others = slack->count - (LOOK - 1);
    const size_t part = (size_t)(unlike_share * (double)others);
    const double low = slack->sorted[LOOK - 1 + part];
    const double high = slack->sorted[others - 1 - part];
    int above = needed_ns > high;
    int below = needed_ns < low;
    for (size_t back = 1; back < LOOK; back++) {
        const double value = slack->recent[(slack->next + SLACK_WINDOW - back) % SLACK_WINDOW];
        above += value > high;
        below += value < low;
    }
    return above >= UNLIKE || below >= UNLIKE;
}

/* Forget all but the last needs, and the boost, which belonged to the earlier conditions. */
static void slack_forget_all_but_last(struct slack *slack)
{
    double last[LOOK - 1];
    for (size_t i = 0; i < LOOK - 1; i++) {
        last[i] = slack->recent[(slack->next + SLACK_WINDOW - (LOOK - 1) + i) % SLACK_WINDOW];
    }
    slack->count = 0;
    slack->next = 0;
    slack->boost = 1.0;
    for (size_t i = 0; i < LOOK - 1; i++) {
        slack_insert(slack, last[i]);
    }
}

/* Interpolate linearly between neighbours; 0 <= q <= 1. */
static double slack_quantile(const struct slack *slack, double q)
{
    const double position = q * (double)(slack->count - 1);
    const size_t below = (size_t)position;
    const size_t above = below + 1 < slack->count ? below + 1 : below;
    const double part = position - (double)below;
    return slack->sorted[below] + part * (slack->sorted[above] - slack->sorted[below]);
}

/* Return the longest slack, in ns. */
static double slack_longest(const struct slack *slack)
{
    return slack->options.reach * slack_quantile(slack, 0.5);
}

/*
 * Return the slack from enough calls, for both rates: starts that miss the instant, and starts that
 * are late. Both quantiles lie beyond the window or at its edge. The tail is therefore extrapolated
 * as an exponential from its 90 % and 97.5 % quantiles (peaks over threshold). Two quantiles are
 * used because a mean of the excesses would follow rare stalls.
 */
static double slack_learned(const struct slack *slack)
{
    const struct slack_options *o = &slack->options;
    const double threshold = slack_quantile(slack, 0.9);
    const double scale = (slack_quantile(slack, 0.975) - threshold) / TAIL_SPAN;
    const double missed = threshold + scale * slack->missed_depth;
    const double late = threshold + scale * slack->late_depth * slack->boost - o->tolerance_ns;
    return fmax(fmin(missed, MISSED_REACH * slack_quantile(slack, 0.5)),
                fmin(late, slack_longest(slack)));
}

/*
 * With few calls no quantile is known. The slack is then several times the largest need so far, but
 * no more than a few medians, because the first calls after work are often the slowest. With enough
 * calls it is that of the tail.
 */
double ictusi_slack_next(const struct slack *slack)
{
    const struct slack_options *o = &slack->options;
    double wanted = slack->first_ns;
    if (slack->count >= ENOUGH) {
        wanted = slack_learned(slack);
    } else if (slack->count > 0) {
        const double most = slack->count >= FEW ? MISSED_REACH * slack_quantile(slack, 0.5)
                                                : FIRST_FACTOR * slack->first_ns;
        wanted = fmin(EARLY_FACTOR * slack->sorted[slack->count - 1], most);
    }
    return fmin(fmax(wanted, o->min_ns), o->max_ns);
}

/* A need that no slack within reach would have covered teaches nothing about the slack. */
static void slack_judge(struct slack *slack, double needed_ns)
{
    const struct slack_options *o = &slack->options;
    if (slack->count < ENOUGH || needed_ns > slack_longest(slack) + o->tolerance_ns) {
        return;
    }
    const bool late = needed_ns > ictusi_slack_next(slack) + o->tolerance_ns;
    const bool news = late && slack->since >= BOOST_EVERY;
    const double factor = news ? BOOST : 1.0 - BOOST_LOG * o->late;
    slack->boost = fmin(fmax(slack->boost * factor, BOOST_LEAST), BOOST_MOST);
    slack->since = news ? 0 : slack->since + 1;
}

void ictusi_slack_learn(struct slack *slack, double needed_ns)
{
    slack_judge(slack, needed_ns);
    if (times_changed(slack, needed_ns)) {
        slack_forget_all_but_last(slack);
    }
    slack_insert(slack, needed_ns);
}
