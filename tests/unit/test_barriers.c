/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The barriers of ictus in simulated jobs: nobody leaves one before all have entered, whoever comes
 * last and however many there are, one after another on the same communicator; and they cost no
 * more messages one after another than they say.
 */
#include "../check.h"
#include "../sim/job.h"

#include "harmonize/shared_memory.h"
#include "harmonize/state.h"

#include <dirent.h>
#include <ictus/barrier.h>
#include <ictus/harmonize.h>
#include <unistd.h>

enum { RANKS_MOST = 9, TURNS = 25, LATENCY_NS = 1000, CALL_NS = 150 };

static struct {
    enum ictus_barrier_algorithm algorithm;
    int64_t entered[TURNS], left[TURNS][RANKS_MOST], last_left[TURNS]; /* entered: by the last */
} scene;

static void scene_rank(int rank, void *context)
{
    (void)context;
    for (int k = 0; k < TURNS; k++) {
        job_spend(k % 3 ? 20000.0 * job_uniform() : 0.0);
        scene.entered[k] = job_now() > scene.entered[k] ? job_now() : scene.entered[k];
        REQUIRE(!ictus_barrier(job_world(), scene.algorithm));
        scene.left[k][rank] = job_now();
    }
}

/* So many messages one after another are enough between the last entry and the last exit. */
static int messages_in_a_row(enum ictus_barrier_algorithm algorithm, int ranks)
{
    int rounds = 0;
    for (int reach = 1; reach < ranks; reach *= 2) {
        rounds++;
    }
    return algorithm == ICTUS_BARRIER_DISSEMINATION ? rounds
           : algorithm == ICTUS_BARRIER_LINEAR      ? 2 + ranks / 2
                                                    : 2 * rounds;
}

static void barriers_hold(enum ictus_barrier_algorithm algorithm)
{
    for (int ranks = 1; ranks <= RANKS_MOST; ranks++) {
        char said[512];
        const struct job_options options = {.seed = 3,
                                            .ranks = ranks,
                                            .nodes = ranks,
                                            .cores = JOB_RANKS,
                                            .latency_ns = LATENCY_NS,
                                            .inside_ns = LATENCY_NS,
                                            .slow = -1,
                                            .slow_factor = 1.0};
        memset(&scene, 0, sizeof(scene));
        scene.algorithm = algorithm;
        REQUIRE(job_run(&options, scene_rank, NULL, said, sizeof(said)) == JOB_DONE);
        const double each = LATENCY_NS + 3.0 * CALL_NS;
        for (int k = 0; k < TURNS; k++) {
            for (int r = 0; r < ranks; r++) {
                const double after = (double)(scene.left[k][r] - scene.entered[k]);
                CHECK(after >= 0.0);
                CHECK(k == 0 || after <= each * messages_in_a_row(algorithm, ranks) + 1.0);
            }
        }
    }
}

/* A start as it is set up: what counts as late, and whether words go through memory. */
static struct {
    const char *spec;
    double tolerance_ns[RANKS_MOST];
    bool memory[RANKS_MOST];
    char hint[128];
} start;

/* Shared pages that this process left under a name, where others would find them. */
static int pages_left(void)
{
    char mine[64];
    int count = 0;
    DIR *list = opendir("/dev/shm");
    REQUIRE(list);
    (void)snprintf(mine, sizeof(mine), "ictus-%ld-", (long)getpid());
    for (const struct dirent *entry = NULL; (entry = readdir(list)) != NULL;) {
        count += strncmp(entry->d_name, mine, strlen(mine)) == 0;
    }
    (void)closedir(list);
    return count;
}

/* The next descriptor that is free: greater after something that leaves files open. */
static int next_descriptor(void)
{
    const int next = dup(STDERR_FILENO);
    REQUIRE(next >= 0 && close(next) == 0);
    return next;
}

