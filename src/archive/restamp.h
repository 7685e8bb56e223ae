/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a location's events again with other times, without decoding them. OTF2's event files
 * store each time stamp in nine bytes of its own, before the records that it applies to. So other
 * times fit in the same place, and everything else is copied byte by byte. Decoding every record
 * only to encode it again takes five times as long.
 *
 * The format of a file is checked as it is read: the event numbers in the head of each chunk, the
 * ends of its records, and the number of events. Whatever is not supported is left to the OTF2
 * library.
 */
#ifndef ICTUS_ARCHIVE_RESTAMP_H
#define ICTUS_ARCHIVE_RESTAMP_H

#include "archive/copy_callbacks.h"

/* The event file of one location. */
struct restamp {
    const char *in, *out; /* paths; out is created */
    uint64_t chunk;       /* chunk size in bytes, as stated by the archive */
    uint64_t events;      /* the number of events that must be found */
    const struct copy_clock *clock;
    void *walk; /* of the location, which is open */
};

/*
 * Write the file. Errors: ICTUS_ERR_UNSUPPORTED if the file is not supported, or if events that
 * share a stamp get different ones; the output is then removed, and the clock must be opened again.
 * ICTUS_ERR_IO: the output cannot be written, and errno says why. ICTUS_ERR_NOMEM.
 */
int ictusi_restamp_run(const struct restamp *job);

#endif
