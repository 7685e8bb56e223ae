/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the exchanges of one poll to one measurement (M00 5.1: groups of five, the first left out
 * because its caches are cold), with a variance learnt from how far each delay stands above the
 * smallest: an exchange whose delay is s above the minimum has an offset within +-s/2, uniformly
 * where both directions wait alike, so its variance is s^2/12. Where they do not (lean.h), the mean
 * of what the waits add is taken out. Pure.
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
    size_t count; /* ever added */
    size_t first; /* those before belong to another path */
    struct lean lean;
};

struct measurement {
    int64_t local;       /* CLOCK_MONOTONIC_RAW */
    int64_t offset_ns;   /* remote minus local, whole part */
    double offset_frac;  /* and the rest */
    double variance_ns2; /* of the weighted offset, as the delays suggest */
    double common_ns;    /* error that all measurements of this path share: of the lean's model */
    double mean_ns;      /* M00's own: unweighted mean of the kept, minus offset_ns */
    double spread_ns;    /* its standard deviation: M00's expected accuracy */
    double delay_ns;     /* smallest of the group */
    double delay_sd_ns;  /* M00 figure 4b */
    double send_ns, network_ns, receive_ns; /* means */
    int count, used;                        /* exchanges made and kept */
    bool interleaved, kernel;
};

/* Forget a path. */
void ictusi_lock_delays_reset(struct delays *delays);

/*
 * Combine the samples of one poll. The first is left out if drop_first and more than two are there.
 * @return false when none is left
 */
bool ictusi_group_combine(const struct sample *samples, size_t count, bool drop_first,
                          struct delays *delays, struct measurement *out);

#endif
