/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables and remarks keep to 80 columns without losing anything. */
#include "main/text_table.h"

#include "../check.h"

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

/* A name of 60 characters in a table of 50 more: it has a line of its own. */
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

/* More numbers than a line holds: blocks, each with the key. */
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

/* Where the keys alone fill a line, they give way to one more column at least. */
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
}

int main(void)
{
    columns_are_as_wide_as_their_cells();
    long_names_give_way();
    wide_tables_break_into_blocks();
    long_keys_give_way();
    remarks_break_between_words();
    return check_result();
}
