/* SPDX-License-Identifier: BSD-3-Clause */
/* All operations in one list: the tables' rows and the plugins'. */
#ifndef ICTUS_BENCH_OPERATION_LIST_H
#define ICTUS_BENCH_OPERATION_LIST_H

#include "bench/operation.h"

/* Row number i over all tables and plugins, or NULL after the last. plugins may be NULL. */
const struct operation *ictusi_operation_at(const struct ictus_plugins *plugins, int i);

/* NULL if there is none; why gets the nearest. */
const struct operation *ictusi_operation_find(const struct ictus_plugins *plugins, const char *name,
                                              struct ictus_why *why);

#endif
