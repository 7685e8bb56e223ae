/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mesh: computes one line for each process from the offsets of pairs, which are measured in
 * sweeps over a graph. Pure: it is what the root of a synchronisation stores and computes.
 * docs/mesh.md derives the method.
 *
 * Use: create it; in each synchronisation add one or more sweeps, and then solve; repeat. Sweeps
 * that are added between two solves and list the same pairs in the same order form a group. Within
 * a group the asymmetries of paths cancel in the drifts.
 */
#ifndef ICTUS_CORE_MESH_H
#define ICTUS_CORE_MESH_H

#include "core/line.h"

#include <stddef.h>
#include <stdint.h>

/* The offset of one pair in one sweep, as its client measured it. */
struct mesh_edge {
    int32_t client, server;
    int64_t at;           /* ns on the client's clock */
    int64_t offset;       /* server minus client, ns, whole part */
    double frac;          /* ns, fraction */
    double half_width_ns; /* of the hard interval from the exchanges */
    double sigma_ns;      /* the estimator's own estimate of its error; 0: none */
    double rtt_ns;        /* the shortest round trip; 0: unknown */
    double path_ns;       /* systematic error of a comparison by a counter; 0: it was by messages */
};

struct mesh;

/* The quality of a solution. */
struct mesh_quality {
    double noise_ns;       /* standard deviation of a pair's offset, new in each sweep */
    double asymmetry_ns;   /* likewise, what is constant for the pair */
    double walk;           /* of a clock relative to the root's, ns per s per root of a s */
    double sigma_max_ns;   /* largest standard deviation of a line's offset now */
    double horizon_max_ns; /* largest one at horizon_s from now */
    int suspect;           /* a process whose clock contradicts itself, or -1 */
    int iterations;        /* of times and drifts, in the last solve */
};

/*
 * Create a mesh of size >= 1 processes. Process 0 is the reference. walk is the prior of the random
 * walk of one clock's drift, dimensionless per square root of a second. It is used until three
 * sweeps show the actual one. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_create(int size, double walk, struct mesh **mesh);

/*
 * Tell on which nodes the processes are, if some are on the same one: between two nodes they use
 * one path, and share its asymmetry. Called once, before anything is solved. nodes has one element
 * for each process, is copied, and numbers nodes from 0 in the order of their first processes.
 * Errors: ICTUS_ERR_ARG (other numbers), ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_set_nodes(struct mesh *mesh, const int *nodes);

/* Release the mesh. NULL is allowed. */
void ictusi_mesh_free(struct mesh *mesh);

/* Forget all measurements so far. */
void ictusi_mesh_reset(struct mesh *mesh);

/* Add the edges of a sweep, which are copied. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_ARG (unknown
 * process). */
int ictusi_mesh_add(struct mesh *mesh, const struct mesh_edge *edges, size_t count);

/*
 * Solve with all sweeps since the last solve and the history of earlier ones. lines and errors have
 * one element for each process: the map from its local clock to the reference's, anchored at the
 * last exchange. They and quality are set only on success, except for quality->suspect, which is
 * also set on ICTUS_ERR_CLOCK. quality may be NULL. horizon_s is for its horizon_max_ns. Errors:
 * ICTUS_ERR_SAMPLES (no sweep, or a process that no edge reaches), ICTUS_ERR_CLOCK (a clock stepped
 * or its rate is impossible; the mesh forgets its history), ICTUS_ERR_NOMEM, ICTUS_ERR_CORRUPT.
 */
int ictusi_mesh_solve(struct mesh *mesh, struct line *lines, struct line_error *errors,
                      double horizon_s, struct mesh_quality *quality);

#endif
