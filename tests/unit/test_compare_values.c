/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ictus compare on values small enough to be reckoned by hand: by what it compares, which numbers
 * it takes, how far it widens an interval, and what it says.
 */
#include "quoted.h"
#include "results/compare.h"

#include <ictus/bench.h>

/* Of the normal distribution, and Student's for 2 and 3 degrees of freedom, at 97.5 %. */
static const double normal = 1.959963984540054;
static const double student_2 = 4.302652729696142;
static const double student_3 = 3.182446305284263;

static const struct compare_how exactly = {.resamples = 400, .seed = 5};

static struct compared_list list;
static struct compared *last;

/* Compare the launches of two sides. The result is in `last`. Returns how many there are. */
static size_t compare_texts(const char *a, const char *b, const struct compare_how *how)
{
    struct experiment first = {.launches = json_of(a), .members = json_object()};
    struct experiment second = {.launches = json_of(b), .members = json_object()};
    compared_free(&list);
    list = (struct compared_list){NULL, 0, 0};
    CHECK(compared_add(&list, &first, &second, "file", how) == ICTUS_OK);
    last = list.items;
    for (size_t i = 0; i < list.count; i++) {
        CHECK(last->members == second.members && strcmp(last->file, "file") == 0);
    }
    json_decref(first.launches);
    json_decref(first.members);
    json_decref(second.launches);
    json_decref(second.members);
    return list.count;
}

static void is_compared(const char *method, double value_a, double value_b)
{
    CHECK_STR(last->method, method);
    CHECK_NEAR(last->value_a, value_a, 1e-12 * value_a);
    CHECK_NEAR(last->value_b, value_b, 1e-12 * value_b);
    CHECK_NEAR(last->result.ratio, value_b / value_a, 1e-12);
}

static void counts_are(size_t samples_a, size_t samples_b, size_t launches_a, size_t launches_b)
{
    CHECK(last->samples_a == samples_a && last->samples_b == samples_b);
    CHECK(last->launches_a == launches_a && last->launches_b == launches_b);
}

/* The interval of a ratio whose logarithm has this error. */
static void interval_is(double error, double wide)
{
    CHECK_NEAR(last->result.low, last->result.ratio * exp(-wide * error), 1e-9);
    CHECK_NEAR(last->result.high, last->result.ratio * exp(wide * error), 1e-9);
}

/* Five launches a side are judged by what they differ, whatever is assumed of launches. */
static void many_launches_judge_themselves(void)
{
    static const struct compare_how how = {.resamples = 100, .spread = {0.5, 0, false}};
    static const char *const keys[] = {"median_s", "mean_s", "min_s"};
    for (size_t i = 0; i < 3; i++) {
        char a[512], b[512];
        (void)snprintf(a, sizeof a,
                       "[{'%s': 3}, {'%s': 1}, {'%s': 5}, {'%s': 0}, {'%s': 2}, {'%s': 4}]",
                       keys[i], keys[i], keys[i], keys[i], keys[i], keys[i]);
        (void)snprintf(b, sizeof b,
                       "[{'%s': 10}, {'%s': 7}, {'%s': 'x'}, {'%s': 6}, {'%s': 8}, {'%s': 9}]",
                       keys[i], keys[i], keys[i], keys[i], keys[i], keys[i]);
        REQUIRE(compare_texts(a, b, &how) == 1);
        is_compared("launches", 3, 8);
        counts_are(5, 5, 6, 6);
        CHECK_NEAR(last->result.p, 2.0 / 252, 1e-12);
        /* Three of 25 pairs may be lost at each end: 6/5, 7/5, 6/4 and 10/1, 9/1, 8/1. */
        CHECK_NEAR(last->result.low, 1.6, 1e-12);
        CHECK_NEAR(last->result.high, 7, 1e-12);
        CHECK(last->spread.share == 0);
    }
    /* Four are too few. */
    REQUIRE(compare_texts("[{'mean_s': 1}, {'mean_s': 1}, {'mean_s': 1}, {'mean_s': 1}]",
                          "[{'mean_s': 1}, {'mean_s': 1}, {'mean_s': 1}, {'mean_s': 1}, {'mean_s': "
                          "1}]",
                          &how) == 1);
    is_compared("values", 1, 1);
    /* The median is more robust than the mean, and the mean than the minimum. */
    REQUIRE(compare_texts("[{'min_s': 1, 'mean_s': 2, 'median_s': 3}]",
                          "[{'min_s': 7, 'mean_s': 8, 'median_s': 9}]", &how) == 1);
    is_compared("values", 3, 9);
    REQUIRE(compare_texts("[{'min_s': 1, 'mean_s': 2}]", "[{'min_s': 7, 'mean_s': 8}]", &how) == 1);
    is_compared("values", 2, 8);
}

