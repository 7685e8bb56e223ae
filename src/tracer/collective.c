/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the amount of data that a collective operation moves, in bytes, as MPI defines the
 * operation and not as an algorithm carries it out. What a process hands in for each other process
 * and itself counts as sent, and what it gets from each as received. With n processes and blocks of
 * b bytes, that is n b and n b for an alltoall, and b and n b for a member and the root of a
 * gather.
 */
#include "tracer/collective.h"

#include "tracer/operands.h"

#include <string.h>

struct traffic {
    int64_t sent, received;
};

/*
 * One call from this process's point of view. n is the number of processes to exchange with: all of
 * the remote group in an inter-communicator.
 */
struct view {
    struct recorder *r;
    const struct coll_args *args;
    int64_t n;
    bool root; /* this process is the root */
    bool away; /* in the root's group of an inter-communicator, but not the root: takes no part */
};

/*
 * Large-count calls have arrays of MPI_Count instead of int, which width distinguishes. Without an
 * array the count is 0, because arguments that MPI ignores in this process may be NULL.
 */
int64_t ictusi_tracer_count_at(const struct counts *counts, int64_t i)
{
    if (!counts->values) {
        return 0;
    }
    if (counts->width == sizeof(int)) {
        return ((const int *)counts->values)[i];
    }
    return ((const MPI_Count *)counts->values)[i];
}

static int64_t collective_count_sum(const struct counts *counts, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; counts->values && i < n; i++) {
        sum += ictusi_tracer_count_at(counts, i);
    }
    return sum;
}

/* Alltoallw has a datatype per process, so sizes are summed instead of counts. */
static int64_t collective_typed_sum(struct recorder *r, const struct counts *counts,
                                    const MPI_Datatype *types, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; counts->values && types && i < n; i++) {
        const int64_t count = ictusi_tracer_count_at(counts, i);
        sum += count > 0 ? count * trace_type_bytes(r, types[i]) : 0;
    }
    return sum;
}

static bool collective_in_place(const void *buffer)
{
    return buffer == MPI_IN_PLACE;
}

static int64_t collective_send_bytes(const struct view *v)
{
    return v->args->sendcount * trace_type_bytes(v->r, v->args->sendtype);
}

static int64_t collective_recv_bytes(const struct view *v)
{
    return v->args->recvcount * trace_type_bytes(v->r, v->args->recvtype);
}

/*
 * From the root to all: n copies leave the root, including one for itself, and each process gets
 * one.
 */
static struct traffic collective_measure_bcast(const struct view *v)
{
    const int64_t bytes = collective_send_bytes(v);
    return v->root ? (struct traffic){bytes * v->n, bytes} : (struct traffic){0, bytes};
}

/*
 * From all to the root; vector: counts differ. The receiving side's counts and types are
 * significant only at the root and may be invalid elsewhere. In an inter-communicator the root
 * itself hands in nothing.
 */
static struct traffic collective_measure_gather(const struct view *v, bool vector)
{
    struct traffic t = {0, 0};
    if (v->root) {
        t.received = vector ? collective_count_sum(&v->args->recvcounts, v->n) *
                                  trace_type_bytes(v->r, v->args->recvtype)
                            : collective_recv_bytes(v) * v->n;
    }
    if (!collective_in_place(v->args->sendbuf) && !(v->root && v->args->root == MPI_ROOT)) {
        t.sent = collective_send_bytes(v);
    }
    return t;
}

/*
 * The mirror image of the gather: the sending side's counts and types are significant only at the
 * root.
 */
static struct traffic collective_measure_scatter(const struct view *v, bool vector)
{
    struct traffic t = {0, 0};
    if (v->root) {
        t.sent = vector ? collective_count_sum(&v->args->sendcounts, v->n) *
                              trace_type_bytes(v->r, v->args->sendtype)
                        : collective_send_bytes(v) * v->n;
    }
    if (!collective_in_place(v->args->recvbuf) && !(v->root && v->args->root == MPI_ROOT)) {
        t.received = collective_recv_bytes(v);
    }
    return t;
}

/*
 * The root receives n vectors of operands, although a library that combines them on the way
 * delivers only one: what the caller asked for is counted, not the algorithm.
 */
static struct traffic collective_measure_reduce(const struct view *v)
{
    const int64_t bytes = collective_send_bytes(v);
    const bool gives =
        !collective_in_place(v->args->sendbuf) && !(v->root && v->args->root == MPI_ROOT);
    return (struct traffic){gives ? bytes : 0, v->root ? bytes * v->n : 0};
}

/*
 * In the root's group of an inter-communicator, only the root takes part; the other processes'
 * arguments are meaningless.
 */
