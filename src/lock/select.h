/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out which of several sources tell the truth, and combines them. Of n sources at most f = (n
 * - 1)/2, rounded down, are assumed to be wrong. The truth then lies in at least n - f intervals,
 * so the result is the hull of all points that n - f intervals share (Marzullo 1984). Up to f wrong
 * sources can neither move it off the truth nor make it wider than the hull of the right ones. The
 * estimate is the mean of the best sources that agree with the hull, limited to it. Pure.
 */
#ifndef ICTUS_LOCK_SELECT_H
#define ICTUS_LOCK_SELECT_H

#include <ictus/lock.h>
#include <stdbool.h>

struct candidate {
    bool votes;                 /* has intervals */
    bool counts;                /* also has an estimate that may enter the mean */
    double offset_ns;           /* estimate at a common instant, relative to a common origin */
    double frequency;           /* ns/s */
    double low_ns, high_ns;     /* contains the truth; includes the root distance */
    double rate_low, rate_high; /* contains the frequency of the local clock (ns/s) */
    double pp, pf, ff;          /* covariance */
    enum ictus_lock_selection selection; /* in: its state if it does not vote; out: the result */
};

struct consensus {
    double offset_ns, frequency;
    double pp, pf, ff;
    double low_ns, high_ns;     /* the hull */
    double rate_low, rate_high; /* likewise; all sources compare with the same local clock */
    int selected;               /* index of the best one; -1: none counts, only the hull is known */
    int voters, agreeing;       /* agreeing: the number of intervals that meet the hull */
    int liars;                  /* f: the number of sources that may be wrong */
};

/* @return false if no majority agrees. Then no source is trusted. */
bool ictusi_select(struct candidate *candidates, int count, struct consensus *out);

#endif