/* All samples of a launch count, those that are no times apart. */
static void samples_are_compared(void)
{
    static const double a[] = {1, 2, 4, 6, 7}, b[] = {3, 5, 8, 9, 10, 11};
    struct comparison wanted;
    static const struct sample first = {a, 5, 5}, second = {b, 6, 6};
    REQUIRE(compare_texts("[{'raw_s': [4, 0, 2, -1, 1, 7, 6], 'median_s': 1}]",
                          "[{'raw_s': [11, 5, 3, 8, 9, 10], 'median_s': 1}]", &exactly) == 1);
    is_compared("samples", 4, 8.5);
    counts_are(5, 6, 1, 1);
    compare_samples(&first, &second, exactly.resamples, exactly.seed, &wanted);
    CHECK(last->result.low == wanted.low && last->result.high == wanted.high);
    CHECK(last->result.p == wanted.p);
    /* With a spread between launches. */
    static const struct compare_how assuming = {
        .resamples = 400, .seed = 5, .spread = {0.2, 0, false}};
    REQUIRE(compare_texts("[{'raw_s': [4, 2, 1, 7, 6]}]", "[{'raw_s': [11, 5, 3, 8, 9, 10]}]",
                          &assuming) == 1);
    CHECK(last->spread.share == 0.2 && last->spread.freedom == 0);
    const double within = log(wanted.high / wanted.low) / (2 * normal);
    interval_is(sqrt(within * within + 0.08), normal);
    /* Not where there are fewer than five, or several launches. */
    REQUIRE(compare_texts("[{'raw_s': [4, 2, 1, 7]}]", "[{'raw_s': [3, 5, 8, 9, 10]}]", &exactly) ==
            1);
    is_compared("values", 3, 8);
    counts_are(4, 5, 1, 1);
    REQUIRE(compare_texts("[{'raw_s': [4, 2, 1, 7, 6]}, {'raw_s': [4, 2, 1, 7, 6]}]",
                          "[{'raw_s': [3, 5, 8, 9, 10]}]", &exactly) == 1);
    CHECK_STR(last->method, "values");
    REQUIRE(compare_texts("[{'raw_s': [4, 2, 1, 7, 6]}]",
                          "[{'raw_s': [3, 5, 8, 9, 10]}, {'raw_s': [3, 5, 8, 9, 10]}]",
                          &exactly) == 1);
    CHECK_STR(last->method, "values");
}

/* Samples of a machine that changed meanwhile say as much as fewer independent ones. */
static void dependent_samples_count_less(void)
{
    enum { COUNT = 200 };
    static double a[COUNT], b[COUNT];
    static char text_a[4096], text_b[4096];
    struct ictus_summary summary_a, summary_b;
    struct comparison wanted;
    char *end_a = stpcpy(text_a, "[{'raw_s': ["), *end_b = stpcpy(text_b, "[{'raw_s': [");
    for (int i = 0; i < COUNT; i++) { /* sorted as they come */
        a[i] = i < COUNT / 2 ? 1 + i * 0.001 : 2 + i * 0.001;
        b[i] = 3 + i * 0.001;
        end_a += sprintf(end_a, "%s%.3f", i ? "," : "", a[i]);
        end_b += sprintf(end_b, "%s%.3f", i ? "," : "", b[i]);
    }
    (void)strcpy(end_a, "]}]");
    (void)strcpy(end_b, "]}]");
    CHECK(ictus_summarize_series(a, COUNT, &summary_a) == ICTUS_OK && summary_a.effective < COUNT);
    CHECK(ictus_summarize_series(b, COUNT, &summary_b) == ICTUS_OK && summary_b.effective < COUNT);
    const double student = (1.960 / 2.262) * (1.960 / 2.262);
    const struct sample first = {a, COUNT, fmax(2, summary_a.effective * student)};
    const struct sample second = {b, COUNT, fmax(2, summary_b.effective * student)};
    compare_samples(&first, &second, exactly.resamples, exactly.seed, &wanted);
    REQUIRE(compare_texts(text_a, text_b, &exactly) == 1);
    CHECK_STR(last->method, "samples");
    CHECK_NEAR(last->result.low, wanted.low, 1e-9);
    CHECK_NEAR(last->result.high, wanted.high, 1e-9);
    CHECK_NEAR(last->result.p, wanted.p, 1e-12);
}

