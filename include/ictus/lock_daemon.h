/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What `ictus lock`, `ictus serve` and `ictus at` run: keeping the network clock (M00), answering
 * NTP clients from it, and starting a command at an instant of it. In libictus-lock; no MPI.
 * For the tools of ictus: not yet stable. Each function is for one thread.
 */
#ifndef ICTUS_LOCK_DAEMON_H
#define ICTUS_LOCK_DAEMON_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <ictus/lock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/** Who stamps packets. */
enum ictus_lock_stamps { ICTUS_STAMPS_USER, ICTUS_STAMPS_KERNEL, ICTUS_STAMPS_HARDWARE };

/** How gains are chosen: by the noise, or M00's tconf read as frequency or as phase lock. */
enum ictus_lock_loop { ICTUS_LOCK_ADAPTIVE, ICTUS_LOCK_FLL, ICTUS_LOCK_PLL };

/** How the next interval is chosen, within tmin..tmax and a factor 2 of the last. */
enum ictus_lock_policy {
    ICTUS_LOCK_BEST,     /**< where measurement noise meets the oscillator's stability */
    ICTUS_LOCK_CHEAPEST, /**< least packets times variance */
    ICTUS_LOCK_TARGET,   /**< the longest that keeps sigma; more exchanges where none does */
    ICTUS_LOCK_FIXED     /**< tmin */
};

/** One poll of one source, as it goes into the log. Lives only during the call. */
struct ictus_lock_poll {
    const char *source;   /**< as it was given */
    const char *event;    /**< "first", "accepted", "glitch", "step", "lost", "kiss", ... */
    int64_t utc_ns;       /**< on the locked clock */
    double interval_s;    /**< until the next */
    int exchanges;        /**< of the last good group */
    int used;             /**< of these, after the filter */
    bool interleaved;     /**< of interleaved mode */
    bool kernel;          /**< stamped by the kernel, or better */
    double offset_ns;     /**< measurement minus prediction */
    double frequency_ppm; /**< of the remote clock against the local oscillator */
    double skew_ppm;      /**< its standard deviation */
    double expected_ns;   /**< M00's: standard deviation of the group's offsets */
    double predicted_ns;  /**< standard deviation at the next poll */
    double measured_ns;   /**< root mean square of offset_ns over the last polls */
    double estimate_ns;   /**< standard deviation of the clock now */
    double bound_ns;      /**< hard bound of its error */
    double delay_ns;      /**< round trip of the group, without the server's hold */
    double delay_sd_ns;   /**< its standard deviation */
    double send_ns;       /**< M00 figure 3: the sender's software */
    double network_ns;    /**< between the stamps */
    double receive_ns;    /**< the receiver's software */
    double sigma_y;       /**< the oscillator's Allan deviation at the interval */
    double tau_s;         /**< that interval */
    double raw_offset_ns; /**< remote minus CLOCK_REALTIME, for judging against known truth */
    double clock_ns;      /**< the locked clock minus CLOCK_REALTIME, likewise */
    enum ictus_lock_state state; /**< after the poll */
};

/** How ictus_lock_run() keeps its clock. */
struct ictus_lock_options {
    size_t size;           /**< sizeof(struct ictus_lock_options) */
    const char *servers;   /**< "HOST[:PORT],..." or NULL */
    const char *pool;      /**< "NAME[:PORT],...": several addresses of a name, a source
                              each, or NULL */
    const char *reference; /**< "phc:/dev/ptp0", "pps:/dev/pps0", "shm:N", "sock:PATH",
                              "gpsd[:HOST]", separated by commas, or NULL */
    const char *name;      /**< of the instance */
    const char *directory; /**< where its shared page is; NULL: the default */
    const char *keys;      /**< key file or NULL */
    const char *user;    /**< to become after opening everything; NULL: ictus or nobody, if root */
    const char *metrics; /**< "[ADDRESS:]PORT" of the Prometheus endpoint or NULL */
    int64_t key;         /**< id of the servers' key; 0: none */
    enum ictus_lock_stamps stamps; /**< the best to take; lesser ones where they are refused */
    enum ictus_lock_loop loop;     /**< the discipline */
    enum ictus_lock_policy policy; /**< of intervals */
    bool interleaved;              /**< try interleaved mode */
    bool keep_first;               /**< do not leave out the first exchange of a group */
    bool steer;                    /**< discipline CLOCK_REALTIME too */
    int64_t exchanges;             /**< in a group */
    int64_t min_sources;           /**< so many must agree, beside being a majority */
    int64_t polls;                 /**< stop after so many of each source; 0: never */
    double duration_s;             /**< stop then; 0: never */
    double spacing_s;              /**< between the exchanges of a group */
    double timeout_s;              /**< wait for a reply at most so long */
    double sigma_s;                /**< M00's: accuracy wanted, and the least limit of a glitch */
    double tconf_s;                /**< M00's: time constant of the classic loops */
    double tmin_s;                 /**< least interval */
    double tmax_s;                 /**< largest interval */
    double wander;                 /**< how far the frequency may leave its mean: for the bound */
    double max_distance_s;         /**< servers further from their root are refused */
    double makestep_s;             /**< the absolute clock steps if further off, else slews */
    double maxchange_s;            /**< end rather than change by more once locked; 0: never */
    const char *clockbound;        /**< segment for ClockBound's clients to keep, or NULL */
    const char *drift;             /**< file that keeps the frequency between runs, or NULL */
    void (*on_poll)(const struct ictus_lock_poll *poll, void *context); /**< may be NULL */
    void (*on_message)(const char *text, void *context);                /**< may be NULL */
    void *context;                                                      /**< of both */
};

