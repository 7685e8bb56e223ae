/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI operations that can be measured: tables, one row an operation. A row names its shape
 * (which blocks it sends and receives, and what must be in them afterwards) and how it is called;
 * buffers, counts, roots and checks follow from the shape.
 */
#ifndef ICTUS_BENCH_OPERATION_H
#define ICTUS_BENCH_OPERATION_H

#include "arrival/arrival.h"
#include "bench/data_layout.h"
#include "bench/topology.h"

#include <ictus/bench.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shape {
    SHAPE_BARRIER,
    SHAPE_BCAST,
    SHAPE_REDUCE,
    SHAPE_ALLREDUCE,
    SHAPE_GATHER,
    SHAPE_SCATTER,
    SHAPE_ALLGATHER,
    SHAPE_ALLTOALL,
    SHAPE_REDUCE_SCATTER,
    SHAPE_SCAN,
    SHAPE_EXSCAN,
    SHAPE_REDUCE_LOCAL,
    SHAPE_NEIGHBOR_ALLGATHER, /* the same block to all neighbours of a topology */
    SHAPE_NEIGHBOR_ALLTOALL,
    SHAPE_EXCHANGE,  /* the first of these, in messages */
    SHAPE_SHIFT,     /* every rank sends to its right and receives from its left */
    SHAPE_PING_PONG, /* ranks 0 and 1; the others look on */
    SHAPE_THREADS,   /* likewise, threads of these */
    SHAPE_PAIRS,   /* each process of the first half with one of the second; an odd one looks on */
    SHAPE_STREAM,  /* likewise, the first half sends a window of messages */
    SHAPE_STREAMS, /* likewise, both halves */
    SHAPE_PUT,     /* the first half writes into windows of the second */
    SHAPE_PUTS,    /* likewise, a window of messages */
    SHAPE_GET,     /* the first half reads from windows of the second */
    SHAPE_GETS,
    SHAPE_ACCUMULATE, /* the first half reduces into windows of the second */
    SHAPE_ACCUMULATES,
    SHAPE_GET_ACCUMULATE, /* likewise, and gets what was there */
    SHAPE_GET_ACCUMULATES,
    SHAPE_SWAP, /* likewise, but puts its element there where it finds what it compares with */
    SHAPE_SWAPS,
    SHAPE_FAN_IN, /* all others send to the root, which receives from any source */
    SHAPE_FAN_INS,
    SHAPE_FAN_OUT, /* the root sends to all others, which receive from any source */
    SHAPE_FAN_OUTS,
    SHAPE_USER, /* a plugin's */
    SHAPES
};

/* How many blocks a buffer holds. */
enum blocks {
    BLOCKS_NONE,
    BLOCKS_ONE,
    BLOCKS_SWAP,    /* what is put in place, and what is compared with */
    BLOCKS_SWAPS,   /* likewise, the latter for each of the messages */
    BLOCKS_SOURCES, /* one from each neighbour that sends to the process */
    BLOCKS_TARGETS, /* one for each that it sends to */
    BLOCKS_THREADS,
    BLOCKS_MESSAGES,
    BLOCKS_ALL,
    BLOCKS_ALL_MESSAGES
};

/* One-sided: which buffer of the second half the first half reads or writes. */
enum window_side { WINDOW_NONE, WINDOW_ON_SEND, WINDOW_ON_RECV };

struct shape_info {
    bool rooted, reduces, has_data;
    bool in_place; /* MPI_IN_PLACE is legal */
    enum blocks sends, receives;
    enum window_side window; /* what an MPI window exposes on the second half */
};

const struct shape_info *ictusi_operation_shape(enum shape shape);

/* Whether it is between the neighbours of a topology. */
bool ictusi_operation_shape_has_neighbors(enum shape shape);

/* MESSAGES: under way at once unless the plan says otherwise, as many as in OSU's bandwidth tests.
 */
enum {
    MESSAGES = 64,
    MESSAGES_MAX = 4096,
    THREADS_MAX = 64,
    PARTITIONS = 4,
    PARTITIONS_MAX = 4096,
    BUFFER_SETS_MAX = 64
};

/* How the memory of a window comes to be (MPI-3.1, section 11.2). */
enum window_kind { WINDOW_CREATE, WINDOW_ALLOCATE, WINDOW_SHARED, WINDOW_DYNAMIC };

