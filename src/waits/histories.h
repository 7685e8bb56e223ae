/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Possible errors of the clocks: error histories, which are drawn for each clock. A clock belongs
 * to a node, or to a process if the processes of a node differ. It reads truth + e(t), where e is
 * Gaussian and independent between clocks. e is known at knots and linear in between.
 */
#ifndef ICTUS_WAITS_HISTORIES_H
#define ICTUS_WAITS_HISTORIES_H

#include "correct/session.h"

/* Each history is used with both signs: lanes k and HISTORIES + k are history k, plus and minus. */
enum { HISTORIES = 40, LANES = 2 * HISTORIES };

enum sigma_source { SIGMA_ONE_CLOCK, SIGMA_ARCHIVE, SIGMA_MESSAGES, SIGMA_UNKNOWN };

struct clock_errors {
    uint32_t count;  /* knots */
    int64_t *times;  /* presynchronised ticks */
    double *sigma;   /* ticks, by knot */
    double *off;     /* ticks, by knot: how far the clock is ahead, to be subtracted */
    double *history; /* ticks, by knot and history */
};

struct histories {
    uint32_t *clock_of; /* by location */
    uint32_t clock_count;
    uint32_t *home; /* by clock: for a thread's own clock (numbered last), that of its process */
    struct clock_errors *clocks;
    enum sigma_source source;
    double worst; /* largest sigma of any clock, ticks */
    double reach; /* ticks: the largest error of any clock in any history */
    /* clocks x clocks x knots: sigma of a difference; NULL: errors are independent */
    double *pairs;
    uint32_t knots; /* per clock, if pairs is set */
};

/*
 * fitted: see ictusi_message_errors(). The caller must then correct times by
 * ictusi_histories_off(). Collective over the session's team. Call ictusi_histories_free() even
 * after an error: ICTUS_ERR_NOMEM.
 */
int ictusi_histories_make(struct histories *histories, struct session *session, uint32_t fitted);
void ictusi_histories_free(struct histories *histories);

/*
 * Threads whose own clocks are not tied to that of their process share its clock again. A
 * presumption is better than a clock about which nothing is known. group: by clock, the group of
 * clocks that it is tied to in both directions. Returns whether there were any; clocks have then
 * been renumbered.
 */
bool ictusi_histories_rejoin(struct histories *histories, const struct session *session,
                             const uint32_t *group);

/* Allocate room for this many knots. Errors: ICTUS_ERR_NOMEM. */
int ictusi_clock_errors_init(struct clock_errors *c, uint32_t count);

/* The standard deviation of the difference of two instants; 0 on the same clock. */
double ictusi_histories_sigma(const struct histories *histories, uint32_t location, int64_t time,
                              uint32_t other, int64_t other_time);

/* Some of the histories: those from `from` up to, but not including, `to`. */
struct history_range {
    int from, to;
};

/* The error of a location's clock at an instant, in some histories; the rest of off is not set. */
void ictusi_histories_read_some(const struct histories *histories, uint32_t location, int64_t time,
                                struct history_range range, double off[HISTORIES]);

/* The error of a location's clock at an instant, in each history. */
void ictusi_histories_read(const struct histories *histories, uint32_t location, int64_t time,
                           double off[HISTORIES]);

/* The same in one lane only. */
double ictusi_histories_at(const struct histories *histories, uint32_t location, int64_t time,
                           int lane);

/*
 * How much too fast a location's clock ran in each history, as a share of the time: the mean from
 * the first knot to the last.
 */
void ictusi_histories_rate(const struct histories *histories, uint32_t location,
                           double rate[HISTORIES]);

/*
 * How far a location's clock is ahead at an instant, ticks. The hint, at first 0, is kept from one
 * instant of the location to the next: it is faster if they are close.
 */
int64_t ictusi_histories_off(const struct histories *histories, uint32_t location, int64_t time,
                             uint32_t *hint);

#endif