static void intervals_are_compared(void)
{
    REQUIRE(compare_texts("[{'median_s': 10, 'ci95_low_s': 9, 'ci95_high_s': 12, 'n': 40}]",
                          "[{'median_s': 20, 'ci95_low_s': 18, 'ci95_high_s': 21, 'n': 50}]",
                          &exactly) == 1);
    is_compared("intervals", 10, 20);
    counts_are(40, 50, 1, 1);
    const double error_a = log(12.0 / 9) / (2 * normal), error_b = log(21.0 / 18) / (2 * normal);
    interval_is(hypot(error_a, error_b), normal);
    CHECK(last->result.p < 1e-6);
    /* Two launches: the geometric mean, with the error of a mean. */
    REQUIRE(compare_texts("[{'median_s': 8, 'ci95_low_s': 6, 'ci95_high_s': 12, 'n': 40},"
                          " {'median_s': 18, 'ci95_low_s': 15, 'ci95_high_s': 20, 'n': 2}]",
                          "[{'median_s': 12, 'ci95_low_s': 10, 'ci95_high_s': 14}]",
                          &exactly) == 1);
    CHECK_STR(last->method, "intervals");
    CHECK_NEAR(last->value_a, 12, 1e-9);
    counts_are(42, 0, 2, 1);
    const double one = 0.5 * log(12.0 / 6), two = 0.5 * log(20.0 / 15), b = 0.5 * log(14.0 / 10);
    const double own = fabs(log(8.0 / 18)) / sqrt(2); /* of two launches, 1 degree of freedom */
    const double within = hypot(hypot(one, two) / 2, b) / normal;
    interval_is(sqrt(within * within + own * own * 1.5), normal);
    CHECK_NEAR(last->spread.share, own, 1e-12);
    /* One launch without an interval: there is none. */
    REQUIRE(compare_texts("[{'median_s': 8, 'ci95_low_s': 6, 'ci95_high_s': 12}, {'median_s': 18}]",
                          "[{'median_s': 12, 'ci95_low_s': 10, 'ci95_high_s': 14}]",
                          &exactly) == 1);
    CHECK_STR(last->method, "values");
    REQUIRE(compare_texts("[{'median_s': 12, 'ci95_low_s': 10, 'ci95_high_s': 14}]",
                          "[{'median_s': 8, 'ci95_low_s': 6, 'ci95_high_s': 12}, {'median_s': 18}]",
                          &exactly) == 1);
    is_compared("values", 12, 13);
    CHECK(compare_texts("[{'median_s': -8, 'ci95_low_s': 6, 'ci95_high_s': 12}]",
                        "[{'median_s': 12, 'ci95_low_s': 10, 'ci95_high_s': 14}]", &exactly) == 0);
}

/*
 * Launches of both sides are pooled by their degrees of freedom: a side with more launches has more
 * to say of how much launches differ.
 */
