/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives for statistics. A place in a program nearly always makes the same call again. What it
 * moves and where it is counted is determined once, and later calls are recognised by their
 * arguments.
 */
#ifndef ICTUS_TRACER_COUNTING_H
#define ICTUS_TRACER_COUNTING_H

#include "tracer/comms.h"

/* The number of places that a thread remembers; a power of two. */
enum { COUNTED_PLACES = 64 };

/* A place number for calls that must not be recognised. */
#define COUNTED_NOWHERE UINT64_MAX

/* A call, identified by its arguments. */
struct counted {
    uint64_t place;
    uint64_t what; /* tally_what(), plus bits for the buffers that are MPI_IN_PLACE */
    MPI_Comm comm;
    MPI_Datatype sendtype, recvtype;
    int64_t sendcount, recvcount;
    MPI_Op op;
    uint64_t comm_epoch, type_epoch;
    int root_given;
    /* What follows from the arguments. */
    uint32_t root, operands;
    uint64_t sent, received;
    struct trace_comm *info;
    struct tally_site *site; /* NULL if it has not been looked up yet, or if there was no room */
};

/* The entry for the call that has begun. */
static inline struct counted *counted_place(struct recorder *r)
{
    return &r->counted[r->call[2] % COUNTED_PLACES];
}

/* Count the call in r->counting, which the thread has just left. NULL: there is none. */
void ictusi_tracer_count_coll(struct recorder *r);

#endif
