/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Judging clocks: what the time sources of a job are like, how exchanges between its processes
 * behave, and how far a global clock is from rank 0's, by exchange and, where the source is
 * simulated, exactly. For the tools of ictus: not yet stable.
 *
 * Threads: as ictus/clock.h. Functions called local or pure are reentrant.
 */
#ifndef ICTUS_STUDY_H
#define ICTUS_STUDY_H

#include <ictus/api.h>
#include <ictus/clock.h>
#include <ictus/error.h>
#include <ictus/time.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/* What can be named in a specification. */

/** A time source or an algorithm. Static strings. */
struct ictus_entry {
    const char *name;    /**< as in a specification */
    const char *summary; /**< one line for lists */
};

/** A parameter of an algorithm. Static strings. */
struct ictus_parameter {
    const char *name;           /**< as in name=value */
    const char *fallback;       /**< the default, as text */
    const char *const *choices; /**< NULL-terminated; NULL where it is no choice */
    const char *help;           /**< one line for lists */
};

/** The source number @p index, the default first. @return ICTUS_OK or ICTUS_ERR_SAMPLES after the
 * last */
ICTUS_API int ictus_source_entry(size_t index, struct ictus_entry *entry);

/** The algorithm number @p index. Local. @return ICTUS_OK or ICTUS_ERR_SAMPLES after the last */
ICTUS_API int ictus_sync_entry(size_t index, struct ictus_entry *entry);

/** Parameter number @p parameter of algorithm number @p index. @return as ictus_sync_entry() */
ICTUS_API int ictus_sync_parameter(size_t index, size_t parameter, struct ictus_parameter *out);

/**
 * Check a source's specification ("sim:offset=1s"): its name and its parameters. Nothing is opened,
 * so this machine need not have the source. Local, without MPI.
 * @param spec     NULL is refused
 * @param[out] why says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC, ICTUS_ERR_ARG
 */
ICTUS_API int ictus_source_check(const char *spec, struct ictus_why *why);

/** Check an algorithm's specification ("hca3:fitpoints=500"). Local, without MPI. */
ICTUS_API int ictus_sync_check(const char *spec, struct ictus_why *why);

/**
 * The full texts "ALGORITHM" and "SOURCE" behind a clock's specification, defaults filled in.
 * Local.
 * @param spec        may be NULL
 * @param[out] sync   the algorithm with its parameters, terminated
 * @param sync_size   bytes of it
 * @param[out] source the source with its parameters, terminated
 * @param source_size bytes of it
 * @param[out] why    says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_SPEC, ICTUS_ERR_ARG where a text is too short
 */
ICTUS_API int ictus_clock_default(const char *spec, char *sync, size_t sync_size, char *source,
                                  size_t source_size, struct ictus_why *why);

/* The sources of a job, bare. */

struct ictus_study;

/**
 * Open a source on every process. Collective over @p comm; all get the same error, so this also
 * checks a source's specification.
 * @param comm       an intra-communicator; duplicated, the caller keeps its handle
 * @param source     "monotonic", "tsc", "sim:offset=1s", ...
 * @param[out] study set only on success; release with ictus_study_free()
 * @param[out] why   says why on failure; may be NULL
 */
ICTUS_API int ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                                 struct ictus_why *why);

/** Release. Collective where MPI_Comm_free is. @param study NULL is legal */
ICTUS_API void ictus_study_free(struct ictus_study *study);

/** Read the bare source. Local. */
ICTUS_API struct ictus_time ictus_study_now(const struct ictus_study *study);

/** What a source is like on this process. */
struct ictus_source_study {
    double resolution_ns; /**< smallest difference that readings show */
    double cost_ns;       /**< of one read; median over batches */
    uint64_t reads;       /**< compared with the one before */
    uint64_t backwards;   /**< how many of them were earlier than it */
    double worst_step_ns; /**< the largest step back */
    uint64_t cpus;        /**< hardware threads it was read on */
};

/** Study the source here. Local; takes some milliseconds and moves over the process's CPUs. */
ICTUS_API int ictus_study_source(const struct ictus_study *study, struct ictus_source_study *out);

/** Who shares a source. */
struct ictus_sharing {
    int group;        /**< this process's; groups are numbered by their lowest rank */
    int groups;       /**< in the communicator */
    int nodes;        /**< sets of processes with shared memory */
    int kernels;      /**< distinct boots and time namespaces */
    bool per_node;    /**< the groups are the nodes */
    int contradicted; /**< processes whose readings contradict what their source promises */
};

