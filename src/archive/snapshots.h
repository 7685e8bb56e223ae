/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes snapshots again. A snapshot repeats events of a location that are still in effect at some
 * instant, with the times that readers show for them, so these times move with the events.
 */
#ifndef ICTUS_ARCHIVE_SNAPSHOTS_H
#define ICTUS_ARCHIVE_SNAPSHOTS_H

#include "archive/copy.h"

/* Whether the archive has any snapshots. */
bool ictusi_snapshots_exist(const struct trace *trace);

/*
 * Copy the snapshots of the job's own locations. Collective over its team. Errors: ICTUS_ERR_IO,
 * ICTUS_ERR_CORRUPT, ICTUS_ERR_UNSUPPORTED (records that would be lost), ICTUS_ERR_NOMEM.
 */
int ictusi_snapshots_copy(const struct copy_job *job, OTF2_Archive *archive, struct ictus_why *why);

#endif
