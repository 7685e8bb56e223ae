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
    struct watch watch; /* watches the source from the beginning of the last sync, so that no
                           step goes unnoticed */
    struct line line;
    struct line_error error;
    bool crowded;
    MPI_Comm comm; /* private */
    struct sync *sync;
    struct ictus_sync_stats stats;
    char spec[CLOCK_SPEC_MAX];
};

/* Release what only a further synchronisation would need, above all the communicators. The clock
 * can still be read, even where MPI can no longer be used. Local. */
void ictusi_clock_settle(struct ictus_clock *clock);

/* Split "SYNC[@SOURCE]" into its parts. A missing part is taken from the environment or, failing
 * that, from the defaults. `text` may be NULL. Errors: ICTUS_ERR_SPEC. */
int ictusi_clock_spec(const char *text, char *sync, size_t sync_size, char *source,
                      size_t source_size, struct ictus_why *why);

#endif
