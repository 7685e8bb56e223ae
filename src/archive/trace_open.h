/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing an OTF2 archive. */
#ifndef ICTUS_ARCHIVE_TRACE_OPEN_H
#define ICTUS_ARCHIVE_TRACE_OPEN_H

#include "archive/trace.h"

/*
 * Open an archive and read its global definitions and all locations' clock offsets.
 * Errors: ICTUS_ERR_ARG (no such file), ICTUS_ERR_FORMAT, ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM.
 */
int ictusi_archive_open(const char *path, struct trace **out, struct ictus_why *why);
void ictusi_archive_close(struct trace *trace);

#endif
