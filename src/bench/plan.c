/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether an operation can do what a plan asks of it. */
#include "bench/plan.h"

#include "bench/call.h"
#include "bench/defect.h"

#include <ictus/text.h>

#include <string.h>

/* Refuse what would hang or crash before it is called. */
static int plan_check_defects(const struct operation *operation,
                              const struct ictus_bench_plan *plan, int size, struct ictus_why *why)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    struct topology_options topology;
    const int unread = ictusi_topology_read(plan->topology, &topology, why);
    if (unread) {
        return unread;
    }
    const struct defect_use use = {
        .operation = operation->name,
        .processes = size,
        .listed_graph = topology.file.text[0] != '\0',
        .in_place_beyond_0 = plan->in_place && (plan->root != 0 || plan->rotate_root),
    };
    MPI_Get_library_version(library, &length);
    const char *defect = ictusi_defect(library, &use);
    return defect ? ictus_because(why, ICTUS_ERR_UNSUPPORTED, "%s: %s", operation->name, defect)
                  : ICTUS_OK;
}

int ictusi_plan_types(const struct ictus_bench_plan *plan, struct datatype *type,
                      struct reduction *reduction, struct ictus_why *why)
{
    const int err = ictusi_datatype_find(plan->datatype ? plan->datatype : "char", type, why);
    return err ? err : ictusi_reduction_find(plan->reduce ? plan->reduce : "sum", reduction, why);
}

/*
 * A single-element operation has no other size. A compare-and-swap needs a type in which equal
 * values have the same bytes.
 */
static int plan_check_single(const struct operation *operation, const struct ictus_bench_plan *plan,
                             const struct datatype *type, struct ictus_why *why)
{
    const bool swaps = operation->shape == SHAPE_SWAP || operation->shape == SHAPE_SWAPS;
    if (swaps && type->class != CLASS_INTEGER && type->class != CLASS_LOGICAL &&
        type->class != CLASS_BYTE) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "%s takes integers, logical values and bytes, not '%s'",
                             operation->name, type->name);
    }
    if (operation->is_single && plan->bytes != type->size) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "%s works on one element of '%s': its size must be %zu B, not %llu B",
                             operation->name, type->name, type->size,
                             (unsigned long long)plan->bytes);
    }
    return ICTUS_OK;
}

static int plan_check_types(const struct operation *operation, const struct ictus_bench_plan *plan,
                            struct ictus_why *why)
{
    struct datatype type;
    struct reduction reduction;
    int err = ictusi_plan_types(plan, &type, &reduction, why);
    if (!err && ictusi_operation_shape(operation->shape)->reduces) {
        err = ictusi_reduction_fits(&reduction, &type, why);
    }
    if (!err && plan->bytes % type.size) {
        err = ictus_because(why, ICTUS_ERR_ARG,
                            "%llu bytes are not a multiple of the size of '%s' (%zu bytes)",
                            (unsigned long long)plan->bytes, type.name, type.size);
    }
    return err ? err : plan_check_single(operation, plan, &type, why);
}

const char *const ictus_window_kinds[] = {"create", "allocate", "shared", "dynamic", NULL};

