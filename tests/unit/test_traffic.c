/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tracer says that a collective moves, as MPI defines it: for each operation, at the root
 * and elsewhere, in place, within a communicator and between two; and from which ranks.
 *
 * The tracer's own code runs without MPI; the size of a datatype is what the test says.
 */
#include "../check.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

static int model_type_size(MPI_Datatype type, MPI_Count *bytes);
#undef PMPI_Type_size_x
/* NOLINTNEXTLINE(readability-identifier-naming): the MPI library's name */
#define PMPI_Type_size_x(type, bytes) model_type_size(type, bytes)

/* NOLINTBEGIN(bugprone-suspicious-include): its static functions are what is looked at */
#include "tracer/collective.c"
/* NOLINTEND(bugprone-suspicious-include) */

struct tracer ictusi_tracer;

enum { RANKS = 3, INT_BYTES = 4, CHAR_BYTES = 1 };

static int model_type_size(MPI_Datatype type, MPI_Count *bytes)
{
    *bytes = type == MPI_INT ? INT_BYTES : CHAR_BYTES;
    return MPI_SUCCESS;
}

/* The recorder knows its communicator, so no lookup is needed. */
struct trace_comm *ictusi_comm_find(struct recorder *r, MPI_Comm comm)
{
    (void)r;
    (void)comm;
    CHECK_ABORT();
}

void ictusi_recorder_flush(struct recorder *recorder)
{
    (void)recorder;
    CHECK_ABORT();
}

static uint64_t window[256];

/* The last record of one call at a rank of a communicator, with its payload. */
static const uint64_t *call_noted(enum coll_op op, struct trace_comm *comm,
                                  const struct coll_args *args)
{
    struct recorder r = {.pos = window, .comm = MPI_COMM_WORLD, .comm_info = comm};
    memset(window, 0, sizeof(window));
    ictusi_tracer_note_coll(&r, op, MPI_COMM_WORLD, args);
    const uint64_t *record = window;
    if (record_kind(*record) == RECORD_SENDERS) {
        record += record_words(*record);
    }
    CHECK(record_kind(*record) == RECORD_COLL && record_small(*record) == (unsigned)op);
    CHECK(record + record_words(*record) == r.pos);
    const struct trace_request request = ictusi_tracer_icoll_request(&r, op, MPI_COMM_WORLD, args);
    CHECK(request.kind == REQUEST_COLL && request.peer == (int)op && request.comm == comm);
    CHECK(request.root == record_value(*record) && (uint32_t)record[1] == comm->id);
    CHECK(request.operands == record[1] >> 32);
    CHECK(request.sent == record[record_words(*record) - 2]);
    CHECK(request.received == record[record_words(*record) - 1]);
    return record;
}

static void expect(enum coll_op op, int remote, int rank, const struct coll_args *args,
                   uint64_t sent, uint64_t received)
{
    struct trace_comm comm = {.id = 5, .rank = rank, .size = RANKS, .remote = remote};
    const uint64_t *record = call_noted(op, &comm, args);
    const unsigned words = record_words(*record);
    if (record[words - 2] != sent || record[words - 1] != received) {
        (void)fprintf(stderr, "operation %d at rank %d: sent %llu, received %llu\n", (int)op, rank,
                      (unsigned long long)record[words - 2], (unsigned long long)record[words - 1]);
    }
    CHECK(record[words - 2] == sent && record[words - 1] == received);
}

static const int counts_out[] = {1, 2, 3};
static const int counts_in[] = {10, 20, 30};
static const MPI_Count large_in[] = {10, 20, 30};
static char buffers[2];

/* Five ints are sent and seven chars received; as arrays 1, 2, 3 and 10, 20, 30. */
static struct coll_args args_of(int root)
{
    return (struct coll_args){
        .sendbuf = buffers,
        .recvbuf = buffers + 1,
        .sendcount = 5,
        .recvcount = 7,
        .sendtype = MPI_INT,
        .recvtype = MPI_CHAR,
        .sendcounts = {counts_out, sizeof(int)},
        .recvcounts = {counts_in, sizeof(int)},
        .root = root,
    };
}

