/* SPDX-License-Identifier: BSD-3-Clause */
/* When to ask again: M00's tmin and tmax, and three policies between them. Pure. */
#ifndef ICTUS_LOCK_INTERVAL_H
#define ICTUS_LOCK_INTERVAL_H

#include "discipline.h"

struct interval_options {
    enum ictus_lock_policy policy;
    double tmin_s, tmax_s;
    double sigma_ns;
    int exchanges, exchanges_max;
};

struct interval_choice {
    double interval_s;
    int exchanges;
};

/*
 * Polls in quick succession at the start, to know the frequency soon: six, two seconds apart at
 * most, then each interval twice the last until tmin is reached. polled: how many there have been.
 */
double ictusi_interval_start(double tmin_s, int polled);

/* The next interval, within a factor 2 of the last one. */
struct interval_choice ictusi_interval_next(const struct interval_options *options,
                                            const struct discipline *d, double last_s);

#endif
