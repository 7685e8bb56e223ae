/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Storage of points: reserved addresses, in memory while they are few, then over a sparse unlinked
 * file. Both grow in steps.
 */
#include "causality/points.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POINTS_STEP = 1 << 17 }; /* points allocated at a time */
/*
 * Up to this many points stay in plain memory, 390 MB: a file's pages are written to the disk
 * behind our back, and cost a fault each whenever they were let go.
 */
enum { POINTS_IN_MEMORY = 80 * POINTS_STEP };

static const size_t sizes[POINTS_ARRAYS] = {8, 8, 8, 4, 4, 4, 1};

static int open_unlinked(struct ictus_why *why)
{
    const char *dir = getenv("TMPDIR");
    if (!dir || !*dir) {
        dir = "/tmp";
    }
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

/* Where an array begins in the file; whole pages. */
static uint64_t area_size(const struct points *points, int array)
{
    return (points->room * sizes[array] + 4095) / 4096 * 4096;
}

static uint64_t area_start(const struct points *points, int array)
{
    uint64_t start = 0;
    for (int i = 0; i < array; i++) {
        start += area_size(points, i);
    }
    return start;
}

static void name_areas(struct points *points)
{
    points->time = points->area[POINTS_TIME];
    points->value = points->area[POINTS_VALUE];
    points->note = points->area[POINTS_NOTE];
    points->link = points->area[POINTS_LINK];
    points->gap = points->area[POINTS_GAP];
    points->peer = points->area[POINTS_PEER];
    points->kind = points->area[POINTS_KIND];
}

int ictusi_points_init(struct points *points, uint64_t room, struct ictus_why *why)
{
    *points = (struct points){.file = -1, .room = room ? room : 1};
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        void *area = mmap(NULL, area_size(points, i), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (area == MAP_FAILED) {
            return ictus_because(why, ICTUS_ERR_NOMEM,
                                 "not enough memory for %llu synchronisation points",
                                 (unsigned long long)room);
        }
        points->area[i] = area;
    }
    name_areas(points);
    return ICTUS_OK;
}

void ictusi_points_fini(struct points *points)
{
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        if (points->area[i]) {
            (void)munmap(points->area[i], area_size(points, i));
        }
    }
    if (points->room && points->file >= 0) {
        (void)close(points->file);
    }
    *points = (struct points){.file = -1};
}

/* A hole in a mapped file on a full disk would kill the process when touched: no holes. */
static int points_allocate(const struct points *points, int array, uint64_t from, uint64_t count,
                           struct ictus_why *why)
{
    const int failed =
        posix_fallocate(points->file, (off_t)(area_start(points, array) + from * sizes[array]),
                        (off_t)(count * sizes[array]));
    return failed ? ictus_because(why, ICTUS_ERR_IO, "the temporary file: %s", strerror(failed))
                  : ICTUS_OK;
}

static int points_write(int file, const char *bytes, uint64_t count, uint64_t at)
{
    while (count > 0) {
        const ssize_t put = pwrite(file, bytes, count, (off_t)at);
        if (put <= 0) {
            return -1;
        }
        bytes += put;
        at += (uint64_t)put;
        count -= (uint64_t)put;
    }
    return 0;
}

/* From memory into a file that takes its place at the same addresses. */
static int points_move_to_file(struct points *points, struct ictus_why *why)
{
    points->file = open_unlinked(why);
    if (points->file < 0) {
        return ICTUS_ERR_IO;
    }
    if (ftruncate(points->file, (off_t)area_start(points, POINTS_ARRAYS))) {
        return ictus_because(why, ICTUS_ERR_IO, "the temporary file: %s", strerror(errno));
    }
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        const uint64_t start = area_start(points, i);
        const int err = points_allocate(points, i, 0, points->ready, why);
        if (err) {
            return err;
        }
        if (points_write(points->file, points->area[i], points->count * sizes[i], start) ||
            mmap(points->area[i], area_size(points, i), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, points->file,
                 (off_t)start) == MAP_FAILED) {
            return ictus_because(why, ICTUS_ERR_IO, "the temporary file: %s", strerror(errno));
        }
    }
    return ICTUS_OK;
}

int ictusi_points_grow(struct points *points, struct ictus_why *why)
{
    if (points->count < points->ready) {
        return ICTUS_OK;
    }
    if (points->count >= points->room) {
        return ictus_because(why, ICTUS_ERR_CORRUPT,
                             "the archive holds more events than its definitions say");
    }
    const uint64_t left = points->room - points->ready;
    const uint64_t step = left < POINTS_STEP ? left : POINTS_STEP;
    int err = points->file < 0 && points->ready + step > POINTS_IN_MEMORY
                  ? points_move_to_file(points, why)
                  : ICTUS_OK;
    for (int i = 0; i < POINTS_ARRAYS && points->file >= 0 && !err; i++) {
        err = points_allocate(points, i, points->ready, step, why);
    }
    points->ready += err ? 0 : step;
    return err;
}

void ictusi_points_relax(struct points *points)
{
    for (int i = 0; i < POINTS_ARRAYS && points->file >= 0; i++) {
        (void)madvise(points->area[i], area_size(points, i), MADV_DONTNEED);
    }
}

/* Notes are few in some archives: memory that holds none is not touched. */
static void points_take_notes(union point_note *to, const union point_note *from, uint64_t count)
{
    enum { TOGETHER = 512 };
    for (uint64_t i = 0; i < count; i += TOGETHER) {
        const uint64_t n = count - i < TOGETHER ? count - i : TOGETHER;
        int64_t any = 0;
        for (uint64_t k = i; k < i + n; k++) {
            any |= from[k].limit;
        }
        if (any) {
            memcpy(to + i, from + i, n * sizeof *to);
        }
    }
}

/* Memory of a stretch of each array that nobody reads again. */
static void points_drop(const struct points *points, uint64_t from, uint64_t count)
{
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        const uint64_t begin = from * sizes[i] / 4096 * 4096;
        const uint64_t end = (from + count) * sizes[i] / 4096 * 4096;
        if (end > begin) {
            (void)madvise((char *)points->area[i] + begin, end - begin, MADV_DONTNEED);
        }
    }
}

int ictusi_points_append(struct points *points, struct points *other, struct ictus_why *why)
{
    const uint32_t offset = (uint32_t)points->count;
    int err = ICTUS_OK;
    for (uint64_t done = 0, n = 0; done < other->count && !err; done += n) {
        err = ictusi_points_grow(points, why);
        const uint64_t at = points->count;
        n = other->count - done;
        n = n < points->ready - at ? n : points->ready - at;
        if (err) {
            break;
        }
        memcpy(points->time + at, other->time + done, n * sizeof *points->time);
        memcpy(points->gap + at, other->gap + done, n * sizeof *points->gap);
        memcpy(points->peer + at, other->peer + done, n * sizeof *points->peer);
        memcpy(points->kind + at, other->kind + done, n * sizeof *points->kind);
        points_take_notes(points->note + at, other->note + done, n);
        for (uint64_t i = 0; i < n; i++) {
            const uint32_t link = other->link[done + i];
            points->link[at + i] = link == NODE_NONE ? NODE_NONE : link + offset;
        }
        points->count += n;
        points_drop(other, done, n);
    }
    ictusi_points_relax(points);
    return err;
}
