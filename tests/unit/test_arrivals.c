/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrival patterns: planted ones are found, written ones read back, and bad ones refused. */
#include "straggler.h"

#include "arrival/limits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void straggler_is_found(void)
{
    struct ictus_arrivals a;
    straggler_plant(&a, 1);
    CHECK_NEAR(a.rank[2].last, 1.0, 1e-9);
    CHECK_NEAR(a.rank[2].mean_ns - a.rank[0].mean_ns, 1e5, 300);
    CHECK(a.persistence > 0.99);
    CHECK_NEAR(a.spread_ns, 1e5, 2000);
    CHECK_NEAR(a.error_ns, 50, 1e-9);
    CHECK_NEAR(a.duration_s, 3e-6 + 1e-9 * (ROWS - 1) / 2.0, 1e-12);
    ictus_arrivals_free(&a);
}

/*
 * Persistence is the variance between ranks, less what chance adds to it, as a share of the total.
 * Around the centre of each row, rank 0 is at -2, -2, -1 ns and rank 1 at 2, 2, 1 ns. The variance
 * of the means is 50 / 9 and that of the ranks 1 / 3.
 */
static void persistence_is_a_share(void)
{
    static const double rows[3][2] = {{0, 4}, {0, 4}, {0, 2}};
    struct ictus_arrivals a;
    REQUIRE(!ictus_arrivals_init(&a, 2, 3));
    straggler_name(&a, "x.c:6");
    for (int i = 0; i < 3; i++) {
        straggler_put_row(&a, i, rows[i]);
    }
    REQUIRE(!ictus_arrivals_summarize(&a));
    const double between = 50.0 / 9 - 1.0 / 3 / 3;
    CHECK_NEAR(a.persistence, between / (between + 1.0 / 3), 1e-12);
    /* Always the latest, by half a nanosecond from the centre: fully persistent. */
    for (int i = 0; i < 3; i++) {
        a.offsets_ns[2 * i] = 0;
        a.offsets_ns[2 * i + 1] = 1;
    }
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK_NEAR(a.persistence, 1, 1e-12);
    ictus_arrivals_free(&a);
}

/*
 * Rank 1 is the last by 100 us in nine of ten calls. In the tenth, rank 0 was suspended for a time
 * that says nothing about the others: it counts as much as one of the nine, so that z is at +-50
 * us.
 */
static void suspension_decides_nothing(void)
{
    enum { MANY = 200 };
    static const double suspended_ns[] = {1e5, 4e6, 1e9};
    const double w = (1 - 0.64) * MANY / (MANY - 1); /* of +-1, whose mean is 0.8 */
    const double b = 2 * 0.64 - w / MANY;
    for (int k = 0; k < 3; k++) {
        struct ictus_arrivals a;
        REQUIRE(!ictus_arrivals_init(&a, 2, MANY));
        straggler_name(&a, "x.c:7");
        for (int i = 0; i < MANY; i++) {
            const bool late = i % 10 == 3;
            straggler_put_row(&a, i, (double[]){late ? suspended_ns[k] : 0, late ? 0 : 1e5});
        }
        REQUIRE(!ictus_arrivals_summarize(&a));
        CHECK_NEAR(a.spread_ns, 1e5, 1e-9);
        CHECK_NEAR(a.rank[1].last, 0.9, 1e-9);
        CHECK_NEAR(a.persistence, b / (b + w), 1e-9);
        ictus_arrivals_free(&a);
    }
}

/*
 * If most calls are together to the nanosecond, the median spread is 0, which is no limit: at 0, 0
 * and 5 ns, B = 2 * 25 / 9 - 25 / 9, W = 25 / 3.
 */
static void spread_of_zero_limits_nothing(void)
{
    struct ictus_arrivals a;
    REQUIRE(!ictus_arrivals_init(&a, 2, 3));
    straggler_name(&a, "x.c:7");
    a.offsets_ns[5] = 10;
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(a.spread_ns == 0);
    CHECK_NEAR(a.persistence, 0.25, 1e-12);
    ictus_arrivals_free(&a);
}

