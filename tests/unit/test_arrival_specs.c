/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Specifications of arrivals: shapes do what their names say, and files are replayed or refused.
 * Also the names and sizes of patterns.
 */
#include "../check.h"

#include "arrival/arrival.h"
#include "arrival/pattern.h"
#include "arrival/replay.h"

#include <ictus/error.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Create a file in the test's own directory. */
static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    (void)fputs(text, file);
    REQUIRE(!fclose(file));
}

static void arrival_refused(const char *spec, int size, const char *part)
{
    struct arrival arrival;
    struct ictus_why why = {""};
    CHECK(ictusi_arrival_init(&arrival, spec, 0, size, &why) != ICTUS_OK);
    CHECK(strstr(why.text, part) != NULL);
    ictusi_arrival_fini(&arrival);
}

static void files_are_checked(const char *path)
{
    char spec[512];
    write_file(path, "{\"type\":\"arrivals\",\"site\":\"solver.c:12\",\"ranks\":2,\"error_ns\":5,"
                     "\"raw_offsets_ns\":[[0,100]]}\n"
                     "{\"type\":\"arrivals\",\"site\":\"halo.c:7\",\"ranks\":2,\"error_ns\":500,"
                     "\"raw_offsets_ns\":[[0,100]]}\n"
                     "{\"type\":\"arrivals\",\"site\":\"flat.c:7\",\"ranks\":2,\"error_ns\":0,"
                     "\"raw_offsets_ns\":[[0,0]]}\n"
                     "{\"type\":\"arrivals\",\"site\":\"long.c:7\",\"ranks\":2,\"error_ns\":0,"
                     "\"raw_offsets_ns\":[[0,20000000000]]}\n"
                     "{\"type\":\"arrivals\",\"site\":\"first.c:7\",\"ranks\":2,\"error_ns\":0,"
                     "\"raw_offsets_ns\":[[20000000000,0]]}\n"
                     "{\"type\":\"arrivals\",\"site\":\"dim.c:7\",\"ranks\":2,"
                     "\"raw_offsets_ns\":[[0,100]]}\n");
    (void)snprintf(spec, sizeof spec, "file:%s", path);
    arrival_refused(spec, 2, "6 call sites; choose one with site=, for example site=solver.c:12");
    (void)snprintf(spec, sizeof spec, "file:%s,site=solver.c:13", path);
    arrival_refused(spec, 2, "did you mean 'solver.c:12'");
    (void)snprintf(spec, sizeof spec, "file:%s,site=solver.c:12,gap=-3us", path);
    arrival_refused(spec, 2, "gap=-3e-06: must be a duration such as 50us, not less than 0, or -1");
    (void)snprintf(spec, sizeof spec, "file:%s,site=solver.c:12,footprint=1", path);
    arrival_refused(spec, 2,
                    "footprint=1: must be at least 64 bytes, or 0 to fit it to the recorded calls");
    (void)snprintf(spec, sizeof spec, "file:%s,site=halo.c:7", path);
    arrival_refused(spec, 2, "would only replay noise");
    (void)snprintf(spec, sizeof spec, "file:%s,site=flat.c:7", path);
    arrival_refused(spec, 2, "all offsets are 0");
    (void)snprintf(spec, sizeof spec, "file:%s,site=long.c:7", path);
    arrival_refused(
        spec, 2,
        "reach 20 s, but a replay allows only 10 s; shrink them, for example by scale=0.2");
    (void)snprintf(spec, sizeof spec, "file:%s,site=long.c:7,scale=4", path);
    arrival_refused(spec, 2, "reach 80 s, but");
    (void)snprintf(spec, sizeof spec, "file:%s,site=first.c:7", path);
    arrival_refused(spec, 2, "a replay allows only 10 s");
    (void)snprintf(spec, sizeof spec, "file:%s,site=dim.c:7", path);
    arrival_refused(spec, 2, "error of the offsets is not known");
    write_file(path, "{\"type\":\"arrivals\",\"site\":\"a\",\"ranks\":1,\"raw_offsets_ns\":[[0]]}\n"
                     "{\"type\":\"arrivals\",\"site\":\"a\",\"ranks\":1,"
                     "\"raw_offsets_ns\":[[0]]}\n");
    (void)snprintf(spec, sizeof spec, "file:%s", path);
    arrival_refused(spec, 1, "two patterns have the site 'a'");
    write_file(path, "{\"type\":\"header\",\"schema\":\"ictus-result/1\"}\n");
    arrival_refused(spec, 1, "contains no arrival patterns");
    write_file(path, "{\"type\":\"header\",\"schema\":\"ictus-result/1\"}\n"
                     "{\"type\":\"arrivals\",\"site\":\"a\",\"ranks\":1,\"raw_offsets_ns\":[[0]]}\n"
                     "{\"type\":\"arrivals\",\"site\":\"b\",\"ran");
    arrival_refused(spec, 1, "1 line is not a JSON object");
    write_file(path, "10us\n");
    arrival_refused(spec, 1, "contains no ictus results");
    arrival_refused("file:", 1, "name a file that 'ictus arrivals -o' wrote");
    arrival_refused("file:,site=a.c:1", 1, "name a file that 'ictus arrivals -o' wrote");
    arrival_refused("late:", 1, "malformed");
    arrival_refused("file", 1, "name a file that 'ictus arrivals -o' wrote");
    arrival_refused("file:/nowhere/x", 1, "cannot read '/nowhere/x'");
    arrival_refused("late:rank=3", 3, "must be a rank between 0 and 2");
    arrival_refused("acsending", 3, "did you mean 'ascending'");
}

