/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Snapshots written again: each repeats events of a location that still hold at some instant, with
 * the times that readers show for them, so that these times move as the events do.
 */
#ifndef ICTUS_ARCHIVE_SNAPSHOTS_H
#define ICTUS_ARCHIVE_SNAPSHOTS_H

#include "archive/copy.h"

/* Whether the archive has any. */
bool ictusi_snapshots_exist(const struct trace *trace);

/*
 * Copy those of the job's own locations; collective over its team. Errors: ICTUS_ERR_IO,
 * ICTUS_ERR_CORRUPT, ICTUS_ERR_UNSUPPORTED (records that would be lost), ICTUS_ERR_NOMEM.
 */
int ictusi_snapshots_copy(const struct copy_job *job, OTF2_Archive *archive, struct ictus_why *why);

#endif
