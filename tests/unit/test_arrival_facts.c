/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds at the edges of arrival patterns: of one rank, one row, one value; at each limit; of
 * all members, there and back; and what a draw from a model is like. */
#include "../check.h"
#include "arrival/arrival.h"
#include "arrival/limits.h"
#include "arrival/pattern.h"
#include "core/operands.h"
#include "core/random.h"

#include <ictus/result.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void make(struct ictus_arrivals *a, int ranks, int64_t rows)
{
    REQUIRE(ictus_arrivals_init(a, ranks, rows) == ICTUS_OK);
    (void)snprintf(a->site, sizeof a->site, "here.c:1");
    (void)snprintf(a->operation, sizeof a->operation, "allreduce");
    a->instances = rows;
}

static void nothing_is_known_at_first(void)
{
    struct ictus_arrivals a;
    CHECK(ictus_arrivals_init(&a, 0, 3) == ICTUS_ERR_ARG);
    CHECK(ictus_arrivals_init(&a, 1, -1) == ICTUS_ERR_ARG);
    make(&a, 2, 0);
    CHECK(a.in_place == -1 && a.root == -1 && isnan(a.duration_s) && isnan(a.error_ns) &&
          isnan(a.spread_ns) && isnan(a.persistence));
    for (int r = 0; r < 2; r++) {
        const struct ictus_arrival_rank *k = &a.rank[r];
        CHECK(isnan(k->mean_ns) && isnan(k->sd_ns) && isnan(k->last) && isnan(k->autocorrelation));
        for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
            CHECK(isnan(k->quantiles_ns[q]));
        }
    }
    CHECK(!ictus_arrivals_summarize(&a) && isnan(a.persistence));
    ictus_arrivals_free(&a);
    CHECK(!a.rank && !a.offsets_ns && !a.errors_ns && !a.durations_s);
}

/* Of one row, or of one rank, nothing varies; of two rows, means do. */
static void few_are_summarized(void)
{
    struct ictus_arrivals a;
    make(&a, 2, 1);
    a.offsets_ns[1] = 10;
    a.errors_ns[0] = 3;
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(isnan(a.persistence) && isnan(a.rank[1].autocorrelation));
    CHECK(a.rank[0].last == 0 && a.rank[1].last == 1 && a.spread_ns == 10 && a.error_ns == 3);
    ictus_arrivals_free(&a);
    make(&a, 1, 3);
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(isnan(a.persistence) && a.rank[0].last == 1 && a.spread_ns == 0);
    ictus_arrivals_free(&a);
    make(&a, 2, 2);
    a.offsets_ns[1] = 10;
    a.offsets_ns[3] = 20;
    REQUIRE(!ictus_arrivals_summarize(&a));
    /*
     * Around the rows' centres: -5, -10 and 5, 10, of which no row counts as further apart than 15:
     * -5, -7.5 and 5, 7.5. B = 2 * 6.25^2 - 3.125 / 2, W = 3.125.
     */
    CHECK_NEAR(a.persistence, (78.125 - 1.5625) / (78.125 - 1.5625 + 3.125), 1e-12);
    CHECK(isnan(a.rank[0].autocorrelation));
    ictus_arrivals_free(&a);
    /* Three ranks, of which none is later than another on average, and one that is. */
    make(&a, 3, 2);
    const int64_t same[6] = {0, 10, 20, 20, 10, 0};
    memcpy(a.offsets_ns, same, sizeof same);
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(a.persistence == 0);
    const int64_t fixed[6] = {0, 10, 20, 0, 10, 20};
    memcpy(a.offsets_ns, fixed, sizeof fixed);
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(a.persistence == 1);
    /* B = (9 + 9) / 2 for ranks at -3, 0, 3 around the centre; W = 18 * 2 / 3, n = 2. */
    const int64_t some[6] = {0, 6, 12, 6, 6, 6};
    memcpy(a.offsets_ns, some, sizeof some);
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK_NEAR(a.persistence, 3.0 / 15, 1e-12);
    ictus_arrivals_free(&a);
}

