/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Judging clocks: the properties of a job's time sources, the exchanges between its processes, and
 * the error of a global clock relative to rank 0's, by exchanges and, if the source is simulated,
 * exactly. The interface serves the tools of ictus and is not yet stable.
 *
 * Threads: as for ictus/clock.h. Functions that are marked as local or pure are reentrant.
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
    const char *const *choices; /**< terminated by NULL; NULL if it is not a choice */
    const char *help;           /**< one line for lists */
};

/**
 * Return source @p index. The default is the first one. Local.
 * @return ICTUS_OK, or ICTUS_ERR_SAMPLES after the last one
 */
ICTUS_API int ictus_source_entry(size_t index, struct ictus_entry *entry);

/** Return algorithm @p index. Local. @return ICTUS_OK, or ICTUS_ERR_SAMPLES after the last one */
ICTUS_API int ictus_sync_entry(size_t index, struct ictus_entry *entry);

/** Return parameter @p parameter of algorithm @p index. Local. @return as ictus_sync_entry() */
ICTUS_API int ictus_sync_parameter(size_t index, size_t parameter, struct ictus_parameter *out);

/**
 * Check the specification of a source ("sim:offset=1s"), that is its name and its parameters.
 * Nothing is opened, so the source need not exist on this machine. Local; without MPI.
 * @param spec     NULL is refused
 * @param[out] why the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC, ICTUS_ERR_ARG
 */
ICTUS_API int ictus_source_check(const char *spec, struct ictus_why *why);

/**
 * Check the specification of an algorithm ("hca3:fitpoints=500"). Local; without MPI. `why` may be
 * NULL.
 * @return ICTUS_OK, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_sync_check(const char *spec, struct ictus_why *why);

/**
 * Split the specification of a clock into "ALGORITHM" and "SOURCE", with defaults filled in. Local.
 * @param spec        may be NULL
 * @param[out] sync   the algorithm with its parameters, terminated
 * @param sync_size   bytes of it
 * @param[out] source the source with its parameters, terminated
 * @param source_size bytes of it
 * @param[out] why    the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_SPEC, ICTUS_ERR_ARG if there is not enough room
 */
ICTUS_API int ictus_clock_default(const char *spec, char *sync, size_t sync_size, char *source,
                                  size_t source_size, struct ictus_why *why);

/* The bare sources of a job. */

struct ictus_study;

/**
 * Open a source on every process. Collective over @p comm. All processes get the same error, so
 * this also checks the specification.
 * @param comm       an intra-communicator; duplicated, the caller keeps its handle
 * @param source     "monotonic", "tsc", "sim:offset=1s", ...
 * @param[out] study set only on success; release with ictus_study_free()
 * @param[out] why   the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_INTERCOMM, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC,
 *         ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_PERMISSION, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                                 struct ictus_why *why);

/** Release a study. Collective if MPI_Comm_free is. @param study NULL is allowed */
ICTUS_API void ictus_study_free(struct ictus_study *study);

/** Read the bare source. Local. `study` must not be NULL. */
ICTUS_API struct ictus_time ictus_study_now(const struct ictus_study *study);

/** The properties of a source on this process. */
struct ictus_source_study {
    double resolution_ns; /**< smallest difference between readings */
    double cost_ns;       /**< of one read; median over batches */
    uint64_t reads;       /**< reads that were compared with the previous one */
    uint64_t backwards;   /**< how many of them were earlier than the previous one */
    double worst_step_ns; /**< largest backward step */
    uint64_t cpus;        /**< hardware threads on which it was read */
};

/**
 * Study the source on this process. Local; takes some milliseconds and moves over the process's
 * CPUs.
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_study_source(const struct ictus_study *study, struct ictus_source_study *out);

/** Which processes share a source. */
struct ictus_sharing {
    int group;        /**< of this process; numbered in the order of their lowest ranks */
    int groups;       /**< number of groups */
    int nodes;        /**< number of sets of processes with shared memory */
    int kernels;      /**< number of different boots and time namespaces */
    bool per_node;    /**< the groups are the nodes */
    int contradicted; /**< processes whose readings contradict the promise of their source */
};

/**
 * Find out which processes read the same clock. They have equal identities (boot, time namespace,
 * source, parameters), and a few exchanges with the first process of the group do not contradict
 * this. Collective; blocking. `why` may be NULL.
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_study_sharing(struct ictus_study *study, struct ictus_sharing *out,
                                  struct ictus_why *why);

/**
 * Write the identity of the source. Equal texts promise the same source; an empty text promises
 * nothing. Local.
 */
