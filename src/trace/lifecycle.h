/* SPDX-License-Identifier: BSD-3-Clause */
/* From MPI_Init to MPI_Finalize: beginning a trace and ending it. */
#ifndef ICTUS_TRACE_LIFECYCLE_H
#define ICTUS_TRACE_LIFECYCLE_H

#include <stdint.h>

/* When a call began, in what clocks could be read before there was a tracer. */
struct early_stamp {
    int64_t monotonic_ns;
    uint64_t counter;
};

struct early_stamp ictusi_trace_stamp(void);

/*
 * MPI_Init has returned: read the settings, make the directory, the clock and this thread's
 * recorder. Collective over MPI_COMM_WORLD. On failure says why and leaves the program untraced.
 */
void ictusi_trace_start(unsigned function, struct early_stamp entered, int provided);

/* MPI_Finalize was called: synchronise, stop, and write the archive. Collective. */
void ictusi_trace_finish(void);

/* The process goes down without MPI_Finalize; say how to recover. reason: "MPI_Abort", ... */
void ictusi_trace_lost(const char *reason);

/* One more synchronisation: its point goes to the log and to the trace. Collective. */
int ictusi_trace_sync(void);

#endif