/* Rank 1 at 0, 2, 1, 3 among two: its place around the centre is half of that, its mean 0.75. */
static void neighbours_are_correlated(void)
{
    struct ictus_arrivals a;
    static const int64_t places[4] = {0, 2, 1, 3};
    make(&a, 2, 4);
    for (int i = 0; i < 4; i++) {
        a.offsets_ns[2 * i + 1] = places[i];
    }
    REQUIRE(!ictus_arrivals_summarize(&a));
    const double product = -0.75 * 0.25 + 0.25 * -0.25 + -0.25 * 0.75, square = 1.25;
    CHECK_NEAR(a.rank[1].autocorrelation, product / square, 1e-12);
    CHECK_NEAR(a.rank[0].autocorrelation, a.rank[1].autocorrelation, 1e-12);
    /* A call is missing between the second and the third: two pairs stand for three. */
    a.calls = calloc(4, sizeof *a.calls);
    REQUIRE(a.calls != NULL);
    const int64_t calls[4] = {5, 6, 8, 9};
    memcpy(a.calls, calls, sizeof calls);
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK_NEAR(a.rank[1].autocorrelation, (-0.75 * 0.25 + -0.25 * 0.75) / square * 1.5, 1e-12);
    a.calls[3] = 11; /* one pair says nothing */
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(isnan(a.rank[1].autocorrelation));
    ictus_arrivals_free(&a);
    /* One that goes back and forth, and one that changes once, whose pairs count more than they
     * should: no correlation is beyond 1. */
    make(&a, 2, 3);
    a.offsets_ns[3] = 4;
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(a.rank[1].autocorrelation >= -1 && a.rank[1].autocorrelation < 0);
    ictus_arrivals_free(&a);
    make(&a, 2, 60);
    a.calls = calloc(60, sizeof *a.calls);
    REQUIRE(a.calls != NULL);
    for (int i = 0; i < 60; i++) { /* far-off values only where calls follow each other */
        a.calls[i] = i < 3 ? i : 2 * i;
        a.offsets_ns[2 * i + 1] = i < 3 ? 1000 : i < 6 ? 0 : 10;
    }
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(a.rank[1].autocorrelation == 1);
    for (int i = 0; i < 60; i++) {
        a.offsets_ns[2 * i + 1] = i == 1 ? 2000 : i < 3 ? 0 : 1000;
    }
    REQUIRE(!ictus_arrivals_summarize(&a));
    CHECK(a.rank[1].autocorrelation == -1);
    ictus_arrivals_free(&a);
}

static void fill(struct ictus_arrivals *a)
{
    a->bytes = 4096;
    a->root = 0;
    a->instances = 7;
    (void)snprintf(a->call, sizeof a->call, "MPI_Reduce");
    (void)snprintf(a->comm, sizeof a->comm, "world");
    ictusi_pattern_operands(
        a, operands_make(OPERANDS_TYPE_UNKNOWN, OPERANDS_REDUCTION_UNKNOWN, OPERANDS_APART) |
               ictusi_operands_named("double", "sum"));
    a->duration_s = 2e-6;
    a->error_ns = 5;
    a->spread_ns = 400;
    a->persistence = 0.25;
    for (int r = 0; r < a->ranks; r++) {
        a->rank[r] = (struct ictus_arrival_rank){
            .mean_ns = 100 + r, .sd_ns = 10 + r, .last = 0.5, .autocorrelation = -0.5};
        for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
            a->rank[r].quantiles_ns[q] = 100 * r + q;
        }
    }
}

