/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes, maps and switches the windows of a thread's event file. */
#include "tracer/recorder.h"

#include "tracer/counting.h"
#include "tracer/openmp.h"
#include "tracer/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * Allocate file space in advance, so that a full disk is an error code and not a SIGBUS in the
 * program. Without fallocate() (on some network file systems) zeros are written, which is slower
 * but equally safe.
 */
static int recorder_reserve_space(int fd, off_t from, size_t bytes)
{
    struct rlimit limit;
    /*
     * Beyond this limit the kernel would send SIGXFSZ, which would end a program that knows nothing
     * about traces.
     */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (rlim_t)from + bytes > limit.rlim_cur) {
        errno = EFBIG;
        return -1;
    }
    if (fallocate(fd, 0, from, (off_t)bytes) == 0) {
        return 0;
    }
    if (errno != EOPNOTSUPP && errno != ENOSYS) {
        return -1;
    }
    static const char zeros[65536];
    for (size_t done = 0; done < bytes; done += sizeof(zeros)) {
        if (pwrite(fd, zeros, sizeof(zeros), from + (off_t)done) != (ssize_t)sizeof(zeros)) {
            return -1;
        }
    }
    return 0;
}

/*
 * Let the kernel do in advance the work of the first write to each page of the file: a fault that
 * reserves blocks and marks the page dirty, which on ext4 takes as long as some hundred records.
 * MAP_POPULATE is not sufficient, since it only reads the pages of a shared mapping. The file is
 * new and all zeros.
 */
static int recorder_touch_window(void *memory, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    const int failed = madvise(memory, bytes, MADV_POPULATE_WRITE);
    /* EINVAL: an older kernel; any other error would be a SIGBUS */
    if (!failed || errno != EINVAL) {
        return failed;
    }
#endif
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page) {
        ((volatile char *)memory)[at] = 0;
    }
    return 0;
}

/*
 * Map the window at the end of the file. Beyond soft there is room for two of the longest records:
 * the one that crosses it, and the one that is written if no other window can be had. The order is
 * limit, disk space, mapping, touching, because later failures would be a signal in the traced
 * program instead of an error here. The offset in the file is a multiple of the page size, since
 * the header is a whole page and windows are multiples of it.
 */
static int recorder_map_window(struct recorder *r)
{
    if (r->file_bytes + r->window_bytes > r->limit_bytes) {
        errno = EFBIG;
        return -1;
    }
    if (recorder_reserve_space(r->fd, (off_t)r->file_bytes, r->window_bytes)) {
        return -1;
    }
    void *memory = mmap(NULL, r->window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
                        (off_t)r->file_bytes);
    if (memory == MAP_FAILED) {
        return -1;
    }
    if (recorder_touch_window(memory, r->window_bytes)) {
        const int why = errno;
        (void)munmap(memory, r->window_bytes);
        errno = why;
        return -1;
    }
    r->window = memory;
    r->file_bytes += r->window_bytes;
    r->pos = r->window;
    r->soft = r->window + r->window_bytes / sizeof(uint64_t) - (size_t)2 * RECORD_WORDS_MAX;
    return 0;
}

static void recorder_path(const struct recorder *r, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%u.%u.events", r->setup->directory, r->setup->rank, r->thread);
}

/*
 * O_EXCL: a file of that name belongs to another job or an earlier attempt and must not be
 * overwritten.
 */
static int recorder_create_file(struct recorder *r)
{
    char path[4096];
    struct raw_header header = {.table_hash = r->setup->table_hash,
                                .window_bytes = r->window_bytes,
                                .rank = r->setup->rank,
                                .thread = r->thread,
                                .pid = (uint64_t)getpid()};
    memcpy(header.magic, RAW_MAGIC, sizeof(header.magic));
    recorder_path(r, path, sizeof(path));
    r->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (r->fd < 0) {
        return -1;
    }
    char page[RAW_HEADER_BYTES] = {0};
    memcpy(page, &header, sizeof(header));
    if (write(r->fd, page, sizeof(page)) != (ssize_t)sizeof(page)) {
        return -1;
    }
    r->file_bytes = RAW_HEADER_BYTES;
    return 0;
}

