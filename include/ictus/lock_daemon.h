/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What `ictus lock`, `ictus serve` and `ictus at` run: keeping the network clock (M00), answering
 * NTP clients from it, and starting a command at an instant of it. In libictus-lock; no MPI. The
 * interface serves the tools of ictus and is not yet stable.
 *
 * Threads: all functions are local. Call each of them from one thread only.
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

/**
 * Where time stamps of packets are taken: in the application, in the kernel or in the network card.
 */
enum ictus_lock_stamps { ICTUS_STAMPS_USER, ICTUS_STAMPS_KERNEL, ICTUS_STAMPS_HARDWARE };

/**
 * How the gains of the loop are chosen: from the noise, or from M00's tconf in a frequency or phase
 * lock.
 */
enum ictus_lock_loop { ICTUS_LOCK_ADAPTIVE, ICTUS_LOCK_FLL, ICTUS_LOCK_PLL };

/**
 * How the next interval is chosen. It is between tmin and tmax, and within a factor of 2 of the
 * last one.
 */
enum ictus_lock_policy {
    ICTUS_LOCK_BEST,     /**< the longest in which the oscillator wanders less than the error of a
                              measurement */
    ICTUS_LOCK_CHEAPEST, /**< the smallest product of packets and variance */
    ICTUS_LOCK_TARGET,   /**< the longest that keeps sigma; if none does, more exchanges */
    ICTUS_LOCK_FIXED     /**< always tmin */
};

/** One poll of one source, as it is logged. It is valid only while on_poll is called. */
struct ictus_lock_poll {
    const char *source;   /**< the source as it was given */
    const char *event;    /**< "first", "accepted", "glitch", "step", "lost", "kiss", ... */
    int64_t utc_ns;       /**< instant of the poll on the locked clock */
    double interval_s;    /**< time until the next poll */
    int exchanges;        /**< exchanges in the last good group */
    int used;             /**< how many of them passed the filter */
    bool interleaved;     /**< whether the mode was interleaved */
    bool kernel;          /**< whether the kernel or the card took the time stamps */
    double offset_ns;     /**< measurement minus prediction */
    double frequency_ppm; /**< frequency of the remote clock relative to the local oscillator */
    double skew_ppm;      /**< standard deviation of frequency_ppm */
    double expected_ns;   /**< standard deviation of the group's offsets (M00) */
    double predicted_ns;  /**< standard deviation expected at the next poll */
    double measured_ns;   /**< root mean square of offset_ns over the last polls */
    double estimate_ns;   /**< standard deviation of the clock now */
    double bound_ns;      /**< hard bound of its error */
    double delay_ns;      /**< round trip of the group, without the time that the server took */
    double delay_sd_ns;   /**< standard deviation of delay_ns */
    double send_ns;       /**< the sender's software (M00, figure 3) */
    double network_ns;    /**< the network, between the time stamps */
    double receive_ns;    /**< the receiver's software */
    double sigma_y;       /**< the oscillator's Allan deviation at the interval */
    double tau_s;         /**< the interval of sigma_y */
    double raw_offset_ns; /**< remote clock minus CLOCK_REALTIME, to compare with known truth */
    double clock_ns;      /**< locked clock minus CLOCK_REALTIME, likewise */
    enum ictus_lock_state state; /**< state after the poll */
};

/** How ictus_lock_run() keeps its clock. */
struct ictus_lock_options {
    size_t size;           /**< sizeof(struct ictus_lock_options) */
    const char *servers;   /**< "HOST[:PORT],..." or NULL */
    const char *pool;      /**< "NAME[:PORT],...": each name has several addresses, and
                              each address is a source; or NULL */
    const char *reference; /**< "phc:/dev/ptp0", "pps:/dev/pps0", "shm:N", "sock:PATH",
                              "gpsd[:HOST]", separated by commas, or NULL */
    const char *name;      /**< name of the instance */
    const char *directory; /**< directory of its shared page; NULL: the default */
    const char *keys;      /**< key file or NULL */
    const char *user;      /**< user to become after opening all; NULL: if root, ictus or nobody */
    const char *metrics;   /**< "[ADDRESS:]PORT" of the Prometheus endpoint or NULL */
    int64_t key;           /**< id of the servers' key; 0: none */
    enum ictus_lock_stamps stamps; /**< the most accurate to use; if refused, less accurate ones */
    enum ictus_lock_loop loop;     /**< the discipline */
    enum ictus_lock_policy policy; /**< how intervals are chosen */
    bool interleaved;              /**< try interleaved mode */
    bool keep_first;               /**< do not leave out the first exchange of a group */
    bool steer;                    /**< also discipline CLOCK_REALTIME */
    int64_t exchanges;             /**< in a group */
    int64_t min_sources; /**< how many sources must agree, in addition to being a majority */
    int64_t polls;       /**< stop after this many polls of each source; 0: never */
    double duration_s;   /**< stop after this time; 0: never */
    double spacing_s;    /**< time between the exchanges of a group */
    double timeout_s;    /**< how long to wait for a reply */
    double sigma_s;      /**< requested accuracy, and the smallest difference that is a glitch
                              (M00) */
    double tconf_s;      /**< time constant of the classic loops (M00) */
    double tmin_s;       /**< shortest interval */
    double tmax_s;       /**< longest interval */
    double wander;       /**< for the bound: how far the frequency may be from its mean, a ratio */
    double max_distance_s;  /**< servers with a larger root distance are refused */
    double makestep_s;      /**< larger corrections step the absolute clock; smaller ones slew it */
    double maxchange_s;     /**< exit instead of changing a locked clock by more; 0: no limit */
    const char *clockbound; /**< file of the segment that clients of ClockBound read, or NULL */
    const char *drift;      /**< file that keeps the frequency between runs, or NULL */
    void (*on_poll)(const struct ictus_lock_poll *poll, void *context); /**< may be NULL */
    void (*on_message)(const char *text, void *context);                /**< may be NULL */
    void *context;                                                      /**< passed to both */
};