/* Each member of a summary that is written is the member that is read. */
static void summaries_go_round(void)
{
    struct ictus_arrivals a, b;
    struct ictus_why why = {""};
    make(&a, 3, 0);
    fill(&a);
    json_t *object = ictus_arrivals_json(&a);
    REQUIRE(object && ictus_arrivals_parse(object, &b, &why) == ICTUS_OK);
    CHECK(b.root == 0 && b.in_place == 0 && b.bytes == 4096 && b.instances == 7 && b.ranks == 3);
    CHECK_STR(b.datatype, "double");
    CHECK_STR(b.op, "sum");
    CHECK_STR(b.call, "MPI_Reduce");
    CHECK_STR(b.comm, "world");
    CHECK(b.duration_s == 2e-6 && b.error_ns == 5 && b.spread_ns == 400 && b.persistence == 0.25);
    CHECK(memcmp(a.rank, b.rank, 3 * sizeof *a.rank) == 0);
    CHECK_NEAR(json_real_value(json_object_get(object, "imbalance")), 0.2, 1e-12);
    CHECK(!json_object_get(object, "raw_offsets_ns"));
    json_decref(object);
    ictus_arrivals_free(&b);
    /* What is not known stays so. */
    a.root = -1;
    a.in_place = 1;
    a.duration_s = 0;
    a.rank[0].quantiles_ns[0] = NAN;
    ictusi_pattern_operands(
        &a, operands_make(OPERANDS_TYPE_UNKNOWN, OPERANDS_REDUCTION_UNKNOWN, OPERANDS_IN_PLACE));
    object = ictus_arrivals_json(&a);
    REQUIRE(object && ictus_arrivals_parse(object, &b, &why) == ICTUS_OK);
    CHECK(b.root == -1 && b.in_place == 1 && !b.datatype && !b.op);
    CHECK(json_is_null(json_object_get(object, "imbalance")));
    CHECK(!json_object_get(object, "quantiles_ns") && isnan(b.rank[1].quantiles_ns[6]));
    json_decref(object);
    ictus_arrivals_free(&b);
    ictusi_pattern_operands(&a, operands_make(OPERANDS_TYPE_UNKNOWN, OPERANDS_REDUCTION_UNKNOWN,
                                              OPERANDS_PLACE_UNKNOWN));
    CHECK(a.in_place == -1);
    ictus_arrivals_free(&a);
    /* One row is a table. */
    make(&a, 2, 1);
    a.offsets_ns[1] = 50;
    object = ictus_arrivals_json(&a);
    CHECK(json_array_size(json_object_get(object, "raw_offsets_ns")) == 1);
    json_decref(object);
    ictus_arrivals_free(&a);
}

static bool good(void (*change)(struct ictus_arrivals *a))
{
    struct ictus_arrivals a;
    make(&a, 2, 0);
    fill(&a);
    change(&a);
    const bool is = ictus_arrivals_check(&a, NULL) == ICTUS_OK;
    ictus_arrivals_free(&a);
    return is;
}

static struct ictus_arrival_rank rank_wanted;
static void rank_set(struct ictus_arrivals *a)
{
    a->rank[1] = rank_wanted;
}

static void nothing_set(struct ictus_arrivals *a)
{
    (void)a;
}

static void root_beyond(struct ictus_arrivals *a)
{
    a->root = 2;
}

static void spread_small(struct ictus_arrivals *a)
{
    a->spread_ns = 0.5;
    a->error_ns = 0.25;
    a->duration_s = 1e-9;
}

static void instances_fewer(struct ictus_arrivals *a)
{
    a->instances = -1;
}

/* Each limit belongs to what is allowed, and nothing beyond it. */
static void limits_are_allowed(void)
{
    const double most = (double)ARRIVAL_OFFSET_MAX_NS;
    const struct ictus_arrival_rank edge = {
        .mean_ns = most, .sd_ns = 0, .last = 1, .autocorrelation = 1, .quantiles_ns = {most}};
    struct ictus_arrival_rank k = edge;
    for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
        k.quantiles_ns[q] = most;
    }
    const struct ictus_arrival_rank all = k;
    CHECK(good(nothing_set) && good(spread_small) && !good(root_beyond) && !good(instances_fewer));
    rank_wanted = all;
    CHECK(good(rank_set));
    rank_wanted.autocorrelation = nextafter(1, 2);
    CHECK(!good(rank_set));
    rank_wanted.autocorrelation = -1;
    CHECK(good(rank_set));
    rank_wanted.autocorrelation = nextafter(-1, -2);
    CHECK(!good(rank_set));
    rank_wanted = all;
    rank_wanted.last = nextafter(1, 2);
    CHECK(!good(rank_set));
    for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) { /* known, all or none, each in its range */
        rank_wanted = all;
        rank_wanted.quantiles_ns[q] = NAN;
        CHECK(!good(rank_set));
        rank_wanted.quantiles_ns[q] = -1;
        CHECK(!good(rank_set));
        rank_wanted.quantiles_ns[q] = most + 1;
        CHECK(!good(rank_set));
        rank_wanted.quantiles_ns[q] = 0; /* they do not descend */
        CHECK(good(rank_set) == (q == 0));
    }
}

