/* SPDX-License-Identifier: BSD-3-Clause */
/* The result file: what is written is read back, whatever happened to it in between. */
#include "../check.h"

#include <ictus/result.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct ictus_column columns[] = {
    {"operation", "operation", ICTUS_COLUMN_TEXT},   {"bytes", "bytes", ICTUS_COLUMN_COUNT},
    {"median_s", "median_us", ICTUS_COLUMN_SECONDS}, {"error_ns", "error_us", ICTUS_COLUMN_NS},
    {"ratio", "ratio", ICTUS_COLUMN_NUMBER},         {NULL, NULL, ICTUS_COLUMN_TEXT}};

struct captured {
    char text[8192];
    FILE *file;
    int saved;
};

static void capture_begin(struct captured *capture)
{
    (void)fflush(stdout);
    capture->saved = dup(1);
    capture->file = tmpfile();
    REQUIRE(capture->saved >= 0 && capture->file);
    REQUIRE(dup2(fileno(capture->file), 1) == 1);
}

static void capture_end(struct captured *capture)
{
    (void)fflush(stdout);
    REQUIRE(dup2(capture->saved, 1) == 1);
    close(capture->saved);
    rewind(capture->file);
    const size_t count = fread(capture->text, 1, sizeof(capture->text) - 1, capture->file);
    capture->text[count] = '\0';
    (void)fclose(capture->file);
}

static json_t *measurement(const char *operation, int bytes, double median_s)
{
    return json_pack("{s:s, s:s, s:i, s:o, s:f, s:f, s:[f,f], s:{s:s,s:i}, s:[f,f,f]}", "type",
                     "measurement", "operation", operation, "bytes", bytes, "median_s",
                     ictus_result_real(median_s), "error_ns", 1234.5, "ratio", 0.25, "ci95", 1e-6,
                     2e-6, "place", "host", "a,\"b\"", "core", 3, "raw_s", 1e-6, 2e-6, 3e-6);
}

static void write_two(enum ictus_format format, const struct ictus_column *shown, const char *path,
                      struct captured *capture)
{
    struct ictus_output *out = NULL;
    struct ictus_why why = {""};
    capture_begin(capture);
    const int err =
        ictus_output_open(format, shown, path, json_pack("{s:s}", "version", "1"), &out, &why);
    int put = ICTUS_ERR_IO;
    int again = ICTUS_ERR_IO;
    if (!err) {
        put = ictus_output_put(out, measurement("bcast", 8, 1.5e-6));
        again = ictus_output_put(out, measurement("allreduce", 1048576, NAN));
    }
    const int closed = ictus_output_close(out);
    capture_end(capture);
    CHECK(!err && !put && !again && !closed);
}

static void write_text(const char *path, const char *mode, const char *text)
{
    FILE *file = fopen(path, mode);
    REQUIRE(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static const char *text_at(const json_t *objects, size_t i, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(objects, i), key));
    return text ? text : "(none)";
}

static void test_formats(const char *path)
{
    struct captured capture;
    write_two(ICTUS_FORMAT_TEXT, columns, path, &capture);
    CHECK_STR(capture.text, "operation bytes median_us  error_us  ratio\n"
                            "bcast         8     1.500     1.234   0.25\n"
                            "allreduce 1048576         -     1.234   0.25\n");
    write_two(ICTUS_FORMAT_CSV, columns, path, &capture);
    CHECK_STR(capture.text,
              "type,operation,bytes,median_s,error_ns,ratio,ci95,place.host,place.core\n"
              "measurement,bcast,8,1.5e-6,1234.5,0.25,\"[1e-6,2e-6]\",\"a,\"\"b\"\"\",3\n"
              "measurement,allreduce,1048576,,1234.5,0.25,\"[1e-6,2e-6]\",\"a,\"\"b\"\"\",3\n");
    write_two(ICTUS_FORMAT_JSON, columns, path, &capture);
    CHECK(strncmp(capture.text, "{\"type\":\"measurement\",", 22) == 0);
    CHECK(!strstr(capture.text, "raw_s"));
    CHECK(!strstr(capture.text, "header"));
    CHECK(strstr(capture.text, "\"median_s\":null"));
    struct captured lines;
    write_two(ICTUS_FORMAT_TEXT, NULL, path, &lines);
    CHECK_STR(lines.text, capture.text);
}

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

