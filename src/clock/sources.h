/* SPDX-License-Identifier: BSD-3-Clause */
/* The operation tables of all sources. Each is defined in a file of its own. */
#ifndef ICTUS_CLOCK_SOURCES_H
#define ICTUS_CLOCK_SOURCES_H

#include "clock/source.h"

extern const struct source_ops ictusi_source_monotonic;
extern const struct source_ops ictusi_source_monotonic_raw;
extern const struct source_ops ictusi_source_realtime;
extern const struct source_ops ictusi_source_phc;
extern const struct source_ops ictusi_source_tsc;
extern const struct source_ops ictusi_source_lock;
extern const struct source_ops ictusi_source_wtime;
extern const struct source_ops ictusi_source_sim;
#if defined(ICTUS_SIMGRID)
extern const struct source_ops ictusi_source_simgrid;
#endif

#endif
