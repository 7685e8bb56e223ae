/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan names, looked up: the rest of it is in bench/call.h. */
#ifndef ICTUS_BENCH_FIT_H
#define ICTUS_BENCH_FIT_H

#include "bench/datatype.h"
#include "bench/operation.h"

/* The datatype and the reduction of a plan. Errors: ICTUS_ERR_UNKNOWN with the nearest. */
int ictusi_fit_types(const struct ictus_bench_plan *plan, struct datatype *type,
                     struct reduction *reduction, struct ictus_why *why);

/* A kind of windows by name; NULL is the default. Errors: ICTUS_ERR_UNKNOWN. */
int ictusi_fit_window(const char *name, enum window_kind *kind, struct ictus_why *why);

#endif
