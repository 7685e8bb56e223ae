/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every operation in simulated jobs: it leaves what MPI says, whatever the number of processes, the
 * root and the layout, and it leaves nothing behind. What a library could do wrong is planted, and
 * noticed on all processes, which name the place.
 */
#include "bench/call.h"
#include "bench/operation_list.h"
#include "bench/plan.h"

#include "../check.h"
#include "../sim/job_blocks.h"

enum { RANKS_MAX = 5, NOWHERE = -1 };

/* What a job is to do, and what came of it. */
static struct {
    const struct operation *row;
    struct ictus_bench_plan plan;
    int (*run)(struct call *call);
    bool glances;
    int repetitions; /* each of which is checked; 0: one call */
    /* the element that is damaged: on a rank, in a block */
    int rank, block;
    int64_t element;
    /* what came */
    int errors[JOB_RANKS], wrong[JOB_RANKS], roots[JOB_RANKS];
    int64_t expected; /* bytes of a block */
    struct ictus_why whys[JOB_RANKS];
    char calls[512];
} world;

static unsigned char *received(const struct call *call)
{
    return call->operation->shape == SHAPE_BCAST ? call->sends[call->set] : call->recvs[call->set];
}

static unsigned char *received_at(const struct call *call, int block, int64_t i)
{
    return received(call) + (size_t)block * call->layout.extent +
           ictusi_data_layout_offset(&call->layout, i);
}

static int run_true(struct call *call)
{
    const bool recorded = job_rank() == call->size - 1;
    if (recorded) {
        blocks_calls[0] = '\0';
    }
    const int err = world.row->run(call);
    if (recorded) {
        memcpy(world.calls, blocks_calls, sizeof(world.calls));
    }
    return err;
}

static int run_idle(struct call *call)
{
    (void)call;
    return MPI_SUCCESS;
}

static int run_damaged(struct call *call)
{
    const int err = world.row->run(call);
    if (job_rank() == world.rank) {
        *received_at(call, world.block, world.element) ^= 1;
    }
    return err;
}

/* It also writes behind the element, where the datatype has a gap. */
static int run_beyond(struct call *call)
{
    const int err = world.row->run(call);
    if (job_rank() == world.rank) {
        received_at(call, world.block, world.element)[call->element] ^= 1;
    }
    return err;
}