/* Three rows by hand: ranks that are last together share it, and unknown values are left out. */
static void summary_is_by_hand(void)
{
    static const int64_t rows[3][3] = {{0, 4, 4}, {2, 0, 2}, {0, 0, 9}};
    static const double last[3] = {1.0 / 6, 1.0 / 6, 2.0 / 3};
    static const double mean[3] = {2.0 / 3, 4.0 / 3, 5};
    static const double sorted[3][3] = {{0, 0, 2}, {0, 0, 4}, {2, 4, 9}};
    struct ictus_arrivals a;
    REQUIRE(!ictus_arrivals_init(&a, 3, 3));
    straggler_name(&a, "x.c:7");
    memcpy(a.offsets_ns, rows, sizeof rows);
    a.errors_ns[1] = 30;
    a.errors_ns[2] = 10;
    a.duration_s = 7e-6; /* it is unknown for every row */
    REQUIRE(!ictus_arrivals_summarize(&a));
    for (int r = 0; r < 3; r++) {
        double square = 0;
        for (int i = 0; i < 3; i++) {
            square += ((double)rows[i][r] - mean[r]) * ((double)rows[i][r] - mean[r]);
        }
        CHECK_NEAR(a.rank[r].last, last[r], 1e-12);
        CHECK_NEAR(a.rank[r].mean_ns, mean[r], 1e-12);
        CHECK_NEAR(a.rank[r].sd_ns, sqrt(square / 2), 1e-12);
        CHECK_NEAR(a.rank[r].quantiles_ns[0], sorted[r][0], 0);
        CHECK_NEAR(a.rank[r].quantiles_ns[3], sorted[r][1], 0);
        CHECK_NEAR(a.rank[r].quantiles_ns[ICTUS_ARRIVALS_QUANTILES - 1], sorted[r][2], 0);
    }
    CHECK_NEAR(a.spread_ns, 4, 0);
    CHECK_NEAR(a.error_ns, 20, 1e-12);
    CHECK_NEAR(a.duration_s, 7e-6, 0);
    ictus_arrivals_free(&a);
}

/* A rank that is always last has a share of 1, however the shares of the rows are rounded. */
static void shares_stay_shares(void)
{
    for (int rows = 1; rows <= 60; rows++) {
        struct ictus_arrivals a;
        REQUIRE(!ictus_arrivals_init(&a, 2, rows));
        straggler_name(&a, "x.c:8");
        for (int64_t i = 0; i < rows; i++) {
            a.offsets_ns[2 * i + 1] = 1;
        }
        REQUIRE(!ictus_arrivals_summarize(&a));
        CHECK_NEAR(a.rank[1].last, 1, 1e-12);
        CHECK(a.rank[1].last <= 1 && a.rank[0].last == 0);
        CHECK(!ictus_arrivals_check(&a, NULL));
        ictus_arrivals_free(&a);
    }
}

/* Independent uniform arrivals: no rank is late more often than by chance. */
static void random_order_is_found(void)
{
    struct ictus_arrivals a;
    struct rng rng;
    ictusi_random_seed(&rng, 2, 0);
    REQUIRE(!ictus_arrivals_init(&a, RANKS, ROWS));
    straggler_name(&a, "x.c:1");
    for (int64_t i = 0; i < ROWS; i++) {
        double instants[RANKS];
        for (int r = 0; r < RANKS; r++) {
            instants[r] = 1e5 * ictusi_random_uniform(&rng);
        }
        straggler_put_row(&a, i, instants);
    }
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(a.persistence < 0.05);
    for (int r = 0; r < RANKS; r++) {
        CHECK_NEAR(a.rank[r].last, 0.25, 0.1);
        CHECK_NEAR(a.rank[r].autocorrelation, 0, 0.2);
    }
    ictus_arrivals_free(&a);
}

/* Rank 1 wanders as an autoregressive process with coefficient 0.9. */
static void slow_change_is_found(void)
{
    struct ictus_arrivals a;
    struct rng rng;
    double place = 0;
    ictusi_random_seed(&rng, 3, 0);
    REQUIRE(!ictus_arrivals_init(&a, 2, 2000));
    straggler_name(&a, "x.c:2");
    for (int64_t i = 0; i < 2000; i++) {
        place = 0.9 * place + sqrt(1 - 0.81) * ictusi_random_normal(&rng);
        const double instants[2] = {0, 5e4 + 1e4 * place};
        straggler_put_row(&a, i, instants);
    }
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK_NEAR(a.rank[1].autocorrelation, 0.9, 0.05);
    ictus_arrivals_free(&a);
}

/*
 * A rank's lateness changes slowly, and in one call of a thousand a rank was suspended for a
 * second: what the other calls show is still seen.
 */
