/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of several sources tell the truth, and what they say together. Of n sources at most
 * f = (n - 1)/2, rounded down, are taken for liars; the truth then lies in n - f intervals at
 * least, so what is told is the hull of all points that n - f intervals share (Marzullo 1984). No f
 * liars can move it off the truth, nor make it wider than the honest ones are together.
 * The estimate is the mean of the best of those that meet it, held within it. Pure.
 */
#ifndef ICTUS_LOCK_SELECT_H
#define ICTUS_LOCK_SELECT_H

#include <ictus/lock.h>
#include <stdbool.h>

struct candidate {
    bool votes;                 /* has intervals */
    bool counts;                /* has an estimate worth taking into the mean as well */
    double offset_ns;           /* estimate, relative to a common origin, at a common instant */
    double frequency;           /* ns/s */
    double low_ns, high_ns;     /* the truth lies in here, root distance included */
    double rate_low, rate_high; /* the local clock's frequency lies in here (ns/s) */
    double pp, pf, ff;          /* covariance */
    enum ictus_lock_selection selection; /* in: what it is if it does not vote; out */
};

struct consensus {
    double offset_ns, frequency;
    double pp, pf, ff;
    double low_ns, high_ns;     /* the hull */
    double rate_low, rate_high; /* likewise; all sources watch one local clock */
    int selected;               /* index of the best; -1: none counts, only the hull is known */
    int voters, agreeing;       /* agreeing: whose intervals meet the hull */
    int liars;                  /* f: so many may lie */
};

/* @return false when no majority agrees: then nothing is to be believed */
bool ictusi_select(struct candidate *candidates, int count, struct consensus *out);

#endif
