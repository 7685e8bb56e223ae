/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics: the names and units of their members, which metric events refer to. */
#ifndef ICTUS_ARCHIVE_METRIC_NAMES_H
#define ICTUS_ARCHIVE_METRIC_NAMES_H

#include "archive/trace.h"

/* Register callbacks with a reader of global definitions that fill trace->metrics. */
void ictusi_metric_names_register(OTF2_GlobalDefReaderCallbacks *set);

void ictusi_metric_names_fini(struct trace_metrics *metrics);

/*
 * The row in trace->metrics.members of a metric's i-th member. A metric is a class or an instance
 * of one. LAYOUT_NONE: it is not defined.
 */
uint32_t ictusi_metric_member(const struct trace *trace, uint32_t metric, uint32_t i);

/* Convert a value to the metric's unit. */
double ictusi_metric_value(const struct trace *trace, uint32_t member, OTF2_Type type,
                           OTF2_MetricValue value);

#endif
