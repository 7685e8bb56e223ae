/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing the shared page. */
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

int ictusi_page_identity(char boot[PAGE_BOOT_BYTES], uint64_t *timens)
{
    struct stat info;
    memset(boot, 0, PAGE_BOOT_BYTES);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file) {
        return ICTUS_ERR_IO;
    }
    const bool read = fgets(boot, PAGE_BOOT_BYTES, file) != NULL;
    (void)fclose(file);
    /* Kernels without time namespaces have one raw clock for all. */
    *timens = stat("/proc/self/ns/time", &info) == 0 ? (uint64_t)info.st_ino : 0;
    return read ? ICTUS_OK : ICTUS_ERR_IO;
}

int ictusi_page_path(const char *name, const char *directory, char *path, size_t size,
                     struct ictus_why *why)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (!name) {
        name = getenv("ICTUS_LOCK");
    }
    if (!name || !name[0]) {
        name = "default";
    }
    if (!directory) {
        directory = getenv("ICTUS_LOCK_DIR");
    }
    if (!directory || !directory[0]) {
        directory = "/dev/shm";
    }
    if (name[strspn(name, allowed)] || strlen(name) > 64) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "'%.80s' is no name of a clock: want up to 64 letters, digits, . _ -",
                             name);
    }
    const int length = snprintf(path, size, "%s/ictus-lock.%s", directory, name);
    return length > 0 && (size_t)length < size
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_SPEC, "the directory's name is too long");
}

static int open_locked(const char *path, int *fd, struct ictus_why *why)
{
    /* Not through a link: the directory may be everybody's. */
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (*fd < 0) {
        return ictus_because(why, errno == EACCES ? ICTUS_ERR_PERMISSION : ICTUS_ERR_IO,
                             "cannot create the clock's page %s: %s", path, strerror(errno));
    }
    /* `ictus lock status` holds the lock for a moment: that is no second daemon. */
    for (int i = 0; i < 5; i++) {
        const struct timespec pause = {.tv_nsec = 10000000};
        if (flock(*fd, LOCK_EX | LOCK_NB) == 0) {
            return ICTUS_OK;
        }
        (void)nanosleep(&pause, NULL);
    }
    struct page_header header = {.pid = 0};
    const ssize_t got = pread(*fd, &header, sizeof(header), 0);
    (void)close(*fd);
    return ictus_because(why, ICTUS_ERR_EXISTS,
                         "the clock %s is kept by process %ld already; choose another --name", path,
                         got == (ssize_t)sizeof(header) ? (long)header.pid : 0L);
}

static int map_page(int fd, struct page **page)
{
    struct stat info;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        ftruncate(fd, (off_t)sizeof(struct page)) < 0 || fchmod(fd, 0644) < 0) {
        return ICTUS_ERR_IO;
    }
    /* A page that has no room ends here, and not by a signal at the first word written. */
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

int ictusi_page_create(const char *path, struct page_writer *writer, struct ictus_why *why)
{
    const int err = open_locked(path, &writer->fd, why);
    if (err) {
        return err;
    }
    if (map_page(writer->fd, &writer->page)) {
        (void)close(writer->fd);
        return ictus_because(why, ICTUS_ERR_IO, "cannot use %s as the clock's page: %s", path,
                             errno ? strerror(errno) : "it belongs to another user");
    }
    struct page *page = writer->page;
    struct page_header header = {.magic = PAGE_MAGIC,
                                 .version = PAGE_VERSION,
                                 .bytes = (uint32_t)sizeof(struct page),
                                 .pid = getpid(),
                                 .started = ictusi_raw_now()};
    if (ictusi_page_identity(header.boot, &header.timens)) {
        ictusi_page_close(writer);
        return ictus_because(why, ICTUS_ERR_IO, "cannot read the boot id");
    }
    /* What an earlier daemon left is void: readers that still map it see an unlocked clock. */
    atomic_store(&page->clock_turn, 0);
    atomic_store(&page->status_turn, 0);
    page->header = header;
    return ICTUS_OK;
}

static void turn(_Atomic uint64_t *counter, _Atomic uint64_t *slots, size_t words, const void *from,
                 size_t bytes)
{
    uint64_t next = atomic_load_explicit(counter, memory_order_relaxed) + 1;
    if (next == 0) {
        next = 2;
    }
    _Atomic uint64_t *slot = slots + (next & 1) * words;
    /* A reader that still sees the old turn of this slot must not miss that it changed. */
    atomic_thread_fence(memory_order_seq_cst);
    for (size_t i = 0; i < words; i++) {
        uint64_t word = 0;
        const size_t left = bytes - i * 8;
        memcpy(&word, (const char *)from + i * 8, left < 8 ? left : 8);
        atomic_store_explicit(&slot[i], word, memory_order_relaxed);
    }
    atomic_store_explicit(counter, next, memory_order_release);
}

double ictusi_page_sigma(const struct page_clock *c, double s)
{
    return sqrt(c->pp_ns2 + s * (2.0 * fabs(c->pf_ns2_per_s) +
                                 s * (c->ff_ns2_per_s2 + s * c->walk_ns2_per_s3 / 3.0)));
}

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
    turn(&writer->page->clock_turn, &writer->page->clock[0][0], PAGE_CLOCK_WORDS, &c, sizeof(c));
}

void ictusi_page_report(struct page_writer *writer, const struct ictus_lock_status *status)
{
    turn(&writer->page->status_turn, &writer->page->status[0][0], PAGE_STATUS_WORDS, status,
         sizeof(*status));
}

void ictusi_page_close(struct page_writer *writer)
{
    if (writer->page) {
        (void)munmap(writer->page, sizeof(*writer->page));
        (void)close(writer->fd);
    }
    writer->page = NULL;
    writer->fd = -1;
}
