/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether an archive that was just written is all there. The OTF2 library buffers what it writes,
 * and where the last of it finds no room (a quota, a full disk) closing the archive says nothing of
 * it: what is on the disk has to be read to be believed.
 */
#ifndef ICTUS_ARCHIVE_VERIFY_H
#define ICTUS_ARCHIVE_VERIFY_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a location must hold. */
struct archive_count {
    uint64_t location, events;
    bool sure; /* that its events are on the disk */
};

/*
 * Read these locations' local definitions and events, and the global definitions if asked, and
 * count. Local; the archive is closed everywhere. Errors: ICTUS_ERR_IO with the reason.
 */
int ictusi_archive_verify(const char *anchor, const struct archive_count *counts, size_t count,
                          bool global, struct ictus_why *why);

#endif
