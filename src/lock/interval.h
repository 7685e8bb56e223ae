/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses when to ask again: between M00's tmin and tmax, by one of three policies. Pure. */
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
 * Return the intervals at the start, which are short so that the frequency is known soon: six
 * polls, at most 2 s apart, and then each interval twice the last one until tmin is reached.
 * polled: number of polls so far.
 */
double ictusi_interval_start(double tmin_s, int polled);

/* Choose the next interval, within a factor of 2 of the last one. */
struct interval_choice ictusi_interval_next(const struct interval_options *options,
                                            const struct discipline *d, double last_s);

#endif
