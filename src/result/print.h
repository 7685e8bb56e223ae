/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints result objects to standard output as table rows, CSV rows or JSON lines. */
#ifndef ICTUS_RESULT_PRINT_H
#define ICTUS_RESULT_PRINT_H

#include <ictus/result.h>
#include <stdbool.h>
#include <stdio.h>

struct printer {
    FILE *stream;
    enum ictus_format format;
    const struct ictus_column *columns; /* of the text table; NULL: JSON lines */
    bool titled;                        /* the titles of the table have been printed */
    json_t *csv_types;                  /* type -> array of its column names */
};

/* Return whether a member holds raw samples, which go only to the file. */
bool ictusi_result_is_raw(const char *key);

/* Print one object and flush. Errors: ICTUS_ERR_IO, ICTUS_ERR_NOMEM. */
int ictusi_printer_put(struct printer *printer, const json_t *object);

#endif
