/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often two runs give the same verdict of the same truth. Launches of simulated algorithms
 * differ from each other by 0, 2, 10 and 30 %, and the algorithms by 0 to 20 %. A verdict
 * ("faster") is given where turns_again() says that fresh launches would find the same.
 *
 * Some truth lies at the very point from which on a verdict is given. There half of all runs give
 * it, whatever the rule, since the chance to give it goes from 0 to 1 as the difference grows. A
 * rule can only keep the range around that point narrow, and let no two runs contradict each other.
 */
#include "bench/turns.h"

#include <core/random.h>

#include <stdbool.h>

#include "../check.h"

enum { RUNS = 400, LAUNCHES_MOST = 20, STEPS = 41 };

/* The default of --launch-spread for ratios, and the standard error within a launch. */
#define ASSUMED 0.12
#define WITHIN 0.01

enum finding { NEITHER, SLOWER, FASTER };

/* One run of so many launches; `interval` judges as the 95 % interval alone would. */
static enum finding find(struct rng *rng, size_t launches, double difference, double spread,
                         bool interval)
{
    double logs[LAUNCHES_MOST];
    double errors[LAUNCHES_MOST];
    struct turns_verdict verdict;
    for (size_t i = 0; i < launches; i++) {
        errors[i] = WITHIN;
        logs[i] = log(1 + difference) + hypot(spread, WITHIN) * ictusi_random_normal(rng);
    }
    const struct turns_launches all = {logs, errors, launches, ASSUMED};
    turns_judge(&all, &verdict);
    if (interval) {
        return verdict.low > 1 ? SLOWER : verdict.high < 1 ? FASTER : NEITHER;
    }
    return turns_again(&verdict, 1.0) >= TURNS_AGAIN       ? SLOWER
           : turns_again(&verdict, 1.0) <= 1 - TURNS_AGAIN ? FASTER
                                                           : NEITHER;
}

/* What many runs find, as shares of them. */
struct shares {
    double found;     /* the slower one is called slower */
    double wrong;     /* it is called faster */
    double agreement; /* of two runs, both find the same */
};

static struct shares count_findings(size_t launches, double difference, double spread,
                                    bool interval)
{
    struct rng rng;
    double counts[3] = {0, 0, 0};
    ictusi_random_seed(&rng, launches, (uint64_t)(1e6 * (difference + 10 * spread)));
    for (int i = 0; i < RUNS; i++) {
        counts[find(&rng, launches, difference, spread, interval)] += 1.0 / RUNS;
    }
    return (struct shares){counts[SLOWER], counts[FASTER],
                           counts[NEITHER] * counts[NEITHER] + counts[SLOWER] * counts[SLOWER] +
                               counts[FASTER] * counts[FASTER]};
}

/* Over all differences from 0 to 20 %: mean and least agreement, and where fewer than nine of ten
 * runs agree with the most. */
struct agreement {
    double mean, least;
    double doubtful; /* how wide that range is, of the logarithm */
    double wrong;    /* the most, of any difference above 0 */
};

static struct agreement count_agreement(size_t launches, double spread)
{
    struct agreement all = {0, 1, 0, 0};
    for (int i = 0; i < STEPS; i++) {
        const double difference = 0.2 * i / (STEPS - 1);
        const struct shares s = count_findings(launches, difference, spread, false);
        all.mean += s.agreement / STEPS;
        all.least = fmin(all.least, s.agreement);
        all.doubtful += s.agreement < 0.9 * 0.9 + 0.1 * 0.1 ? log(1.2) / STEPS : 0;
        all.wrong = i > 0 ? fmax(all.wrong, s.wrong) : all.wrong;
    }
    printf(
        "%2zu launches, spread %4.1f %%: two runs agree in %5.1f %% on average, %5.1f %% at worst; "
        "doubtful a range of %4.1f %%, contrary to the truth at most %4.2f %%\n",
        launches, 100 * spread, 100 * all.mean, 100 * all.least, 100 * all.doubtful,
        100 * all.wrong);
    return all;
}

static void verdicts_repeat(void)
{
    static const double spreads[] = {0.0, 0.02, 0.1, 0.3};
    static const size_t launches[] = {1, 3, 7, 20};
    for (size_t n = 0; n < sizeof(launches) / sizeof(launches[0]); n++) {
        for (size_t k = 0; k < sizeof(spreads) / sizeof(spreads[0]); k++) {
            const struct agreement all = count_agreement(launches[n], spreads[k]);
            const bool known = launches[n] >= TURNS_LAUNCHES_LEAST;
            /* A few launches cannot know of a spread beyond what is assumed. */
            if (known || spreads[k] <= ASSUMED) {
                const double error = hypot(spreads[k], WITHIN) / sqrt((double)launches[n]);
                const struct shares equal = count_findings(launches[n], 0, spreads[k], false);
                CHECK(all.doubtful <= 4 * error + log(1.2) / STEPS);
                CHECK(all.mean >= 0.9 || spreads[k] > 0.02);
                CHECK(all.wrong <= 0.03);
                CHECK(equal.found + equal.wrong <= 0.05);
            }
        }
    }
}

