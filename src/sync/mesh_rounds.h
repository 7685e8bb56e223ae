/* SPDX-License-Identifier: BSD-3-Clause */
/* The mesh's measuring half: plan, sweeps, and bringing the edges to the root. */
#ifndef ICTUS_SYNC_MESH_ROUNDS_H
#define ICTUS_SYNC_MESH_ROUNDS_H

#include "clock/counter.h"
#include "core/mesh_plan.h"
#include "core/pairing.h"
#include "exchange/exchange.h"
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
    bool planned;  /* the plan is made */
    bool solved;   /* the root has a history */
    uint64_t runs; /* calls so far: a new seed each */
    struct mesh_plan plan;
    uint64_t *counters;          /* the name of each process's; NULL: no two have one in common */
    struct counter_pair counter; /* when it was opened: shows the rate later */
    /* of the call */
    struct exchange exchange;
    struct pairing pairing;
    int slots;               /* edges of one process and sweep, at most */
    struct mesh_edge *edges; /* of this process: slots for each sweep */
    size_t asked;            /* rounds of a sweep in which this process asks */
    struct stamp *stamps;    /* of all sweeps: exchanges for each round asked */
    int *peers;              /* the server of each of these rounds */
    int *done;               /* exchanges by its clock in each, of all sweeps as the stamps */
    /* at the root */
    struct mesh *mesh;
    struct line *lines;
    struct line_error *errors;
    int gather_err;
};

/* Make the state of a communicator, once. Collective. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_rounds_open(struct mesh_rounds *s, const struct mesh_options *options,
                       struct sync_run *run);

void ictusi_rounds_close(struct mesh_rounds *s);

/*
 * Draw the call's pairs, plan the effort if that was not done yet, and make room for the sweeps.
 * Collective.
 */
int ictusi_rounds_begin(struct mesh_rounds *s, struct sync_run *run, uint64_t seed);

/* Measure one sweep, the k-th of the call. */
int ictusi_rounds_sweep(struct mesh_rounds *s, int k);

/*
 * Estimate the offsets of all bursts of the call's count sweeps. A burst whose stamps cannot be
 * used leaves its slot empty; the first such error is returned.
 */
int ictusi_rounds_estimate(struct mesh_rounds *s, int count);

/* Bring the edges of the call's sweeps to rank 0's mesh, release what the call needed. */
int ictusi_rounds_gather(struct mesh_rounds *s, struct sync_run *run, int count);

#endif
