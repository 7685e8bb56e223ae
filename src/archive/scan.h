/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an archive's events once: the points, and what connects them. */
#ifndef ICTUS_ARCHIVE_SCAN_H
#define ICTUS_ARCHIVE_SCAN_H

#include "archive/scan_tap.h"
#include "archive/trace.h"

/* The numbers of events and of irregularities found. */
struct scan_counts {
    uint64_t events;
    uint64_t decreasing;  /* points stamped earlier than the preceding point */
    uint64_t unknown;     /* records that this OTF2 library does not know */
    uint64_t open_calls;  /* nonblocking calls that never completed */
    uint64_t cancelled;   /* sends that were cancelled */
    uint64_t lone_begins; /* collectives that were entered but never left, as in a job that hung */
    uint64_t lone_ends;   /* collectives that end without a begin */
    uint64_t foreign;     /* events that refer to an undefined communicator or rank */
};

/* What to read, and how. */
struct scan_order {
    const bool *mine;     /* by location: whether to read it; others have no points; NULL: all */
    struct scan_tap *tap; /* NULL: none */
    int threads;          /* number of threads that read; up to 1: only the caller */
};

/*
 * Read the events of locations into a history, which is initialised here. A tap is notified of all
 * regions and requests. For a tap, the sizes of messages, and which events acquire locks, are
 * stored in the notes of the points. The result does not depend on the number of threads. Call
 * ictusi_history_fini() even after an error: ICTUS_ERR_CORRUPT, ICTUS_ERR_IO, ICTUS_ERR_NOMEM.
 */
int ictusi_scan_read(struct trace *trace, const struct scan_order *order, struct history *history,
                     struct scan_counts *counts);

#endif
