/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that an archive that was just written is complete. The OTF2 library buffers what it
 * writes. If the last part finds no room (a quota, a full disk), closing the archive reports no
 * error, so only reading back what is on the disk gives certainty.
 */
#ifndef ICTUS_ARCHIVE_VERIFY_H
#define ICTUS_ARCHIVE_VERIFY_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a location must contain. */
struct archive_count {
    uint64_t location, events;
    bool sure; /* its events are known to be on the disk */
};

/*
 * Read and count the local definitions and events of these locations, and the global definitions if
 * requested. Local; the archive must be closed on all ranks. Errors: ICTUS_ERR_IO with the reason.
 */
int ictusi_archive_verify(const char *anchor, const struct archive_count *counts, size_t count,
                          bool global, struct ictus_why *why);

#endif
