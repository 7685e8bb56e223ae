/* SPDX-License-Identifier: BSD-3-Clause */
/* How result objects look in tables and as comma-separated values. */
#include "../check.h"

#include <ictus/result.h>

#include <math.h>
#include <stdbool.h>

#include "captured.h"

/* Rows of one column, each a number. */
static void print_numbers(const struct ictus_column *column, const double *numbers, int count,
                          struct captured *capture)
{
    const struct ictus_column shown[] = {*column, {NULL, NULL, ICTUS_COLUMN_TEXT}};
    struct ictus_output *out = NULL;
    int err = ICTUS_OK;
    capture_begin(capture);
    err = ictus_output_open(ICTUS_FORMAT_TEXT, shown, NULL, json_object(), &out, NULL);
    for (int i = 0; i < count && !err; i++) {
        err = ictus_output_put(out,
                               json_pack("{s:s, s:f}", "type", "number", column->key, numbers[i]));
    }
    const int closed = ictus_output_close(out);
    capture_end(capture);
    CHECK(!err && !closed);
}

/* As many digits as a column has room for: at most four significant ones, or three decimals. */
static void test_numbers(void)
{
    static const struct ictus_column ratio = {"ratio", "number", ICTUS_COLUMN_NUMBER};
    static const struct ictus_column time = {"time_s", "time_us", ICTUS_COLUMN_SECONDS};
    static const double ratios[] = {0.25,     0.1234,   0.12345, 12345.0, 99999.5,
                                    10000.0,  -12345.0, -0.125,  1e5,     123456.0,
                                    1.234e-7, -3.2e20,  -9.4e-4, 1.23456, 1.2e-4};
    static const double times[] = {1.5e-6, 0.012345678, 1.2345678, -1.2345678};
    struct captured capture;
    print_numbers(&ratio, ratios, sizeof ratios / sizeof *ratios, &capture);
    CHECK_STR(capture.text, "number\n"
                            "  0.25\n"
                            "0.1234\n"
                            "0.1235\n"
                            " 12345\n"
                            "100000\n"
                            " 10000\n"
                            "-12345\n"
                            "-0.125\n"
                            " 1e+05\n"
                            " 1e+05\n"
                            " 1e-07\n"
                            "-3e+20\n"
                            "-9e-04\n"
                            " 1.235\n"
                            "0.0001\n");
    print_numbers(&time, times, sizeof times / sizeof *times, &capture);
    CHECK_STR(capture.text, "  time_us\n"
                            "    1.500\n"
                            "12345.678\n"
                            "1234567.8\n"
                            " -1234568\n");
}

/* A number of any magnitude and sign fits into its column. */
static void test_widths(void)
{
    static const struct ictus_column ratio = {"ratio", "number", ICTUS_COLUMN_NUMBER};
    enum { EXPONENTS = 199, WIDTH = 6 };
    double numbers[2 * EXPONENTS];
    struct captured capture;
    for (int i = 0; i < EXPONENTS; i++) {
        const int exponent = i - EXPONENTS / 2;
        numbers[i] = 1.23456789 * pow(10.0, exponent);
        numbers[EXPONENTS + i] = -9.4 * pow(10.0, exponent);
    }
    print_numbers(&ratio, numbers, 2 * EXPONENTS, &capture);
    int rows = 0;
    for (const char *line = capture.text; *line; line += strcspn(line, "\n") + 1) {
        rows++;
        CHECK(strcspn(line, "\n") == WIDTH);
    }
    CHECK(rows == 2 * EXPONENTS + 1);
}

static void print_text(const struct ictus_column *shown, const char *key, const char *text,
                       struct captured *capture)
{
    struct ictus_output *out = NULL;
    capture_begin(capture);
    int err = ictus_output_open(ICTUS_FORMAT_TEXT, shown, NULL, json_object(), &out, NULL);
    err = err ? err : ictus_output_put(out, json_pack("{s:s, s:s}", "type", "text", key, text));
    const int closed = ictus_output_close(out);
    capture_end(capture);
    CHECK(!err && !closed);
}

