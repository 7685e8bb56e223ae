/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing a location's events again with other times, without decoding them. OTF2's event files
 * hold each time stamp in nine bytes of its own, in front of the records that it is the time of, so
 * other times fit in their place, and all else stays as it is, byte by byte. Decoding every record
 * only to encode it again takes five times as long.
 *
 * What a file must look like is checked as it is read: the numbers of the events in the head of
 * each chunk, where its records end, and how many there are. Whatever is not understood is left to
 * the OTF2 library.
 */
#ifndef ICTUS_ARCHIVE_RESTAMP_H
#define ICTUS_ARCHIVE_RESTAMP_H

#include "archive/copy_callbacks.h"

/* One location's event files. */
struct restamp {
    const char *in, *out; /* paths; out is made */
    uint64_t chunk;       /* bytes, as the archive says */
    uint64_t events;      /* that there must be */
    const struct copy_clock *clock;
    void *walk; /* that was opened */
};

/*
 * Write it. Errors: ICTUS_ERR_UNSUPPORTED where the file is not understood, or where events that
 * share a stamp get different ones: then nothing is left, and the clock has to be opened again.
 * ICTUS_ERR_IO: the output cannot be written, errno says why. ICTUS_ERR_NOMEM.
 */
int ictusi_restamp_run(const struct restamp *job);

#endif
