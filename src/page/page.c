/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the shared page. */
#include "page.h"

#include "timebase.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Take the lock of a clock's name. @return a file descriptor, or a negative error. The lock is
 * advisory (flock), so the kernel releases it however the daemon ends. */
static int page_open_guard(const char *path, struct ictus_why *why)
{
    char guard[PAGE_PATH_BYTES];
    struct page_header header = {.pid = 0};
    struct stat info;
    const char *file = strrchr(path, '/');
    (void)snprintf(guard, sizeof(guard), "%.*s/ictus-guard.%s", (int)(file - path), path,
                   file + strlen("/ictus-lock."));
    /* O_NOFOLLOW, because everybody may be able to write to the directory. With mode 0600 no
     * other user can open the file, and so nobody else can lock it. */
    const int fd = open(guard, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fstat(fd, &info) < 0 || info.st_uid != geteuid() || fchmod(fd, 0600) < 0) {
        const int code = fd < 0 ? errno : EPERM;
        if (fd >= 0) {
            (void)close(fd);
        }
        return ictus_because(
            why, code == EACCES || code == EPERM ? ICTUS_ERR_PERMISSION : ICTUS_ERR_IO,
            "cannot lock %s: %s", guard, fd < 0 ? strerror(code) : "it belongs to another user");
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        return fd;
    }
    /* The lock is taken. The page tells which process holds it. */
    const int page = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const ssize_t got = page < 0 ? -1 : pread(page, &header, sizeof(header), 0);
    if (page >= 0) {
        (void)close(page);
    }
    (void)close(fd);
    return ictus_because(why, ICTUS_ERR_EXISTS,
                         "the clock %s is already kept by process %ld; choose another --name", path,
                         got == (ssize_t)sizeof(header) ? (long)header.pid : 0L);
}

/* Map the page for writing. The file must be a regular one that belongs to this user, because
 * anybody may have created a file of this name in a directory that is open to all. */
static int page_map(int fd, struct page **page)
{
    struct stat info;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        ftruncate(fd, (off_t)sizeof(struct page)) < 0 || fchmod(fd, 0644) < 0) {
        return ICTUS_ERR_IO;
    }
    /* If there is no space for the page, fail here and not by SIGBUS at the first word written. */
    const int full = posix_fallocate(fd, 0, (off_t)sizeof(struct page));
    if (full) {
        errno = full;
        return ICTUS_ERR_IO;
    }
    void *memory = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        return ICTUS_ERR_IO;
    }
    *page = memory;
    return ICTUS_OK;
}

/* Create the default directory. A directory that the user named must exist. */
static int page_make_directory(const char *directory, bool standard, struct ictus_why *why)
{
    struct stat info;
    if (!standard && (stat(directory, &info) < 0 || !S_ISDIR(info.st_mode))) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "there is no directory %s; make it, or name another with --directory",
                             directory);
    }
    if (standard && mkdir(directory, 0755) < 0 && errno != EEXIST) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot create %s: %s", directory, strerror(errno));
    }
    /* The system's directory may belong to the service's user, because root gave it away. */
    if (standard &&
        (lstat(directory, &info) < 0 || !S_ISDIR(info.st_mode) ||
         (info.st_uid != geteuid() && geteuid() != 0) || (info.st_mode & (S_IWGRP | S_IWOTH)))) {
        return ictus_because(why, ICTUS_ERR_PERMISSION,
                             "%s is not a directory that only you can write to; name another with "
                             "--directory",
                             directory);
    }
    return ICTUS_OK;
}

static int page_open(const char *path, struct page_writer *writer, struct ictus_why *why)
{
    errno = 0;
    writer->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (writer->fd >= 0 && page_map(writer->fd, &writer->page) == ICTUS_OK) {
        return ICTUS_OK;
    }
    const int err = ictus_because(why, ICTUS_ERR_IO, "cannot use %s as the clock's page: %s", path,
                                  errno ? strerror(errno) : "it belongs to another user");
    if (writer->fd >= 0) {
        (void)close(writer->fd);
    }
    writer->fd = -1;
    return err;
}

