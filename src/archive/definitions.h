/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading an archive's definitions into a struct trace. */
#ifndef ICTUS_ARCHIVE_DEFINITIONS_H
#define ICTUS_ARCHIVE_DEFINITIONS_H

#include "archive/trace.h"

/* Read the global definitions. Errors: ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM. */
int ictusi_definitions_read_global(struct trace *trace);

/* Read each location's own definitions: mapping tables (kept by OTF2) and clock offsets. */
int ictusi_definitions_read_local(struct trace *trace);

/* Resolve references between definitions: nodes, communicators' members. */
int ictusi_definitions_link(struct trace *trace);

#endif
