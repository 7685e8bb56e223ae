/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the clocks may have been off by: error histories, drawn for each clock. A clock is that of a
 * node, or of a process where those of a node differ. It reads truth + e(t); e is Gaussian and
 * independent between clocks, known at knots and a straight line between them.
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
    double *off;     /* ticks, by knot: what the clock shows too much, to be taken off */
    double *history; /* ticks, by knot and history */
};

struct histories {
    uint32_t *clock_of; /* by location */
    uint32_t clock_count;
    uint32_t *home; /* by clock: of a thread's own one, after all others, that of its process */
    struct clock_errors *clocks;
    enum sigma_source source;
    double worst;   /* largest sigma of any clock, ticks */
    double reach;   /* ticks: no clock is off by more in any history */
    double *pairs;  /* clocks x clocks x knots: sigma of a difference; NULL: of independent ones */
    uint32_t knots; /* of each clock, where there are pairs */
};

/*
 * fitted: see ictusi_message_errors(). Times are to be mended by ictusi_histories_off() afterwards.
 * Collective over the session's team. Errors: ICTUS_ERR_NOMEM. Released by
 * ictusi_histories_free(), after errors too.
 */
int ictusi_histories_make(struct histories *histories, struct session *session, uint32_t fitted);
void ictusi_histories_free(struct histories *histories);

/*
 * Threads whose clocks are not tied to that of their process share it again: better a presumption
 * than clocks of which nothing is known. group: what a clock is tied to both ways, by clock.
 * Whether there were any; clocks are numbered anew then.
 */
bool ictusi_histories_rejoin(struct histories *histories, const struct session *session,
                             const uint32_t *group);

/* Room for so many knots. Errors: ICTUS_ERR_NOMEM. */
int ictusi_clock_errors_init(struct clock_errors *c, uint32_t count);

/* The standard deviation of the difference of two instants; 0 on one clock. */
double ictusi_histories_sigma(const struct histories *histories, uint32_t location, int64_t time,
                              uint32_t other, int64_t other_time);

/* What a location's clock was off by at an instant, in each history. */
void ictusi_histories_read(const struct histories *histories, uint32_t location, int64_t time,
                           double off[HISTORIES]);

/* The same in one lane alone. */
double ictusi_histories_at(const struct histories *histories, uint32_t location, int64_t time,
                           int lane);

/*
 * By how much a location's clock ran too fast in each history, a share of the time: its mean from
 * the first knot to the last.
 */
void ictusi_histories_rate(const struct histories *histories, uint32_t location,
                           double rate[HISTORIES]);

/* What a location's clock shows too much at an instant, ticks. */
int64_t ictusi_histories_off(const struct histories *histories, uint32_t location, int64_t time);

#endif
