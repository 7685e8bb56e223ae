/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm in simulated jobs whose messages take as long there as back: then nothing but the
 * rounding of readings makes errors, and each makes exactly the exchanges that were asked for.
 */
#include "../check.h"
#include "../sim/job.h"

#include "clock/source.h"
#include "sync/mesh_counter.h"
#include "sync/place.h"

#include <ictus/clock.h>

enum { RANKS_MOST = 9, LOOKS = 3, LATENCY_NS = 1000, CALL_NS = 150, READ_NS = 100 };

static const double drift = 40e-6;

/* What is synchronised how, and what its ranks saw. */
struct scene {
    const char *spec;
    int ranks, nodes;
    bool lines;  /* drifts are followed */
    bool shares; /* and clocks of a node are passed on */
    int64_t began, ended;
    double worst_ns[RANKS_MOST][LOOKS], since_s[RANKS_MOST][LOOKS];
    struct ictus_sync_stats stats[RANKS_MOST];
    struct ictus_reading last[RANKS_MOST];
};

static void scene_rank(int rank, void *context)
{
    struct scene *s = context;
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    s->began = s->began ? s->began : job_now();
    REQUIRE(!ictus_clock_create_why(job_world(), s->spec, &clock, &why));
    s->ended = job_now();
    for (int k = 0; k < LOOKS; k++) {
        struct ictus_reading reading;
        REQUIRE(!ictus_clock_read(clock, &reading));
        s->worst_ns[rank][k] = fabs((double)(reading.time.ns - job_beside()));
        s->since_s[rank][k] = 1e-9 * (double)(job_now() - s->began);
        CHECK(s->worst_ns[rank][k] <= reading.bound_ns + 2.0);
        s->last[rank] = reading;
        job_spend(2e6);
    }
    REQUIRE(!ictus_clock_stats(clock, &s->stats[rank]));
    ictus_clock_free(clock);
}

static void scene_play(struct scene *s)
{
    char said[512];
    const struct job_options options = {.seed = 3,
                                        .ranks = s->ranks,
                                        .nodes = s->nodes,
                                        .cores = JOB_RANKS,
                                        .latency_ns = LATENCY_NS,
                                        .inside_ns = LATENCY_NS,
                                        .slow = -1,
                                        .slow_factor = 1.0,
                                        .drift = drift};
    const enum job_end end = job_run(&options, scene_rank, s, said, sizeof(said));
    if (end != JOB_DONE) {
        (void)fprintf(stderr, "%s of %d:%s\n", s->spec, s->ranks, said);
    }
    REQUIRE(end == JOB_DONE);
}

/* Levels of a binomial tree. */
static int tree_depth(int ranks)
{
    int depth = 0;
    for (int reach = 1; reach < ranks; reach *= 2) {
        depth++;
    }
    return depth;
}

static void scene_is_exact(const struct scene *s)
{
    for (int r = 0; r < s->ranks; r++) {
        for (int k = 0; k < LOOKS; k++) {
            const double slope = s->lines ? 4e-6 : 2.0 * drift;
            const double allowed =
                2.0 + 2.0 * tree_depth(s->ranks) + 1e9 * slope * s->since_s[r][k];
            if (s->worst_ns[r][k] > allowed) {
                (void)fprintf(stderr, "%s, rank %d of %d: %g ns, allowed %g\n", s->spec, r,
                              s->ranks, s->worst_ns[r][k], allowed);
            }
            CHECK(s->worst_ns[r][k] <= allowed);
        }
        CHECK(s->stats[r].synced == 1 && s->stats[r].steps == 0);
        CHECK(s->stats[r].duration_s > 0.0);
        CHECK(s->stats[r].duration_s <= 1e-9 * (double)(s->ended - s->began));
        CHECK(s->lines || s->stats[r].slope == 0.0);
        /* A message takes so long in each direction, which proves no more, and on each level. */
        const double each = LATENCY_NS + CALL_NS;
        const bool own = !s->shares || r * s->nodes / s->ranks > 0; /* not rank 0's clock itself */
        CHECK(r == 0 || !own || s->stats[r].bound_ns >= each);
        CHECK(s->stats[r].bound_ns <= 3.0 * each * (1 + tree_depth(s->ranks)) + 1e5 * !s->lines);
    }
    CHECK(s->last[0].sigma_ns == 0.0 && s->last[0].bound_ns == 0.0);
}

static double exchanges_of_all(const struct scene *s)
{
    double sum = 0.0;
    for (int r = 0; r < s->ranks; r++) {
        sum += (double)s->stats[r].exchanges;
        CHECK(s->ranks == 1 || s->stats[r].messages > 0);
    }
    return sum;
}

