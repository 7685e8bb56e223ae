/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock-free table from MPI handles to values, for handles of which each is inserted, looked up
 * and removed by one thread at a time (MPI forbids two threads to complete one request at once),
 * while different handles are worked on by all threads concurrently.
 *
 * Buckets of seven keys, one cache line; a key that finds its bucket full goes to the next one and
 * the buckets that it passed count it, so that a lookup knows when to stop.
 */
#ifndef ICTUS_TRACER_TABLE_H
#define ICTUS_TRACER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
    struct table_bucket *buckets; /* mapped, zero: pages come when they are touched */
    char *values;
    size_t value_bytes;
    uint64_t mask; /* number of buckets - 1 */
    size_t mapped_bytes;
};

/* The most slots that a table of no more than so many bytes has; at least those of one bucket. */
size_t ictusi_table_slots(size_t bytes, size_t value_bytes);

/* Slots is rounded up to a power of two of buckets. @return 0, or -1: no address space */
int ictusi_table_init(struct table *table, size_t slots, size_t value_bytes);
void ictusi_table_fini(struct table *table);

/* Forget everything, and give the memory back until it is needed again. */
void ictusi_table_clear(struct table *table);

/* The value of a key, or NULL. key is never 0. */
void *ictusi_table_find(const struct table *table, uint64_t key);

/* A value to fill in; a value that the key had is reused as it is. NULL: full. */
void *ictusi_table_put(struct table *table, uint64_t key);

/* Take a key out and copy its value (copy may be NULL). @return whether it was there */
bool ictusi_table_take(struct table *table, uint64_t key, void *copy);

/* Visit every value; no one may change the table meanwhile. */
void ictusi_table_each(const struct table *table, void (*visit)(void *value, void *context),
                       void *context);

#endif
