/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of `ictus report` share: the files it read, and the two ways to show them. */
#ifndef ICTUS_TOOLS_REPORT_H
#define ICTUS_TOOLS_REPORT_H

#include <ictus/error.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct report_file {
    const char *path;
    json_t *objects; /* as ictus_result_read() gives them */
    char *label;     /* what to call it instead, or NULL */
    int skipped;     /* lines that were no results */
};

struct report {
    struct report_file *files;
    size_t count;
    int64_t most_samples; /* raw samples that the page may hold; beyond, every k-th is kept */
};

/*
 * Write the page: the template with the results in the place of its mark. @p template may hold any
 * bytes. Errors: ICTUS_ERR_FORMAT (no mark), ICTUS_ERR_IO, ICTUS_ERR_NOMEM.
 */
int report_write_page(const struct report *report, const char *path, const char *template_text,
                      size_t template_size, struct ictus_why *why);

/* Print tables and small charts on standard output, at most width columns wide. */
void report_print_text(const struct report *report, int width);

#endif
