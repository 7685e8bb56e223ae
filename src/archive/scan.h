/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading an archive's events once: the points and what connects them. */
#ifndef ICTUS_ARCHIVE_SCAN_H
#define ICTUS_ARCHIVE_SCAN_H

#include "archive/scan_tap.h"
#include "archive/trace.h"

/* What was found, and what was odd about it. */
struct scan_counts {
    uint64_t events;
    uint64_t decreasing; /* points stamped earlier than the point before them */
    uint64_t unknown;    /* records that this OTF2 library does not know */
    uint64_t open_calls; /* nonblocking calls that never completed */
    uint64_t cancelled;  /* sends that were cancelled */
    uint64_t lone_ends;  /* collectives that end without a beginning */
    uint64_t foreign;    /* events that name a communicator or rank that does not exist */
};

/*
 * Read the events of the locations that mine selects (NULL: all) into a history, which is made
 * here; the others have no points. A tap (NULL: none) is told of all regions and requests, and the
 * bytes of messages and which events acquire locks are noted in the points for it. On error the
 * history is to be ended all the same.
 * Errors: ICTUS_ERR_CORRUPT, ICTUS_ERR_IO, ICTUS_ERR_NOMEM.
 */
int ictusi_scan_read(struct trace *trace, const bool *mine, struct scan_tap *tap,
                     struct history *history, struct scan_counts *counts);

#endif
