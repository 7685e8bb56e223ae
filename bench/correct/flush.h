/* SPDX-License-Identifier: BSD-3-Clause */
/* What libotf2 wants to know of whoever writes an archive: full buffers go to their files. */
#ifndef BENCH_CORRECT_FLUSH_H
#define BENCH_CORRECT_FLUSH_H

#include <otf2/otf2.h>
#include <stdbool.h>

static OTF2_FlushType on_flush(void *data, OTF2_FileType type, OTF2_LocationRef location,
                               void *caller, bool final)
{
    (void)data;
    (void)type;
    (void)location;
    (void)caller;
    (void) final;
    return OTF2_FLUSH;
}

static const OTF2_FlushCallbacks flush_callbacks = {.otf2_pre_flush = on_flush};

#endif
