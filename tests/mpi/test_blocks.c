/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where blocks come from and how they lie in memory. Every operation that can works between the
 * neighbours of each topology and in each layout, damage to either is detected, and impossible
 * combinations are refused.
 */
#include <ictus/bench.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call.h"
#include "bench/operation_list.h"
#include "bench/plan.h"

#include "check_mpi.h"

static const char *const layouts[] = {"vector:block=3,stride=5", "vector:block=1,stride=1",
                                      "indexed:block=4,stride=9,seed=5", "resized:stride=3", NULL};

static struct ictus_bench_plan plan_of(const struct operation *row, uint64_t bytes)
{
    const struct ictus_bench_plan plan = {
        .size = sizeof(plan),
        .operation = row->name,
        .bytes = bytes,
        .datatype = "int",
        .repetitions = 1,
        .messages = 3,
        .root = ictusi_operation_shape(row->shape)->rooted ? check_size - 1 : 0,
    };
    return plan;
}

static int run_idle(struct call *call)
{
    (void)call;
    return MPI_SUCCESS;
}

static unsigned char *received(struct call *call)
{
    return call->operation->shape == SHAPE_BCAST ? call->sends[0] : call->recvs[0];
}

static int run_true(struct call *call)
{
    return ictusi_operation_find(NULL, call->operation->name, NULL)->run(call);
}

/* Damages one bit of the last element of the last block that is received. */
static int run_damaged(struct call *call)
{
    const int err = run_true(call);
    const enum blocks receives = ictusi_operation_shape(call->operation->shape)->receives;
    const int64_t blocks =
        receives == BLOCKS_NONE ? 1 : ictusi_operation_block_count(call, receives);
    received(call)[(size_t)(blocks - 1) * call->layout.extent +
                   ictusi_data_layout_offset(&call->layout, call->elements - 1)] ^= 1;
    return err;
}

/* The operation, but it also writes into the gap after the first run of elements. */
static int run_beyond(struct call *call)
{
    const int err = run_true(call);
    int64_t i = 0;
    while (ictusi_data_layout_offset(&call->layout, i + 1) ==
           ictusi_data_layout_offset(&call->layout, i) + call->element) {
        i++;
    }
    received(call)[ictusi_data_layout_offset(&call->layout, i) + call->element] ^= 1;
    return err;
}

static int check_with(int (*run)(struct call *call), const struct operation *row,
                      const struct ictus_bench_plan *plan)
{
    struct operation other = *row;
    struct call call;
    struct ictus_why why = {""};
    other.run = run;
    int err = ictusi_call_init(&call, &other, MPI_COMM_WORLD, plan, &why);
    if (!err) {
        err = ictusi_verify_call(&call, plan, &why);
        ictusi_call_fini(&call);
    }
    if (err && err != ICTUS_ERR_CORRUPT && check_rank == 0) {
        (void)fprintf(stderr, "%s: %s\n", row->name, why.text);
    }
    return err;
}

static void told(const struct operation *row, const char *text, int failures_before)
{
    if (check_failures > failures_before && check_rank == 0) {
        (void)fprintf(stderr, "%s of %s\n", row->name, text);
    }
}

/* Whether the operation has an effect that a single process can see. */
static bool is_alone(const struct operation *row)
{
    const bool leaves_nothing = row->shape == SHAPE_BCAST;
    return check_size == 1 && (row->shape >= SHAPE_PING_PONG || leaves_nothing);
}

static void layout_is_verified(const struct operation *row, const char *layout)
{
    struct ictus_bench_plan plan = plan_of(row, 240);
    const int before = check_failures;
    plan.layout = layout;
    if (row->absent || is_alone(row) || ictusi_plan_possible(row, &plan, NULL) != ICTUS_OK ||
        !ictusi_operation_shape(row->shape)->has_data) {
        return;
    }
    CHECK(check_with(row->run, row, &plan) == ICTUS_OK);
    CHECK(check_with(run_idle, row, &plan) == ICTUS_ERR_CORRUPT);
    if (strstr(layout, "stride=1") == NULL) {
        CHECK(check_with(run_beyond, row, &plan) == ICTUS_ERR_CORRUPT);
    }
    told(row, layout, before);
}

