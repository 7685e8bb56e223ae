/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reference clocks of this machine: a PTP hardware clock, a PPS device, an NTP shared memory
 * segment, chrony's SOCK, gpsd. Each yields samples. Its system calls go through a struct of its
 * own, so that tests can answer them.
 */
#ifndef ICTUS_LOCK_REFERENCE_H
#define ICTUS_LOCK_REFERENCE_H

#include "page/timebase.h"
#include "sample.h"

#include <ictus/error.h>

struct reference;

struct reference_ops {
    const char *name;
    const char *refid; /* four letters */
    /* `argument` is the text after "name:", or "". */
    int (*open)(const char *argument, struct reference **reference, struct ictus_why *why);
    /*
     * Read new samples since the last call, at most `max`, without waiting. utc_ns is what the
     * clock shows now, for sources that do not name the second. @return their number, or a negative
     * error
     */
    int (*read)(struct reference *reference, struct timebase *base, int64_t utc_ns,
                struct sample *samples, int max);
    void (*close)(struct reference *reference);
};

/* The embedded base of each driver. */
struct reference {
    const struct reference_ops *ops;
};

/* Open "phc:/dev/ptp0", "shm:0", ... @return the result of the driver's open, or
 * ICTUS_ERR_UNKNOWN */
int ictusi_reference_open(const char *spec, struct reference **reference, struct ictus_why *why);
int ictusi_reference_read(struct reference *reference, struct timebase *base, int64_t utc_ns,
                          struct sample *samples, int max);
void ictusi_reference_close(struct reference *reference);

extern const struct reference_ops ictusi_reference_phc;
extern const struct reference_ops ictusi_reference_pps;
extern const struct reference_ops ictusi_reference_shm;
extern const struct reference_ops ictusi_reference_sock;
extern const struct reference_ops ictusi_reference_gpsd;

#endif
