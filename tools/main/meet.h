/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting without spinning: processes that have nothing to do would take cores and memory bandwidth
 * from those that are being measured.
 */
#ifndef ICTUS_TOOLS_MEET_H
#define ICTUS_TOOLS_MEET_H

#include "main/progress.h"

/* Collective over MPI_COMM_WORLD: a barrier that sleeps. */
void meet_all(void);

/* Seconds on CLOCK_MONOTONIC, for sleeps and progress. */
double meet_now_s(void);

/* Sleep until then, or until this process was told to stop. */
void meet_sleep_until(double deadline_s);

/*
 * Likewise; a long sleep is no silence: progress goes evenly from done on by so much more, and
 * label (or NULL) is at work. Nothing is left on a terminal's line, and nothing is written after
 * the sleep, when something may be timed.
 */
void meet_sleep_telling(double deadline_s, struct progress *progress, double done, double more,
                        const char *label);

#endif
