/* SPDX-License-Identifier: BSD-3-Clause */
/* What the mesh's parts share: mesh.c keeps the history, mesh_group.c solves one group
 * of sweeps, mesh_steps.c looks for clocks that stepped. */
#ifndef ICTUS_CORE_MESH_STATE_H
#define ICTUS_CORE_MESH_STATE_H

#include "core/laplacian.h"
#include "core/mesh.h"
#include "core/track.h"

#include <stdbool.h>

/* The edges of one sweep that is not solved yet, and its solution. */
struct mesh_sweep {
    struct mesh_edge *edges;
    struct graph_edge *graph; /* the same edges, small numbers: y is x[server] - x[client] */
    double *t;                /* s: when each edge was measured, on the reference's clock */
    double *residual;         /* ns */
    double *x;                /* ns: offset of each process at t_mean, less its base */
    size_t count;
    double t_mean, t_last;
    double noise; /* ns^2: of an average edge in this sweep */
};

struct mesh {
    int size;
    double prior_walk; /* pairwise: ns per s per square root of a second */
    struct laplacian laplacian;
    bool based;       /* base and origin are known */
    int64_t origin;   /* ns on the reference's clock: t = 0 */
    int64_t *base;    /* ns: reference minus local clock at about the origin */
    double *drift;    /* ns per s, the current estimate */
    double *value;    /* ns: offset less base at now */
    double now;       /* s */
    double *relative; /* variance of a process's offset by biases, over that of a usual process */
    double *noisy;    /* likewise by noise, by what the process's own edges show */
    double bias_gain; /* variance of a usual offset by biases over that of an average edge: 2 / size
                         where all pairs met */
    double noise_gain; /* likewise by noise */
    double *g;         /* ns^2: a process's part of its pairs' noise, Student's scale */
    double rtt_ns;     /* the shortest round trip so far */
    bool calibrated;   /* so is every pair so far */
    double *bound;     /* hard bound now, ns; INFINITY before the first solve */
    double *low;       /* ns: what is proven of an offset less base, at known_s */
    double *high;
    double known_s;
    /* history */
    int sweeps;
    int groups; /* solves so far */
    struct track_sweep sweep[TRACK_MAX];
    double *x; /* TRACK_MAX rows of size values */
    /* not solved yet */
    struct mesh_sweep *pending;
    int pending_count;
};

/* Offset of a process, less its base, at time t (s). */
static inline double ictusi_mesh_at(const struct mesh *mesh, int process, double t)
{
    return mesh->value[process] + mesh->drift[process] * (t - mesh->now);
}

/* x[server] - x[client], as measured. */
static inline double ictusi_mesh_difference(const struct mesh *mesh, const struct mesh_edge *e)
{
    const int64_t whole = e->offset + mesh->base[e->server] - mesh->base[e->client];
    return -((double)whole + e->frac);
}

/* What the edges of a group of sweeps err by, per pair, in ns^2. */
struct mesh_spread {
    double noise;   /* new in every sweep */
    double bias;    /* what a pair keeps: its path's asymmetry */
    double freedom; /* degrees of freedom of one sweep; 0: taken from the edges' own opinion */
    int sweeps;     /* over the same pairs */
    double noise_freedom; /* degrees of freedom that noise and bias are known by, priors among */
    double bias_freedom;  /* them; 0: not by residuals */
};

/*
 * Solve the pending sweeps for offsets at their mean times, with the drifts as known: times, small
 * numbers, then least squares with Huber's weights. Sweeps over the same pairs share weights, so
 * that a pair's bias moves all their offsets alike. Sets each sweep's noise. Errors:
 * ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_group_solve(struct mesh *mesh, struct mesh_spread *spread);

/*
 * Noise belongs to processes: a pair's is the sum of its two ends', each found from the residuals
 * of all its pairs in count sweeps, solved, over the same ones. noise is where the search begins;
 * g has one element a process, in ns^2 of Student's scale. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_components(const struct mesh_sweep *sweeps, int count, int size, double noise,
                           double *g);

/*
 * How the offsets of the pending sweeps, solved, err: mesh->relative and mesh->noisy, and what an
 * edge's error makes of a usual offset's. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_CORRUPT.
 */
int ictusi_mesh_errors(struct mesh *mesh, const struct mesh_spread *spread);

/* Residual of a pair in the k-th pending sweep, in the direction of the first one. */
double ictusi_mesh_residual(const struct mesh_sweep *sweeps, int k, size_t e);

/* Whether all pending sweeps list the same pairs in the same order, whoever asks. */
bool ictusi_mesh_same_pairs(const struct mesh *mesh);

/*
 * Whether the pending sweeps, solved, and what is known from before prove that a clock stepped:
 * suspect is the process whose clock it most likely was, or -1. Keeps what the sweeps prove for the
 * next call, and confines offsets and drifts to it. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_stepped(struct mesh *mesh, int *suspect);

#endif
