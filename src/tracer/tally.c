/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts calls of collectives in a mapped file. */
#include "tracer/tally.h"

#include "tracer/functions.h"

#include <ictus/text.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Read a row while the process may be writing it: the number is read first and again last. The
 * writer clears the number first and stores it last, so two equal numbers enclose a consistent row.
 */
bool ictusi_tally_read(const struct tally_row *row, struct tally_row *copy)
{
    copy->number = __atomic_load_n(&row->number, __ATOMIC_ACQUIRE);
    copy->enter = __atomic_load_n(&row->enter, __ATOMIC_RELAXED);
    copy->leave = __atomic_load_n(&row->leave, __ATOMIC_RELAXED);
    copy->index = __atomic_load_n(&row->index, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return copy->number != 0 && __atomic_load_n(&row->number, __ATOMIC_RELAXED) == copy->number;
}

/*
 * Raise the level until there is room. Rows below the level are removed, and the others move up.
 * About half of them go at each level; if by chance none does, the next level decides. A reader may
 * meanwhile see a row twice or not at all, but never a mixture.
 *
 * Sampling by level: a call is kept if the height of its number reaches the site's level (the
 * height is the number of trailing zeros of a scrambled number, so a height of at least h has a
 * probability of 2^-h), or if it follows a kept call, which the autocorrelation of consecutive
 * calls needs. Heights depend only on the number. So all processes keep the same calls without
 * communication, and their rows can be matched.
 */
static void site_thin(struct tally_site *s)
{
    while (s->kept == TALLY_ROWS) {
        uint64_t kept = 0;
        struct tally_row before = {.number = 0};
        __atomic_store_n(&s->level, s->level + 1, __ATOMIC_RELAXED);
        for (uint64_t i = 0; i < s->kept; i++) {
            const struct tally_row row = s->rows[i];
            const bool follows = before.number && before.index + 1 == row.index &&
                                 tally_height(before.number) >= s->level;
            if (follows || tally_height(row.number) >= s->level) {
                if (kept < i) {
                    tally_store(&s->rows[kept], &row);
                }
                kept++;
            }
            before = row;
        }
        for (uint64_t i = kept; i < s->kept; i++) {
            __atomic_store_n(&s->rows[i].number, 0, __ATOMIC_RELAXED);
        }
        __atomic_store_n(&s->kept, kept, __ATOMIC_RELEASE);
    }
}

void ictusi_tally_keep(struct tally_site *s, const struct tally_row *row)
{
    site_thin(s);
    if (tally_height(row->number) >= s->level || (s->last_height >= s->level && s->calls > 0)) {
        tally_store(&s->rows[s->kept], row);
        __atomic_store_n(&s->kept, s->kept + 1, __ATOMIC_RELEASE);
    }
}

/*
 * Make a new site, with its memory touched so that no later call pays for it. NULL: no room in the
 * file or on its disk. The key is written before the count that makes the site visible (release),
 * so a reader of the file that sees the count also sees the key. posix_fallocate() is used because
 * a hole on a full disk would be a SIGBUS in the program.
 */
static struct tally_site *site_make(struct tally *t, const struct tally_key *key)
{
    struct tally_image *image = t->image;
    if (image->sites == TALLY_SITES) {
        return NULL;
    }
    struct tally_site *s = &image->site[image->sites];
    if (posix_fallocate(t->fd, (char *)s - (char *)image, sizeof *s)) {
        return NULL;
    }
    memset(s, 0, sizeof *s);
    s->key = *key;
    __atomic_store_n(&image->sites, image->sites + 1, __ATOMIC_RELEASE);
    return s;
}

/*
 * Linear probing. Slots are never emptied, so a search may stop at the first empty one. The release
 * store publishes the site's contents to searches without the lock.
 */
static struct tally_site *site_insert(struct tally *t, const struct tally_key *key, uint64_t at)
{
    struct tally_site *s = NULL;
    (void)pthread_mutex_lock(&t->lock);
    /* Another thread may have filled the slot, perhaps with this key. */
    for (s = t->slots[at]; s && !tally_key_equal(&s->key, key); s = t->slots[at]) {
        at = (at + 1) % TALLY_SLOTS;
    }
    if (!s) {
        s = site_make(t, key);
        __atomic_store_n(&t->slots[at], s, __ATOMIC_RELEASE);
    }
    (void)pthread_mutex_unlock(&t->lock);
    return s;
}

/*
 * Sites are found without a lock, since a filled slot never changes. The lock is taken only to fill
 * a slot, which is then examined again.
 */
struct tally_site *ictusi_tally_find(struct tally *t, const struct tally_key *key)
{
    for (uint64_t at = tally_slot(key);; at = (at + 1) % TALLY_SLOTS) {
        struct tally_site *s = __atomic_load_n(&t->slots[at], __ATOMIC_ACQUIRE);
        if (s && tally_key_equal(&s->key, key)) {
            return s;
        }
        if (!s) {
            /* There are four times as many slots as sites, so there is always a free one. */
            return t->image->sites < TALLY_SITES ? site_insert(t, key, at) : NULL;
        }
    }
}

/*
 * The file has the length of the image from the start, but is sparse: sites take space as they are
 * made. The magic is written last, so that a reader does not use an incomplete header.
 */
int ictusi_tally_create(struct tally *t, const char *path, struct ictus_why *why)
{
    const size_t head = offsetof(struct tally_image, site);
    *t = (struct tally){.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666),
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    int bad = t->fd < 0 ? errno : 0;
    bad = bad ? bad : posix_fallocate(t->fd, 0, (off_t)head);
    if (!bad && ftruncate(t->fd, (off_t)sizeof(struct tally_image)) != 0) {
        bad = errno;
    }
    void *mapped =
        bad ? MAP_FAILED
            : mmap(NULL, sizeof(struct tally_image), PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (mapped == MAP_FAILED) {
        bad = bad ? bad : errno;
        if (t->fd >= 0) {
            (void)close(t->fd);
        }
        t->fd = -1;
        return ictus_because(why, ICTUS_ERR_IO, "%.200s: %s", path, strerror(bad));
    }
    t->image = mapped;
    t->image->table_hash = TRACE_TABLE_HASH;
    t->image->bytes = sizeof(struct tally_image);
    t->image->pid = getpid();
    memcpy(t->image->magic, TALLY_MAGIC, sizeof t->image->magic);
    return ICTUS_OK;
}

void ictusi_tally_close(struct tally *t)
{
    if (t->image) {
        (void)munmap(t->image, sizeof(struct tally_image));
        (void)close(t->fd);
    }
    t->image = NULL;
    t->fd = -1;
}

bool ictusi_tally_valid(const struct tally_image *image, size_t bytes)
{
    return bytes == sizeof *image && memcmp(image->magic, TALLY_MAGIC, sizeof image->magic) == 0 &&
           image->bytes == sizeof *image && image->table_hash == TRACE_TABLE_HASH &&
           image->sites <= TALLY_SITES;
}
