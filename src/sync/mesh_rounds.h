/* SPDX-License-Identifier: BSD-3-Clause */
/* The measuring half of the mesh: the plan, the sweeps, and the transfer of edges to the root. */
#ifndef ICTUS_SYNC_MESH_ROUNDS_H
#define ICTUS_SYNC_MESH_ROUNDS_H

#include "core/mesh_plan.h"
#include "core/pairing.h"
#include "exchange/exchange.h"
#include "sync/mesh_counter.h"
#include "sync/sync.h"

extern const char *const ictusi_rounds_pair_names[];
extern const char *const ictusi_rounds_calibrate_names[];

struct mesh_options {
    int64_t rounds, exchanges, sweeps, seed;
    double window_s, tolerance_s, horizon_s, limit_s;
    double walk;
    int pair, calibrate;
};

/* Kept from one synchronisation of a communicator to the next. */
struct mesh_rounds {
    const struct mesh_options *options;
    int rank, size;
    bool opened;
    bool planned;  /* the plan has been made */
    bool solved;   /* the root has a history */
    uint64_t runs; /* calls so far; each call uses a new seed */
    struct mesh_plan plan;
    struct mesh_counter counter; /* which processes share one */
    /* for the current call */
    struct exchange exchange;
    struct pairing pairing;
    int slots;                     /* largest number of edges of a process in a sweep */
    struct mesh_edge *edges;       /* of this process: `slots` for each sweep */
    size_t asked;                  /* rounds of a sweep in which this process is the client */
    struct stamp *stamps;          /* of all sweeps: exchanges for each of these rounds */
    int *peers;                    /* the server in each of these rounds */
    int *done;                     /* exchanges in each of these rounds, sweep by sweep */
    struct calibration_pair *seen; /* by a shared counter: room for CALIBRATION_MEETINGS in each of
                                      these rounds, likewise; NULL: none is shared */
    int *meetings;                 /* how many of these there were */
    /* at the root */
    struct mesh *mesh;
    struct line *lines;
    struct line_error *errors;
    int gather_err;
};

/* Create the state of a communicator on the first call. Collective. Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_MPI. */
int ictusi_rounds_open(struct mesh_rounds *s, const struct mesh_options *options,
                       struct sync_run *run);

void ictusi_rounds_close(struct mesh_rounds *s);

/* Draw the pairs of this call, plan the effort if this has not been done yet, and allocate
 * memory for the sweeps. Collective. */
int ictusi_rounds_begin(struct mesh_rounds *s, struct sync_run *run, uint64_t seed);

/* Measure sweep k of this call. */
int ictusi_rounds_sweep(struct mesh_rounds *s, int k);

/* Estimate the offsets of all bursts of `count` sweeps. A burst whose stamps cannot be used
 * leaves its slot empty, and the first such error is returned. */
int ictusi_rounds_estimate(struct mesh_rounds *s, int count);

/* Transfer the edges of the call's sweeps to rank 0's mesh and release the memory of the call. */
int ictusi_rounds_gather(struct mesh_rounds *s, struct sync_run *run, int count);

#endif
