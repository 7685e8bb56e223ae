/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reading the network clock that `ictus lock` keeps in shared memory. In libictus-lock, which needs
 * no MPI. There are two clocks, as in RADclock. The absolute clock tells when something happened.
 * It follows the reference in phase. The difference clock tells how long something took. It never
 * steps or slews, and only its rate is corrected.
 *
 * Threads: many threads may read a handle at once. One thread opens and closes it.
 */
#ifndef ICTUS_LOCK_H
#define ICTUS_LOCK_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <ictus/time.h>
#include <stdint.h>

ICTUS_BEGIN

struct ictus_lock;

/** The quality of a reading. */
enum ictus_lock_state {
    ICTUS_LOCK_UNLOCKED, /**< nothing is known yet, and the instant is a guess */
    ICTUS_LOCK_LOCKED,   /**< follows a majority of its sources */
    ICTUS_LOCK_HOLDOVER  /**< the source or the daemon is gone, and the bound grows */
};

/** A reading. */
struct ictus_lock_reading {
    struct ictus_time time;      /**< UTC, ns since 1970 */
    double sigma_ns;             /**< standard deviation of its error */
    double bound_ns;             /**< no error exceeds this under the assumptions of docs/lock.md */
    enum ictus_lock_state state; /**< whether the other members can be relied on */
    uint32_t epoch;              /**< changes when the absolute clock steps */
};

/**
 * Open the clock of a running or stopped `ictus lock`. Local. Needs only permission to read a file.
 * @param name      of the instance; NULL: $ICTUS_LOCK_NAME, else "default"
 * @param directory of its page; NULL: $ICTUS_LOCK_DIRECTORY, else the caller's own, else /run/ictus
 * @param[out] lock set only on success; release with ictus_lock_close()
 * @param[out] why  the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_SPEC (name or directory), ICTUS_ERR_IO (there is
 *         none), ICTUS_ERR_FORMAT (another version), ICTUS_ERR_CORRUPT, ICTUS_ERR_NOT_SHARED (of
 *         another boot or time namespace), ICTUS_ERR_PERMISSION (kept by a user other than root,
 *         the caller or the system service), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_lock_open(const char *name, const char *directory, struct ictus_lock **lock,
                              struct ictus_why *why);

/**
 * Like ictus_lock_open(), for programs that must survive whatever happens to the page's file. Each
 * reading is made by system calls, which takes about ten times as long, and a file that was cut off
 * causes ICTUS_ERR_SAMPLES and not a signal. Local.
 * @param name      as for ictus_lock_open()
 * @param directory as for ictus_lock_open()
 * @param[out] lock as for ictus_lock_open()
 * @param[out] why  as for ictus_lock_open()
 * @return as ictus_lock_open()
 */
ICTUS_API int ictus_lock_open_guarded(const char *name, const char *directory,
                                      struct ictus_lock **lock, struct ictus_why *why);

/** Release a handle. Local. @param lock NULL is allowed */
ICTUS_API void ictus_lock_close(struct ictus_lock *lock);

/**
 * Read the absolute clock. Local; reentrant. It never waits, whatever happened to the daemon.
 * @param lock         not NULL
 * @param[out] reading set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_SAMPLES (the daemon has not measured anything yet)
 */
ICTUS_API int ictus_lock_now(const struct ictus_lock *lock, struct ictus_lock_reading *reading);

/**
 * Convert a CLOCK_MONOTONIC_RAW instant near the present to the absolute clock. Local; reentrant.
 * @return as ictus_lock_now()
 */
ICTUS_API int ictus_lock_map(const struct ictus_lock *lock, struct ictus_time raw,
                             struct ictus_lock_reading *reading);

/**
 * Convert an instant of the absolute clock to CLOCK_MONOTONIC_RAW. Local; reentrant.
 * @return as ictus_lock_now()
 */
ICTUS_API int ictus_lock_unmap(const struct ictus_lock *lock, struct ictus_time utc,
                               struct ictus_time *raw);

/**
 * Read the difference clock: nanoseconds since an arbitrary origin, at the best known rate. Local;
 * reentrant.
 * @param lock            not NULL
 * @param[out] elapsed    set only on success
 * @param[out] sigma_rate standard deviation of the rate, dimensionless; may be NULL
 * @return as ictus_lock_now()
 */
ICTUS_API int ictus_lock_elapsed(const struct ictus_lock *lock, struct ictus_time *elapsed,
                                 double *sigma_rate);

/**
 * Return only the instant of the absolute clock, as clock sources do, whatever its state. Local;
 * reentrant.
 * @param lock not NULL; its daemon must have measured something
 */
ICTUS_API struct ictus_time ictus_lock_time(const struct ictus_lock *lock);

enum { ICTUS_LOCK_SOURCES_MAX = 16, ICTUS_LOCK_ALLAN_MAX = 7 };

/** The judgement of the selection about a source. */
enum ictus_lock_selection {
    ICTUS_SOURCE_UNREACHABLE,
    ICTUS_SOURCE_UNSYNCHRONISED,
    ICTUS_SOURCE_SETTLING,
    ICTUS_SOURCE_FALSETICKER, /**< outside the interval on which the majority agrees */
    ICTUS_SOURCE_TRUECHIMER,  /**< agrees, but is too noisy to count */
    ICTUS_SOURCE_COMBINED,
    ICTUS_SOURCE_SELECTED
};