static void layouts_are_verified(const struct operation *rows)
{
    for (const struct operation *row = rows; row->name; row++) {
        for (int i = 0; layouts[i] && !row->settle; i++) {
            layout_is_verified(row, layouts[i]);
        }
    }
}

static void topology_is_verified(const struct operation *row, const char *topology,
                                 const char *datatype, const char *layout)
{
    struct ictus_bench_plan plan = plan_of(row, 240);
    const int before = check_failures;
    plan.topology = topology;
    plan.datatype = datatype;
    plan.layout = layout;
    if (ictusi_plan_fits(row, &plan, check_size, NULL) == ICTUS_ERR_UNSUPPORTED) {
        return; /* a known defect of the library */
    }
    CHECK(check_with(row->run, row, &plan) == ICTUS_OK);
    /*
     * At the edge of a grid nothing arrives, and if both directions lead to one process, either
     * order is right.
     */
    if (strstr(topology, "periodic=0") == NULL && strcmp(datatype, "bool") != 0) {
        CHECK(check_with(run_idle, row, &plan) == ICTUS_ERR_CORRUPT);
        CHECK(check_with(run_damaged, row, &plan) == ICTUS_ERR_CORRUPT);
    }
    told(row, topology, before);
}

static void topologies_are_verified(const struct operation *rows, const char *file)
{
    char listed[128];
    const char *const topologies[] = {
        "ring", "cart:dimensions=2", "cart:dimensions=3", "cart:dimensions=2,periodic=0",
        listed, "graph:degree=1",    "graph:degree=2",    "graph:degree=3"};
    (void)snprintf(listed, sizeof(listed), "graph:file=%s", file);
    for (const struct operation *row = rows; row->name; row++) {
        for (int i = 0; i < 8 && ictusi_operation_shape_has_neighbors(row->shape); i++) {
            if (i < 5 || i - 4 < check_size) {
                topology_is_verified(row, topologies[i], "int", NULL);
                topology_is_verified(row, topologies[i], "bool", NULL);
                topology_is_verified(row, topologies[i], "int", "vector:block=2,stride=3");
            }
        }
    }
}