/**
 * Find out which processes read the same clock: equal identities (boot, time namespace, source,
 * parameters), and a few exchanges with the group's first process that do not contradict it.
 * Collective.
 */
ICTUS_API int ictus_study_sharing(struct ictus_study *study, struct ictus_sharing *out,
                                  struct ictus_why *why);

/** What promises that a source is the same elsewhere; empty: nothing. Local. */
ICTUS_API void ictus_study_identity(const struct ictus_study *study, char *text, size_t size);

/**
 * Round trips between two ranks. Both call it, others need not.
 * @param study       from ictus_study_create()
 * @param from        the rank that begins
 * @param to          the rank that answers
 * @param n           round trips
 * @param[out] rtt_ns on rank @p from, @p n values in the order they were taken; NULL on @p to
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_MPI, ICTUS_ERR_CLOCK (a clock ran backwards),
 *         ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_study_rtt(struct ictus_study *study, int from, int to, size_t n,
                              double *rtt_ns);

/** The bare clock of a reference against this process's, from one burst of exchanges. */
struct ictus_offset {
    struct ictus_time at; /**< on this process's source */
    int64_t offset_ns;    /**< reference minus this, whole part */
    double frac_ns;       /**< the rest */
    double half_width_ns; /**< no error exceeds this if no clock stepped */
};

/**
 * Measure an offset (H18 algorithm 7). Both ranks call it, others need not.
 * @param study       from ictus_study_create()
 * @param client      a rank
 * @param reference   another rank
 * @param exchanges   to take the smallest of
 * @param[out] offset on rank @p client; may be NULL on @p reference
 */
ICTUS_API int ictus_study_offset(struct ictus_study *study, int client, int reference,
                                 size_t exchanges, struct ictus_offset *offset);

/* A global clock against rank 0's. */

/** How far this process's global clock is from rank 0's. */
struct ictus_clock_error {
    bool known;           /**< this process was asked */
    double error_ns;      /**< this minus rank 0 at one instant */
    double half_width_ns; /**< how far the judgement itself may be off */
    double sigma_ns;      /**< what the clock says of itself at that instant */
    double path_ns;       /**< the systematic part of it, see struct ictus_reading */
    double bound_ns;      /**< likewise */
};

/**
 * Whether truth is known: the source is simulated, and all processes provably share the real one
 * underneath. Collective over the clock's communicator.
 */
ICTUS_API int ictus_clock_has_truth(const struct ictus_clock *clock, bool *truth);

/**
 * The exact error at one true instant, past or future: that of the local instant @p at of rank 0
 * (others' is ignored). Collective over the clock's communicator.
 */
ICTUS_API int ictus_clock_true_error(const struct ictus_clock *clock, struct ictus_time at,
                                     struct ictus_clock_error *out);

/**
 * The error as exchanges with rank 0 show it (H18 algorithm 6), one rank after the other.
 * Collective over the clock's communicator.
 * @param clock     not NULL
 * @param asked     this process is to be judged; rank 0 always knows its own error, 0
 * @param exchanges of each offset, for example 100
 * @param[out] out  of this process
 */
ICTUS_API int ictus_clock_measured_error(const struct ictus_clock *clock, bool asked,
                                         size_t exchanges, struct ictus_clock_error *out);

/* What the numbers say. Pure functions. */

/**
 * H08 3.1 over a recorded sample: exchange until the minimum has not fallen for @p patience times
 * in a row. The expectations of the simulation behind H08 figure 6, exactly.
 * @param sorted         round trips, ascending, in any unit
 * @param n              how many, at least 1
 * @param patience       H08's N
 * @param[out] exchanges expected number of exchanges
 * @param[out] error     expected excess of the minimum found over the smallest of the sample
 */
ICTUS_API int ictus_patience(const double *sorted, size_t n, size_t patience, double *exchanges,
                             double *error);

/** The expected excess of the minimum of @p k draws over the smallest of the sample. */
ICTUS_API int ictus_minimum_excess(const double *sorted, size_t n, size_t k, double *error);

/** A straight line through points. */
struct ictus_straight {
    double slope_ppm;    /**< parts per million */
    double intercept_ns; /**< at time 0 */
    double r2;           /**< share of the variance that the line explains; 1 where there is none */
    double max_residual_ns; /**< of the point furthest from it */
};

/** Ordinary least squares. @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_SAMPLES (under 2 points) */
ICTUS_API int ictus_straight_fit(const double *times_s, const double *offsets_ns, size_t n,
                                 struct ictus_straight *line);

