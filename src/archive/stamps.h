/* SPDX-License-Identifier: BSD-3-Clause */
/* The time stamps of all events of a location. */
#ifndef ICTUS_ARCHIVE_STAMPS_H
#define ICTUS_ARCHIVE_STAMPS_H

#include "archive/copy.h"

/*
 * Read them, with the archive's clock offsets as OTF2's readers show them, or raw; none where there
 * is no file. The list is the caller's to free, after errors too; the trace's event files are open.
 * Errors: ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM.
 */
int ictusi_stamps_read(const struct trace *trace, uint32_t location, bool shown,
                       struct stamps *stamps);

/*
 * How a location's events move in a job; what is made is the caller's to free, after errors too.
 * Errors: as above.
 */
int ictusi_moved_times_make(const struct copy_job *job, uint32_t location,
                            struct moved_times *times);
void ictusi_moved_times_free(struct moved_times *times);

#endif
