/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One clock for all processes of a communicator.
 *
 * A clock joins a local time source (what `ictus clocks` lists) with the line that a
 * synchronisation algorithm fitted to it. Its specification is the text of the command line:
 *
 *     ALGORITHM[:option=value,...][@SOURCE[:option=value,...]]
 *
 * e.g. "hca3:fitpoints=500,exchanges=10@tsc" or "@monotonic_raw". What is left out comes from the
 * environment variables ICTUS_SYNC and ICTUS_CLOCK, then from the library's default.
 *
 * Threads: reading functions are reentrant; a clock may be read by many threads while none
 * resyncs or frees it. Creating and resyncing communicate: they need MPI_THREAD_MULTIPLE when
 * other threads use MPI at the same time; different clocks may then be synchronised concurrently.
 */
#ifndef ICTUS_CLOCK_H
#define ICTUS_CLOCK_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <ictus/time.h>
#include <mpi.h>
#include <stdint.h>

ICTUS_BEGIN

struct ictus_clock;

/** What a reading says: the global instant, and how far it may be off. */
struct ictus_reading {
    struct ictus_time time; /**< the instant on the global clock */
    double sigma_ns;        /**< standard deviation of its error, from the fit and the time since */
    double path_ns;         /**< the systematic part of it, that no averaging reduces: what paths'
                                 asymmetries were found, or must be assumed, to do */
    double bound_ns;        /**< no error exceeds this while drifts stay within +-200 ppm */
};

/** What the last synchronisation cost and reached. */
struct ictus_sync_stats {
    double duration_s;  /**< on this process */
    uint64_t exchanges; /**< request-reply pairs this process started */
    uint64_t synced;    /**< how often the clock was synchronised */
    uint64_t steps;     /**< times a source stepped, was found out, and all began anew */
    double sigma_ns;    /**< at the end of the synchronisation */
    double bound_ns;    /**< likewise */
    double slope;       /**< of the global clock against the local source */
    uint64_t messages;  /**< this process sent: requests, replies and words about them */
    double path_ns;     /**< the part of sigma_ns that is systematic: asymmetries of paths */
};

/**
 * Build a clock shared by every process of @p comm. Collective over @p comm; blocking.
 * @param comm        an intra-communicator; duplicated, the caller keeps its handle
 * @param spec        as above; NULL takes the default. All processes must give the same text.
 * @param[out] clock  set only on success; release with ictus_clock_free()
 * @return ICTUS_OK, or the same error on every process: ICTUS_ERR_ARG, ICTUS_ERR_INTERCOMM,
 *         ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN, ICTUS_ERR_NOT_SHARED, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI,
 * ...
 */
ICTUS_API int ictus_clock_create(MPI_Comm comm, const char *spec, struct ictus_clock **clock);

/**
 * As ictus_clock_create(), and say why it failed.
 * @param comm       as there
 * @param spec       as there
 * @param[out] clock as there
 * @param[out] why   filled on failure, the same on every process; may be NULL
 */
ICTUS_API int ictus_clock_create_why(MPI_Comm comm, const char *spec, struct ictus_clock **clock,
                                     struct ictus_why *why);

/**
 * Release a clock. Collective over its communicator where the MPI library's MPI_Comm_free is.
 * @param clock NULL is legal
 */
ICTUS_API void ictus_clock_free(struct ictus_clock *clock);

/** Read the global clock. Local; costs little more than the source. @param clock not NULL */
ICTUS_API struct ictus_time ictus_clock_now(const struct ictus_clock *clock);

/**
 * Read the global clock with its uncertainty. Local.
 * @param clock        not NULL
 * @param[out] reading set only on success
 * @return ICTUS_OK or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_clock_read(const struct ictus_clock *clock, struct ictus_reading *reading);

/** Read the local source under the clock. Local. @param clock not NULL */
ICTUS_API struct ictus_time ictus_clock_local(const struct ictus_clock *clock);

/**
 * The global instant of a local one, past or future. Local.
 * @param clock not NULL
 * @param local an instant of the local source
 */
ICTUS_API struct ictus_time ictus_clock_map(const struct ictus_clock *clock,
                                            struct ictus_time local);

/** The local instant of a global one: when to start waiting for it. Local. */
ICTUS_API struct ictus_time ictus_clock_unmap(const struct ictus_clock *clock,
                                              struct ictus_time global);

/** As ictus_clock_map(), with the uncertainty at that instant. @return ICTUS_OK or ICTUS_ERR_ARG */
ICTUS_API int ictus_clock_map_reading(const struct ictus_clock *clock, struct ictus_time local,
                                      struct ictus_reading *reading);

/**
 * Synchronise again, keeping what the algorithm can use of earlier measurements. Collective;
 * blocking. On failure the clock stays as it was.
 * @return as ictus_clock_create()
 */
ICTUS_API int ictus_clock_resync(struct ictus_clock *clock);

/**
 * The true instant that a `sim:` source stands for, to judge a clock by: all processes that share
 * the real source underneath share this truth. Local. Never used by an algorithm.
 * @param clock      not NULL
 * @param local      an instant of the local source
 * @param[out] truth set only on success
 * @return ICTUS_OK, or ICTUS_ERR_UNSUPPORTED where the source is not simulated
 */
ICTUS_API int ictus_clock_truth(const struct ictus_clock *clock, struct ictus_time local,
                                struct ictus_time *truth);

/** What the last synchronisation cost and reached. Local. @return ICTUS_OK or ICTUS_ERR_ARG */
ICTUS_API int ictus_clock_stats(const struct ictus_clock *clock, struct ictus_sync_stats *stats);

/** The full specification in force, defaults filled in. Local; owned by the clock. */
ICTUS_API const char *ictus_clock_spec(const struct ictus_clock *clock);

/**
 * Wait until the clock shows an instant: sleeps while it is far, spins at the end. Local.
 * @return ICTUS_OK at once when the instant has passed
 */
ICTUS_API int ictus_clock_wait_until(const struct ictus_clock *clock, struct ictus_time deadline);

ICTUS_END

#endif