/* The instances of a file repeat in order. */
static void files_are_replayed(const char *path)
{
    enum { PLAYERS = 3, INSTANCES = 2 };
    static const int64_t wanted[INSTANCES][PLAYERS] = {{0, 4000, 1000}, {2000, 0, 3000}};
    char spec[512];
    struct ictus_why why = {""};
    write_file(path, "{\"type\":\"arrivals\",\"site\":\"a.c:1\",\"ranks\":3,\"error_ns\":5,"
                     "\"raw_offsets_ns\":[[0,4000,1000],[2000,0,3000]]}\n");
    (void)snprintf(spec, sizeof spec, "file:%s", path);
    for (int rank = 0; rank < PLAYERS; rank++) {
        struct arrival arrival;
        REQUIRE(!ictusi_arrival_init(&arrival, spec, rank, PLAYERS, &why));
        for (int64_t i = 0; i < 3 * INSTANCES; i++) {
            const struct arrival_turn turn = ictusi_arrival_turn(&arrival, i);
            CHECK(turn.delay_ns == wanted[i % INSTANCES][rank]);
            CHECK(turn.lead_ns == 0 && turn.gap_ns == 0);
        }
        ictusi_arrival_fini(&arrival);
    }
    struct arrival alone; /* the first of the ranks that are played, and so never late */
    REQUIRE(!ictusi_arrival_init(&alone, spec, 0, 1, &why));
    for (int64_t i = 0; i < INSTANCES; i++) {
        CHECK(ictusi_arrival_turn(&alone, i).delay_ns == 0);
    }
    ictusi_arrival_fini(&alone);
}

/* All ranks compute for the requested gap, so none has to start before the common instant. */
static void shapes_compute_for_their_gap(void)
{
    for (int rank = 0; rank < 3; rank++) {
        struct arrival arrival;
        REQUIRE(!ictusi_arrival_init(&arrival, "ascending:spread=2us,gap=7us", rank, 3, NULL));
        const struct arrival_turn turn = ictusi_arrival_turn(&arrival, 4);
        CHECK(turn.gap_ns == 7000 && turn.lead_ns == 7000);
        CHECK_NEAR((double)turn.delay_ns, 1000.0 * rank, 1.5);
        ictusi_arrival_fini(&arrival);
    }
}

/*
 * The gaps of a file are as recorded unless another one is requested, including 0. The first
 * arrival is just as late as the largest (gap - delay) requires, computed by hand from the rows
 * below.
 */