int ictusi_plan_window(const char *name, enum window_kind *kind, struct ictus_why *why)
{
    for (int i = 0; ictus_window_kinds[i]; i++) {
        if (strcmp(name ? name : ICTUS_WINDOW_DEFAULT, ictus_window_kinds[i]) == 0) {
            *kind = (enum window_kind)i;
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, "window", name, ictus_window_kinds);
}

/*
 * Open MPI 4.1.4's component rdma gets the last 16 of 64 pairs of double_int wrong, in created and
 * in dynamic windows, as if it counted the 12 bytes of the members as the size of a pair instead of
 * 16 (64 * 12 = 48 * 16). With long_int it writes beyond its own buffers in both kinds and crashes.
 * The component pt2pt ends the program. Pairs without padding, and windows in shared memory, are
 * correct.
 */
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
enum { PAIRS_ARE_CUT = 1 };
#else
enum { PAIRS_ARE_CUT = 0 };
#endif
static bool extras_cut_pairs(const struct operation *operation, const struct ictus_bench_plan *plan,
                             enum window_kind kind)
{
    const struct shape_info *shape = ictusi_operation_shape(operation->shape);
    struct datatype type;
    struct reduction reduction;
    return PAIRS_ARE_CUT && shape->window != WINDOW_NONE && shape->reduces &&
           (kind == WINDOW_CREATE || kind == WINDOW_DYNAMIC) &&
           ictusi_plan_types(plan, &type, &reduction, NULL) == ICTUS_OK &&
           type.class == CLASS_PAIR && type.size > 2 * sizeof(int); /* these types are padded */
}

/* A partitioned message is sent in equal parts. The datatype has been checked before. */
static int plan_check_partitions(const struct operation *operation,
                                 const struct ictus_bench_plan *plan, struct ictus_why *why)
{
    const int partitions = plan->partitions > 0 ? plan->partitions : PARTITIONS;
    struct datatype type;
    struct reduction reduction;
    if (plan->partitions < 0 || plan->partitions > PARTITIONS_MAX) {
        return ictus_because(why, ICTUS_ERR_ARG, "%d partitions: must be between 1 and %d",
                             plan->partitions, PARTITIONS_MAX);
    }
    if (!operation->is_partitioned || ictusi_plan_types(plan, &type, &reduction, NULL) ||
        plan->bytes / type.size % (unsigned)partitions == 0) {
        return ICTUS_OK;
    }
    return ictus_because(why, ICTUS_ERR_ARG,
                         "%s: %llu bytes of '%.40s' cannot be divided into %d equal partitions",
                         operation->name, (unsigned long long)plan->bytes, type.name, partitions);
}

/* The options of the plan for streams and for one-sided operations. */
static int plan_check_extras(const struct operation *operation, const struct ictus_bench_plan *plan,
                             struct ictus_why *why)
{
    enum window_kind kind = WINDOW_CREATE;
    if (plan->messages < 0 || plan->messages > MESSAGES_MAX) {
        return ictus_because(why, ICTUS_ERR_ARG, "%d messages in flight: must be between 1 and %d",
                             plan->messages, MESSAGES_MAX);
    }
    /* One-sided operations only allow MPI's predefined operators (MPI-3.1, section 11.3.4). */
    if (ictusi_operation_shape(operation->shape)->window != WINDOW_NONE &&
        ictusi_operation_shape(operation->shape)->reduces && plan->reduce &&
        strncmp(plan->reduce, "user_", strlen("user_")) == 0) {
        return ictus_because(why, ICTUS_ERR_ARG, "%s takes MPI's own operators, not '%.40s'",
                             operation->name, plan->reduce);
    }
    const int err = ictusi_plan_window(plan->window, &kind, why);
    if (!err && extras_cut_pairs(operation, plan, kind)) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "%s: Open MPI 4 accumulates '%.40s' wrongly in windows of kind '%s', "
                             "and writes beyond them; choose --window=allocate or another datatype",
                             operation->name, plan->datatype, ictus_window_kinds[kind]);
    }
    return err;
}

/*
 * The number of threads must be given, and MPI must have been initialised for threads. MPI_Init is
 * over, so the plan must give its instants.
 */
static int plan_check_threads(const struct operation *operation,
                              const struct ictus_bench_plan *plan, struct ictus_why *why)
{
    int up = 0;
    int level = MPI_THREAD_MULTIPLE;
    if (operation->once && plan->init[1].ns == 0) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "%s: the plan must give the start and the end of MPI_Init",
                             operation->name);
    }
    if (operation->shape != SHAPE_THREADS) {
        return ICTUS_OK;
    }
    if (plan->threads < 2 || plan->threads > THREADS_MAX) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "%s needs 2 to %d threads in each process; set --threads=N",
                             operation->name, (int)THREADS_MAX);
    }
    MPI_Initialized(&up);
    if (up) {
        MPI_Query_thread(&level);
    }
    return level < MPI_THREAD_MULTIPLE
               ? ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                               "%s needs MPI_THREAD_MULTIPLE, but this MPI library provides less",
                               operation->name)
               : ICTUS_OK;
}