static void one_call_decides_no_correlation(void)
{
    for (int suspended = 0; suspended < 3; suspended++) { /* nobody, rank 0, rank 1 */
        struct ictus_arrivals a;
        struct rng rng;
        double place = 0;
        ictusi_random_seed(&rng, 5, 0);
        REQUIRE(!ictus_arrivals_init(&a, 2, 1000));
        straggler_name(&a, "x.c:2");
        for (int64_t i = 0; i < 1000; i++) {
            place = 0.9 * place + sqrt(1 - 0.81) * ictusi_random_normal(&rng);
            const bool late = i == 500 && suspended;
            const double instants[2] = {late && suspended == 1 ? 1e9 : 0,
                                        late && suspended == 2 ? 1e9 : 5e4 + 1e4 * place};
            straggler_put_row(&a, i, instants);
        }
        REQUIRE(!ictus_arrivals_summarize(&a));
        CHECK_NEAR(a.rank[0].autocorrelation, 0.9, 0.05);
        CHECK_NEAR(a.rank[1].autocorrelation, 0.9, 0.05);
        ictus_arrivals_free(&a);
    }
}

/* Two ranks take turns at being late; rows on both sides of a gap are not neighbours. */
static void turns_are_found(void)
{
    enum { TURNS = 8, GAP = 10 };
    for (int gap = 0; gap <= GAP; gap += GAP) {
        struct ictus_arrivals a;
        REQUIRE(!ictus_arrivals_init(&a, 3, TURNS)); /* and a third one is always late */
        straggler_name(&a, "x.c:3");
        a.instances = TURNS + gap;
        a.calls = gap ? calloc(TURNS, sizeof *a.calls) : NULL;
        REQUIRE(!gap || a.calls);
        for (int64_t i = 0; i < TURNS; i++) {
            const double instants[3] = {i % 2 ? 100 : 0, i % 2 ? 0 : 100, 1000};
            straggler_put_row(&a, i, instants);
            if (a.calls) {
                a.calls[i] = i < TURNS / 2 ? i : i + gap;
            }
        }
        REQUIRE(!ictus_arrivals_summarize(&a));
        for (int r = 0; r < 2; r++) {
            /* n squares and n - 1 products. */
            CHECK_NEAR(a.rank[r].autocorrelation, -(TURNS - 1.0) / TURNS, 1e-12);
        }
        CHECK(isnan(a.rank[2].autocorrelation));
        ictus_arrivals_free(&a);
    }
}

/* A released pattern owns nothing and may be released again. */
static void released_is_empty(void)
{
    struct ictus_arrivals a;
    straggler_plant(&a, 8);
    ictus_arrivals_free(&a);
    CHECK(!a.rank && !a.offsets_ns && !a.errors_ns && !a.durations_s && !a.calls && !a.gaps_ns &&
          !a.silences_ns);
    CHECK(a.ranks == 0 && a.recorded == 0);
    ictus_arrivals_free(&a);
}

/* What a table may have besides the offsets. */
static void put_tables(struct ictus_arrivals *a)
{
    a->gaps_ns = calloc((size_t)RANKS * ROWS, sizeof *a->gaps_ns);
    a->silences_ns = calloc((size_t)RANKS * ROWS, sizeof *a->silences_ns);
    a->calls = calloc(ROWS, sizeof *a->calls);
    REQUIRE(a->gaps_ns && a->silences_ns && a->calls);
    for (int64_t i = 0; i < ROWS; i++) {
        a->calls[i] = 3 * i;
    }
    for (int64_t i = 0; i < (int64_t)RANKS * ROWS; i++) {
        a->gaps_ns[i] = 7 * i;
        a->silences_ns[i] = 3 * i;
    }
}

