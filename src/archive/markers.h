/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes markers again. Their times are on the common clock. The marker of a location or process
 * moves with that location's events; others stay where they are.
 */
#ifndef ICTUS_ARCHIVE_MARKERS_H
#define ICTUS_ARCHIVE_MARKERS_H

#include "archive/copy.h"

/*
 * Copy the markers, if there are any. Collective over the job's team. Errors: ICTUS_ERR_IO,
 * ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM.
 */
int ictusi_markers_copy(const struct copy_job *job, OTF2_Archive *archive, struct ictus_why *why);

#endif