/* What is clear is found, and little is lost against the interval alone. */
static void clear_cases_are_found(void)
{
    static const struct {
        size_t launches;
        double difference, spread, least;
    } cases[] = {{7, 0.05, 0.02, 0.9},
                 {7, 0.30, 0.10, 0.9},
                 {20, 0.02, 0.02, 0.9},
                 {1, 0.40, 0.02, 0.9},
                 {3, 0.25, 0.02, 0.9}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct shares again =
            count_findings(cases[i].launches, cases[i].difference, cases[i].spread, false);
        const struct shares interval =
            count_findings(cases[i].launches, cases[i].difference, cases[i].spread, true);
        printf("%2zu launches, spread %4.1f %%, difference %4.1f %%: found in %5.1f %%, by the "
               "interval alone in %5.1f %%\n",
               cases[i].launches, 100 * cases[i].spread, 100 * cases[i].difference,
               100 * again.found, 100 * interval.found);
        CHECK(again.found >= cases[i].least);
        CHECK(again.found >= interval.found - 0.1);
    }
}

/* As the definition says, of a normal and of Student's distribution. */
static void again_is_a_probability(void)
{
    struct turns_verdict verdict = {.factor = exp(0.3), .error = 0.1};
    CHECK_NEAR(turns_again(&verdict, 1.0), 0.5 * erfc(-0.3 / (0.1 * sqrt(2) * sqrt(2))), 1e-12);
    CHECK_NEAR(turns_again(&verdict, exp(0.3)), 0.5, 1e-9);
    CHECK_NEAR(turns_again(&verdict, exp(0.4)) + turns_again(&verdict, exp(0.2)), 1, 1e-9);
    const double normal = turns_again(&verdict, 1.0);
    verdict.freedom = 4;
    CHECK(turns_again(&verdict, 1.0) < normal);
    CHECK_NEAR(turns_again(&verdict, exp(0.3 - 2.1318 * 0.1 * sqrt(2))), 0.95, 1e-5);
    verdict.error = INFINITY;
    CHECK_NEAR(turns_again(&verdict, 1.0), 0.5, 1e-12);
    verdict.error = 0;
    CHECK(turns_again(&verdict, 1.0) == 1 && turns_again(&verdict, 2.0) == 0);
}

/* The probability of lying between -t and t, by Simpson's rule; 0 degrees of freedom: normal. */
static double within(double t, size_t freedom)
{
    enum { PARTS = 4000 };
    const double v = (double)freedom;
    const double scale =
        freedom ? exp(lgamma((v + 1) / 2) - lgamma(v / 2)) / sqrt(v * M_PI) : 1 / sqrt(2 * M_PI);
    double sum = 0;
    for (int i = 0; i <= PARTS; i++) {
        const double x = t * i / PARTS;
        const double weight = i == 0 || i == PARTS ? 1 : i % 2 ? 4 : 2;
        sum += weight * scale * (freedom ? pow(1 + x * x / v, -(v + 1) / 2) : exp(-x * x / 2));
    }
    return 2 * sum * t / PARTS / 3;
}

static void verdict_is(const struct turns_launches *all, enum turns_before before)
{
    static const double shares[] = {
        [TURNS_UNKNOWN] = 1, [TURNS_NOT_SLOWER] = 1.5, [TURNS_SLOWER] = 0.5};
    const double n = (double)all->n;
    const bool known = all->n >= 5;
    double mean = 0, square = 0, errors = 0;
    for (size_t i = 0; i < all->n; i++) {
        mean += all->logs[i] / n;
        errors += all->errors[i] * all->errors[i];
    }
    for (size_t i = 0; i < all->n; i++) {
        square += pow(all->logs[i] - mean, 2);
    }
    const double own = all->n > 1 ? sqrt(square / (n - 1)) : 0;
    const double spread = known ? own : fmax(own, ASSUMED);
    const double error =
        shares[before] * sqrt(spread * spread / n + (known ? 0 : errors / (n * n)));
    struct turns_verdict v;
    turns_judge_after(all, before, &v);
    CHECK(v.freedom == (known ? all->n - 1 : 0) && !v.known == !known);
    CHECK_NEAR(log(v.factor), mean, 1e-12);
    CHECK_NEAR(v.spread, spread, 1e-12);
    CHECK_NEAR(v.error, error, 1e-12);
    CHECK_NEAR(log(v.low) + log(v.high), 2 * mean, 1e-9);
    CHECK_NEAR(within((log(v.high) - mean) / error, v.freedom), 0.95, 1e-6);
    const double beyond = (1 - within(fabs(mean) / error, v.freedom)) / 2;
    CHECK_NEAR(v.p, mean > 0 ? beyond : 1 - beyond, 1e-7);
}

