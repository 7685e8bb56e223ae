/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock-free table from MPI handles to values. Each handle is inserted, looked up and removed by
 * one thread at a time (MPI forbids two threads to complete the same request at once), while all
 * threads work on different handles concurrently.
 *
 * Buckets have seven keys and fill one cache line. A key that finds its bucket full goes to the
 * next one, and the buckets that it passed count it, so that a lookup knows when to stop.
 */
#ifndef ICTUS_TRACER_TABLE_H
#define ICTUS_TRACER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
    struct table_bucket *buckets; /* mapped and zero: pages are allocated when touched */
    char *values;
    size_t value_bytes;
    uint64_t mask; /* number of buckets - 1 */
    size_t mapped_bytes;
};

/* The largest number of slots in a table of at most this many bytes, and at least one bucket. */
size_t ictusi_table_slots(size_t bytes, size_t value_bytes);

/*
 * slots is rounded up so that the number of buckets is a power of two. @return 0, or -1: no address
 * space
 */
int ictusi_table_init(struct table *table, size_t slots, size_t value_bytes);
void ictusi_table_fini(struct table *table);

/* Remove everything, and release the memory until it is needed again. */
void ictusi_table_clear(struct table *table);

/* The value of a key, or NULL. key is never 0. */
void *ictusi_table_find(const struct table *table, uint64_t key);

/* The value to fill in for a key; if the key exists, its present value. NULL: the table is full. */
void *ictusi_table_put(struct table *table, uint64_t key);

/* Remove a key and copy its value (copy may be NULL). @return whether it was there */
bool ictusi_table_take(struct table *table, uint64_t key, void *copy);

/* Visit every value; nobody may change the table meanwhile. */
void ictusi_table_each(const struct table *table, void (*visit)(void *value, void *context),
                       void *context);

#endif