static void written_is_read(void)
{
    struct ictus_arrivals a;
    struct ictus_arrivals b;
    struct ictus_why why = {""};
    straggler_plant(&a, 4);
    a.root = 3;
    a.instances = 3L * ROWS;
    a.errors_ns[1] = 70;
    put_tables(&a);
    json_t *object = ictus_arrivals_json(&a);
    REQUIRE(object);
    REQUIRE(!ictus_arrivals_parse(object, &b, &why));
    CHECK_STR(b.site, a.site);
    CHECK_STR(b.operation, "allreduce");
    CHECK_STR(b.call, "MPI_Allreduce");
    CHECK_STR(b.comm, "MPI_COMM_WORLD");
    CHECK_NEAR(json_number_value(json_object_get(object, "imbalance")),
               1e-9 * a.spread_ns / a.duration_s, 1e-9);
    CHECK(memcmp(a.errors_ns, b.errors_ns, sizeof(double) * ROWS) == 0);
    CHECK(memcmp(a.durations_s, b.durations_s, sizeof(double) * ROWS) == 0);
    CHECK(b.calls && memcmp(a.calls, b.calls, sizeof(int64_t) * ROWS) == 0);
    CHECK(b.ranks == RANKS && b.recorded == ROWS && b.root == 3 && b.bytes == 64);
    CHECK(memcmp(a.offsets_ns, b.offsets_ns, sizeof(int64_t) * RANKS * ROWS) == 0);
    CHECK(b.gaps_ns && memcmp(a.gaps_ns, b.gaps_ns, sizeof(int64_t) * RANKS * ROWS) == 0);
    CHECK(b.silences_ns &&
          memcmp(a.silences_ns, b.silences_ns, sizeof(int64_t) * RANKS * ROWS) == 0);
    CHECK_NEAR(b.rank[2].quantiles_ns[3], a.rank[2].quantiles_ns[3], 1e-6);
    /* A summary alone is also a pattern, like the statistics of a running job. */
    (void)json_object_del(object, "raw_offsets_ns");
    (void)json_object_del(object, "raw_gaps_ns");
    (void)json_object_del(object, "raw_silences_ns");
    (void)json_object_del(object, "raw_calls");
    (void)json_object_del(object, "raw_errors_ns");
    (void)json_object_del(object, "raw_durations_s");
    ictus_arrivals_free(&b);
    REQUIRE(!ictus_arrivals_parse(object, &b, &why));
    CHECK(b.recorded == 0 && b.instances == 3L * ROWS);
    CHECK_NEAR(b.persistence, a.persistence, 1e-9);
    for (int r = 0; r < RANKS; r++) {
        const struct ictus_arrival_rank *x = &a.rank[r], *y = &b.rank[r];
        CHECK_NEAR(y->mean_ns, x->mean_ns, 1e-6);
        CHECK_NEAR(y->sd_ns, x->sd_ns, 1e-6);
        CHECK_NEAR(y->last, x->last, 1e-9);
        CHECK_NEAR(y->autocorrelation, x->autocorrelation, 1e-9);
        for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
            CHECK_NEAR(y->quantiles_ns[q], x->quantiles_ns[q], 1e-6);
        }
    }
    json_decref(object);
    ictus_arrivals_free(&a);
    ictus_arrivals_free(&b);
}

static const char head[] = "{\"type\":\"arrivals\",\"site\":\"a.c:1\",\"ranks\":3";

static void refused(const char *rest, const char *part)
{
    char text[1024];
    struct ictus_arrivals a;
    struct ictus_why why = {""};
    (void)snprintf(text, sizeof text, "%s%s}", rest[0] == ',' ? head : "", rest);
    json_t *object = json_loads(text, 0, NULL);
    REQUIRE(object);
    const int err = ictus_arrivals_parse(object, &a, &why);
    CHECK(err == ICTUS_ERR_FORMAT);
    CHECK(strstr(why.text, part) != NULL);
    if (!err) {
        ictus_arrivals_free(&a);
    }
    json_decref(object);
}

