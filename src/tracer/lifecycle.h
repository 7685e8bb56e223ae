/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts and ends a trace, from MPI_Init to MPI_Finalize. For programs without MPI_Init see
 * sessions.h.
 */
#ifndef ICTUS_TRACER_LIFECYCLE_H
#define ICTUS_TRACER_LIFECYCLE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* When a call began, by the clocks that can be read before there is a tracer. */
struct early_stamp {
    int64_t monotonic_ns;
    uint64_t counter;
};

struct early_stamp ictusi_tracer_stamp(void);

/* The call with which tracing begins, made from the place in the program given by SITE_FROM(). */
struct begin_call {
    unsigned function;
    const void *from;
    struct early_stamp entered;
    MPI_Comm all;  /* a communicator of all processes */
    bool sessions; /* it was not MPI_Init */
};

/*
 * Call after the call has returned. Reads the settings, and makes the directory, the clock and this
 * thread's recorder. Collective over all. On failure it reports why, and the program runs untraced.
 * @return whether tracing has now begun
 */
bool ictusi_tracer_start(const struct begin_call *call);

/*
 * MPI_Finalize was called: synchronise and stop recording. Collective.
 * @param from  the place in the program given by SITE_FROM()
 * @return whether there is a recording now, of which an archive may be made;
 * ictusi_tracer_release() follows then
 */
bool ictusi_tracer_finish(const void *from);

/* The last record of this process has been written: note that in its log. Local. */
void ictusi_tracer_end(void);

/* Release what the recording used; none of it is needed any more. Collective. */
void ictusi_tracer_release(void);

/* The process ends without MPI_Finalize: tell the user how to recover. reason: "MPI_Abort", ... */
void ictusi_tracer_lost(const char *reason);

/* Synchronise once more, and add the point to the log and the trace. Collective. */
int ictusi_tracer_sync(void);

#endif