static void files_compute_for_their_gaps(const char *path)
{
    static const struct {
        const char *options;
        int64_t lead[2];
        int64_t gap[2][3], silence[2][3];
    } cases[] = {
        {"", {3000, 8000}, {{3000, 5000, 1000}, {2000, 8000, 100}}, {{200, 0, 900}, {1, 2, 3}}},
        {",gap=-1",
         {3000, 8000},
         {{3000, 5000, 1000}, {2000, 8000, 100}},
         {{200, 0, 900}, {1, 2, 3}}},
        {",gap=6us",
         {6000, 6000},
         {{6000, 6000, 6000}, {6000, 6000, 6000}},
         {{200, 5000, 900}, {1, 2, 3}}},
        {",gap=0", {0, 0}, {{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}}};
    char spec[512];
    struct ictus_why why = {""};
    write_file(path, "{\"type\":\"arrivals\",\"site\":\"a.c:1\",\"ranks\":3,\"error_ns\":5,"
                     "\"raw_offsets_ns\":[[0,4000,1000],[2000,0,3000]],"
                     "\"raw_gaps_ns\":[[3000,5000,1000],[2000,8000,100]],"
                     "\"raw_silences_ns\":[[200,5000,900],[1,2,3]]}\n");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        (void)snprintf(spec, sizeof spec, "file:%s%s", path, cases[c].options);
        for (int rank = 0; rank < 3; rank++) {
            struct arrival arrival;
            REQUIRE(!ictusi_arrival_init(&arrival, spec, rank, 3, &why));
            for (int64_t i = 0; i < 4; i++) {
                const struct arrival_turn turn = ictusi_arrival_turn(&arrival, i);
                CHECK(turn.gap_ns == cases[c].gap[i % 2][rank]);
                CHECK(turn.silence_ns == cases[c].silence[i % 2][rank]);
                CHECK(turn.lead_ns == cases[c].lead[i % 2]);
            }
            ictusi_arrival_fini(&arrival);
        }
    }
    (void)snprintf(spec, sizeof spec, "file:%s,gap=-2", path);
    arrival_refused(spec, 3, "gap");
    arrival_refused("late:gap=-1", 3, "gap");
}

/* A replay stands for the recorded calls, but not for their time if its offsets are others. */
static void files_tell_how_long_calls_took(const char *path)
{
    static const struct {
        const char *options;
        bool known;
    } cases[] = {{"", true}, {",gap=0", true}, {",scale=2", false}, {",draw=1", false}};
    char spec[512];
    struct ictus_arrival_traced traced;
    write_file(path,
               "{\"type\":\"arrivals\",\"site\":\"a.c:1\",\"operation\":\"allreduce\",\"bytes\":24,"
               "\"ranks\":3,\"error_ns\":5,\"raw_durations_s\":[0.000005,0.000007],"
               "\"raw_offsets_ns\":[[0,4000,1000],[2000,0,3000]]}\n");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        (void)snprintf(spec, sizeof spec, "file:%s%s", path, cases[c].options);
        CHECK(ictus_arrival_describe(spec, &traced) == ICTUS_OK);
        CHECK_STR(traced.operation, "allreduce");
        CHECK(traced.bytes == 24 && traced.ranks == 3);
        CHECK(cases[c].known ? fabs(traced.duration_s - 6e-6) < 1e-15 : isnan(traced.duration_s));
    }
    CHECK(ictus_arrival_describe("late", &traced) == ICTUS_OK);
    CHECK(!traced.operation[0] && isnan(traced.duration_s));
    CHECK(ictus_arrival_describe("file:/nowhere", &traced) == ICTUS_ERR_SPEC);
    CHECK(!traced.operation[0] && isnan(traced.duration_s));
    /* A summary is drawn, and so are its offsets. */
    write_file(
        path,
        "{\"type\":\"arrivals\",\"site\":\"a.c:1\",\"ranks\":2,\"error_ns\":5,\"spread_ns\":900,"
        "\"duration_s\":0.000005,\"mean_ns\":[0,800],\"sd_ns\":[0,100]}\n");
    (void)snprintf(spec, sizeof spec, "file:%s", path);
    CHECK(ictus_arrival_describe(spec, &traced) == ICTUS_OK && isnan(traced.duration_s));
}

/* The smallest and the largest allowed value of each number are accepted. */
static void limits_are_inside(void)
{
    static const char *const good[] = {"random:seed=0,spread=0,gap=0",
                                       "random:seed=9000000000000000000",
                                       "late:rank=0,spread=10s",
                                       "early:rank=2,gap=10s",
                                       "tent:footprint=64",
                                       "tent:footprint=1073741824"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct arrival arrival;
        CHECK(!ictusi_arrival_init(&arrival, good[i], 0, 3, NULL));
        ictusi_arrival_fini(&arrival);
    }
    arrival_refused("random:seed=-1", 3, "seed");
    arrival_refused("late:spread=10.1s", 3, "spread");
    arrival_refused("late:gap=10.1s", 3, "gap");
    arrival_refused("late:rank=-1", 3, "rank");
    arrival_refused("late:footprint=63", 3, "footprint");
    arrival_refused("late:footprint=1073741825", 3, "footprint");
}

