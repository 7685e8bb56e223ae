/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of a bench, for the code that builds on it. */
#ifndef ICTUS_BENCH_BENCH_H
#define ICTUS_BENCH_BENCH_H

#include "bench/call.h"
#include "bench/node_trip.h"
#include "bench/scheme.h"
#include "sync/clock.h"

struct ictus_bench {
    MPI_Comm comm;             /* a duplicate, not shared with the caller */
    struct ictus_clock *clock; /* of the harmonised starts on this communicator */
    struct scheme *scheme;
    struct sample *samples;      /* room for one batch */
    struct node_trip *node_trip; /* may be NULL */
};

#endif
