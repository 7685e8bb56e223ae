/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for a terminal of 80 columns: whole tables whose rows are all known, and remarks. Columns
 * are as wide as what stands in them. Where a table is too wide, columns of text give way first: a
 * name that is longer than its column has a line of its own, and the row continues below it. Where
 * that is not enough, the table is printed in blocks, and each block repeats the key columns.
 */
#ifndef ICTUS_TOOLS_TEXT_TABLE_H
#define ICTUS_TOOLS_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SCREEN_COLUMNS = 80, TABLE_COLUMNS_MAX = 48 };

struct text_table {
    size_t key_count; /* so many of the first columns are repeated in each block */
    size_t column_count;
    bool is_text[TABLE_COLUMNS_MAX]; /* aligned to the left, and may give way */
    char **cells;                    /* row by row, the titles first */
    size_t cell_count, cell_room;
    bool failed; /* out of memory; text_table_print() says so */
};

/* Begin a table; columns, then cells, are added in order. */
void text_table_init(struct text_table *table, size_t key_count);
void text_table_column(struct text_table *table, const char *title, bool is_text);
void text_table_cell(struct text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Print it, each line after a prefix such as "# ", and free it. Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_IO.
 */
int text_table_print(struct text_table *table, const char *prefix, FILE *file);

/* Free it without printing it. */
void text_table_fini(struct text_table *table);

/* Characters of a text: bytes that do not continue one in UTF-8. */
int text_table_width(const char *text);

/* Print a remark as lines that begin with "# ". A word that is longer than a line stays whole. */
void remark_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
