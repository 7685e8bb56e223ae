/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array that grows at fixed addresses: in memory while it is small, then over an unlinked file,
 * so that only the part in use occupies memory.
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
 * Make storage for more elements, which count does not include yet. Errors: ICTUS_ERR_IO (a full
 * disk), ICTUS_ERR_CORRUPT (no room).
 */
int ictusi_store_grow(struct store *store, uint64_t more, struct ictus_why *why);

/* Put the elements of another array of the kind after these. Errors: as above. */
int ictusi_store_append(struct store *store, const struct store *other, struct ictus_why *why);

/* Let go of the memory behind the array; its contents stay. */
void ictusi_store_relax(struct store *store);

/* Let go of the memory of some elements that nobody reads again, and of their contents. */
void ictusi_store_drop(struct store *store, uint64_t from, uint64_t count);

#endif
