/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace as the report's page draws it, as ictus_timeline_read() makes one of an OTF2 archive,
 * from the Trace Event JSON that `ictus export` and other tools write (slices B, E and X, flows s
 * and f, names M).
 */
#ifndef ICTUS_TOOLS_TIMELINE_H
#define ICTUS_TOOLS_TIMELINE_H

#include <ictus/error.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether a file looks like one; false also where it cannot be read. */
bool timeline_is_trace(const char *path);

/*
 * Read it as result objects: a header and one "timeline". Beyond @p most slices the shortest are
 * left out, and the object says how many and how short. Members: tracks ({name, process}), names,
 * slices (for each track start since the slice before, duration, name, depth, in turn,
 * nanoseconds), message_count, backward_count, messages (from track,
 * sent, to track, received, bytes, in turn), profile (a row a name), dropped, shortest_ns.
 * Errors: ICTUS_ERR_IO, ICTUS_ERR_FORMAT (no events), ICTUS_ERR_NOMEM.
 */
int timeline_read(const char *path, size_t most, json_t **objects, struct ictus_why *why);

#endif
