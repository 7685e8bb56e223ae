/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress line. */
#include "main/progress.h"

#include "main/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIVE_EVERY_S 0.1
#define LINES_EVERY_S 5.0

static double progress_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum progress_mode progress_mode_of(const struct progress_options *options)
{
    const char *term = getenv("TERM");
    const char *wanted = getenv("ICTUS_PROGRESS");
    const bool unwanted = wanted && strcmp(wanted, "0") == 0;
    if (command_rank() != 0 || options->quiet) {
        return PROGRESS_OFF;
    }
    if (options->verbose) {
        return PROGRESS_STEPS;
    }
    if (unwanted && !options->progress) {
        return PROGRESS_OFF;
    }
    if (isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0)) {
        return PROGRESS_LIVE;
    }
    return options->progress || command_launched() ? PROGRESS_LINES : PROGRESS_OFF;
}

void progress_start(struct progress *progress, const struct progress_options *options,
                    const char *what, double total)
{
    *progress = (struct progress){.what = what, .total = total, .started_s = progress_now_s()};
    progress->mode = progress_mode_of(options);
    /* Runs shorter than this report nothing. */
    progress->shown_s = progress->mode == PROGRESS_LINES ? progress->started_s : 0.0;
}

void progress_foretell(struct progress *progress, double step_s)
{
    if (step_s >= LINES_EVERY_S && isfinite(step_s)) {
        progress->step_s = step_s;
        progress->shown_s = 0.0; /* the first step is announced */
    }
}

static void progress_time(const char *before, double s, const char *after)
{
    const bool minutes = s >= 100.0;
    (void)fprintf(stderr, ", %s%.0f %s%s", before, minutes ? s / 60.0 : s, minutes ? "min" : "s",
                  after);
}

/* How long the rest will take; before the first step is done, how long a step may take. */
static void progress_rest(const struct progress *progress, double elapsed_s, double done)
{
    if (done > 0.0 && elapsed_s >= 1.0) {
        progress_time("", fmax(0.0, elapsed_s * (progress->total - done) / done), " left");
    } else if (progress->step_s > 0.0) {
        progress_time(progress->total > 1.0 ? "measuring each for up to " : "measuring for up to ",
                      progress->step_s, "");
    }
}

void progress_step(struct progress *progress, double done, const char *label)
{
    static const double every_s[] = {
        [PROGRESS_LIVE] = LIVE_EVERY_S, [PROGRESS_LINES] = LINES_EVERY_S, [PROGRESS_STEPS] = 0.0};
    const double now = progress_now_s();
    if (progress->mode == PROGRESS_OFF || now - progress->shown_s < every_s[progress->mode]) {
        return;
    }
    progress->shown_s = now;
    const bool live = progress->mode == PROGRESS_LIVE;
    const double share = progress->total > 0.0 ? done / progress->total : 0.0;
    (void)fprintf(stderr, "%s%3.0f %%  %.0f of %.0f %s",
                  live ? "\r\033[K" : "ictus: ", 100.0 * share, floor(done), progress->total,
                  progress->what);
    progress_rest(progress, now - progress->started_s, done);
    if (label) {
        (void)fprintf(stderr, "  %.60s", label);
    }
    (void)fprintf(stderr, live ? "" : "\n");
    (void)fflush(stderr);
}

void progress_hide(struct progress *progress)
{
    if (progress->mode == PROGRESS_LIVE && progress->shown_s > 0.0) {
        (void)fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
        progress->shown_s = 0.0;
    }
}
