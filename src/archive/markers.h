/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Markers written again. They say times of the clock that all share: one of a location, or of a
 * process, moves as that location's events do; others stay.
 */
#ifndef ICTUS_ARCHIVE_MARKERS_H
#define ICTUS_ARCHIVE_MARKERS_H

#include "archive/copy.h"

/*
 * Copy the markers, if there are any; collective over the job's team. Errors: ICTUS_ERR_IO,
 * ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM.
 */
int ictusi_markers_copy(const struct copy_job *job, OTF2_Archive *archive, struct ictus_why *why);

#endif