static void signals_are_told_from_noise(void)
{
    struct ictus_arrivals a;
    make(&a, 2, 0);
    a.spread_ns = 0.5;
    a.error_ns = 0.5;
    CHECK(!ictus_arrivals_signal(&a, NULL));
    a.error_ns = 0.6;
    CHECK(ictus_arrivals_signal(&a, NULL) == ICTUS_ERR_FORMAT);
    a.error_ns = NAN;
    CHECK(ictus_arrivals_signal(&a, NULL) == ICTUS_ERR_FORMAT);
    a.error_ns = 0;
    a.spread_ns = 0;
    CHECK(ictus_arrivals_signal(&a, NULL) == ICTUS_ERR_FORMAT);
    a.spread_ns = NAN;
    CHECK(ictus_arrivals_signal(&a, NULL) == ICTUS_ERR_FORMAT);
    ictus_arrivals_free(&a);
}

static int64_t delay(const char *text, int rank, int size)
{
    struct arrival a;
    REQUIRE(ictusi_arrival_init(&a, text, rank, size, NULL) == ICTUS_OK);
    const int64_t ns = ictusi_arrival_turn(&a, 0).delay_ns;
    ictusi_arrival_fini(&a);
    return ns;
}

/* The smallest jobs, and what no shape delays. */
static void shapes_fit_small_jobs(void)
{
    struct arrival a;
    CHECK(delay("ascending:spread=1us", 0, 1) == 0 && delay("descending:spread=1us", 0, 1) == 1000);
    CHECK(delay("ascending:spread=1us", 1, 2) == 1000 && delay("ascending:spread=1us", 0, 2) == 0);
    CHECK(delay("descending:spread=1us", 1, 2) == 0 && delay("tent:spread=1us", 1, 3) == 1000);
    CHECK(delay("late:spread=1us", 0, 1) == 1000 && delay("early:spread=1us", 0, 1) == 0);
    CHECK(ictusi_arrival_init(&a, "late:rank=1", 0, 1, NULL) == ICTUS_ERR_SPEC);
    CHECK(ictusi_arrival_init(&a, "early:rank=2", 0, 2, NULL) == ICTUS_ERR_SPEC);
    CHECK(delay("ascending:spread=1us,rank=9", 1, 2) == 1000); /* it has no odd rank */
    REQUIRE(ictusi_arrival_init(&a, "late:rank=9", 0, 0, NULL) == ICTUS_OK); /* no job yet */
    ictusi_arrival_fini(&a);
    CHECK(!ictusi_arrival_is_asked(NULL) && !ictusi_arrival_is_asked("together"));
    CHECK(ictusi_arrival_is_asked("random") && ictusi_arrival_is_asked("ascending"));
}

