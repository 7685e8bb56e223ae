/* SPDX-License-Identifier: BSD-3-Clause */
/* A few buffers a writer, handed out in turn and taken back together. */
#include "archive/chunks.h"

#include <stdlib.h>

/* One is filled while OTF2 may still look at another. */
enum { CHUNKS = 2 };

struct chunks {
    int out, made;
    void *list[CHUNKS];
};

/*
 * NULL tells OTF2 to write out what it has, and to return the chunks. What was made is used again
 * after each return, so that a long file takes no more memory than a short one. `own` is this
 * location's, so that threads that write different locations share nothing.
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

/* OTF2 has written what was in them. final: the file is closed, and nobody asks again. */
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
