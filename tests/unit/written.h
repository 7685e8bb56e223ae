/* SPDX-License-Identifier: BSD-3-Clause */
/* Result files that a test writes or reads, and what is said on standard output. */
#ifndef ICTUS_TESTS_WRITTEN_H
#define ICTUS_TESTS_WRITTEN_H

#include "../check.h"

#include <ictus/result.h>
#include <jansson.h>
#include <unistd.h>

struct written {
    char path[CHECK_PATH];
    FILE *file; /* unbuffered: a reader finds what was written */
};

static inline void written_open(struct written *w)
{
    const int fd = mkstemp(check_scratch(w->path, "written"));
    w->file = fd < 0 ? NULL : fdopen(fd, "w");
    REQUIRE(w->file);
    (void)setvbuf(w->file, NULL, _IONBF, 0);
}

static inline void written_close(struct written *w)
{
    (void)fclose(w->file);
    (void)unlink(w->path);
}

static inline json_t *written_read(const struct written *w)
{
    json_t *objects = NULL;
    int skipped = 0;
    struct ictus_why why = {""};
    REQUIRE(!ictus_result_read(w->path, &objects, &skipped, &why));
    return objects;
}

/* Until said_end(), standard output goes to a file; what it was, for that. */
static inline int said_begin(void)
{
    (void)fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    FILE *file = tmpfile();
    REQUIRE(before >= 0 && file && dup2(fileno(file), STDOUT_FILENO) >= 0);
    (void)fclose(file);
    return before;
}

/* text: what was said meanwhile; NULL: nobody asks. */
static inline void said_end(int before, char *text, size_t size)
{
    (void)fflush(stdout);
    const off_t length = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    REQUIRE(length >= 0 && (!text || (size_t)length < size));
    if (text) {
        const ssize_t got = pread(STDOUT_FILENO, text, (size_t)length, 0);
        text[got > 0 ? got : 0] = '\0';
    }
    REQUIRE(dup2(before, STDOUT_FILENO) >= 0);
    (void)close(before);
}

#endif