static void nonsense_is_refused(void)
{
    refused("{\"type\":\"arrivals\",\"site\":\"a.c:1\"", "ranks must lie between");
    refused("{\"type\":\"arrivals\",\"site\":\"a.c:1\",\"ranks\":-4", "ranks must lie between");
    refused("{\"type\":\"arrivals\",\"ranks\":1,\"raw_offsets_ns\":[[0]]", "must name its call");
    refused(",\"raw_offsets_ns\":[]", "is empty");
    refused(",\"raw_offsets_ns\":[[0,1]]", "has 2 entries, but there are 3 ranks");
    refused(",\"raw_offsets_ns\":[[0,1,2,3]]", "has 4 entries, but there are 3 ranks");
    refused(",\"raw_offsets_ns\":[[0,1,-2]]", "instance 0, rank 2: the offset is -2 ns");
    refused(",\"raw_offsets_ns\":[[0,1,99999999999999]]", "lie between 0 and");
    refused(",\"raw_offsets_ns\":[[0,1,2],[5,6,7]]", "instance 1: the smallest offset is 5 ns");
    refused(",\"raw_offsets_ns\":[[0,1,\"x\"]]", "must be an integer number");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"raw_gaps_ns\":[[1,2,3],[1,2,3]]",
            "raw_gaps_ns has 2 entries, but raw_offsets_ns has 1");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"raw_gaps_ns\":[[1,2]]",
            "has 2 entries, but there are 3");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"raw_gaps_ns\":[[1,2,-3]]", "rank 2: the gap is -3 ns");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"raw_gaps_ns\":[[1,2,0.5]]",
            "must be an integer number");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"raw_silences_ns\":[[1,2,3],[1,2,3]]",
            "raw_silences_ns has 2 entries, but raw_offsets_ns has 1");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"raw_silences_ns\":[[1,2,-3]]",
            "rank 2: the silence is -3 ns, but silences must lie between 0 and");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"raw_errors_ns\":[1,2]", "raw_errors_ns has 2");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"raw_errors_ns\":[-1]", "must not be negative");
    refused(",\"mean_ns\":[0,1,2]", "no mean or no standard deviation");
    refused(",\"mean_ns\":[0,1],\"sd_ns\":[0,1,1]", "mean_ns has 2 entries");
    refused(",\"mean_ns\":[0,1,-2],\"sd_ns\":[0,1,1]", "out of range");
    refused(",\"mean_ns\":[0,1,2],\"sd_ns\":[0,1,1],\"error_ns\":-1", "must not be negative");
    refused(",\"mean_ns\":[0,1,2],\"sd_ns\":[0,1,1],\"persistence\":2", "between 0 and 1");
    refused(",\"raw_offsets_ns\":[[0,1,2]],\"bytes\":-8", "bytes must not be negative");
    refused("{\"type\":\"arrivals\",\"site\":\"a\",\"ranks\":1,\"raw_offsets_ns\":[[5],[0]]",
            "instance 0: the smallest offset is 5 ns");
}

/* An impossible number is refused for every rank, and the message names the rank. */
static void each_rank_is_looked_at(void)
{
    static const struct {
        const char *rest, *end, *good, *bad;
    } cases[] = {{",\"raw_offsets_ns\":[[0,0,0],[", "]]", "0", "-2"},
                 {",\"raw_offsets_ns\":[[0,0,0]],\"raw_gaps_ns\":[[", "]]", "0", "-3"},
                 {",\"raw_offsets_ns\":[[0,0,0]],\"raw_silences_ns\":[[", "]]", "0", "-3"},
                 {",\"sd_ns\":[0,1,1],\"mean_ns\":[", "]", "0", "-1"},
                 {",\"mean_ns\":[0,1,7],\"sd_ns\":[", "]", "0", "-1"},
                 {",\"mean_ns\":[0,1,7],\"sd_ns\":[", "]", "0", "null"},
                 {",\"mean_ns\":[0,1,7],\"sd_ns\":[0,0,0],\"last\":[", "]", "0", "-0.1"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int bad = 0; bad < 3; bad++) {
            char rest[256], part[16];
            (void)snprintf(rest, sizeof rest, "%s%s,%s,%s%s", cases[c].rest,
                           bad == 0 ? cases[c].bad : cases[c].good,
                           bad == 1 ? cases[c].bad : cases[c].good,
                           bad == 2 ? cases[c].bad : cases[c].good, cases[c].end);
            (void)snprintf(part, sizeof part, "rank %d", bad);
            refused(rest, part);
        }
    }
}

/* A shortened name could be that of another pattern. */
static void long_names_are_refused(void)
{
    char rest[512];
    for (int length = 255; length <= 256; length++) {
        (void)snprintf(rest, sizeof rest, "{\"type\":\"arrivals\",\"site\":\"%0*d\"%s", length, 1,
                       length > 255 ? "" : ",\"ranks\":0");
        refused(rest, length > 255 ? "at most 255 bytes" : "ranks must lie between");
    }
}

static void accepted(const char *rest, struct ictus_arrivals *a)
{
    char text[1024];
    struct ictus_why why = {""};
    (void)snprintf(text, sizeof text, "%s%s}", head, rest);
    json_t *object = json_loads(text, 0, NULL);
    REQUIRE(object);
    const int err = ictus_arrivals_parse(object, a, &why);
    CHECK_STR(why.text, "");
    REQUIRE(!err);
    json_decref(object);
}

