/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bound as a service to other programs: the shared-memory segment of ClockBound's protocol,
 * version 2 (aws/clock-bound, docs/PROTOCOL.md). Programs written for it can read ictus. It bounds
 * the error of CLOCK_REALTIME, whether or not and by whomever that is steered.
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

/* The layout of the segment, in the machine's own byte order. */
struct clockbound_segment {
    uint32_t magic[2];
    uint32_t size;
    _Atomic uint16_t version;    /* 0: not written yet */
    _Atomic uint16_t generation; /* odd while being written, and never 0 again */
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

/* Create the segment. @return ICTUS_OK, ICTUS_ERR_IO or ICTUS_ERR_PERMISSION */
int ictusi_clockbound_open(struct clockbound *bound, const char *path, struct ictus_why *why);

/* Publish that CLOCK_REALTIME is off by at most bound_ns now, and by drift (ns/s) more each
 * second. */
void ictusi_clockbound_tell(struct clockbound *bound, enum clockbound_status status,
                            double bound_ns, double drift);

/* Close the segment. It stays, with the status "unknown". */
void ictusi_clockbound_close(struct clockbound *bound);

#endif
