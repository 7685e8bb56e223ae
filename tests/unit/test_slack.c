/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slack meets the requested share of late starts for any tail of what calls need, decreases
 * again after a burst, and does not wait for stalls.
 */
#include "harmonize/slack.h"

#include "core/random.h"

#include "../check.h"

#include <math.h>
#include <stdbool.h>

static const struct slack_options usual = {.late = 1e-3, .reach = 32, .min_ns = 200, .max_ns = 1e8};
/* Options that also forgive a start that is late by less. */
static const struct slack_options tolerant = {
    .late = 1e-3, .tolerance_ns = 1000, .reach = 32, .min_ns = 200, .max_ns = 1e8};

static double late_rate(struct slack *slack, struct rng *rng, double base, double scale, int calls)
{
    int late = 0;
    for (int i = 0; i < calls; i++) {
        const double had = ictusi_slack_next(slack);
        const double needed = base + scale * ictusi_random_exponential(rng);
        late += needed > had;
        ictusi_slack_learn(slack, needed);
    }
    return (double)late / calls;
}

/* Late calls after a permanent change of what they need: few, not half a window. */
static void changes_are_followed_at_once(double before, double after)
{
    struct slack slack;
    struct rng rng;
    ictusi_random_seed(&rng, 5, 0);
    ictusi_slack_init(&slack, &usual, 20000);
    (void)late_rate(&slack, &rng, before, before / 5, 500);
    const double rate = late_rate(&slack, &rng, after, after / 5, 100);
    (void)printf("%g -> %g ns: %g of 100 calls late, slack %g\n", before, after, 100 * rate,
                 ictusi_slack_next(&slack));
    CHECK(rate <= 0.12);
    CHECK(ictusi_slack_next(&slack) < 8 * after);
}

/* What calls need, in ns: quiet; with cold caches in some; with a power-law tail. */
static double exponential(struct rng *rng)
{
    return 300 + 100 * ictusi_random_exponential(rng);
}

static double sometimes_cold(struct rng *rng)
{
    const double warm = 300 + 30 * ictusi_random_exponential(rng);
    return ictusi_random_uniform(rng) < 0.95 ? warm : 1500 + 800 * ictusi_random_exponential(rng);
}

static double rarely_cold(struct rng *rng)
{
    const double warm = 300 + 30 * ictusi_random_exponential(rng);
    return ictusi_random_uniform(rng) < 0.99 ? warm : 1500 + 800 * ictusi_random_exponential(rng);
}

static double heavy(struct rng *rng)
{
    return 300 + 100 * (pow(ictusi_random_uniform(rng) + 1e-9, -1.0 / 3.0) - 1);
}

/*
 * Of the starts that a slack within reach would have saved, the requested share is late. About one
 * start in a hundred misses the instant at all if the tolerance is wider than the tail.
 */
static void rate_is_met(double (*needs)(struct rng *), const struct slack_options *options,
                        const char *name)
{
    enum { BEFORE = 5000, CALLS = 100000 };
    struct slack slack;
    struct rng rng;
    int late = 0;
    int missed = 0;
    double mean = 0;
    ictusi_random_seed(&rng, 3, 0);
    ictusi_slack_init(&slack, options, 20000);
    for (int i = 0; i < BEFORE + CALLS; i++) {
        const double had = ictusi_slack_next(&slack);
        const double needed = needs(&rng);
        if (i >= BEFORE) {
            late += needed > had + options->tolerance_ns;
            missed += needed > had;
            mean += had / CALLS;
        }
        ictusi_slack_learn(&slack, needed);
    }
    (void)printf("%s, tolerance %g: late %g, missed %g, mean slack %.0f ns\n", name,
                 options->tolerance_ns, (double)late / CALLS, (double)missed / CALLS, mean);
    CHECK(late <= 2.5e-3 * CALLS);
    CHECK(missed <= 2.5e-2 * CALLS);
    /* Not more than necessary. */
    CHECK(late >= 3e-4 * CALLS || missed >= 5e-3 * CALLS);
}