/* Every process sends to rank 0 and to itself, and rank 0 sends to all, so degrees differ. */
static void write_star(const char *path)
{
    FILE *file = check_rank == 0 ? fopen(path, "w") : NULL;
    if (file) {
        (void)fprintf(file, "# a star\n\n");
        for (int rank = check_size - 1; rank > 0; rank--) {
            (void)fprintf(file, "%d 0\n0,%d\n", rank, rank);
        }
        for (int rank = 0; rank < check_size; rank++) {
            (void)fprintf(file, "%d\t%d\n", rank, rank);
        }
        (void)fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void file_is_refused(const char *path, const char *lines, int err, const char *reason)
{
    struct topology_options options;
    struct topology topology;
    struct ictus_why why = {""};
    char text[128];
    FILE *file = check_rank == 0 ? fopen(path, "w") : NULL;
    if (file) {
        (void)fputs(lines, file);
        (void)fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    (void)snprintf(text, sizeof(text), "graph:file=%s", path);
    REQUIRE(!ictusi_topology_read(text, &options, &why));
    CHECK(ictusi_topology_init(&topology, &options, 0, check_size, &why) == err);
    CHECK(strstr(why.text, reason));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void refused(const char *operation, struct ictus_bench_plan plan, int err,
                    const char *reason)
{
    struct ictus_why why = {""};
    plan.operation = operation;
    CHECK(ictus_bench_check(&plan, "barrier", check_size, &why) == err);
    CHECK(strstr(why.text, reason));
    if (!strstr(why.text, reason)) {
        (void)fprintf(stderr, "said: %s\n", why.text);
    }
}

static void nonsense_is_refused(void)
{
    const struct operation *row = ictusi_operation_find(NULL, "neighbor_alltoall", NULL);
    struct ictus_bench_plan plan = plan_of(row, 240);
    char degree[64];
    (void)snprintf(degree, sizeof(degree), "graph:degree=%d", check_size);
    plan.topology = degree;
    refused("neighbor_alltoall", plan, ICTUS_ERR_ARG, "needs more than");
    plan.topology = "torus";
    refused("allgather", plan, ICTUS_ERR_UNKNOWN, "topology");
    plan.topology = "cart:dimensions=0";
    refused("allgather", plan, ICTUS_ERR_SPEC, "dimensions=0");
    plan.topology = NULL;
    plan.layout = "vector:block=7,stride=8";
    refused("allgather", plan, ICTUS_ERR_ARG, "not a multiple of block=7");
    plan.layout = "vector:block=7,stride=6";
    refused("allgather", plan, ICTUS_ERR_SPEC, "must not overlap");
    plan.layout = "tiles";
    refused("allgather", plan, ICTUS_ERR_UNKNOWN, "layout");
    plan.layout = "resized";
    refused("allreduce", plan, ICTUS_ERR_ARG, "without gaps");
    refused("allgather_as_alltoall", plan, ICTUS_ERR_ARG, "mock-up");
}

/* The offsets of elements agree with the extent and size of MPI's type. */
static void offsets_are_as_the_type_says(void)
{
    for (int i = 0; layouts[i]; i++) {
        struct data_layout_options options;
        struct data_layout layout;
        MPI_Datatype type;
        MPI_Aint low = 0;
        MPI_Aint extent = 0;
        int count = 0;
        int bytes = 0;
        REQUIRE(!ictusi_data_layout_read(layouts[i], &options, NULL));
        REQUIRE(!ictusi_data_layout_init(&layout, &options, 600, sizeof(int), NULL));
        REQUIRE(!ictusi_data_layout_type(&layout, MPI_INT, &count, &type));
        MPI_Type_get_extent(type, &low, &extent);
        MPI_Type_size(type, &bytes);
        CHECK(low == 0 && (size_t)extent * (size_t)count == layout.extent);
        CHECK(bytes * count == 600 * (int)sizeof(int));
        CHECK(ictusi_data_layout_offset(&layout, 600) == layout.extent);
        for (int64_t e = 0; e < 600; e++) {
            CHECK(ictusi_data_layout_offset(&layout, e + 1) >=
                  ictusi_data_layout_offset(&layout, e) + sizeof(int));
        }
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv)
{
    char path[64];
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    (void)snprintf(path, sizeof(path), "graph-%d.txt", check_size);
    offsets_are_as_the_type_says();
    layouts_are_verified(ictusi_blocking);
    layouts_are_verified(ictusi_point_to_point);
    layouts_are_verified(ictusi_persistent_p2p);
    layouts_are_verified(ictusi_one_sided);
    write_star(path);
    topologies_are_verified(ictusi_blocking, path);
    topologies_are_verified(ictusi_nonblocking, path);
    topologies_are_verified(ictusi_point_to_point, path);
    nonsense_is_refused();
    file_is_refused(path, "0 0\n0 x\n", ICTUS_ERR_SPEC, "line 2: an edge is two ranks");
    file_is_refused(path, "0 99\n", ICTUS_ERR_ARG, "must be below");
    file_is_refused(path, "0 0\n0 0\n", ICTUS_ERR_SPEC, "is listed twice");
    file_is_refused(path, "# nothing\n", ICTUS_ERR_SPEC, "the file has no edges");
    if (check_rank == 0) {
        (void)remove(path);
    }
    return check_mpi_finish();
}