int ictusi_page_create(const char *name, const char *directory, struct page_writer *writer,
                       struct ictus_why *why)
{
    char place[PAGE_PATH_BYTES], path[PAGE_PATH_BYTES];
    const char *named = directory ? directory : getenv("ICTUS_LOCK_DIRECTORY");
    writer->page = NULL;
    writer->fd = -1;
    writer->guard = -1;
    int err = ictusi_page_directory(directory, place, sizeof(place), why);
    err = err ? err : ictusi_page_path(name, place, path, sizeof(path), why);
    err = err ? err : page_make_directory(place, !named || !named[0], why);
    if (err) {
        return err;
    }
    writer->guard = page_open_guard(path, why);
    if (writer->guard < 0) {
        return writer->guard;
    }
    err = page_open(path, writer, why);
    struct page_header header = {.magic = PAGE_MAGIC,
                                 .version = PAGE_VERSION,
                                 .bytes = (uint32_t)sizeof(struct page),
                                 .pid = getpid(),
                                 .started = ictusi_timebase_raw_now()};
    (void)ictusi_page_process(header.pid, &header.pid_started, &header.pidns);
    if (!err && ictusi_page_identity(header.boot, &header.timens)) {
        err = ictus_because(why, ICTUS_ERR_IO, "cannot read the boot id");
    }
    if (err) {
        ictusi_page_close(writer);
        return err;
    }
    /* Invalidate what an earlier daemon left. Readers that still map the page see an unlocked
     * clock. */
    atomic_store(&writer->page->clock_turn, 0);
    atomic_store(&writer->page->status_turn, 0);
    writer->page->header = header;
    return ICTUS_OK;
}

/*
 * Write a slot and put it in force: a sequence lock with two slots (H.-J. Boehm, "Can seqlocks get
 * along with programming language memory models?", MSPC 2012). Readers use the slot in force while
 * the other one is filled, so they have to retry only if two turns happen during one read. The
 * words are relaxed atomics, because a reader may see them while they change. The fence and the
 * release store make it notice that.
 */
static void page_turn(_Atomic uint64_t *counter, _Atomic uint64_t *slots, size_t words,
                      const void *from, size_t bytes)
{
    uint64_t next = atomic_load_explicit(counter, memory_order_relaxed) + 1;
    if (next == 0) { /* 0 means "never written"; 2 has the same lowest bit */
        next = 2;
    }
    _Atomic uint64_t *slot = slots + (next & 1) * words;
    /* A reader that still uses this slot under its old turn must not miss that it changes. */
    atomic_thread_fence(memory_order_seq_cst);
    for (size_t i = 0; i < words; i++) {
        uint64_t word = 0;
        const size_t left = bytes - i * 8;
        memcpy(&word, (const char *)from + i * 8, left < 8 ? left : 8);
        atomic_store_explicit(&slot[i], word, memory_order_relaxed);
    }
    atomic_store_explicit(counter, next, memory_order_release);
}

/*
 * The variance of a phase that is predicted from phase, frequency and a random walk of the
 * frequency, by s seconds. The cross term enters by its absolute value, so that sigma never shrinks
 * with time.
 */
double ictusi_page_sigma(const struct page_clock *c, double s)
{
    return sqrt(c->pp_ns2 + s * (2.0 * fabs(c->pf_ns2_per_s) +
                                 s * (c->ff_ns2_per_s2 + s * c->walk_ns2_per_s3 / 3.0)));
}

/* Add the values of the fast path and publish. Between the anchor and good_until the fast path
 * interpolates sigma linearly, which saves a square root at each reading. */
void ictusi_page_publish(struct page_writer *writer, const struct page_clock *clock)
{
    struct page_clock c = *clock;
    const double span = (double)(c.good_until - c.anchor) * 1e-9;
    c.sigma_ns = ictusi_page_sigma(&c, 0.0);
    c.sigma_rate = span > 0.0 ? (ictusi_page_sigma(&c, span) - c.sigma_ns) / span : 0.0;
    c.slew_until = c.anchor;
    if (c.slew_ns != 0.0 && c.slew_rate > 0.0) {
        c.slew_until += (int64_t)ceil(fabs(c.slew_ns) / c.slew_rate);
    }
    c.quick_until = c.good_until;
    if (c.leap_ns) {
        /* End one second before the earliest leap, so that neither slew nor rate matters. */
        const int64_t until = c.anchor + (c.leap_at - c.value) - 2 * ICTUS_NS_PER_S;
        c.quick_until = until < c.good_until ? until : c.good_until;
    }
    page_turn(&writer->page->clock_turn, &writer->page->clock[0][0], PAGE_CLOCK_WORDS, &c,
              sizeof(c));
}

void ictusi_page_report(struct page_writer *writer, const struct ictus_lock_status *status)
{
    page_turn(&writer->page->status_turn, &writer->page->status[0][0], PAGE_STATUS_WORDS, status,
              sizeof(*status));
}

void ictusi_page_close(struct page_writer *writer)
{
    if (writer->page) {
        writer->page->header.pid = 0; /* no process keeps the clock any more */
        (void)munmap(writer->page, sizeof(*writer->page));
    }
    if (writer->fd >= 0) {
        (void)close(writer->fd);
    }
    if (writer->guard >= 0) {
        (void)close(writer->guard);
    }
    writer->page = NULL;
    writer->fd = -1;
    writer->guard = -1;
}