/* A burst that disturbs some of the calls for a while has little effect afterwards. */
static void a_burst_is_forgotten(const struct slack_options *options)
{
    struct slack slack;
    struct rng rng;
    double during = 0;
    ictusi_random_seed(&rng, 9, 0);
    ictusi_slack_init(&slack, options, 20000);
    for (int i = 0; i < 1000; i++) {
        ictusi_slack_learn(&slack, exponential(&rng));
    }
    const double before = ictusi_slack_next(&slack);
    for (int i = 0; i < 500; i++) {
        const bool noisy = ictusi_random_uniform(&rng) < 0.3;
        ictusi_slack_learn(&slack, exponential(&rng) + (noisy ? 4000 : 0));
        during = fmax(during, ictusi_slack_next(&slack));
    }
    for (int i = 0; i < 300; i++) {
        ictusi_slack_learn(&slack, exponential(&rng));
    }
    (void)printf("burst: %.0f ns before, up to %.0f, %.0f after\n", before, during,
                 ictusi_slack_next(&slack));
    CHECK(during > 4000);
    CHECK(ictusi_slack_next(&slack) < 2 * before);
}

/* Needs of 1000, 1100, ... in shuffled order: calls of one and the same period. */
static void learn_ramp(struct slack *slack, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ictusi_slack_learn(slack, 1000.0 + 100.0 * (double)(i * 37 % count));
    }
}

/* The tail beyond the 90 % quantile is exponential, with a scale from the 97.5 % quantile. */
static void the_tail_is_extrapolated(void)
{
    for (size_t count = 40; count < 44; count++) {
        const double last = (double)(count - 1);
        const double threshold = 1000.0 + 90.0 * last;
        const double scale = 7.5 * last / log(4.0);
        const double median = 1000.0 + 50.0 * last;
        for (int limited = 0; limited < 2; limited++) {
            struct slack_options options = tolerant;
            options.late = 1e-6;
            options.reach = limited ? 2.5 : 32;
            struct slack slack;
            ictusi_slack_init(&slack, &options, 20000);
            learn_ramp(&slack, count);
            slack.boost = 1.0;
            const double late = threshold + scale * log(0.1 / 1e-6) - 1000.0;
            CHECK_NEAR(ictusi_slack_next(&slack), limited ? fmin(late, 2.5 * median) : late, 1e-6);
            slack.late_depth = 0; /* only those that miss the instant, one in a hundred, count */
            CHECK_NEAR(ictusi_slack_next(&slack), threshold + scale * log(10.0), 1e-6);
            slack.missed_depth = 100;
            CHECK_NEAR(ictusi_slack_next(&slack), 8 * median, 1e-6);
        }
    }
}

/* With little data: three times the largest, within eight medians; limits always hold. */
static void little_is_known_at_first(void)
{
    static const double needs[] = {5000, 100, 20000, 3000, 2000};
    static const double slacks[] = {1000, 4000, 4000, 40000, 8 * 4000, 8 * 3000};
    struct slack_options options = usual;
    struct slack slack;
    ictusi_slack_init(&slack, &options, 1000);
    for (size_t i = 0; i < 6; i++) {
        CHECK_NEAR(ictusi_slack_next(&slack), slacks[i], 1e-9);
        if (i < 5) {
            ictusi_slack_learn(&slack, needs[i]);
        }
    }
    ictusi_slack_init(&slack, &options, 1000);
    ictusi_slack_learn(&slack, 400);
    CHECK_NEAR(ictusi_slack_next(&slack), 1200, 1e-9);
    for (size_t i = 0; i < 22; i++) {
        ictusi_slack_learn(&slack, 400);
    }
    CHECK_NEAR(ictusi_slack_next(&slack), 1200, 1e-9); /* 23 of them */
    ictusi_slack_learn(&slack, 400);
    CHECK_NEAR(ictusi_slack_next(&slack), 400, 1e-9); /* their tail has length zero */
    options.min_ns = 500;
    options.max_ns = 900;
    ictusi_slack_init(&slack, &options, 1000);
    CHECK_NEAR(ictusi_slack_next(&slack), 900, 0);
    ictusi_slack_learn(&slack, 1);
    CHECK_NEAR(ictusi_slack_next(&slack), 500, 0);
}

/*
 * A late start lengthens the tail, but the next ones within a hundred calls do not. Needs beyond
 * reach say nothing, and each start in time shortens the tail slightly.
 */
