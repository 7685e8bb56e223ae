/* SPDX-License-Identifier: BSD-3-Clause */
/* A lock-free table from MPI handles to values. */
#include "tracer/table.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { BUCKET_KEYS = 7 };

/*
 * A bucket of one cache line: its keys, and the number of keys that were pushed beyond it because
 * it was full. This is an open-addressing table without locks, for calls from any thread: find and
 * take use loads, put one exchange. It never grows, because moving entries would require everybody
 * to wait; the caller counts what finds no room. The values are stored separately, so that a search
 * touches one cache line per bucket.
 */
struct table_bucket {
    _Atomic uint64_t passed;
    _Atomic uint64_t keys[BUCKET_KEYS];
};

/*
 * Spread all bits of the key. Handles are indices or addresses of objects of equal size, so their
 * low bits take few values, but the low bits select the bucket. (Half of MurmurHash3's last step,
 * which is a permutation.)
 */
static uint64_t key_scramble(uint64_t key)
{
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    return key;
}

size_t ictusi_table_slots(size_t bytes, size_t value_bytes)
{
    const size_t bucket_bytes = sizeof(struct table_bucket) + BUCKET_KEYS * value_bytes;
    size_t buckets = 1;
    while (2 * buckets * bucket_bytes <= bytes) {
        buckets *= 2;
    }
    return buckets * BUCKET_KEYS;
}

/* Pages take memory only when touched, so a large table costs only what it holds. */
int ictusi_table_init(struct table *table, size_t slots, size_t value_bytes)
{
    uint64_t buckets = 1;
    while (buckets * BUCKET_KEYS < slots) {
        buckets *= 2;
    }
    const size_t keys_bytes = buckets * sizeof(struct table_bucket);
    table->mapped_bytes = keys_bytes + buckets * BUCKET_KEYS * value_bytes;
    void *memory = mmap(NULL, table->mapped_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return -1;
    }
    table->buckets = memory;
    table->values = (char *)memory + keys_bytes;
    table->value_bytes = value_bytes;
    table->mask = buckets - 1;
    return 0;
}

void ictusi_table_fini(struct table *table)
{
    if (table->buckets) {
        (void)munmap(table->buckets, table->mapped_bytes);
        table->buckets = NULL;
    }
}

/* The kernel replaces the pages by zeros, which are free slots. */
void ictusi_table_clear(struct table *table)
{
    (void)madvise(table->buckets, table->mapped_bytes, MADV_DONTNEED);
}

static void *value_at(const struct table *table, uint64_t bucket, int slot)
{
    return table->values + (bucket * BUCKET_KEYS + (uint64_t)slot) * table->value_bytes;
}

/* All seven keys are in one cache line, so they are compared one after the other. */
static int table_slot_of(struct table_bucket *bucket, uint64_t key)
{
    for (int i = 0; i < BUCKET_KEYS; i++) {
        if (atomic_load_explicit(&bucket->keys[i], memory_order_acquire) == key) {
            return i;
        }
    }
    return -1;
}

/*
 * Find the bucket and slot of a key. A key is in the first bucket, starting at its own, that had
 * room when it was inserted. So the search can end at a bucket beyond which no key that still
 * exists has been pushed. Without that count, a miss, which every untracked request is, would
 * continue to the next bucket with a free slot, and removed keys would have to leave marks. @return
 * whether it was found
 */
static bool table_locate(const struct table *table, uint64_t key, uint64_t *bucket, int *slot)
{
    uint64_t at = key_scramble(key) & table->mask;
    for (uint64_t tries = 0; tries <= table->mask; tries++) {
        struct table_bucket *b = &table->buckets[at];
        *slot = table_slot_of(b, key);
        if (*slot >= 0) {
            *bucket = at;
            return true;
        }
        if (atomic_load_explicit(&b->passed, memory_order_acquire) == 0) {
            return false;
        }
        at = (at + 1) & table->mask;
    }
    return false;
}

void *ictusi_table_find(const struct table *table, uint64_t key)
{
    uint64_t bucket = 0;
    int slot = 0;
    return table_locate(table, key, &bucket, &slot) ? value_at(table, bucket, slot) : NULL;
}

/* Add a key to, or remove it from, the counts of the buckets before the one that contains it. */
static void table_count_passed(struct table *table, uint64_t key, uint64_t last, uint64_t step)
{
    for (uint64_t at = key_scramble(key) & table->mask; at != last; at = (at + 1) & table->mask) {
        atomic_fetch_add_explicit(&table->buckets[at].passed, step, memory_order_acq_rel);
    }
}

/* Slots are claimed by exchange, because several threads may put different keys into one bucket. */
static int bucket_claim(struct table_bucket *bucket, uint64_t key)
{
    for (int i = 0; i < BUCKET_KEYS; i++) {
        uint64_t free_key = 0;
        if (atomic_load_explicit(&bucket->keys[i], memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&bucket->keys[i], &free_key, key)) {
            return i;
        }
    }
    return -1;
}

/*
 * The caller writes the value after the slot is claimed. This is safe, since nobody else has the
 * handle yet.
 */
void *ictusi_table_put(struct table *table, uint64_t key)
{
    void *known = ictusi_table_find(table, key);
    if (known) {
        return known;
    }
    uint64_t at = key_scramble(key) & table->mask;
    for (uint64_t tries = 0; tries <= table->mask; tries++) {
        const int slot = bucket_claim(&table->buckets[at], key);
        if (slot >= 0) {
            /*
             * Until it is counted, others may miss it, but MPI cannot have given them its handle
             * yet.
             */
            table_count_passed(table, key, at, 1);
            return value_at(table, at, slot);
        }
        at = (at + 1) & table->mask;
    }
    return NULL;
}

/*
 * The counts decrease before the slot becomes free. A search that misses the key meanwhile would be
 * for a key that is being removed, and MPI allows only one thread to do that.
 */
bool ictusi_table_take(struct table *table, uint64_t key, void *copy)
{
    uint64_t bucket = 0;
    int slot = 0;
    if (!table_locate(table, key, &bucket, &slot)) {
        return false;
    }
    /* The value is copied first, because once the key is gone another thread may claim the slot. */
    if (copy) {
        memcpy(copy, value_at(table, bucket, slot), table->value_bytes);
    }
    table_count_passed(table, key, bucket, UINT64_MAX); /* minus one */
    atomic_store_explicit(&table->buckets[bucket].keys[slot], 0, memory_order_release);
    return true;
}

void ictusi_table_each(const struct table *table, void (*visit)(void *value, void *context),
                       void *context)
{
    for (uint64_t at = 0; at <= table->mask; at++) {
        for (int i = 0; i < BUCKET_KEYS; i++) {
            if (atomic_load_explicit(&table->buckets[at].keys[i], memory_order_acquire)) {
                visit(value_at(table, at, i), context);
            }
        }
    }
}
