/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of OTF2's writers: two chunks each, which are written out and used again. Their own
 * pool takes 128 MiB a writer before it writes anything.
 */
#ifndef ICTUS_ARCHIVE_CHUNKS_H
#define ICTUS_ARCHIVE_CHUNKS_H

#include <otf2/otf2.h>

/* For an archive opened for writing, before any of its writers is made. */
OTF2_ErrorCode ictusi_chunks_attach(OTF2_Archive *archive);

#endif
