/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of OTF2's writers: two chunks per writer, which are written out and reused. OTF2's own
 * pool takes 128 MiB per writer before anything is written.
 */
#ifndef ICTUS_ARCHIVE_CHUNKS_H
#define ICTUS_ARCHIVE_CHUNKS_H

#include <otf2/otf2.h>

/* Call on an archive opened for writing, before any of its writers is created. */
OTF2_ErrorCode ictusi_chunks_attach(OTF2_Archive *archive);

#endif
