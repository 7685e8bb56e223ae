/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bound as a service to others: the shared-memory segment of ClockBound's protocol, version 2
 * (aws/clock-bound, docs/PROTOCOL.md), so that programs written for it read ictus. What it bounds
 * is CLOCK_REALTIME, steered or not, by whomever.
 */
#ifndef ICTUS_LOCK_CLOCKBOUND_H
#define ICTUS_LOCK_CLOCKBOUND_H

#include <ictus/error.h>
#include <stdatomic.h>
#include <stdint.h>

enum { CLOCKBOUND_VERSION = 2 };

enum clockbound_status {
    CLOCKBOUND_UNKNOWN,
    CLOCKBOUND_SYNCHRONIZED,
    CLOCKBOUND_FREE_RUNNING,
    CLOCKBOUND_DISRUPTED
};

/* The layout, in the machine's own byte order. */
struct clockbound_segment {
    uint32_t magic[2];
    uint32_t size;
    _Atomic uint16_t version;    /* 0: not written yet */
    _Atomic uint16_t generation; /* odd while it is written, and never 0 again */
    int64_t as_of_s, as_of_ns;   /* CLOCK_MONOTONIC_COARSE */
    int64_t void_after_s, void_after_ns;
    int64_t bound_ns;
    uint64_t disruption;
    uint32_t max_drift_ppb;
    int32_t status;
    uint8_t disruption_support;
    uint8_t padding[7];
};

struct clockbound {
    int fd;
    struct clockbound_segment *segment; /* NULL: none */
};

/* Make the segment. @return ICTUS_OK, ICTUS_ERR_IO or ICTUS_ERR_PERMISSION */
int ictusi_clockbound_open(struct clockbound *bound, const char *path, struct ictus_why *why);

/* CLOCK_REALTIME is off by bound_ns at most now, and by drift (ns/s) more each second. */
void ictusi_clockbound_tell(struct clockbound *bound, enum clockbound_status status,
                            double bound_ns, double drift);

/* The segment stays, as of a clock whose status nobody knows. */
void ictusi_clockbound_close(struct clockbound *bound);

#endif