static void own_launches_are_pooled(void)
{
    static const char three[] = "[{'median_s': 8, 'ci95_low_s': 8, 'ci95_high_s': 8},"
                                " {'median_s': 10, 'ci95_low_s': 10, 'ci95_high_s': 10},"
                                " {'median_s': 12.5, 'ci95_low_s': 12.5, 'ci95_high_s': 12.5}]";
    static const char two[] = "[{'median_s': 20, 'ci95_low_s': 20, 'ci95_high_s': 20},"
                              " {'median_s': 80, 'ci95_low_s': 80, 'ci95_high_s': 80}]";
    struct compare_how how = {.resamples = 100, .spread = {0.01, 3, false}};
    const double few = log(4) * log(4) / 2, many = log(1.25) * log(1.25); /* variances */
    const double pooled = sqrt((2 * many + 1 * few) / 3);
    REQUIRE(compare_texts(three, two, &how) == 1);
    is_compared("intervals", 10, 40);
    counts_are(0, 0, 3, 2);
    CHECK_NEAR(last->spread.share, pooled, 1e-12);
    interval_is(pooled * sqrt(1 / 3.0 + 1 / 2.0), student_3);
    REQUIRE(compare_texts(two, three, &how) == 1);
    CHECK_NEAR(last->spread.share, pooled, 1e-12);
    interval_is(pooled * sqrt(1 / 3.0 + 1 / 2.0), student_3);
    how.spread.share = 2; /* all experiments together show more */
    REQUIRE(compare_texts(two, three, &how) == 1);
    CHECK(last->spread.share == 2);
    interval_is(2 * sqrt(1 / 3.0 + 1 / 2.0), student_3);
}

/* Bare values are judged only by a spread that was seen. */
static void bare_values_are_not_judged(void)
{
    struct compare_how how = {.resamples = 100, .spread = {0.1, 0, false}};
    REQUIRE(compare_texts("[{'mean_s': 4}]", "[{'mean_s': 5}]", &how) == 1);
    is_compared("values", 4, 5);
    CHECK(isnan(last->result.low) && isnan(last->result.high) && isnan(last->result.p));
    counts_are(1, 1, 1, 1);
    how.spread.freedom = 3;
    REQUIRE(compare_texts("[{'mean_s': 4}]", "[{'mean_s': 5}]", &how) == 1);
    interval_is(0.1 * sqrt(2), student_3);
    CHECK(last->result.p > 0.1 && last->result.p < 0.3); /* 1.58 deviations, 3 of freedom */
    how.spread.freedom = 1;
    REQUIRE(compare_texts("[{'mean_s': 4}]", "[{'mean_s': 4}]", &how) == 1);
    CHECK(last->result.p == 1 && last->result.low < 0.5 && last->result.high > 2);
    how.spread.share = 0; /* and launches that never differ */
    REQUIRE(compare_texts("[{'mean_s': 4}]", "[{'mean_s': 5}]", &how) == 1);
    CHECK(last->result.p == 0 && last->result.low == 1.25 && last->result.high == 1.25);
    REQUIRE(compare_texts("[{'mean_s': 4}]", "[{'mean_s': 8}]", &how) == 1);
    CHECK(last->result.p == 0 && last->result.low == 2 && last->result.high == 2);
    REQUIRE(compare_texts("[{'mean_s': 4}]", "[{'mean_s': 4}]", &how) == 1);
    CHECK(last->result.p == 1 && last->result.low == 1 && last->result.high == 1);
    /* Nothing in common. */
    CHECK(compare_texts("[{'mean_s': 4}]", "[{'median_s': 5}]", &how) == 0);
    CHECK(compare_texts("[{'mean_s': 0}]", "[{'mean_s': 5}]", &how) == 0);
    CHECK(compare_texts("[{'mean_s': 4}]", "[{'mean_s': null}]", &how) == 0);
    CHECK(list.unlike == 0);
}

