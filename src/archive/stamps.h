/* SPDX-License-Identifier: BSD-3-Clause */
/* The time stamps of all events of a location. */
#ifndef ICTUS_ARCHIVE_STAMPS_H
#define ICTUS_ARCHIVE_STAMPS_H

#include "archive/copy.h"

/*
 * Read the stamps, either with the archive's clock offsets, as OTF2's readers show them, or raw.
 * There are none if there is no file. The caller frees the list, also after errors. The trace's
 * event files must be open. Errors: ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM.
 */
int ictusi_stamps_read(const struct trace *trace, uint32_t location, bool shown,
                       struct stamps *stamps);

/*
 * Compute how a location's events move in a job. The caller frees the result, also after errors.
 * Errors: as above.
 */
int ictusi_moved_times_make(const struct copy_job *job, uint32_t location,
                            struct moved_times *times);
void ictusi_moved_times_free(struct moved_times *times);

#endif
