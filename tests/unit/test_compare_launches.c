/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ictus compare against simulated truth: launches whose level differs from launch to launch by a
 * known share, with and without a true difference. If there is none, a difference must not be
 * reported in more than 5 % of tries, whatever the spread between launches. With seven launches per
 * side that differ by 2 %, a slowdown of 5 % must be found in 90 % of tries.
 */
#include "../check.h"
#include "results/compare.h"

#include <core/random.h>

enum { TRIES = 200, SAMPLES = 60 };

/* The default of --launch-spread. */
#define ASSUMED 0.18

/* What the object of a launch contains. */
enum tells { RAW, INTERVALS, MEANS };

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static json_t *make_launch(struct rng *rng, double scale, double spread, enum tells tells)
{
    enum { LOW = 22, HIGH = 37 }; /* ranks of the 95 % interval of the median of 60 */
    double values[SAMPLES];
    double sum = 0.0;
    json_t *raw = json_array();
    json_t *launch = json_pack("{s:s, s:s, s:I}", "type", "measurement", "operation", "bcast",
                               "bytes", (json_int_t)8);
    const double level = 1e-6 * scale * exp(spread * ictusi_random_normal(rng));
    for (int i = 0; i < SAMPLES; i++) {
        values[i] = level * (1 + 0.05 * ictusi_random_exponential(rng));
        sum += values[i];
        (void)json_array_append_new(raw, json_real(values[i]));
    }
    qsort(values, SAMPLES, sizeof(*values), compare_reals);
    (void)json_object_set_new(launch, "mean_s", json_real(sum / SAMPLES));
    if (tells != MEANS) {
        const double median = 0.5 * (values[SAMPLES / 2 - 1] + values[SAMPLES / 2]);
        (void)json_object_set_new(launch, "median_s", json_real(median));
        (void)json_object_set_new(launch, "ci95_low_s", json_real(values[LOW]));
        (void)json_object_set_new(launch, "ci95_high_s", json_real(values[HIGH]));
    }
    if (tells == RAW) {
        (void)json_object_set(launch, "raw_s", raw);
    }
    json_decref(raw);
    return launch;
}

static void make_file(struct rng *rng, int launches, double scale, double spread, enum tells tells,
                      struct experiments *file)
{
    struct ictus_why why;
    json_t *objects = json_array();
    for (int i = 0; i < launches; i++) {
        (void)json_array_append_new(objects, make_launch(rng, scale, spread, tells));
    }
    CHECK(experiments_gather(objects, file, &why) == ICTUS_OK);
    json_decref(objects);
}

struct tried {
    enum verdict verdict;
    struct launch_spread spread;
    size_t launches_a;
};

static struct tried try_once(struct rng *rng, int n, int m, double slower, double spread,
                             enum tells tells)
{
    struct experiments a;
    struct experiments b;
    struct compared_list list = {NULL, 0, 0};
    struct compare_how how = {.resamples = 200, .seed = 1};
    make_file(rng, n, 1.0, spread, tells, &a);
    make_file(rng, m, slower, spread, tells, &b);
    how.spread = compare_spread(&a, &b, ASSUMED);
    CHECK(compared_add(&list, &a.list[0], &b.list[0], "b", &how) == ICTUS_OK);
    REQUIRE(list.count == 1);
    compared_judge(&list, 0.02);
    const struct tried tried = {list.items[0].verdict, list.items[0].spread,
                                list.items[0].launches_a};
    compared_free(&list);
    experiments_free(&a);
    experiments_free(&b);
    return tried;
}

