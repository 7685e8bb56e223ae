/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm on a simulated source: bounds hold against exact truth, costs are as published
 * (messages are counted, not timed), history is used, and malformed specifications are refused.
 */
#include "clock/counter.h"
#include "exchange/exchange.h"
#include "sync/clock.h"
#include "sync/mesh_counter.h"

#include <ictus/clock.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>

#include "check_mpi.h"

#define SKEWED "sim:offset=1.5s,drift=50ppm,scope=process,seed=5"
#define NEGATIVE "sim:offsets=-900000000,drift=50ppm,scope=process,seed=5"

/* The local instant that corresponds to a true one, by bisection around a known pair. */
static int64_t local_at(const struct ictus_clock *clock, int64_t truth)
{
    const struct ictus_time here = ictus_clock_local(clock);
    struct ictus_time at = {0};
    REQUIRE(!ictus_clock_truth(clock, here, &at));
    int64_t low = here.ns + (truth - at.ns) - INT64_C(10000000000);
    int64_t high = here.ns + (truth - at.ns) + INT64_C(10000000000);
    while (high - low > 1) {
        const struct ictus_time middle = {low + (high - low) / 2};
        REQUIRE(!ictus_clock_truth(clock, middle, &at));
        if (at.ns <= truth) {
            low = middle.ns;
        } else {
            high = middle.ns;
        }
    }
    return low;
}

