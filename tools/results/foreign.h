/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables that OSU micro-benchmarks, the Intel MPI benchmarks and ReproMPI print, as results. */
#ifndef ICTUS_TOOLS_FOREIGN_H
#define ICTUS_TOOLS_FOREIGN_H

#include <ictus/error.h>
#include <jansson.h>

/*
 * Read one output, with whatever else a job log holds around it. The objects are a header that
 * names the last program and one measurement a row. A bandwidth is read as the time of a message
 * ("messages": 1). Rows that failed the program's own validation are left out, and counted in the
 * header's "refused". Errors: ICTUS_ERR_IO, ICTUS_ERR_FORMAT (no such table), ICTUS_ERR_CORRUPT (no
 * row is valid), ICTUS_ERR_NOMEM.
 */
int foreign_read(const char *path, json_t **objects, struct ictus_why *why);

#endif
