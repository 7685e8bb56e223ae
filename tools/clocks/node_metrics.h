/* SPDX-License-Identifier: BSD-3-Clause */
/* What a checkup found, as metrics in Prometheus's text format. */
#ifndef ICTUS_TOOLS_NODE_METRICS_H
#define ICTUS_TOOLS_NODE_METRICS_H

#include <ictus/study.h>
#include <stddef.h>

/*
 * Write them to path, whole or not at all: a reader never sees half of a file. names holds
 * name_bytes for each node. Errors: ICTUS_ERR_IO, with the file's name and the reason.
 */
int node_metrics_write(const char *path, const struct ictus_checkup *found, const char *names,
                       size_t name_bytes, struct ictus_why *why);

#endif
