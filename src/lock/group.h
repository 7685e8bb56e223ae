/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns the exchanges of one poll into one measurement (M00 5.1: groups of five, without the first
 * one, whose caches are cold). The variance is learned from how far each delay exceeds the smallest
 * one. An exchange whose delay is s above the minimum has an offset error within +-s/2. If both
 * directions wait alike, the error is uniform in it, so its variance is s^2/12. If they do not
 * (lean.h), the mean error is subtracted. Pure.
 */
#ifndef ICTUS_LOCK_GROUP_H
#define ICTUS_LOCK_GROUP_H

#include "lean.h"
#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROUP_MAX = 64, DELAY_WINDOW = 256 };

/* The recent delays of one path. */
struct delays {
    double ring[DELAY_WINDOW];
    size_t count; /* added since the start */
    size_t first; /* index of the first delay that belongs to this path */
    struct lean lean;
};

struct measurement {
    int64_t local;       /* CLOCK_MONOTONIC_RAW */
    int64_t offset_ns;   /* remote minus local, whole part */
    double offset_frac;  /* fractional part */
    double variance_ns2; /* of the weighted offset, from the delays */
    double common_ns;    /* error common to this path's measurements, from the lean's model */
    double mean_ns;      /* M00's estimate: unweighted mean of the kept offsets, minus offset_ns */
    double spread_ns;    /* its standard deviation: M00's expected accuracy */
    double delay_ns;     /* smallest of the group */
    double delay_sd_ns;  /* M00 figure 4b */
    double send_ns, network_ns, receive_ns; /* means */
    int count, used;                        /* exchanges made and kept */
    bool interleaved, kernel;
};

/* Forget everything about a path. */
void ictusi_lock_delays_reset(struct delays *delays);

/* Combine the samples of one poll. If drop_first is set and there are more than two, the first
 * is left out. @return false if none is left */
bool ictusi_group_combine(const struct sample *samples, size_t count, bool drop_first,
                          struct delays *delays, struct measurement *out);

#endif