/* A call made ready: what the row's function passes to MPI. */
struct call {
    const struct operation *operation;
    MPI_Comm comm; /* with the topology for neighbourhood collectives */
    int rank, size, root;
    void *send, *recv; /* of the set in turn; send or recv may be MPI_IN_PLACE */
    int64_t elements;  /* of one block */
    int count;         /* of type in a block: the same, but for a derived type, and for a row of
                          large counts, which does not look at it */
    MPI_Datatype type;
    MPI_Op op;
    int *counts, *displs, *byte_displs; /* for v- and w-variants: size entries (at least two) */
    MPI_Aint *aint_displs;
    MPI_Datatype *types;
    size_t element;             /* bytes of one of the plan's type */
    struct data_layout layout;  /* of a block; extent is the distance of one to the next */
    struct topology topology;   /* of neighbourhood operations */
    void *scratch;              /* of a mock-up; as large as its row asks, and padding */
    int *shares, *share_displs; /* a block cut into size parts, the first ones larger by one */
    MPI_Request request;
    MPI_Request request_twin; /* a second one that completes with it; else MPI_REQUEST_NULL */
    int messages;             /* of a stream, under way at once */
    int partitions;           /* of a partitioned message */
    int threads;              /* of this process that call MPI at once */
    struct crew *crew;        /* those beside the main one */
    MPI_Request *requests;    /* of a stream, as many as ictusi_operation_request_count() says */
    MPI_Status *statuses;     /* likewise */
    int request_count;        /* of those, made by prepare() */
    /* One-sided. */
    enum window_kind window_kind;
    MPI_Win win;
    MPI_Aint target; /* where the partner's window begins */
    MPI_Group peers; /* the partner alone */
    /* What the plan asks beyond the call itself. */
    void *sends[BUFFER_SETS_MAX], *recvs[BUFFER_SETS_MAX];
    int sets, set;
    bool in_place, rotate_root, owns_comm, owns_op, owns_type;
    void *flush; /* written before each call to leave the caches cold; NULL: not */
    size_t flush_bytes;
    struct arrival arrival;
    int64_t turn;                         /* calls so far */
    struct arrival_turn next;             /* when the process comes to the next one */
    unsigned char *work;                  /* what it computes on before; NULL: it does not */
    size_t work_at;                       /* where it goes on */
    int64_t tolerance_ns;                 /* an arrival later than this is late */
    uint64_t bytes;                       /* of a block */
    void *plugin;                         /* state of a user's operation */
    bool prepared;                        /* request or plugin must be released */
    int mpi_error;                        /* of the last call that the harness made */
    const struct ictus_bench_plan *every; /* verify each repetition by this plan; NULL: none */
    int wrong;                            /* repetitions that left a wrong result ... */
    struct ictus_why wrong_why;           /* ... and what was wrong with the first */
};

/* A composition of other operations that does what one of them does. */
struct mockup {
    const char *of;      /* the operation it stands for */
    enum blocks scratch; /* what it needs beside that one's buffers */
    int pieces;          /* the operation itself on so many pieces; else 0 */
};

struct operation {
    const char *name;
    const char *summary;
    enum shape shape;
    int (*run)(struct call *call);     /* the whole operation */
    int (*start)(struct call *call);   /* nonblocking: begin, leaving call->request; NULL if not */
    int (*prepare)(struct call *call); /* make once what all repetitions use: a persistent request,
                                          a window; NULL if there is no such thing */
    int (*release)(struct call *call); /* undo that; NULL: it is call->request alone */
    int (*settle)(struct call *call);  /* after each repetition, untimed: stay inside MPI until the
                                          partner, whom this process may have to help, is through */
    bool is_single;                    /* works on one element, no more and no fewer */
    bool is_placed;                    /* has int displacements, which end at INT_MAX */
    bool once;                         /* what happened before: the plan tells when; run is NULL */
    bool is_partitioned;               /* its message is handed over in partitions */
    const char *absent;                /* what this MPI library lacks for it, else NULL */
    const void *user;                  /* of a plugin's operation */
    const struct mockup *mockup;       /* NULL if it is none */
};

/* The tables, each ended by a row without a name. */
extern const struct operation ictusi_blocking[];
extern const struct operation ictusi_nonblocking[];
extern const struct operation ictusi_persistent[];
extern const struct operation ictusi_point_to_point[];
extern const struct operation ictusi_persistent_p2p[];
extern const struct operation ictusi_one_sided[];
extern const struct operation ictusi_threaded[];
extern const struct operation ictusi_launching[];
extern const struct operation ictusi_mockups[];

/* How many blocks a buffer of the call holds. */
int64_t ictusi_operation_block_count(const struct call *call, enum blocks blocks);

/* The most requests that are under way at once. */
size_t ictusi_operation_request_count(const struct call *call);

/* The other one of a process's pair, or MPI_PROC_NULL. */
int ictusi_operation_partner(const struct call *call);

/* Row number i of the tables, or NULL after the last. */
const struct operation *ictusi_operation_row(int i);

/* The row that does the same with more elements than an int counts (MPI-4), or NULL. */
const struct operation *ictusi_operation_large(const struct operation *operation);

/* Complete what start() began. */
int ictusi_operation_wait(struct call *call);

/* What must be done after run(), outside of the timed region. */
static inline int ictusi_settle(struct call *call)
{
    return call->operation->settle ? call->operation->settle(call) : MPI_SUCCESS;
}

#endif
