/* SPDX-License-Identifier: BSD-3-Clause */
/* The output directory of an archive: made, filled under another name, then given its own. */
#ifndef ICTUS_ARCHIVE_OUTPUT_H
#define ICTUS_ARCHIVE_OUTPUT_H

#include <ictus/error.h>
#include <stdbool.h>

/* "traces" of ".../traces.otf2". Freed by the caller; NULL for no memory. */
char *ictusi_output_base(const char *anchor);

/* The name under which the output grows: "OUT.incomplete". */
char *ictusi_output_partial(const char *out);

/* Whether a file with another suffix lies beside the anchor. */
bool ictusi_output_sibling(const char *anchor, const char *suffix);

/* Make the directory. Errors: ICTUS_ERR_IO, ICTUS_ERR_EXISTS (an earlier run left it). */
int ictusi_output_start(const char *partial, struct ictus_why *why);

/* Bring along the recorder's own files, then rename. Errors: ICTUS_ERR_IO. */
int ictusi_output_finish(const char *anchor, const char *partial, const char *out,
                         struct ictus_why *why);

void ictusi_output_remove(const char *partial);

#endif