/* Without a pattern, and after it has been released, no process is delayed. */
static void no_pattern_delays_nobody(void)
{
    for (int rank = 0; rank < 3; rank++) {
        struct arrival unnamed;
        REQUIRE(!ictusi_arrival_init(&unnamed, NULL, rank, 3, NULL));
        CHECK(ictusi_arrival_turn(&unnamed, 5).delay_ns == 0);
        ictusi_arrival_fini(&unnamed);
    }
    const struct arrival none = {.rank = 1, .size = 2};
    CHECK(ictusi_arrival_turn(&none, 0).delay_ns == 0);
    CHECK(ictusi_arrival_turn(&none, 1000).delay_ns == 0);
}

static void shapes_are_as_named(void)
{
    static const struct {
        const char *spec;
        int64_t wanted[4];
    } cases[] = {{"together", {0, 0, 0, 0}},
                 {"ascending:spread=3us", {0, 1000, 2000, 3000}},
                 {"descending:spread=3us", {3000, 2000, 1000, 0}},
                 {"late:rank=1,spread=5us", {0, 5000, 0, 0}},
                 {"early:rank=1,spread=5us", {5000, 0, 5000, 5000}},
                 {"half:spread=2us", {0, 0, 2000, 2000}},
                 {"alternating:spread=2us", {0, 2000, 0, 2000}},
                 {"tent:spread=3us", {0, 2000, 2000, 0}}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int r = 0; r < 4; r++) {
            struct arrival arrival;
            REQUIRE(!ictusi_arrival_init(&arrival, cases[c].spec, r, 4, NULL));
            CHECK_NEAR((double)ictusi_arrival_turn(&arrival, 9).delay_ns,
                       (double)cases[c].wanted[r], 1.5);
            ictusi_arrival_fini(&arrival);
        }
    }
}

/* A pattern is named by the MPI call in lower case, or by what a start call has started. */
static void operations_are_named(void)
{
    static const struct {
        const char *call, *name;
    } cases[] = {{"MPI_Ireduce_scatter_block", "ireduce_scatter_block"},
                 {"MPI_Bcast", "bcast"},
                 {"MPI_Start", "bcast_init"},
                 {"MPI_Startall", "bcast_init"},
                 {"Started", "started"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32] = "?";
        ictusi_pattern_operation(cases[i].call, COLLECTIVE_BCAST, text, sizeof text);
        CHECK_STR(text, cases[i].name);
    }
    CHECK(ictusi_pattern_varies(COLLECTIVE_GATHERV) && ictusi_pattern_varies(COLLECTIVE_SCATTERV));
    CHECK(ictusi_pattern_varies(COLLECTIVE_ALLTOALLV));
    CHECK(ictusi_pattern_varies(COLLECTIVE_ALLTOALLW));
    CHECK(ictusi_pattern_varies(COLLECTIVE_ALLGATHERV));
    CHECK(ictusi_pattern_varies(COLLECTIVE_REDUCE_SCATTER));
    CHECK(!ictusi_pattern_varies(COLLECTIVE_ALLTOALL) && !ictusi_pattern_varies(COLLECTIVE_REDUCE));
}

/* From the bytes that three members moved: the size according to the count argument. */
static void blocks_are_told(void)
{
    struct traffic_sums sums = {0};
    ictusi_pattern_traffic_add(&sums, 90, 12);
    ictusi_pattern_traffic_add(&sums, 30, 36);
    ictusi_pattern_traffic_add(&sums, 60, 24);
    CHECK(sums.sent == 180 && sums.received == 72);
    CHECK(ictusi_pattern_bytes(COLLECTIVE_BCAST, &sums, 3) == 36);
    CHECK(ictusi_pattern_bytes(COLLECTIVE_REDUCE, &sums, 3) == 90);
    CHECK(ictusi_pattern_bytes(COLLECTIVE_GATHERV, &sums, 3) == 60);
    CHECK(ictusi_pattern_bytes(COLLECTIVE_SCATTERV, &sums, 3) == 24);
    CHECK(ictusi_pattern_bytes(COLLECTIVE_BARRIER, &sums, 3) == 0);
    CHECK(ictusi_pattern_bytes(COLLECTIVE_ALLTOALL, &sums, 3) == 8);
}

/* Three patterns, of which the second has the largest weight and the others have equal ones. */
static double pattern_weight_of(const void *self, size_t at)
{
    (void)self;
    return at == 1 ? 9.0 : 4.0;
}

