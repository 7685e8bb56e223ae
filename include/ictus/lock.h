/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reading the network clock that `ictus lock` keeps in shared memory. In libictus-lock, which needs
 * no MPI. Two clocks, as RADclock has them: the absolute one, for when something happened, follows
 * the reference in phase; the difference one, for how long something took, never steps nor slews
 * and only ever has its rate corrected.
 *
 * Threads: a handle may be read by many threads at once; open and close it from one.
 */
#ifndef ICTUS_LOCK_H
#define ICTUS_LOCK_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <ictus/time.h>
#include <stdint.h>

ICTUS_BEGIN

struct ictus_lock;

/** What a reading is worth. */
enum ictus_lock_state {
    ICTUS_LOCK_UNLOCKED, /**< nothing known yet: the instant is a guess */
    ICTUS_LOCK_LOCKED,   /**< follows a majority of its sources */
    ICTUS_LOCK_HOLDOVER  /**< the source or the daemon is gone; the bound grows */
};

/** What a reading says. */
struct ictus_lock_reading {
    struct ictus_time time;      /**< UTC, ns since 1970 */
    double sigma_ns;             /**< standard deviation of its error */
    double bound_ns;             /**< no error exceeds this, within docs/lock.md's assumptions */
    enum ictus_lock_state state; /**< whether the rest can be believed */
    uint32_t epoch;              /**< changes when the absolute clock was stepped */
};

/**
 * Open the clock of a running or stopped `ictus lock`. Local; no permission but to read a file.
 * @param name      of the instance; NULL: $ICTUS_LOCK_NAME, else "default"
 * @param directory where its page is; NULL: $ICTUS_LOCK_DIRECTORY, else one's own, else /run/ictus
 * @param[out] lock set only on success; release with ictus_lock_close()
 * @param[out] why  may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO (there is none), ICTUS_ERR_FORMAT (another version),
 *         ICTUS_ERR_NOT_SHARED (of another boot or time namespace), ICTUS_ERR_PERMISSION (kept by
 *         another user than root or oneself), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_lock_open(const char *name, const char *directory, struct ictus_lock **lock,
                              struct ictus_why *why);

/**
 * As ictus_lock_open(), for programs that must outlive whatever is done to the page's file: each
 * reading is made by system calls, at some ten times the price, and a file that was cut off gives
 * ICTUS_ERR_SAMPLES rather than a signal.
 * @param name        as of ictus_lock_open()
 * @param directory   likewise
 * @param[out] lock   likewise
 * @param[out] why    likewise
 * @return as ictus_lock_open()
 */
ICTUS_API int ictus_lock_open_guarded(const char *name, const char *directory,
                                      struct ictus_lock **lock, struct ictus_why *why);

/** Release a handle. @param lock NULL is legal */
ICTUS_API void ictus_lock_close(struct ictus_lock *lock);

/**
 * Read the absolute clock. Never waits, whatever happened to the daemon.
 * @param lock         not NULL
 * @param[out] reading set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_SAMPLES (the daemon has measured nothing yet)
 */
ICTUS_API int ictus_lock_now(const struct ictus_lock *lock, struct ictus_lock_reading *reading);

/** The absolute clock at a CLOCK_MONOTONIC_RAW instant near now. @return as ictus_lock_now() */
ICTUS_API int ictus_lock_map(const struct ictus_lock *lock, struct ictus_time raw,
                             struct ictus_lock_reading *reading);

/** The CLOCK_MONOTONIC_RAW instant of one of the absolute clock. @return as ictus_lock_now() */
ICTUS_API int ictus_lock_unmap(const struct ictus_lock *lock, struct ictus_time utc,
                               struct ictus_time *raw);

/**
 * Read the difference clock: nanoseconds since an origin of no meaning, at the best known rate.
 * @param lock            not NULL
 * @param[out] elapsed    set only on success
 * @param[out] sigma_rate standard deviation of the rate, dimensionless; may be NULL
 * @return as ictus_lock_now()
 */
ICTUS_API int ictus_lock_elapsed(const struct ictus_lock *lock, struct ictus_time *elapsed,
                                 double *sigma_rate);

/**
 * As clock sources do it: the instant of the absolute clock alone, ICTUS_LOCK_UNLOCKED or not.
 * @param lock not NULL; must have measured
 */
ICTUS_API struct ictus_time ictus_lock_time(const struct ictus_lock *lock);

enum { ICTUS_LOCK_SOURCES_MAX = 16, ICTUS_LOCK_ALLAN_MAX = 7 };

/** How selection judged a source. */
enum ictus_lock_selection {
    ICTUS_SOURCE_UNREACHABLE,
    ICTUS_SOURCE_UNSYNCHRONISED,
    ICTUS_SOURCE_SETTLING,
    ICTUS_SOURCE_FALSETICKER, /**< outside what the majority agrees on */
    ICTUS_SOURCE_TRUECHIMER,  /**< agrees; too noisy to count */
    ICTUS_SOURCE_COMBINED,
    ICTUS_SOURCE_SELECTED
};

