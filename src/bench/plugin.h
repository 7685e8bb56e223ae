/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations from shared objects. */
#ifndef ICTUS_BENCH_PLUGIN_H
#define ICTUS_BENCH_PLUGIN_H

#include "bench/operation.h"

/* Row i of the plugins' operations, or NULL after the last one. */
const struct operation *ictusi_plugin_operation(const struct ictus_plugins *plugins, int i);

#endif
