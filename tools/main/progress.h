/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line on standard error that says how far a long measurement is, where standard error is a
 * terminal and this is rank 0. Never inside a timed region: it writes.
 */
#ifndef ICTUS_TOOLS_PROGRESS_H
#define ICTUS_TOOLS_PROGRESS_H

#include <stdbool.h>

struct progress {
    const char *what;
    double total;
    double started_s;
    double shown_s; /* when the line was last written */
    bool on;
};

/* Begin. total counts whatever step counts; what names it: "experiments". */
void progress_start(struct progress *progress, const char *what, double total);

/* Say that so much is done; writes at most ten times a second. label may be NULL. */
void progress_step(struct progress *progress, double done, const char *label);

/* Take the line away: before a row is printed, and at the end. */
void progress_hide(struct progress *progress);

#endif
