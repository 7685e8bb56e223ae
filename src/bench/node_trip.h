/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a word takes to all processes of a node and back, through shared memory alone. The MPI
 * library has no part in it. If it changes from one launch to the next, so did the host: it placed
 * the processes on other cores, or its clock frequency changed.
 */
#ifndef ICTUS_BENCH_NODE_TRIP_H
#define ICTUS_BENCH_NODE_TRIP_H

#include <mpi.h>
#include <stdbool.h>

struct node_trip;

/*
 * Prepare trips on the nodes of a communicator. crowded: more processes than cores run on this
 * node, so that trips would measure context switches. *trip is NULL on all processes if any node is
 * crowded, or if no process can share memory with another. Collective. Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_MPI.
 */
int ictusi_node_trip_create(MPI_Comm comm, bool crowded, struct node_trip **trip);

/*
 * The median of some trips, in seconds, on the first process of each node; 0 on the others, on
 * nodes of one process, after errors and for NULL. Collective over the node.
 */
double ictusi_node_trip_measure(struct node_trip *trip);

/* NULL is allowed. Collective over the node. */
void ictusi_node_trip_free(struct node_trip *trip);

#endif