/** A row of the source table. Names are terminated. */
struct ictus_lock_source_status {
    char name[64];         /**< as given by the user */
    char reference_id[16]; /**< what the source itself follows */
    int32_t selection;     /**< enum ictus_lock_selection */
    int32_t stratum;       /**< of the source; 16: unsynchronised */
    int32_t reach;         /**< the last eight polls as bits, the newest lowest */
    int32_t stamps;        /**< in use: 0 user, 1 kernel, 2 hardware; -1 for a reference */
    int32_t interleaved;   /**< 1: the last group was in interleaved mode */
    int32_t leap;          /**< NTP's leap indicator: 0 none, 1 insert, 2 delete, 3 unknown */
    int64_t last_raw_ns;   /**< CLOCK_MONOTONIC_RAW at the last good measurement */
    double interval_s;     /**< until the next poll */
    double offset_ns;      /**< last measurement minus prediction */
    double frequency_ppm;  /**< of the source relative to the local oscillator */
    double skew_ppm;       /**< standard deviation of frequency_ppm */
    double sigma_ns;       /**< standard deviation of this source's own estimate */
    double bound_ns;       /**< hard bound of its error */
    double expected_ns;    /**< spread of the last group of exchanges (M00's expected accuracy) */
    double predicted_ns;   /**< standard deviation at the next poll */
    double measured_ns;    /**< root mean square of offset_ns over the last polls */
    double delay_ns;       /**< round trip of the last group, without the server's own time */
    double delay_sd_ns;    /**< standard deviation of delay_ns within the group */
    double send_ns;        /**< the sender's software: from its stamp to the kernel's */
    double network_ns;     /**< the network: between the stamps */
    double receive_ns;     /**< the receiver's software */
    double root_delay_ns;  /**< from the source to its root, as stated by the source */
    double root_dispersion_ns;                /**< likewise */
    double walk;                              /**< random walk of frequency, per root second */
    double noise_ns;                          /**< of a measurement */
    double allan_tau_s[ICTUS_LOCK_ALLAN_MAX]; /**< intervals of the Allan deviation; 0: no more */
    double allan[ICTUS_LOCK_ALLAN_MAX];       /**< the oscillator's; 0 if only noise is seen */
    uint64_t sent;                            /**< requests */
    uint64_t received;                        /**< good replies */
    uint64_t lost;                            /**< polls without an answer */
    uint64_t refused;                         /**< polls whose replies were refused */
    uint64_t accepted;                        /**< measurements that the loop followed */
    uint64_t glitches;                        /**< measurements that were held back */
    uint64_t steps;          /**< times that the third glitch in a row was accepted */
    uint64_t missing_stamps; /**< exchanges without a kernel stamp */
    uint64_t falseticks;     /**< polls after which the majority contradicted the source */
    uint64_t turns;          /**< times that the source was found to run at another frequency */
};

/** The daemon's report about itself, as of its last poll. */
struct ictus_lock_status {
    struct ictus_lock_reading now; /**< at the time of the call */
    int64_t pid;                   /**< of the daemon */
    int64_t started_raw_ns;        /**< when it started, CLOCK_MONOTONIC_RAW */
    int64_t updated_raw_ns;        /**< when it wrote this, likewise */
    int32_t alive;                 /**< 1 while the daemon is running */
    int32_t stratum;               /**< as announced by `ictus serve`; 16: unsynchronised */
    int32_t leap;                  /**< NTP's leap indicator, likewise */
    int32_t source_count;          /**< number of rows in sources */
    int32_t voters;                /**< sources that gave a time */
    int32_t agreeing;              /**< voters that agree with the majority */
    int32_t liars;                 /**< number of voters that may be wrong without breaking the
                                        bound */
    uint32_t reference_id;         /**< NTP's reference id of the selected source */
    int32_t steer;                 /**< 1: also disciplines CLOCK_REALTIME */
    char reference[64];            /**< name of the selected source */
    double frequency_ppm;          /**< of the clock relative to the local oscillator */
    double skew_ppm;               /**< standard deviation of frequency_ppm */
    double root_delay_ns;          /**< to the root, by way of the selected source */
    double root_dispersion_ns;     /**< likewise */
    double expected_ns;            /**< as in the row of the selected source, like the next two */
    double predicted_ns;           /**< likewise */
    double measured_ns;            /**< likewise */
    double system_offset_ns;       /**< CLOCK_REALTIME minus the locked clock */
    uint64_t steps;                /**< of the absolute clock */
    uint64_t suspends;             /**< times that the machine was suspended */
    uint64_t system_steps;         /**< times that CLOCK_REALTIME was set by others */
    struct ictus_lock_source_status sources[ICTUS_LOCK_SOURCES_MAX]; /**< source_count of them */
};

/**
 * Copy the status. Local; reentrant.
 * @return as ictus_lock_now(), but ICTUS_OK even if nothing has been measured yet
 */
ICTUS_API int ictus_lock_status(const struct ictus_lock *lock, struct ictus_lock_status *status);

/**
 * @return a word for a state: "unlocked", "locked", "holdover". Static; never NULL. Local;
 *         reentrant.
 */
ICTUS_API const char *ictus_lock_state_name(enum ictus_lock_state state);

/** @return a word for a selection: "selected", .... Static; never NULL. Local; reentrant. */
ICTUS_API const char *ictus_lock_selection_name(enum ictus_lock_selection selection);

ICTUS_END

#endif
