/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as statistics know them. A place in a program nearly always makes the same call again
 * and again: what it moves and where it is counted is found once, and then recognised by its
 * arguments.
 */
#ifndef ICTUS_TRACER_COUNTING_H
#define ICTUS_TRACER_COUNTING_H

#include "tracer/comms.h"

/* Places of a thread that are remembered: a power of two. */
enum { COUNTED_PLACES = 64 };

/* No place has this number: of a call that must not be recognised. */
#define COUNTED_NOWHERE UINT64_MAX

/* A call, by what it was given. */
struct counted {
    uint64_t place;
    uint64_t what; /* tally_what(), and above it which buffers are MPI_IN_PLACE */
    MPI_Comm comm;
    MPI_Datatype sendtype, recvtype;
    int64_t sendcount, recvcount;
    uint64_t comm_epoch, type_epoch;
    int root_given;
    /* What follows from that. */
    uint32_t root;
    uint64_t sent, received;
    struct trace_comm *info;
    struct tally_site *site; /* NULL if it has not been looked up yet, or if there was no room */
};

/* Of a call that has begun. */
static inline struct counted *counted_place(struct recorder *r)
{
    return &r->counted[r->call[2] % COUNTED_PLACES];
}

/* Count the call that r->counting is, which the thread has just left. NULL: none. */
void ictusi_tracer_count_coll(struct recorder *r);

#endif
