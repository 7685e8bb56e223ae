/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of collective operations. Bytes are counted as follows: what this process hands in
 * for others (and itself) is sent, what it gets is received; a root's part that stays in place
 * (MPI_IN_PLACE) is in neither. Arguments that MPI does not look at in this process are not
 * looked at here.
 */
#ifndef ICTUS_TRACER_COLLECTIVE_H
#define ICTUS_TRACER_COLLECTIVE_H

#include "tracer/counting.h"
#include "tracer/requests.h"

/* An array of counts, of whatever integer type. */
struct counts {
    const void *values;
    size_t width;
};

/* Arguments that MPI will refuse are looked at before it has: there may be no counts. */
int64_t ictusi_tracer_count_at(const struct counts *counts, int64_t i);

struct coll_args {
    const void *sendbuf, *recvbuf;
    int64_t sendcount, recvcount;
    MPI_Datatype sendtype, recvtype;
    struct counts sendcounts, recvcounts;
    const MPI_Datatype *sendtypes, *recvtypes;
    bool typed; /* there is a type for each count */
    int root;
};

void ictusi_tracer_note_coll(struct recorder *r, enum coll_op op, MPI_Comm comm,
                             const struct coll_args *args);

/*
 * A topology is made of a communicator by all of its processes. size: its dimensions or nodes,
 * where the call says; with none of them MPICH's processes, and of a graph Open MPI's, wait for
 * nobody.
 */
void ictusi_tracer_note_topology(struct recorder *r, MPI_Comm parent, int size);

/* What is to be remembered of a nonblocking or persistent one. */
struct trace_request ictusi_tracer_icoll_request(struct recorder *r, enum coll_op op, MPI_Comm comm,
                                                 const struct coll_args *args);

/* Every process has left a collective of MPI_COMM_WORLD: the place to synchronise again. */
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