#define ROW ",\"raw_offsets_ns\":[[0,1,2]]"
#define TWO_ROWS ",\"raw_offsets_ns\":[[0,1,2],[2,1,0]]"
#define SUMMARY ",\"mean_ns\":[0,1,7],\"sd_ns\":[0,1,1]"
#define SPLIT "[0,1,2,3,4,5,6]"
#define LONGEST "3600000000000" /* an hour */
#define LONGER "3600000000001"

/* The last valid value of each quantity is accepted, and the next one is refused. */
static void limits_are_inside(void)
{
    struct ictus_arrivals a;
    accepted(TWO_ROWS ",\"root\":2,\"instances\":2,\"raw_calls\":[0,1]"
                      ",\"raw_gaps_ns\":[[0,0,0],[1,2,3]]",
             &a);
    CHECK(a.root == 2 && a.instances == 2 && a.calls && a.calls[0] == 0 && a.calls[1] == 1);
    ictus_arrivals_free(&a);
    refused(ROW ",\"root\":3", "the root must be a rank");
    accepted(ROW ",\"root\":-4294967295", &a); /* an impossible rank is not a root: 1 as an int */
    CHECK(a.root == -1);
    ictus_arrivals_free(&a);
    refused(TWO_ROWS ",\"instances\":1", "fewer than the rows of the table");
    refused(TWO_ROWS ",\"raw_calls\":[0]", "raw_calls has 1 entries");
    refused(TWO_ROWS ",\"raw_calls\":[-1,1]", "instance 0 of raw_calls");
    refused(TWO_ROWS ",\"raw_calls\":[4,4]", "instance 1 of raw_calls");
    refused(TWO_ROWS ",\"raw_calls\":[0,1.5]", "must be non-negative integers");
    refused(TWO_ROWS ",\"raw_calls\":[0.5,1]", "must be non-negative integers");
    accepted(",\"raw_offsets_ns\":[[0,1," LONGEST "]],\"raw_gaps_ns\":[[0,0," LONGEST "]]", &a);
    CHECK(a.offsets_ns[2] == ARRIVAL_OFFSET_MAX_NS && a.gaps_ns[2] == ARRIVAL_OFFSET_MAX_NS);
    ictus_arrivals_free(&a);
    refused(",\"raw_offsets_ns\":[[0,1," LONGER "]]", "the offset is " LONGER);
    refused(ROW ",\"raw_gaps_ns\":[[1,2," LONGER "]]", "the gap is " LONGER);
    refused(ROW ",\"raw_gaps_ns\":[[1,2,99999999999999]]", "the gap is 99999999999999 ns");
    accepted(SUMMARY ",\"persistence\":1,\"last\":[0,0,1],\"autocorrelation\":[-1,0,1],"
                     "\"quantiles_ns\":[" SPLIT "," SPLIT ",[4,4,4,4,4,4,4]]",
             &a);
    CHECK_NEAR(a.spread_ns, 7, 0); /* not given, so the mean of the latest rank */
    CHECK_NEAR(a.rank[1].quantiles_ns[6], 6, 0);
    ictus_arrivals_free(&a);
    refused(SUMMARY ",\"last\":[0,0,1.1]", "rank 2 are out of range");
    refused(SUMMARY ",\"autocorrelation\":[-1.1,0,0]", "rank 0 are out of range");
    refused(SUMMARY ",\"quantiles_ns\":[" SPLIT "," SPLIT "]", "quantiles_ns has 2 entries");
    refused(SUMMARY ",\"quantiles_ns\":[" SPLIT ",[1,2]," SPLIT "]", "of rank 1 must have 7");
    refused(SUMMARY ",\"quantiles_ns\":[" SPLIT "," SPLIT ",[0,1,2,3,4,6,5]]", "quantiles ascend");
    refused(SUMMARY ",\"spread_ns\":-1", "must not be negative");
    refused(SUMMARY ",\"duration_s\":-1", "must not be negative");
}

int main(void)
{
    straggler_is_found();
    persistence_is_a_share();
    suspension_decides_nothing();
    spread_of_zero_limits_nothing();
    summary_is_by_hand();
    shares_stay_shares();
    random_order_is_found();
    slow_change_is_found();
    one_call_decides_no_correlation();
    turns_are_found();
    released_is_empty();
    written_is_read();
    nonsense_is_refused();
    limits_are_inside();
    each_rank_is_looked_at();
    long_names_are_refused();
    return check_result();
}