static struct traffic collective_measure_rooted(enum coll_op op, const struct view *v)
{
    if (v->away) {
        return (struct traffic){0, 0};
    }
    switch (op) {
    case COLL_BCAST:
        return collective_measure_bcast(v);
    case COLL_GATHER:
    case COLL_GATHERV:
        return collective_measure_gather(v, op == COLL_GATHERV);
    case COLL_SCATTER:
    case COLL_SCATTERV:
        return collective_measure_scatter(v, op == COLL_SCATTERV);
    default:
        return collective_measure_reduce(v);
    }
}

/*
 * In place, the types and counts of the sending side are ignored, and as much is sent as is
 * received.
 */
static struct traffic collective_measure_alltoall(enum coll_op op, const struct view *v)
{
    const struct coll_args *a = v->args;
    struct traffic t = {0, 0};
    if (op == COLL_ALLTOALL) {
        t.received = collective_recv_bytes(v) * v->n;
        t.sent = collective_in_place(a->sendbuf) ? t.received : collective_send_bytes(v) * v->n;
    } else if (op == COLL_ALLTOALLV) {
        t.received =
            collective_count_sum(&a->recvcounts, v->n) * trace_type_bytes(v->r, a->recvtype);
        t.sent = collective_in_place(a->sendbuf) ? t.received
                                                 : collective_count_sum(&a->sendcounts, v->n) *
                                                       trace_type_bytes(v->r, a->sendtype);
    } else {
        t.received = collective_typed_sum(v->r, &a->recvcounts, a->recvtypes, v->n);
        t.sent = collective_in_place(a->sendbuf)
                     ? t.received
                     : collective_typed_sum(v->r, &a->sendcounts, a->sendtypes, v->n);
    }
    return t;
}

/*
 * Each process receives everybody's block, and its own block goes to all. With MPI_IN_PLACE the
 * sending side's arguments are ignored and the own block is in the receive buffer, so its size is
 * taken from there.
 */
static struct traffic collective_measure_allgather(enum coll_op op, const struct view *v, int rank)
{
    const struct coll_args *a = v->args;
    struct traffic t;
    int64_t own = 0;
    if (op == COLL_ALLGATHER) {
        own = collective_recv_bytes(v);
        t.received = own * v->n;
    } else {
        const int64_t bytes = trace_type_bytes(v->r, a->recvtype);
        own = ictusi_tracer_count_at(&a->recvcounts, rank) * bytes;
        t.received = collective_count_sum(&a->recvcounts, v->n) * bytes;
    }
    t.sent = (collective_in_place(a->sendbuf) ? own : collective_send_bytes(v)) * v->n;
    return t;
}

/* Each process hands in one vector of operands, whoever combines it, and gets a result. */
static struct traffic collective_measure_reduction(enum coll_op op, const struct view *v, int rank)
{
    const struct coll_args *a = v->args;
    const int64_t type = trace_type_bytes(v->r, a->sendtype);
    switch (op) {
    case COLL_REDUCE_SCATTER:
        return (struct traffic){collective_count_sum(&a->recvcounts, v->n) * type,
                                ictusi_tracer_count_at(&a->recvcounts, rank) * type};
    case COLL_REDUCE_SCATTER_BLOCK:
        return (struct traffic){a->recvcount * v->n * type, a->recvcount * type};
    case COLL_SCAN:
        return (struct traffic){a->sendcount * type, a->sendcount * type};
    case COLL_EXSCAN:
        /* The last process sends to nobody, the first receives from nobody. */
        return (struct traffic){rank + 1 < v->n ? a->sendcount * type : 0,
                                rank > 0 ? a->sendcount * type : 0};
    default: /* allreduce */
        return (struct traffic){a->sendcount * type, a->sendcount * type};
    }
}

static bool op_is_rooted(enum coll_op op)
{
    return op == COLL_BCAST || op == COLL_GATHER || op == COLL_GATHERV || op == COLL_SCATTER ||
           op == COLL_SCATTERV || op == COLL_REDUCE;
}

/*
 * In an inter-communicator, all processes exchange with the remote group: n is its size. The root
 * passes MPI_ROOT, and the other processes of its group MPI_PROC_NULL, since they take no part.
 */