static void given(enum coll_op op, const struct coll_args *args, enum operands_type type,
                  enum operands_reduction reduction, enum operands_place place)
{
    struct trace_comm comm = {.id = 5, .rank = 0, .size = RANKS, .remote = -1};
    CHECK(call_noted(op, &comm, args)[1] >> 32 == operands_make(type, reduction, place));
}

/* A side that MPI ignores in this process says nothing; its datatype may not even be one. */
static void operands_are_recorded(void)
{
    struct coll_args args = args_of(0);
    given(COLL_BCAST, &args, OPERANDS_INT, 0, OPERANDS_APART);
    given(COLL_SCATTER, &args, OPERANDS_CHAR, 0, OPERANDS_APART);
    given(COLL_ALLTOALLV, &args, OPERANDS_INT, 0, OPERANDS_APART);
    given(COLL_BARRIER, &args, 0, 0, 0);
    args.recvbuf = MPI_IN_PLACE;
    given(COLL_SCATTERV, &args, OPERANDS_INT, 0, OPERANDS_IN_PLACE);
    args = args_of(0);
    args.sendbuf = MPI_IN_PLACE;
    given(COLL_GATHER, &args, OPERANDS_CHAR, 0, OPERANDS_IN_PLACE);
    args = (struct coll_args){.sendbuf = buffers, .sendtype = MPI_DOUBLE, .op = MPI_MAXLOC};
    args.recvtype = MPI_DATATYPE_NULL;
    given(COLL_ALLREDUCE, &args, OPERANDS_DOUBLE, OPERANDS_MAXLOC, OPERANDS_APART);
    args.sendbuf = MPI_IN_PLACE;
    args.op = MPI_OP_NULL;
    given(COLL_REDUCE, &args, OPERANDS_DOUBLE, 0, OPERANDS_IN_PLACE);
    args.root = MPI_ROOT;
    given(COLL_REDUCE, &args, 0, 0, OPERANDS_IN_PLACE);
    args.root = 0;
    args.sendtype = MPI_DATATYPE_NULL;
    given(COLL_ALLREDUCE, &args, 0, 0, OPERANDS_IN_PLACE);
}

/* The number is remembered until types are made or freed. */
static void types_are_looked_up_anew(void)
{
    struct recorder r = {.pos = window};
    CHECK(trace_type_number(&r, MPI_FLOAT) == OPERANDS_FLOAT && r.numbered == MPI_FLOAT);
    r.number = OPERANDS_BOOL;
    CHECK(trace_type_number(&r, MPI_FLOAT) == OPERANDS_BOOL);
    atomic_fetch_add(&ictusi_tracer.type_epoch, 1);
    CHECK(trace_type_number(&r, MPI_FLOAT) == OPERANDS_FLOAT);
    CHECK(trace_type_number(&r, MPI_DATATYPE_NULL) == OPERANDS_TYPE_UNKNOWN);
    CHECK(trace_type_number(&r, MPI_UNSIGNED_LONG_LONG) == OPERANDS_UINT64);
}

static void rooted_ones(void)
{
    const struct coll_args args = args_of(1);
    expect(COLL_BARRIER, -1, 0, &args, 0, 0);
    expect(COLL_BCAST, -1, 1, &args, 60, 20);
    expect(COLL_BCAST, -1, 0, &args, 0, 20);
    expect(COLL_GATHER, -1, 1, &args, 20, 21);
    expect(COLL_GATHER, -1, 2, &args, 20, 0);
    expect(COLL_GATHERV, -1, 1, &args, 20, 60);
    expect(COLL_GATHERV, -1, 0, &args, 20, 0);
    expect(COLL_SCATTER, -1, 1, &args, 60, 7);
    expect(COLL_SCATTER, -1, 0, &args, 0, 7);
    expect(COLL_SCATTERV, -1, 1, &args, 24, 7);
    expect(COLL_SCATTERV, -1, 2, &args, 0, 7);
    expect(COLL_REDUCE, -1, 1, &args, 20, 60);
    expect(COLL_REDUCE, -1, 0, &args, 20, 0);
    struct coll_args in_place = args;
    in_place.sendbuf = MPI_IN_PLACE;
    expect(COLL_GATHER, -1, 1, &in_place, 0, 21);
    expect(COLL_REDUCE, -1, 1, &in_place, 0, 60);
    in_place = args;
    in_place.recvbuf = MPI_IN_PLACE;
    expect(COLL_SCATTER, -1, 1, &in_place, 60, 0);
}

