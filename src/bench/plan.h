/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan names, looked up, and whether an operation can do what the plan asks of it. */
#ifndef ICTUS_BENCH_PLAN_H
#define ICTUS_BENCH_PLAN_H

#include "bench/datatype.h"
#include "bench/operation.h"

/* The datatype and the reduction of a plan. Errors: ICTUS_ERR_UNKNOWN with the nearest. */
int ictusi_plan_types(const struct ictus_bench_plan *plan, struct datatype *type,
                      struct reduction *reduction, struct ictus_why *why);

/* A kind of windows by name; NULL is the default. Errors: ICTUS_ERR_UNKNOWN. */
int ictusi_plan_window(const char *name, enum window_kind *kind, struct ictus_why *why);

/*
 * Whether the operation can do what the plan asks of it (in place, rotated, this datatype under
 * this MPI_Op), whatever the processes. ICTUS_ERR_ARG or ICTUS_ERR_UNKNOWN with the reason. Local.
 */
int ictusi_plan_possible(const struct operation *operation, const struct ictus_bench_plan *plan,
                         struct ictus_why *why);

/* The same on so many processes; also ICTUS_ERR_UNSUPPORTED for what this MPI library crashes in.
 */
int ictusi_plan_fits(const struct operation *operation, const struct ictus_bench_plan *plan,
                     int size, struct ictus_why *why);

#endif
