/* SPDX-License-Identifier: BSD-3-Clause */
/* All operations in one list: the rows of the tables, then those of the plugins. */
#ifndef ICTUS_BENCH_OPERATION_LIST_H
#define ICTUS_BENCH_OPERATION_LIST_H

#include "bench/operation.h"

/* Row i over all tables and plugins, or NULL after the last one. plugins may be NULL. */
const struct operation *ictusi_operation_at(const struct ictus_plugins *plugins, int i);

/* Returns NULL if there is no such operation; the reason is then the most similar name. */
const struct operation *ictusi_operation_find(const struct ictus_plugins *plugins, const char *name,
                                              struct ictus_why *why);

#endif
