/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes an OTF2 archive from raw files. The same steps serve one process that has all raw files (a
 * recovery) and many processes that have one each (at MPI_Finalize): open with collective
 * callbacks, write the events and local definitions of the process's own files, and in one process
 * write the global definitions.
 */
#ifndef ICTUS_TRACE_WRITE_ARCHIVE_H
#define ICTUS_TRACE_WRITE_ARCHIVE_H

#include "trace/rawlog.h"
#include "trace/unify.h"
#include "tracer/functions.h"

#include <ictus/trace.h>
#include <otf2/otf2.h>

enum { ARCHIVE_THREADS_MAX = 4096 };

/* The results of one process's files, as plain numbers that can be sent. */
struct process_result {
    uint64_t events, raw_bytes, clamped, lost, untracked;
    uint64_t first, last; /* in the archive; first > last: no events */
    double sigma_ns, bound_ns, jump_ns;
    int32_t threads;
    int32_t ended;
    char host[64];
};

struct trace_writing {
    const char *directory, *raw;
    bool local; /* timestamps stay on the local clocks */
    int64_t shift_ns;
    int counters;  /* counters per sample */
    int processes; /* of the job */
};

/* Open for writing; the caller then sets the callbacks. NULL on failure. */
OTF2_Archive *ictusi_trace_create(const struct trace_writing *options);

/*
 * Convert the event files of one process. events[t] becomes the number of events of thread t, for
 * the location definitions; it has room for ARCHIVE_THREADS_MAX.
 */
int ictusi_trace_write_events(OTF2_Archive *archive, const struct trace_writing *options,
                              const struct rawlog *log, const struct trace_map *map,
                              uint64_t *events, struct process_result *result,
                              struct ictus_why *why);

/* Write the local definitions of one process, which state the accuracy of its clock over time. */
int ictusi_trace_write_local(OTF2_Archive *archive, const struct trace_writing *options,
                             const struct rawlog *log, const struct process_result *result);

/* What the global definitions need from all processes. */
struct trace_world {
    const struct unified *unified;
    const struct rawlog *logs; /* text NULL: the log is missing */
    const struct process_result *results;
    const uint64_t *events; /* of all threads of all processes, process by process */
    int size;
};

/*
 * Check that the closed archive contains this number of events for a process's threads, and its
 * definitions if requested. Errors: ICTUS_ERR_IO, ICTUS_ERR_NOMEM.
 */
int ictusi_trace_check_written(const struct trace_writing *options, int rank,
                               const uint64_t *events, int threads, bool global,
                               struct ictus_why *why);

/* Write the global definitions. Called by one process after all events. */
int ictusi_trace_write_global(OTF2_Archive *archive, const struct trace_writing *options,
                              const struct trace_world *world, struct ictus_trace_summary *summary);

/* Add up the results of all processes. */
void ictusi_trace_summarise(const struct trace_world *world, struct ictus_trace_summary *summary);

/* The location of a thread. */
static inline OTF2_LocationRef trace_location(int rank, int thread)
{
    return (OTF2_LocationRef)thread << 32 | (OTF2_LocationRef)rank;
}

#endif