/* The number of tries in which a difference is reported. */
static int count_calls(int n, int m, double slower, double spread, enum tells tells)
{
    struct rng rng;
    int slow = 0;
    int fast = 0;
    ictusi_random_seed(&rng, (uint64_t)(1000 * spread) + 7,
                       (uint64_t)(n * 100 + m * 10 + (int)tells));
    for (int i = 0; i < TRIES; i++) {
        const struct tried tried = try_once(&rng, n, m, slower, spread, tells);
        slow += tried.verdict == VERDICT_SLOWER;
        fast += tried.verdict == VERDICT_FASTER;
    }
    printf("%d and %d launches, spread %g %%, ratio %g, tells %d: %d slower, %d faster of %d\n", n,
           m, 100 * spread, slower, (int)tells, slow, fast, TRIES);
    return slower > 1 ? slow : slow + fast;
}

static void test_equals(void)
{
    static const int launches[][2] = {{1, 1}, {2, 1}, {2, 2}, {3, 3}, {7, 1}, {7, 7}};
    static const double spreads[] = {0.0, 0.02, 0.1};
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
        for (size_t k = 0; k < sizeof(spreads) / sizeof(spreads[0]); k++) {
            for (int tells = RAW; tells <= MEANS; tells++) {
                CHECK(count_calls(launches[i][0], launches[i][1], 1.0, spreads[k],
                                  (enum tells)tells) <= TRIES / 20);
            }
        }
    }
}

static void test_slowdown(void)
{
    CHECK(count_calls(7, 7, 1.05, 0.02, INTERVALS) >= TRIES * 9 / 10);
    CHECK(count_calls(7, 7, 1.05, 0.02, MEANS) >= TRIES * 9 / 10);
    /* A difference that no spread between launches explains is reported even with one launch. */
    CHECK(count_calls(1, 1, 2.0, 0.02, INTERVALS) >= TRIES * 9 / 10);
    CHECK(count_calls(1, 1, 2.0, 0.02, RAW) >= TRIES * 9 / 10);
}

static void test_spread(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 3, 3);
    const struct tried one = try_once(&rng, 1, 1, 1.0, 0.0, RAW);
    CHECK(one.spread.freedom == 0 && one.spread.share == ASSUMED && one.launches_a == 1);
    const struct tried bare = try_once(&rng, 1, 1, 1.0, 0.0, MEANS);
    CHECK(bare.verdict == VERDICT_BARE && bare.spread.share == 0);
    const struct tried known = try_once(&rng, 4, 1, 1.0, 0.02, INTERVALS);
    CHECK(known.spread.freedom == 3 && known.spread.share > 0.002 && known.spread.share < 0.06);
}

/* A host that puts two processes on cores of one kind or another, as its own hypervisor likes. */
static json_t *make_hosted(struct rng *rng, double scale, bool told, enum tells tells)
{
    static const double apart = 2.2;  /* so much longer take collectives there */
    static const double trips = 3.25; /* and trips through shared memory */
    const bool away = ictusi_random_uniform(rng) < 0.3;
    json_t *launch = make_launch(rng, scale * (away ? apart : 1), 0.02, tells);
    const double trip = 1.5e-7 * (away ? trips : 1) * exp(0.02 * ictusi_random_normal(rng));
    (void)json_object_set_new(launch, "node_trip_s", told ? json_real(trip) : json_null());
    (void)json_object_set_new(launch, "node_trip_spread", told ? json_real(0.02) : json_null());
    return launch;
}

/* How many single launches on such a host seem to differ. */
static int count_hosted(double slower, bool told, enum tells tells)
{
    struct rng rng;
    int calls = 0;
    ictusi_random_seed(&rng, 11, (uint64_t)tells);
    for (int i = 0; i < TRIES; i++) {
        struct experiments files[2];
        struct compared_list list = {NULL, 0, 0};
        struct ictus_why why;
        for (int k = 0; k < 2; k++) {
            json_t *objects = json_array();
            (void)json_array_append_new(objects, make_hosted(&rng, k ? slower : 1.0, told, tells));
            CHECK(experiments_gather(objects, &files[k], &why) == ICTUS_OK);
            json_decref(objects);
        }
        const struct compare_how how = {
            .resamples = 200, .seed = 1, .spread = compare_spread(&files[0], &files[1], ASSUMED)};
        CHECK(compared_add(&list, &files[0].list[0], &files[1].list[0], "b", &how) == ICTUS_OK);
        REQUIRE(list.count == 1);
        compared_judge(&list, 0.02);
        calls += list.items[0].verdict == VERDICT_SLOWER ||
                 (slower <= 1 && list.items[0].verdict == VERDICT_FASTER);
        CHECK(list.items[0].spread.host == (told && list.items[0].spread.share > ASSUMED));
        compared_free(&list);
        experiments_free(&files[0]);
        experiments_free(&files[1]);
    }
    printf("host of two kinds, trips %s, ratio %g, tells %d: %d of %d\n",
           told ? "known" : "not known", slower, (int)tells, calls, TRIES);
    return calls;
}

