/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers, counts and communicator of a call. */
#include "bench/call.h"

#include "bench/arrive.h"
#include "bench/memory.h"
#include "bench/plan.h"
#include "sync/sync.h"

#include <ictus/plugin.h>
#include <ictus/text.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* one page, as in the OSU benchmarks: alignment affects what is measured */
    BUFFER_ALIGNMENT = 4096,
    FLUSH_BYTES_DEFAULT = 64 << 20, /* used if the size of the last-level cache is not known */
    /* from this size on, check that the node has the memory before taking it */
    LARGE_BYTES = 64 << 20
};

static uint64_t block_count(const struct call *call, enum blocks blocks)
{
    return (uint64_t)ictusi_operation_block_count(call, blocks);
}

/* Saturates: a size beyond the address space stays too large, and the allocation refuses it. */
static uint64_t bytes_times(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t bytes_plus(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int buffer_allocate(void **buffer, uint64_t bytes)
{
    void *made = NULL;
    if (bytes > PTRDIFF_MAX - BUFFER_ALIGNMENT) {
        return ICTUS_ERR_NOMEM;
    }
    /* At least one byte, so that MPI is never given NULL for an empty block. */
    if (posix_memalign(&made, BUFFER_ALIGNMENT, bytes ? bytes : 1)) {
        return ICTUS_ERR_NOMEM;
    }
    /* Touch every page now, so that none is mapped for the first time inside a timed call. */
    memset(made, 0, bytes);
    *buffer = made;
    return ICTUS_OK;
}

/*
 * Elements are counted by an int if they fit. Beyond that the MPI-4 functions with large counts are
 * used, if the library has them.
 */
static int call_choose_counts(struct call *call, const struct ictus_bench_plan *plan,
                              const struct datatype *type, struct ictus_why *why)
{
    /* a plugin's operation counts for itself */
    if (call->elements <= INT_MAX || call->operation->user) {
        call->count = (int)(call->elements <= INT_MAX ? call->elements : INT_MAX);
        return ICTUS_OK;
    }
    const struct operation *large = ictusi_operation_large(call->operation);
    if (!large) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "%s of %llu bytes: this MPI call takes at most %d elements of '%s'",
                             call->operation->name, (unsigned long long)plan->bytes, INT_MAX,
                             type->name);
    }
    call->operation = large;
    return ICTUS_OK;
}

/* The datatype of a block whose elements are not contiguous. */
static int call_read_layout(struct call *call, const struct ictus_bench_plan *plan,
                            const struct datatype *type, struct ictus_why *why)
{
    struct data_layout_options options;
    int err = ictusi_data_layout_read(plan->layout, &options, why);
    if (call->elements == 0) {
        options = (struct data_layout_options){.kind = LAYOUT_CONTIGUOUS, .block = 1, .stride = 1};
    }
    err =
        err ? err
            : ictusi_data_layout_init(&call->layout, &options, call->elements, call->element, why);
    if (err || options.kind == LAYOUT_CONTIGUOUS) {
        return err ? err : call_choose_counts(call, plan, type, why);
    }
    if (ictusi_data_layout_type(&call->layout, type->type, &call->count, &call->type) !=
        MPI_SUCCESS) {
        call->type = type->type;
        return ICTUS_ERR_MPI;
    }
    call->owns_type = true;
    return ICTUS_OK;
}

static int call_read_types(struct call *call, const struct ictus_bench_plan *plan,
                           struct ictus_why *why)
{
    struct datatype type;
    struct reduction reduction;
    const int err = ictusi_plan_types(plan, &type, &reduction, why);
    if (err) {
        return err;
    }
    call->type = type.type;
    call->element = type.size;
    call->op = reduction.op;
    if (reduction.user && ictusi_operation_shape(call->operation->shape)->reduces) {
        if (MPI_Op_create(reduction.user, reduction.commutes, &call->op) != MPI_SUCCESS) {
            return ICTUS_ERR_MPI;
        }
        call->owns_op = true;
    }
    call->elements = (int64_t)(plan->bytes / type.size);
    return call_read_layout(call, plan, &type, why);
}

/*
 * Cut a block into one part for each process. The first parts are larger by one element if the
 * division leaves a remainder.
 */