static void late_starts_lengthen_it(void)
{
    struct slack slack;
    ictusi_slack_init(&slack, &usual, 20000);
    for (int i = 0; i < 3000; i++) {
        ictusi_slack_learn(&slack, 1000.0 + i * 37 % 100);
    }
    const double calm = slack.boost;
    CHECK_NEAR(calm, 0.5, 1e-12); /* the minimum */
    ictusi_slack_learn(&slack, 5000);
    CHECK_NEAR(slack.boost, 1.6 * calm, 1e-12);
    const double boosted = slack.boost;
    for (int i = 0; i < 100; i++) {
        ictusi_slack_learn(&slack, i == 50 ? 5000.0 : 1000.0 + i * 37 % 100);
    }
    CHECK_NEAR(slack.boost, boosted * pow(1.0 - 0.47e-3, 100), 1e-9);
    ictusi_slack_learn(&slack, 5000);
    CHECK_NEAR(slack.boost, 1.6 * boosted * pow(1.0 - 0.47e-3, 100), 1e-9);
    const double before = slack.boost;
    slack.since = 1000;
    ictusi_slack_learn(&slack, 32 * 1055.0);
    CHECK(slack.boost == before);
    for (int i = 0; i < 40; i++) {
        slack.since = 1000;
        ictusi_slack_learn(&slack, 1500.0 + 10 * (i % 2 ? i : -i) + 30000.0 * (i % 13 == 0));
    }
    CHECK(slack.boost <= 32.0);
}

/*
 * Seven of eight successive calls are where one in ten of the others was: a new period has begun.
 */
static void some_are_unlike(size_t known, int unlike, bool down)
{
    const double usually = 1000.0 + 50.0 * (double)known;
    const double other = down ? 900.0 : 2 * usually;
    struct slack slack;
    ictusi_slack_init(&slack, &usual, 20000);
    learn_ramp(&slack, known - 8);
    for (int i = 0; i < 16; i++) {
        ictusi_slack_learn(&slack, i >= 8 && i < 8 + unlike ? other : usually);
    }
    /* Among at least 64; the last call of another period, the seventh, is enough. */
    const size_t kept = known + 6 >= 64 ? 9 : known + 7 >= 64 ? 8 : known + 8;
    CHECK(slack.count == (unlike >= 7 ? kept : known + 8));
}

static void another_time_is_recognised(void)
{
    for (size_t known = 55; known < 70; known++) {
        for (int unlike = 6; unlike <= 8; unlike++) {
            some_are_unlike(known, unlike, false);
            some_are_unlike(known, unlike, true);
        }
    }
}

/* Needs of 1000, 1100, ... 11000, the last eight of them in the middle; then seven others. */
static void others_follow(struct slack *slack, double other_ns)
{
    ictusi_slack_init(slack, &usual, 20000);
    CHECK(slack->boost == 1.0);
    for (int i = 0; i < 101; i++) {
        const int mixed = i * 37 % 93;
        const int place = i < 93 ? mixed + (mixed < 46 ? 0 : 8) : i - 47;
        ictusi_slack_learn(slack, 1000.0 + 100.0 * place);
    }
    slack->boost = 2.0;
    for (int i = 0; i < 7; i++) {
        ictusi_slack_learn(slack, other_ns);
    }
}

/* The limit is at one in ten of the hundred others, and the last eight are kept. */
static void the_line_is_at_one_in_ten(void)
{
    struct slack slack;
    others_follow(&slack, 1000 + 89 * 100 - 50);
    CHECK(slack.count == 108);
    others_follow(&slack, 1000 + 11 * 100 + 50);
    CHECK(slack.count == 108);
    others_follow(&slack, 1000 + 11 * 100 - 50);
    CHECK(slack.count == 8);
    others_follow(&slack, 1000 + 89 * 100 + 50);
    CHECK(slack.count == 8 && slack.next == 8);
    CHECK(slack.recent[0] == 1000 + 53 * 100 && slack.sorted[0] == slack.recent[0]);
    for (int i = 1; i < 8; i++) {
        CHECK(slack.recent[i] == 9950 && slack.sorted[i] == 9950);
    }
    CHECK(slack.boost == 1.0);
    ictusi_slack_init(&slack, &usual, 20000);
    learn_ramp(&slack, 100);
    for (int i = 0; i < 20; i++) { /* six of eight, although seven of nine */
        ictusi_slack_learn(&slack, i == 11 || (i > 13 && i < 20) ? 20000 : 6000);
    }
    CHECK(slack.count == 120);
}