/*
 * A program's limit of open files is for its own files. Only the files of the first threads stay
 * open; those of other threads are opened when they grow. errno is kept.
 */
static void recorder_close_file(struct recorder *r)
{
    enum { FILES_OPEN = 16 };
    const int why = errno;
    if (r->fd >= 0 && r->thread >= FILES_OPEN) {
        (void)close(r->fd);
        r->fd = -1;
    }
    errno = why;
}

static int recorder_open_file(struct recorder *r)
{
    char path[4096];
    if (r->fd < 0) {
        recorder_path(r, path, sizeof(path));
        r->fd = open(path, O_RDWR | O_CLOEXEC);
    }
    return r->fd < 0 ? -1 : 0;
}

/* A file without a window is removed, so that a later thread can make a file of this name. */
static int recorder_begin_file(struct recorder *r)
{
    char path[4096];
    const int failed = recorder_create_file(r) || recorder_map_window(r);
    if (failed && r->fd >= 0) {
        const int why = errno;
        recorder_path(r, path, sizeof(path));
        (void)unlink(path);
        (void)close(r->fd);
        r->fd = -1;
        errno = why;
    }
    recorder_close_file(r);
    return failed;
}

/*
 * next_request holds the thread's number above 40 bits of counter, which starts at 1 because 0
 * means none.
 */
static struct recorder *recorder_allocate(const struct recorder_setup *setup, uint32_t thread,
                                          size_t window_bytes)
{
    struct recorder *r = calloc(1, sizeof(*r));
    if (!r) {
        return NULL;
    }
    r->setup = setup;
    r->thread = thread;
    r->clock = setup->clock;
    r->kind = setup->kind;
    r->window_bytes = window_bytes;
    r->limit_bytes = setup->limit_bytes;
    r->comm = MPI_COMM_NULL;
    r->type = MPI_DATATYPE_NULL;
    r->next_request = (uint64_t)thread << 40 | 1;
    r->fd = -1;
    return r;
}

/*
 * A recorder without a file is still needed: calls are tracked through it (communicators, requests)
 * as through any other, and counted as lost.
 */
struct recorder *ictusi_recorder_create_bare(const struct recorder_setup *setup)
{
    struct recorder *r = recorder_allocate(setup, RECORDER_BARE, 0);
    if (r) {
        ictusi_recorder_divert(r, AFTER_FULL);
    }
    return r;
}

struct recorder *ictusi_recorder_create(const struct recorder_setup *setup, uint32_t thread,
                                        size_t window_bytes)
{
    struct recorder *r = recorder_allocate(setup, thread, window_bytes);
    if (!r) {
        return NULL;
    }
    if (setup->tally) {
        r->counted = malloc(COUNTED_PLACES * sizeof(*r->counted));
        if (!r->counted) {
            free(r);
            return NULL;
        }
        for (int i = 0; i < COUNTED_PLACES; i++) {
            r->counted[i] = (struct counted){.place = COUNTED_NOWHERE};
        }
        ictusi_recorder_divert(r, AFTER_TALLY);
    } else if (recorder_begin_file(r)) {
        const int why = errno;
        ictusi_recorder_divert(r, AFTER_FULL);
        errno = why;
    }
    return r;
}

/*
 * Divert records to scratch memory, so that the code that records need not check whether records
 * are wanted. The position in the file is saved for ictusi_recorder_resume(). A pending flush
 * record belongs to the file and is written first. Several reasons may apply at the same time; only
 * the first one saves the position, and only the last one to end restores it.
 */
void ictusi_recorder_divert(struct recorder *r, enum recorder_after reason)
{
    if (!(r->after & AFTER_DIVERTED)) {
        if (r->flush_ticks != 0) {
            ictusi_recorder_flush(r);
        }
        r->kept_pos = r->pos;
        r->kept_soft = r->soft;
    }
    r->after |= (uint8_t)reason;
    recorder_scratch(r);
}

/*
 * Records continue where they stopped. r->open is reset, because calls were left and entered in the
 * meantime.
 */
