/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading an archive's events once: the points and what connects them. */
#ifndef ICTUS_ARCHIVE_SCAN_H
#define ICTUS_ARCHIVE_SCAN_H

#include "archive/scan_tap.h"
#include "archive/trace.h"

/* What was found, and what was odd about it. */
struct scan_counts {
    uint64_t events;
    uint64_t decreasing;  /* points stamped earlier than the point before them */
    uint64_t unknown;     /* records that this OTF2 library does not know */
    uint64_t open_calls;  /* nonblocking calls that never completed */
    uint64_t cancelled;   /* sends that were cancelled */
    uint64_t lone_begins; /* collectives that were entered and never left, as in a job that hung */
    uint64_t lone_ends;   /* collectives that end without a beginning */
    uint64_t foreign;     /* events that name a communicator or rank that does not exist */
};

/* What is to be read, and how. */
struct scan_order {
    const bool *mine;     /* by location: whether to read it, else it has no points; NULL: all */
    struct scan_tap *tap; /* NULL: none */
    int threads;          /* that read at a time; up to 1: the caller alone */
};

/*
 * Read the events of locations into a history, which is made here. A tap is told of all regions and
 * requests, and the bytes of messages and which events acquire locks are noted in the points for
 * it. However many threads read, the result is the same. On error the history is to be ended all
 * the same.
 * Errors: ICTUS_ERR_CORRUPT, ICTUS_ERR_IO, ICTUS_ERR_NOMEM.
 */
int ictusi_scan_read(struct trace *trace, const struct scan_order *order, struct history *history,
                     struct scan_counts *counts);

#endif
