/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters sampled beside the calls: software ones from the kernel's accounting of the thread and
 * from perf events, hardware ones where the machine has them.
 */
#ifndef ICTUS_TRACER_METRICS_H
#define ICTUS_TRACER_METRICS_H

#include "tracer/metric_choice.h"
#include "tracer/recorder.h"

/* Open a thread's counters, instead of those of the thread that had this recorder before. */
void ictusi_tracer_metrics_join(struct recorder *r);

/* Close them. */
void ictusi_tracer_metrics_leave(struct recorder *r);

/* Take a sample if it is time for one. */
void ictusi_tracer_metrics_sample(struct recorder *r);

#endif
