/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a program can tell the tracer, and what can be done with a trace afterwards.
 *
 * The first half is in libictus, where it does nothing: a program that uses it runs unchanged
 * without a tracer, at the cost of a call. libictus-trace.so, which `ictus trace` preloads,
 * replaces it. The second half is in libictus-otf2.
 *
 * Threads: the functions of the first half may be called from any thread, also before MPI_Init and
 * after MPI_Finalize (definitions are kept, events outside are dropped). For the second half: one
 * call at a time in a process.
 */
#ifndef ICTUS_TRACE_H
#define ICTUS_TRACE_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

ICTUS_BEGIN

struct json_t; /* of jansson */

/**
 * Define a kind of event. Local. Every process may define its own; equal names are one kind.
 * @return a number for ictus_event(), or -1 if there are too many (65535)
 */
ICTUS_API int ictus_event_define(const char *name);

/**
 * Record that something happened now, with a value: a mark of 24 bytes on the common clock. Local.
 * It costs about as much as reading the clock.
 * @param event from ictus_event_define(); others are ignored
 * @param value any value, which is shown next to the event
 */
ICTUS_API void ictus_event(int event, uint64_t value);

/**
 * Define a region of the program. Local. @return a number for ictus_region_enter(), or -1: too many
 */
ICTUS_API int ictus_region_define(const char *name);

/** Enter a region. Regions nest. Local. */
ICTUS_API void ictus_region_enter(int region);

/** Leave a region in the thread that entered it, innermost first. Local. */
ICTUS_API void ictus_region_leave(int region);

/** Define a quantity and its unit ("residual", "1"). Local. @return a number, or -1: too many */
ICTUS_API int ictus_metric_define(const char *name, const char *unit);

/** Record the present value of a quantity. Local. */
ICTUS_API void ictus_metric(int metric, double value);

/** Switch recording on (1) or off (0) for the whole process, as MPI_Pcontrol() does. Local. */
ICTUS_API void ictus_trace_switch(int on);

/** @return 1 while a tracer records this process, else 0. Local. */
ICTUS_API int ictus_trace_is_on(void);

/* In libictus-otf2: */

/**
 * Check a list of functions and groups for `ictus trace --filter`: "p2p,coll,MPI_Comm_split" or
 * "-MPI_Iprobe,-type". Local; without MPI.
 * @param list     terminated; an empty one means everything; NULL is refused
 * @param[out] why names the word and the nearest known one on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC if it is too long, ICTUS_ERR_ARG
 */
ICTUS_API int ictus_trace_filter_check(const char *list, struct ictus_why *why);

/**
 * Check a list of counters for `ictus trace --metrics`: "page_faults,cycles". A counter that this
 * machine does not have passes; the tracer reports it and leaves it out. Local; without MPI.
 * @param list     terminated; an empty one means none; NULL is refused
 * @param[out] why names the word and the nearest known one on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC if there are too many or a name is empty,
 *         ICTUS_ERR_ARG
 */
ICTUS_API int ictus_trace_metrics_check(const char *list, struct ictus_why *why);

/** Options of a recovery or conversion. */
struct ictus_trace_recover_opts {
    size_t size;         /**< sizeof this structure */
    const char *output;  /**< directory of the archive; NULL: where the raw files are */
    const char *scratch; /**< directory of the raw files, if it is not the archive's */
    int local;           /**< 1: timestamps of the local clocks, as recorded */
    int force;           /**< 1: replace an existing archive */
    int keep;            /**< 1: keep the raw files */
};

/** Summary of what was written. */
struct ictus_trace_summary {
    uint64_t processes; /**< of the job */
    uint64_t missing;   /**< processes of which nothing was found */
    uint64_t cut;       /**< processes that did not reach MPI_Finalize */
    uint64_t locations; /**< threads that recorded something */
    uint64_t events;    /**< in the archive */
    uint64_t raw_bytes; /**< of the records that the events came from */
    uint64_t lost;      /**< calls that were not recorded for lack of room */
    uint64_t untracked; /**< requests that could not be followed */
    uint64_t clamped;   /**< events whose clock had run backwards */
    double sigma_ns;    /**< largest standard deviation of a timestamp's error */
    double bound_ns;    /**< largest bound of it */
    double length_s;    /**< from the first event to the last */
    double jump_ns;     /**< largest step of a clock between two synchronisations; 0: none */
};

/**
 * Make an archive from the raw files of a traced job. Local; serial, without MPI; blocking.
 * @param directory    as given to `ictus trace -o`
 * @param opts         NULL: the defaults, all zero
 * @param[out] summary set only on success; may be NULL
 * @param[out] why     the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_EXISTS, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_trace_recover(const char *directory,
                                  const struct ictus_trace_recover_opts *opts,
                                  struct ictus_trace_summary *summary, struct ictus_why *why);

/**
 * Write an archive as JSON for Perfetto or chrome://tracing: a track for each process and thread,
 * an arrow for each message, and microseconds since the start with three decimals. Local; serial;
 * blocking.
 * @param archive  the directory or its traces.otf2
 * @param waits    the report of ictus_waits(), whose longest waits become slices on rows of their
 *                 own; NULL: none
 * @param out      an open file, which the caller closes
 * @param[out] why the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_trace_export_perfetto(const char *archive, const struct json_t *waits,
                                          FILE *out, struct ictus_why *why);

/**
 * Write a table of regions, 80 columns wide: the number of calls, and the total, shortest, mean and
 * longest inclusive time in microseconds. Local; serial; blocking.
 * @param archive  the directory or its traces.otf2
 * @param out      an open file, which the caller closes
 * @param[out] why the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_trace_print_profile(const char *archive, FILE *out, struct ictus_why *why);

ICTUS_END

#endif