static void call_make_shares(struct call *call)
{
    const int each = call->count / call->size;
    const int more = call->count % call->size;
    for (int i = 0; i < call->size; i++) {
        call->shares[i] = each + (i < more);
        call->share_displs[i] = i * each + (i < more ? i : more);
    }
}

static int call_larger_of(int a, int b)
{
    return a > b ? a : b;
}

/*
 * Displacements of the v- and w-variants are ints, in elements or in bytes. The whole buffer must
 * therefore not exceed INT_MAX bytes.
 */
static int call_make_counts(struct call *call, struct ictus_why *why)
{
    const int neighbors = call_larger_of(call->topology.source_count, call->topology.target_count);
    const int n = call_larger_of(call->size, neighbors);
    const uint64_t bytes = call->layout.extent;
    if (bytes_times((uint64_t)n, bytes) > INT_MAX && call->operation->is_placed) {
        return ictus_because(
            why, ICTUS_ERR_UNSUPPORTED,
            "%s of %llu bytes on %d processes: displacements cannot exceed %d bytes",
            call->operation->name, (unsigned long long)bytes, call->size, INT_MAX);
    }
    const size_t entries = (size_t)n;
    call->counts = calloc(entries, sizeof(int));
    call->displs = calloc(entries, sizeof(int));
    call->byte_displs = calloc(entries, sizeof(int));
    call->aint_displs = calloc(entries, sizeof(MPI_Aint));
    call->types = calloc(entries, sizeof(MPI_Datatype));
    call->shares = calloc(2 * entries, sizeof(int));
    call->requests = calloc(ictusi_operation_request_count(call), sizeof(MPI_Request));
    call->statuses = calloc(ictusi_operation_request_count(call), sizeof(MPI_Status));
    if (!call->counts || !call->displs || !call->byte_displs || !call->aint_displs ||
        !call->types || !call->shares || !call->requests || !call->statuses) {
        return ICTUS_ERR_NOMEM;
    }
    call->share_displs = call->shares + entries;
    call_make_shares(call);
    for (int i = 0; i < n; i++) {
        call->counts[i] = call->count;
        /*
         * Beyond INT_MAX these values wrap, but nobody reads them: the v- and w-variants were
         * refused above.
         */
        call->displs[i] = (int)((uint32_t)i * (uint32_t)call->count);
        call->byte_displs[i] = (int)((uint32_t)i * (uint32_t)bytes);
        call->aint_displs[i] = (MPI_Aint)i * (MPI_Aint)bytes;
        call->types[i] = call->type;
    }
    return ICTUS_OK;
}

/* Bytes of each kind of buffer. */
struct needs {
    uint64_t send, recv, scratch, flush, work;
};

static struct needs call_needs(const struct call *call, const struct ictus_bench_plan *plan)
{
    const struct shape_info *shape = ictusi_operation_shape(call->operation->shape);
    const struct mockup *mockup = call->operation->mockup;
    const uint64_t block = call->layout.extent;
    struct needs needs = {.send = bytes_times(block, block_count(call, shape->sends)),
                          .recv = bytes_times(block, block_count(call, shape->receives))};
    if (plan->in_place && call->operation->shape == SHAPE_REDUCE_SCATTER) {
        /* All blocks are taken from the buffer in which the process leaves its own. */
        needs.recv = needs.send;
    }
    /*
     * In place, the root of a scatter keeps its block in the send buffer. All other processes
     * receive into recv.
     */
    if (needs.recv < block && shape->receives != BLOCKS_NONE) {
        needs.recv = block;
    }
    if (mockup) {
        /* One block more, because a block may be padded to a whole number of equal parts. */
        needs.scratch = bytes_plus(bytes_times(block, block_count(call, mockup->scratch) + 1),
                                   (uint64_t)call->size * call->element);
    }
    if (plan->cold) {
        const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
        needs.flush = cache > 0 ? 2 * (uint64_t)cache : FLUSH_BYTES_DEFAULT;
    }
    needs.work = ictusi_arrive_bytes(call);
    return needs;
}

static uint64_t call_sum_of(const struct call *call, const struct needs *needs)
{
    const uint64_t sets = bytes_times(bytes_plus(needs->send, needs->recv), (uint64_t)call->sets);
    return bytes_plus(sets, bytes_plus(bytes_plus(needs->scratch, needs->flush), needs->work));
}