static struct traffic coll_measure(struct recorder *r, enum coll_op op,
                                   const struct trace_comm *info, const struct coll_args *args)
{
    const struct view v = {
        .r = r,
        .args = args,
        .n = info->remote >= 0 ? info->remote : info->size,
        .root = op_is_rooted(op) &&
                (args->root == MPI_ROOT || (info->remote < 0 && args->root == info->rank)),
        .away = args->root == MPI_PROC_NULL,
    };
    if (op == COLL_BARRIER) {
        return (struct traffic){0, 0};
    }
    if (op_is_rooted(op)) {
        return collective_measure_rooted(op, &v);
    }
    if (op == COLL_ALLTOALL || op == COLL_ALLTOALLV || op == COLL_ALLTOALLW) {
        return collective_measure_alltoall(op, &v);
    }
    if (op == COLL_ALLGATHER || op == COLL_ALLGATHERV) {
        /* In an inter-communicator, nothing received is the process's own. */
        return collective_measure_allgather(op, &v, info->remote >= 0 ? 0 : info->rank);
    }
    return collective_measure_reduction(op, &v, info->remote >= 0 ? 0 : info->rank);
}

/*
 * The root in OTF2's terms: a rank, none, this process (MPI_ROOT), or another process of this group
 * (MPI_PROC_NULL).
 */
static uint32_t root_of(enum coll_op op, const struct coll_args *args)
{
    if (!op_is_rooted(op)) {
        return ROOT_NONE;
    }
    if (args->root == MPI_ROOT) {
        return ROOT_SELF;
    }
    return args->root == MPI_PROC_NULL ? ROOT_THIS_GROUP : (uint32_t)args->root;
}

/*
 * The datatype that MPI looks at in this process: that of the buffer that is not in place, and of
 * a scatter that of the receiving side, since only the root's sending side is significant. In the
 * group of an inter-communicator's root, that is none.
 */
static MPI_Datatype coll_type(enum coll_op op, const struct coll_args *a)
{
    const bool away = a->root == MPI_ROOT || a->root == MPI_PROC_NULL;
    if (op_is_rooted(op) && away) {
        return MPI_DATATYPE_NULL;
    }
    if (op == COLL_SCATTER || op == COLL_SCATTERV) {
        return collective_in_place(a->recvbuf) ? a->sendtype : a->recvtype;
    }
    return collective_in_place(a->sendbuf) && a->recvtype != MPI_DATATYPE_NULL ? a->recvtype
                                                                               : a->sendtype;
}

/* What whoever repeats the call has to know of its arguments. */
static uint32_t coll_operands(struct recorder *r, enum coll_op op, const struct coll_args *a)
{
    if (op == COLL_BARRIER) {
        return 0;
    }
    const bool in_place = collective_in_place(a->sendbuf) || collective_in_place(a->recvbuf);
    return operands_make(trace_type_number(r, coll_type(op, a)), ictusi_tracer_reduction(a->op),
                         in_place ? OPERANDS_IN_PLACE : OPERANDS_APART);
}

/*
 * Record who sends to this process. The totals of an Alltoallv do not show that, but the counts
 * passed to MPI do. They become a record before that of the call, with one bit per rank, 64 ranks
 * per word, lowest first. What a process sends to itself is left out. The words are written before
 * the head is published, so that a process killed in between leaves no partial record.
 */
static void collective_note_senders(struct recorder *r, enum coll_op op,
                                    const struct trace_comm *info, const struct coll_args *a)
{
    uint64_t words[SENDERS_WORDS_MAX];
    const int n = info->remote >= 0 ? info->remote : info->size;
    const unsigned count = ((unsigned)n + 63) / 64;
    if ((op != COLL_ALLTOALLV && op != COLL_ALLTOALLW) || n > SENDERS_RANKS_MAX) {
        return;
    }
    memset(words, 0, count * sizeof(*words));
    for (int i = 0; i < n; i++) {
        const MPI_Datatype type =
            op == COLL_ALLTOALLW && a->recvtypes ? a->recvtypes[i] : a->recvtype;
        const bool self = info->remote < 0 && i == info->rank;
        const bool some =
            !self && ictusi_tracer_count_at(&a->recvcounts, i) > 0 && trace_type_bytes(r, type) > 0;
        words[i / 64] |= (uint64_t)some << (i % 64);
    }
    memcpy(r->pos + 1, words, count * sizeof(*words));
    recorder_publish(r->pos, record_head(RECORD_SENDERS, 1 + count, 0, 0));
    r->pos += 1 + count;
}

/*
 * What identifies a call, besides its arguments. Bits 62 and 63 are free in tally_what(). Whether
 * buffers are in place must be included, because the same place may call with and without
 * MPI_IN_PLACE, which changes the bytes.
 */
static uint64_t coll_what(const struct recorder *r, enum coll_op op, const struct coll_args *a)
{
    const uint64_t head = r->prepared ? r->prepared : *r->call;
    return tally_what(record_small(head), (uint8_t)op) |
           (uint64_t)collective_in_place(a->sendbuf) << 62 |
           (uint64_t)collective_in_place(a->recvbuf) << 63;
}