/* By Student's distribution where launches show how they differ, and else by what is assumed. */
static void verdicts_are_students(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 5, 7);
    for (size_t n = 1; n <= LAUNCHES_MOST; n++) {
        for (int i = 0; i < 6; i++) {
            double logs[LAUNCHES_MOST];
            double errors[LAUNCHES_MOST];
            const struct turns_launches all = {logs, errors, n, ASSUMED};
            for (size_t k = 0; k < n; k++) {
                logs[k] = 0.02 * (i - 3) + 0.1 * ictusi_random_normal(&rng);
                errors[k] = 0.01 * (1 + (double)k);
            }
            verdict_is(&all, (enum turns_before)(i % 3));
        }
    }
}

/* Equal launches leave no doubt. */
static void equal_launches_are_certain(void)
{
    double logs[] = {0.1, 0.1, 0.1, 0.1, 0.1};
    double errors[] = {1, 1, 1, 1, 1};
    struct turns_verdict v;
    for (int sign = -1; sign <= 1; sign++) {
        for (int i = 0; i < 5; i++) {
            logs[i] = 0.125 * sign;
        }
        turns_judge(&(struct turns_launches){logs, errors, 5, ASSUMED}, &v);
        CHECK(v.p == (sign > 0 ? 0 : 1) && v.error == 0 && v.low == v.high);
    }
}

/* Rounds of one sample each: the error of their median is that of its interval by ranks, widened by
 * the correlation of neighbours. Of 9 rounds, the second and eighth in order enclose it with a
 * probability of 1 - 2 (1 + 9) / 512, of 6 all of them with 1 - 2 / 64. */
static void ratios_are_medians(void)
{
    static const struct {
        double logs[9], factor, low, high, covered, correlation;
        int rounds;
    } cases[] = {
        {{0.3, -0.2, 0.1, -0.4, 0.5, -0.1, 0.2, -0.3, 0}, 0, -0.3, 0.3, 1 - 20.0 / 512, 0, 9},
        {{-0.4, -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4}, 0, -0.3, 0.3, 1 - 20.0 / 512, 2.0 / 3, 9},
        {{-0.2, -0.1, 0.1, 0.3, 0.4, 0.5}, 0.2, -0.2, 0.5, 1 - 2.0 / 64, 0, 6}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct turns one, other;
        struct turns_ratio ratio;
        REQUIRE(!turns_init(&one) && !turns_init(&other));
        for (int i = 0; i < cases[c].rounds; i++) {
            const double mine = 3e-6 * exp(cases[c].logs[i]), theirs = 3e-6;
            REQUIRE(!turns_add(&one, &mine, 1) && !turns_add(&other, &theirs, 1));
        }
        CHECK(!turns_compare(&one, &other, &ratio));
        CHECK(ratio.rounds == (size_t)cases[c].rounds);
        CHECK_NEAR(log(ratio.factor), cases[c].factor, 1e-9);
        const double r = cases[c].correlation;
        const double half = (cases[c].high - cases[c].low) / 2 * sqrt((1 + r) / (1 - r));
        CHECK_NEAR(within(half / ratio.error, 0), cases[c].covered, 1e-6);
        turns_fini(&one);
        turns_fini(&other);
    }
}

/* There is room for so many rounds, whatever they hold, and their ends are told. */
static void rounds_have_ends(void)
{
    struct turns all;
    size_t n = 0;
    double values[7];
    REQUIRE(!turns_init(&all));
    for (int round = 0; round < TURNS_ROUNDS_MAX; round++) {
        const size_t count = (size_t)round % 8;
        for (size_t i = 0; i < count; i++) {
            values[i] = round + 0.125 * (double)i;
        }
        REQUIRE(!turns_add(&all, values, count));
        n += count;
        CHECK(all.ends[round] == n && all.n == n && all.rounds == (size_t)round + 1);
        CHECK(all.medians[round] == (count ? round + 0.125 * (double)(count - 1) / 2 : 0));
        CHECK(n == 0 || all.values[n - 1] == round + 0.125 * (double)(count - 1) || count == 0);
    }
    CHECK(turns_add(&all, values, 1) != 0 && all.n == n);
    turns_fini(&all);
}

int main(void)
{
    verdicts_are_students();
    equal_launches_are_certain();
    ratios_are_medians();
    rounds_have_ends();
    again_is_a_probability();
    clear_cases_are_found();
    verdicts_repeat();
    return check_result();
}
