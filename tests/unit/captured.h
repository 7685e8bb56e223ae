/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program writes to standard output, as a string. */
#ifndef ICTUS_TESTS_UNIT_CAPTURED_H
#define ICTUS_TESTS_UNIT_CAPTURED_H

#include "../check.h"

#include <unistd.h>

struct captured {
    char text[8192];
    FILE *file;
    int saved;
};

static inline void capture_begin(struct captured *capture)
{
    (void)fflush(stdout);
    capture->saved = dup(1);
    capture->file = tmpfile();
    REQUIRE(capture->saved >= 0 && capture->file);
    REQUIRE(dup2(fileno(capture->file), 1) == 1);
}

static inline void capture_end(struct captured *capture)
{
    (void)fflush(stdout);
    REQUIRE(dup2(capture->saved, 1) == 1);
    close(capture->saved);
    rewind(capture->file);
    const size_t count = fread(capture->text, 1, sizeof(capture->text) - 1, capture->file);
    capture->text[count] = '\0';
    (void)fclose(capture->file);
}

#endif