/*
 * Whether a call is the same as the last one from its place. Handles may only be compared within an
 * epoch, because MPI may reuse the handle of a freed type or communicator for a new one. The epochs
 * are read relaxed: a program that frees a handle in one thread while another uses it is erroneous
 * anyway.
 */
static bool coll_same(const struct counted *c, uint64_t what, MPI_Comm comm,
                      const struct coll_args *a)
{
    return c->what == what && c->comm == comm && c->sendcount == a->sendcount &&
           c->recvcount == a->recvcount && c->sendtype == a->sendtype &&
           c->recvtype == a->recvtype && c->root_given == a->root && c->op == a->op &&
           c->comm_epoch == atomic_load_explicit(&ictusi_tracer.comm_epoch, memory_order_relaxed) &&
           c->type_epoch == atomic_load_explicit(&ictusi_tracer.type_epoch, memory_order_relaxed);
}

/*
 * With statistics, a call is not recorded but prepared to be counted when it is left. A call from
 * the same place with the same arguments moves as much as the last one, unless a communicator or
 * type was made or freed in between.
 */
static void coll_count(struct recorder *r, enum coll_op op, MPI_Comm comm,
                       const struct coll_args *a)
{
    const uint64_t what = coll_what(r, op, a);
    struct counted *c = counted_place(r);
    r->counting = c;
    if (__builtin_expect(c->place == r->call[2] && coll_same(c, what, comm, a), 1)) {
        return;
    }
    /* Arrays of counts may have different values at the same address. */
    const bool arrays = a->sendcounts.values || a->recvcounts.values || a->sendtypes;
    *c = (struct counted){
        .place = arrays ? COUNTED_NOWHERE : r->call[2],
        .what = what,
        .comm = comm,
        .sendtype = a->sendtype,
        .recvtype = a->recvtype,
        .sendcount = a->sendcount,
        .recvcount = a->recvcount,
        .op = a->op,
        .comm_epoch = atomic_load_explicit(&ictusi_tracer.comm_epoch, memory_order_relaxed),
        .type_epoch = atomic_load_explicit(&ictusi_tracer.type_epoch, memory_order_relaxed),
        .root_given = a->root,
        .root = root_of(op, a),
        .operands = coll_operands(r, op, a),
        .info = trace_comm(r, comm),
    };
    if (!c->info || c->info->foreign) {
        c->place = COUNTED_NOWHERE;
        r->counting = NULL;
        return;
    }
    const struct traffic t = coll_measure(r, op, c->info, a);
    c->sent = (uint64_t)t.sent;
    c->received = (uint64_t)t.received;
}

void ictusi_tracer_note_coll(struct recorder *r, enum coll_op op, MPI_Comm comm,
                             const struct coll_args *args)
{
    if (r->after & AFTER_TALLY) {
        coll_count(r, op, comm, args);
        return;
    }
    const struct trace_comm *info = trace_comm(r, comm);
    if (info && !info->foreign) {
        const struct traffic t = coll_measure(r, op, info, args);
        collective_note_senders(r, op, info, args);
        recorder_put3(r, RECORD_COLL, (unsigned)op, root_of(op, args),
                      coll_word(info, coll_operands(r, op, args)), (uint64_t)t.sent,
                      (uint64_t)t.received);
    }
}

/*
 * Making a topology is collective, and all processes know the result. It is recorded as a
 * synchronisation of the parent's processes that moves no bytes.
 */
void ictusi_tracer_note_topology(struct recorder *r, MPI_Comm parent, int size)
{
    const struct trace_comm *info = size > 0 ? trace_comm(r, parent) : NULL;
    if (info && !info->foreign && info->remote < 0) {
        recorder_put3(r, RECORD_COLL, COLL_CREATE_HANDLE, ROOT_NONE, info->id, 0, 0);
    }
}

/*
 * What the completion's record will need is kept in the request, because the arguments are no
 * longer available then.
 */
struct trace_request ictusi_tracer_icoll_request(struct recorder *r, enum coll_op op, MPI_Comm comm,
                                                 const struct coll_args *args)
{
    const struct trace_comm *info = trace_comm(r, comm);
    struct trace_request request = {.kind = REQUEST_COLL, .peer = (int32_t)op};
    if (info && !info->foreign) {
        const struct traffic t = coll_measure(r, op, info, args);
        request.comm = info;
        request.root = root_of(op, args);
        request.operands = coll_operands(r, op, args);
        request.sent = (uint64_t)t.sent;
        request.received = (uint64_t)t.received;
        collective_note_senders(r, op, info, args);
    }
    return request;
}
