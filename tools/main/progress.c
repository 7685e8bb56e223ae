/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress line. */
#include "main/progress.h"

#include "main/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHOW_EVERY_S 0.1

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_start(struct progress *progress, const char *what, double total)
{
    const char *term = getenv("TERM");
    const bool dumb = term && strcmp(term, "dumb") == 0;
    *progress = (struct progress){.what = what, .total = total, .started_s = now_s()};
    progress->on = command_rank() == 0 && isatty(STDERR_FILENO) && !dumb;
}

static void show_rest(double elapsed_s, double done, double total)
{
    if (done <= 0.0 || elapsed_s < 1.0) {
        return;
    }
    const double rest_s = elapsed_s * (total - done) / done;
    if (rest_s < 100.0) {
        (void)fprintf(stderr, ", %.0f s left", rest_s);
    } else {
        (void)fprintf(stderr, ", %.0f min left", rest_s / 60.0);
    }
}

void progress_step(struct progress *progress, double done, const char *label)
{
    const double now = now_s();
    if (!progress->on || now - progress->shown_s < SHOW_EVERY_S) {
        return;
    }
    progress->shown_s = now;
    const double share = progress->total > 0.0 ? done / progress->total : 0.0;
    (void)fprintf(stderr, "\r\033[K%3.0f %%  %.0f of %.0f %s", 100.0 * share, done, progress->total,
                  progress->what);
    show_rest(now - progress->started_s, done, progress->total);
    if (label) {
        (void)fprintf(stderr, "  %.60s", label);
    }
    (void)fflush(stderr);
}

void progress_hide(struct progress *progress)
{
    if (progress->on && progress->shown_s > 0.0) {
        (void)fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
        progress->shown_s = 0.0;
    }
}