/*
 * No assumption covers a host that doubles its times from launch to launch. Trips through its
 * memory show that it did, and where it did not a doubled time is still found.
 */
static void test_hosts(void)
{
    for (int tells = RAW; tells <= INTERVALS; tells++) {
        CHECK(count_hosted(1.0, false, (enum tells)tells) > TRIES / 4);
        CHECK(count_hosted(1.0, true, (enum tells)tells) <= TRIES / 20);
        CHECK(count_hosted(2.0, true, (enum tells)tells) >=
              TRIES / 2); /* 0.58 of pairs are alike */
    }
}

/* The verdict of two launches with equal times on a host whose trips took `apart` times as long in
 * the second, and its interval. */
static enum verdict verdict_of_hosts(double apart, struct comparison *result)
{
    struct rng rng;
    struct ictus_why why;
    struct experiments files[2];
    struct compared_list list = {NULL, 0, 0};
    const struct compare_how how = {.resamples = 200, .seed = 1, .spread = {ASSUMED, 0, false}};
    ictusi_random_seed(&rng, 17, 1);
    for (int k = 0; k < 2; k++) {
        json_t *objects = json_array();
        json_t *launch = make_launch(&rng, k ? apart : 1.0, 0, RAW);
        (void)json_object_set_new(launch, "node_trip_s", json_real(1e-7 * (k ? apart : 1.0)));
        (void)json_object_set_new(launch, "node_trip_spread", json_real(0.02));
        (void)json_array_append_new(objects, launch);
        CHECK(experiments_gather(objects, &files[k], &why) == ICTUS_OK);
        json_decref(objects);
    }
    CHECK(compared_add(&list, &files[0].list[0], &files[1].list[0], "b", &how) == ICTUS_OK);
    REQUIRE(list.count == 1);
    compared_judge(&list, 0.02);
    *result = list.items[0].result;
    const enum verdict verdict = list.items[0].verdict;
    compared_free(&list);
    experiments_free(&files[0]);
    experiments_free(&files[1]);
    return verdict;
}

/* An interval from a thousandth to a thousand says nothing, and is not shown. */
static void test_hidden(void)
{
    struct comparison result;
    CHECK(verdict_of_hosts(3.9, &result) == VERDICT_UNCLEAR);
    CHECK(result.low < 1 && result.high > 10 && isfinite(result.high));
    CHECK(verdict_of_hosts(1 / 4.2, &result) == VERDICT_HOST);
    CHECK(verdict_of_hosts(400, &result) == VERDICT_HOST);
    CHECK(result.ratio > 300 && isnan(result.low) && isnan(result.high) && isnan(result.p));
}

