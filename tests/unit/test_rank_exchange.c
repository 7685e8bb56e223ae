/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks of a replay tell each other, in simulated jobs: each value of a crossing arrives where
 * it belongs, no message is lost, doubled or taken for one of another flow, and all ranks know when
 * nothing is under way any more.
 */
#include "../check.h"
#include "../sim/job_blocks.h"

#define check_rank job_rank()
#define check_size (job_options()->ranks)
#define CROSSING_COMM job_world()
#include "../mpi/crossing_values.h"
#include "correct/transport.h"

enum { RANKS = 5, FLOWS = 3, LAST_WAVE = 2, MANY = 1300, WORK = 4096 };

/* What all ranks have done, which they can see in the memory of the others. */
static struct {
    int64_t sent, received, told_quiet;
    uint32_t next[RANKS][RANKS], seen[RANKS][RANKS]; /* numbers of a pair's messages */
    int flow[RANKS];
    int work[RANKS][WORK], work_count[RANKS];
    struct rng rng[RANKS];
    struct mpi_team teams[RANKS];
} world;

static int any_rank(struct rng *rng)
{
    return (int)(ictusi_random_uniform(rng) * check_size);
}

static void message_send(int to, int hops)
{
    struct mpi_team *t = &world.teams[check_rank];
    const struct message message = {.node = (uint32_t)hops,
                                    .who = (uint32_t)check_rank,
                                    .other = world.next[check_rank][to]++,
                                    .first = world.flow[check_rank],
                                    .second = to};
    world.sent++;
    CHECK(!t->team.send(&t->team, (uint32_t)to, &message));
}

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_ictusi_flow_receive(struct flow *flow, const struct message *message);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* Messages of a pair come in order, once, in their flow; some are passed on. */
int __wrap_ictusi_flow_receive(struct flow *flow, const struct message *message)
{
    const int from = (int)message->who;
    REQUIRE(flow && from >= 0 && from < check_size);
    CHECK(message->second == check_rank && message->first == world.flow[check_rank]);
    CHECK(message->other == world.seen[from][check_rank]++);
    world.received++;
    if (message->node > 0) {
        REQUIRE(world.work_count[check_rank] < WORK);
        world.work[check_rank][world.work_count[check_rank]++] = (int)message->node - 1;
    }
    return ICTUS_OK;
}

/* What came is passed on by whoever ran out of work before. */
static void work_do(void)
{
    while (world.work_count[check_rank] > 0) {
        const int hops = world.work[check_rank][--world.work_count[check_rank]];
        message_send(any_rank(&world.rng[check_rank]), hops);
    }
}

static void wave_send(int wave)
{
    struct rng *rng = &world.rng[check_rank];
    for (int i = 0; i < 20 * wave + 10; i++) {
        message_send(any_rank(rng), (int)(ictusi_random_uniform(rng) * 6));
        if (i % 7 == 0) {
            job_spend(3000.0 * ictusi_random_uniform(rng));
        }
    }
    for (int i = 0; i < MANY && wave == 1 && check_rank == 0; i++) {
        message_send(check_size - 1, 0); /* several bundles */
    }
}

/* A flow has waves: ranks are through at different ones, and it has ended when all are. */
static void flow_run(struct mpi_team *t, struct flow *flow)
{
    const int last = check_size > LAST_WAVE ? LAST_WAVE : check_size - 1;
    bool finished = false;
    for (int wave = 0; !finished; wave++) {
        const bool through = wave >= check_rank % (LAST_WAVE + 1);
        bool quiet = false;
        wave_send(wave);
        while (!quiet) {
            if (ictusi_random_uniform(&world.rng[check_rank]) < 0.3) {
                CHECK(!t->team.poll(&t->team, flow));
                work_do();
            }
            CHECK(!t->team.idle(&t->team, flow, through, &quiet, &finished));
            CHECK(quiet || !finished);
            CHECK(!quiet || world.work_count[check_rank] == 0);
            work_do();
        }
        CHECK(finished == (wave == last));
        /* As yet nobody has begun the next wave. */
        CHECK(world.sent == world.received);
        world.told_quiet++;
        (void)MPI_Barrier(job_world());
        CHECK(world.told_quiet % check_size == 0);
        (void)MPI_Barrier(job_world());
    }
}

/* The next flow begins where the last one ended, and its messages are kept apart. */
static void transport_rank(int rank, void *context)
{
    struct mpi_team *t = &world.teams[rank];
    struct flow flow = {.team = &t->team};
    (void)context;
    REQUIRE(!ictusi_transport_init(t, job_world()));
    CHECK(t->team.rank == rank && t->team.size == check_size);
    CHECK(ictusi_transport_team(&t->team) == t);
    ictusi_random_seed(&world.rng[rank], job_options()->seed, (uint64_t)rank);
    for (int f = 0; f < FLOWS; f++) {
        world.flow[rank] = f;
        flow_run(t, &flow);
        CHECK(t->epoch == f + 1);
    }
    ictusi_transport_fini(t);
}

