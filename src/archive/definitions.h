/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an archive's definitions into a struct trace. */
#ifndef ICTUS_ARCHIVE_DEFINITIONS_H
#define ICTUS_ARCHIVE_DEFINITIONS_H

#include "archive/trace.h"

/* Read the global definitions. Errors: ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM. */
int ictusi_definitions_read_global(struct trace *trace);

/* Read each location's own definitions: mapping tables (which OTF2 keeps) and clock offsets. */
int ictusi_definitions_read_local(struct trace *trace);

/* Resolve references between definitions: nodes, members of communicators. */
int ictusi_definitions_link(struct trace *trace);

#endif
