/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage at reserved addresses, first over plain memory, then over a sparse unlinked file. */
#include "causality/store.h"

#include "causality/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STORE_PAGE = 4096, STORE_STEP = 1 << 17 }; /* bytes; elements allocated at a time */
enum { STORE_MOVED = 1 << 16 };                   /* bytes from which on pages are moved */
enum { STORE_PIECE = 1 << 10 };                   /* elements that stay in the cache */

/* Mappings can only be made and dropped by whole pages. */
static uint64_t store_bytes(const struct store *store, uint64_t count)
{
    return (count * store->size + STORE_PAGE - 1) / STORE_PAGE * STORE_PAGE;
}

/*
 * The addresses for all elements are reserved at once, and cost nothing until they are touched. So
 * the array never moves, and pointers into it stay valid.
 */
int ictusi_store_init(struct store *store, size_t size, uint64_t room, uint64_t memory_bytes,
                      struct ictus_why *why)
{
    *store = (struct store){
        .size = size, .room = room ? room : 1, .memory = memory_bytes / size, .file = -1};
    void *area = mmap(NULL, store_bytes(store, store->room), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) {
        return ictus_because(why, ICTUS_ERR_NOMEM,
                             "not enough memory for the %llu events of the archive",
                             (unsigned long long)room);
    }
    store->area = area;
    return ICTUS_OK;
}

void ictusi_store_fini(struct store *store)
{
    if (store->area) {
        (void)munmap(store->area, store_bytes(store, store->room));
        if (store->file >= 0) {
            (void)close(store->file);
        }
    }
    *store = (struct store){.file = -1};
}

/* Create the file in TMPDIR, without a name. */
static int store_open_file(struct ictus_why *why)
{
    const char *dir = getenv("TMPDIR");
    dir = dir && *dir ? dir : "/tmp";
    const int file = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) {
        return file;
    }
    char name[4096] = "";
    const int wanted = snprintf(name, sizeof name, "%s/ictus-XXXXXX", dir);
    const int made = wanted > 0 && (size_t)wanted < sizeof name ? mkstemp(name) : -1;
    if (made >= 0) {
        (void)unlink(name);
        return made;
    }
    (void)ictus_because(why, ICTUS_ERR_IO, "%s: cannot create a temporary file there: %s", dir,
                        strerror(errno));
    return -1;
}

static int store_say(struct ictus_why *why, int number)
{
    return ictus_because(why, ICTUS_ERR_IO, "the temporary file cannot be used: %s",
                         strerror(number));
}

/* Map the array's bytes from the file, up to the end of a page. */
static int store_map(struct store *store, uint64_t end, struct ictus_why *why)
{
    if (end > store->filed) {
        void *const place = (char *)store->area + store->filed;
        if (mmap(place, end - store->filed, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, store->file,
                 (off_t)store->filed) == MAP_FAILED) {
            return store_say(why, errno);
        }
        store->filed = end;
    }
    return ICTUS_OK;
}

/* Write what is in memory to the file, up to the end of a page. */
static int store_flush(struct store *store, uint64_t end, struct ictus_why *why)
{
    for (uint64_t at = store->filed; at < end;) {
        const ssize_t put =
            pwrite(store->file, (const char *)store->area + at, end - at, (off_t)at);
        if (put <= 0) {
            return store_say(why, put < 0 ? errno : ENOSPC);
        }
        at += (uint64_t)put;
    }
    return store_map(store, end, why);
}

/*
 * Appended elements are written to the file when the next ones come, because touching the pages of
 * a mapped file one by one costs ten times as much. A large number of elements made at once goes
 * into the file directly.
 */
static int store_file(struct store *store, uint64_t ready, struct ictus_why *why)
{
    store->file = store->file < 0 ? store_open_file(why) : store->file;
    if (store->file < 0) {
        return ICTUS_ERR_IO;
    }
    if (ready - store->count <= 2ULL * STORE_STEP) {
        return store_flush(store, store->count * store->size / STORE_PAGE * STORE_PAGE, why);
    }
    int err = store_flush(store, store_bytes(store, store->count), why);
    const uint64_t end = store_bytes(store, ready);
    if (!err && end > store->filed) {
        /* Touching a hole in a mapped file on a full disk would kill the process. */
        const int failed =
            posix_fallocate(store->file, (off_t)store->filed, (off_t)(end - store->filed));
        err = failed ? store_say(why, failed) : store_map(store, end, why);
    }
    return err;
}

