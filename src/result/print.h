/* SPDX-License-Identifier: BSD-3-Clause */
/* How result objects look on standard output: table rows, CSV rows, JSON lines. */
#ifndef ICTUS_RESULT_PRINT_H
#define ICTUS_RESULT_PRINT_H

#include <ictus/result.h>
#include <stdbool.h>
#include <stdio.h>

struct printer {
    FILE *stream;
    enum ictus_format format;
    const struct ictus_column *columns; /* of the text table; NULL: JSON lines */
    bool titled;                        /* the table's titles are out */
    json_t *csv_types;                  /* type -> array of its column names */
};

/* Raw samples are for the file alone. */
bool ictusi_result_is_raw(const char *key);

/* Print one object and flush. Errors: ICTUS_ERR_IO, ICTUS_ERR_NOMEM. */
int ictusi_printer_put(struct printer *printer, const json_t *object);

#endif
