/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI operations that can be measured, as tables with one row for each operation. A row names
 * the shape (which blocks are sent and received, and what the result must be) and the function to
 * call. Buffers, counts, roots and checks follow from the shape.
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
    SHAPE_EXCHANGE,  /* SHAPE_NEIGHBOR_ALLGATHER done by messages */
    SHAPE_SHIFT,     /* every rank sends to its right neighbour and receives from its left one */
    SHAPE_PING_PONG, /* ranks 0 and 1; the others take no part */
    SHAPE_THREADS,   /* the same by several threads of these two */
    /* rank i of the first half with rank i of the second; an odd rank out takes no part */
    SHAPE_PAIRS,
    SHAPE_STREAM,  /* the same pairs; the first half sends a window of messages */
    SHAPE_STREAMS, /* the same pairs; both halves send */
    SHAPE_PUT,     /* the first half writes into windows of the second */
    SHAPE_PUTS,    /* the same with a window of messages */
    SHAPE_GET,     /* the first half reads from windows of the second */
    SHAPE_GETS,
    SHAPE_ACCUMULATE, /* the first half reduces into windows of the second */
    SHAPE_ACCUMULATES,
    SHAPE_GET_ACCUMULATE, /* the same, and fetches the old value */
    SHAPE_GET_ACCUMULATES,
    SHAPE_SWAP, /* fetches the old value and replaces it if it equals the one to compare with */
    SHAPE_SWAPS,
    SHAPE_FAN_IN, /* all others send to the root, which uses MPI_ANY_SOURCE */
    SHAPE_FAN_INS,
    SHAPE_FAN_OUT, /* the root sends to all others, which use MPI_ANY_SOURCE */
    SHAPE_FAN_OUTS,
    SHAPE_USER, /* operation of a plugin */
    SHAPES
};

/* How many blocks a buffer holds. */
enum blocks {
    BLOCKS_NONE,
    BLOCKS_ONE,
    BLOCKS_SWAP,    /* the value to store and the value to compare with */
    BLOCKS_SWAPS,   /* the same, with one value to compare with for each message */
    BLOCKS_SOURCES, /* one from each neighbour that sends to the process */
    BLOCKS_TARGETS, /* one for each neighbour that it sends to */
    BLOCKS_THREADS,
    BLOCKS_MESSAGES,
    BLOCKS_ALL,
    BLOCKS_ALL_MESSAGES
};

/* One-sided operations: which buffer of the second half the first half accesses. */
enum window_side { WINDOW_NONE, WINDOW_ON_SEND, WINDOW_ON_RECV };

struct shape_info {
    bool rooted, reduces, has_data;
    bool in_place; /* MPI_IN_PLACE is legal */
    enum blocks sends, receives;
    enum window_side window; /* the buffer that the window exposes on the second half */
};

const struct shape_info *ictusi_operation_shape(enum shape shape);

/* Whether the operation is between the neighbours of a topology. */
bool ictusi_operation_shape_has_neighbors(enum shape shape);

/*
 * MESSAGES is the number of messages in flight if the plan gives none, as in OSU's bandwidth tests.
 */
enum {
    MESSAGES = 64,
    MESSAGES_MAX = 4096,
    THREADS_MAX = 64,
    PARTITIONS = 4,
    PARTITIONS_MAX = 4096,
    BUFFER_SETS_MAX = 64
};

/* How the memory of a window is obtained (MPI-3.1, section 11.2). */
enum window_kind { WINDOW_CREATE, WINDOW_ALLOCATE, WINDOW_SHARED, WINDOW_DYNAMIC };

