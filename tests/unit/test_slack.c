/* SPDX-License-Identifier: BSD-3-Clause */
/* The slack meets the asked late rate, comes back down after a burst, and does not wait for stalls.
 */
#include "harmonize/slack.h"

#include "core/random.h"

#include "../check.h"

static const struct slack_options usual = {.late = 1e-3, .reach = 8, .min_ns = 200, .max_ns = 1e8};

static double late_rate(struct slack *slack, struct rng *rng, double base, double scale, int calls)
{
    int late = 0;
    for (int i = 0; i < calls; i++) {
        const double had = ictusi_slack_next(slack);
        const double needed = base + scale * ictusi_rng_exponential(rng);
        late += needed > had;
        ictusi_slack_learn(slack, needed);
    }
    return (double)late / calls;
}

/* Calls that are late after what they need has changed, for good: few, not half a window. */
static void changes_are_followed_at_once(double before, double after)
{
    struct slack slack;
    struct rng rng;
    ictusi_rng_seed(&rng, 5, 0);
    ictusi_slack_init(&slack, &usual, 20000);
    (void)late_rate(&slack, &rng, before, before / 5, 500);
    const double rate = late_rate(&slack, &rng, after, after / 5, 100);
    (void)printf("%g -> %g ns: %g of 100 calls late, slack %g\n", before, after, 100 * rate,
                 ictusi_slack_next(&slack));
    CHECK(rate <= 0.12);
    CHECK(ictusi_slack_next(&slack) < 8 * after);
}

int main(void)
{
    struct slack slack;
    struct rng rng;
    ictusi_rng_seed(&rng, 11, 0);
    ictusi_slack_init(&slack, &usual, 20000);
    (void)late_rate(&slack, &rng, 1000, 200, 500);
    const double rate = late_rate(&slack, &rng, 1000, 200, 200000);
    (void)printf("late rate %g\n", rate);
    CHECK(rate > 2e-4 && rate < 3e-3);
    const double quiet = ictusi_slack_next(&slack);
    CHECK(quiet < 6000);

    /* A burst of noise lengthens it; afterwards it is back within one window. */
    (void)late_rate(&slack, &rng, 50000, 10000, 300);
    CHECK(ictusi_slack_next(&slack) > 60000);
    (void)late_rate(&slack, &rng, 1000, 200, SLACK_WINDOW + 20);
    CHECK(ictusi_slack_next(&slack) < 2 * quiet);

    /* One stall of half a second in fifty calls: not worth half a second in each of them. */
    for (int i = 0; i < 2000; i++) {
        ictusi_slack_learn(&slack, i % 50 ? 1000.0 : 5e8);
    }
    CHECK(ictusi_slack_next(&slack) <= 8 * 1000.0);
    changes_are_followed_at_once(300, 3000);
    changes_are_followed_at_once(3000, 300);
    changes_are_followed_at_once(300, 30000);
    return check_result();
}