/* A model of quantiles at 0, 5, 25, 50, 75, 95, 100 %: of many draws, so many lie below each. */
static void draws_follow_their_quantiles(void)
{
    static const double at[ICTUS_ARRIVALS_QUANTILES] = {100, 200, 500, 2000, 3000, 9000, 20000};
    struct ictus_arrivals a;
    struct replay_track track;
    make(&a, 2, 0);
    fill(&a);
    a.spread_ns = 20000;
    for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
        a.rank[0].quantiles_ns[q] = 0;
        a.rank[1].quantiles_ns[q] = at[q];
    }
    a.rank[1].autocorrelation = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        int below[ICTUS_ARRIVALS_QUANTILES] = {0};
        const struct replay_part part = {.rank = 1, .size = 2, .seed = seed, .scale = 1};
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        CHECK(track.count == REPLAY_DRAWN && !track.gaps_ns && !track.silences_ns);
        for (int64_t i = 0; i < track.count; i++) {
            CHECK(track.delays_ns[i] >= 100 && track.delays_ns[i] <= 20000);
            for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
                below[q] += (double)track.delays_ns[i] <= at[q];
            }
        }
        for (int q = 1; q < ICTUS_ARRIVALS_QUANTILES - 1; q++) { /* 4.5 standard deviations */
            const double p = ictus_arrival_levels[q];
            CHECK_NEAR(below[q] / (double)REPLAY_DRAWN, p, 4.5 * sqrt(p * (1 - p) / REPLAY_DRAWN));
        }
        ictusi_replay_fini(&track);
        CHECK(track.count == 0 && !track.delays_ns);
    }
    ictus_arrivals_free(&a);
}

/* @return the correlation of neighbouring draws */
static double drawn_correlation(double wanted, double *sd)
{
    struct ictus_arrivals a;
    struct replay_track track;
    double sum = 0, squares = 0, products = 0;
    make(&a, 2, 0);
    fill(&a);
    a.spread_ns = 1e6;
    a.rank[0] = (struct ictus_arrival_rank){.mean_ns = 0, .sd_ns = 0, .autocorrelation = 0};
    a.rank[1] =
        (struct ictus_arrival_rank){.mean_ns = 1e6, .sd_ns = 1e4, .autocorrelation = wanted};
    a.rank[0].quantiles_ns[0] = a.rank[1].quantiles_ns[0] = NAN;
    const struct replay_part part = {.rank = 1, .size = 2, .seed = 3, .scale = 0.5};
    REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
    for (int64_t i = 0; i < track.count; i++) {
        const double x = (double)track.delays_ns[i] - 5e5;
        sum += x;
        squares += x * x;
        products += i > 0 ? x * ((double)track.delays_ns[i - 1] - 5e5) : 0;
    }
    CHECK_NEAR(sum / REPLAY_DRAWN, 0, wanted < 0.95 ? 1500 : 5000);
    *sd = sqrt(squares / REPLAY_DRAWN);
    ictusi_replay_fini(&track);
    ictus_arrivals_free(&a);
    return products / squares;
}

/* Draws are as wide as recorded, whatever their correlation, which is the recorded one. */
static void draws_stay_as_wide(void)
{
    double sd = 0;
    CHECK_NEAR(drawn_correlation(NAN, &sd), 0, 0.12);
    CHECK_NEAR(sd, 5000, 500);
    CHECK_NEAR(drawn_correlation(0.8, &sd), 0.8, 0.08);
    CHECK_NEAR(sd, 5000, 1200);
    CHECK_NEAR(drawn_correlation(-0.8, &sd), -0.8, 0.08);
    CHECK_NEAR(sd, 5000, 1200);
    CHECK(drawn_correlation(1, &sd) > 0.95 && sd > 500 && sd < 15000);
    CHECK(drawn_correlation(-1, &sd) < -0.95 && sd > 500 && sd < 15000);
}