static int run_failing(struct call *call)
{
    (void)world.row->run(call);
    return job_rank() == world.rank ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void repeat(struct call *call, int rank)
{
    call->every = &world.plan;
    for (int i = 0; i < world.repetitions; i++) {
        ictusi_call_next(call);
        CHECK(call->mpi_error == MPI_SUCCESS);
        world.errors[rank] = ictusi_call_run(call);
        (void)MPI_Barrier(job_world());
        ictusi_verify_repetition(call);
        (void)MPI_Barrier(job_world());
    }
    world.wrong[rank] = call->wrong;
    world.whys[rank] = call->wrong_why;
    world.roots[rank] = call->root;
}

static void world_rank(int rank, void *context)
{
    struct operation other = *world.row;
    struct call call;
    (void)context;
    other.run = world.run;
    int err = ictusi_call_init(&call, &other, job_world(), &world.plan, &world.whys[rank]);
    world.errors[rank] = err;
    if (!err && world.repetitions) {
        repeat(&call, rank);
    } else if (!err) {
        world.errors[rank] = (world.glances ? ictusi_verify_glance : ictusi_verify_call)(
            &call, &world.plan, &world.whys[rank]);
    }
    if (!err) {
        ictusi_call_fini(&call);
    }
}

static void world_begin(const struct operation *row, int elements)
{
    memset(&world, 0, sizeof(world));
    memset(&blocks_plant, 0, sizeof(blocks_plant));
    world.row = row;
    world.run = run_true;
    world.rank = NOWHERE;
    world.plan = (struct ictus_bench_plan){.size = sizeof(world.plan),
                                           .operation = row->name,
                                           .bytes = (uint64_t)elements * sizeof(int),
                                           .datatype = "int",
                                           .repetitions = 1,
                                           .messages = 3};
    if (row->is_single) {
        world.plan.bytes = sizeof(int);
    }
}

/* Play, and see that all ranks end alike and leave nothing. @return the error */
static int world_play(int ranks)
{
    char said[512];
    const struct job_options options = {.seed = 1,
                                        .ranks = ranks,
                                        .nodes = 1,
                                        .cores = ranks,
                                        .latency_ns = 1000.0,
                                        .inside_ns = 300.0,
                                        .slow = -1,
                                        .slow_factor = 1.0};
    blocks_start();
    REQUIRE(job_run(&options, world_rank, NULL, said, sizeof(said)) == JOB_DONE);
    for (int r = 0; r < ranks; r++) {
        CHECK(blocks_things[r] == 0);
        CHECK(world.errors[r] == world.errors[0]);
        CHECK(!world.errors[0] || strcmp(world.whys[r].text, world.whys[0].text) == 0);
    }
    return world.errors[0];
}

static int play_as(int (*run)(struct call *call), int ranks)
{
    world.run = run;
    return world_play(ranks);
}

static const struct operation *row_of(const char *name)
{
    const struct operation *row = ictusi_operation_find(NULL, name, NULL);
    REQUIRE(row);
    return row;
}

static void tell(int failures_before, int ranks)
{
    if (check_failures > failures_before) {
        (void)fprintf(stderr, "%s of %d ranks, %llu bytes, root %d, in place %d, %s: %s\n",
                      world.row->name, ranks, (unsigned long long)world.plan.bytes, world.plan.root,
                      world.plan.in_place, world.plan.window ? world.plan.window : "",
                      world.whys[0].text);
    }
}

/* Whether anything comes in that was not there, on any rank. */
static bool moves(const struct operation *row, int ranks, bool in_place)
{
    const bool alone = row->shape == SHAPE_BCAST || row->shape == SHAPE_EXSCAN || in_place;
    return ictusi_operation_shape(row->shape)->has_data && !(alone && ranks == 1);
}

static void one_plan_works(int ranks)
{
    const int before = check_failures;
    CHECK(play_as(run_true, ranks) == ICTUS_OK);
    if (moves(world.row, ranks, world.plan.in_place) && world.plan.bytes > 0) {
        CHECK(play_as(run_idle, ranks) == ICTUS_ERR_CORRUPT);
    }
    tell(before, ranks);
}

static bool takes_part(const struct operation *row, int ranks)
{
    return !(ranks < 2 && row->shape >= SHAPE_PING_PONG) && !row->absent && !row->is_partitioned &&
           !ictusi_operation_shape_has_neighbors(row->shape) && row->shape != SHAPE_THREADS;
}

/* Blocks that can be cut evenly, and others. */
static void every_row_works(const struct operation *rows)
{
    static const int elements[] = {0, 1, 7, 12};
    for (const struct operation *row = rows; row->name; row++) {
        const struct shape_info *shape = ictusi_operation_shape(row->shape);
        for (int k = 0; k < 4 * 2 * RANKS_MAX; k++) {
            const int ranks = 1 + k % RANKS_MAX;
            const bool in_place = k / RANKS_MAX % 2;
            const int size = elements[k / RANKS_MAX / 2];
            if (!takes_part(row, ranks) || (in_place && (!shape->in_place || row->mockup))) {
                continue;
            }
            for (int root = 0; root < (shape->rooted ? ranks : 1); root++) {
                world_begin(row, size);
                world.plan.in_place = in_place;
                world.plan.root = root;
                one_plan_works(ranks);
            }
        }
    }
}

/* The name of a mock-up says what it calls, which moves no more than a padded block of each rank to
 * each. */
static void mockups_call_what_they_say(void)
{
    for (const struct operation *row = ictusi_mockups; row->name; row++) {
        const int before = check_failures;
        const char *parts = strstr(row->name, "_as_");
        for (int elements = 1; elements < 40; elements += 6) {
            world_begin(row, elements);
            blocks_most = 0;
            CHECK(!world_play(4));
            CHECK(blocks_most <= 4 * 4 * (world.plan.bytes + 4 * sizeof(int)));
            if (parts) {
                CHECK_STR(world.calls, parts + strlen("_as_"));
                continue;
            }
            int calls = strstr(world.calls, row->mockup->of) ? 1 : 0;
            for (const char *c = world.calls; *c; c++) {
                calls += *c == '+';
            }
            CHECK(calls == (elements < row->mockup->pieces ? elements : row->mockup->pieces));
            CHECK(row->mockup->pieces == strtol(strrchr(row->name, '_') + 1, NULL, 10));
        }
        tell(before, 4);
    }
}

/* Each element of each block on each rank is looked at, and the reason names it. */
static void damage_is_found(void)
{
    enum { RANKS = 3, ELEMENTS = 5 };
    static const struct {
        const char *name;
        int blocks;
        int on; /* this rank only; NOWHERE: on all */
    } cases[] = {{"allgather", RANKS, NOWHERE},  {"alltoallv", RANKS, NOWHERE},
                 {"gather", RANKS, 2},           {"scatter", 1, NOWHERE},
                 {"allreduce", 1, NOWHERE},      {"reduce", 1, 2},
                 {"reduce_scatter", 1, NOWHERE}, {"scan", 1, NOWHERE},
                 {"sendrecv", 1, NOWHERE},       {"bandwidth", 3, 1},
                 {"put_fence_bandwidth", 3, 1},  {"get_lock_bandwidth", 3, 0},
                 {"fan_in", RANKS - 1, 2},       {"fan_out", 1, 1}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        for (int at = 0; at < RANKS * cases[k].blocks * ELEMENTS; at++) {
            const int before = check_failures;
            char place[64];
            world_begin(row_of(cases[k].name), ELEMENTS);
            world.plan.root = ictusi_operation_shape(world.row->shape)->rooted ? 2 : 0;
            world.element = at % ELEMENTS;
            world.block = at / ELEMENTS % cases[k].blocks;
            world.rank = at / ELEMENTS / cases[k].blocks;
            if (cases[k].on != NOWHERE && cases[k].on != world.rank) {
                continue;
            }
            (void)snprintf(place, sizeof(place), "on rank %d, in block %d, element %d is",
                           world.rank, world.block, (int)world.element);
            CHECK(play_as(run_damaged, RANKS) == ICTUS_ERR_CORRUPT);
            CHECK(strstr(world.whys[0].text, place));
            tell(before, RANKS);
        }
    }
}

/* The reason says what was found and what was due. */
static void values_are_told(void)
{
    world_begin(row_of("allgather"), 120);
    world.rank = 0;
    world.block = 2;
    world.element = 45;
    CHECK(play_as(run_damaged, 3) == ICTUS_ERR_CORRUPT);
    /* 2 * 31 + 45 - 101 */
    CHECK_STR(world.whys[0].text, "allgather of 480 bytes gave a wrong result: on rank 0, in block "
                                  "2, element 45 is 7 but should be 6");
    world_begin(row_of("alltoall"), 4);
    world.rank = 2;
    world.block = 1;
    world.element = 3;
    CHECK(play_as(run_damaged, 3) == ICTUS_ERR_CORRUPT);
    /* 1 * 31 + 2 * 7 + 3 */
    CHECK(strstr(world.whys[1].text, "element 3 is 49 but should be 48"));
    world_begin(row_of("allreduce"), 4);
    world.rank = 1;
    world.element = 2;
    CHECK(play_as(run_damaged, 3) == ICTUS_ERR_CORRUPT);
    CHECK(strstr(world.whys[0].text, "element 2 is 7 but should be 6")); /* 1 + 2 + 3 */
}

/* Another rank's, block's or element's data is wrong from the first element on. */
static int shift_ranks, shift_elements;

static int run_shifted(struct call *call)
{
    const int err = world.row->run(call);
    int *values = (int *)(void *)received(call);
    const int n = (int)call->elements * call->size;
    int *whole = malloc((size_t)n * sizeof(int));
    REQUIRE(whole);
    memcpy(whole, values, (size_t)n * sizeof(int));
    for (int i = 0; i < n; i++) {
        values[i] = whole[(i + shift_ranks * (int)call->elements + shift_elements) % n];
    }
    free(whole);
    return err;
}

static void shifts_are_wrong_everywhere(void)
{
    static const char *const names[] = {"allgather", "alltoall"};
    for (int k = 0; k < 2; k++) {
        for (shift_ranks = 0; shift_ranks < 4; shift_ranks++) {
            for (shift_elements = 0; shift_elements < (shift_ranks ? 1 : 9); shift_elements++) {
                world_begin(row_of(names[k]), 9);
                const int err = play_as(run_shifted, 4);
                CHECK(err == (shift_ranks || shift_elements ? ICTUS_ERR_CORRUPT : ICTUS_OK));
                CHECK(!err || strstr(world.whys[0].text, "on rank 0, in block 0, element 0 is"));
            }
        }
    }
}

/* The first and the last 256 elements of a block. */
static void glances_see_both_ends(void)
{
    static const struct {
        int elements, at;
        bool seen;
    } cases[] = {{600, 0, true},   {600, 255, true},  {600, 256, false}, {600, 343, false},
                 {600, 344, true}, {600, 599, true},  {512, 255, true},  {512, 256, true},
                 {300, 43, true},  {300, 44, true},   {300, 255, true},  {300, 256, true},
                 {300, 299, true}, {513, 256, false}, {513, 257, true}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        for (int glances = 0; glances < 2; glances++) {
            world_begin(row_of("allgather"), cases[k].elements);
            world.glances = glances;
            world.rank = 1;
            world.block = 1;
            world.element = cases[k].at;
            const int err = play_as(run_damaged, 2);
            CHECK(err == (cases[k].seen || !glances ? ICTUS_ERR_CORRUPT : ICTUS_OK));
        }
    }
}

static void failures_are_told(void)
{
    world_begin(row_of("allgather"), 4);
    world.rank = 1;
    CHECK(play_as(run_failing, 3) == ICTUS_ERR_MPI);
}

/* A contribution that is left out shows, whoever's it is, under each operator. */
static void contributions_are_missed(void)
{
    static const struct {
        const char *operator, * type;
        size_t size;
        bool first; /* only the first contribution counts */
    } cases[] = {
        {"sum", "int", 4, false},      {"sum", "char", 1, false},    {"sum", "double", 8, false},
        {"prod", "char", 1, false},    {"max", "int", 4, false},     {"min", "int", 4, false},
        {"land", "int", 4, false},     {"lor", "bool", 1, false},    {"lxor", "bool", 1, false},
        {"band", "byte", 1, false},    {"bor", "int", 4, false},     {"bxor", "byte", 1, false},
        {"minloc", "2int", 8, false},  {"maxloc", "2int", 8, false}, {"user_bxor", "int", 4, false},
        {"user_first", "int", 4, true}};
    static const char *const names[] = {"reduce", "allreduce", "reduce_scatter",
                                        "scan",   "exscan",    "reduce_scatter_block"};
    for (int k = 0; k < 16 * 6 * 4; k++) {
        const int ranks = k % 4 < 3 ? 2 + k % 4 : JOB_RANKS;
        const char *name = names[k / 4 / 16];
        if (ranks == JOB_RANKS && strcmp(name, "allreduce") != 0) {
            continue;
        }
        for (int lost = 0; lost <= ranks; lost++) {
            const int before = check_failures;
            world_begin(row_of(name), 0);
            world.plan.reduce = cases[k / 4 % 16].operator;
            world.plan.datatype = cases[k / 4 % 16].type;
            world.plan.bytes = 128 * cases[k / 4 % 16].size;
            const bool counts = !(strcmp(name, "exscan") == 0 && (lost == ranks || ranks == 2)) &&
                                !(cases[k / 4 % 16].first && lost > 1);
            blocks_plant.lost = lost;
            const int err = world_play(ranks);
            CHECK(err == (lost && counts ? ICTUS_ERR_CORRUPT : ICTUS_OK));
            if (check_failures > before) {
                (void)fprintf(stderr, "%s of %s, without %d\n", world.plan.reduce,
                              world.plan.datatype, lost - 1);
            }
            tell(before, ranks);
        }
    }
}

/* Each kind of window, and what a library may do wrong in one. */
static void windows_work(void)
{
    static const char *const kinds[] = {"create", "allocate", "shared", "dynamic"};
    for (const struct operation *row = ictusi_one_sided; row->name; row++) {
        const bool many = strstr(row->name, "_bandwidth") != NULL;
        const bool reduces = ictusi_operation_shape(row->shape)->reduces;
        const bool swaps = strncmp(row->name, "compare", 7) == 0;
        for (int k = 0; k < 4 * 4; k++) {
            const int before = check_failures;
            const int ranks = 2 + k / 4;
            world_begin(row, 5);
            world.plan.window = kinds[k % 4];
            CHECK(play_as(run_true, ranks) == ICTUS_OK);
            CHECK(play_as(run_idle, ranks) == ICTUS_ERR_CORRUPT);
            blocks_plant = (struct blocks_plant){.unsent = true};
            CHECK(play_as(run_true, ranks) == (many ? ICTUS_ERR_CORRUPT : ICTUS_OK));
            blocks_plant = (struct blocks_plant){.replaces = true};
            CHECK(play_as(run_true, ranks) == (reduces ? ICTUS_ERR_CORRUPT : ICTUS_OK));
            blocks_plant = (struct blocks_plant){.swaps = true};
            CHECK(play_as(run_true, ranks) == (swaps ? ICTUS_ERR_CORRUPT : ICTUS_OK));
            blocks_plant = (struct blocks_plant){.keeps = true};
            CHECK(play_as(run_true, ranks) == (swaps ? ICTUS_ERR_CORRUPT : ICTUS_OK));
            tell(before, ranks);
        }
    }
}

/* Blocks with gaps: what is in these stays. */
static void gaps_are_left_alone(void)
{
    static const char *const layouts[] = {"vector:block=3,stride=5", "resized:stride=3",
                                          "indexed:block=4,stride=9,seed=5"};
    static const char *const names[] = {"allgather", "alltoallw",           "gatherv", "bcast",
                                        "sendrecv",  "put_fence_bandwidth", "scatter"};
    for (int k = 0; k < 3 * 7; k++) {
        const int before = check_failures;
        world_begin(row_of(names[k / 3]), 12);
        world.plan.layout = layouts[k % 3];
        CHECK(play_as(run_true, 3) == ICTUS_OK);
        CHECK(play_as(run_idle, 3) == ICTUS_ERR_CORRUPT);
        world.rank = 0;
        world.element = 11;
        if (strcmp(names[k / 3], "put_fence_bandwidth") == 0) {
            world.rank = 1;
        }
        if (strcmp(layouts[k % 3], layouts[2]) != 0) { /* whose last run may touch the next one */
            CHECK(play_as(run_beyond, 3) == ICTUS_ERR_CORRUPT);
            CHECK(strstr(world.whys[0].text, "wrote into a gap of the datatype"));
            CHECK(strstr(world.whys[0].text, "in block 0, after element 11"));
        }
        tell(before, 3);
    }
}

/* Repetitions that are checked one by one: which are wrong is counted, and the first one told. */
static int damaged_from, damaged_calls[JOB_RANKS];

static int run_damaged_later(struct call *call)
{
    const int err = world.row->run(call);
    if (job_rank() == world.rank && damaged_calls[job_rank()]++ >= damaged_from) {
        *received_at(call, world.block, damaged_calls[job_rank()] - 1) ^= 1;
    }
    return err;
}

static void repetitions_are_checked(void)
{
    static const char *const names[] = {"allreduce",
                                        "gather",
                                        "sendrecv",
                                        "put_lock",
                                        "put_fence",
                                        "fetch_and_op_flush",
                                        "compare_and_swap_pscw"};
    for (int k = 0; k < 7; k++) {
        const int before = check_failures;
        const bool is_single = row_of(names[k])->is_single;
        const bool prepared = row_of(names[k])->prepare != NULL;
        world_begin(row_of(names[k]), 8);
        world.repetitions = 5;
        world.plan.rotate_root = !prepared;
        world.plan.buffers = prepared ? 1 : 2;
        CHECK(!play_as(run_true, 2) && world.wrong[0] == 0 && world.wrong[1] == 0);
        CHECK(world.roots[0] == (prepared ? 0 : 1));
        CHECK(!play_as(run_idle, 2) && world.wrong[0] + world.wrong[1] >= 5);
        if (!is_single && !world.row->settle && !ictusi_operation_shape(world.row->shape)->rooted) {
            memset(damaged_calls, 0, sizeof(damaged_calls));
            damaged_from = 3;
            world.rank = 1;
            CHECK(!play_as(run_damaged_later, 2));
            CHECK(world.wrong[0] == 0 && world.wrong[1] == 2);
            CHECK(strstr(world.whys[1].text, "on rank 1, in block 0, element 3 is"));
        }
        tell(before, 2);
    }
}

/* Between neighbours: what is damaged is found, and blocks in one order or another are taken. */
static void neighbors_work(const struct operation *rows)
{
    static const char *const topologies[] = {"ring", "cart:dimensions=2", "graph:degree=3",
                                             "cart:dimensions=2,periodic=0"};
    for (const struct operation *row = rows; row->name; row++) {
        const bool all = strstr(row->name, "alltoall") != NULL;
        for (int k = 0; k < 4 * 3 && ictusi_operation_shape_has_neighbors(row->shape); k++) {
            const int before = check_failures, ranks = k < 8 ? 4 + k % 2 * 2 : 1;
            if (k >= 10) {
                continue; /* a process alone has itself as a neighbour, if any */
            }
            world_begin(row, 5);
            world.plan.topology = topologies[k < 8 ? k / 2 : k - 8];
            CHECK(play_as(run_true, ranks) == ICTUS_OK);
            CHECK(play_as(run_idle, ranks) == ICTUS_ERR_CORRUPT);
            world.rank = 0;
            world.block = 1;
            world.element = 4;
            CHECK(play_as(run_damaged, ranks) == ICTUS_ERR_CORRUPT);
            blocks_plant = (struct blocks_plant){.ascending = true};
            CHECK(play_as(run_true, ranks) == ICTUS_OK);
            blocks_plant = (struct blocks_plant){.descending = true};
            CHECK(play_as(run_true, ranks) == ICTUS_OK);
            blocks_plant = (struct blocks_plant){.mixed = true};
            const bool twice = all && k / 2 == 1 && ranks == 4;
            CHECK(play_as(run_true, ranks) == (twice ? ICTUS_ERR_CORRUPT : ICTUS_OK));
            blocks_plant.mixed = false;
            world.plan.datatype = "bool"; /* in which another order cannot be told */
            world.plan.bytes = 5;
            blocks_plant.ascending = true;
            CHECK(play_as(run_true, ranks) == ICTUS_OK);
            CHECK((play_as(run_idle, ranks) == ICTUS_OK) == (all && (k == 2 || k >= 8)));
            tell(before, ranks);
        }
    }
}

int main(void)
{
    neighbors_work(ictusi_blocking);
    neighbors_work(ictusi_point_to_point);
    every_row_works(ictusi_blocking);
    every_row_works(ictusi_point_to_point);
    every_row_works(ictusi_persistent_p2p);
    every_row_works(ictusi_mockups);
    mockups_call_what_they_say();
    damage_is_found();
    values_are_told();
    shifts_are_wrong_everywhere();
    glances_see_both_ends();
    failures_are_told();
    contributions_are_missed();
    windows_work();
    gaps_are_left_alone();
    repetitions_are_checked();
    return check_result();
}