/** One row of the source table. Names are terminated. */
struct ictus_lock_source_status {
    char name[64];         /**< as it was given */
    char reference_id[16]; /**< what the source itself follows */
    int32_t selection;     /**< enum ictus_lock_selection */
    int32_t stratum;       /**< its own; 16: none */
    int32_t reach;         /**< the last eight polls as bits, newest lowest */
    int32_t stamps;        /**< in force: 0 user, 1 kernel, 2 hardware */
    int32_t interleaved;   /**< 1: the last group was of interleaved mode */
    int32_t leap;          /**< NTP's leap indicator: 0 none, 1 a second more, 2 less, 3 unknown */
    int64_t last_raw_ns;   /**< of the last good measurement, CLOCK_MONOTONIC_RAW */
    double interval_s;     /**< until the next poll */
    double offset_ns;      /**< last measurement minus prediction */
    double frequency_ppm;  /**< of the source against the local oscillator */
    double skew_ppm;       /**< standard deviation of it */
    double sigma_ns;       /**< standard deviation of this source's own estimate */
    double bound_ns;       /**< hard bound of its error */
    double expected_ns;    /**< M00's: spread of the last group of exchanges */
    double predicted_ns;   /**< standard deviation at the next poll */
    double measured_ns;    /**< root mean square of offset_ns over the last polls */
    double delay_ns;       /**< round trip of the last group, without the server's hold */
    double delay_sd_ns;    /**< its standard deviation within the group */
    double send_ns;        /**< share of the sender's software: from its stamp to the kernel's */
    double network_ns;     /**< share between the stamps */
    double receive_ns;     /**< share of the receiver's software */
    double root_delay_ns;  /**< from the source to its root, as it says */
    double root_dispersion_ns;                /**< likewise */
    double walk;                              /**< random walk of frequency, per root second */
    double noise_ns;                          /**< of a measurement */
    double allan_tau_s[ICTUS_LOCK_ALLAN_MAX]; /**< intervals of the Allan deviation; 0: no more */
    double allan[ICTUS_LOCK_ALLAN_MAX];       /**< the oscillator's at them; 0 where all is noise */
    uint64_t sent;                            /**< requests */
    uint64_t received;                        /**< good replies */
    uint64_t lost;                            /**< polls without an answer */
    uint64_t refused;                         /**< polls whose replies were refused */
    uint64_t accepted;                        /**< measurements that were followed */
    uint64_t glitches;                        /**< measurements that were held */
    uint64_t steps;          /**< times that the third glitch in a row was believed */
    uint64_t missing_stamps; /**< exchanges that lacked a kernel stamp */
    uint64_t falseticks;     /**< polls after which the majority contradicted it */
    uint64_t turns;          /**< times that it was seen to run at another frequency */
};

/** The daemon's own account of itself, as of its last poll. */
struct ictus_lock_status {
    struct ictus_lock_reading now; /**< at the call */
    int64_t pid;                   /**< of the daemon */
    int64_t started_raw_ns;        /**< when it began, CLOCK_MONOTONIC_RAW */
    int64_t updated_raw_ns;        /**< when it wrote this, likewise */
    int32_t alive;                 /**< 1 if the daemon still holds its page */
    int32_t stratum;               /**< as `ictus serve` tells it; 16: not synchronised */
    int32_t leap;                  /**< NTP's leap indicator, likewise */
    int32_t source_count;          /**< rows of sources */
    int32_t voters;                /**< sources that said anything of the time */
    int32_t agreeing;              /**< of these, who agree with the majority */
    int32_t liars;                 /**< how many voters may be wrong without breaking the bound */
    uint32_t reference_id;         /**< NTP's, of the selected source */
    int32_t steer;                 /**< 1: disciplines CLOCK_REALTIME too */
    char reference[64];            /**< name of the selected source */
    double frequency_ppm;          /**< of the clock against the local oscillator */
    double skew_ppm;               /**< standard deviation of it */
    double root_delay_ns;          /**< to the root, through the selected source */
    double root_dispersion_ns;     /**< likewise */
    double expected_ns;            /**< the three accuracies are the selected source's */
    double predicted_ns;           /**< as in its row */
    double measured_ns;            /**< as in its row */
    double system_offset_ns;       /**< CLOCK_REALTIME minus the locked clock */
    uint64_t steps;                /**< of the absolute clock */
    uint64_t suspends;             /**< times that the machine slept */
    uint64_t system_steps;         /**< times that somebody set CLOCK_REALTIME */
    struct ictus_lock_source_status sources[ICTUS_LOCK_SOURCES_MAX]; /**< source_count of them */
};

/** Copy the status out. @return as ictus_lock_now(); also where nothing is measured yet */
ICTUS_API int ictus_lock_status(const struct ictus_lock *lock, struct ictus_lock_status *status);

/** A word for a state: "unlocked", "locked", "holdover". Never NULL. */
ICTUS_API const char *ictus_lock_state_name(enum ictus_lock_state state);

/** A word for a selection: "selected", ... Never NULL. */
ICTUS_API const char *ictus_lock_selection_name(enum ictus_lock_selection selection);

ICTUS_END

#endif
