/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One clock for all processes of a communicator.
 *
 * A clock combines a local time source (see `ictus clocks`) with the line that a synchronisation
 * algorithm fitted to it. Its specification is the text of the command line:
 *
 *     ALGORITHM[:option=value,...][@SOURCE[:option=value,...]]
 *
 * for example "hca3:fitpoints=500,exchanges=10@tsc" or "@monotonic_raw". A part that is left out is
 * taken from the environment variables ICTUS_SYNC and ICTUS_CLOCK, and otherwise from the library's
 * default.
 *
 * Threads: functions that read are reentrant. Many threads may read a clock while none resyncs or
 * frees it. Creating and resyncing communicate. They need MPI_THREAD_MULTIPLE if other threads use
 * MPI at the same time, and different clocks may then be synchronised concurrently.
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

/** A reading: the global instant and its uncertainty. */
struct ictus_reading {
    struct ictus_time time; /**< the instant on the global clock */
    double sigma_ns;        /**< standard deviation of its error, from the fit and its age */
    double path_ns;         /**< the systematic part of sigma_ns, which no averaging reduces: the
                                 measured or assumed asymmetry of the paths */
    double bound_ns;        /**< no error exceeds this as long as the drift of each clock stays
                                 within +-200 ppm */
};

/** Cost and result of the last synchronisation. */
struct ictus_sync_stats {
    double duration_s;  /**< on this process */
    uint64_t exchanges; /**< request-reply pairs that this process started */
    uint64_t synced;    /**< number of synchronisations of this clock */
    uint64_t steps;     /**< number of times that a source was found to have stepped, so that all
                             started again */
    double sigma_ns;    /**< at the end of the synchronisation */
    double bound_ns;    /**< likewise */
    double slope;       /**< of the global clock relative to the local source */
    uint64_t messages;  /**< sent by this process: requests, replies and messages about them */
    double path_ns;     /**< the systematic part of sigma_ns: asymmetries of paths */
};

/**
 * Build a clock that is shared by every process of @p comm. Collective over @p comm; blocking.
 * @param comm       an intra-communicator; duplicated, the caller keeps its handle
 * @param spec       see above; NULL takes the default. All processes must give the same text.
 * @param[out] clock set only on success; release with ictus_clock_free()
 * @return ICTUS_OK, or the same error on every process: ICTUS_ERR_ARG, ICTUS_ERR_INTERCOMM,
 *         ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN, ICTUS_ERR_UNSUPPORTED or ICTUS_ERR_PERMISSION (the
 *         source cannot be opened), ICTUS_ERR_NOT_SHARED, ICTUS_ERR_CLOCK (a source stepped),
 *         ICTUS_ERR_TOLERANCE (a requested tolerance was not reached), ICTUS_ERR_NOMEM,
 *         ICTUS_ERR_MPI
 */
ICTUS_API int ictus_clock_create(MPI_Comm comm, const char *spec, struct ictus_clock **clock);

/**
 * Like ictus_clock_create(), and also give the reason of a failure. Collective; blocking.
 * @param comm       as for ictus_clock_create()
 * @param spec       as for ictus_clock_create()
 * @param[out] clock as for ictus_clock_create()
 * @param[out] why   the reason of a failure, the same on every process; may be NULL
 * @return as ictus_clock_create()
 */
ICTUS_API int ictus_clock_create_why(MPI_Comm comm, const char *spec, struct ictus_clock **clock,
                                     struct ictus_why *why);

/**
 * Release a clock. Collective over its communicator if MPI_Comm_free of the MPI library is.
 * @param clock NULL is allowed
 */
ICTUS_API void ictus_clock_free(struct ictus_clock *clock);

/**
 * Read the global clock. Local; reentrant. It costs little more than reading the source.
 * @param clock not NULL
 */
ICTUS_API struct ictus_time ictus_clock_now(const struct ictus_clock *clock);

/**
 * Read the global clock and its uncertainty. Local; reentrant.
 * @param clock        not NULL
 * @param[out] reading set only on success
 * @return ICTUS_OK or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_clock_read(const struct ictus_clock *clock, struct ictus_reading *reading);

/** Read the local source of the clock. Local; reentrant. @param clock not NULL */
ICTUS_API struct ictus_time ictus_clock_local(const struct ictus_clock *clock);

/**
 * Convert a local instant, past or future, to a global one. Local; reentrant.
 * @param clock not NULL
 * @param local an instant of the local source
 */
ICTUS_API struct ictus_time ictus_clock_map(const struct ictus_clock *clock,
                                            struct ictus_time local);

/**
 * Convert a global instant to a local one, for example to wait for it. Local; reentrant. `clock`
 * must not be NULL.
 */
ICTUS_API struct ictus_time ictus_clock_unmap(const struct ictus_clock *clock,
                                              struct ictus_time global);

/**
 * Like ictus_clock_map(), with the uncertainty at that instant. Local; reentrant.
 * @return ICTUS_OK or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_clock_map_reading(const struct ictus_clock *clock, struct ictus_time local,
                                      struct ictus_reading *reading);

/**
 * Synchronise again. Earlier measurements are kept if the algorithm can use them. Collective;
 * blocking. On failure the clock stays as it was.
 * @return as ictus_clock_create()
 */
ICTUS_API int ictus_clock_resync(struct ictus_clock *clock);

/**
 * Return the true instant for a local instant of a `sim:` source, in order to judge a clock. All
 * processes whose simulated sources share the same real source share this truth. No algorithm uses
 * it. Local; reentrant.
 * @param clock      not NULL
 * @param local      an instant of the local source
 * @param[out] truth set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, or ICTUS_ERR_UNSUPPORTED if the source is not simulated
 */
ICTUS_API int ictus_clock_truth(const struct ictus_clock *clock, struct ictus_time local,
                                struct ictus_time *truth);

/**
 * Return the standard deviation, in ns, of an error that ictus_reading::sigma_ns leaves out because
 * no exchange shows it: that of a node that is slower to send than to receive. It is the usual one,
 * 3 % of the shortest round trip, and the same at all instants; 0 where sigma_ns contains it or no
 * messages were involved. Local; reentrant.
 * @return ICTUS_OK or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_clock_unseen(const struct ictus_clock *clock, double *unseen_ns);

/**
 * Return cost and result of the last synchronisation. Local; reentrant.
 * @return ICTUS_OK or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_clock_stats(const struct ictus_clock *clock, struct ictus_sync_stats *stats);

/**
 * @return the complete specification in use, including defaults; owned by the clock. Local;
 *         reentrant.
 */
ICTUS_API const char *ictus_clock_spec(const struct ictus_clock *clock);

/**
 * Wait until the clock shows an instant: sleep while it is far away, and spin at the end. Local;
 * blocking; reentrant.
 * @return ICTUS_OK, at once if the instant has passed, or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_clock_wait_until(const struct ictus_clock *clock, struct ictus_time deadline);

ICTUS_END

#endif
