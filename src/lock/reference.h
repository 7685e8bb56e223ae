/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reference clocks of this machine: a PTP hardware clock, a PPS device, an NTP shared memory
 * segment, chrony's SOCK, gpsd. Each gives samples; what it has to ask of the system goes through
 * its own struct of calls, so that tests can answer instead.
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
    /* argument is what follows "name:", or "" */
    int (*open)(const char *argument, struct reference **reference, struct ictus_why *why);
    /*
     * New samples since the last call, at most max, without waiting. utc_ns is what the clock shows
     * now, for sources that cannot name the second. @return their number, or a negative error
     */
    int (*read)(struct reference *reference, struct timebase *base, int64_t utc_ns,
                struct sample *samples, int max);
    void (*close)(struct reference *reference);
};

/* The embedded base of each driver. */
struct reference {
    const struct reference_ops *ops;
};

/* Open "phc:/dev/ptp0", "shm:0", ... @return as the driver's open, or ICTUS_ERR_UNKNOWN */
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
