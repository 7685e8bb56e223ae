/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array that grows at fixed addresses: in memory while it is small, then over an unlinked file
 * but for its end, so that only the part in use occupies memory.
 */
#ifndef ICTUS_CAUSALITY_STORE_H
#define ICTUS_CAUSALITY_STORE_H

#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_IN_MEMORY = 32 << 20 }; /* bytes: the usual part that stays in memory */

/* All zero: nothing is reserved, which may be closed. */
struct store {
    void *area;      /* the elements */
    uint64_t count;  /* elements in use */
    uint64_t room;   /* that fit into the reserved addresses */
    uint64_t ready;  /* whose storage is allocated */
    uint64_t memory; /* how many stay in memory */
    size_t size;     /* of an element */
    uint64_t filed;  /* bytes that lie in the file; what is appended later is in memory still */
    int file;        /* -1 while in memory */
};

/*
 * Reserve room for elements of a size, of which so many bytes stay in memory. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_store_init(struct store *store, size_t size, uint64_t room, uint64_t memory_bytes,
                      struct ictus_why *why);
void ictusi_store_fini(struct store *store);

/*
 * Make storage for more elements, which count does not include yet and which are zero. What lies in
 * a file is let go of now and then meanwhile. Errors: ICTUS_ERR_IO (a full disk), ICTUS_ERR_CORRUPT
 * (no room).
 */
int ictusi_store_grow(struct store *store, uint64_t more, struct ictus_why *why);

/* Change some elements where they have been put. */
typedef void store_mend(const void *self, void *elements, uint64_t count);

/*
 * Move the elements of another array of the kind after these, and change them on the way. Errors:
 * as above.
 */
int ictusi_store_take(struct store *store, struct store *other, store_mend *mend, const void *self,
                      struct ictus_why *why);

/* Let go of the memory behind the array; its contents stay. */
void ictusi_store_relax(const struct store *store);

/* Let go of the memory of some elements that nobody reads again, and of their contents. */
void ictusi_store_drop(const struct store *store, uint64_t from, uint64_t count);

#endif
