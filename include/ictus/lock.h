/* SPDX-License-Identifier: BSD-3-Clause */
/*
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

enum ictus_lock_state {
    ICTUS_LOCK_UNLOCKED, /**< nothing known yet: the instant is a guess */
    ICTUS_LOCK_LOCKED,
    ICTUS_LOCK_HOLDOVER /**< the source or the daemon is gone; the bound grows */
};

/** What a reading says. */
struct ictus_lock_reading {
    struct ictus_time time; /**< UTC, ns since 1970 */
    double sigma_ns;        /**< standard deviation of its error */
    double bound_ns;        /**< no error exceeds this, within docs/lock.md's assumptions */
    enum ictus_lock_state state;
    uint32_t epoch; /**< changes when the absolute clock was stepped */
};

/**
 * Open the clock of a running or stopped `ictus lock`. Local; no permission but to read a file.
 * @param name      of the instance; NULL: $ICTUS_LOCK, else "default"
 * @param directory where its page is; NULL: $ICTUS_LOCK_DIR, else /dev/shm
 * @param[out] lock set only on success; release with ictus_lock_close()
 * @param[out] why  may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO (there is none), ICTUS_ERR_FORMAT (another version),
 *         ICTUS_ERR_NOT_SHARED (of another boot or time namespace), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_lock_open(const char *name, const char *directory, struct ictus_lock **lock,
                              struct ictus_why *why);

/** Release a handle. @param lock NULL is legal */
ICTUS_API void ictus_lock_close(struct ictus_lock *lock);

/**
 * Read the absolute clock. Never waits, whatever happened to the daemon.
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
    char name[64];
    char reference_id[16];
    int32_t selection; /**< enum ictus_lock_selection */
    int32_t stratum;
    int32_t reach;  /**< the last eight polls as bits, newest lowest */
    int32_t stamps; /**< in force: 0 user, 1 kernel, 2 hardware */
    int32_t interleaved;
    int32_t leap;
    int64_t last_raw_ns; /**< of the last good measurement */
    double interval_s;
    double offset_ns; /**< last measurement minus prediction */
    double frequency_ppm, skew_ppm;
    double sigma_ns, bound_ns; /**< of this source's own estimate */
    double expected_ns, predicted_ns, measured_ns;
    double delay_ns, delay_sd_ns, send_ns, network_ns, receive_ns;
    double root_delay_ns, root_dispersion_ns;
    double walk;     /**< random walk of frequency, per root second */
    double noise_ns; /**< of a measurement */
    double allan_tau_s[ICTUS_LOCK_ALLAN_MAX];
    double allan[ICTUS_LOCK_ALLAN_MAX]; /**< 0 where all is noise */
    uint64_t sent, received, lost, refused, accepted, glitches, steps, missing_stamps;
};

/** The daemon's own account of itself, as of its last poll. */
struct ictus_lock_status {
    struct ictus_lock_reading now; /**< at the call */
    int64_t pid;
    int64_t started_raw_ns, updated_raw_ns;
    int32_t alive; /**< 1 if the daemon still holds its page */
    int32_t stratum;
    int32_t leap;
    int32_t source_count;
    uint32_t reference_id;
    int32_t steer;
    char reference[64]; /**< name of the selected source */
    double frequency_ppm, skew_ppm;
    double root_delay_ns, root_dispersion_ns;
    double expected_ns, predicted_ns, measured_ns;
    double system_offset_ns; /**< CLOCK_REALTIME minus the locked clock */
    uint64_t steps, suspends, system_steps;
    struct ictus_lock_source_status sources[ICTUS_LOCK_SOURCES_MAX];
};

/** Copy the status out. @return as ictus_lock_now(); also where nothing is measured yet */
ICTUS_API int ictus_lock_status(const struct ictus_lock *lock, struct ictus_lock_status *status);

/** A word for a state: "unlocked", "locked", "holdover". Never NULL. */
ICTUS_API const char *ictus_lock_state_name(enum ictus_lock_state state);

/** A word for a selection: "selected", ... Never NULL. */
ICTUS_API const char *ictus_lock_selection_name(enum ictus_lock_selection selection);

ICTUS_END

#endif
