/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables and remarks keep to 80 columns without losing content. */
#include "main/text_table.h"

#include "../check.h"

#include <ictus/error.h>

static char printed[65536];

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    for (; *text; text += strcspn(text, "\n") + 1) {
        const size_t length = strcspn(text, "\n");
        longest = length > longest ? length : longest;
        CHECK(length == 0 || text[length - 1] != ' ');
    }
    return longest;
}

static void print_table(struct text_table *table, const char *prefix)
{
    memset(printed, 0, sizeof printed);
    FILE *out = fmemopen(printed, sizeof printed - 1, "w");
    REQUIRE(out);
    CHECK(text_table_print(table, prefix, out) == 0);
    (void)fclose(out);
}

static void columns_are_as_wide_as_their_cells(void)
{
    struct text_table t;
    text_table_init(&t, 1);
    text_table_column(&t, "name", true);
    text_table_column(&t, "us", false);
    text_table_cell(&t, "a");
    text_table_cell(&t, "%.1f", 12.5);
    print_table(&t, "# ");
    CHECK_STR(printed, "# name   us\n# a    12.5\n");
}

/* A table may have keys only. */
static void keys_alone_are_printed(void)
{
    struct text_table t;
    text_table_init(&t, 2);
    text_table_column(&t, "below", false);
    text_table_column(&t, "n", false);
    text_table_cell(&t, "10");
    text_table_cell(&t, "3");
    print_table(&t, "  ");
    CHECK_STR(printed, "  below n\n     10 3\n");
    text_table_init(&t, 2);
    text_table_column(&t, "site", true);
    text_table_cell(&t, "main");
    print_table(&t, "");
    CHECK_STR(printed, "site\nmain\n");
}

/* A name of 60 characters in a table of 50 more gets a line of its own. */
static void long_names_give_way(void)
{
    struct text_table t;
    text_table_init(&t, 2);
    text_table_column(&t, "bytes", false);
    text_table_column(&t, "name", true);
    for (int i = 0; i < 5; i++) {
        text_table_column(&t, "number", false);
    }
    text_table_cell(&t, "8");
    text_table_cell(&t, "%060d", 7);
    for (int i = 0; i < 5; i++) {
        text_table_cell(&t, "%010d", i);
    }
    print_table(&t, "");
    CHECK(longest_line(printed) <= 80);
    CHECK(strstr(printed, "0007\n") && strstr(printed, " 0000000003 0000000004\n"));
}

/* If there are more numbers than fit on a line, they are printed in blocks, each with the key. */
static void wide_tables_break_into_blocks(void)
{
    struct text_table t;
    int keys = 0;
    text_table_init(&t, 1);
    text_table_column(&t, "key", true);
    for (int i = 0; i < 20; i++) {
        text_table_column(&t, "number", false);
    }
    for (int row = 0; row < 2; row++) {
        text_table_cell(&t, "row%d", row);
        for (int i = 0; i < 20; i++) {
            text_table_cell(&t, "%d.%05d", row, i);
        }
    }
    print_table(&t, "# ");
    CHECK(longest_line(printed) <= 80);
    for (const char *at = printed; (at = strstr(at, "row1")); at++) {
        keys++;
    }
    CHECK(keys == 3);
    CHECK(strstr(printed, "0.00000") && strstr(printed, "1.00019\n"));
}

/* Keys that fill a line by themselves make room for at least one more column. */
static void long_keys_give_way(void)
{
    struct text_table t;
    text_table_init(&t, 2);
    text_table_column(&t, "key", true);
    text_table_column(&t, "name", true);
    for (int i = 0; i < 12; i++) {
        text_table_column(&t, "number", false);
    }
    text_table_cell(&t, "k");
    text_table_cell(&t, "%078d", 7);
    for (int i = 0; i < 12; i++) {
        text_table_cell(&t, "%010d", i);
    }
    print_table(&t, "");
    CHECK(longest_line(printed) <= 80);
    CHECK(strstr(printed, "0000000000") && strstr(printed, "0000000011\n"));
}

/* Print a table of one row with columns of these widths; positive ones are text. */
static void print_widths(size_t keys, int count, const int *widths, const char *prefix)
{
    struct text_table t;
    text_table_init(&t, keys);
    for (int i = 0; i < count; i++) {
        text_table_column(&t, "t", widths[i] > 0);
    }
    for (int i = 0; i < count; i++) {
        text_table_cell(&t, "%0*d", widths[i] > 0 ? widths[i] : -widths[i], i);
    }
    print_table(&t, prefix);
}

static int lines_printed(void)
{
    int lines = 0;
    for (const char *at = printed; (at = strchr(at, '\n')); at++) {
        lines++;
    }
    return lines;
}

/*
 * A line has 80 characters including its prefix: a text that needs one more is moved, and one that
 * fits stays.
 */