static void algorithms_are_exact(void)
{
    static const struct {
        const char *spec;
        int exchanges; /* of each process but rank 0; 0: as there is time for */
        bool lines;
    } algorithms[] = {
        {"skampi:exchanges=20@monotonic", 20, false},
        {"skampi:exchanges=20,offset=min-rtt@monotonic", 20, false},
        {"skampi:exchanges=20,offset=mean-rtt@monotonic", 40, false},
        {"skampi:exchanges=20,offset=netgauge@monotonic", 0, false},
        {"hca3-offset:exchanges=15@monotonic", 15, false},
        {"netgauge:patience=20@monotonic", 0, false},
        {"jk:fitpoints=12,exchanges=5@monotonic", 60, true},
        {"jk:fitpoints=12,exchanges=5,offset=mean-rtt@monotonic", 65, true},
        {"hca3:fitpoints=30,exchanges=8@monotonic", 240, true},
        {"hca3:fitpoints=30,exchanges=8,recompute=1@monotonic", 248, true},
        {"hca2:fitpoints=30,exchanges=8@monotonic", 240, true},
        {"hca:fitpoints=30,exchanges=8@monotonic", 248, true},
        {"mesh:calibrate=no,window=30ms@monotonic", 0, true},
        {"mesh:calibrate=no,window=30ms,pair=min-rtt@monotonic", 0, true},
    };
    static struct scene s;
    for (size_t a = 0; a < sizeof(algorithms) / sizeof(algorithms[0]); a++) {
        for (int ranks = 1; ranks <= RANKS_MOST; ranks += ranks < 5 ? 1 : 2) {
            s = (struct scene){.spec = algorithms[a].spec,
                               .ranks = ranks,
                               .nodes = ranks,
                               .lines = algorithms[a].lines};
            scene_play(&s);
            scene_is_exact(&s);
            const double all = exchanges_of_all(&s);
            if (algorithms[a].exchanges && all != (double)algorithms[a].exchanges * (ranks - 1)) {
                (void)fprintf(stderr, "%s of %d: %g exchanges\n", s.spec, ranks, all);
            }
            CHECK(!algorithms[a].exchanges || all == (double)algorithms[a].exchanges * (ranks - 1));
        }
    }
}

/* Two points show a drift if they are as far apart as was asked for. */
static void points_are_apart(void)
{
    struct scene s = {.spec = "hca3:fitpoints=2,exchanges=5,pace=1s@monotonic",
                      .ranks = 2,
                      .nodes = 2,
                      .lines = true};
    scene_play(&s);
    scene_is_exact(&s);
    CHECK(s.stats[1].duration_s > 2e-3 && s.stats[1].duration_s < 6e-3); /* 4 ms, by 2 of 500 */
}

/* The sweeps of a mesh fill the window that was asked for, after a short trial. */
static void windows_are_as_long_as_asked(void)
{
    for (int ranks = 2; ranks <= RANKS_MOST; ranks += 3) {
        struct scene s = {.spec = "mesh:calibrate=no,window=200ms@monotonic",
                          .ranks = ranks,
                          .nodes = ranks,
                          .lines = true};
        scene_play(&s);
        CHECK(s.stats[1].duration_s > 0.199 && s.stats[1].duration_s < 0.25);
    }
}

/* Levels: processes of a node have one line where they share its clock, and any algorithm may stand
 * at any level. */
static void levels_are_exact(void)
{
    static const struct {
        const char *spec;
        bool lines, shares;
    } hierarchies[] = {
        {"hierarchy(hca3:fitpoints=30,exchanges=8,propagate)@monotonic", true, true},
        {"hierarchy(skampi:exchanges=20,propagate)@monotonic", false, true},
        {"hierarchy(mesh:calibrate=no,window=30ms,propagate)@monotonic", true, true},
        {"hierarchy(hca3-offset:exchanges=9,skampi:exchanges=20)@monotonic", false, false},
        {"hierarchy(hca2:fitpoints=30,exchanges=8,hca3:fitpoints=30,exchanges=8,propagate)@"
         "monotonic",
         true, true},
        {"hierarchy(jk:fitpoints=12,exchanges=5,propagate(skampi))@monotonic", true, true},
    };
    static struct scene s;
    for (size_t h = 0; h < sizeof(hierarchies) / sizeof(hierarchies[0]); h++) {
        for (int ranks = 1; ranks <= RANKS_MOST; ranks += 2) {
            s = (struct scene){.spec = hierarchies[h].spec,
                               .ranks = ranks,
                               .nodes = (ranks + 1) / 2,
                               .lines = hierarchies[h].lines,
                               .shares = hierarchies[h].shares};
            scene_play(&s);
            scene_is_exact(&s);
            for (int r = 1; r < ranks && hierarchies[h].shares; r++) {
                const bool together = r * s.nodes / ranks == (r - 1) * s.nodes / ranks;
                CHECK(!together || s.stats[r].slope == s.stats[r - 1].slope);
            }
        }
    }
}

