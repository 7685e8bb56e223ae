/* SPDX-License-Identifier: BSD-3-Clause */
/* The output directory of an archive. It is filled under a temporary name and then renamed. */
#ifndef ICTUS_ARCHIVE_OUTPUT_H
#define ICTUS_ARCHIVE_OUTPUT_H

#include <ictus/error.h>
#include <stdbool.h>

/* Returns "traces" for ".../traces.otf2". The caller frees it. NULL: no memory. */
char *ictusi_output_base(const char *anchor);

/* The temporary name of the output: "OUT.incomplete". */
char *ictusi_output_partial(const char *out);

/* Whether there is a file with another suffix next to the anchor. */
bool ictusi_output_sibling(const char *anchor, const char *suffix);

/* Make the directory. Errors: ICTUS_ERR_IO, ICTUS_ERR_EXISTS (left by an earlier run). */
int ictusi_output_start(const char *partial, struct ictus_why *why);

/* Copy the recorder's own files, then rename the directory. Errors: ICTUS_ERR_IO. */
int ictusi_output_finish(const char *anchor, const char *partial, const char *out,
                         struct ictus_why *why);

void ictusi_output_remove(const char *partial);

#endif
