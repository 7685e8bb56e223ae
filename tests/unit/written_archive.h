/* SPDX-License-Identifier: BSD-3-Clause */
/* An OTF2 archive that a test writes by hand. */
#ifndef ICTUS_TESTS_WRITTEN_ARCHIVE_H
#define ICTUS_TESTS_WRITTEN_ARCHIVE_H

#include "../check.h"

#include "archive/flush.h"

#include <otf2/otf2.h>
#include <stdint.h>

/* Begin an archive whose events come in chunks of so many bytes; its event files are open. */
static inline OTF2_Archive *written_archive_open(const char *path, uint64_t chunk)
{
    OTF2_Archive *archive = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, chunk,
                                              OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT,
                                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    REQUIRE(archive);
    OTF2_Archive_SetFlushCallbacks(archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    return archive;
}

/* End the events and begin the definitions: a clock of 1 GHz that ran for so long, an empty string
 * and a node. */
static inline OTF2_GlobalDefWriter *written_archive_define(OTF2_Archive *archive, uint64_t length)
{
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, 0, length, 0);
    OTF2_GlobalDefWriter_WriteString(d, 0, "");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    return d;
}

#endif
