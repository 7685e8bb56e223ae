/* SPDX-License-Identifier: BSD-3-Clause */
/* The kept clock: what the sources say together, turned into a line that readers follow. */
#ifndef ICTUS_LOCK_KEEPER_H
#define ICTUS_LOCK_KEEPER_H

#include "page/page.h"
#include "select.h"
#include "upstream.h"

struct keeper {
    struct ictus_lock_options options;
    struct upstream sources[ICTUS_LOCK_SOURCES_MAX];
    int source_count;
    struct timebase base;
    struct page_writer page;
    struct page_clock clock; /* as published last */
    double elapsed_frac;     /* what rounding the difference clock left */
    bool published;
    bool majority; /* whether the last selection found one */
    int selected;
    struct consensus consensus;
    uint64_t steps, suspends, system_steps; /* steps: of the locked absolute clock */
    int64_t started;
    double system_offset_ns; /* CLOCK_REALTIME minus the clock */
};

/* Select, combine and publish. Call after each poll. stepped: let the absolute clock jump. */
void ictusi_keeper_update(struct keeper *keeper, bool stepped);

/* Note steps of CLOCK_REALTIME and suspended machines since the last call. */
void ictusi_keeper_watch(struct keeper *keeper, unsigned events);

/* What the published clock shows at a raw instant; 0 before it shows anything. */
int64_t ictusi_keeper_clock(const struct keeper *keeper, int64_t raw);

/* Fill and publish the status. */
void ictusi_keeper_report(struct keeper *keeper);

/* The log's account of a poll. */
void ictusi_keeper_poll(const struct keeper *keeper, const struct upstream *source,
                        enum upstream_event event, struct ictus_lock_poll *poll);

#endif