/* Clocks that nobody shares are not passed on: the lowest rank that has another is named, or the
 * algorithm for strangers is used. */
static void stranger_rank(int rank, void *context)
{
    struct scene *s = context;
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    const int err = ictus_clock_create_why(job_world(), s->spec, &clock, &why);
    CHECK(err == ICTUS_ERR_NOT_SHARED);
    CHECK(strstr(why.text, "rank 2 does not share the 'monotonic' clock of rank 0"));
    CHECK(strstr(why.text, "readings differ"));
    ictus_clock_free(err ? NULL : clock);
    (void)rank;
}

static void strangers_are_told(void)
{
    char said[512];
    struct scene s = {.spec = "propagate@monotonic", .ranks = 5, .nodes = 3};
    struct job_options options = {.seed = 3,
                                  .ranks = s.ranks,
                                  .nodes = s.nodes,
                                  .cores = JOB_RANKS,
                                  .latency_ns = LATENCY_NS,
                                  .inside_ns = LATENCY_NS,
                                  .slow = -1,
                                  .slow_factor = 1.0,
                                  .drift = drift};
    CHECK(job_run(&options, stranger_rank, &s, said, sizeof(said)) == JOB_DONE);
    s.spec = "propagate(skampi:exchanges=20)@monotonic";
    scene_play(&s);
    scene_is_exact(&s);
    s = (struct scene){.spec = "propagate@monotonic", .ranks = 5, .nodes = 1};
    scene_play(&s);
    for (int r = 0; r < s.ranks; r++) {
        CHECK(s.worst_ns[r][0] == 0.0 && s.stats[r].bound_ns == 0.0 && s.stats[r].slope == 0.0);
    }
}

/* Clocks that belong to nodes, and whether processes outnumber cores somewhere. */
static struct {
    int nodes, cores;
    char names[RANKS_MOST][256];
    bool crowded[RANKS_MOST];
} places;

static void place_rank(int rank, void *context)
{
    struct source *source = NULL;
    struct ictus_why why = {""};
    (void)context;
    REQUIRE(!ictusi_place_open_source(job_world(), "sim:offset=1s,scope=node,seed=3", &source,
                                      &places.crowded[rank], &why));
    source->ops->identify(source, places.names[rank], sizeof(places.names[rank]));
    ictusi_source_free(source);
}

/* Processes have the same clock if they are on one node, and only then, however they are placed. */
static void nodes_have_clocks(void)
{
    for (int ranks = 1; ranks <= RANKS_MOST; ranks += 2) {
        for (places.nodes = 1; places.nodes <= ranks; places.nodes += 2) {
            char said[512];
            places.cores = (ranks + places.nodes - 1) / places.nodes - places.nodes % 2;
            struct job_options options = {.seed = 3,
                                          .ranks = ranks,
                                          .nodes = places.nodes,
                                          .cores = places.cores > 0 ? places.cores : 1,
                                          .latency_ns = LATENCY_NS,
                                          .inside_ns = LATENCY_NS,
                                          .slow = -1,
                                          .slow_factor = 1.0};
            REQUIRE(job_run(&options, place_rank, NULL, said, sizeof(said)) == JOB_DONE);
            for (int r = 0; r < ranks; r++) {
                for (int q = 0; q < r; q++) {
                    const bool one = r * places.nodes / ranks == q * places.nodes / ranks;
                    CHECK((strcmp(places.names[r], places.names[q]) == 0) == one);
                }
            }
        }
    }
}

/* A counter is common if each process reads that of this one, the first and the last, too. */
static void counters_are_common(void)
{
    uint64_t names[][3] = {{7, 7, 7}, {8, 7, 7}, {7, 7, 8}, {0, 7, 7}, {0, 0, 0}};
    for (int i = 0; i < 5; i++) {
        struct mesh_counter counter = {.rank = 1, .names = names[i]};
        CHECK(ictusi_mesh_counter_common(&counter, 3) == (i == 0));
        CHECK(ictusi_mesh_counter_shared(&counter, 0) == (i == 0 || i == 2));
        CHECK(ictusi_mesh_counter_shared(&counter, 2) == (i == 0 || i == 1 || i == 3));
    }
    const struct mesh_counter none = {.rank = 1, .names = NULL};
    CHECK(!ictusi_mesh_counter_common(&none, 1) && !ictusi_mesh_counter_shared(&none, 0));
}

int main(void)
{
    counters_are_common();
    nodes_have_clocks();
    points_are_apart();
    windows_are_as_long_as_asked();
    levels_are_exact();
    strangers_are_told();
    algorithms_are_exact();
    return check_result();
}
