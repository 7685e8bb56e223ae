/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share. */
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRAME = 4, LENGTH_MAX = 0xffffff };

static char own_directory[64];

void fuzz_require(bool good)
{
    if (!good) {
        abort();
    }
}

char *fuzz_text(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1);
    fuzz_require(text);
    if (length > 0) {
        memcpy(text, bytes, length);
    }
    text[length] = '\0';
    return text;
}

static void write_all(int fd, const void *bytes, size_t length)
{
    fuzz_require(ftruncate(fd, 0) == 0);
    fuzz_require(pwrite(fd, bytes, length, 0) == (ssize_t)length);
}

const char *fuzz_file(const uint8_t *bytes, size_t length)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        fd = memfd_create("input", MFD_CLOEXEC);
        fuzz_require(fd >= 0);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    write_all(fd, bytes, length);
    return path;
}

size_t fuzz_parts(const uint8_t *bytes, size_t length, struct fuzz_part *parts)
{
    size_t count = 0;
    while (length >= FRAME && count < FUZZ_PARTS_MAX) {
        const size_t asked = (size_t)bytes[1] | (size_t)bytes[2] << 8 | (size_t)bytes[3] << 16;
        const size_t left = length - FRAME;
        struct fuzz_part *part = &parts[count++];
        *part = (struct fuzz_part){(char)bytes[0], bytes + FRAME, asked < left ? asked : left};
        bytes += FRAME + part->length;
        length -= FRAME + part->length;
    }
    return count;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    return place->level > 0 ? remove(path) : 0;
}

void fuzz_empty(const char *directory)
{
    (void)nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void remove_own(void)
{
    fuzz_empty(own_directory);
    (void)rmdir(own_directory);
}

const char *fuzz_directory(void)
{
    if (!own_directory[0]) {
        const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        (void)snprintf(own_directory, sizeof(own_directory), "%s/ictus-fuzz-XXXXXX", place);
        fuzz_require(mkdtemp(own_directory));
        (void)atexit(remove_own);
    }
    return own_directory;
}

void fuzz_put(const char *directory, const char *name, const void *bytes, size_t length)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    fuzz_require(fd >= 0);
    write_all(fd, bytes, length);
    (void)close(fd);
}

size_t fuzz_mutate_parts(uint8_t *bytes, size_t length, size_t room, unsigned seed)
{
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    const size_t count = fuzz_parts(bytes, length, parts);
    if (count == 0 || seed % 64 == 0) {
        return LLVMFuzzerMutate(bytes, length, room);
    }
    const struct fuzz_part *part = &parts[seed / 64 % count];
    const size_t from = (size_t)(part->bytes - bytes);
    const size_t behind = length - from - part->length;
    size_t most = part->length + (room > length ? room - length : 0);
    most = most < LENGTH_MAX ? most : LENGTH_MAX;
    /* What is behind the part is kept aside: the part may grow over it. */
    uint8_t *tail = malloc(behind + 1);
    fuzz_require(tail);
    memcpy(tail, bytes + from + part->length, behind);
    const size_t changed = LLVMFuzzerMutate(bytes + from, part->length, most);
    memcpy(bytes + from + changed, tail, behind);
    free(tail);
    bytes[from - 3] = (uint8_t)changed;
    bytes[from - 2] = (uint8_t)(changed >> 8);
    bytes[from - 1] = (uint8_t)(changed >> 16);
    return from + changed + behind;
}