/*
 * Four processes in the other group: the root exchanges with all of them, and its own group does
 * not take part.
 */
static void rooted_between_groups(void)
{
    const struct coll_args root = args_of(MPI_ROOT);
    const struct coll_args beside = args_of(MPI_PROC_NULL);
    const struct coll_args away = args_of(2);
    enum { OTHERS = 4 };
    static const enum coll_op ops[] = {COLL_BCAST, COLL_GATHER, COLL_SCATTER, COLL_REDUCE};
    static const uint64_t sent[] = {80, 0, 80, 0};
    static const uint64_t got[] = {20, 28, 0, 80};
    static const uint64_t sent_away[] = {0, 20, 0, 20};
    static const uint64_t got_away[] = {20, 0, 7, 0};
    for (int i = 0; i < 4; i++) {
        expect(ops[i], OTHERS, 0, &root, sent[i], got[i]);
        expect(ops[i], OTHERS, 1, &beside, 0, 0);
        expect(ops[i], OTHERS, 2, &away, sent_away[i], got_away[i]);
    }
}

static void all_to_all(void)
{
    static const MPI_Datatype out[] = {MPI_INT, MPI_CHAR, MPI_INT};
    static const MPI_Datatype in[] = {MPI_CHAR, MPI_INT, MPI_CHAR};
    struct coll_args args = args_of(0);
    args.sendtypes = out;
    args.recvtypes = in;
    expect(COLL_ALLTOALL, -1, 0, &args, 60, 21);
    expect(COLL_ALLTOALLV, -1, 0, &args, 24, 60);
    expect(COLL_ALLTOALLW, -1, 0, &args, 4 + 2 + 12, 10 + 80 + 30);
    expect(COLL_ALLTOALL, 4, 0, &args, 80, 28);
    args.recvcounts = (struct counts){large_in, sizeof(MPI_Count)};
    expect(COLL_ALLTOALLV, -1, 0, &args, 24, 60);
    args.sendbuf = MPI_IN_PLACE;
    expect(COLL_ALLTOALL, -1, 0, &args, 21, 21);
    expect(COLL_ALLTOALLV, -1, 0, &args, 60, 60);
    expect(COLL_ALLTOALLW, -1, 0, &args, 120, 120);
}

static void to_all(void)
{
    struct coll_args args = args_of(0);
    expect(COLL_ALLGATHER, -1, 1, &args, 60, 21);
    expect(COLL_ALLGATHERV, -1, 1, &args, 60, 60);
    expect(COLL_ALLGATHER, 4, 1, &args, 80, 28);
    args.sendbuf = MPI_IN_PLACE;
    expect(COLL_ALLGATHER, -1, 1, &args, 21, 21);
    expect(COLL_ALLGATHERV, -1, 2, &args, 90, 60);
}

static void reductions(void)
{
    const struct coll_args args = args_of(0);
    expect(COLL_ALLREDUCE, -1, 1, &args, 20, 20);
    expect(COLL_SCAN, -1, 1, &args, 20, 20);
    expect(COLL_EXSCAN, -1, 0, &args, 20, 0);
    expect(COLL_EXSCAN, -1, 1, &args, 20, 20);
    expect(COLL_EXSCAN, -1, RANKS - 1, &args, 0, 20);
    expect(COLL_REDUCE_SCATTER, -1, 1, &args, 240, 80);
    expect(COLL_REDUCE_SCATTER_BLOCK, -1, 1, &args, 84, 28);
}

