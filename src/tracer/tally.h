/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics instead of events: a fixed amount of memory for each call site of collectives,
 * communicator and size, in a file that the process maps and that others may read meanwhile.
 *
 * Arrival offsets compare processes, but no process may ask another. So each process keeps some of
 * its instants, and whoever reads the files joins those of one instance. Therefore all processes
 * must keep the same instances without communication. An instance has a number: that of the call on
 * its communicator, which MPI makes the same for all members. A hash of the number gives it a
 * height, which is h with probability 2^-(h+1). A site at level l keeps the instances of height l
 * and above, and raises its level when it is full. So what is kept is at any time a random sample
 * of the whole run, and two processes at different levels share the sample of the higher level
 * (Gibbons and Tirthapura, SPAA 2001). The call after a kept one is kept as well, for correlations
 * of consecutive calls. In addition to the sample, the latest calls are kept in a ring.
 *
 * One thread at a time works on a site, as MPI requires for a communicator. The number of a row is
 * stored last: a reader that finds the same number before and after has read a consistent row, and
 * a killed process leaves only complete rows.
 */
#ifndef ICTUS_TRACER_TALLY_H
#define ICTUS_TRACER_TALLY_H

#include <ictus/error.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALLY_SITES = 128, TALLY_ROWS = 448, TALLY_RECENT = 64, TALLY_SLOTS = 4 * TALLY_SITES };

#define TALLY_MAGIC "ictusta1"

/* One call. Times are in ticks, as in records. */
struct tally_row {
    uint64_t enter, leave; /* leave 0: unknown, for a nonblocking one */
    uint64_t number;       /* of the call on its communicator, from 1; 0: no row */
    uint64_t index;        /* of the call at its site, from 1 */
};

/*
 * What is counted together. It consists of whole words, because a word that was just stored in
 * parts is slow to load. Bytes are 0 if they differ between members and calls.
 */
struct tally_key {
    uint64_t place; /* tally_place() */
    uint64_t what;  /* tally_what() */
    uint64_t sent, received;
};

struct tally_site {
    struct tally_key key;
    uint64_t sent, received; /* in the first call */
    uint64_t root;           /* of all calls, or ROOT_NONE */
    uint64_t operands;       /* what all calls have in common of core/operands.h */
    uint64_t calls;          /* so far */
    uint64_t level;          /* the least height that is kept */
    uint64_t kept;           /* rows in use */
    uint64_t last_height;    /* of the previous call */
    struct tally_row recent[TALLY_RECENT];
    struct tally_row rows[TALLY_ROWS];
};

/* The layout of the file. */
struct tally_image {
    char magic[8];
    uint64_t table_hash, bytes; /* of the functions; of this structure */
    uint32_t rank, size;
    int64_t pid;
    uint64_t sites; /* in use; only increases */
    uint64_t full;  /* calls of sites for which there was no room */
    uint64_t inter; /* calls on inter-communicators, which are left out */
    uint64_t ended; /* 1: MPI_Finalize was reached */
    struct tally_site site[TALLY_SITES];
};

/* The process's own part: an index of sites by key, in which each slot is written once. */
struct tally {
    struct tally_image *image;
    int fd;
    pthread_mutex_t lock; /* for new sites */
    struct tally_site *slots[TALLY_SLOTS];
};

/* Create the file and map it. Errors: ICTUS_ERR_IO; the reason names the path. */
int ictusi_tally_create(struct tally *tally, const char *path, struct ictus_why *why);

/* Unmap the file, which remains. */
void ictusi_tally_close(struct tally *tally);

/* The slow path of tally_site(). */
struct tally_site *ictusi_tally_find(struct tally *tally, const struct tally_key *key);

/*
 * The slow path of tally_add(): a call that may have to be kept. calls is the number of previous
 * calls.
 */
void ictusi_tally_keep(struct tally_site *site, const struct tally_row *row);

/* The numbers of a call site and a communicator, which the log defines. */
static inline uint64_t tally_place(uint32_t site, uint32_t comm)
{
    return (uint64_t)site << 32 | comm;
}

static inline uint32_t tally_place_site(uint64_t place)
{
    return (uint32_t)(place >> 32);
}

static inline uint32_t tally_place_comm(uint64_t place)
{
    return (uint32_t)place;
}

/* An MPI function and its operation. */
static inline uint64_t tally_what(uint32_t function, uint8_t op)
{
    return (uint64_t)function << 8 | op;
}

static inline uint32_t tally_what_function(uint64_t what)
{
    return (uint32_t)(what >> 8);
}

static inline uint8_t tally_what_op(uint64_t what)
{
    return (uint8_t)what;
}

/* The finaliser of splitmix64, which turns consecutive numbers into independent bits. */
static inline uint64_t tally_hash(uint64_t number)
{
    uint64_t h = number * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

/* The height of an instance's number. */
static inline unsigned tally_height(uint64_t number)
{
    const uint64_t hash = tally_hash(number);
    return hash ? (unsigned)__builtin_ctzll(hash) : 63;
}

static inline uint64_t tally_slot(const struct tally_key *key)
{
    const uint64_t h =
        key->place * UINT64_C(0x9e3779b97f4a7c15) ^ key->what * UINT64_C(0xbf58476d1ce4e5b9) ^
        key->sent * UINT64_C(0x94d049bb133111eb) ^ key->received * UINT64_C(0xd6e8feb86659fd93);
    return (h >> 32) % TALLY_SLOTS;
}

static inline bool tally_key_equal(const struct tally_key *a, const struct tally_key *b)
{
    return a->place == b->place && a->what == b->what && a->sent == b->sent &&
           a->received == b->received;
}

/* The site of a key, which is made if it is new. NULL: no room. */
static inline struct tally_site *tally_site(struct tally *tally, const struct tally_key *key)
{
    struct tally_site *s = __atomic_load_n(&tally->slots[tally_slot(key)], __ATOMIC_ACQUIRE);
    return __builtin_expect(s && tally_key_equal(&s->key, key), 1) ? s
                                                                   : ictusi_tally_find(tally, key);
}

static inline void tally_store(struct tally_row *at, const struct tally_row *row)
{
    __atomic_store_n(&at->number, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&at->enter, row->enter, __ATOMIC_RELAXED);
    __atomic_store_n(&at->leave, row->leave, __ATOMIC_RELAXED);
    __atomic_store_n(&at->index, row->index, __ATOMIC_RELAXED);
    __atomic_store_n(&at->number, row->number, __ATOMIC_RELEASE);
}

/* Add a call of a site. Calls come in the order of their numbers. */
static inline void tally_add(struct tally_site *s, uint64_t enter, uint64_t leave, uint64_t number)
{
    const struct tally_row row = {enter, leave, number, s->calls + 1};
    const unsigned height = tally_height(number);
    tally_store(&s->recent[row.index % TALLY_RECENT], &row);
    if (__builtin_expect(height >= s->level || s->last_height >= s->level, 0)) {
        ictusi_tally_keep(s, &row);
    }
    s->last_height = height;
    __atomic_store_n(&s->calls, row.index, __ATOMIC_RELEASE);
}

/* Copy a row that may change meanwhile. @return whether it is a consistent row */
bool ictusi_tally_read(const struct tally_row *row, struct tally_row *copy);

/* Whether a file contains such an image, written by the same version. */
bool ictusi_tally_valid(const struct tally_image *image, size_t bytes);

#endif
