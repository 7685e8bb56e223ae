/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mesh: from offsets between pairs, measured in sweeps over a graph, to one line per process.
 * Pure: what the root of a synchronisation keeps and computes. docs/mesh.md derives the method.
 *
 * Use: create; per synchronisation add one or more sweeps, then solve; repeat. Sweeps that are
 * added between two solves and list the same pairs in the same order form a group, whose path
 * asymmetries cancel in the drifts.
 */
#ifndef ICTUS_CORE_MESH_H
#define ICTUS_CORE_MESH_H

#include "core/line.h"

#include <stddef.h>
#include <stdint.h>

/* One pair's offset in one sweep, as its client found it. */
struct mesh_edge {
    int32_t client, server;
    int64_t at;           /* ns on the client's clock */
    int64_t offset;       /* server minus client, ns, whole part */
    double frac;          /* ns, the rest */
    double half_width_ns; /* of the exchanges' hard interval */
    double sigma_ns;      /* the estimator's own opinion of its error; 0: none */
    double rtt_ns;        /* the shortest round trip; 0: unknown */
    double path_ns;       /* asymmetry usually left by a calibration; 0: not calibrated */
};

struct mesh;

/* What a solution is like. */
struct mesh_quality {
    double noise_ns;       /* standard deviation of a pair's offset, new in each sweep */
    double asymmetry_ns;   /* likewise, what stays with the pair */
    double walk;           /* of one clock against the root's, ns per s per square root of a s */
    double sigma_max_ns;   /* largest standard deviation of a line's offset now */
    double horizon_max_ns; /* largest one horizon_s from now */
    int suspect;           /* a process whose clock contradicts itself, or -1 */
    int iterations;        /* of time and drift, in the last solve */
};

/*
 * A mesh of size >= 1 processes; process 0 is the reference. walk is the prior of one clock's
 * drift: dimensionless per square root of a second, used until three sweeps show the truth. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_create(int size, double walk, struct mesh **mesh);

/* Release; NULL is legal. */
void ictusi_mesh_free(struct mesh *mesh);

/* Forget everything measured so far. */
void ictusi_mesh_reset(struct mesh *mesh);

/* Take a sweep's edges over, copied. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_ARG (a process unknown). */
int ictusi_mesh_add(struct mesh *mesh, const struct mesh_edge *edges, size_t count);

/*
 * Solve with all sweeps since the last solve and the history of earlier ones. lines and errors have
 * one element per process: the map from its local to the reference's clock, anchored now (the last
 * exchange). Both and quality are set only on success, quality->suspect also on ICTUS_ERR_CLOCK.
 * quality may be NULL; horizon_s is for its horizon_max_ns.
 * Errors: ICTUS_ERR_SAMPLES (no sweep, or a process that no edge reaches), ICTUS_ERR_CLOCK (a clock
 * stepped or runs impossibly fast; the mesh forgets its history), ICTUS_ERR_NOMEM,
 * ICTUS_ERR_CORRUPT.
 */
int ictusi_mesh_solve(struct mesh *mesh, struct line *lines, struct line_error *errors,
                      double horizon_s, struct mesh_quality *quality);

#endif
