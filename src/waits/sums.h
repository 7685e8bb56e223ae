/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of waits and their uncertainty from the errors of the clocks: the recorded sum, and the sum
 * under every error history.
 */
#ifndef ICTUS_WAITS_SUMS_H
#define ICTUS_WAITS_SUMS_H

#include "waits/analysis.h"

struct wait_sum {
    int64_t ticks; /* as recorded */
    uint64_t n;
    double decidable; /* ticks of waits whose sign is certain */
    double sigma;     /* sum over waits of their own standard deviations */
    /* mean of what histories add to waits that are confined by the end of their call */
    double confined;
    int64_t alike;       /* the part of ticks that no history changes: waits within one clock */
    double lanes[LANES]; /* what each history adds to ticks */
};

/* How certain a sum is, which determines its error bar. */
enum sum_kind { SUM_EXACT, SUM_CERTAIN, SUM_ABOUT, SUM_AT_MOST };

struct sum_range {
    double estimate, low, high; /* ticks */
    double decidable;           /* share */
    enum sum_kind kind;
};

/* Sums for one state, call path and location. */
struct wait_row {
    uint32_t state, path, location;
    struct wait_sum sum;
};

struct wait_pair {
    uint32_t state, waiter, causer; /* locations */
    int64_t ticks;
    uint64_t n;
};

/*
 * All calls of collectives with one call path: how long they took, and how much of that was
 * waiting.
 */
struct wait_site {
    uint32_t path, op;
    int64_t ticks;
    uint64_t calls, instances;
    struct wait_sum skew;
};

struct wait_rows {
    struct call_pass pass; /* first member: adds up waits */
    const struct analysis *analysis;
    struct wait_site *sites;
    uint64_t site_count;
    struct idmap site_index;
    struct wait_row *list;
    uint64_t count;
    struct idmap index;
    uint64_t last[WAIT_ROWS]; /* by state: the row that was last looked up */
    struct wait_pair *pairs;
    uint64_t pair_count;
    struct idmap pair_index;
};

/* Call before the pass over all calls; rows must be zeroed. */
void ictusi_rows_begin(struct wait_rows *rows, const struct analysis *analysis);

/* Call after it. Adds waits whose cause may differ in each history. Errors: ICTUS_ERR_NOMEM. */
int ictusi_rows_end(struct wait_rows *rows);

/*
 * The time in collectives by call path: first the total, which needs nothing of the pass and may be
 * counted at the same time, and at the end the part that was waiting. Errors: ICTUS_ERR_NOMEM.
 */
void ictusi_rows_sites(struct wait_rows *rows);
int ictusi_rows_sites_end(struct wait_rows *rows);

/* Add time that is reported beside the waits. Errors: ICTUS_ERR_NOMEM. */
int ictusi_rows_aside(struct wait_rows *rows, enum wait_state state, uint32_t path,
                      uint32_t location, int64_t ticks);
void ictusi_rows_free(struct wait_rows *rows);

void ictusi_sum_add(struct wait_sum *sum, const struct wait_sum *other);

/* The sum with its 95 % interval. */
struct sum_range ictusi_sum_range(const struct wait_sum *sum);

/*
 * What some error histories add to a call's wait for its recorded partner: lanes k and HISTORIES +
 * k of each. Returns false if no history adds anything; lanes are then not set.
 */
bool ictusi_wait_lanes(const struct analysis *analysis, uint64_t call, struct history_range range,
                       double lanes[LANES]);

#endif
