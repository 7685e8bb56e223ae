/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a long measurement is, on standard error of rank 0. On a terminal one line that is
 * written over; under an MPI launcher, whose standard error is none, or with --progress a line of
 * its own every few seconds; with --verbose a line for each step; with --quiet nothing. Without a
 * launcher and a terminal (a cron job) nothing is said unless it is asked for. ICTUS_PROGRESS=0 in
 * the environment stands for --quiet here. Never inside a timed region: it writes.
 */
#ifndef ICTUS_TOOLS_PROGRESS_H
#define ICTUS_TOOLS_PROGRESS_H

#include <stdbool.h>

/* What --quiet, --progress and --verbose ask for. */
struct progress_options {
    bool quiet, progress, verbose;
};

enum progress_mode { PROGRESS_OFF, PROGRESS_LIVE, PROGRESS_LINES, PROGRESS_STEPS };

struct progress {
    const char *what;
    double total;
    double started_s;
    double shown_s; /* when the line was last written */
    enum progress_mode mode;
};

/* Begin. total counts whatever step counts; what names it: "experiments". */
void progress_start(struct progress *progress, const struct progress_options *options,
                    const char *what, double total);

/* Say that so much is done, if it is time to; label (or NULL) names what comes next. */
void progress_step(struct progress *progress, double done, const char *label);

/* Take the line away: before a row is printed, and at the end. */
void progress_hide(struct progress *progress);

#endif
