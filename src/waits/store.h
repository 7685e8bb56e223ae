/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array that grows at fixed addresses: in memory while it is small, then over an unlinked file,
 * so that only the part in use occupies memory.
 */
#ifndef ICTUS_WAITS_STORE_H
#define ICTUS_WAITS_STORE_H

#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

struct store {
    void *area;     /* the elements */
    uint64_t count; /* elements in use */
    uint64_t room;  /* that fit into the reserved addresses */
    uint64_t ready; /* whose storage is allocated */
    size_t size;    /* of an element */
    int file;       /* -1 while in memory */
};

/* Reserve room for elements of a size. Errors: ICTUS_ERR_NOMEM. */
int ictusi_store_init(struct store *store, size_t size, uint64_t room, struct ictus_why *why);
void ictusi_store_fini(struct store *store);

/* Make storage for more elements, which count does not include yet. Errors: ICTUS_ERR_IO. */
int ictusi_store_grow(struct store *store, uint64_t more, struct ictus_why *why);

/* Put the elements of another array of the kind after these. Errors: ICTUS_ERR_IO. */
int ictusi_store_append(struct store *store, const struct store *other, struct ictus_why *why);

/* Let go of the memory behind the array; its contents stay. */
void ictusi_store_relax(struct store *store);

#endif
