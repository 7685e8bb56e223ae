/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of several sources tell the truth, and what they say together: the largest set of intervals
 * that share a point (Marzullo 1984; RFC 5905, 11.2.1), which must be a majority; then the mean of
 * the best of them. Pure.
 */
#ifndef ICTUS_LOCK_SELECT_H
#define ICTUS_LOCK_SELECT_H

#include <ictus/lock.h>
#include <stdbool.h>

struct candidate {
    bool usable;            /* synchronised, reachable, settled */
    double offset_ns;       /* estimate, relative to a common origin, at a common instant */
    double frequency;       /* ns/s */
    double low_ns, high_ns; /* the truth lies in here, root distance included */
    double pp, pf, ff;      /* covariance */
    enum ictus_lock_selection selection; /* out */
};

struct consensus {
    double offset_ns, frequency;
    double pp, pf, ff;
    double low_ns, high_ns; /* shared by all truechimers */
    int selected;           /* index of the best */
};

/* @return false when no majority agrees: then nothing is to be believed */
bool ictusi_select(struct candidate *candidates, int count, struct consensus *out);

#endif
