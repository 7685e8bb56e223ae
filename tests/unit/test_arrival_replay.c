/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes of a benchmark do to play a pattern: recorded instances and drawn ones. */
#include "straggler.h"

#include "arrival/replay.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int64_t delay_of(const struct ictus_arrivals *a, int rank, int size, bool draw, int64_t i)
{
    struct replay_track track;
    const struct replay_part part = {
        .rank = rank, .size = size, .draw = draw, .seed = 7, .scale = 1};
    REQUIRE(!ictusi_replay_make(a, &part, &track, NULL));
    const int64_t delay = track.delays_ns[i % track.count];
    ictusi_replay_fini(&track);
    return delay;
}

static void instances_are_replayed(void)
{
    struct ictus_arrivals a;
    straggler_plant(&a, 5);
    for (int r = 0; r < RANKS; r++) {
        for (int64_t i = 0; i < ROWS; i += 57) {
            CHECK(delay_of(&a, r, RANKS, false, i) == a.offsets_ns[i * RANKS + r]);
        }
    }
    /* With twice as many processes, two play each rank; with half as many, every second one is. */
    CHECK(delay_of(&a, 5, 2 * RANKS, false, 3) == a.offsets_ns[3 * RANKS + 2]);
    const int64_t *row = &a.offsets_ns[(size_t)3 * RANKS];
    const int64_t least = row[0] < row[2] ? row[0] : row[2];
    CHECK(delay_of(&a, 1, 2, false, 3) == row[2] - least);
    ictus_arrivals_free(&a);
}

/* Draws from the model have the statistics of the pattern. */
static void model_is_drawn(void)
{
    struct ictus_arrivals a;
    struct ictus_arrivals b;
    straggler_plant(&a, 6);
    REQUIRE(!ictus_arrivals_init(&b, RANKS, REPLAY_DRAWN));
    straggler_name(&b, "drawn");
    for (int r = 0; r < RANKS; r++) {
        struct replay_track track;
        const struct replay_part part = {
            .rank = r, .size = RANKS, .draw = true, .seed = 7, .scale = 1};
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        CHECK(track.count == REPLAY_DRAWN && !track.gaps_ns);
        for (int64_t i = 0; i < track.count; i++) {
            b.offsets_ns[i * RANKS + r] = track.delays_ns[i];
        }
        ictusi_replay_fini(&track);
    }
    CHECK(!ictus_arrivals_check(&b, NULL));
    REQUIRE(!ictus_arrivals_summarize(&b));
    CHECK_NEAR(b.rank[2].last, 1, 1e-9);
    CHECK_NEAR(b.rank[2].mean_ns - b.rank[0].mean_ns, a.rank[2].mean_ns - a.rank[0].mean_ns, 300);
    CHECK_NEAR(b.spread_ns, a.spread_ns, 2000);
    CHECK(b.persistence > 0.99);
    ictus_arrivals_free(&a);
    ictus_arrivals_free(&b);
}

/*
 * Only means and standard deviations of this pattern are known. No rank comes before rank 0, which
 * is always the first. Each rank is as late on average as in the pattern: for rank 3, whose normal
 * distribution is cut off at 0, that is 300 (Phi(1) + phi(1)).
 */
static void summaries_are_drawn(void)
{
    static const double mean_ns[RANKS] = {0, 5000, 40000, 300};
    static const double sd_ns[RANKS] = {0, 500, 2000, 300};
    static const double wanted_ns[RANKS] = {0, 5000, 40000, 325};
    struct ictus_arrivals a;
    REQUIRE(!ictus_arrivals_init(&a, RANKS, 0));
    straggler_name(&a, "x.c:4");
    a.error_ns = 50;
    a.spread_ns = mean_ns[2];
    for (int r = 0; r < RANKS; r++) {
        a.rank[r].mean_ns = mean_ns[r];
        a.rank[r].sd_ns = sd_ns[r];
    }
    for (int r = 0; r < RANKS; r++) {
        double mean = 0;
        struct replay_track track;
        const struct replay_part part = {.rank = r, .size = RANKS, .seed = 7, .scale = 1};
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        for (int64_t i = 0; i < track.count; i++) {
            mean += (double)track.delays_ns[i] / (double)track.count;
            CHECK(track.delays_ns[i] >= 0 && (r > 0 || track.delays_ns[i] == 0));
        }
        CHECK_NEAR(mean, wanted_ns[r], 5 * sd_ns[r] / sqrt((double)track.count) + 1e-9);
        ictusi_replay_fini(&track);
    }
    ictus_arrivals_free(&a);
}

/*
 * Rank 1 arrives 300 ns after rank 0 and computes for 1000 ns before; rank 0 computes for 200 ns.
 * To make room for both, the first arrival is 700 ns after the common instant. In the next
 * instance, only the limit on replayed computation requires a lead.
 */