/* Join the words of a row's last text from all its lines; returns the width of the widest line. */
static size_t text_of_lines(const char *row, size_t start, char *words, size_t size)
{
    size_t widest = 0;
    size_t used = 0;
    words[0] = '\0';
    for (const char *line = row; *line; line += strcspn(line, "\n") + 1) {
        const size_t length = strcspn(line, "\n");
        const size_t begin = line == row ? start : strspn(line, " ");
        widest = length > widest ? length : widest;
        if (length > begin) {
            used += (size_t)snprintf(words + used, size - used, "%s%.*s", used ? " " : "",
                                     (int)(length - begin), line + begin);
        }
    }
    return widest;
}

/* A text at the end of a row is broken between words, so that no line is wider than a terminal. */
static void test_long_texts(void)
{
    static const struct ictus_column shown[] = {{"number", "a number", ICTUS_COLUMN_NUMBER},
                                                {"text", "text", ICTUS_COLUMN_TEXT},
                                                {NULL, NULL, ICTUS_COLUMN_TEXT}};
    enum { SCREEN = 80, START = 9, FIRST = 76, LENGTH = 240 };
    struct captured capture;
    /* Letters of the first word; others have three. */
    for (size_t first = 1; first <= FIRST; first++) {
        char text[LENGTH + 8];
        char words[2 * LENGTH];
        memset(text, 'a', first);
        for (size_t used = first; used <= LENGTH; used += 4) {
            (void)snprintf(text + used, sizeof(text) - used, " %03zu", used);
        }
        print_text(shown, "text", text, &capture);
        const char *title_end = strchr(capture.text, '\n');
        REQUIRE(title_end);
        const size_t widest = text_of_lines(title_end + 1, START, words, sizeof(words));
        CHECK_STR(words, text);
        CHECK(widest <= SCREEN && widest > SCREEN - 4);
        /* The first word stays in the row if there is room for it. */
        const bool beside = strlen(title_end + 1) > START && title_end[1 + START] == 'a';
        CHECK(beside == (first <= SCREEN - START));
    }
}

/* A text of one letter goes into the next line, too, if the columns before it fill the line. */
static void test_text_beyond_the_screen(void)
{
    enum { SCREEN = 80 };
    struct captured capture;
    for (int start = SCREEN - 1; start <= SCREEN + 1; start++) {
        char title[SCREEN + 1];
        memset(title, 'n', sizeof(title));
        title[start - 1] = '\0';
        const struct ictus_column shown[] = {{"number", title, ICTUS_COLUMN_NUMBER},
                                             {"text", "text", ICTUS_COLUMN_TEXT},
                                             {NULL, NULL, ICTUS_COLUMN_TEXT}};
        print_text(shown, "text", "a", &capture);
        const char *number = strstr(capture.text, "- ");
        REQUIRE(number);
        CHECK_STR(number, start < SCREEN ? "- a\n" : "- \n    a\n");
    }
}

/* Print objects that are given as JSON. */
static void print_objects(enum ictus_format format, const struct ictus_column *shown,
                          const char *const *texts, struct captured *capture)
{
    struct ictus_output *out = NULL;
    int failed = 0;
    capture_begin(capture);
    const int err = ictus_output_open(format, shown, NULL, json_object(), &out, NULL);
    for (int i = 0; texts[i] && !err; i++) {
        failed += ictus_output_put(out, json_loads(texts[i], 0, NULL)) != ICTUS_OK;
    }
    const int closed = ictus_output_close(out);
    capture_end(capture);
    CHECK(!err && !failed && !closed);
}

/* Each kind of value in each kind of column. */
static void test_cells(void)
{
    static const struct ictus_column shown[] = {
        {"a", "a", ICTUS_COLUMN_TEXT},   {"b", "b", ICTUS_COLUMN_COUNT},
        {"c", "c", ICTUS_COLUMN_NUMBER}, {"d", "d", ICTUS_COLUMN_NS},
        {"e", "e", ICTUS_COLUMN_TEXT},   {NULL, NULL, ICTUS_COLUMN_TEXT}};
    static const char *const texts[] = {
        "{\"type\":\"t\",\"a\":true,\"b\":12,\"c\":1234567,\"d\":1500,\"e\":false}",
        "{\"type\":\"t\",\"a\":null,\"b\":12.5,\"c\":[1],\"d\":-0.5,\"e\":\"\"}",
        "{\"type\":\"t\",\"a\":\"123456789\",\"b\":2.51,\"c\":{},\"d\":1e15,\"e\":3}",
        "{\"type\":\"t\",\"a\":\"1234567890\",\"b\":0}", NULL};
    struct captured capture;
    print_objects(ICTUS_FORMAT_TEXT, shown, texts, &capture);
    CHECK_STR(capture.text, "a             b      c         d e\n"
                            "yes          12 1234567     1.500 no\n"
                            "-            12    ...    -0.001\n"
                            "123456789     3    ... 1000000000000 3\n"
                            "1234567890\n"
                            "              0      -         - -\n");
}

