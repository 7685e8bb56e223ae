/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives each writer a few buffers, which are handed out in turn and returned together. */
#include "archive/chunks.h"

#include <stdlib.h>

/* One chunk is filled while OTF2 may still read another. */
enum { CHUNKS = 2 };

struct chunks {
    int out, made;
    void *list[CHUNKS];
};

/*
 * Hand out a chunk. NULL makes OTF2 write what it has and return all chunks. They are then reused,
 * so a long file takes no more memory than a short one. `own` belongs to this location, so threads
 * that write different locations share nothing.
 */
static void *chunk_get(void *user, OTF2_FileType type, OTF2_LocationRef location, void **own,
                       uint64_t bytes)
{
    struct chunks *chunks = *own ? *own : calloc(1, sizeof *chunks);
    (void)user;
    (void)type;
    (void)location;
    *own = chunks;
    if (!chunks || chunks->out == CHUNKS) {
        return NULL;
    }
    if (chunks->out == chunks->made) {
        chunks->list[chunks->made] = malloc(bytes);
        if (!chunks->list[chunks->made]) {
            return NULL;
        }
        chunks->made++;
    }
    return chunks->list[chunks->out++];
}

/*
 * OTF2 has written the contents of the chunks. final: the file is closed, and no more are needed.
 */
static void chunks_return(void *user, OTF2_FileType type, OTF2_LocationRef location, void **own,
                          bool final)
{
    struct chunks *chunks = *own;
    (void)user;
    (void)type;
    (void)location;
    if (!chunks) {
        return;
    }
    chunks->out = 0;
    for (int i = 0; final && i < chunks->made; i++) {
        free(chunks->list[i]);
    }
    if (final) {
        free(chunks);
        *own = NULL;
    }
}

OTF2_ErrorCode ictusi_chunks_attach(OTF2_Archive *archive)
{
    static const OTF2_MemoryCallbacks callbacks = {chunk_get, chunks_return};
    return OTF2_Archive_SetMemoryCallbacks(archive, &callbacks, NULL);
}
