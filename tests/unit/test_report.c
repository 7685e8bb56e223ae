/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `ictus report` makes of single values for a terminal, and how it packs results into its
 * page: which samples it keeps, what it calls files, and that nothing in them ends the script.
 */
#include "results/report.h"

#include "captured.h"
#include "quoted.h"
#include "results/report_cells.h"

#include <sys/stat.h>

static void cell_is(enum look look, const char *value, bool utf8, const char *wanted)
{
    char cell[CELL];
    json_t *parsed = value ? json_of(value) : NULL;
    cell_format(look, parsed, utf8, cell);
    CHECK_STR(cell, wanted);
    json_decref(parsed);
}

static void test_values(void)
{
    cell_is(SECONDS, "2.5e-10", true, "0.25 ns");
    cell_is(SECONDS, "1.5e-6", true, "1.5 us");
    cell_is(SECONDS, "9.994e-7", true, "999.4 ns");
    cell_is(SECONDS, "9.9996e-7", true, "1 us"); /* not 1000 ns */
    cell_is(SECONDS, "-0.0125", true, "-12.5 ms");
    cell_is(SECONDS, "7200", true, "7200 s");
    cell_is(NS, "1250", true, "1.25 us");
    cell_is(BYTES, "1000", true, "1000 B");
    cell_is(BYTES, "1536", true, "1.5 KiB");
    cell_is(BYTES, "3145728", true, "3 MiB");
    cell_is(BYTES, "2147483648", true, "2 GiB");
    cell_is(SHARE, "0.125", true, "12.5 %");
    cell_is(NUMBER, "3.14159265", true, "3.1416");
    cell_is(COUNT, "12345678", true, "12345678");
    cell_is(TEXT, "'ring'", true, "ring");
    cell_is(SECONDS, "'unknown'", true, "unknown");
    cell_is(TEXT, "true", true, "yes");
    cell_is(TEXT, "false", true, "no");
    cell_is(SECONDS, "null", true, "-");
    cell_is(SECONDS, NULL, true, "-");
}

/* Sixteen steps from the least to the 95 % quantile; the tallest is full, and one sample shows. */
static void test_sparks(void)
{
    /* the last three, one of them far beyond the quantile, fall into the last step */
    static const char samples[] =
        "[1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1000]";
    cell_is(SPARKLINE, samples, true, "▂▂▂█▂▂▂▂▂▂▂▂▂▂ ▄");
    cell_is(SPARKLINE, samples, false, ":::@:::::::::: =");
    cell_is(SPARKLINE, "[5, 5, 5]", false, "@               ");
    cell_is(SPARKLINE, "[5]", true, "█               ");
    cell_is(SPARKLINE, "[]", false, "");
}

static struct captured out;

/* What `statement` prints. */
#define PRINTS(statement, wanted)                                                                  \
    do {                                                                                           \
        capture_begin(&out);                                                                       \
        statement;                                                                                 \
        capture_end(&out);                                                                         \
        CHECK_STR(out.text, wanted);                                                               \
    } while (0)

static void test_widths(void)
{
    CHECK(cell_columns("") == 0 && cell_columns("abc") == 3 && cell_columns("▁é") == 2);
    PRINTS(cell_put("abc", 5, SIDE_LEFT), "  abc  ");
    PRINTS(cell_put("abc", 5, SIDE_RIGHT), "    abc");
    PRINTS(cell_put("abc", 5, SIDE_LAST), "  abc");
    PRINTS(cell_put("abc", 3, SIDE_LEFT), "  abc");
    PRINTS(cell_put("abcd", 3, SIDE_LEFT), "  ab~");
    PRINTS(cell_put("ééééé", 4, SIDE_RIGHT), "  ééé~"); /* never half a letter */
    PRINTS(cell_put_bar(0.5, 4, true), "  ██");
    PRINTS(cell_put_bar(0.6, 4, true), "  ██▍");
    PRINTS(cell_put_bar(1.0, 4, false), "  ####");
    PRINTS(cell_put_bar(0.5, 4, false), "  ##");
    PRINTS(cell_put_bar(0.0, 4, false), "  #"); /* the smallest is seen, too */
    PRINTS(cell_put_bar(0.0, 4, true), "  ");
    PRINTS(cell_put_bar(0.25, 4, false), "  #");
}

static void test_wraps(void)
{
    PRINTS(cell_put_wrapped("one line", 2, 20), "one line\n");
    PRINTS(cell_put_wrapped("exactly ten", 0, 11), "exactly ten\n");
    PRINTS(cell_put_wrapped("these words are wrapped", 2, 14), "these words\n  are wrapped\n");
    PRINTS(cell_put_wrapped("abcdefghijklmno", 0, 12), "abcdefghijkl\nmno\n"); /* no blank in it */
    PRINTS(cell_put_wrapped("a bcdefghijklmno", 0, 10), "a\nbcdefghijk\nlmno\n");
    PRINTS(cell_put_wrapped("at least ten columns", 30, 32),
           "at least\n                              ten\n                              columns\n");
}

static void test_locales(void)
{
    REQUIRE(setenv("LC_ALL", "C.UTF-8", 1) == 0);
    CHECK(cell_utf8());
    REQUIRE(setenv("LC_ALL", "C", 1) == 0);
    CHECK(!cell_utf8());
    REQUIRE(setenv("LC_ALL", "nowhere", 1) == 0);
    CHECK(!cell_utf8());
    REQUIRE(unsetenv("LC_ALL") == 0);
}

static struct ictus_why why;
static char page[8192];