/* Whoever has learnt that a flow has ended may send for the next one, before others know. */
static void early_rank(int rank, void *context)
{
    struct mpi_team *t = &world.teams[rank];
    struct flow flow = {.team = &t->team};
    (void)context;
    REQUIRE(!ictusi_transport_init(t, job_world()));
    for (int f = 0; f < 40; f++) {
        bool quiet = false, finished = false;
        world.flow[rank] = f;
        for (int to = 0; to < check_size; to++) {
            message_send(to, 0);
        }
        while (!quiet) {
            CHECK(!t->team.idle(&t->team, &flow, true, &quiet, &finished));
        }
        CHECK(finished);
        for (int from = 0; from < check_size; from++) {
            CHECK(world.seen[from][rank] == (uint32_t)f + 1);
        }
    }
    (void)MPI_Barrier(job_world());
    ictusi_transport_fini(t);
}

/*
 * One count is not enough: the first rank is counted before it gets a message and passes on two,
 * and the last one after it has got these. They make up for what it sent, and for one that is
 * still under way.
 */
static void race_rank(int rank, void *context)
{
    struct mpi_team *t = &world.teams[rank];
    struct flow flow = {.team = &t->team};
    bool quiet = false, finished = false;
    (void)context;
    REQUIRE(!ictusi_transport_init(t, job_world()));
    if (rank == 1) {
        job_arrive(2000000);
        message_send(2, 0);
        message_send(0, 1);
    }
    if (rank == 2) {
        job_arrive(4000000);
    }
    while (!quiet) {
        CHECK(!t->team.idle(&t->team, &flow, true, &quiet, &finished));
        if (world.work_count[rank] > 0) {
            world.work_count[rank] = 0;
            message_send(2, 0);
            message_send(2, 0);
        }
    }
    CHECK(world.sent == 4 && world.received == 4);
    ictusi_transport_fini(t);
}

/* The first in time, and of several at one time the one with the lowest number. */
static void least_rank(int rank, void *context)
{
    static const struct {
        int64_t times[RANKS];
        uint32_t locations[RANKS];
        int64_t time;
        uint32_t location;
    } cases[] = {{{5, 3, 7, 3, 4}, {1, 9, 0, 7, 2}, 3, 7},
                 {{-5, 3, 7, 3, 4}, {6, 9, 0, 7, 2}, -5, 6},
                 {{INT64_MAX, INT64_MAX, 8, INT64_MAX, INT64_MAX}, {0, 1, 2, 3, 4}, 8, 2}};
    struct mpi_team *t = &world.teams[rank];
    (void)context;
    REQUIRE(!ictusi_transport_init(t, job_world()));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t time = cases[i].times[rank];
        uint32_t location = cases[i].locations[rank];
        CHECK(!t->team.least(&t->team, &time, &location));
        CHECK(time == cases[i].time && location == cases[i].location);
    }
    ictusi_transport_fini(t);
}

static void values_rank(int rank, void *context)
{
    (void)context;
    values_cross();
    for (int r = 0; r < check_size; r++) {
        const int own = rank == r ? ICTUS_ERR_NOMEM : rank > r ? ICTUS_ERR_ARG : 0;
        const int least = ICTUS_ERR_NOMEM < ICTUS_ERR_ARG ? ICTUS_ERR_NOMEM : ICTUS_ERR_ARG;
        CHECK(ictusi_ranks_agree(job_world(), own) ==
              (r + 1 < check_size ? least : ICTUS_ERR_NOMEM));
    }
    CHECK(ictusi_ranks_agree(job_world(), ICTUS_OK) == ICTUS_OK);
}

static void play(int ranks, uint64_t seed, void (*rank_main)(int rank, void *context))
{
    char said[512];
    const struct job_options options = {.seed = seed,
                                        .ranks = ranks,
                                        .nodes = 1,
                                        .cores = ranks,
                                        .latency_ns = 1000.0,
                                        .inside_ns = 300.0,
                                        .jitter_ns = 5e4,
                                        .away_every_s = 1e-4,
                                        .away_ns = 1e5,
                                        .slow = -1,
                                        .slow_factor = 1.0};
    memset(&world, 0, sizeof(world));
    blocks_start();
    REQUIRE(job_run(&options, rank_main, NULL, said, sizeof(said)) == JOB_DONE);
    CHECK(world.sent == world.received);
    for (int r = 0; r < ranks; r++) {
        CHECK(blocks_things[r] == 0);
    }
}

int main(void)
{
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        for (uint64_t seed = 0; seed < 5; seed++) {
            play(ranks, seed, transport_rank);
            play(ranks, seed, early_rank);
        }
        play(ranks, 1, values_rank);
    }
    play(RANKS, 1, least_rank);
    blocks_plant = (struct blocks_plant){.slow_from = 1 + 1, .slow_to = 2, .slow_ns = 10000000};
    play(3, 1, race_rank);
    return check_result();
}