static void computation_is_replayed(void)
{
    enum { PLAYERS = 2, INSTANCES = 2 };
    static const int64_t offsets[INSTANCES * PLAYERS] = {0, 300, 500, 0};
    static const int64_t gaps[INSTANCES * PLAYERS] = {200, 1000, 500, INT64_C(9000000000)};
    static const int64_t leads[INSTANCES] = {700, REPLAY_GAP_MAX_NS};
    struct ictus_arrivals a;
    REQUIRE(!ictus_arrivals_init(&a, PLAYERS, INSTANCES));
    straggler_name(&a, "x.c:5");
    a.gaps_ns = calloc((size_t)INSTANCES * PLAYERS, sizeof *a.gaps_ns);
    REQUIRE(a.gaps_ns);
    memcpy(a.offsets_ns, offsets, sizeof offsets);
    memcpy(a.gaps_ns, gaps, sizeof gaps);
    a.error_ns = 1;
    REQUIRE(!ictus_arrivals_summarize(&a));
    for (int r = 0; r < PLAYERS; r++) {
        struct replay_track track;
        struct replay_part part = {.rank = r, .size = PLAYERS, .seed = 7, .scale = 1, .gap_ns = -1};
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        REQUIRE(track.count == INSTANCES && track.gaps_ns);
        for (int i = 0; i < INSTANCES; i++) {
            const int64_t gap = gaps[i * PLAYERS + r];
            CHECK(track.delays_ns[i] == offsets[i * PLAYERS + r]);
            CHECK(track.leads_ns[i] == leads[i]);
            CHECK(track.gaps_ns[i] == (gap < REPLAY_GAP_MAX_NS ? gap : REPLAY_GAP_MAX_NS));
        }
        ictusi_replay_fini(&track);
        part.gap_ns = 50; /* the same for all, and the first needs all of it */
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        CHECK(track.gaps_ns[1] == 50 && track.leads_ns[1] == 50);
        ictusi_replay_fini(&track);
        part.gap_ns = 0;
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        CHECK(!track.gaps_ns && !track.leads_ns);
        ictusi_replay_fini(&track);
    }
    a.gaps_ns[0] = 0;
    a.gaps_ns[1] = 300; /* exactly the delay of rank 1 */
    const struct replay_part part = {.rank = 1, .size = PLAYERS, .scale = 1, .gap_ns = -1};
    struct replay_track track;
    REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
    CHECK(track.leads_ns[0] == 0 && track.gaps_ns[0] == 300);
    ictusi_replay_fini(&track);
    ictus_arrivals_free(&a);
}

/*
 * While it computes, a rank calls MPI as long before it arrives as the application did. If the
 * application left MPI alone for as long as the rank computes, nothing is called in between.
 */
static void silence_is_replayed(void)
{
    static const int64_t gaps[4] = {2000, 2000, 2000, INT64_C(9000000000)};
    static const int64_t silences[4] = {500, 1999, 2000, INT64_C(8000000000)};
    static const int64_t wanted[4] = {500, 1999, 0, 0};
    static const int64_t within_600[4] = {500, 0, 0, 0};
    struct ictus_arrivals a;
    struct replay_track track;
    REQUIRE(!ictus_arrivals_init(&a, 2, 2));
    straggler_name(&a, "x.c:9");
    a.offsets_ns[1] = a.offsets_ns[2] = 300;
    a.gaps_ns = calloc(4, sizeof *a.gaps_ns);
    a.silences_ns = calloc(4, sizeof *a.silences_ns);
    REQUIRE(a.gaps_ns && a.silences_ns);
    memcpy(a.gaps_ns, gaps, sizeof gaps);
    memcpy(a.silences_ns, silences, sizeof silences);
    a.error_ns = 1;
    REQUIRE(!ictus_arrivals_summarize(&a));
    for (int r = 0; r < 2; r++) {
        struct replay_part part = {.rank = r, .size = 2, .scale = 1, .gap_ns = -1};
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        CHECK(track.silences_ns && track.silences_ns[0] == wanted[r] &&
              track.silences_ns[1] == wanted[2 + r]);
        ictusi_replay_fini(&track);
        part.gap_ns = 600;
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        CHECK(track.silences_ns && track.silences_ns[0] == within_600[r]);
        ictusi_replay_fini(&track);
        part.gap_ns = 0; /* nobody computes, so nobody calls MPI meanwhile */
        REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
        CHECK(!track.silences_ns);
        ictusi_replay_fini(&track);
    }
    free(a.silences_ns); /* as in files that were written before */
    a.silences_ns = NULL;
    const struct replay_part part = {.size = 2, .scale = 1, .gap_ns = -1};
    REQUIRE(!ictusi_replay_make(&a, &part, &track, NULL));
    CHECK(track.gaps_ns && !track.silences_ns);
    ictusi_replay_fini(&track);
    ictus_arrivals_free(&a);
}

int main(void)
{
    instances_are_replayed();
    model_is_drawn();
    summaries_are_drawn();
    computation_is_replayed();
    silence_is_replayed();
    return check_result();
}
