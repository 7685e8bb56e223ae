/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the function, file and line of the call sites of a trace. addr2line (GNU binutils) reads
 * the debug information of the program's files, since it knows all formats. A file that has changed
 * since the recording is not used.
 */
#ifndef ICTUS_TRACE_SYMBOLS_H
#define ICTUS_TRACE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_site {
    const char *path; /* of the program or library */
    uint64_t offset;  /* of the call site in the file */
    int64_t mtime_ns; /* modification time of the file when it was recorded */
    /* The results, which point to texts of the list. */
    const char *function; /* never NULL after resolving; FILE+OFFSET if nothing is known */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    bool asked;           /* its file was examined, or has changed */
};

struct symbols {
    struct symbol_site *sites;
    uint32_t count;
    char **texts; /* one or more per file examined */
    size_t text_count;
};

/* Find functions, files and lines. What cannot be found stays unknown. */
void ictusi_symbols_resolve(struct symbols *symbols);

void ictusi_symbols_free(struct symbols *symbols);

#endif
