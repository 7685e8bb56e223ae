/* SPDX-License-Identifier: BSD-3-Clause */
/* From MPI_Init to MPI_Finalize: beginning a trace and ending it. Without MPI_Init: sessions.h. */
#ifndef ICTUS_TRACER_LIFECYCLE_H
#define ICTUS_TRACER_LIFECYCLE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* When a call began, in what clocks could be read before there was a tracer. */
struct early_stamp {
    int64_t monotonic_ns;
    uint64_t counter;
};

struct early_stamp ictusi_tracer_stamp(void);

/* The call with which tracing begins, from the place in the program that SITE_FROM() told. */
struct begin_call {
    unsigned function;
    const void *from;
    struct early_stamp entered;
    MPI_Comm all;  /* a communicator of all processes */
    bool sessions; /* it was not MPI_Init */
};

/*
 * The call has returned: read the settings, make the directory, the clock and this thread's
 * recorder. Collective over all. On failure says why and leaves the program untraced.
 * @return whether tracing has begun now
 */
bool ictusi_tracer_start(const struct begin_call *call);

/*
 * MPI_Finalize was called: synchronise and stop recording. Collective.
 * @param from  the place in the program that SITE_FROM() told
 * @return whether there is a recording now, of which an archive may be made;
 * ictusi_tracer_release() follows then
 */
bool ictusi_tracer_finish(const void *from);

/* The last record of this process has been written: say so in its log. Local. */
void ictusi_tracer_end(void);

/* Let go of what the recording held: nothing of it is used any more. Collective. */
void ictusi_tracer_release(void);

/* The process goes down without MPI_Finalize; say how to recover. reason: "MPI_Abort", ... */
void ictusi_tracer_lost(const char *reason);

/* One more synchronisation: its point goes to the log and to the trace. Collective. */
int ictusi_tracer_sync(void);

#endif
