/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of operations that are one MPI call each. */
#ifndef ICTUS_BENCH_OP_CALL_H
#define ICTUS_BENCH_OP_CALL_H

#include "bench/operation.h"

/* Defines how NAME is called: the arguments of the MPI function in terms of the call c. */
#define CALL(name, function, ...)                                                                  \
    static int run_##name(struct call *c)                                                          \
    {                                                                                              \
        return function(__VA_ARGS__);                                                              \
    }

/* Its row. */
#define CALL_ROW(name, mpi_name, shape)                                                            \
    {                                                                                              \
#name, mpi_name, shape, run_##name, NULL, NULL, NULL, NULL                                 \
    }

#endif
