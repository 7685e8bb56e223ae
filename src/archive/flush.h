/* SPDX-License-Identifier: BSD-3-Clause */
/* The callback that OTF2 requires from every writer: full buffers are written to their files. */
#ifndef ICTUS_ARCHIVE_FLUSH_H
#define ICTUS_ARCHIVE_FLUSH_H

#include <otf2/otf2.h>
#include <stdbool.h>

static OTF2_FlushType archive_flush(void *data, OTF2_FileType type, OTF2_LocationRef location,
                                    void *caller, bool final)
{
    (void)data;
    (void)type;
    (void)location;
    (void)caller;
    (void) final;
    return OTF2_FLUSH;
}

/* For OTF2_Archive_SetFlushCallbacks(). The time of the flush itself is not recorded. */
static const OTF2_FlushCallbacks archive_flush_callbacks = {.otf2_pre_flush = archive_flush};

#endif