/** For how long lines hold. */
struct ictus_holding {
    double median_s;   /**< half of the lines hold longer */
    double least_s;    /**< the first to leave held so long */
    bool median_known; /**< false: fewer than half left before the data end; median_s is a bound */
    size_t lines;      /**< tried */
    size_t lasted;     /**< held to the end of the data: nobody knows how long they would */
};

/**
 * Fit a line to each stretch of @p fit_s (of more than 2000 points to every few ones) and follow it
 * until the offsets have left it by more than the tolerance twice in a row (one stray measurement
 * ends nothing). Lines that hold to the end of the data count as the product-limit estimate counts
 * them (Kaplan and Meier 1958).
 * @param times_s      ascending
 * @param offsets_ns   at these times
 * @param n            of both
 * @param fit_s        length of the stretch that a line is fitted to
 * @param tolerance_ns how far offsets may leave it
 * @param[out] holding set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_SAMPLES where no stretch has 2 points and one behind
 */
ICTUS_API int ictus_straight_holding(const double *times_s, const double *offsets_ns, size_t n,
                                     double fit_s, double tolerance_ns,
                                     struct ictus_holding *holding);

/* Nodes, links and clocks that are out of line. */

/** What is wrong with a node; bits. */
enum ictus_node_fault {
    ICTUS_NODE_SLOW = 1,  /**< its round trips take longer than the others' */
    ICTUS_NODE_DRIFT = 2, /**< its clock runs at another rate than the others' */
    ICTUS_NODE_STEP = 4,  /**< its clock stepped while it was watched */
    ICTUS_NODE_SILENT = 8 /**< none of its exchanges could be used */
};

/** How a checkup measures, and from where on it calls something a fault. */
struct ictus_checkup_plan {
    int rounds;     /**< pairings of a sweep: how many others each node meets */
    double span_s;  /**< from the first to the last of three sweeps */
    double slow;    /**< a round trip this many times the usual one is slow */
    double drift;   /**< a clock this far from the median rate drifts; dimensionless */
    double step_ns; /**< a clock that changes by more than its rate explains stepped */
};

/** One node, in the order of ranks. */
struct ictus_node_check {
    double rtt_ns;   /**< of two nodes like this one */
    double drift;    /**< of its clock against the median one, dimensionless */
    double step_ns;  /**< of its clock, between the sweeps: by how much */
    double worst;    /**< the largest of these over its limit; a fault beyond 1 */
    unsigned faults; /**< enum ictus_node_fault */
};

/** A link that is slower than its two ends explain. */
struct ictus_link_check {
    int a;              /**< rank of one end */
    int b;              /**< rank of the other */
    double rtt_ns;      /**< what a round trip takes */
    double expected_ns; /**< what it would take by the other pairs of its ends */
    double worst;       /**< over its limit; beyond 1 */
};

/** What a checkup found; filled on rank 0 only, but for node_count and duration_s. */
struct ictus_checkup {
    int node_count;                 /**< how many nodes took part */
    struct ictus_node_check *nodes; /**< each of them */
    size_t link_count;              /**< bad ones, the worst first */
    struct ictus_link_check *links; /**< each of these */
    size_t pair_count;              /**< that could have been bad */
    double usual_rtt_ns;            /**< the median of all pairs */
    double drift_spread;            /**< robust standard deviation of the clocks' rates */
    double duration_s;              /**< from the first sweep to the end, on this process */
};

/**
 * Look for slow nodes, bad links and clocks that step or drift, by three sweeps of exchanges in
 * which each process of the study meets `rounds` others. Collective over the study's
 * communicator, best with one process a node; takes span_s and little more.
 * @param study     as of ictus_study_create()
 * @param plan      alike on all processes
 * @param[out] out  on all processes; release with ictus_checkup_free()
 * @param[out] why  says why on failure; may be NULL
 * @return ICTUS_OK, or alike on all processes: ICTUS_ERR_ARG (fewer than three processes, too),
 *         ICTUS_ERR_SAMPLES (nobody's exchanges could be used), ICTUS_ERR_NOMEM, ICTUS_ERR_MPI,
 * ICTUS_ERR_CLOCK
 */
ICTUS_API int ictus_study_checkup(struct ictus_study *study, const struct ictus_checkup_plan *plan,
                                  struct ictus_checkup **out, struct ictus_why *why);

/** Release; NULL is legal. Local. */
ICTUS_API void ictus_checkup_free(struct ictus_checkup *checkup);

ICTUS_END

#endif