/* Bytes that all processes of this node want together, and bytes that are available on it. */
static int node_memory(MPI_Comm all, uint64_t *wanted, uint64_t *available)
{
    MPI_Comm node = MPI_COMM_NULL;
    if (MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    int processes = 1;
    MPI_Comm_size(node, &processes);
    const uint64_t most = UINT64_MAX / (uint64_t)processes; /* so that the sum cannot overflow */
    *wanted = *wanted < most ? *wanted : most;
    /*
     * This collective also makes sure that every process has read the free memory before one of
     * them allocates any.
     */
    int err = MPI_Allreduce(MPI_IN_PLACE, wanted, 1, MPI_UINT64_T, MPI_SUM, node);
    if (err == MPI_SUCCESS) {
        err = MPI_Allreduce(MPI_IN_PLACE, available, 1, MPI_UINT64_T, MPI_MIN, node);
    }
    MPI_Comm_free(&node);
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/*
 * Linux overcommits memory and kills a process that uses what is not there. Large buffers are
 * therefore requested only if the node has enough memory for all its processes, whatever group they
 * are in. Collective over all.
 */
static int call_check_memory(const struct call *call, const struct ictus_bench_plan *plan,
                             MPI_Comm all, struct ictus_why *why)
{
    const struct needs needs = call_needs(call, plan);
    const uint64_t mine = call_sum_of(call, &needs);
    uint64_t most = mine;
    /* Processes differ in the number of their neighbours, and so in the size of their buffers. */
    if (MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, all) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (most < LARGE_BYTES) {
        return ICTUS_OK;
    }
    uint64_t wanted = mine;
    uint64_t available = ictusi_memory_available();
    int err = node_memory(all, &wanted, &available);
    if (!err && wanted > available) {
        err = ictus_because(why, ICTUS_ERR_NOMEM,
                            "%s of %llu bytes: the processes on a node need %llu bytes of buffers "
                            "(this one %llu), but only %llu are free there",
                            call->operation->name, (unsigned long long)plan->bytes,
                            (unsigned long long)wanted, (unsigned long long)mine,
                            (unsigned long long)available);
    }
    return ictusi_sync_agree(all, err, why);
}

/*
 * Several sets of buffers let a repetition use memory that the one before did not touch. The
 * allocation is done once, before any timing.
 */
static int call_make_buffers(struct call *call, const struct ictus_bench_plan *plan,
                             struct ictus_why *why)
{
    const struct needs needs = call_needs(call, plan);
    int err = ICTUS_OK;
    for (int i = 0; i < call->sets && !err; i++) {
        err = buffer_allocate(&call->sends[i], needs.send);
        if (!err) {
            err = buffer_allocate(&call->recvs[i], needs.recv);
        }
    }
    if (!err && needs.scratch > 0) {
        err = buffer_allocate(&call->scratch, needs.scratch);
    }
    if (!err && needs.flush > 0) {
        call->flush_bytes = needs.flush;
        err = buffer_allocate(&call->flush, needs.flush);
    }
    if (!err && needs.work > 0) {
        void *work = NULL;
        err = buffer_allocate(&work, needs.work);
        call->work = work;
    }
    if (err == ICTUS_ERR_NOMEM) {
        (void)ictus_because(why, err,
                            "%s of %llu bytes: not enough memory for %llu bytes of buffers",
                            call->operation->name, (unsigned long long)plan->bytes,
                            (unsigned long long)call_sum_of(call, &needs));
    }
    return err;
}

/* Which argument MPI_IN_PLACE replaces, and on which ranks (MPI-3.1, chapter 5). */
static void call_apply_in_place(struct call *call)
{
    if (!call->in_place) {
        return;
    }
    const bool at_root = call->rank == call->root;
    switch (call->operation->shape) {
    case SHAPE_REDUCE:
    case SHAPE_GATHER:
        call->send = at_root ? MPI_IN_PLACE : call->send;
        break;
    case SHAPE_SCATTER:
        call->recv = at_root ? MPI_IN_PLACE : call->recv;
        break;
    default:
        call->send = MPI_IN_PLACE;
        break;
    }
}

static void call_take_set(struct call *call, int set)
{
    call->set = set;
    call->send = call->sends[set];
    call->recv = call->recvs[set];
    call_apply_in_place(call);
}

/*
 * MPI's neighbourhood collectives read the neighbours from the communicator, so it must carry the
 * topology. All other operations use the caller's communicator.
 */
static int call_make_comm(struct call *call, MPI_Comm comm)
{
    const enum shape shape = call->operation->shape;
    call->comm = comm;
    if (shape != SHAPE_NEIGHBOR_ALLGATHER && shape != SHAPE_NEIGHBOR_ALLTOALL) {
        return ICTUS_OK;
    }
    call->mpi_error = ictusi_topology_comm(&call->topology, comm, &call->comm);
    if (call->mpi_error != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    call->owns_comm = true;
    return ICTUS_OK;
}

static int call_read_topology(struct call *call, const struct ictus_bench_plan *plan,
                              struct ictus_why *why)
{
    struct topology_options options;
    const int err = ictusi_topology_read(plan->topology, &options, why);
    if (err || !ictusi_operation_shape_has_neighbors(call->operation->shape)) {
        return err;
    }
    return ictusi_topology_init(&call->topology, &options, call->rank, call->size, why);
}

static int call_read_plan(struct call *call, const struct ictus_bench_plan *plan,
                          struct ictus_why *why)
{
    int err = ictusi_plan_fits(call->operation, plan, call->size, why);
    if (!err) {
        err = call_read_types(call, plan, why);
    }
    if (!err) {
        err = ictusi_arrival_init(&call->arrival, plan->arrival, call->rank, call->size, why);
    }
    call->sets = plan->buffers > 1 ? plan->buffers : 1;
    if (!err) {
        err = ictusi_plan_window(plan->window, &call->window_kind, why);
    }
    if (!err) {
        err = call_read_topology(call, plan, why);
    }
    return err ? err : call_make_counts(call, why);
}

int ictusi_call_run(struct call *call)
{
    call->mpi_error = call->operation->run(call);
    if (call->mpi_error == MPI_SUCCESS) {
        call->mpi_error = ictusi_settle(call);
    }
    return call->mpi_error == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

int ictusi_call_failed(const struct call *call, struct ictus_why *why)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)MPI_Error_string(call->mpi_error, text, &length);
    char *stack = strstr(text, ", error stack:"); /* appended by MPICH */
    if (stack) {
        *stack = '\0';
    }
    return ictus_because(why, ICTUS_ERR_MPI, "%s of %llu bytes: %s", call->operation->name,
                         (unsigned long long)call->bytes, text);
}

/*
 * A library that lacks the component for a kind of window reports an error here. To the user that
 * is an unsupported operation and not a failure.
 */
static int call_prepare_failed(const struct call *call, struct ictus_why *why)
{
    struct ictus_why said = {""};
    const int err = ictusi_call_failed(call, &said);
    if (ictusi_operation_shape(call->operation->shape)->window == WINDOW_NONE) {
        *why = said;
        return err;
    }
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                         "%.200s: this MPI library cannot create a window of kind '%s' here; "
                         "choose another by --window",
                         said.text, ictus_window_kinds[call->window_kind]);
}

/*
 * Make what MPI must provide in advance: persistent requests, windows, or the state of a plugin's
 * operation.
 */
static int call_prepare(struct call *call, struct ictus_why *why)
{
    const struct ictus_plugin_operation *user = call->operation->user;
    if (user) {
        call->mpi_error = user->init(call->comm, call->bytes, &call->plugin);
    } else if (call->operation->prepare) {
        call->mpi_error = call->operation->prepare(call);
    } else {
        return ICTUS_OK;
    }
    call->prepared = call->mpi_error == MPI_SUCCESS;
    if (!call->prepared && call->win != MPI_WIN_NULL) {
        /* Only half made: freeing it would be collective, and others may not have it. */
        call->win = MPI_WIN_NULL;
    }
    return call->prepared ? ICTUS_OK : call_prepare_failed(call, why);
}

/* The root at which the rotation continues after the repetitions that were measured before. */
static int call_first_root(const struct call *call, const struct ictus_bench_plan *plan)
{
    return plan->rotate_root ? (int)((plan->root + plan->first) % call->size) : plan->root;
}

static void call_blank(struct call *call, const struct operation *operation, MPI_Comm comm,
                       const struct ictus_bench_plan *plan)
{
    memset(call, 0, sizeof(*call));
    call->operation = operation;
    call->request = MPI_REQUEST_NULL;
    call->request_twin = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &call->rank);
    MPI_Comm_size(comm, &call->size);
    call->in_place = plan->in_place;
    call->rotate_root = plan->rotate_root;
    call->turn = plan->first;
    call->root = plan->root;
    call->bytes = plan->bytes;
    call->messages = plan->messages > 0 ? plan->messages : MESSAGES;
    call->partitions = plan->partitions > 0 ? plan->partitions : PARTITIONS;
    call->threads = plan->threads > 0 ? plan->threads : 1;
    call->win = MPI_WIN_NULL;
    call->peers = MPI_GROUP_EMPTY;
}