/* What follows a text that is too wide for its column stands where it stands in other rows. */
static void test_wide_texts(void)
{
    static const struct ictus_column shown[] = {{"a", "a", ICTUS_COLUMN_COUNT},
                                                {"b", "b", ICTUS_COLUMN_TEXT},
                                                {"c", "c", ICTUS_COLUMN_TEXT},
                                                {NULL, NULL, ICTUS_COLUMN_TEXT}};
    static const char *const texts[] = {
        "{\"type\":\"t\",\"a\":1,\"b\":\"narrow\",\"c\":\"x\"}",
        "{\"type\":\"t\",\"a\":2,\"b\":\"much too wide\",\"c\":\"y\"}", NULL};
    struct captured capture;
    print_objects(ICTUS_FORMAT_TEXT, shown, texts, &capture);
    CHECK_STR(capture.text, "    a b         c\n"
                            "    1 narrow    x\n"
                            "    2 much too wide\n"
                            "                y\n");
}

/* A sentence about a table is not a row of it, unless the table has a column for it. */
static void test_verdicts(void)
{
    static const struct ictus_column with[] = {{"operation", "operation", ICTUS_COLUMN_TEXT},
                                               {"verdict", "verdict", ICTUS_COLUMN_TEXT},
                                               {NULL, NULL, ICTUS_COLUMN_TEXT}};
    static const struct ictus_column without[] = {{"operation", "operation", ICTUS_COLUMN_TEXT},
                                                  {"verdicts", "verdicts", ICTUS_COLUMN_TEXT},
                                                  {NULL, NULL, ICTUS_COLUMN_TEXT}};
    static const char *const texts[] = {
        "{\"type\":\"t\",\"operation\":\"bcast\",\"verdict\":\"all is well\"}",
        "{\"type\":\"t\",\"operation\":\"reduce\",\"verdict\":null}", NULL};
    struct captured capture;
    print_objects(ICTUS_FORMAT_TEXT, with, texts, &capture);
    CHECK_STR(capture.text, "operation verdict\nbcast     all is well\nreduce    -\n");
    print_objects(ICTUS_FORMAT_TEXT, without, texts, &capture);
    CHECK_STR(capture.text, "operation verdicts\nreduce    -\n");
    print_objects(ICTUS_FORMAT_CSV, without, texts, &capture);
    CHECK_STR(capture.text, "type,operation,verdict\nt,bcast,all is well\nt,reduce,\n");
}

/* Each type has a header line before its first row; texts are quoted where necessary. */
static void test_csv(void)
{
    static const char *const texts[] = {
        "{\"type\":\"t\",\"raw_s\":[1],\"a.b\":1,\"c\":{\"d\":2,\"raw\":3,\"e\":{\"f\":4}}}",
        "{\"type\":\"u,v\",\"a\":\"x\\ny\",\"b\":\"x\\ry\",\"c\":\"x y\",\"d\":\"\\\"\"}",
        "{\"type\":\"t\",\"a.b\":true,\"c\":{\"e\":\"x\"},\"more\":1}", "{\"type\":\"t\",\"c\":7}",
        NULL};
    struct captured capture;
    print_objects(ICTUS_FORMAT_CSV, NULL, texts, &capture);
    CHECK_STR(capture.text, "type,a.b,c.d,c.raw,c.e\n"
                            "t,1,2,3,\"{\"\"f\"\":4}\"\n"
                            "type,a,b,c,d\n"
                            "\"u,v\",\"x\ny\",\"x\ry\",x y,\"\"\"\"\n"
                            "t,true,,,x\n"
                            "t,,,,\n");
}

int main(void)
{
    test_numbers();
    test_widths();
    test_long_texts();
    test_text_beyond_the_screen();
    test_cells();
    test_wide_texts();
    test_verdicts();
    test_csv();
    return check_result();
}
