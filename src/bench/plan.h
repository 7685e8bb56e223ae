/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks up what a plan names, and checks whether an operation can do what the plan asks for. */
#ifndef ICTUS_BENCH_PLAN_H
#define ICTUS_BENCH_PLAN_H

#include "bench/datatype.h"
#include "bench/operation.h"

/*
 * The datatype and the reduction of a plan. Errors: ICTUS_ERR_UNKNOWN, with the most similar name
 * as the reason.
 */
int ictusi_plan_types(const struct ictus_bench_plan *plan, struct datatype *type,
                      struct reduction *reduction, struct ictus_why *why);

/* A kind of window by name; NULL means the default. Errors: ICTUS_ERR_UNKNOWN. */
int ictusi_plan_window(const char *name, enum window_kind *kind, struct ictus_why *why);

/*
 * Whether the operation can do what the plan asks for (in place, with a rotating root, with this
 * datatype and MPI_Op), on any number of processes. Errors: ICTUS_ERR_ARG or ICTUS_ERR_UNKNOWN,
 * with a reason. Local.
 */
int ictusi_plan_possible(const struct operation *operation, const struct ictus_bench_plan *plan,
                         struct ictus_why *why);

/*
 * The same on this number of processes. Also returns ICTUS_ERR_UNSUPPORTED for what this MPI
 * library hangs or crashes in.
 */
int ictusi_plan_fits(const struct operation *operation, const struct ictus_bench_plan *plan,
                     int size, struct ictus_why *why);

#endif
