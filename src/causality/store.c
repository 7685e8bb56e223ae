/* SPDX-License-Identifier: BSD-3-Clause */
/* Reserved addresses, first over plain memory, then over a sparse unlinked file. */
#include "causality/store.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STORE_PAGE = 4096, STORE_STEP = 1 << 17 }; /* bytes; elements allocated at a time */

static uint64_t store_bytes(const struct store *store, uint64_t count)
{
    return (count * store->size + STORE_PAGE - 1) / STORE_PAGE * STORE_PAGE;
}

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

/* In TMPDIR; no name is left of it. */
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

static int store_write(int file, const char *bytes, uint64_t count)
{
    uint64_t at = 0;
    while (at < count) {
        const ssize_t put = pwrite(file, bytes + at, count - at, (off_t)at);
        if (put <= 0) {
            return -1;
        }
        at += (uint64_t)put;
    }
    return 0;
}

/* A hole in a mapped file on a full disk would kill the process when touched: no holes. */
static int store_allocate(const struct store *store, uint64_t from, uint64_t to,
                          struct ictus_why *why)
{
    const int failed = posix_fallocate(store->file, (off_t)(from * store->size),
                                       (off_t)((to - from) * store->size));
    return failed ? ictus_because(why, ICTUS_ERR_IO, "the temporary file: %s", strerror(failed))
                  : ICTUS_OK;
}

/* From memory into a file, whose storage ends at ready, and which takes its place. */
static int store_move(struct store *store, uint64_t ready, struct ictus_why *why)
{
    const uint64_t all = store_bytes(store, store->room);
    store->file = store_open_file(why);
    if (store->file < 0) {
        return ICTUS_ERR_IO;
    }
    if (ftruncate(store->file, (off_t)all)) {
        return ictus_because(why, ICTUS_ERR_IO, "the temporary file: %s", strerror(errno));
    }
    const int err = store_allocate(store, 0, ready, why);
    if (err) {
        return err;
    }
    if (store_write(store->file, store->area, store->count * store->size) ||
        mmap(store->area, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             store->file, 0) == MAP_FAILED) {
        return ictus_because(why, ICTUS_ERR_IO, "the temporary file: %s", strerror(errno));
    }
    return ICTUS_OK;
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
    uint64_t ready = wanted + STORE_STEP - 1;
    ready = ready < store->room ? ready : store->room;
    int err = ICTUS_OK;
    if (store->file >= 0) {
        err = store_allocate(store, store->ready, ready, why);
    } else if (ready > store->memory) {
        err = store_move(store, ready, why);
    }
    store->ready = err ? store->ready : ready;
    return err;
}

int ictusi_store_append(struct store *store, const struct store *other, struct ictus_why *why)
{
    const int err = ictusi_store_grow(store, other->count, why);
    if (!err && other->count > 0) {
        memcpy((char *)store->area + store->count * store->size, other->area,
               other->count * other->size);
        store->count += other->count;
    }
    return err;
}

void ictusi_store_relax(struct store *store)
{
    if (store->area && store->file >= 0) {
        (void)madvise(store->area, store_bytes(store, store->room), MADV_DONTNEED);
    }
}

void ictusi_store_drop(struct store *store, uint64_t from, uint64_t count)
{
    const uint64_t begin = from * store->size / STORE_PAGE * STORE_PAGE;
    const uint64_t end = (from + count) * store->size / STORE_PAGE * STORE_PAGE;
    if (end > begin) {
        (void)madvise((char *)store->area + begin, end - begin, MADV_DONTNEED);
    }
}
