/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage of points: reserved addresses over a sparse unlinked file that grows in steps. */
#include "correct/points.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POINTS_STEP = 1 << 17 }; /* points allocated at a time */
/* Below this many points everything stays in plain memory. */
enum { POINTS_SMALL = 1 << 20 };

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
    (void)ictus_because(why, ICTUS_ERR_IO, "%s: no temporary file can be made there: %s", dir,
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
    points->cap = points->area[POINTS_CAP];
    points->link = points->area[POINTS_LINK];
    points->gap = points->area[POINTS_GAP];
    points->peer = points->area[POINTS_PEER];
    points->kind = points->area[POINTS_KIND];
}

int ictusi_points_init(struct points *points, uint64_t room, struct ictus_why *why)
{
    *points = (struct points){.file = -1, .room = room ? room : 1};
    if (points->room > POINTS_SMALL) {
        points->file = open_unlinked(why);
        if (points->file < 0) {
            return ICTUS_ERR_IO;
        }
        if (ftruncate(points->file, (off_t)area_start(points, POINTS_ARRAYS))) {
            return ictus_because(why, ICTUS_ERR_IO, "the temporary file: %s", strerror(errno));
        }
    }
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        const int flags = points->file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
                                           : MAP_SHARED | MAP_NORESERVE;
        void *area = mmap(NULL, area_size(points, i), PROT_READ | PROT_WRITE, flags, points->file,
                          points->file < 0 ? 0 : (off_t)area_start(points, i));
        if (area == MAP_FAILED) {
            return ictus_because(why, ICTUS_ERR_NOMEM, "no room for %llu synchronisation points",
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
    for (int i = 0; i < POINTS_ARRAYS && points->file >= 0; i++) {
        /* A hole in a mapped file on a full disk would kill the process when touched. */
        const int failed =
            posix_fallocate(points->file, (off_t)(area_start(points, i) + points->ready * sizes[i]),
                            (off_t)(step * sizes[i]));
        if (failed) {
            return ictus_because(why, ICTUS_ERR_IO, "the temporary file: %s", strerror(failed));
        }
    }
    points->ready += step;
    return ICTUS_OK;
}

void ictusi_points_relax(struct points *points)
{
    for (int i = 0; i < POINTS_ARRAYS && points->file >= 0; i++) {
        (void)madvise(points->area[i], area_size(points, i), MADV_DONTNEED);
    }
}
