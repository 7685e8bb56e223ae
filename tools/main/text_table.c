/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables and remarks that fit into 80 columns. */
#include "main/text_table.h"

#include <ictus/error.h>
#include <ictus/text.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_TEXT = 9, REMARK_BYTES = 2048 };

void text_table_init(struct text_table *table, size_t key_count)
{
    *table = (struct text_table){.key_count = key_count};
}

void text_table_fini(struct text_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    *table = (struct text_table){.key_count = 0};
}

static void text_table_add(struct text_table *table, const char *text)
{
    if (table->cell_count == table->cell_room) {
        const size_t room = 2 * table->cell_room + 64;
        char **more = realloc(table->cells, room * sizeof *more);
        if (!more) {
            table->failed = true;
            return;
        }
        table->cells = more;
        table->cell_room = room;
    }
    char *copy = strdup(text);
    if (copy) {
        table->cells[table->cell_count++] = copy;
    }
    table->failed = table->failed || !copy;
}

void text_table_column(struct text_table *table, const char *title, bool is_text)
{
    if (table->column_count < TABLE_COLUMNS_MAX) {
        table->is_text[table->column_count++] = is_text;
        text_table_add(table, title);
    }
}

void text_table_cell(struct text_table *table, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    text_table_add(table, text);
}

int text_table_width(const char *text)
{
    int width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return width;
}

static int table_width(const int *widths, size_t from, size_t to)
{
    int width = 0;
    for (size_t c = from; c < to; c++) {
        width += widths[c] + 1;
    }
    return width;
}

static void table_measure(const struct text_table *table, int *widths)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        const int width = text_table_width(table->cells[i]);
        int *column = &widths[i % table->column_count];
        *column = width > *column ? width : *column;
    }
}

/* A line of all columns, or of the keys and the widest other: the least that a block has. */
static int table_line(const struct text_table *table, const int *widths, bool all)
{
    int widest = 0;
    for (size_t c = table->key_count; c < table->column_count; c++) {
        widest = widths[c] > widest ? widths[c] : widest;
    }
    return all ? table_width(widths, 0, table->column_count) - 1
               : table_width(widths, 0, table->key_count) + widest;
}

/* Narrow the widest columns of text until a line fits. @return whether that was enough */
static bool table_shrink(const struct text_table *table, int room, bool all, int *widths)
{
    int trial[TABLE_COLUMNS_MAX];
    memcpy(trial, widths, sizeof trial);
    while (table_line(table, trial, all) > room) {
        size_t widest = table->column_count;
        for (size_t c = 0; c < table->column_count; c++) {
            if (table->is_text[c] && trial[c] > LEAST_TEXT &&
                (widest == table->column_count || trial[c] > trial[widest])) {
                widest = c;
            }
        }
        if (widest == table->column_count) {
            return false;
        }
        trial[widest]--;
    }
    memcpy(widths, trial, sizeof trial);
    return true;
}

/* One block: what is printed of each row, and where. */
struct block {
    const struct text_table *table;
    const int *widths;
    const char *prefix;
    FILE *file;
    size_t from, to; /* columns beside the keys */
};

/* A text that is wider than its column, on a line of its own where it is too long for this one. */
static void block_put_long(const struct block *b, int start, int blanks, const char *cell)
{
    const int room = SCREEN_COLUMNS - (int)strlen(b->prefix);
    const int width = text_table_width(cell);
    if (start > 0 && start + width > room) {
        (void)fprintf(b->file, "\n%s", b->prefix);
        blanks = width < room ? room - width : 0;
    }
    (void)fprintf(b->file, "%*s%s", blanks, "", cell);
}

static void block_print_row(const struct block *b, size_t row)
{
    const struct text_table *table = b->table;
    int start = 0;
    int blanks = 0; /* blanks to print before the next text, so that no line ends with blanks */
    bool full = false;
    (void)fputs(b->prefix, b->file);
    for (size_t c = table->key_count > 0 ? 0 : b->from; c < b->to;
         c = c + 1 == table->key_count ? b->from : c + 1) {
        const char *cell = table->cells[row * table->column_count + c];
        const int rest = b->widths[c] - text_table_width(cell);
        if (full) {
            (void)fprintf(b->file, "\n%s", b->prefix);
        }
        full = rest < 0;
        if (full) {
            block_put_long(b, start, blanks, cell);
            blanks = start + b->widths[c] + 1;
        } else {
            (void)fprintf(b->file, "%*s%s", table->is_text[c] ? blanks : blanks + rest, "", cell);
            blanks = table->is_text[c] ? rest + 1 : 1;
        }
        start += b->widths[c] + 1;
    }
    (void)fputc('\n', b->file);
}

/* Where the block that begins at a column ends: at least one column later. */
static size_t block_end(const struct block *b, int room)
{
    int width = table_width(b->widths, 0, b->table->key_count) - 1;
    size_t to = b->from;
    while (to < b->table->column_count && (to == b->from || width + 1 + b->widths[to] <= room)) {
        width += 1 + b->widths[to++];
    }
    return to;
}

int text_table_print(struct text_table *table, const char *prefix, FILE *file)
{
    int widths[TABLE_COLUMNS_MAX] = {0};
    const int room = SCREEN_COLUMNS - (int)strlen(prefix);
    int err = table->failed ? ICTUS_ERR_NOMEM : ICTUS_OK;
    if (!err && table->column_count > 0) {
        table_measure(table, widths);
        /* If there are no other columns, the keys are treated like any column. */
        if (table->key_count >= table->column_count) {
            table->key_count = 0;
        }
        if (!table_shrink(table, room, true, widths)) {
            (void)table_shrink(table, room, false, widths);
        }
        struct block b = {table, widths, prefix, file, table->key_count, table->key_count};
        for (; b.from < table->column_count; b.from = b.to) {
            if (b.from > table->key_count) {
                (void)fprintf(file, "%.*s\n", (int)strcspn(prefix, " "), prefix);
            }
            b.to = block_end(&b, room);
            for (size_t row = 0; row < table->cell_count / table->column_count; row++) {
                block_print_row(&b, row);
            }
        }
        err = ferror(file) ? ICTUS_ERR_IO : ICTUS_OK;
    }
    text_table_fini(table);
    return err;
}

void remark_print(FILE *file, const char *format, ...)
{
    char text[REMARK_BYTES];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (const char *rest = text; *rest; rest += strspn(rest, " ")) {
        const size_t length = ictus_text_fit(rest, SCREEN_COLUMNS - 2);
        (void)fprintf(file, "# %.*s\n", (int)length, rest);
        rest += length;
    }
}