/* Negative counts are refused by MPI, and missing arguments are ignored. */
static void what_is_not_there(void)
{
    static const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_INT};
    static const int odd[] = {-1, 2, 0};
    struct coll_args args = args_of(0);
    args.sendcounts = (struct counts){odd, sizeof(int)};
    args.sendtypes = types;
    args.recvcounts = (struct counts){NULL, sizeof(int)};
    args.recvtypes = types;
    expect(COLL_ALLTOALLW, -1, 0, &args, 8, 0);
    args.sendtypes = NULL;
    expect(COLL_ALLTOALLW, -1, 0, &args, 0, 0);
    args.sendtype = MPI_DATATYPE_NULL;
    expect(COLL_ALLREDUCE, -1, 0, &args, 0, 0);
    expect(COLL_ALLTOALLV, -1, 0, &args, 0, 0);
}

/* One bit for each rank that data comes from, except this process. */
static void senders_are_told(void)
{
    enum { MANY = 130 };
    int counts[SENDERS_RANKS_MAX + 1] = {0};
    counts[0] = counts[63] = counts[64] = counts[129] = 1;
    counts[1] = -1;
    struct coll_args args = args_of(0);
    args.sendcounts = args.recvcounts = (struct counts){counts, sizeof(int)};
    struct trace_comm comm = {.id = 5, .rank = 64, .size = MANY, .remote = -1};
    (void)call_noted(COLL_ALLTOALLV, &comm, &args);
    CHECK(record_kind(window[0]) == RECORD_SENDERS && record_words(window[0]) == 4);
    CHECK(window[1] == (UINT64_C(1) << 63 | 1) && window[2] == 0 && window[3] == 2);
    comm.remote = 64; /* rank 64 of the other group is another process */
    (void)call_noted(COLL_ALLTOALLV, &comm, &args);
    CHECK(record_words(window[0]) == 2 && window[1] == (UINT64_C(1) << 63 | 1));
    comm.remote = -1;
    comm.size = SENDERS_RANKS_MAX;
    (void)call_noted(COLL_ALLTOALLV, &comm, &args);
    CHECK(record_kind(window[0]) == RECORD_SENDERS);
    comm.size = SENDERS_RANKS_MAX + 1;
    (void)call_noted(COLL_ALLTOALLV, &comm, &args);
    CHECK(record_kind(window[0]) == RECORD_COLL);
    comm.size = 2;
    (void)call_noted(COLL_ALLTOALL, &comm, &args);
    CHECK(record_kind(window[0]) == RECORD_COLL);
}

static void roots_are_told(void)
{
    struct trace_comm comm = {.id = 5, .rank = 1, .size = RANKS, .remote = -1};
    static const int given[] = {2, MPI_ROOT, MPI_PROC_NULL};
    static const uint32_t told[] = {2, ROOT_SELF, ROOT_THIS_GROUP};
    for (int i = 0; i < 3; i++) {
        const struct coll_args args = args_of(given[i]);
        struct recorder r = {.pos = window, .comm = MPI_COMM_WORLD, .comm_info = &comm};
        comm.remote = i == 0 ? -1 : 2;
        CHECK(ictusi_tracer_icoll_request(&r, COLL_BCAST, MPI_COMM_WORLD, &args).root == told[i]);
        CHECK(ictusi_tracer_icoll_request(&r, COLL_SCAN, MPI_COMM_WORLD, &args).root == ROOT_NONE);
        const uint64_t *record = call_noted(COLL_BCAST, &comm, &args);
        CHECK(record_value(*record) == told[i]);
    }
}

/* Processes of another job, or no communicator: nothing is recorded. */
static void foreign_ones_are_left_out(void)
{
    struct trace_comm comm = {.id = 5, .rank = 1, .size = RANKS, .remote = -1, .foreign = true};
    const struct coll_args args = args_of(0);
    for (int i = 0; i < 2; i++) {
        struct recorder r = {
            .pos = window, .comm = MPI_COMM_WORLD, .comm_info = i == 0 ? &comm : NULL};
        ictusi_tracer_note_coll(&r, COLL_ALLREDUCE, MPI_COMM_WORLD, &args);
        ictusi_tracer_note_topology(&r, MPI_COMM_WORLD, 1);
        CHECK(r.pos == window);
        CHECK(!ictusi_tracer_icoll_request(&r, COLL_ALLREDUCE, MPI_COMM_WORLD, &args).comm);
    }
    comm.foreign = false;
    struct recorder r = {.pos = window, .comm = MPI_COMM_WORLD, .comm_info = &comm};
    ictusi_tracer_note_topology(&r, MPI_COMM_WORLD, 1);
    CHECK(r.pos > window && record_small(window[0]) == COLL_CREATE_HANDLE);
    r.pos = window;
    /* Without dimensions: nobody needs to wait. */
    ictusi_tracer_note_topology(&r, MPI_COMM_WORLD, 0);
    CHECK(r.pos == window);
    comm.remote = 2;
    ictusi_tracer_note_topology(&r, MPI_COMM_WORLD, 1);
    CHECK(r.pos == window);
}