ICTUS_API void ictus_study_identity(const struct ictus_study *study, char *text, size_t size);

/**
 * Measure round trips between two ranks. Both of them must call this function; for others it is
 * local.
 * @param study       from ictus_study_create()
 * @param from        the rank that starts each round trip
 * @param to          the rank that answers
 * @param n           number of round trips
 * @param[out] rtt_ns on rank @p from: @p n values in the order of measurement; may be NULL on @p to
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_MPI, ICTUS_ERR_CLOCK (a clock ran backwards),
 *         ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_study_rtt(struct ictus_study *study, int from, int to, size_t n,
                              double *rtt_ns);

/** The offset of a reference's bare clock to this process's, from one burst of exchanges. */
struct ictus_offset {
    struct ictus_time at; /**< on the source of this process */
    int64_t offset_ns;    /**< reference minus this process, whole part */
    double frac_ns;       /**< fractional part */
    double half_width_ns; /**< no error exceeds this unless a clock stepped */
};

/**
 * Measure an offset (H18 algorithm 7). Both ranks must call this function; for others it is local.
 * @param study       from ictus_study_create()
 * @param client      a rank
 * @param reference   another rank
 * @param exchanges   request-reply pairs, of which the narrowest bounds count
 * @param[out] offset on rank @p client; may be NULL on @p reference
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_MPI, ICTUS_ERR_CLOCK, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_study_offset(struct ictus_study *study, int client, int reference,
                                 size_t exchanges, struct ictus_offset *offset);

/* The error of a global clock relative to rank 0's. */

/** The error of this process's global clock relative to rank 0's. */
struct ictus_clock_error {
    bool known;           /**< this process was judged */
    double error_ns;      /**< this process minus rank 0 at one instant */
    double half_width_ns; /**< uncertainty of the judgement itself */
    double sigma_ns;      /**< the clock's own standard deviation at that instant */
    double path_ns;       /**< the systematic part of sigma_ns, see struct ictus_reading */
    double bound_ns;      /**< the clock's own bound at that instant */
};

/**
 * Find out whether truth is known: the source is simulated, and all processes provably share the
 * real source below it. Collective over the clock's communicator.
 * @return ICTUS_OK or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_clock_has_truth(const struct ictus_clock *clock, bool *truth);

/**
 * Return the exact error at one true instant, past or future. The instant is that of rank 0's local
 * instant @p at; the argument of other ranks is ignored. Collective over the clock's communicator.
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_clock_true_error(const struct ictus_clock *clock, struct ictus_time at,
                                     struct ictus_clock_error *out);

/**
 * Measure the error by exchanges with rank 0 (H18 algorithm 6), one rank after the other.
 * Collective over the clock's communicator.
 * @param clock     not NULL
 * @param asked     whether to judge this process; rank 0's own error is always known and 0
 * @param exchanges of each offset, for example 100
 * @param[out] out  of this process
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_MPI, ICTUS_ERR_CLOCK,
 *         ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_clock_measured_error(const struct ictus_clock *clock, bool asked,
                                         size_t exchanges, struct ictus_clock_error *out);

/* Evaluation of the numbers. Pure functions. */

/**
 * Apply H08 3.1 to a recorded sample: exchange until the minimum has not fallen @p patience times
 * in a row. The results are the exact expectations of the simulation of H08 figure 6. Pure.
 * @param sorted         round trips, ascending, in any unit
 * @param n              their number, at least 1
 * @param patience       H08's N
 * @param[out] exchanges expected number of exchanges
 * @param[out] error     expected excess of the minimum found over the smallest value of the sample
 * @return ICTUS_OK or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_patience(const double *sorted, size_t n, size_t patience, double *exchanges,
                             double *error);

/**
 * Compute the expected excess of the minimum of @p k draws over the smallest value of the sample.
 * Pure.
 * @return ICTUS_OK or ICTUS_ERR_ARG
 */
ICTUS_API int ictus_minimum_excess(const double *sorted, size_t n, size_t k, double *error);

/** A straight line through points. */
struct ictus_straight {
    double slope_ppm;       /**< parts per million */
    double intercept_ns;    /**< at time 0 */
    double r2;              /**< share of the variance that the line explains; 1 if there is none */
    double max_residual_ns; /**< distance of the point that is furthest from it */
};

/**
 * Fit a line by ordinary least squares. Pure.
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_SAMPLES (fewer than 2 different times)
 */
ICTUS_API int ictus_straight_fit(const double *times_s, const double *offsets_ns, size_t n,
                                 struct ictus_straight *line);

