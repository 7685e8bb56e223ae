/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What operations can be asked for: each limit of a plan from both sides, and each refusal with its
 * reason.
 */
#include "bench/operation_list.h"
#include "bench/plan.h"

#include "../check.h"

/* The library that this process seems to have. */
static const char *library = "Open MPI v4.1.4, package: Debian OpenMPI";

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_MPI_Get_library_version(char *text, int *length);
int __wrap_MPI_Initialized(int *up);
int __wrap_MPI_Dims_create(int size, int count, int dims[]);

int __wrap_MPI_Get_library_version(char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "%s", library);
    return MPI_SUCCESS;
}

int __wrap_MPI_Initialized(int *up)
{
    *up = 0;
    return MPI_SUCCESS;
}

int __wrap_MPI_Dims_create(int size, int count, int dims[])
{
    for (int d = 0; d < count; d++) {
        dims[d] = d == 0 ? size : 1;
    }
    return MPI_SUCCESS;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* A plan that any operation can do. */
static struct ictus_bench_plan usual(const char *operation)
{
    return (struct ictus_bench_plan){.operation = operation, .bytes = 64};
}

static void gives(const struct ictus_bench_plan *plan, int size, int wanted, const char *reason)
{
    struct ictus_why why = {""};
    const struct operation *row = ictusi_operation_find(NULL, plan->operation, &why);
    if (!row) {
        (void)fprintf(stderr, "%s\n", why.text);
    }
    REQUIRE(row);
    const int err = ictusi_plan_fits(row, plan, size, &why);
    if (err != wanted || !strstr(why.text, reason)) {
        (void)fprintf(stderr, "%s: error %d, wanted %d\n", plan->operation, err, wanted);
        CHECK_STR(why.text, reason);
        CHECK(err == wanted);
    }
}

/* A number of the plan may be these and not those. */
#define BOUNDS(operation_name, member, least, most, reason)                                        \
    do {                                                                                           \
        struct ictus_bench_plan bounded = usual(operation_name);                                   \
        bounded.member = (least);                                                                  \
        gives(&bounded, 4, ICTUS_OK, "");                                                          \
        bounded.member = (most);                                                                   \
        gives(&bounded, 4, ICTUS_OK, "");                                                          \
        bounded.member = (least)-1;                                                                \
        gives(&bounded, 4, ICTUS_ERR_ARG, reason);                                                 \
        bounded.member = (most) + 1;                                                               \
        gives(&bounded, 4, ICTUS_ERR_ARG, reason);                                                 \
    } while (0)

static void numbers_have_bounds(void)
{
    BOUNDS("bcast", root, 0, 3, "must be a rank between 0 and 3");
    BOUNDS("bcast", messages, 0, 4096, "must be between 1 and 4096");
    BOUNDS("bcast", buffers, 0, 64, "at most 64 sets");
    BOUNDS("bcast", partitions, 0, 4096, "must be between 1 and 4096");
    struct ictus_bench_plan plan = usual("bcast");
    gives(&plan, 1, ICTUS_OK, "");
}

/* Bytes are whole elements. */
static void sizes_fit_types(void)
{
    struct ictus_bench_plan plan = usual("allreduce");
    plan.datatype = "double";
    plan.bytes = 24;
    gives(&plan, 4, ICTUS_OK, "");
    plan.bytes = 25;
    gives(&plan, 4, ICTUS_ERR_ARG, "25 bytes are not a multiple of the size of 'double' (8 bytes)");
    plan.bytes = 0;
    gives(&plan, 4, ICTUS_OK, "");
    plan.datatype = "duble";
    gives(&plan, 4, ICTUS_ERR_UNKNOWN, "double");
    plan.datatype = "float";
    plan.reduce = "band";
    gives(&plan, 4, ICTUS_ERR_ARG, "");
    plan.operation = "bcast"; /* which reduces nothing */
    gives(&plan, 4, ICTUS_OK, "");
    plan.reduce = "bund";
    gives(&plan, 4, ICTUS_ERR_UNKNOWN, "");
}

static void single_elements_have_one_size(void)
{
    static const char *const refused[] = {"float", "double", "complex", "2int", NULL};
    static const char *const taken[] = {"int", "byte", "bool", NULL};
    struct ictus_bench_plan plan = usual("compare_and_swap_flush");
    for (int i = 0; taken[i]; i++) {
        plan.datatype = taken[i];
        plan.bytes = ictus_datatype_bytes(taken[i]);
        gives(&plan, 4, ICTUS_OK, "");
        plan.bytes *= 2;
        gives(&plan, 4, ICTUS_ERR_ARG, "works on one element");
        plan.bytes = 0;
        gives(&plan, 4, ICTUS_ERR_ARG, "works on one element");
    }
    for (int i = 0; refused[i]; i++) {
        plan.datatype = refused[i];
        plan.bytes = ictus_datatype_bytes(refused[i]);
        gives(&plan, 4, ICTUS_ERR_ARG, "takes integers, logical values and bytes");
    }
}

static void windows_have_kinds(void)
{
    for (int i = 0; ictus_window_kinds[i]; i++) {
        enum window_kind kind = WINDOW_DYNAMIC;
        CHECK(!ictusi_plan_window(ictus_window_kinds[i], &kind, NULL));
        CHECK((int)kind == i);
    }
    enum window_kind kind = WINDOW_DYNAMIC;
    struct ictus_why why = {""};
    CHECK(!ictusi_plan_window(NULL, &kind, NULL));
    CHECK_STR(ictus_window_kinds[kind], ICTUS_WINDOW_DEFAULT);
    CHECK(ictusi_plan_window("sharde", &kind, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(strstr(why.text, "shared"));
    struct ictus_bench_plan plan = usual("accumulate_flush");
    plan.reduce = "user_bxor";
    plan.datatype = "int";
    gives(&plan, 4, ICTUS_ERR_ARG, "takes MPI's own operators");
    plan.operation = "put_flush"; /* which reduces nothing */
    gives(&plan, 4, ICTUS_OK, "");
    plan.operation = "allreduce"; /* which has no window */
    gives(&plan, 4, ICTUS_OK, "");
}

/* Open MPI 4 counts the members of padded pairs only, in two kinds of windows. */
static void padded_pairs_are_refused(void)
{
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
    const bool cut = true;
#else
    const bool cut = false;
#endif
    struct ictus_bench_plan plan = usual("accumulate_flush");
    plan.reduce = "maxloc";
    for (int i = 0; ictus_window_kinds[i]; i++) {
        const bool bad = cut && (strcmp(ictus_window_kinds[i], "create") == 0 ||
                                 strcmp(ictus_window_kinds[i], "dynamic") == 0);
        plan.window = ictus_window_kinds[i];
        plan.datatype = "long_int";
        plan.operation = "accumulate_flush";
        gives(&plan, 4, bad ? ICTUS_ERR_UNSUPPORTED : ICTUS_OK, bad ? "accumulates" : "");
        plan.operation = "put_flush";
        gives(&plan, 4, ICTUS_OK, "");
        plan.operation = "allreduce";
        gives(&plan, 4, ICTUS_OK, "");
        plan.operation = "accumulate_flush";
        plan.datatype = "2int";
        gives(&plan, 4, ICTUS_OK, "");
    }
}

static void places_are_taken_where_they_can_be(void)
{
    static const struct {
        const char *name;
        bool fits;
    } cases[] = {{"allreduce", true},
                 {"alltoall", true},
                 {"bcast", false},
                 {"barrier", false},
                 {"ping_pong", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_bench_plan plan = usual(cases[i].name);
        plan.in_place = 1;
        gives(&plan, 4, cases[i].fits ? ICTUS_OK : ICTUS_ERR_ARG,
              cases[i].fits ? "" : "cannot work in place");
    }
}

/* What is prepared once keeps its buffer and its root. */
static void prepared_calls_stay(void)
{
#if MPI_VERSION >= 4
    struct ictus_bench_plan plan = usual("bcast_init");
    gives(&plan, 4, ICTUS_OK, "");
    plan.rotate_root = 1;
    gives(&plan, 4, ICTUS_ERR_ARG, "bound to one root and one buffer, so neither can be changed");
#endif
    struct ictus_bench_plan put = usual("put_flush");
    put.buffers = 1;
    gives(&put, 4, ICTUS_OK, "");
    put.rotate_root = 1;
    gives(&put, 4, ICTUS_OK, "");
    put.buffers = 2;
    gives(&put, 4, ICTUS_ERR_ARG, "bound to one buffer, so it cannot be changed");
    struct ictus_bench_plan bcast = usual("bcast");
    bcast.buffers = 2;
    bcast.rotate_root = 1;
    gives(&bcast, 4, ICTUS_OK, "");
}

static void pairs_need_two(void)
{
    static const char *const names[] = {"ping_pong", "bandwidth", "put_flush", "accumulate_flush",
                                        NULL};
    for (int i = 0; names[i]; i++) {
        struct ictus_bench_plan plan = usual(names[i]);
        gives(&plan, 1, ICTUS_ERR_ARG, "needs at least two processes");
        gives(&plan, 2, ICTUS_OK, "");
    }
}

static void threads_are_counted(void)
{
    static const struct {
        int threads;
        bool fits;
    } cases[] = {{0, false}, {1, false}, {2, true}, {64, true}, {65, false}, {-1, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_bench_plan plan = usual("ping_pong_threads");
        plan.threads = cases[i].threads;
        gives(&plan, 2, cases[i].fits ? ICTUS_OK : ICTUS_ERR_ARG,
              cases[i].fits ? "" : "needs 2 to 64 threads");
        plan.operation = "ping_pong";
        gives(&plan, 2, ICTUS_OK, "");
    }
    struct ictus_bench_plan plan = usual("init");
    gives(&plan, 2, ICTUS_ERR_ARG, "the start and the end of MPI_Init");
    plan.init[1].ns = 1;
    gives(&plan, 2, ICTUS_OK, "");
}

/* Gaps in blocks are for those that move whole elements of their buffers. */
static void layouts_are_taken_where_they_can_be(void)
{
    static const struct {
        const char *name, *reason;
    } cases[] = {{"bcast", NULL},
                 {"alltoall", NULL},
                 {"allreduce", "reduce elements without gaps"},
                 {"compare_and_swap_flush", "one element has no gaps"},
                 {"barrier", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_bench_plan plan = usual(cases[i].name);
        plan.bytes = cases[i].reason && i == 3 ? 1 : 64;
        plan.layout = "vector:block=8,stride=16";
        gives(&plan, 4, cases[i].reason ? ICTUS_ERR_ARG : ICTUS_OK,
              cases[i].reason ? cases[i].reason : "");
        plan.layout = "contiguous";
        gives(&plan, 4, ICTUS_OK, "");
        plan.layout = "vektor";
        gives(&plan, 4, ICTUS_ERR_UNKNOWN, "vector");
    }
    struct ictus_bench_plan plan = usual("bcast");
    plan.layout = "vector:block=8,stride=16";
    plan.bytes = 60;
    gives(&plan, 4, ICTUS_ERR_ARG, "60 elements are not a multiple of block=8");
}

static void topologies_need_processes(void)
{
    struct ictus_bench_plan plan = usual("neighbor_alltoall");
    plan.topology = "cart:dimensions=2";
    gives(&plan, 4, ICTUS_OK, "");
    plan.topology = "cort";
    gives(&plan, 4, ICTUS_ERR_UNKNOWN, "cart");
    plan.operation = "bcast";
    gives(&plan, 4, ICTUS_ERR_UNKNOWN, "cart");
}

/* What a library hangs in is not called. */
static void defects_are_avoided(void)
{
    struct ictus_bench_plan plan = usual("reduce");
    plan.in_place = 1;
    plan.root = 1;
    gives(&plan, 4, ICTUS_OK, "");
    library = "MPICH Version:\t4.0.2";
    gives(&plan, 4, ICTUS_ERR_UNSUPPORTED, "reduce: in MPICH before 4.1.2 it crashes in place");
    plan.root = 0;
    gives(&plan, 4, ICTUS_OK, "");
    plan.rotate_root = 1;
    gives(&plan, 4, ICTUS_ERR_UNSUPPORTED, "crashes in place");
    gives(&plan, 1, ICTUS_OK, "");
    plan.in_place = 0;
    gives(&plan, 4, ICTUS_OK, "");
    plan = usual("neighbor_alltoallw");
    gives(&plan, 4, ICTUS_OK, "");
}

static void types_have_sizes(void)
{
    CHECK(ictus_datatype_bytes("double") == 8 && ictus_datatype_bytes("char") == 1);
    CHECK(ictus_datatype_bytes("complex") == 16 && ictus_datatype_bytes("2int") == 8);
    CHECK(ictus_datatype_bytes("quad") == 0 && ictus_datatype_bytes(NULL) == 0);
}

/* As many as are in flight at once: the root of a fan has one for each process and message. */
static void requests_are_counted(void)
{
    static const struct {
        const char *operation;
        size_t two, five; /* processes, with 7 messages */
    } cases[] = {{"fan_in", 14, 35},      {"fan_in_bandwidth", 14, 35},
                 {"fan_out", 14, 35},     {"fan_out_bandwidth", 14, 35},
                 {"bandwidth", 14, 14},   {"bibandwidth", 14, 14},
                 {"isend_irecv", 14, 14}, {"exchange", 5, 5}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct call call = {.operation = ictusi_operation_find(NULL, cases[i].operation, NULL),
                            .size = 2,
                            .messages = 7,
                            .topology = {.source_count = 2, .target_count = 3}};
        REQUIRE(call.operation);
        CHECK(ictusi_operation_request_count(&call) == cases[i].two);
        call.size = 5;
        CHECK(ictusi_operation_request_count(&call) == cases[i].five);
    }
}

/* Those of the first half with those of the second; one that is left has nobody. */
static void partners_are_mutual(void)
{
    for (int size = 1; size < 8; size++) {
        for (int rank = 0; rank < size; rank++) {
            struct call call = {.rank = rank, .size = size};
            const int partner = ictusi_operation_partner(&call);
            CHECK((partner == MPI_PROC_NULL) == (rank == size - 1 && size % 2 == 1));
            CHECK(partner == MPI_PROC_NULL || abs(partner - rank) == size / 2);
            call.rank = partner;
            CHECK(partner == MPI_PROC_NULL || ictusi_operation_partner(&call) == rank);
        }
    }
}

int main(void)
{
    types_have_sizes();
    requests_are_counted();
    partners_are_mutual();
    numbers_have_bounds();
    sizes_fit_types();
    single_elements_have_one_size();
    windows_have_kinds();
    padded_pairs_are_refused();
    places_are_taken_where_they_can_be();
    prepared_calls_stay();
    pairs_need_two();
    threads_are_counted();
    layouts_are_taken_where_they_can_be();
    topologies_need_processes();
    defects_are_avoided();
    return check_result();
}