/* The plan's layout and topology. Sizes have been checked before. */
static int plan_check_layout(const struct operation *operation, const struct ictus_bench_plan *plan,
                             struct ictus_why *why)
{
    const struct shape_info *shape = ictusi_operation_shape(operation->shape);
    struct topology_options topology;
    struct data_layout_options options;
    struct data_layout layout;
    struct datatype type;
    struct reduction reduction;
    int err = ictusi_topology_read(plan->topology, &topology, why);
    err = err ? err : ictusi_data_layout_read(plan->layout, &options, why);
    if (err || options.kind == LAYOUT_CONTIGUOUS || !shape->has_data) {
        return err;
    }
    const char *because = shape->reduces      ? "MPI's operators reduce elements without gaps"
                          : operation->mockup ? "a mock-up cuts contiguous blocks"
                          : operation->is_partitioned
                              ? "a block with gaps is not cut into partitions"
                          : operation->is_single ? "one element has no gaps"
                          : operation->user      ? "a plugin takes bytes, not datatypes"
                                                 : NULL;
    if (because) {
        return ictus_because(why, ICTUS_ERR_ARG, "%s cannot work on layout '%.80s': %s",
                             operation->name, plan->layout, because);
    }
    err = ictusi_plan_types(plan, &type, &reduction, why);
    return err ? err
               : ictusi_data_layout_init(&layout, &options, (int64_t)(plan->bytes / type.size),
                                         type.size, why);
}

/* Whether the topology that the plan asks for exists on this number of processes. */
static int plan_check_topology(const struct operation *operation,
                               const struct ictus_bench_plan *plan, int size, struct ictus_why *why)
{
    struct topology_options options;
    struct topology topology;
    int err = ictusi_topology_read(plan->topology, &options, why);
    if (!err && ictusi_operation_shape_has_neighbors(operation->shape)) {
        err = ictusi_topology_init(&topology, &options, 0, size, why);
        if (!err) {
            ictusi_topology_fini(&topology);
        }
    }
    return err;
}

/* Requests and windows that are prepared once refer to one buffer and one root for good. */
static int plan_check_prepared(const struct operation *operation,
                               const struct ictus_bench_plan *plan, bool rooted,
                               struct ictus_why *why)
{
    if (!operation->prepare || (plan->buffers <= 1 && !(rooted && plan->rotate_root))) {
        return ICTUS_OK;
    }
    return ictus_because(why, ICTUS_ERR_ARG, "%s is bound to one %sbuffer, so %s be changed",
                         operation->name, rooted ? "root and one " : "",
                         rooted ? "neither can" : "it cannot");
}

int ictusi_plan_possible(const struct operation *operation, const struct ictus_bench_plan *plan,
                         struct ictus_why *why)
{
    const struct shape_info *shape = ictusi_operation_shape(operation->shape);
    if (operation->absent) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "%s needs %s; this MPI library has version %d.%d", operation->name,
                             operation->absent, MPI_VERSION, MPI_SUBVERSION);
    }
    if (plan->in_place && (!shape->in_place || operation->mockup)) {
        return ictus_because(why, ICTUS_ERR_ARG, "%s cannot work in place", operation->name);
    }
    const int unfit = plan_check_extras(operation, plan, why);
    if (unfit) {
        return unfit;
    }
    if (plan->buffers < 0 || plan->buffers > BUFFER_SETS_MAX) {
        return ictus_because(why, ICTUS_ERR_ARG, "at most %d sets of buffers are possible",
                             BUFFER_SETS_MAX);
    }
    int err = plan_check_prepared(operation, plan, shape->rooted, why);
    err = err ? err : plan_check_types(operation, plan, why);
    err = err ? err : plan_check_partitions(operation, plan, why);
    err = err ? err : plan_check_threads(operation, plan, why);
    return err ? err : plan_check_layout(operation, plan, why);
}

int ictusi_plan_fits(const struct operation *operation, const struct ictus_bench_plan *plan,
                     int size, struct ictus_why *why)
{
    if (plan->root < 0 || plan->root >= size) {
        return ictus_because(why, ICTUS_ERR_ARG, "root %d: must be a rank between 0 and %d",
                             plan->root, size - 1);
    }
    int err = ictusi_plan_possible(operation, plan, why);
    err = err ? err : plan_check_topology(operation, plan, size, why);
    if (err) {
        return err;
    }
    /* The shapes from SHAPE_PING_PONG on need a partner. */
    if (operation->shape >= SHAPE_PING_PONG && operation->shape < SHAPE_USER && size < 2) {
        return ictus_because(why, ICTUS_ERR_ARG, "%s needs at least two processes",
                             operation->name);
    }
    return plan_check_defects(operation, plan, size, why);
}
