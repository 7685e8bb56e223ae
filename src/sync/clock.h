/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a clock, for the layers that build on it. */
#ifndef ICTUS_SYNC_CLOCK_H
#define ICTUS_SYNC_CLOCK_H

#include "clock/source.h"
#include "clock/watch.h"
#include "core/line.h"
#include "sync/sync.h"

#include <ictus/clock.h>
#include <stdbool.h>

enum { CLOCK_SPEC_MAX = 1536 };

struct ictus_clock {
    struct source *source;
    struct watch watch; /* of the source since the last sync began: no step falls in between */
    struct line line;
    struct line_error error;
    bool crowded;
    MPI_Comm comm; /* private */
    struct sync *sync;
    struct ictus_sync_stats stats;
    char spec[CLOCK_SPEC_MAX];
};

/*
 * Let go of what only synchronising again needs, communicators above all: the clock can still be
 * read, also where MPI cannot be used any more. Local.
 */
void ictusi_clock_settle(struct ictus_clock *clock);

/*
 * Take "SYNC[@SOURCE]" apart, filling in what is left out from the environment and the defaults.
 * text may be NULL. Errors: ICTUS_ERR_SPEC.
 */
int ictusi_clock_spec(const char *text, char *sync, size_t sync_size, char *source,
                      size_t source_size, struct ictus_why *why);

#endif