/* As many digits as a column has room for: four significant ones, or three decimals, at most. */
static void test_numbers(void)
{
    static const struct ictus_column ratio = {"ratio", "number", ICTUS_COLUMN_NUMBER};
    static const struct ictus_column time = {"time_s", "time_us", ICTUS_COLUMN_SECONDS};
    static const double ratios[] = {0.25,   0.1234, 0.12345,  12345.0,  99999.5, -12345.0,
                                    -0.125, 1e5,    123456.0, 1.234e-7, -3.2e20, -9.4e-4};
    static const double times[] = {1.5e-6, 0.012345678, 1.2345678, -1.2345678};
    struct captured capture;
    print_numbers(&ratio, ratios, sizeof ratios / sizeof *ratios, &capture);
    CHECK_STR(capture.text, "number\n"
                            "  0.25\n"
                            "0.1234\n"
                            "0.1235\n"
                            " 12345\n"
                            "100000\n"
                            "-12345\n"
                            "-0.125\n"
                            " 1e+05\n"
                            " 1e+05\n"
                            " 1e-07\n"
                            "-3e+20\n"
                            "-9e-04\n");
    print_numbers(&time, times, sizeof times / sizeof *times, &capture);
    CHECK_STR(capture.text, "  time_us\n"
                            "    1.500\n"
                            "12345.678\n"
                            "1234567.8\n"
                            " -1234568\n");
}