/* From the 24th call on; up to the tolerance beyond reach; not within a hundred calls. */
static void late_starts_are_judged(void)
{
    struct slack slack;
    struct slack_options options = tolerant;
    for (int known = 23; known <= 24; known++) {
        ictusi_slack_init(&slack, &options, 20000);
        for (int i = 0; i < known; i++) {
            ictusi_slack_learn(&slack, 1000);
        }
        slack.boost = 1.0;
        slack.since = 1000;
        ictusi_slack_learn(&slack, 10000);
        CHECK_NEAR(slack.boost, known == 24 ? 1.6 : 1.0, 1e-12);
    }
    for (int beyond = 0; beyond < 2; beyond++) {
        ictusi_slack_init(&slack, &options, 20000);
        for (int i = 0; i < 40; i++) {
            ictusi_slack_learn(&slack, 1000);
        }
        slack.boost = 1.0;
        slack.since = 1000;
        ictusi_slack_learn(&slack, beyond ? 33100 : 32900);
        CHECK_NEAR(slack.boost, beyond ? 1.0 : 1.6, 1e-12);
    }
    CHECK(slack.since == 1000);
    for (int early = 0; early < 2; early++) {
        ictusi_slack_init(&slack, &options, 20000);
        for (int i = 0; i < 40; i++) {
            ictusi_slack_learn(&slack, 1000);
        }
        slack.since = 1000;
        ictusi_slack_learn(&slack, 10000);
        CHECK(slack.since == 0);
        for (int i = 0; i < 100 - early; i++) {
            ictusi_slack_learn(&slack, 1000);
        }
        const double before = slack.boost;
        ictusi_slack_learn(&slack, 10000);
        CHECK((slack.boost > before) == !early);
    }
    options.late = 0.15; /* this many are late from the threshold alone */
    ictusi_slack_init(&slack, &options, 20000);
    CHECK(slack.late_depth == 0.0 && slack.missed_depth == 0.0);
}

/* The window has the last 256 in order of size, whichever left it. */
static void the_window_moves_on(void)
{
    struct slack slack;
    struct rng rng;
    ictusi_random_seed(&rng, 21, 0);
    ictusi_slack_init(&slack, &usual, 20000);
    for (int i = 0; i < 1500; i++) {
        ictusi_slack_learn(&slack, 1000.0 + floor(100.0 * ictusi_random_uniform(&rng)));
        double sum = 0;
        double sorted = 0;
        for (size_t k = 0; k < slack.count; k++) {
            CHECK(k == 0 || slack.sorted[k - 1] <= slack.sorted[k]);
            sum += slack.recent[k] * slack.recent[k];
            sorted += slack.sorted[k] * slack.sorted[k];
        }
        CHECK(slack.count <= SLACK_WINDOW && sum == sorted);
    }
    CHECK(slack.count == SLACK_WINDOW);
}

static void rates_are_met(void)
{
    static const struct slack_options *const options[] = {&usual, &tolerant};
    for (int i = 0; i < 2; i++) {
        rate_is_met(exponential, options[i], "exponential");
        rate_is_met(sometimes_cold, options[i], "cold in 1 of 20");
        rate_is_met(rarely_cold, options[i], "cold in 1 of 100");
        rate_is_met(heavy, options[i], "heavy");
    }
}

int main(void)
{
    struct slack slack;
    struct rng rng;
    ictusi_random_seed(&rng, 11, 0);
    ictusi_slack_init(&slack, &usual, 20000);
    (void)late_rate(&slack, &rng, 1000, 200, 500);
    const double rate = late_rate(&slack, &rng, 1000, 200, 200000);
    (void)printf("late rate %g\n", rate);
    CHECK(rate > 2e-4 && rate < 3e-3);
    const double quiet = ictusi_slack_next(&slack);
    CHECK(quiet < 6000);

    /* A burst of noise lengthens the slack, which is back to normal within one window. */
    (void)late_rate(&slack, &rng, 50000, 10000, 300);
    CHECK(ictusi_slack_next(&slack) > 60000);
    (void)late_rate(&slack, &rng, 1000, 200, SLACK_WINDOW + 20);
    CHECK(ictusi_slack_next(&slack) < 2 * quiet);

    /* One stall of half a second in fifty calls is not worth half a second in each of them. */
    for (int i = 0; i < 2000; i++) {
        ictusi_slack_learn(&slack, i % 50 ? 1000.0 : 5e8);
    }
    CHECK(ictusi_slack_next(&slack) <= 8 * 1000.0);
    changes_are_followed_at_once(300, 3000);
    changes_are_followed_at_once(3000, 300);
    changes_are_followed_at_once(300, 30000);
    the_tail_is_extrapolated();
    little_is_known_at_first();
    late_starts_lengthen_it();
    another_time_is_recognised();
    the_line_is_at_one_in_ten();
    late_starts_are_judged();
    the_window_moves_on();
    rates_are_met();
    a_burst_is_forgotten(&usual);
    a_burst_is_forgotten(&tolerant);
    return check_result();
}
