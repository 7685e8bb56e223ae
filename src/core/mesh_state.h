/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the mesh share: mesh.c keeps the history, mesh_group.c solves a group of
 * sweeps, and mesh_steps.c looks for clocks that stepped. */
#ifndef ICTUS_CORE_MESH_STATE_H
#define ICTUS_CORE_MESH_STATE_H

#include "core/laplacian.h"
#include "core/mesh.h"
#include "core/track.h"

#include <stdbool.h>

/* The edges of a sweep that has not been solved yet, and its solution. */
struct mesh_sweep {
    struct mesh_edge *edges;
    struct graph_edge *graph; /* the same edges as small numbers: y is x[server] - x[client] */
    double *t;                /* s: instant of each edge on the reference's clock */
    double *residual;         /* ns */
    double *x;                /* ns: offset of each process at t_mean, minus its base */
    size_t count;
    double t_mean, t_last;
    double noise; /* ns^2: of an average edge in this sweep */
};

struct mesh {
    int size;
    double prior_walk; /* pairwise: ns per s per square root of a second */
    struct laplacian laplacian;
    int *node;                /* of each process; NULL: no two processes share a path */
    int nodes;                /* if so, and ... */
    struct laplacian between; /* ... for graphs of them */
    bool based;               /* base and origin are known */
    int64_t origin;           /* ns on the reference's clock: t = 0 */
    int64_t *base;            /* ns: reference minus local clock at about the origin */
    double *drift;            /* ns per s, the current estimate */
    double *value;            /* ns: offset minus base at now */
    double now;               /* s */
    double *relative;         /* variance of an offset due to biases, relative to a usual process */
    double *noisy;            /* likewise due to noise, from the process's own edges */
    double bias_gain;   /* variance of a usual offset due to biases, relative to that of an average
                           edge: 2 / size if all pairs met */
    double noise_gain;  /* likewise by noise */
    double *g;          /* ns^2: a process's part of the noise of its pairs, Student's scale */
    double rtt_ns;      /* the shortest round trip so far */
    double path_rtt_ns; /* likewise between nodes, if some processes share one */
    bool calibrated;    /* every pair so far was compared by a counter */
    double *bound;      /* hard bound now, ns; INFINITY before the first solve */
    double *low;        /* ns: what is proven about an offset minus base, at known_s */
    double *high;
    double known_s;
    /* history */
    int sweeps;
    int groups; /* solves so far */
    struct track_sweep sweep[TRACK_MAX];
    double *x; /* TRACK_MAX rows of size values */
    /* not yet solved */
    struct mesh_sweep *pending;
    int pending_count;
};

/* Offset of a process minus its base at time t (s). */
static inline double ictusi_mesh_at(const struct mesh *mesh, int process, double t)
{
    return mesh->value[process] + mesh->drift[process] * (t - mesh->now);
}

/* Measured x[server] - x[client]. */
static inline double ictusi_mesh_difference(const struct mesh *mesh, const struct mesh_edge *e)
{
    const int64_t whole = e->offset + mesh->base[e->server] - mesh->base[e->client];
    return -((double)whole + e->frac);
}

/* Variance of the errors of a group of sweeps, for a pair, in ns^2. */
struct mesh_spread {
    double noise;   /* new in every sweep */
    double bias;    /* constant for a pair: the asymmetry of its path */
    double freedom; /* degrees of freedom of one sweep; 0: taken from the edges' own estimates */
    int sweeps;     /* over the same pairs */
    double noise_freedom; /* degrees of freedom that noise and bias are known by, priors among */
    double bias_freedom;  /* them; 0: not by residuals */
};

/*
 * Solve the pending sweeps for offsets at their mean times, with the known drifts: times, small
 * numbers, then least squares with Huber's weights. Sweeps over the same pairs share weights, so
 * that a pair's bias moves all their offsets alike. Sets the noise of each sweep. Errors:
 * ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_group_solve(struct mesh *mesh, struct mesh_spread *spread);

/*
 * Attribute the noise to processes. The noise of a pair is the sum of those of its two ends, each
 * estimated from the residuals of all its pairs in `count` solved sweeps over the same pairs. noise
 * is the initial value. g has one element per process, in ns^2 of Student's scale. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_components(const struct mesh_sweep *sweeps, int count, int size, double noise,
                           double *g);

/*
 * Compute how the offsets of the solved pending sweeps err: mesh->relative and mesh->noisy, and the
 * gain from the error of an edge to that of a usual offset. Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_CORRUPT.
 */
int ictusi_mesh_errors(struct mesh *mesh, const struct mesh_spread *spread);

/*
 * Return the variance of the asymmetries, in ns^2, of which loops show this much. Few loops show
 * little of it, however small it seems, so part of the usual one is added. freedom is that of the
 * loops on input, and on output how well the result is known.
 */
double ictusi_mesh_admit_bias(double seen, double usual, double *freedom);

/*
 * Add the asymmetries that processes of the same two nodes share to the biases of the solved
 * pending sweeps, after ictusi_mesh_errors(). mesh->node is set. Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_CORRUPT.
 */
int ictusi_mesh_share_paths(struct mesh *mesh, struct mesh_spread *spread);

/* The residual of a pair in pending sweep k, in the direction of the first sweep. */
double ictusi_mesh_residual(const struct mesh_sweep *sweeps, int k, size_t e);

/* Return whether all pending sweeps list the same pairs in the same order, whichever end is the
 * client. */
bool ictusi_mesh_same_pairs(const struct mesh *mesh);

/*
 * Find out whether the solved pending sweeps and earlier knowledge prove that a clock stepped.
 * *suspect is the process whose clock it most likely was, or -1. What the sweeps prove is kept for
 * the next call, and offsets and drifts are confined to it. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_stepped(struct mesh *mesh, int *suspect);

#endif