int ictusi_call_init_beside(struct call *call, const struct operation *operation, MPI_Comm comm,
                            MPI_Comm all, const struct ictus_bench_plan *plan,
                            struct ictus_why *why)
{
    call_blank(call, operation, comm, plan);
    /*
     * All processes agree on each step before the next, which may be collective. Otherwise the
     * others would wait for a process that failed alone.
     */
    int err = ictusi_sync_agree(all, call_read_plan(call, plan, why), why);
    if (!err) {
        err = call_check_memory(call, plan, all, why);
    }
    if (!err) {
        err = ictusi_sync_agree(all, call_make_buffers(call, plan, why), why);
    }
    if (!err) {
        err = ictusi_sync_agree(all, call_make_comm(call, comm), why);
    }
    if (!err) {
        call->root = call_first_root(call, plan);
        call_take_set(call, (int)(plan->first % call->sets));
        err = ictusi_sync_agree(all, call_prepare(call, why), why);
    }
    if (err) {
        ictusi_call_fini(call);
    }
    return err;
}

void ictusi_call_fini(struct call *call)
{
    /*
     * Release what was prepared first: requests and windows still refer to buffers, datatype and
     * communicator.
     */
    if (call->prepared && call->operation->user) {
        const struct ictus_plugin_operation *user = call->operation->user;
        user->fini(call->plugin);
    } else if (call->prepared && call->operation->release) {
        (void)call->operation->release(call);
    } else if (call->prepared) {
        MPI_Request_free(&call->request);
    }
    ictusi_arrival_fini(&call->arrival);
    if (call->owns_op) {
        MPI_Op_free(&call->op);
    }
    if (call->owns_type) {
        MPI_Type_free(&call->type);
    }
    if (call->owns_comm) {
        MPI_Comm_free(&call->comm);
    }
    ictusi_topology_fini(&call->topology);
    for (int i = 0; i < call->sets; i++) {
        free(call->sends[i]);
        free(call->recvs[i]);
    }
    free(call->scratch);
    free(call->flush);
    free(call->work);
    free(call->shares);
    free(call->counts);
    free(call->displs);
    free(call->byte_displs);
    free(call->aint_displs);
    free(call->types);
    free(call->requests);
    free(call->statuses);
    memset(call, 0, sizeof(*call));
}

/*
 * What changes from one repetition to the next, in this order: buffer set, root, arrival, result to
 * verify, caches.
 */
void ictusi_call_next(struct call *call)
{
    call->next = ictusi_arrival_turn(&call->arrival, call->turn++);
    if (call->rotate_root) {
        call->root = (call->root + 1) % call->size;
    }
    if (call->rotate_root || call->sets > 1) {
        call_take_set(call, (call->set + 1) % call->sets);
    }
    if (call->every && call->mpi_error == MPI_SUCCESS) {
        call->mpi_error = ictusi_verify_is_ready(call);
    }
    /* Flush last. Preparing the buffers would warm the caches again. */
    if (call->flush) {
        /*
         * One write in each cache line of 64 bytes, in memory of twice the size of the last-level
         * cache. That displaces all data of the call from the caches, whatever their replacement
         * policy.
         */
        volatile unsigned char *bytes = call->flush;
        for (size_t i = 0; i < call->flush_bytes; i += 64) {
            bytes[i]++;
        }
    }
}
