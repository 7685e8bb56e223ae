/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array that grows at fixed addresses. It is in memory while it is small. Later all but its end
 * lies in an unlinked file, so that only the part in use occupies memory.
 */
#ifndef ICTUS_CAUSALITY_STORE_H
#define ICTUS_CAUSALITY_STORE_H

#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_IN_MEMORY = 32 << 20 }; /* bytes that usually stay in memory */

/* A store of zeros has nothing reserved and may be closed. */
struct store {
    void *area;      /* the elements */
    uint64_t count;  /* elements in use */
    uint64_t room;   /* elements that fit into the reserved addresses */
    uint64_t ready;  /* elements with allocated storage */
    uint64_t memory; /* elements that stay in memory */
    size_t size;     /* of an element */
    uint64_t filed;  /* bytes in the file; what was appended later is still in memory */
    int file;        /* -1 while in memory */
};

/*
 * Reserve room for elements of a size, of which memory_bytes stay in memory. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_store_init(struct store *store, size_t size, uint64_t room, uint64_t memory_bytes,
                      struct ictus_why *why);
void ictusi_store_fini(struct store *store);

/*
 * Make storage for more elements, which are zero and not yet included in count. Memory behind the
 * file is released from time to time. Errors: ICTUS_ERR_IO (a full disk), ICTUS_ERR_CORRUPT (no
 * room).
 */
int ictusi_store_grow(struct store *store, uint64_t more, struct ictus_why *why);

/* The same, for callers that add few elements very often. */
static inline int store_grow(struct store *store, uint64_t more, struct ictus_why *why)
{
    return store->count + more <= store->ready ? ICTUS_OK : ictusi_store_grow(store, more, why);
}

/* Adjust elements at their new place. */
typedef void store_mend(const void *self, void *elements, uint64_t count);

/*
 * Move the elements of another array of the same kind to the end of this one, and adjust them with
 * mend. Errors: as above.
 */
int ictusi_store_take(struct store *store, struct store *other, store_mend *mend, const void *self,
                      struct ictus_why *why);

/*
 * Have memory ready for elements that will be written. Otherwise a page that is read before it is
 * first written costs two faults, and the second one interrupts all other threads. Does nothing for
 * an array that lies in a file.
 */
void ictusi_store_populate(const struct store *store, uint64_t from, uint64_t to);

/* The same for elements that lie in the file, of which only those that are written soon may be. */
void ictusi_store_populate_file(const struct store *store, uint64_t from, uint64_t to);

/* Release the memory behind the array; its contents stay in the file. */
void ictusi_store_relax(const struct store *store);

/* Release the memory of elements that nobody will read again; their contents are lost. */
void ictusi_store_drop(const struct store *store, uint64_t from, uint64_t count);

/*
 * The same for several whole arrays at a time, before they are closed: handing back much memory
 * takes long.
 */
void ictusi_stores_drop(struct store *const *stores, uint32_t count, int threads);

#endif