/* Whatever its magnitude and its sign, a number is no wider than its column. */
static void test_widths(void)
{
    static const struct ictus_column ratio = {"ratio", "number", ICTUS_COLUMN_NUMBER};
    enum { EXPONENTS = 199, WIDTH = 6 };
    double numbers[2 * EXPONENTS];
    struct captured capture;
    for (int i = 0; i < EXPONENTS; i++) {
        numbers[i] = 1.23456789 * pow(10.0, i - EXPONENTS / 2);
        numbers[EXPONENTS + i] = -9.4 * pow(10.0, i - EXPONENTS / 2);
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

/* The words of a row's last text again, from all its lines; how wide the widest line is. */
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
    for (size_t first = 1; first <= FIRST; first++) { /* letters of the first word; others: three */
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
    }
}

static void test_read_back(const char *path)
{
    struct captured capture;
    json_t *objects = NULL;
    int skipped = -1;
    write_two(ICTUS_FORMAT_CSV, NULL, path, &capture);
    CHECK(ictus_result_read(path, &objects, &skipped, NULL) == ICTUS_OK);
    CHECK(json_array_size(objects) == 3);
    CHECK(skipped == 0);
    CHECK_STR(text_at(objects, 0, "schema"), "ictus-result/1");
    CHECK_STR(text_at(objects, 0, "version"), "1");
    CHECK_STR(text_at(objects, 1, "operation"), "bcast");
    const json_t *first = json_array_get(objects, 1);
    CHECK(json_array_size(json_object_get(first, "raw_s")) == 3);
    CHECK_NEAR(json_real_value(json_object_get(first, "median_s")), 1.5e-6, 1e-20);
    CHECK(json_is_null(json_object_get(json_array_get(objects, 2), "median_s")));
    json_decref(objects);
}

static void test_damaged(const char *path)
{
    json_t *objects = NULL;
    int skipped = 0;
    write_text(path, "w",
               "\xef\xbb\xbf{\"type\":\"header\",\"schema\":\"ictus-result/1\",\"new\":[1,{}]}\r\n"
               "\n# OSU MPI Allreduce\n[1,2]\n{\"no\":\"type\"}\n"
               "{\"type\":\"unknown\",\"x\":1}\n"
               "{\"type\":\"measurement\",\"a\":NaN,\"b\":[-Infinity,1],\"c\":\"\\\"NaN\\\\\"}\n"
               "{\"type\":\"header\",\"schema\":\"ictus-result/1\",\"launch\":2}\n"
               "{\"type\":\"measurement\",\"operation\":\"bc");
    CHECK(ictus_result_read(path, &objects, &skipped, NULL) == ICTUS_OK);
    CHECK(json_array_size(objects) == 4);
    CHECK(skipped == 4);
    CHECK_STR(text_at(objects, 1, "type"), "unknown");
    const json_t *odd = json_array_get(objects, 2);
    CHECK(json_is_null(json_object_get(odd, "a")));
    CHECK(json_is_null(json_array_get(json_object_get(odd, "b"), 0)));
    CHECK_STR(text_at(objects, 2, "c"), "\"NaN\\");
    CHECK_STR(text_at(objects, 3, "type"), "header");
    json_decref(objects);
}

static void test_no_header(const char *path)
{
    json_t *objects = NULL;
    write_text(path, "w", "{\"type\":\"sync\",\"a\":1}\n");
    CHECK(ictus_result_read(path, &objects, NULL, NULL) == ICTUS_OK);
    CHECK(json_array_size(objects) == 2);
    CHECK_STR(text_at(objects, 0, "type"), "header");
    CHECK_STR(text_at(objects, 1, "type"), "sync");
    json_decref(objects);
}

static void test_refused(const char *path)
{
    json_t *objects = NULL;
    struct ictus_why why = {""};
    write_text(path, "w", "{\"type\":\"header\",\"schema\":\"ictus-result/2\"}\n");
    CHECK(ictus_result_read(path, &objects, NULL, &why) == ICTUS_ERR_FORMAT);
    CHECK(strstr(why.text, "line 1") && strstr(why.text, "ictus-result/2"));
    write_text(path, "w", "all\nforeign\n");
    CHECK(ictus_result_read(path, &objects, NULL, &why) == ICTUS_ERR_FORMAT);
    write_text(path, "w", "");
    CHECK(ictus_result_read(path, &objects, NULL, &why) == ICTUS_ERR_FORMAT);
    CHECK(ictus_result_read("/", &objects, NULL, &why) == ICTUS_ERR_IO);
    CHECK(ictus_result_read("/nonexistent/x", &objects, NULL, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "/nonexistent/x"));
    CHECK(ictus_result_read(NULL, &objects, NULL, &why) == ICTUS_ERR_ARG);
    CHECK(!objects);
}

static void test_resume(const char *path)
{
    struct captured capture;
    struct ictus_output *out = NULL;
    struct ictus_why why = {""};
    json_t *objects = NULL;
    int skipped = -1;
    write_two(ICTUS_FORMAT_CSV, NULL, path, &capture);
    write_text(path, "a", "{\"type\":\"measurement\",\"oper");
    capture_begin(&capture);
    const int opened = ictus_output_resume(ICTUS_FORMAT_JSON, NULL, path, &out, &why);
    const int put = opened ? opened : ictus_output_put(out, measurement("gather", 4, 1.0));
    const int closed = ictus_output_close(out);
    capture_end(&capture);
    CHECK(!opened && !put && !closed);
    CHECK(ictus_result_read(path, &objects, &skipped, NULL) == ICTUS_OK);
    CHECK(json_array_size(objects) == 4);
    CHECK(skipped == 0);
    CHECK_STR(text_at(objects, 3, "operation"), "gather");
    json_decref(objects);
    CHECK(ictus_output_resume(ICTUS_FORMAT_JSON, NULL, "/nonexistent/x", &out, &why) ==
          ICTUS_ERR_IO);
}

/* Where standard input is closed, the file has its number: it is a file all the same. */
static void test_closed_input(const char *path)
{
    struct ictus_output *out = NULL;
    json_t *objects = NULL;
    const int saved = dup(0);
    (void)close(0);
    const int opened = ictus_output_open(ICTUS_FORMAT_JSON, NULL, path, json_object(), &out, NULL);
    const int kept = opened ? opened : ictus_output_keep(out, measurement("bcast", 1, 1e-6));
    const int closed = ictus_output_close(out);
    CHECK(fcntl(0, F_GETFD) < 0); /* the file was there, and is closed */
    const int resumed = ictus_output_resume(ICTUS_FORMAT_JSON, NULL, path, &out, NULL);
    const int more = resumed ? resumed : ictus_output_keep(out, measurement("gather", 1, 1e-6));
    const int ended = ictus_output_close(resumed ? NULL : out);
    CHECK(fcntl(0, F_GETFD) < 0);
    if (saved >= 0) {
        REQUIRE(dup2(saved, 0) == 0);
        (void)close(saved);
    }
    CHECK(!opened && !kept && !closed);
    CHECK(!resumed && !more && !ended);
    CHECK(ictus_result_read(path, &objects, NULL, NULL) == ICTUS_OK);
    CHECK(json_array_size(objects) == 3);
    CHECK_STR(text_at(objects, 1, "operation"), "bcast");
    CHECK_STR(text_at(objects, 2, "operation"), "gather");
    json_decref(objects);
}

static void test_unwritable(void)
{
    struct ictus_output *out = NULL;
    struct ictus_why why = {""};
    CHECK(ictus_output_open(ICTUS_FORMAT_JSON, NULL, "/nonexistent/x", json_object(), &out, &why) ==
          ICTUS_ERR_IO);
    CHECK(strstr(why.text, "/nonexistent/x"));
    CHECK(ictus_output_open(ICTUS_FORMAT_JSON, NULL, NULL, json_array(), &out, &why) ==
          ICTUS_ERR_ARG);
    CHECK(!out);
    if (access("/dev/full", W_OK) == 0) {
        CHECK(ictus_output_open(ICTUS_FORMAT_JSON, NULL, "/dev/full", json_object(), &out, &why) ==
              ICTUS_ERR_IO);
        CHECK(strstr(why.text, "/dev/full"));
        CHECK(!out);
    }
    CHECK(ictus_output_close(NULL) == ICTUS_OK);
}

/* A file system with no room left: the output says so, and close says it again. */
static void test_full_stdout(void)
{
    struct ictus_output *out = NULL;
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        return;
    }
    (void)fflush(stdout);
    const int saved = dup(1);
    REQUIRE(saved >= 0 && dup2(fileno(full), 1) == 1);
    const int opened = ictus_output_open(ICTUS_FORMAT_JSON, NULL, NULL, json_object(), &out, NULL);
    const int put = opened ? opened : ictus_output_put(out, measurement("bcast", 1, 1.0));
    const int wrong = opened ? opened : ictus_output_put(out, json_object());
    const int closed = ictus_output_close(out);
    clearerr(stdout);
    REQUIRE(dup2(saved, 1) == 1);
    close(saved);
    (void)fclose(full);
    CHECK(put == ICTUS_ERR_IO);
    CHECK(wrong == ICTUS_ERR_ARG);
    CHECK(closed == ICTUS_ERR_IO);
}