/* What ictus merge has combined of enough launches has an interval of launches. */
static void combined_launches_are_not_widened(void)
{
    static const struct {
        int a, b;
        bool widened;
    } cases[] = {{6, 6, false}, {6, 5, true}, {5, 6, true}, {1, 6, true}, {0, 6, true}};
    static const struct compare_how how = {.resamples = 100, .spread = {0.3, 2, false}};
    static const char object[] = "[{'median_s': %d, 'ci95_low_s': %d, 'ci95_high_s': %d, "
                                 "'launches': %d}]";
    const double within = hypot(log(11.0 / 9), log(21.0 / 19)) / (2 * normal);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char a[128], b[128];
        (void)snprintf(a, sizeof a, object, 10, 9, 11, cases[i].a);
        (void)snprintf(b, sizeof b, object, 20, 19, 21, cases[i].b);
        REQUIRE(compare_texts(a, b, &how) == 1);
        is_compared("intervals", 10, 20);
        const double launches = cases[i].a ? cases[i].a : 1;
        counts_are(0, 0, (size_t)launches, (size_t)cases[i].b);
        if (cases[i].widened) {
            interval_is(hypot(within, 0.3 * sqrt(1 / launches + 1.0 / cases[i].b)), student_2);
        } else {
            interval_is(within, normal);
        }
        CHECK(last->spread.share == (cases[i].widened ? 0.3 : 0));
    }
    /* Several objects are launches themselves. */
    REQUIRE(compare_texts("[{'mean_s': 1, 'launches': 9}, {'mean_s': 1}]", "[{'mean_s': 1}]",
                          &how) == 1);
    counts_are(2, 1, 2, 1);
}

/* By the message, where both are of a window of them. */
static void windows_are_compared_by_message(void)
{
    static const char one[] =
        "[{'median_s': 1, 'ci95_low_s': 0.5, 'ci95_high_s': 3, 'messages': 1}]";
    static const char four[] =
        "[{'median_s': 8, 'ci95_low_s': 7, 'ci95_high_s': 9, 'messages': 4}]";
    const double error = hypot(log(3 / 0.5), log(9.0 / 7)) / (2 * normal);
    REQUIRE(compare_texts(one, four, &exactly) == 1);
    is_compared("intervals", 1, 2);
    interval_is(error, normal);
    REQUIRE(compare_texts(four, one, &exactly) == 1);
    is_compared("intervals", 2, 1);
    interval_is(error, normal);
    REQUIRE(compare_texts("[{'mean_s': 64, 'messages': 64}]", "[{'mean_s': 8, 'messages': 4}]",
                          &exactly) == 1);
    is_compared("values", 1, 2);
    REQUIRE(compare_texts("[{'mean_s': 64, 'messages': 64}]", "[{'mean_s': 128, 'messages': 64}]",
                          &exactly) == 1);
    is_compared("values", 64, 128);
    CHECK(compare_texts("[{'mean_s': 64, 'messages': 1}]", "[{'mean_s': 128}]", &exactly) == 0);
    CHECK(list.unlike == 1);
    CHECK(compare_texts("[{'mean_s': 64}]", "[{'mean_s': 128, 'messages': 1}]", &exactly) == 0);
    CHECK(list.unlike == 1);
}

static void spread_is(const char *a, const char *b, double share, double freedom)
{
    struct experiments first, second;
    struct ictus_why why;
    json_t *mine = json_of(a), *theirs = json_of(b);
    REQUIRE(experiments_gather(mine, &first, &why) == ICTUS_OK);
    REQUIRE(experiments_gather(theirs, &second, &why) == ICTUS_OK);
    const struct launch_spread spread = compare_spread(&first, &second, 0.1);
    CHECK_NEAR(spread.share, share, 1e-12);
    CHECK(spread.freedom == freedom);
    json_decref(mine);
    json_decref(theirs);
    experiments_free(&first);
    experiments_free(&second);
}

/* The mean variance of experiments of several launches; from two degrees of freedom on. */
static void spread_is_seen(void)
{
#define ROW(name, time) "{'type': 'measurement', 'operation': '" name "', 'median_s': " time "}"
    const double four = log(4) * log(4) / 2, two = log(2) * log(2) / 2; /* variances of pairs */
    spread_is("[" ROW("x", "1") "]", "[" ROW("x", "9") "]", 0.1, 0);
    spread_is("[" ROW("x", "1") "," ROW("x", "4") "]", "[" ROW("x", "9") "]", sqrt(four), 0);
    spread_is("[" ROW("x", "1") "," ROW("x", "1.01") "]", "[" ROW("x", "9") "]", 0.1, 0);
    spread_is("[" ROW("x", "1") "," ROW("x", "4") "]", "[" ROW("x", "9") "," ROW("x", "18") "]",
              sqrt((four + two) / 2), 2);
    /* A launch moves all of its experiments: two of two launches have one degree of freedom. */
    spread_is("[" ROW("x", "1") "," ROW("x", "4") "," ROW("y", "1") "," ROW("y", "2") "," ROW(
                  "z", "5") "]",
              "[" ROW("x", "9") "," ROW("x", "9.0") "]", sqrt((four + two) / 3), 2);
    spread_is("[" ROW("x", "1") "," ROW("x", "2") "," ROW("x", "4") "]", "[" ROW("x", "9") "]",
              log(2), 2);
#undef ROW
}

