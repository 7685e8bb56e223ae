/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What `ictus lock`, `ictus serve` and `ictus at` run: keeping the network clock (M00), answering
 * NTP clients from it, and starting a command at an instant of it. In libictus-lock; no MPI.
 * Made for the tools of ictus, and not yet stable. Call each function from one thread only.
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

/** Who takes the time stamps of packets: the application, the kernel or the network card. */
enum ictus_lock_stamps { ICTUS_STAMPS_USER, ICTUS_STAMPS_KERNEL, ICTUS_STAMPS_HARDWARE };

/** How the loop's gains are chosen: from the noise, or from M00's tconf in a frequency or phase
 * lock. */
enum ictus_lock_loop { ICTUS_LOCK_ADAPTIVE, ICTUS_LOCK_FLL, ICTUS_LOCK_PLL };

/** How the next interval is chosen, between tmin and tmax and within a factor of 2 of the last. */
enum ictus_lock_policy {
    ICTUS_LOCK_BEST, /**< the longest in which the oscillator wanders less than a reading errs */
    ICTUS_LOCK_CHEAPEST, /**< the smallest product of packets and variance */
    ICTUS_LOCK_TARGET,   /**< the longest that keeps sigma; if none does, more exchanges */
    ICTUS_LOCK_FIXED     /**< always tmin */
};

/** One poll of one source, as it is logged. It is valid only during the call of on_poll. */
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
    int64_t min_sources; /**< how many sources must agree, in addition to being a majority */
    int64_t polls;       /**< stop after this many polls of each source; 0: never */
    double duration_s;   /**< stop after this time; 0: never */
    double spacing_s;    /**< time between the exchanges of a group */
    double timeout_s;    /**< how long to wait for a reply */
    double sigma_s;      /**< wanted accuracy, and the smallest difference that is a glitch (M00) */
    double tconf_s;      /**< time constant of the classic loops (M00) */
    double tmin_s;       /**< shortest interval */
    double tmax_s;       /**< longest interval */
    double wander;       /**< how far the frequency may be from its mean, a ratio; for the bound */
    double max_distance_s;  /**< servers with a larger root distance are refused */
    double makestep_s;      /**< larger corrections of the absolute clock step it; others slew it */
    double maxchange_s;     /**< end instead of changing a locked clock by more; 0: no limit */
    const char *clockbound; /**< file of the segment that ClockBound's clients read, or NULL */
    const char *drift;      /**< file that keeps the frequency between runs, or NULL */
    void (*on_poll)(const struct ictus_lock_poll *poll, void *context); /**< may be NULL */
    void (*on_message)(const char *text, void *context);                /**< may be NULL */
    void *context;                                                      /**< passed to both */
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
    const char *address;   /**< address to listen at; NULL: all, IPv4 and IPv6 */
    int64_t port;          /**< usually 123 */
    const char *name;      /**< name of the lock instance that is served */
    const char *directory; /**< directory of its shared page; NULL: the default */
    const char *keys;      /**< key file or NULL */
    const char *allow;     /**< clients to answer, such as "10.0.0.0/8,fd00::/8"; NULL: everybody */
    const char *deny;      /**< clients to refuse, even if they are in allow; NULL: nobody */
    const char *user;    /**< to become after opening everything; NULL: ictus or nobody, if root */
    const char *metrics; /**< "[ADDRESS:]PORT" of the Prometheus endpoint or NULL */
    bool require_key;    /**< answer authenticated requests only */
    bool system_clock;   /**< serve CLOCK_REALTIME as it is: a machine known to be right */
    int64_t stratum;     /**< stratum to claim for system_clock */
    double rate;         /**< answers per second and client; 0: no limit */
    int64_t burst;       /**< answers in a row to a client that was quiet before */
    enum ictus_lock_stamps stamps; /**< the best to take; lesser ones where they are refused */
    void (*on_message)(const char *text, void *context); /**< may be NULL */
    void *context;                                       /**< of on_message */
};

/**
 * Answer NTP clients until SIGINT or SIGTERM.
 * @param options  size and all else set
 * @param[out] why filled on failure; may be NULL
 * @return as ictus_lock_run()
 */
ICTUS_API int ictus_serve_run(const struct ictus_serve_options *options, struct ictus_why *why);

/** When to start: either `when` or `odd_minute_s`. */
struct ictus_at_when {
    const char *when;     /**< "+2min", "2026-12-01T12:00:30Z", "@1795000000.5"; or NULL */
    int64_t odd_minute_s; /**< this second of the next odd-numbered minute (M00); -1: not used */
    double align_s;       /**< round the instant up to a multiple of this; 0: no */
};

/**
 * Whether something is asked for that can be an instant: what can be known before any clock is
 * read. Local, reentrant.
 * @param when     what was asked for
 * @param[out] why filled on failure; may be NULL
 * @return ICTUS_OK or ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_at_check(const struct ictus_at_when *when, struct ictus_why *why);

/**
 * Convert a text to an instant, relative to what a clock shows now.
 * @param when         what was asked for
 * @param now          the present time on the same clock
 * @param[out] instant set only on success
 * @param[out] why     filled on failure; may be NULL
 * @return ICTUS_OK or ICTUS_ERR_SPEC (the reason says what is possible, or that it has passed)
 */
ICTUS_API int ictus_at_instant(const struct ictus_at_when *when, struct ictus_time now,
                               struct ictus_time *instant, struct ictus_why *why);

/** The outcome of a start. */
struct ictus_at_report {
    struct ictus_time instant; /**< the instant that was agreed on */
    double lateness_ns;        /**< how long after the instant the command was let go */
    double exec_ns;            /**< how long execvp(3) then took to replace the process */
    double sigma_ns;           /**< standard deviation of the clock's error at the instant */
    double bound_ns;           /**< hard bound of that error */
    int status;                /**< status of the command as wait(2) gives it, once it has ended */
};

/** What to start, and under which conditions. */
struct ictus_at_start {
    struct ictus_time instant; /**< on the locked clock */
    char *const *command;      /**< as for execvp(3) */
    double tolerance_ns;       /**< refuse if two standard deviations of the clock exceed this */
    bool use_bound; /**< refuse if the clock's hard bound exceeds tolerance_ns, instead */
    void (*on_start)(const struct ictus_at_report *report, void *context); /**< may be NULL */
    void *context;                                                         /**< of on_start */
};

/**
 * Start a command at an instant of the locked clock and wait for its end. The process is
 * prepared first: it sleeps, spins for the last moment and calls execvp(3). The tolerance is
 * checked now and again at the instant. on_start is called as soon as the command runs.
 * @param lock        from ictus_lock_open()
 * @param start       what to start, and when
 * @param[out] report filled as far as the start came
 * @param[out] why    filled on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_TOLERANCE, ICTUS_ERR_CLOCK (not locked; stepped meanwhile),
 *         ICTUS_ERR_TIMEOUT (the instant has passed), ICTUS_ERR_IO (the command cannot be run)
 */
ICTUS_API int ictus_at_run(const struct ictus_lock *lock, const struct ictus_at_start *start,
                           struct ictus_at_report *report, struct ictus_why *why);

ICTUS_END

#endif
