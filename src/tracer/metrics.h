/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that are sampled in addition to calls: software counters from the kernel's accounting of
 * the thread and from perf events, and hardware counters if the machine has them.
 */
#ifndef ICTUS_TRACER_METRICS_H
#define ICTUS_TRACER_METRICS_H

#include "tracer/metric_choice.h"
#include "tracer/recorder.h"

/* Open a thread's counters, in place of those of the recorder's previous thread. */
void ictusi_tracer_metrics_join(struct recorder *r);

/* Close the counters. */
void ictusi_tracer_metrics_leave(struct recorder *r);

/* Take a sample if one is due. */
void ictusi_tracer_metrics_sample(struct recorder *r);

#endif