/* A prepared call: what the function of a table row passes to MPI. */
struct call {
    const struct operation *operation;
    MPI_Comm comm; /* carries the topology for neighbourhood collectives */
    int rank, size, root;
    void *send, *recv; /* from the current set; either may be MPI_IN_PLACE */
    int64_t elements;  /* of one block, in units of the plan's type */
    /*
     * units of `type` in a block: equal to elements, except for derived types and for rows with
     * large counts, which ignore it
     */
    int count;
    MPI_Datatype type;
    MPI_Op op;
    /* for v- and w-variants: one entry for each process, at least two */
    int *counts, *displs, *byte_displs;
    MPI_Aint *aint_displs;
    MPI_Datatype *types;
    size_t element;             /* bytes of one of the plan's type */
    struct data_layout layout;  /* of a block; its extent is the distance between blocks */
    struct topology topology;   /* of neighbourhood operations */
    void *scratch;              /* for mock-ups: the size that the row asks for, and padding */
    int *shares, *share_displs; /* the sizes and places of one part of a block for each process */
    MPI_Request request;
    MPI_Request request_twin; /* completed together with request; else MPI_REQUEST_NULL */
    int messages;             /* of a stream, in flight at once */
    int partitions;           /* of a partitioned message */
    int threads;              /* of this process that call MPI at once */
    struct crew *crew;        /* the threads other than the main one */
    MPI_Request *requests;    /* of a stream; see ictusi_operation_request_count() */
    MPI_Status *statuses;     /* likewise */
    int request_count;        /* number of requests that prepare() made */
    /* One-sided. */
    enum window_kind window_kind;
    MPI_Win win;
    MPI_Aint target; /* where the partner's window begins */
    MPI_Group peers; /* the partner only */
    /* Options of the plan that are not arguments of the call. */
    void *sends[BUFFER_SETS_MAX], *recvs[BUFFER_SETS_MAX];
    int sets, set;
    bool in_place, rotate_root, owns_comm, owns_op, owns_type;
    void *flush; /* written before each call to evict the caches; NULL: caches stay warm */
    size_t flush_bytes;
    struct arrival arrival;
    int64_t turn;             /* number of calls so far */
    struct arrival_turn next; /* when this process arrives at the next call */
    /* memory for the computation before an arrival; NULL: none */
    unsigned char *work;
    size_t work_at;       /* where the computation continues */
    int64_t tolerance_ns; /* an arrival with more delay than this is late */
    uint64_t bytes;       /* of a block */
    void *plugin;         /* state of a plugin's operation */
    /* a request, a window or a plugin's state must be released */
    bool prepared;
    int mpi_error; /* of the last call, or MPI_SUCCESS */
    /* the plan by which to verify each repetition; NULL: do not */
    const struct ictus_bench_plan *every;
    int wrong;                  /* repetitions with a wrong result ... */
    struct ictus_why wrong_why; /* ... and the first wrong element */
};

/* A composition of other operations that does the same as one of them. */
struct mockup {
    const char *of;      /* the operation that it stands for */
    enum blocks scratch; /* space that it needs in addition to that operation's buffers */
    int pieces;          /* number of pieces of the same operation; 0 for other mock-ups */
};

struct operation {
    const char *name;
    const char *summary;
    enum shape shape;
    int (*run)(struct call *call); /* the whole operation */
    /* nonblocking: start, and set call->request; NULL for blocking operations */
    int (*start)(struct call *call);
    /*
     * make what all repetitions use, such as a persistent request or a window; NULL if there is
     * nothing
     */
    int (*prepare)(struct call *call);
    int (*release)(struct call *call); /* release it; NULL: only call->request must be freed */
    /*
     * after each repetition, untimed: stay inside MPI until the partner is done, which may need
     * this process to make progress
     */
    int (*settle)(struct call *call);
    bool is_single; /* works on exactly one element */
    bool is_placed; /* has int displacements, which must not exceed INT_MAX */
    /* is over before the measurement: the plan gives its instants, and run is NULL */
    bool once;
    bool is_partitioned;         /* the message is sent in partitions */
    const char *absent;          /* what this MPI library lacks for it; NULL: nothing */
    const void *user;            /* the plugin's own description of the operation */
    const struct mockup *mockup; /* NULL if it is not a mock-up */
};

/* The tables. A row without a name ends each of them. */
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

/* The largest number of requests that are in flight at once. */
size_t ictusi_operation_request_count(const struct call *call);

/* The other process of the pair, or MPI_PROC_NULL. */
int ictusi_operation_partner(const struct call *call);

/* Row number i of the tables, or NULL after the last. */
const struct operation *ictusi_operation_row(int i);

/* The row that does the same with large counts (MPI-4), or NULL. */
const struct operation *ictusi_operation_large(const struct operation *operation);

/* Complete what start() started. */
int ictusi_operation_wait(struct call *call);

/* Do what the operation needs after run(), outside of the timed region. */
static inline int ictusi_settle(struct call *call)
{
    return call->operation->settle ? call->operation->settle(call) : MPI_SUCCESS;
}

#endif
