/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a program may tell the tracer, and what may be done with a trace afterwards.
 *
 * The first half is in libictus, where it does nothing: a program that uses it runs unchanged
 * without a tracer, at the cost of a call. libictus-trace.so, which `ictus trace` preloads, puts
 * its own in front. All of it may be called from any thread, before MPI_Init and after
 * MPI_Finalize too (definitions are kept, events outside are dropped). The second half is in
 * libictus-otf2.
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
 * Name a kind of event. Local. Every process may define its own; equal names are one kind.
 * @return a number for ictus_event(); -1 when there are too many (65535)
 */
ICTUS_API int ictus_event_define(const char *name);

/**
 * Record that something happened now, with a value: a mark of 24 bytes on the common clock. Costs
 * about as much as reading the clock.
 * @param event from ictus_event_define(); others are ignored
 * @param value anything; shown beside the event
 */
ICTUS_API void ictus_event(int event, uint64_t value);

/** Name a region of the program. @return a number for ictus_region_enter(); -1: too many */
ICTUS_API int ictus_region_define(const char *name);

/** Enter a region; regions nest. Local. */
ICTUS_API void ictus_region_enter(int region);

/** Leave a region, in the thread that entered it, innermost first. Local. */
ICTUS_API void ictus_region_leave(int region);

/** Name a quantity and its unit ("residual", "1"). @return a number; -1: too many */
ICTUS_API int ictus_metric_define(const char *name, const char *unit);

/** Record a quantity's value now. Local. */
ICTUS_API void ictus_metric(int metric, double value);

/** Switch recording on (1) or off (0) for the whole process, as MPI_Pcontrol() does. */
ICTUS_API void ictus_trace_switch(int on);

/** @return 1 while a tracer records this process, else 0 */
ICTUS_API int ictus_trace_is_on(void);

/* In libictus-otf2: */

/**
 * Check a list of functions and groups as `ictus trace --filter` takes it:
 * "p2p,coll,MPI_Comm_split" or "-MPI_Iprobe,-type". Local, without MPI.
 * @param list     terminated; an empty one stands for everything; NULL is refused
 * @param[out] why names the word and the nearest known one on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC where it is too long, ICTUS_ERR_ARG
 */
ICTUS_API int ictus_trace_filter_check(const char *list, struct ictus_why *why);

/**
 * Check a list of counters as `ictus trace --metrics` takes it: "page_faults,cycles". A counter
 * that this machine does not have passes: the tracer leaves it out and says so. Local, without MPI.
 * @param list     terminated; an empty one stands for none; NULL is refused
 * @param[out] why names the word and the nearest known one on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC where there are too many or a name is empty,
 *         ICTUS_ERR_ARG
 */
ICTUS_API int ictus_trace_metrics_check(const char *list, struct ictus_why *why);

/** What a recovery or conversion may be asked for. */
struct ictus_trace_recover_opts {
    size_t size;         /**< sizeof this structure */
    const char *output;  /**< directory of the archive; NULL: where the raw files are */
    const char *scratch; /**< directory of the raw files, if they are not in the archive's */
    int local;           /**< 1: timestamps of the local clocks, as they were recorded */
    int force;           /**< 1: replace an archive that is there */
    int keep;            /**< 1: keep the raw files */
};

/** What was written. */
struct ictus_trace_summary {
    uint64_t processes; /**< of the job */
    uint64_t missing;   /**< processes of which nothing was found */
    uint64_t cut;       /**< processes that did not reach MPI_Finalize */
    uint64_t locations; /**< threads that recorded something */
    uint64_t events;    /**< in the archive */
    uint64_t raw_bytes; /**< of the records that the events came from */
    uint64_t lost;      /**< calls that found no room */
    uint64_t untracked; /**< requests that could not be followed */
    uint64_t clamped;   /**< events whose clock had gone back */
    double sigma_ns;    /**< largest standard deviation of a timestamp's error */
    double bound_ns;    /**< largest bound of it */
    double length_s;    /**< from the first event to the last */
    double jump_ns;     /**< largest step of a clock between two synchronisations; 0: none */
};

/**
 * Make an archive of the raw files that a traced job left. Serial, without MPI; blocking.
 * @param directory    what was given to `ictus trace -o`
 * @param opts         NULL: the defaults, all zero
 * @param[out] summary set only on success; may be NULL
 * @param[out] why     says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_EXISTS, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_trace_recover(const char *directory,
                                  const struct ictus_trace_recover_opts *opts,
                                  struct ictus_trace_summary *summary, struct ictus_why *why);

/**
 * Write an archive as JSON for Perfetto or chrome://tracing: a track a process and thread, an
 * arrow a message, microseconds from the start with three decimals. Serial; blocking.
 * @param archive  the directory or its traces.otf2
 * @param waits    what ictus_waits() told of it, whose longest waits become slices on rows of their
 *                 own; NULL: none
 * @param out      an open file; the caller closes it
 * @param[out] why says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_trace_export_perfetto(const char *archive, const struct json_t *waits,
                                          FILE *out, struct ictus_why *why);

/**
 * Write a table of regions, 80 columns wide: the number of calls, and the total, shortest, mean and
 * longest inclusive time in microseconds.
 * @param archive  the directory or its traces.otf2
 * @param out      an open file; the caller closes it
 * @param[out] why says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_trace_print_profile(const char *archive, FILE *out, struct ictus_why *why);

ICTUS_END

#endif