static void start_rank(int rank, void *context)
{
    struct ictus_harmonize_stats stats;
    struct ictus_why why = {""};
    (void)context;
    REQUIRE(!ictus_harmonize_configure(job_world(), start.spec, "propagate@monotonic", &why));
    REQUIRE(!ictus_harmonize(job_world(), NULL));
    REQUIRE(!ictus_harmonize_stats(job_world(), &stats));
    start.tolerance_ns[rank] = stats.tolerance_ns;
    const char *hint = ictusi_harmonize_attached_hint(job_world());
    (void)snprintf(start.hint, sizeof(start.hint), "%s", hint ? hint : "none");
    start.memory[rank] = ictusi_harmonize_find(job_world())->board != NULL;
}

/* Where processes take turns on cores, they are given the time that this takes, and no words in
 * memory unless these are asked for. */
static void starts_fit_their_place(void)
{
    enum { RANKS = 3 };
    static const struct {
        const char *spec;
        double tolerance_ns, crowded_ns;
        bool memory, crowded_memory;
    } cases[] = {{"harmonize", 1000, 100000, true, false},
                 {"harmonize:tolerance=7us", 7000, 7000, true, false},
                 {"harmonize:within=memory", 1000, 100000, true, true},
                 {"harmonize:within=messages", 1000, 100000, false, false}};
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        char said[512];
        const bool crowded = i % 2;
        const struct job_options options = {.seed = 3,
                                            .ranks = RANKS,
                                            .nodes = 1,
                                            .cores = crowded ? RANKS - 1 : RANKS,
                                            .latency_ns = LATENCY_NS,
                                            .inside_ns = LATENCY_NS,
                                            .slow = -1,
                                            .slow_factor = 1.0};
        char hint[128];
        start.spec = cases[i / 2].spec;
        const int free_before = next_descriptor();
        REQUIRE(job_run(&options, start_rank, NULL, said, sizeof(said)) == JOB_DONE);
        CHECK(pages_left() == 0 && next_descriptor() == free_before);
        (void)snprintf(hint, sizeof(hint), "%s\npropagate@monotonic", start.spec);
        CHECK_STR(start.hint, hint); /* what a duplicate is to have */
        for (int r = 0; r < RANKS; r++) {
            CHECK_NEAR(start.tolerance_ns[r],
                       crowded ? cases[i / 2].crowded_ns : cases[i / 2].tolerance_ns, 1e-6);
            CHECK(start.memory[r] == (crowded ? cases[i / 2].crowded_memory : cases[i / 2].memory));
        }
    }
}

/* Memory that the processes of a node share is empty when the first one gets it, and the same for
 * all. */
static void page_rank(int rank, void *context)
{
    enum { WORDS = 512 };
    (void)context;
    int64_t *page = ictusi_shared_memory_open(job_world(), WORDS * sizeof(*page));
    REQUIRE(page);
    for (int i = 0; i < WORDS && rank == 0; i++) {
        CHECK(page[i] == 0);
        page[i] = 3 * i + 1;
    }
    REQUIRE(PMPI_Barrier(job_world()) == MPI_SUCCESS);
    for (int i = 0; i < WORDS; i++) {
        CHECK(page[i] == 3 * i + 1);
    }
    ictusi_shared_memory_close(page, WORDS * sizeof(*page));
}

static void pages_begin_empty(void)
{
    for (int ranks = 1; ranks <= RANKS_MOST; ranks += 2) {
        char said[512];
        const struct job_options options = {.seed = 3,
                                            .ranks = ranks,
                                            .nodes = 1,
                                            .cores = JOB_RANKS,
                                            .latency_ns = LATENCY_NS,
                                            .inside_ns = LATENCY_NS,
                                            .slow = -1,
                                            .slow_factor = 1.0};
        const int free_before = next_descriptor();
        REQUIRE(job_run(&options, page_rank, NULL, said, sizeof(said)) == JOB_DONE);
        CHECK(pages_left() == 0 && next_descriptor() == free_before);
    }
}

int main(void)
{
    pages_begin_empty();
    starts_fit_their_place();
    barriers_hold(ICTUS_BARRIER_DISSEMINATION);
    barriers_hold(ICTUS_BARRIER_TREE);
    barriers_hold(ICTUS_BARRIER_LINEAR);
    barriers_hold(ICTUS_BARRIER_MPI);
    return check_result();
}
