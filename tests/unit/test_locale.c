/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In a program that has set a locale with decimal commas, numbers are still read and written with
 * points.
 */
#include "../check.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <locale.h>
#include <unistd.h>

/* Capture what is printed to standard output: in a file, and from there in a string. */
static void printed(enum ictus_format format, char *text, size_t size)
{
    static const struct ictus_column columns[] = {{"value", "value", ICTUS_COLUMN_NUMBER},
                                                  {NULL, NULL, ICTUS_COLUMN_TEXT}};
    struct ictus_output *out = NULL;
    FILE *file = tmpfile();
    (void)fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    REQUIRE(file && saved >= 0 && dup2(fileno(file), STDOUT_FILENO) == STDOUT_FILENO);
    CHECK(ictus_output_open(format, columns, NULL, json_object(), &out, NULL) == ICTUS_OK);
    CHECK(ictus_output_put(out, json_pack("{s:s, s:f}", "type", "t", "value", 1.5)) == ICTUS_OK);
    CHECK(ictus_output_close(out) == ICTUS_OK);
    (void)fflush(stdout);
    REQUIRE(dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
    (void)close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    (void)fclose(file);
}

int main(void)
{
    char text[4000];
    double value = 0.0;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        puts("skipped: no such locale");
        return CHECK_SKIP;
    }
    (void)snprintf(text, sizeof(text), "%.1f", 1.5);
    CHECK_STR(text, "1,5");
    CHECK(ictus_parse_real("1.5", &value) == ICTUS_OK && value == 1.5);
    CHECK(ictus_parse_seconds("1.5us", &value) == ICTUS_OK && value == 1.5 * 1e-6);
    CHECK(ictus_parse_real("1,5", &value) == ICTUS_ERR_SPEC);
    printed(ICTUS_FORMAT_CSV, text, sizeof(text));
    CHECK(strstr(text, "1.5") && !strstr(text, "1,5"));
    printed(ICTUS_FORMAT_JSON, text, sizeof(text));
    CHECK(strstr(text, "1.5") && !strstr(text, "1,5"));
    printed(ICTUS_FORMAT_TEXT, text, sizeof(text));
    CHECK(strstr(text, "1.5") && !strstr(text, "1,5"));
    /* The program's own locale is unchanged. */
    (void)snprintf(text, sizeof(text), "%.1f", 1.5);
    CHECK_STR(text, "1,5");
    return check_result();
}