static void verdict_is(struct comparison result, enum verdict wanted, const char *words)
{
    struct compared item = {.result = result};
    struct compared_list one = {&item, 1, 0};
    char text[80];
    compared_judge(&one, 0.05);
    CHECK(item.verdict == wanted && item.p_adjusted == result.p);
    compared_words(&item, text, sizeof text);
    CHECK_STR(text, words);
}

static void verdicts_are_told(void)
{
    verdict_is((struct comparison){1.25, 1.01, 1.5, 0.03}, VERDICT_SLOWER, "slower by 25 %");
    verdict_is((struct comparison){1.25, 1.01, 1.5, 0.031}, VERDICT_UNCLEAR, "no difference shown");
    verdict_is((struct comparison){1.25, 0.99, 1.5, 0.01}, VERDICT_UNCLEAR, "no difference shown");
    verdict_is((struct comparison){0.8, 0.7, 0.99, 0.03}, VERDICT_FASTER, "faster by 20 %");
    verdict_is((struct comparison){0.8, 0.7, 0.99, 0.031}, VERDICT_UNCLEAR, "no difference shown");
    verdict_is((struct comparison){0.8, 0.7, 1.01, 0.01}, VERDICT_UNCLEAR, "no difference shown");
    verdict_is((struct comparison){1.01, 0.96, 1.04, 0.5}, VERDICT_SAME, "the same");
    verdict_is((struct comparison){1.03, 1.02, 1.04, 0.001}, VERDICT_SAME, "the same");
    verdict_is((struct comparison){1.01, 0.95, 1.04, 0.5}, VERDICT_UNCLEAR, "no difference shown");
    verdict_is((struct comparison){1.01, 0.96, 1.06, 0.5}, VERDICT_UNCLEAR, "no difference shown");
    /* An interval that ends at a bound does not say that it is beyond. */
    verdict_is((struct comparison){1.25, 1, 1.5, 0.01}, VERDICT_UNCLEAR, "no difference shown");
    verdict_is((struct comparison){0.8, 0.7, 1, 0.01}, VERDICT_UNCLEAR, "no difference shown");
    verdict_is((struct comparison){1, 1 / 1.05, 1.04, 0.5}, VERDICT_UNCLEAR, "no difference shown");
    verdict_is((struct comparison){1, 0.99, 1.05, 0.5}, VERDICT_UNCLEAR, "no difference shown");
    struct compared items[] = {{.result = {1.25, NAN, NAN, NAN}},
                               {.result = {0.2, 0.1, 0.3, 0.02}},
                               {.result = {5, 4, 6, 0.002}}};
    struct compared_list three = {items, 3, 0};
    compared_judge(&three, 0.05);
    CHECK(items[0].verdict == VERDICT_BARE && isnan(items[0].p_adjusted));
    /* Two that count: the larger p stays, the smaller one is doubled. */
    CHECK(items[1].verdict == VERDICT_FASTER && items[1].p_adjusted == 0.02);
    CHECK(items[2].verdict == VERDICT_SLOWER && items[2].p_adjusted == 0.004);
    CHECK_NEAR(compared_mean_ratio(&three), cbrt(1.25), 1e-12);
    char text[80];
    compared_words(&items[0], text, sizeof text);
    CHECK_STR(text, "+25 %, cannot be judged");
}

int main(void)
{
    many_launches_judge_themselves();
    samples_are_compared();
    dependent_samples_count_less();
    intervals_are_compared();
    own_launches_are_pooled();
    bare_values_are_not_judged();
    combined_launches_are_not_widened();
    windows_are_compared_by_message();
    spread_is_seen();
    verdicts_are_told();
    compared_free(&list);
    return check_result();
}