/**
 * Keep the clock until SIGINT or SIGTERM, or until the requested number of polls or duration is
 * reached. Blocking.
 * @param options  all members set, including size; copied
 * @param[out] why the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_SPEC, ICTUS_ERR_EXISTS (another instance has the
 *         name), ICTUS_ERR_IO, ICTUS_ERR_PERMISSION, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_TOLERANCE
 *         (maxchange_s), ICTUS_ERR_TIMEOUT (no source ever answered), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_lock_run(const struct ictus_lock_options *options, struct ictus_why *why);

/** How ictus_serve_run() answers. */
struct ictus_serve_options {
    size_t size;           /**< sizeof(struct ictus_serve_options) */
    const char *address;   /**< address to listen at; NULL: all, IPv4 and IPv6 */
    int64_t port;          /**< usually 123 */
    const char *name;      /**< name of the lock instance that is served */
    const char *directory; /**< directory of its shared page; NULL: the default */
    const char *keys;      /**< key file or NULL */
    const char *allow;     /**< clients to answer, such as "10.0.0.0/8,fd00::/8"; NULL: all */
    const char *deny;      /**< clients to refuse, even if they are in allow; NULL: none */
    const char *user;      /**< user to become after opening all; NULL: if root, ictus or nobody */
    const char *metrics;   /**< "[ADDRESS:]PORT" of the Prometheus endpoint or NULL */
    bool require_key;      /**< answer only authenticated requests */
    bool system_clock;     /**< serve CLOCK_REALTIME as it is, because it is known to be right */
    int64_t stratum;       /**< stratum to announce with system_clock */
    double rate;           /**< answers per second to each client; 0: no limit */
    int64_t burst;         /**< answers in a row to a client that has been quiet */
    enum ictus_lock_stamps stamps; /**< the most accurate to use; if refused, less accurate ones */
    void (*on_message)(const char *text, void *context); /**< may be NULL */
    void *context;                                       /**< of on_message */
};

/**
 * Answer NTP clients until SIGINT or SIGTERM. Blocking.
 * @param options  all members set, including size; must stay valid during the call
 * @param[out] why the reason of a failure; may be NULL
 * @return as ictus_lock_run()
 */
ICTUS_API int ictus_serve_run(const struct ictus_serve_options *options, struct ictus_why *why);

/** When to start: either `when` or `odd_minute_s` is set. */
struct ictus_at_when {
    const char *when;     /**< "+2min", "2026-12-01T12:00:30Z", "@1795000000.5"; or NULL */
    int64_t odd_minute_s; /**< this second of the next odd minute (M00); -1: not used */
    double align_s;       /**< round the instant up to a multiple of this; 0: do not round */
};

/**
 * Check, without reading a clock, that a description can be an instant. Reentrant.
 * @param when     the description
 * @param[out] why the reason of a failure; may be NULL
 * @return ICTUS_OK or ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_at_check(const struct ictus_at_when *when, struct ictus_why *why);

/**
 * Convert a description to an instant, relative to what a clock shows now. Reentrant.
 * @param when         the description
 * @param now          the present time on the same clock
 * @param[out] instant set only on success
 * @param[out] why     the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, or ICTUS_ERR_SPEC (the reason says what is possible, or that the
 *         instant has passed)
 */
ICTUS_API int ictus_at_instant(const struct ictus_at_when *when, struct ictus_time now,
                               struct ictus_time *instant, struct ictus_why *why);

/** The outcome of a start. */
struct ictus_at_report {
    struct ictus_time instant; /**< the instant that was agreed on */
    double lateness_ns;        /**< time from the instant until the command was released */
    double exec_ns;            /**< time that execvp(3) then took to replace the process */
    double sigma_ns;           /**< standard deviation of the clock's error at the instant */
    double bound_ns;           /**< hard bound of that error */
    int status;                /**< status of the command after it has ended, as for wait(2) */
};

/** What to start, and under which conditions. */
struct ictus_at_start {
    struct ictus_time instant; /**< on the locked clock */
    char *const *command;      /**< as for execvp(3) */
    double tolerance_ns;       /**< refuse to start if two standard deviations of the clock
                                    exceed this */
    bool use_bound; /**< refuse to start if the hard bound exceeds tolerance_ns, instead */
    void (*on_start)(const struct ictus_at_report *report, void *context); /**< may be NULL */
    void *context;                                                         /**< of on_start */
};

/**
 * Start a command at an instant of the locked clock and wait for its end. Blocking. A child process
 * is created beforehand, which sleeps, spins for the last moment and calls execvp(3). The tolerance
 * is checked now and again at the instant. on_start is called as soon as the command runs.
 * @param lock        from ictus_lock_open()
 * @param start       what to start, and when
 * @param[out] report filled as far as the start got
 * @param[out] why    the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_TOLERANCE, ICTUS_ERR_CLOCK (not locked, or stepped
 *         meanwhile), ICTUS_ERR_TIMEOUT (the instant has passed), ICTUS_ERR_IO (the command cannot
 *         be run)
 */
ICTUS_API int ictus_at_run(const struct ictus_lock *lock, const struct ictus_at_start *start,
                           struct ictus_at_report *report, struct ictus_why *why);

ICTUS_END

#endif