/* A launch whose samples drifted differs from the next one by as much. */
static void test_drift(void)
{
    struct ictus_why why;
    struct experiments files[2];
    struct compared_list list = {NULL, 0, 0};
    const struct compare_how how = {.resamples = 200, .seed = 1, .spread = {ASSUMED, 0, false}};
    for (int k = 0; k < 2; k++) {
        json_t *objects = json_pack(
            "[{s:s, s:s, s:I, s:f, s:f, s:f, s:i, s:f}]", "type", "measurement", "operation",
            "bcast", "bytes", (json_int_t)8, "median_s", 1e-6, "ci95_low_s", k ? 0.8e-6 : 0.99e-6,
            "ci95_high_s", k ? 1.25e-6 : 1.01e-6, "n", 1000, "n_effective", k ? 300.0 : 900.0);
        CHECK(experiments_gather(objects, &files[k], &why) == ICTUS_OK);
        json_decref(objects);
    }
    CHECK(!compared_add(&list, &files[0].list[0], &files[1].list[0], "b", &how));
    REQUIRE(list.count == 1);
    CHECK(list.items[0].spread.host && list.items[0].spread.freedom == 0);
    CHECK_NEAR(list.items[0].spread.share, 0.5 * log(1.25 / 0.8) / 2.262 * sqrt(10), 1e-9);
    compared_free(&list);
    experiments_free(&files[0]);
    experiments_free(&files[1]);
}

/* The time of a window of messages is not the time of a message. */
static void test_units(void)
{
    struct ictus_why why;
    struct experiments files[3];
    static const double median[] = {64e-6, 1.1e-6, 16e-6};
    static const int messages[] = {64, 1, 0};
    for (int i = 0; i < 3; i++) {
        json_t *object = json_pack("[{s:s, s:s, s:I, s:f}]", "type", "measurement", "operation",
                                   "bandwidth", "bytes", (json_int_t)8, "median_s", median[i]);
        if (messages[i] > 0) {
            (void)json_object_set_new(json_array_get(object, 0), "messages",
                                      json_integer(messages[i]));
        }
        CHECK(experiments_gather(object, &files[i], &why) == ICTUS_OK);
        json_decref(object);
    }
    struct compared_list list = {NULL, 0, 0};
    const struct compare_how how = {.resamples = 200, .seed = 1};
    CHECK(!compared_add(&list, &files[0].list[0], &files[1].list[0], "b", &how));
    CHECK(!compared_add(&list, &files[0].list[0], &files[2].list[0], "b", &how));
    REQUIRE(list.count == 1);
    CHECK_NEAR(list.items[0].result.ratio, 1.1, 1e-9);
    CHECK_NEAR(list.items[0].value_a, 1e-6, 1e-15);
    CHECK(list.unlike == 1);
    compared_free(&list);
    for (int i = 0; i < 3; i++) {
        experiments_free(&files[i]);
    }
}

static void is_described(json_t *members, size_t size, const char *wanted)
{
    char text[160];
    REQUIRE(members && size <= sizeof text);
    experiment_describe(members, text, size);
    CHECK_STR(text, wanted);
    json_decref(members);
}

/* Each part for people, apart from the next, and what matters most first. */
static void test_descriptions(void)
{
    is_described(json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:s}", "root", 2, "scheme", "barrier",
                           "algorithm", "ring", "operation", "x", "bytes", 65536, "processes", 4,
                           "datatype", "float"),
                 160, "x, 64 KiB, 4 processes, ring, barrier, root 2, float");
    static const struct {
        int64_t bytes;
        const char *wanted;
    } sizes[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1 KiB"},
                 {1025, "1025 B"},
                 {3072, "3 KiB"},
                 {1048576, "1 MiB"},
                 {INT64_C(5368709120), "5 GiB"},
                 {INT64_C(1099511627776), "1024 GiB"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        is_described(json_pack("{s:I}", "bytes", (json_int_t)sizes[i].bytes), 160, sizes[i].wanted);
    }
    /* What has no room is left out, or cut. */
    is_described(json_pack("{s:s, s:i}", "operation", "bcast", "processes", 4), 9, "bcast");
    is_described(json_pack("{s:s, s:i}", "operation", "bcast", "processes", 4), 10, "bcast, 4 ");
}

int main(void)
{
    test_descriptions();
    test_equals();
    test_slowdown();
    test_spread();
    test_hosts();
    test_hidden();
    test_drift();
    test_units();
    return check_result();
}