/* Write the page of a report and read it again. Returns the error. */
static int page_of(const struct report *report, const char *template)
{
    char path[CHECK_PATH];
    const int fd = mkstemp(check_scratch(path, "report"));
    REQUIRE(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
    page[0] = '\0';
    const int err = report_write_page(report, path, template, strlen(template), &why);
    FILE *file = fopen(path, "re");
    if (file) {
        page[fread(page, 1, sizeof page - 1, file)] = '\0';
        (void)fclose(file);
        CHECK(unlink(path) == 0);
    }
    return err;
}

static void page_is(const struct report *report, const char *files)
{
    char wanted[4096];
    (void)snprintf(wanted, sizeof wanted, "<{\"version\":\"%s\",\"files\":[%s]}>", ICTUS_VERSION,
                   files);
    CHECK(page_of(report, "<@ICTUS_RESULTS@>") == ICTUS_OK);
    CHECK_STR(page, wanted);
}

/* Objects with the same names share one list of them; what has no picture stays in the file. */
static void test_rows(void)
{
    struct report_file file = {.path = "there/run.jsonl", .skipped = 3};
    file.objects = json_of("[{'type':'header','n':1},{'type':'measurement','mean_s':1.5},"
                           "{'type':'header','n':0.123456789123},"
                           "{'a':'</script><!--','raw_ranks_s':[1,2],'raw_stretches':[4],"
                           "'raw_points':[{'x':1}],'raw':5}]");
    const struct report report = {&file, 1, 100};
    page_is(&report, "{\"name\":\"run.jsonl\",\"labelled\":false,\"skipped\":3,\"thinned\":1,"
                     "\"rows\":[\n[0,\"header\",1],\n[1,\"measurement\",1.5],\n"
                     "[0,\"header\",0.123456789],\n"
                     "[2,\"\\u003c/script>\\u003c!--\",[4],[{\"x\":1}],5]],"
                     "\"shapes\":[[\"type\",\"n\"],[\"type\",\"mean_s\"],"
                     "[\"a\",\"raw_stretches\",\"raw_points\",\"raw\"]]}");
    json_decref(file.objects);
}

/* All files together stay within the allowance, by keeping every k-th sample of each. */
static void test_thinning(void)
{
    static const struct {
        int64_t most;
        const char *thinned, *first, *second;
    } cases[] = {
        {9, "1", "1,2,3,4.12346,5,6", "7,8,9"},
        {8, "2", "1,3,5", "7,9"},
        {5, "2", "1,3,5", "7,9"},
        {4, "3", "1,4.12346", "7"},
        {1, "9", "1", "7"},
        {0, "9", "1", "7"},
    };
    struct report_file files[] = {{.path = "a"}, {.path = "b"}};
    files[0].objects = json_of("[{'raw_s':[1,2,3,4.123456,5,6]}]");
    files[1].objects = json_of("[{'raw_s':[7,8,9]}]");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct report report = {files, 2, cases[i].most};
        char wanted[1024];
        (void)snprintf(wanted, sizeof wanted,
                       "{\"name\":\"a\",\"labelled\":false,\"skipped\":0,\"thinned\":%s,"
                       "\"rows\":[\n[0,[%s]]],\"shapes\":[[\"raw_s\"]]},"
                       "{\"name\":\"b\",\"labelled\":false,\"skipped\":0,\"thinned\":%s,"
                       "\"rows\":[\n[0,[%s]]],\"shapes\":[[\"raw_s\"]]}",
                       cases[i].thinned, cases[i].first, cases[i].thinned, cases[i].second);
        page_is(&report, wanted);
    }
    json_decref(files[0].objects);
    json_decref(files[1].objects);
}

/* Files are called by their last part, unless that is another's, too, or by their label. */
static void test_file_names(void)
{
    char label[] = "before";
    struct report_file files[] = {{.path = "x/run"},
                                  {.path = "run"},
                                  {.path = "x/other"},
                                  {.path = "y/other", .label = label},
                                  {.path = "y/own"}};
    const char *const names[] = {"x/run", "run", "x/other", "before", "own"};
    char wanted[2048] = "";
    for (size_t i = 0; i < 5; i++) {
        files[i].objects = json_array();
        const size_t used = strlen(wanted);
        (void)snprintf(wanted + used, sizeof wanted - used,
                       "%s{\"name\":\"%s\",\"labelled\":%s,\"skipped\":0,\"thinned\":1,"
                       "\"rows\":[\n],\"shapes\":[]}",
                       i > 0 ? "," : "", names[i], i == 3 ? "true" : "false");
    }
    const struct report report = {files, 5, 1};
    page_is(&report, wanted);
    for (size_t i = 0; i < 5; i++) {
        json_decref(files[i].objects);
    }
}

static void test_templates(void)
{
    struct report_file file = {.path = "a", .objects = json_array()};
    const struct report report = {&file, 1, 1};
    CHECK(page_of(&report, "no place") == ICTUS_ERR_FORMAT);
    CHECK_STR(why.text, "the page has no place for the results (@ICTUS_RESULTS@)");
    CHECK_STR(page, "");
    CHECK(page_of(&report, "@ICTUS_RESULTS@ and the rest") == ICTUS_OK);
    CHECK(strstr(page, "]} and the rest") && page[0] == '{');
    CHECK(report_write_page(&report, "/nowhere/page.html", "@ICTUS_RESULTS@", 15, &why) ==
          ICTUS_ERR_IO);
    json_decref(file.objects);
}

int main(void)
{
    test_values();
    test_sparks();
    test_widths();
    test_wraps();
    test_locales();
    test_rows();
    test_thinning();
    test_file_names();
    test_templates();
    return check_result();
}
