/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the call sites of a trace are in the source: function, file and line. The debug information
 * of the program's files is read by addr2line (GNU binutils), which knows all its formats; a file
 * that has changed since it was recorded is not looked into.
 */
#ifndef ICTUS_TRACE_SYMBOLS_H
#define ICTUS_TRACE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_site {
    const char *path; /* of the program or library */
    uint64_t offset;  /* in it */
    int64_t mtime_ns; /* of the file, when it was recorded */
    /* Found: texts of the list's. */
    const char *function; /* never NULL after resolving; FILE+OFFSET where nothing is known */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    bool asked;           /* its file was looked into, if it is still the same */
};

struct symbols {
    struct symbol_site *sites;
    uint32_t count;
    char **texts; /* one or more a file looked into */
    size_t text_count;
};

/* Find functions, files and lines; what cannot be found stays unknown. */
void ictusi_symbols_resolve(struct symbols *symbols);

void ictusi_symbols_free(struct symbols *symbols);

#endif
