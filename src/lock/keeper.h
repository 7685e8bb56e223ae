/* SPDX-License-Identifier: BSD-3-Clause */
/* The kept clock: combines the sources to a line that readers follow. */
#ifndef ICTUS_LOCK_KEEPER_H
#define ICTUS_LOCK_KEEPER_H

#include "page/page.h"
#include "select.h"
#include "upstream.h"

/* The result of the last selection among the sources. */
enum agreement {
    AGREEMENT_NONE,    /* no source to ask */
    AGREEMENT_DISSENT, /* no majority */
    AGREEMENT_FEW,     /* a majority, but of fewer sources than required */
    AGREEMENT_MAJORITY
};

struct keeper {
    struct ictus_lock_options options;
    struct upstream sources[ICTUS_LOCK_SOURCES_MAX];
    int source_count;
    struct timebase base;
    struct page_writer page;
    struct page_clock clock; /* as published last */
    double elapsed_frac;     /* remainder of rounding the difference clock */
    bool published;
    enum agreement agreement; /* of the last selection */
    int selected;
    struct consensus consensus;
    uint64_t steps, suspends, system_steps; /* steps: of the locked absolute clock */
    unsigned seen_steps, seen_sleeps;       /* of the timebase */
    int64_t started;
    double largest_change_ns; /* of the absolute clock since it was first locked */
    double system_offset_ns;  /* CLOCK_REALTIME minus the clock */
};

/* Return whether a locked clock would have had to change by more than --maxchange. The daemon
 * must then end. */
bool ictusi_keeper_changed_too_far(const struct keeper *keeper);

/* Select, combine and publish. Called after each poll. */
void ictusi_keeper_update(struct keeper *keeper);

/* Note steps of CLOCK_REALTIME and suspended machines. @return the new events, enum
 * timebase_event */
unsigned ictusi_keeper_watch(struct keeper *keeper);

/* Carry out a leap second that is due. @return the raw instant until which no source may be
 * asked, because servers may be on either side of the leap, or 0 if none is near */
int64_t ictusi_keeper_leap(struct keeper *keeper, int64_t raw);

/* Return CLOCK_REALTIME minus the clock, now. */
double ictusi_keeper_offset(struct keeper *keeper);

/* Return what the published clock shows at a raw instant, or 0 before it is published. */
int64_t ictusi_keeper_clock(const struct keeper *keeper, int64_t raw);

/* Fill and publish the status. */
void ictusi_keeper_report(struct keeper *keeper);

/* Fill in the log's record of a poll. */
void ictusi_keeper_poll(const struct keeper *keeper, const struct upstream *source,
                        enum upstream_event event, struct ictus_lock_poll *poll);

#endif
