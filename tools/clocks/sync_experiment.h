/* SPDX-License-Identifier: BSD-3-Clause */
/* One experiment of ictus sync: synchronise once, then judge the clock after each wait. */
#ifndef ICTUS_TOOLS_SYNC_EXPERIMENT_H
#define ICTUS_TOOLS_SYNC_EXPERIMENT_H

#include "main/progress.h"

#include <ictus/error.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How every experiment of a run is made. */
struct judging {
    const double *waits; /* ascending, s */
    size_t wait_count;
    size_t exchanges; /* of a judgement by exchange */
    double sample;    /* share of the processes that is judged */
    uint64_t seed;    /* of the sample */
    bool raw;         /* keep every process's error */
    /* For waits, during which somebody may want to know: experiments done, and what is judged. */
    struct progress *progress;
    double done;
    const char *label;
};

/* What one synchronisation cost; the same on every rank of the communicator. */
struct sync_cost {
    double duration_s; /* of the slowest process */
    uint64_t exchanges;
    uint64_t messages;
    bool truth; /* the errors are exact */
};

/* What the clock was like after one wait; on rank 0. */
struct sync_quality {
    double wait_s;
    double max_error_ns;
    double rms_error_ns;
    double max_sigma_ns;
    double max_path_ns;   /* the systematic part of sigma */
    double max_unseen_ns; /* what sigma leaves out because nothing shows it */
    double max_bound_ns;
    double half_width_ns; /* how far the judgement may be off */
    double covered;       /* share of errors inside the 95 % interval */
    int checked;          /* processes judged, rank 0 aside */
    double *errors_ns;    /* raw, over ranks, NaN where not judged; else NULL */
};

/*
 * Collective over comm. spec is "SYNC@SOURCE"; qualities has room for every wait, *judged tells how
 * many were made: fewer when the run was interrupted.
 */
int sync_experiment_run(MPI_Comm comm, const char *spec, const struct judging *how,
                        struct sync_cost *cost, struct sync_quality *qualities, size_t *judged,
                        struct ictus_why *why);

/* splitmix64: one stream of 64-bit numbers that all ranks draw alike. */
uint64_t sync_random(uint64_t *state);

#endif
