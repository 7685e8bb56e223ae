/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the nodes, links and clocks of a job that deviate from the others, from a few sweeps of
 * exchanges over the same pairs. Pure. Every process meets some dozens of others. A fault of a
 * process therefore shows in the median over its pairs, whereas a fault of a single pair does not
 * move the median of either end.
 */
#ifndef ICTUS_CORE_CHECKUP_H
#define ICTUS_CORE_CHECKUP_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKUP_SWEEPS = 3, CHECKUP_SIZE_MIN = 3 };

/* One pair in one sweep, as its client measured it. */
struct checkup_meeting {
    int32_t client, server; /* server -1: nothing was measured */
    int64_t at;             /* ns on the client's clock */
    int64_t offset;         /* server minus client, ns */
    double rtt_ns;          /* typical round trip */
};

/* The limits beyond which a value is a fault. In addition it must exceed six robust standard
 * deviations of all. */
struct checkup_limits {
    double slow;    /* a round trip, relative to the usual one */
    double drift;   /* of a clock against the median one, dimensionless */
    double step_ns; /* of a clock */
};

enum checkup_fault { CHECKUP_SLOW = 1, CHECKUP_DRIFT = 2, CHECKUP_STEP = 4, CHECKUP_SILENT = 8 };

struct checkup_process {
    double rtt_ns;  /* of a pair of processes like this one */
    double drift;   /* against the median clock, dimensionless */
    double step_ns; /* step between the sweeps */
    double worst;   /* largest ratio of these to their limits; above 1: a fault */
    unsigned faults;
};

struct checkup_link {
    int32_t a, b;
    double rtt_ns, expected_ns;
    double worst; /* ratio to its limit; above 1: a fault */
};

struct checkup {
    double usual_rtt_ns;
    double drift_spread;             /* robust standard deviation of the drifts of all clocks */
    struct checkup_process *process; /* size */
    struct checkup_link *link;       /* the bad links, the worst first */
    size_t links, pairs;             /* pairs: those that met in all sweeps */
};

/*
 * Judge size >= CHECKUP_SIZE_MIN processes by CHECKUP_SWEEPS sweeps of `pairs` meetings each, in
 * the same order in all sweeps. Release the result with ictusi_checkup_free(). Errors:
 * ICTUS_ERR_NOMEM, ICTUS_ERR_SAMPLES.
 */
int ictusi_checkup(const struct checkup_meeting *meetings, size_t pairs, int size,
                   const struct checkup_limits *limits, struct checkup *out);

/* Release the result. Allowed on a zeroed structure. */
void ictusi_checkup_free(struct checkup *checkup);

#endif