static void within_bound(const struct ictus_clock *clock, const char *spec)
{
    int64_t now = check_monotonic_ns();
    MPI_Bcast(&now, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int seconds = 0; seconds <= 10; seconds += 5) {
        const struct ictus_time local = {local_at(clock, now + seconds * INT64_C(1000000000))};
        struct ictus_reading reading;
        REQUIRE(!ictus_clock_map_reading(clock, local, &reading));
        int64_t first = reading.time.ns;
        MPI_Bcast(&first, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        const double error = fabs((double)(reading.time.ns - first));
        CHECK(error <= reading.bound_ns + 2.0);
        CHECK(check_rank == 0 || reading.sigma_ns > 0.0);
        if (error > reading.bound_ns + 2.0) {
            (void)fprintf(stderr, "%s: rank %d of %d, +%d s: error %g ns, bound %g ns\n", spec,
                          check_rank, check_size, seconds, error, reading.bound_ns);
        }
    }
}

static void stays_within_its_bound(const char *spec)
{
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    const int err = ictus_clock_create_why(MPI_COMM_WORLD, spec, &clock, &why);
    if (err && check_rank == 0) {
        (void)fprintf(stderr, "%s: %s\n", spec, why.text);
    }
    REQUIRE(!err);
    within_bound(clock, spec);
    for (int k = 0; k < 3; k++) {
        REQUIRE(!ictus_clock_resync(clock));
    }
    within_bound(clock, spec);
    struct ictus_sync_stats stats;
    CHECK(!ictus_clock_stats(clock, &stats) && stats.synced == 4);
    /* No clock was stepped, however often processes take turns on a core. */
    CHECK(stats.steps == 0);
    ictus_clock_free(clock);
}

/* What one run of an algorithm sends in total, and what its busiest process sends. */
struct cost {
    uint64_t exchanges, exchanges_max, messages, messages_max;
};

static struct cost cost_of(const char *text)
{
    struct sync *sync = NULL;
    struct source *source = NULL;
    struct ictus_why why = {""};
    const struct source_place place = {check_rank, check_rank};
    REQUIRE(!ictusi_sync_create(text, &sync, &why));
    REQUIRE(!ictusi_source_open(SKEWED, &place, &source, &why));
    struct sync_run run = {.comm = MPI_COMM_WORLD, .source = source, .crowded = true};
    run.base = ictusi_line_identity();
    run.base.anchor = ictusi_source_read(source);
    REQUIRE(!ictusi_sync_run(sync, &run));
    struct cost c = {0, 0, 0, 0};
    MPI_Allreduce(&run.exchanges, &c.exchanges, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&run.exchanges, &c.exchanges_max, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&run.messages, &c.messages, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&run.messages, &c.messages_max, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    ictusi_source_free(source);
    ictusi_sync_free(sync);
    return c;
}

/* The number of rounds that rank 0 takes part in, as the root of the binomial tree. */
static uint64_t root_rounds(void)
{
    uint64_t rounds = 0;
    int power = 1;
    while (power <= check_size / 2) {
        power *= 2;
        rounds++;
    }
    return rounds + (check_size > power ? 1 : 0);
}

static void costs_are_as_published(void)
{
    const uint64_t clients = (uint64_t)check_size - 1;
    /*
     * p - 1 lines with 6 points of 5 exchanges each. An exchange takes two messages, and the error
     * of a line one more.
     */
    struct cost c = cost_of("hca3:fitpoints=6,exchanges=5");
    CHECK(c.exchanges == 30 * clients && c.exchanges_max == (clients ? 30 : 0));
    CHECK(c.messages == 61 * clients);
    CHECK(check_size == 1 || c.messages_max <= 31 * root_rounds() + 30);
    c = cost_of("hca3-offset:exchanges=5");
    CHECK(c.exchanges == 5 * clients);
    /* HCA2: the same, and one more message per pair with the lines of the subtree. */
    c = cost_of("hca2:fitpoints=6,exchanges=5");
    CHECK(c.exchanges == 30 * clients && c.messages <= 62 * clients);
    /* HCA: p - 1 more offsets, all measured by rank 0. */
    c = cost_of("hca:fitpoints=6,exchanges=5");
    CHECK(c.exchanges == 35 * clients && c.messages <= 72 * clients);
    CHECK(check_size == 1 || c.messages_max >= 5 * clients);
    /* The linear algorithms: every exchange is with rank 0. */
    c = cost_of("skampi:exchanges=5");
    CHECK(c.exchanges == 5 * clients && c.messages_max == 5 * clients);
    c = cost_of("jk:fitpoints=6,exchanges=5");
    CHECK(c.exchanges == 30 * clients && c.messages_max == 30 * clients);
    c = cost_of("jk:fitpoints=6,exchanges=5,offset=mean-rtt");
    CHECK(c.exchanges == 35 * clients); /* the round trip is measured first */
    /* Netgauge: at least patience + 1 exchanges per pair, and a message that ends them. */
    c = cost_of("netgauge:patience=7");
    CHECK(c.exchanges >= 8 * clients);
}

/* Mesh: the cost of a process does not grow with their number. */
static void mesh_costs_the_same_everywhere(void)
{
    const struct cost c = cost_of("mesh:rounds=6,exchanges=5,sweeps=2,window=2s");
    const int most = check_size - 1 + check_size % 2;
    const uint64_t rounds = most < 6 ? (uint64_t)most : 6;
    if (check_size > 1) {
        /* The pairs of all rounds, after a trial with 4 rounds of 9 exchanges. */
        const uint64_t per_round = (uint64_t)check_size / 2;
        const uint64_t burst = 30 / rounds;
        const uint64_t trial = 36 * per_round;
        CHECK(c.exchanges == 2 * burst * rounds * per_round + trial);
        CHECK(c.exchanges_max <= 2 * burst * rounds + 36);
    } else {
        CHECK(c.exchanges == 0);
    }
}

static void tolerance_is_reached_or_told(void)
{
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    int err = ictus_clock_create_why(
        MPI_COMM_WORLD, "mesh:tolerance=100ms,horizon=10s,window=0.1@" SKEWED, &clock, &why);
    CHECK(!err);
    ictus_clock_free(clock);
    clock = NULL;
    err = ictus_clock_create_why(MPI_COMM_WORLD,
                                 "mesh:tolerance=0.1ns,horizon=10s,window=0.05,limit=0.2@" SKEWED,
                                 &clock, &why);
    CHECK(check_size == 1 ? !err : err == ICTUS_ERR_TOLERANCE);
    CHECK(check_size == 1 || strstr(why.text, "tolerance=0.0001 us was requested"));
    ictus_clock_free(clock);
}

static void malformed_specs_are_refused(void)
{
    static const char *const bad[] = {"mesh:sweeps=1",
                                      "mesh:rounds=0",
                                      "mesh:window=-1s",
                                      "mesh:walk=0",
                                      "mesh:tolerance=2us,horizon=x",
                                      "mesh(hca3)",
                                      "mesh:pair=median",
                                      "mesh:calibrate=yes",
                                      "jk:fitpoints=1",
                                      "skampi:fitpoints=3",
                                      "netgauge:patience=0",
                                      "hca2:offset=best",
                                      "mesh:rounds=1e3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ictus_clock *clock = NULL;
        struct ictus_why why = {""};
        const int err = ictus_clock_create_why(MPI_COMM_WORLD, bad[i], &clock, &why);
        CHECK(err == ICTUS_ERR_SPEC || err == ICTUS_ERR_UNKNOWN);
        CHECK(why.text[0] && !clock);
    }
}

/* A process is stopped in the middle of the sweeps: it is late, but neither wrong nor a step. */
static void a_stopped_process_is_no_step(void)
{
    struct ictus_clock *clock = NULL;
    const char *const spec = "mesh:window=0.2@" SKEWED;
    const bool stops = check_rank == check_size - 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (stops) {
        check_stop_soon(60000, 300000);
    }
    REQUIRE(!ictus_clock_create(MPI_COMM_WORLD, spec, &clock));
    if (stops) {
        (void)wait(NULL);
    }
    within_bound(clock, spec);
    struct ictus_sync_stats stats;
    CHECK(!ictus_clock_stats(clock, &stats) && stats.steps == 0);
    ictus_clock_free(clock);
}

/* The largest systematic error that the processes state after a synchronisation. */
static double stated_path_ns(const char *spec)
{
    struct ictus_clock *clock = NULL;
    struct ictus_reading reading;
    REQUIRE(!ictus_clock_create(MPI_COMM_WORLD, spec, &clock));
    within_bound(clock, spec);
    REQUIRE(!ictus_clock_map_reading(clock, ictus_clock_local(clock), &reading));
    ictus_clock_free(clock);
    double most = reading.path_ns;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/*
 * Processes that share a counter compare their clocks by it, so that no path is involved. On a busy
 * machine they may fail to read their clocks at one time, and messages are better then.
 */
static void a_shared_counter_replaces_paths(void)
{
    enum { TRIES = 10 };
    int shared = ictusi_counter_name() != 0;
    MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!shared || check_size < 2 || check_size > 3) {
        return;
    }
    const double by_messages = stated_path_ns("mesh:window=0.1,calibrate=no@" SKEWED);
    bool smaller = false;
    for (int i = 0; i < TRIES && !smaller; i++) {
        smaller = stated_path_ns("mesh:window=0.1@" SKEWED) < 0.6 * by_messages;
    }
    CHECK(smaller);
}

/* Several communicators at once, each synchronised in a thread of its own. */
static void *synchronise_on(void *comm)
{
    struct ictus_clock *clock = NULL;
    const int err =
        ictus_clock_create(*(MPI_Comm *)comm, "mesh:window=0.05,exchanges=5@" SKEWED, &clock);
    CHECK(!err && !ictus_clock_resync(clock));
    ictus_clock_free(clock);
    return NULL;
}

static void threads_synchronise_at_once(void)
{
    enum { THREADS = 2 };
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];
    int level = 0;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE || check_size > 3) {
        return; /* two busy threads per process take minutes if processes take turns */
    }
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(!pthread_create(&threads[i], NULL, synchronise_on, &comms[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        MPI_Comm_free(&comms[i]);
    }
}

enum { FEW = 4 };
static const char *const specs[] = {"mesh:window=0.1@" SKEWED,
                                    "mesh:window=0.1,calibrate=no@" SKEWED,
                                    "mesh:window=0.05,rounds=2,pair=adaptive@" SKEWED,
                                    "mesh:window=0.05,sweeps=5,pair=skampi@" SKEWED,
                                    "mesh:window=0.05@" NEGATIVE,
                                    "hca2:fitpoints=20,exchanges=10@" NEGATIVE,
                                    "hierarchy(mesh,propagate(mesh:window=0.05))@" SKEWED,
                                    "skampi:exchanges=20@" SKEWED,
                                    "jk:fitpoints=20,exchanges=10@" SKEWED,
                                    "hca:fitpoints=20,exchanges=10@" SKEWED,
                                    "hca2:fitpoints=20,exchanges=10@" SKEWED,
                                    "netgauge:patience=20@" SKEWED};

/* A single process that reads another counter, or none, is compared by messages. */
static void a_counter_is_common_to_all_or_not(void)
{
    uint64_t names[] = {7, 7, 7};
    const struct mesh_counter shared = {.rank = 1, .names = names};
    const struct mesh_counter none = {.rank = 1};
    CHECK(ictusi_mesh_counter_common(&shared, 3) && !ictusi_mesh_counter_common(&none, 3));
    names[2] = 8;
    CHECK(!ictusi_mesh_counter_common(&shared, 3) && ictusi_mesh_counter_common(&shared, 2));
    names[1] = 0;
    CHECK(!ictusi_mesh_counter_common(&shared, 2));
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    /*
     * Where processes take turns each specification takes seconds, so only the most different ones
     * run.
     */
    const size_t count = sizeof(specs) / sizeof(specs[0]);
    for (size_t i = 0; i < (check_size > 4 ? FEW : count); i++) {
        stays_within_its_bound(specs[i]);
    }
    a_stopped_process_is_no_step();
    a_shared_counter_replaces_paths();
    a_counter_is_common_to_all_or_not();
    threads_synchronise_at_once();
    costs_are_as_published();
    mesh_costs_the_same_everywhere();
    tolerance_is_reached_or_told();
    malformed_specs_are_refused();
    return check_mpi_finish();
}