static int pattern_make(const void *self, size_t at, struct ictus_arrivals *pattern)
{
    const char *const *sites = self;
    const int err = ictus_arrivals_init(pattern, 1, 0);
    ictusi_pattern_describe(pattern, sites[at],
                            "MPI_B\xff"
                            "cast",
                            COLLECTIVE_BCAST, at == 2 ? "half\xff" : "");
    return err;
}

/*
 * The pattern with the longest waits comes first, a second pattern of a site has a name of its own,
 * and names contain only valid text.
 */
static void patterns_are_listed(void)
{
    static const char *const alike[] = {"a.c:1", "a.c:1", "a.c:1"};
    static const char *const others[] = {"a.c:1", "a.c:11", "\xff.c:2"};
    struct ictus_arrivals_list list = {.at = NULL};
    struct pattern_source source = {alike, 3, pattern_weight_of, pattern_make};
    REQUIRE(!ictusi_pattern_list(&source, &list) && list.count == 3);
    CHECK_STR(list.at[0].site, "a.c:1");
    CHECK_STR(list.at[1].site, "a.c:1#2");
    CHECK_STR(list.at[2].site, "a.c:1#3");
    CHECK(!strchr(list.at[0].call, '\xff') && !strchr(list.at[0].operation, '\xff'));
    CHECK_STR(list.at[0].comm, "(unnamed)");
    ictus_arrivals_list_free(&list);
    source.self = others;
    REQUIRE(!ictusi_pattern_list(&source, &list) && list.count == 3);
    CHECK_STR(list.at[0].site, "a.c:11");
    CHECK_STR(list.at[1].site, "a.c:1");
    CHECK(strstr(list.at[2].site, ".c:2") && !strchr(list.at[2].site, '\xff'));
    CHECK(strstr(list.at[2].comm, "half") && !strchr(list.at[2].comm, '\xff'));
    ictus_arrivals_list_free(&list);
}

/*
 * Over many draws: uniform delays have a mean of half the spread, come close to both ends and never
 * leave it. Exponential delays have the spread as their mean and are cut off at ten times that, so
 * that no repetition consists of waiting only.
 */
static void draws_are_as_named(void)
{
    enum { DRAWS = 100000 };
    static const struct {
        const char *spec;
        double mean, most;
    } cases[] = {{"random:spread=10us,seed=3", 5e3, 1e4},
                 {"exponential:spread=10us,seed=3", 1e4, 1e5}};
    for (int c = 0; c < 2; c++) {
        struct arrival arrival;
        double sum = 0.0, most = 0.0, least = 1e9;
        REQUIRE(!ictusi_arrival_init(&arrival, cases[c].spec, 1, 3, NULL));
        for (int64_t i = 0; i < DRAWS; i++) {
            const double delay = (double)ictusi_arrival_turn(&arrival, i).delay_ns;
            sum += delay / DRAWS;
            most = fmax(most, delay);
            least = fmin(least, delay);
        }
        CHECK_NEAR(sum / cases[c].mean, 1.0, 0.02); /* 0.002 and 0.003 by chance */
        CHECK(most <= cases[c].most && most > 0.99 * cases[c].most);
        CHECK(least >= 0.0 && least < 10.0);
        ictusi_arrival_fini(&arrival);
    }
}

/* The upper half is late for any number of processes, including the middle one of an odd number. */
static void halves_are_halves(void)
{
    for (int size = 1; size < 10; size++) {
        for (int rank = 0; rank < size; rank++) {
            struct arrival arrival;
            REQUIRE(!ictusi_arrival_init(&arrival, "half:spread=2us", rank, size, NULL));
            const int64_t late = ictusi_arrival_turn(&arrival, 0).delay_ns;
            CHECK(late == (rank >= (size + 1) / 2 ? 2000 : 0));
            ictusi_arrival_fini(&arrival);
        }
    }
}

int main(void)
{
    patterns_are_listed();
    halves_are_halves();
    draws_are_as_named();
    char path[CHECK_PATH];
    const int file = mkstemp(check_scratch(path, "arrivals"));
    REQUIRE(file >= 0);
    (void)close(file);
    files_are_checked(path);
    files_are_replayed(path);
    files_compute_for_their_gaps(path);
    files_tell_how_long_calls_took(path);
    no_pattern_delays_nobody();
    shapes_compute_for_their_gap();
    operations_are_named();
    blocks_are_told();
    limits_are_inside();
    shapes_are_as_named();
    (void)unlink(path);
    return check_result();
}