void ictusi_recorder_resume(struct recorder *r, enum recorder_after reason)
{
    r->after &= (uint8_t)~reason;
    if (r->after & AFTER_DIVERTED) {
        recorder_scratch(r);
    } else {
        r->pos = r->kept_pos;
        r->soft = r->kept_soft;
        r->open = NULL;
    }
}

/*
 * Release the pages of the window. The mapping is shared: MADV_DONTNEED drops only this process's
 * page table entries, and the kernel's page cache keeps the data.
 */
void ictusi_recorder_rest(struct recorder *r)
{
    if (r->window) {
        (void)madvise(r->window, r->window_bytes, MADV_DONTNEED);
    }
}

void ictusi_recorder_leave_room(struct recorder *r)
{
    free(r->handles);
    free(r->statuses);
    free(r->held);
    r->handles = NULL;
    r->statuses = NULL;
    r->held = NULL;
    r->room = 0;
}

void ictusi_recorder_free(struct recorder *r)
{
    if (!r) {
        return;
    }
    if (r->window) {
        (void)munmap(r->window, r->window_bytes);
    }
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    ictusi_recorder_leave_room(r);
    ictusi_openmp_forget(r);
    free(r->counted);
    free(r);
}

/*
 * Note in the old window that recording ends here. Two of the longest records fit beyond soft
 * (recorder_map_window), and this is one of them.
 */
static void recorder_fill(struct recorder *r, int why)
{
    recorder_timed(r, RECORD_OFF, why == EFBIG ? OFF_LIMIT : OFF_NO_SPACE, recorder_ticks(r));
    ictusi_recorder_divert(r, AFTER_FULL);
}

/*
 * `from` is read before the work and the ticks after it. The archive shows the gap as a flush, so
 * that it is not mistaken for time of the program.
 */
void ictusi_recorder_switch(struct recorder *r)
{
    recorder_enter_call(r); /* it belongs to the old window */
    if (r->after & AFTER_DIVERTED) {
        recorder_scratch(r);
        return;
    }
    const uint64_t from = recorder_ticks(r);
    uint64_t *old = r->window;
    /*
     * Never keep two windows in memory. The old one stays mapped, so that a failure can be noted in
     * it.
     */
    ictusi_recorder_rest(r);
    if (recorder_open_file(r) || recorder_map_window(r)) {
        recorder_close_file(r);
        recorder_fill(r, errno);
        return;
    }
    /* Start writing the old window to disk, so that dirty pages do not accumulate. */
    (void)sync_file_range(r->fd, (off_t)(r->file_bytes - 2 * r->window_bytes),
                          (off_t)r->window_bytes, SYNC_FILE_RANGE_WRITE);
    recorder_close_file(r);
    (void)munmap(old, r->window_bytes);
    r->open = NULL;
    r->flush_from = from;
    r->flush_ticks = recorder_ticks(r) - from;
    if (r->flush_ticks == 0) {
        r->flush_ticks = 1;
    }
}

/*
 * The head is written last (recorder_publish), because a reader of a killed process's file stops at
 * a head of 0.
 */
void ictusi_recorder_flush(struct recorder *r)
{
    uint64_t *p = r->pos;
    p[1] = r->flush_from;
    p[2] = r->flush_ticks;
    recorder_publish(p, record_head(RECORD_FLUSH, 3, 0, 0));
    r->flush_ticks = 0;
    r->pos = p + 3;
}

/*
 * The arrays double, so that programs that wait for ever longer lists seldom allocate. Each array
 * is stored as soon as it has grown, so a failure of the second leaves the first valid.
 */
bool ictusi_recorder_room(struct recorder *r, int count)
{
    if (count <= r->room) {
        return true;
    }
    const int room = count < 64 ? 64 : count * 2;
    MPI_Request *handles = realloc(r->handles, (size_t)room * sizeof(*handles));
    if (handles) {
        r->handles = handles;
    }
    MPI_Status *statuses = realloc(r->statuses, (size_t)room * sizeof(*statuses));
    if (statuses) {
        r->statuses = statuses;
    }
    struct trace_request *held = realloc(r->held, (size_t)room * sizeof(*held));
    if (held) {
        r->held = held;
    }
    if (!handles || !statuses || !held) {
        return false;
    }
    r->room = room;
    return true;
}