/*
 * Note a call under statistics. @return whether it was recognised as the previous one, and keep it
 */
static bool call_recognised(struct recorder *r, enum coll_op op, const struct coll_args *args)
{
    static struct tally_site found;
    r->counting = NULL;
    ictusi_tracer_note_coll(r, op, MPI_COMM_WORLD, args);
    const bool known = r->counting && r->counting->site;
    if (r->counting) {
        r->counting->site = &found;
    }
    return known;
}

/* Under statistics, a call equals the last one of its place if nothing relevant differs. */
static void calls_are_recognised(void)
{
    struct counted places[COUNTED_PLACES];
    struct trace_comm comm = {.id = 5, .rank = 1, .size = RANKS, .remote = -1};
    struct recorder r = {.pos = window,
                         .call = window,
                         .comm = MPI_COMM_WORLD,
                         .comm_info = &comm,
                         .after = AFTER_TALLY,
                         .counted = places};
    for (int i = 0; i < COUNTED_PLACES; i++) {
        places[i] = (struct counted){.place = COUNTED_NOWHERE};
    }
    memset(window, 0, sizeof(window));
    window[2] = 7;
    struct coll_args args = args_of(1);
    args.sendcounts.values = NULL;
    args.recvcounts.values = NULL;
    CHECK(!call_recognised(&r, COLL_BCAST, &args) && call_recognised(&r, COLL_BCAST, &args));
    CHECK(r.counting->sent == 60 && r.counting->received == 20 && r.counting->root == 1);
    CHECK(r.pos == window);
    args.root = 2;
    CHECK(!call_recognised(&r, COLL_BCAST, &args) && r.counting->sent == 0);
    CHECK(!call_recognised(&r, COLL_REDUCE, &args) && call_recognised(&r, COLL_REDUCE, &args));
    args.sendcount++;
    CHECK(!call_recognised(&r, COLL_REDUCE, &args) && r.counting->sent == 24);
    args.sendtype = MPI_CHAR;
    CHECK(!call_recognised(&r, COLL_REDUCE, &args) && r.counting->sent == 6);
    args.sendbuf = MPI_IN_PLACE;
    CHECK(!call_recognised(&r, COLL_REDUCE, &args) && r.counting->sent == 0);
    window[2] += COUNTED_PLACES; /* another place in the slot of this one */
    CHECK(!call_recognised(&r, COLL_REDUCE, &args) && call_recognised(&r, COLL_REDUCE, &args));
    r.type_epoch = ++ictusi_tracer.type_epoch;
    CHECK(!call_recognised(&r, COLL_REDUCE, &args));
    r.comm_epoch = ++ictusi_tracer.comm_epoch;
    CHECK(!call_recognised(&r, COLL_REDUCE, &args) && call_recognised(&r, COLL_REDUCE, &args));
    /* The values of arrays are not compared. */
    const struct coll_args vector = args_of(1);
    CHECK(!call_recognised(&r, COLL_ALLTOALLV, &vector));
    CHECK(!call_recognised(&r, COLL_ALLTOALLV, &vector));
    comm.foreign = true;
    CHECK(!call_recognised(&r, COLL_ALLTOALLV, &vector) && !r.counting);
    ictusi_tracer.type_epoch = 0;
    ictusi_tracer.comm_epoch = 0;
}

int main(void)
{
    calls_are_recognised();
    operands_are_recorded();
    types_are_looked_up_anew();
    rooted_ones();
    rooted_between_groups();
    all_to_all();
    to_all();
    reductions();
    what_is_not_there();
    senders_are_told();
    roots_are_told();
    foreign_ones_are_left_out();
    return check_result();
}