/* What is 10 s away is replayed; a nanosecond more is not. Nothing is left where it is refused. */
static void reach_has_a_limit(void)
{
    struct ictus_arrivals a;
    struct replay_track track;
    struct ictus_why why = {""};
    const struct replay_part part = {.rank = 1, .size = 2, .scale = 1, .gap_ns = 1};
    make(&a, 2, 2);
    a.offsets_ns[1] = REPLAY_OFFSET_MAX_NS;
    a.offsets_ns[3] = 7;
    a.errors_ns[0] = a.errors_ns[1] = 1;
    REQUIRE(!ictus_arrivals_summarize(&a));
    REQUIRE(!ictusi_replay_make(&a, &part, &track, &why));
    CHECK(track.count == 2 && track.delays_ns[0] == REPLAY_OFFSET_MAX_NS &&
          track.delays_ns[1] == 7);
    CHECK(ictus_arrivals_scale(&a) == 1);
    /* A gap of a nanosecond is one; who arrives first waits until it has been computed. */
    CHECK(track.gaps_ns && track.gaps_ns[0] == 1 && track.leads_ns[0] == 1);
    ictusi_replay_fini(&track);
    a.offsets_ns[1]++;
    CHECK(ictusi_replay_make(&a, &part, &track, &why) == ICTUS_ERR_FORMAT && !track.delays_ns);
    CHECK(strstr(why.text, "offsets reach") != NULL);
    CHECK_NEAR(ictus_arrivals_scale(&a), 0.4, 1e-12); /* 0.5 would be just a little too much */
    a.offsets_ns[1] = INT64_C(3600000000000);
    CHECK_NEAR(ictus_arrivals_scale(&a), 0.001, 1e-12);
    ictus_arrivals_free(&a);
    /* Drawn ones are only known when they are drawn. */
    make(&a, 2, 0);
    fill(&a);
    a.spread_ns = 1e9;
    for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
        a.rank[0].quantiles_ns[q] = 0;
        a.rank[1].quantiles_ns[q] = 1e10 + 10;
    }
    CHECK(ictusi_replay_make(&a, &part, &track, &why) == ICTUS_ERR_FORMAT && !track.delays_ns);
    CHECK(strstr(why.text, "drawn offsets exceed") != NULL && track.count == 0);
    const struct replay_part shrunk = {.rank = 1, .size = 2, .scale = ictus_arrivals_scale(&a)};
    CHECK(shrunk.scale > 0.3 && shrunk.scale < 0.5);
    REQUIRE(!ictusi_replay_make(&a, &shrunk, &track, &why));
    ictusi_replay_fini(&track);
    a.rank[1].quantiles_ns[0] = a.rank[1].quantiles_ns[ICTUS_ARRIVALS_QUANTILES - 1] = NAN;
    a.rank[1].mean_ns = 1e9; /* and 5 standard deviations are 10 s */
    a.rank[1].sd_ns = 1.8e9;
    CHECK(ictus_arrivals_scale(&a) == 1);
    a.rank[1].sd_ns = 1.9e9;
    CHECK_NEAR(ictus_arrivals_scale(&a), 0.4, 1e-12);
    ictus_arrivals_free(&a);
}

/* No gap that is given is none, though some were recorded. */
static void gaps_may_be_left_out(void)
{
    struct ictus_arrivals a;
    struct replay_track track;
    struct replay_part part = {.rank = 0, .size = 2, .scale = 1};
    make(&a, 2, 1);
    a.gaps_ns = calloc(2, sizeof *a.gaps_ns);
    REQUIRE(a.gaps_ns != NULL);
    a.gaps_ns[0] = 30;
    a.gaps_ns[1] = 500;
    a.offsets_ns[1] = 100;
    a.errors_ns[0] = 1;
    REQUIRE(!ictus_arrivals_summarize(&a));
    REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
    CHECK(!track.gaps_ns && !track.leads_ns);
    ictusi_replay_fini(&track);
    part.gap_ns = -1;
    REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
    CHECK(track.gaps_ns && track.gaps_ns[0] == 30 && track.leads_ns[0] == 400);
    ictusi_replay_fini(&track);
    ictus_arrivals_free(&a);
}

static void write_pattern(const char *path, const struct ictus_arrivals *a)
{
    FILE *file = fopen(path, "w");
    json_t *object = ictus_arrivals_json(a);
    REQUIRE(file && object);
    REQUIRE(json_dumpf(object, file, JSON_COMPACT) == 0 && fputc('\n', file) == '\n');
    REQUIRE(fclose(file) == 0);
    json_decref(object);
}

