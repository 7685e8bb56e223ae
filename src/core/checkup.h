/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes, links and clocks of a job are out of line, from a few sweeps of exchanges over the
 * same pairs. Pure. Every process meets some dozens of others, so what is wrong with it shows in
 * the median over its pairs; what is wrong with one pair does not move either end's median.
 */
#ifndef ICTUS_CORE_CHECKUP_H
#define ICTUS_CORE_CHECKUP_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKUP_SWEEPS = 3, CHECKUP_SIZE_MIN = 3 };

/* One pair in one sweep, as its client found it. */
struct checkup_meeting {
    int32_t client, server; /* server -1: nothing was measured */
    int64_t at;             /* ns on the client's clock */
    int64_t offset;         /* server minus client, ns */
    double rtt_ns;          /* typical round trip */
};

/* From where on something is out of line; all beside six robust standard deviations of all. */
struct checkup_limits {
    double slow;    /* a round trip, over the usual one */
    double drift;   /* of a clock against the median one, dimensionless */
    double step_ns; /* of a clock */
};

enum checkup_fault { CHECKUP_SLOW = 1, CHECKUP_DRIFT = 2, CHECKUP_STEP = 4, CHECKUP_SILENT = 8 };

struct checkup_process {
    double rtt_ns;  /* of a pair of processes like this one */
    double drift;   /* against the median clock, dimensionless */
    double step_ns; /* between the sweeps, by how much */
    double worst;   /* the most any of these is over its limit; beyond 1: a fault */
    unsigned faults;
};

struct checkup_link {
    int32_t a, b;
    double rtt_ns, expected_ns;
    double worst; /* over its limit; beyond 1 */
};

struct checkup {
    double usual_rtt_ns;
    double drift_spread;             /* robust standard deviation of all clocks' drifts */
    struct checkup_process *process; /* size */
    struct checkup_link *link;       /* the bad ones, the worst first */
    size_t links, pairs;             /* of pairs: those that met in all sweeps */
};

/*
 * Judge size >= CHECKUP_SIZE_MIN processes by CHECKUP_SWEEPS sweeps of `pairs` meetings each, in
 * the same order in all of them. Release with ictusi_checkup_free(). Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_SAMPLES.
 */
int ictusi_checkup(const struct checkup_meeting *meetings, size_t pairs, int size,
                   const struct checkup_limits *limits, struct checkup *out);

/* Legal on a zeroed structure. */
void ictusi_checkup_free(struct checkup *checkup);

#endif
