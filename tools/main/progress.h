/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a long measurement is, on standard error of rank 0. On a terminal one line that is
 * written over; under an MPI launcher, whose standard error is none, or with --progress a line of
 * its own every few seconds; with --verbose a line for each step; with --quiet nothing. Without a
 * launcher and a terminal (a cron job) nothing is said unless it is asked for. ICTUS_PROGRESS=0 in
 * the environment stands for --quiet here. Never inside a timed region: it writes.
 *
 * A struct progress is for work that comes in steps; the command tells of each. A struct
 * progress_watch is for one long call (reading an archive): a thread of its own says from two
 * seconds on that the call is still at work, and for how long.
 */
#ifndef ICTUS_TOOLS_PROGRESS_H
#define ICTUS_TOOLS_PROGRESS_H

#include <pthread.h>
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
    double step_s;  /* the longest that a step may take, where that is worth saying; else 0 */
    enum progress_mode mode;
};

/* How progress is to be shown here; PROGRESS_OFF on all ranks but 0. */
enum progress_mode progress_mode_of(const struct progress_options *options);

/* Begin. total counts whatever step counts; what names it: "experiments". */
void progress_start(struct progress *progress, const struct progress_options *options,
                    const char *what, double total);

/*
 * A step takes up to so long (seconds; 0: not known) and nothing can be said meanwhile. The first
 * one says so, where that is longer than lines are apart.
 */
void progress_foretell(struct progress *progress, double step_s);

/* Say that so much is done, if it is time to; label (or NULL) names what comes next. */
void progress_step(struct progress *progress, double done, const char *label);

/* Remove the progress line, before a row is printed and at the end. */
void progress_hide(struct progress *progress);

enum { PROGRESS_WORK_CHARS = 160 };

struct progress_watch {
    const char *command;
    char work[PROGRESS_WORK_CHARS]; /* "'run1' (1.2 GB)" */
    double started_s;
    enum progress_mode mode;
    bool shown, running, over;
    pthread_t thread;
    pthread_mutex_t lock; /* guards shown and over */
    pthread_cond_t wake;
};

/*
 * Begin to watch a command's work on some files or directories. Nothing is written where they
 * cannot be watched. The thread calls neither MPI nor malloc.
 */
void progress_watch_begin(struct progress_watch *watch, const struct progress_options *options,
                          const char *command, int count, char **paths);

/*
 * Likewise a command's work on something other than files, named in words: "64 nodes". A line may
 * be written during a timed exchange, so this is for measurements that bear one outlier.
 */
void progress_watch_measuring(struct progress_watch *watch, const struct progress_options *options,
                              const char *command, const char *what);

/* The work is over: before results or an error are printed. */
void progress_watch_end(struct progress_watch *watch);

#endif