/** How long lines hold. */
struct ictus_holding {
    double median_s;   /**< half of the lines hold longer */
    double least_s;    /**< life of the first line that ended */
    bool median_known; /**< false: fewer than half ended before the end of the data; median_s is
                            then a lower bound */
    size_t lines;      /**< number of lines */
    size_t lasted;     /**< lines that held to the end of the data, so that their life is unknown */
};

/**
 * Fit a line to each stretch of length @p fit_s, or to a selection of stretches if there are more
 * than 2000 points. Follow it until the offsets have left it by more than the tolerance twice in a
 * row, so that a single stray measurement does not end it. Lines that hold to the end of the data
 * enter the product-limit estimate as censored (Kaplan and Meier 1958). Pure.
 * @param times_s      ascending
 * @param offsets_ns   at these times
 * @param n            number of points
 * @param fit_s        length of the stretch to which a line is fitted
 * @param tolerance_ns how far the offsets may be from the line
 * @param[out] holding set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_SAMPLES if no stretch has 2 points
 *         and one after it
 */
ICTUS_API int ictus_straight_holding(const double *times_s, const double *offsets_ns, size_t n,
                                     double fit_s, double tolerance_ns,
                                     struct ictus_holding *holding);

/* Nodes, links and clocks that deviate from the others. */

/** The faults of a node, as bits. */
enum ictus_node_fault {
    ICTUS_NODE_SLOW = 1,  /**< its round trips take longer than those of others */
    ICTUS_NODE_DRIFT = 2, /**< its clock runs at a rate other than the others' */
    ICTUS_NODE_STEP = 4,  /**< its clock stepped during the checkup */
    ICTUS_NODE_SILENT = 8 /**< none of its exchanges could be used */
};

/** How a checkup measures, and the limits beyond which a value is a fault. */
struct ictus_checkup_plan {
    int rounds;     /**< pairings in each sweep: the number of others that each node meets */
    double span_s;  /**< from the first to the last of three sweeps */
    double slow;    /**< a round trip that takes this many times the usual one is slow */
    double drift;   /**< a clock that is this far from the median rate drifts; dimensionless */
    double step_ns; /**< a change by this much more than the rate explains is a step */
};

/** One node, in the order of ranks. */
struct ictus_node_check {
    double rtt_ns;   /**< round trip between two nodes like this one */
    double drift;    /**< of its clock relative to the median one, dimensionless */
    double step_ns;  /**< step of its clock between the sweeps */
    double worst;    /**< largest ratio of these to their limits; above 1: a fault */
    unsigned faults; /**< enum ictus_node_fault */
};

/** A link that is slower than its two ends explain. */
struct ictus_link_check {
    int a;              /**< rank of one end */
    int b;              /**< rank of the other */
    double rtt_ns;      /**< round trip */
    double expected_ns; /**< round trip expected from the other pairs of its ends */
    double worst;       /**< ratio to its limit; above 1: a fault */
};

/** The result of a checkup. It is filled on rank 0 only, except for node_count and duration_s. */
struct ictus_checkup {
    int node_count;                 /**< number of nodes that took part */
    struct ictus_node_check *nodes; /**< one for each node */
    size_t link_count;              /**< number of bad links */
    struct ictus_link_check *links; /**< the bad links, the worst first */
    size_t pair_count;              /**< number of pairs that were judged */
    double usual_rtt_ns;            /**< median over all pairs */
    double drift_spread;            /**< robust standard deviation of the clocks' rates */
    double duration_s;              /**< from the first sweep to the end, on this process */
};

/**
 * Look for slow nodes, bad links and clocks that step or drift, by three sweeps of exchanges in
 * which each process of the study meets `rounds` others. Collective over the study's communicator,
 * preferably with one process on each node; blocking. Takes little more than span_s.
 * @param study    from ictus_study_create()
 * @param plan     the same on all processes
 * @param[out] out on all processes; release with ictus_checkup_free()
 * @param[out] why the reason of a failure; may be NULL
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_ARG (also for fewer than three processes),
 *         ICTUS_ERR_SAMPLES (no exchanges could be used), ICTUS_ERR_NOMEM, ICTUS_ERR_MPI,
 *         ICTUS_ERR_CLOCK
 */
ICTUS_API int ictus_study_checkup(struct ictus_study *study, const struct ictus_checkup_plan *plan,
                                  struct ictus_checkup **out, struct ictus_why *why);

/** Release the result; NULL is allowed. Local. */
ICTUS_API void ictus_checkup_free(struct ictus_checkup *checkup);

ICTUS_END

#endif
