/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of collective operations. Bytes are counted as follows. What this process hands in
 * for others and itself is sent, and what it gets is received. A root's part that stays in place
 * (MPI_IN_PLACE) counts as neither. Arguments that MPI ignores in this process are ignored here
 * too.
 */
#ifndef ICTUS_TRACER_COLLECTIVE_H
#define ICTUS_TRACER_COLLECTIVE_H

#include "tracer/counting.h"
#include "tracer/requests.h"

/* An array of counts of some integer type. */
struct counts {
    const void *values;
    size_t width;
};

/*
 * The count at an index. Also used before MPI rejects invalid arguments, so there may be no counts.
 */
int64_t ictusi_tracer_count_at(const struct counts *counts, int64_t i);

struct coll_args {
    const void *sendbuf, *recvbuf;
    int64_t sendcount, recvcount;
    MPI_Datatype sendtype, recvtype;
    struct counts sendcounts, recvcounts;
    const MPI_Datatype *sendtypes, *recvtypes;
    bool typed; /* one datatype per count */
    int root;
    MPI_Op op;
};

void ictusi_tracer_note_coll(struct recorder *r, enum coll_op op, MPI_Comm comm,
                             const struct coll_args *args);

/*
 * All processes of a communicator make a topology from it. size: its dimensions or nodes, if the
 * call states them. With none, MPICH's processes wait for nobody, and for a graph neither do Open
 * MPI's.
 */
void ictusi_tracer_note_topology(struct recorder *r, MPI_Comm parent, int size);

/* What has to be kept of a nonblocking or persistent collective. */
struct trace_request ictusi_tracer_icoll_request(struct recorder *r, enum coll_op op, MPI_Comm comm,
                                                 const struct coll_args *args);

/* Every process has left a collective of MPI_COMM_WORLD, where clocks may be synchronised again. */
void ictusi_sweep(struct recorder *r, enum coll_op op);

static inline void ictusi_tracer_note_coll_left(struct recorder *r, enum coll_op op, MPI_Comm comm)
{
    if (r->after & AFTER_TALLY) {
        ictusi_tracer_count_coll(r);
    }
    if (__builtin_expect(ictusi_tracer.sweeps, 0) && comm == MPI_COMM_WORLD) {
        ictusi_sweep(r, op);
    }
}

#endif