static void lines_are_used_up(void)
{
    print_widths(1, 3, (int[]){20, -30, -28}, "");
    CHECK(longest_line(printed) == 80 && lines_printed() == 2);
    print_widths(1, 3, (int[]){20, -30, -29}, "");
    CHECK(longest_line(printed) <= 80 && lines_printed() == 3);
    print_widths(1, 3, (int[]){20, -30, -26}, "# ");
    CHECK(longest_line(printed) == 80 && lines_printed() == 2);
    print_widths(1, 3, (int[]){20, -30, -27}, "# ");
    CHECK(longest_line(printed) <= 80 && lines_printed() == 3);
    /*
     * Numbers are never shortened: a block has as many as fit, and a bare prefix separates blocks.
     */
    print_widths(1, 3, (int[]){-20, -30, -28}, "");
    CHECK(longest_line(printed) == 80 && lines_printed() == 2);
    print_widths(1, 3, (int[]){-20, -30, -29}, "");
    CHECK(longest_line(printed) <= 80 && lines_printed() == 5 && strstr(printed, "\n\n"));
    print_widths(1, 3, (int[]){-20, -30, -27}, "# ");
    CHECK(longest_line(printed) <= 80 && lines_printed() == 5 && strstr(printed, "\n#\n# "));
    /* The same width, but with characters of two bytes. */
    struct text_table t;
    text_table_init(&t, 1);
    text_table_column(&t, "\303\244\303\266\303\274", true);
    text_table_column(&t, "us", false);
    text_table_cell(&t, "abc");
    text_table_cell(&t, "1");
    print_table(&t, "");
    CHECK_STR(printed, "\303\244\303\266\303\274 us\nabc  1\n");
}

/* The widest text is moved, wherever it is, and not a narrower one before it. */
static void widest_text_gives_way(void)
{
    print_widths(1, 4, (int[]){-5, 20, 50, -10}, "");
    CHECK_STR(printed,
              "    t t                    t                                                   t\n"
              "00000 00000000000000000001 00000000000000000000000000000000000000000000000002\n"
              "                                                                      0000000003\n");
    print_widths(1, 4, (int[]){50, 20, -10, -5}, "");
    CHECK(strstr(printed, "\n00000000000000000000000000000000000000000000000000\n"));
    CHECK(strstr(printed, " 00000000000000000001 0000000002 00003\n") && lines_printed() == 3);
    /* It stays on its line if there is room for all of it, and else gets a line of its own. */
    print_widths(1, 3, (int[]){-5, 72, -10}, "# ");
    CHECK(lines_printed() == 3 && longest_line(printed) == 80);
    print_widths(1, 3, (int[]){-5, 73, -10}, "# ");
    CHECK(lines_printed() == 4 && longest_line(printed) == 80);
    print_widths(1, 3, (int[]){-5, 90, -10}, "# ");
    CHECK(lines_printed() == 4 && strstr(printed, "\n# 00000\n# 000000"));
    print_widths(1, 2, (int[]){90, -10}, "");
    CHECK(lines_printed() == 3 && longest_line(printed) == 90);
    /* Nine characters are left for a text; if that is not enough, there are two blocks. */
    print_widths(1, 4, (int[]){-5, 20, -30, -33}, "");
    CHECK(lines_printed() == 3 && longest_line(printed) <= 80);
    print_widths(1, 4, (int[]){-5, 20, -30, -34}, "");
    CHECK(lines_printed() == 5 && longest_line(printed) <= 80);
}

/* Without a key each column is printed once; a table may have one column or none. */
static void odd_tables_are_printed(void)
{
    struct text_table t;
    int widths[20];
    for (int i = 0; i < 20; i++) {
        widths[i] = -10;
    }
    print_widths(0, 20, widths, "");
    CHECK(lines_printed() == 8 && longest_line(printed) <= 80);
    for (int i = 0; i < 20; i++) {
        char cell[16];
        (void)snprintf(cell, sizeof cell, "%010d", i);
        const char *at = strstr(printed, cell);
        CHECK(at && !strstr(at + 1, cell));
    }
    print_widths(0, 1, (int[]){3}, "");
    CHECK_STR(printed, "t\n000\n");
    text_table_init(&t, 0);
    print_table(&t, "# ");
    CHECK_STR(printed, "");
    text_table_init(&t, 1); /* columns beyond the limit are left out */
    for (int i = 0; i <= TABLE_COLUMNS_MAX; i++) {
        text_table_column(&t, "t", false);
    }
    CHECK(t.column_count == TABLE_COLUMNS_MAX && t.cell_count == TABLE_COLUMNS_MAX);
    t.failed = true; /* out of memory */
    CHECK(text_table_print(&t, "", stdout) == ICTUS_ERR_NOMEM && !t.cells);
}

static void remarks_break_between_words(void)
{
    memset(printed, 0, sizeof printed);
    FILE *out = fmemopen(printed, sizeof printed - 1, "w");
    REQUIRE(out);
    remark_print(out, "%s %099d %s", "before", 0, "after");
    for (int i = 0; i < 2; i++) {
        remark_print(out, "%s",
                     "a sentence that is longer than the line of a terminal has room "
                     "for goes on in the next one");
    }
    (void)fclose(out);
    CHECK(strncmp(printed, "# before\n# 000", 14) == 0);
    CHECK(strstr(printed, "0\n# after\n# a sentence"));
    CHECK(longest_line(strstr(printed, "# after")) <= 80);
    memset(printed, 0, sizeof printed);
    out = fmemopen(printed, sizeof printed - 1, "w");
    REQUIRE(out);
    /* A line of 80 characters, and one that is longer by one. */
    remark_print(out, "%038d %039d", 1, 2);
    remark_print(out, "%038d %040d", 3, 4);
    (void)fclose(out);
    CHECK(longest_line(printed) == 80 && lines_printed() == 3);
}

int main(void)
{
    columns_are_as_wide_as_their_cells();
    keys_alone_are_printed();
    long_names_give_way();
    wide_tables_break_into_blocks();
    long_keys_give_way();
    lines_are_used_up();
    widest_text_gives_way();
    odd_tables_are_printed();
    remarks_break_between_words();
    return check_result();
}