/**
 * Keep the clock until SIGINT or SIGTERM, the asked number of polls or the asked duration.
 * @param options  size and all else set; copied
 * @param[out] why filled on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_SPEC, ICTUS_ERR_EXISTS (another instance has the name), ICTUS_ERR_IO,
 *         ICTUS_ERR_PERMISSION, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_TIMEOUT (no source ever answered)
 */
ICTUS_API int ictus_lock_run(const struct ictus_lock_options *options, struct ictus_why *why);

/** How ictus_serve_run() answers. */
struct ictus_serve_options {
    size_t size;           /**< sizeof(struct ictus_serve_options) */
    const char *address;   /**< to bind; NULL: all, IPv4 and IPv6 */
    int64_t port;          /**< usually 123 */
    const char *name;      /**< of the lock instance that is served */
    const char *directory; /**< where its page is; NULL: the default */
    const char *keys;      /**< key file or NULL */
    const char *allow;     /**< "10.0.0.0/8,fd00::/8"; NULL: everybody */
    const char *deny;      /**< taken before allow; NULL: nobody */
    const char *user;    /**< to become after opening everything; NULL: ictus or nobody, if root */
    const char *metrics; /**< "[ADDRESS:]PORT" of the Prometheus endpoint or NULL */
    bool require_key;    /**< answer authenticated requests only */
    bool system_clock;   /**< serve CLOCK_REALTIME as it is: a machine known to be right */
    int64_t stratum;     /**< claimed for system_clock */
    double rate;         /**< answers per second and client; 0: no limit */
    int64_t burst;       /**< answers at once to a client that was quiet */
    enum ictus_lock_stamps stamps; /**< the best to take; lesser ones where they are refused */
    void (*on_message)(const char *text, void *context); /**< may be NULL */
    void *context;                                       /**< of on_message */
};

/**
 * Answer NTP clients until SIGINT or SIGTERM.
 * @param options  size and all else set
 * @param[out] why says why on failure; may be NULL
 * @return as ictus_lock_run()
 */
ICTUS_API int ictus_serve_run(const struct ictus_serve_options *options, struct ictus_why *why);

/** When to start: one of the two. */
struct ictus_at_when {
    const char *when;     /**< "+2min", "2026-12-01T12:00:30Z", "@1795000000.5"; or NULL */
    int64_t odd_minute_s; /**< M00's reset: this second of the next odd-numbered minute; -1: no */
    double align_s;       /**< round the instant up to a multiple of this; 0: no */
};

/**
 * The instant that a text means, on a clock that shows now.
 * @param when         what was asked
 * @param now          on the same clock
 * @param[out] instant set only on success
 * @param[out] why     says why on failure; may be NULL
 * @return ICTUS_OK or ICTUS_ERR_SPEC (the reason says what is possible, or that it has passed)
 */
ICTUS_API int ictus_at_instant(const struct ictus_at_when *when, struct ictus_time now,
                               struct ictus_time *instant, struct ictus_why *why);

/** What came of a start. */
struct ictus_at_report {
    struct ictus_time instant; /**< agreed */
    double lateness_ns;        /**< when the command was let go, after the instant */
    double exec_ns;            /**< how long replacing the process took then */
    double sigma_ns;           /**< standard deviation of the clock's error at the instant */
    double bound_ns;           /**< hard bound of it */
    int status;                /**< of the command, as from wait(2); once it has ended */
};

/** What to start, and on what conditions. */
struct ictus_at_start {
    struct ictus_time instant; /**< on the locked clock */
    char *const *command;      /**< as for execvp(3) */
    double tolerance_ns;       /**< refuse when the clock's two standard deviations exceed it */
    bool use_bound;            /**< ... or its bound does, with this */
    void (*on_start)(const struct ictus_at_report *report, void *context); /**< may be NULL */
    void *context;                                                         /**< of on_start */
};

/**
 * Start a command at an instant of the locked clock and wait for its end. The process is made ready
 * before; it sleeps, spins for the last moment and calls execvp(3). The tolerance is judged now and
 * at the instant; on_start is called as soon as the command runs.
 * @param lock        from ictus_lock_open()
 * @param start       what to start, and when
 * @param[out] report filled as far as it came
 * @param[out] why    says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_TOLERANCE, ICTUS_ERR_CLOCK (not locked; stepped meanwhile),
 *         ICTUS_ERR_TIMEOUT (it has passed), ICTUS_ERR_IO (the command cannot be run)
 */
ICTUS_API int ictus_at_run(const struct ictus_lock *lock, const struct ictus_at_start *start,
                           struct ictus_at_report *report, struct ictus_why *why);

ICTUS_END

#endif