/* What a file says of the operation; a file's part of one process. */
static void files_name_their_operation(void)
{
    char path[CHECK_PATH], text[CHECK_PATH + 16], operation[ICTUS_ARRIVALS_TEXT];
    struct ictus_arrivals a;
    struct arrival one;
    const int fd = mkstemp(check_scratch(path, "facts"));
    REQUIRE(fd >= 0 && close(fd) == 0);
    make(&a, 3, 1);
    a.offsets_ns[1] = 300;
    a.offsets_ns[2] = 900;
    a.errors_ns[0] = 1;
    REQUIRE(!ictus_arrivals_summarize(&a));
    write_pattern(path, &a);
    (void)snprintf(text, sizeof text, "file:%s", path);
    CHECK(ictus_arrival_operation(text, operation) == ICTUS_OK);
    CHECK_STR(operation, "allreduce");
    CHECK(ictus_arrival_operation("random", operation) == ICTUS_OK);
    CHECK_STR(operation, "");
    CHECK(ictus_arrival_operation("file:/nowhere", operation) == ICTUS_ERR_SPEC);
    CHECK_STR(operation, "");
    CHECK(ictus_arrival_operation("file:path=", operation) == ICTUS_ERR_SPEC);
    REQUIRE(ictusi_arrival_init(&one, text, 2, 3, NULL) == ICTUS_OK);
    CHECK(one.ranks == 3 && ictusi_arrival_turn(&one, 0).delay_ns == 900);
    CHECK_STR(one.traced.operation, "allreduce");
    ictusi_arrival_fini(&one);
    REQUIRE(ictusi_arrival_init(&one, text, 0, 1, NULL) == ICTUS_OK);
    CHECK(ictusi_arrival_turn(&one, 5).delay_ns == 0);
    ictusi_arrival_fini(&one);
    CHECK(unlink(path) == 0);
    ictus_arrivals_free(&a);
}

static double source_weight(const void *self, size_t i)
{
    static const double weights[] = {5, 9, 5, 9};
    (void)self;
    return weights[i];
}

static int source_make(const void *self, size_t i, struct ictus_arrivals *a)
{
    if (self && i == 2) {
        (void)ictus_arrivals_init(a, 1, 0);
        return ICTUS_ERR_FORMAT;
    }
    const int err = ictus_arrivals_init(a, 1 + (int)i, 0);
    (void)snprintf(a->site, sizeof a->site, "%s", i == 3 ? "s.c:10" : "s.c:1");
    return err;
}

/* By weight; of equal ones, in the order in which they were seen. An error leaves nothing. */
static void patterns_are_listed_by_weight(void)
{
    struct ictus_arrivals_list list = {NULL, 77};
    const struct pattern_source source = {
        .self = NULL, .count = 4, .weight = source_weight, .make = source_make};
    struct pattern_source bad = source;
    REQUIRE(ictusi_pattern_list(&source, &list) == ICTUS_OK && list.count == 4);
    CHECK(list.at[0].ranks == 2 && list.at[1].ranks == 4 && list.at[2].ranks == 1 &&
          list.at[3].ranks == 3);
    CHECK_STR(list.at[0].site, "s.c:1");
    CHECK_STR(list.at[1].site, "s.c:10"); /* another line, not another pattern of the first */
    CHECK_STR(list.at[2].site, "s.c:1#2");
    CHECK_STR(list.at[3].site, "s.c:1#3");
    ictus_arrivals_list_free(&list);
    CHECK(list.count == 0 && !list.at);
    bad.self = &bad;
    CHECK(ictusi_pattern_list(&bad, &list) == ICTUS_ERR_FORMAT && list.count == 0);
    bad.count = 0;
    REQUIRE(ictusi_pattern_list(&bad, &list) == ICTUS_OK && list.count == 0);
    ictus_arrivals_list_free(&list);
}

int main(void)
{
    nothing_is_known_at_first();
    few_are_summarized();
    neighbours_are_correlated();
    summaries_go_round();
    limits_are_allowed();
    signals_are_told_from_noise();
    shapes_fit_small_jobs();
    draws_follow_their_quantiles();
    draws_stay_as_wide();
    reach_has_a_limit();
    gaps_may_be_left_out();
    files_name_their_operation();
    patterns_are_listed_by_weight();
    return check_result();
}
