/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a bench, for the layers that build on it. */
#ifndef ICTUS_BENCH_BENCH_H
#define ICTUS_BENCH_BENCH_H

#include "bench/call.h"
#include "bench/scheme.h"
#include "sync/clock.h"

struct ictus_bench {
    MPI_Comm comm;             /* private */
    struct ictus_clock *clock; /* of the communicator's harmonised starts */
    struct scheme *scheme;
    struct sample *samples; /* one batch */
};

#endif