/* A disk that fills in the middle of a line: the file ends with the last whole one. */
static void test_disk_fills(const char *path)
{
    struct captured capture;
    struct ictus_output *out = NULL;
    json_t *objects = NULL;
    int skipped = -1;
    struct rlimit before;
    int failed_at = -1;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit small = {1000, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    capture_begin(&capture);
    const int opened = ictus_output_open(ICTUS_FORMAT_JSON, NULL, path, json_object(), &out, NULL);
    (void)fclose(capture.file); /* the limit holds for every file: show nothing */
    capture.file = fopen("/dev/null", "r+");
    REQUIRE(capture.file && dup2(fileno(capture.file), 1) == 1);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (int i = 0; i < 10 && !opened; i++) {
        if (ictus_output_put(out, measurement("bcast", i, 1e-6)) && failed_at < 0) {
            failed_at = i;
        }
    }
    const int closed = ictus_output_close(out);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    capture_end(&capture);
    CHECK(!opened && closed == ICTUS_ERR_IO);
    CHECK(failed_at > 0 && failed_at < 10);
    CHECK(ictus_result_read(path, &objects, &skipped, NULL) == ICTUS_OK);
    CHECK((int)json_array_size(objects) == failed_at + 1);
    CHECK(skipped == 0);
    json_decref(objects);
}

int main(void)
{
    char path[] = "/tmp/ictus-result-XXXXXX";
    const int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    test_formats(path);
    test_numbers();
    test_widths();
    test_long_texts();
    test_read_back(path);
    test_damaged(path);
    test_no_header(path);
    test_refused(path);
    test_resume(path);
    test_closed_input(path);
    test_unwritable();
    test_full_stdout();
    test_disk_fills(path);
    (void)unlink(path);
    return check_result();
}
