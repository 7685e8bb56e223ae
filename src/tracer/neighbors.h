/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighborhood collectives: a process exchanges data with the neighbors of its topology, and
 * depends on no other process. So each one is recorded as its messages, one for each edge that
 * carries data, with tags that no message of the program can have.
 */
#ifndef ICTUS_TRACER_NEIGHBORS_H
#define ICTUS_TRACER_NEIGHBORS_H

#include "tracer/collective.h"

struct edge {
    int32_t peer;
    int32_t index; /* among the counts and types of the call */
};

/* The edges of a process: first outgoing, then incoming; those to itself are left out. */
struct neighbors {
    int32_t out, in;
    struct edge edges[];
};

/* The bytes that a nonblocking or persistent call moves along each edge. */
struct exchange {
    const struct neighbors *neighbors;
    uint32_t tag;
    uint64_t bytes[];
};

/* The messages of a blocking call: sent when it is entered, received when it is left. */
void ictusi_tracer_note_neighbors_sent(struct recorder *r, MPI_Comm comm,
                                       const struct coll_args *args);
void ictusi_tracer_note_neighbors_received(struct recorder *r, MPI_Comm comm,
                                           const struct coll_args *args);

/* A nonblocking one begins; its request is known when the call is left. */
struct trace_request ictusi_tracer_note_ineighbor(struct recorder *r, MPI_Comm comm,
                                                  const struct coll_args *args);
void ictusi_tracer_track_ineighbor(struct recorder *r, MPI_Request handle,
                                   struct trace_request *made);

/* A persistent one was made. */
void ictusi_tracer_track_neighbor_init(struct recorder *r, MPI_Request handle, MPI_Comm comm,
                                       const struct coll_args *args);

#endif