int ictusi_store_grow(struct store *store, uint64_t more, struct ictus_why *why)
{
    const uint64_t wanted = store->count + more;
    if (wanted <= store->ready) {
        return ICTUS_OK;
    }
    if (wanted > store->room) {
        return ictus_because(why, ICTUS_ERR_CORRUPT,
                             "the archive holds more events than its definitions say");
    }
    /*
     * Grow by a constant step instead of doubling: nothing is copied, since the addresses are
     * reserved.
     */
    uint64_t ready = wanted + STORE_STEP - 1;
    ready = ready < store->room ? ready : store->room;
    int err = ICTUS_OK;
    if (ready > store->memory) {
        err = store_file(store, ready, why);
        ictusi_store_relax(store); /* while elements are appended, nobody reads them */
    }
    store->ready = err ? store->ready : ready;
    return err;
}

/*
 * Move the pages of another array in memory to the first page border after the elements here.
 * Copying would have to get as many new pages, which takes much longer than to copy. Returns false
 * if it is not possible. The kernel is called itself, because the mremap() of AddressSanitizer in
 * clang 14 does not pass on where the pages are to go.
 */
static bool store_move_pages(const struct store *store, const struct store *other)
{
#ifdef MREMAP_DONTUNMAP
    const uint64_t place = store_bytes(store, store->count);
    const uint64_t bytes = store_bytes(other, other->count);
    return store->filed == 0 && other->filed == 0 && store->count + other->count <= store->memory &&
           bytes >= STORE_MOVED && place + bytes <= store_bytes(store, store->room) &&
           syscall(SYS_mremap, other->area, bytes, bytes,
                   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
                   (char *)store->area + place) != -1;
#else
    return false;
#endif
}

/* The moved pages begin up to one page too late. Close the gap, and mend the elements meanwhile. */
static void store_close_up(struct store *store, uint64_t count, store_mend *mend, const void *self)
{
    char *const to = (char *)store->area + store->count * store->size;
    char *const from = (char *)store->area + store_bytes(store, store->count);
    for (uint64_t done = 0, n = 0; done < count; done += n) {
        n = count - done < STORE_PIECE ? count - done : STORE_PIECE;
        memmove(to + done * store->size, from + done * store->size, n * store->size);
        mend(self, to + done * store->size, n);
    }
    memset(to + count * store->size, 0, (size_t)(from - to));
    store->count += count;
    store->ready = store->ready > store->count ? store->ready : store->count;
}

int ictusi_store_take(struct store *store, struct store *other, store_mend *mend, const void *self,
                      struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (store_move_pages(store, other)) {
        store_close_up(store, other->count, mend, self);
        return ICTUS_OK;
    }
    for (uint64_t done = 0, n = 0; done < other->count && !err; done += n) {
        n = other->count - done < STORE_STEP ? other->count - done : STORE_STEP;
        err = ictusi_store_grow(store, n, why);
        if (!err) {
            void *place = (char *)store->area + store->count * store->size;
            memcpy(place, (const char *)other->area + done * other->size, n * store->size);
            mend(self, place, n);
            store->count += n;
            ictusi_store_drop(other, done, n);
        }
    }
    return err;
}

/* Older kernels refuse this, which does no harm. */
static void store_populate(const struct store *store, uint64_t from, uint64_t to)
{
#ifdef MADV_POPULATE_WRITE
    const uint64_t begin = from * store->size / STORE_PAGE * STORE_PAGE;
    const uint64_t end = store_bytes(store, to);
    if (end > begin) {
        (void)madvise((char *)store->area + begin, end - begin, MADV_POPULATE_WRITE);
    }
#else
    (void)store, (void)from, (void)to;
#endif
}

void ictusi_store_populate(const struct store *store, uint64_t from, uint64_t to)
{
    if (store->filed == 0) {
        store_populate(store, from, to);
    }
}

void ictusi_store_populate_file(const struct store *store, uint64_t from, uint64_t to)
{
    if (store->filed > 0) {
        store_populate(store, from, to);
    }
}

void ictusi_store_relax(const struct store *store)
{
    if (store->filed > 0) {
        (void)madvise(store->area, store->filed, MADV_DONTNEED);
    }
}

/* The page in which the elements end may hold others that are still needed, so it stays. */
void ictusi_store_drop(const struct store *store, uint64_t from, uint64_t count)
{
    const uint64_t begin = from * store->size / STORE_PAGE * STORE_PAGE;
    const uint64_t end = (from + count) * store->size / STORE_PAGE * STORE_PAGE;
    if (end > begin) {
        (void)madvise((char *)store->area + begin, end - begin, MADV_DONTNEED);
    }
}

struct stores {
    struct store *const *list;
};

static void stores_drop_one(void *self, uint32_t number)
{
    const struct store *store = ((const struct stores *)self)->list[number];
    ictusi_store_drop(store, 0, store->ready);
}

void ictusi_stores_drop(struct store *const *stores, uint32_t count, int threads)
{
    struct stores all = {stores};
    ictusi_crew_run(threads, count, stores_drop_one, &all);
}
