/* SPDX-License-Identifier: BSD-3-Clause */
/* The result file: what is written is read back, whatever happened to the file in between. */
#define CHECK_OWN_INPUT
#include "../check.h"

#include <ictus/result.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured.h"

static const struct ictus_column columns[] = {
    {"operation", "operation", ICTUS_COLUMN_TEXT},   {"bytes", "bytes", ICTUS_COLUMN_COUNT},
    {"median_s", "median_us", ICTUS_COLUMN_SECONDS}, {"error_ns", "error_us", ICTUS_COLUMN_NS},
    {"ratio", "ratio", ICTUS_COLUMN_NUMBER},         {NULL, NULL, ICTUS_COLUMN_TEXT}};

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

/* What other writers use for missing numbers, outside of texts; a text may contain anything. */
static void test_no_numbers(const char *path)
{
    static const char *const words[] = {"NaN",       "nan",      "-NaN", "-nan",
                                        "-Infinity", "Infinity", "inf",  "-inf"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char line[200];
        json_t *objects = NULL;
        int skipped = -1;
        (void)snprintf(line, sizeof(line),
                       "{\"type\":\"header\"}\n \t\n"
                       "{\"type\":\"t\",\"c\":\"\\\\%s\\\"%s\",\"a\":[%s,7,%s],\"b\":%s}",
                       words[i], words[i], words[i], words[i], words[i]);
        write_text(path, "w", line);
        CHECK(!ictus_result_read(path, &objects, &skipped, NULL));
        CHECK(json_array_size(objects) == 2 && skipped == 0);
        const json_t *read = json_array_get(objects, 1);
        const json_t *list = json_object_get(read, "a");
        (void)snprintf(line, sizeof(line), "\\%s\"%s", words[i], words[i]);
        CHECK_STR(text_at(objects, 1, "c"), line);
        CHECK(json_is_null(json_object_get(read, "b")) && json_array_size(list) == 3);
        CHECK(json_is_null(json_array_get(list, 0)) && json_is_null(json_array_get(list, 2)));
        CHECK(json_integer_value(json_array_get(list, 1)) == 7);
        json_decref(objects);
    }
}

/*
 * A byte order mark is accepted before the first line only, and another program's schema is not
 * refused.
 */
static void test_marks(const char *path)
{
    json_t *objects = NULL;
    int skipped = -1;
    write_text(path, "w",
               "{\"type\":\"header\",\"schema\":\"other/9\"}\n"
               "\xef\xbb\xbf{\"type\":\"sync\"}\n"
               "{\"type\":\"a\"}\n{\"type\":7}\n{\"type\":\"b\",\"schema\":\"ictus-result/2\"}\n");
    CHECK(!ictus_result_read(path, &objects, &skipped, NULL));
    CHECK(json_array_size(objects) == 3 && skipped == 2);
    CHECK_STR(text_at(objects, 0, "schema"), "other/9");
    CHECK_STR(text_at(objects, 1, "type"), "a");
    CHECK_STR(text_at(objects, 2, "type"), "b");
    json_decref(objects);
    write_text(path, "w", "\xef\xbb\xbf");
    CHECK(ictus_result_read(path, &objects, &skipped, NULL) == ICTUS_ERR_FORMAT);
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

/* A last line that is whole is kept, even if nothing but its newline is missing. */
static void test_resume_without_newline(const char *path)
{
    static const char *const files[] = {
        "{\"type\":\"header\",\"version\":\"7\"}",
        "{\"type\":\"header\"}\n{\"type\":\"measurement\",\"operation\":\"scan\",\"a\":NaN}",
        "{\"type\":\"header\"}\n{\"type\":\"measurement\",\"operation\":\"scan\"}\n",
        "{\"type\":\"header\"}\n{\"type\":\"measurement\",\"operation\":\"scan\"}\n[1]",
        "{\"type\":\"header\"}\n{\"type\":\"measurement\",\"operation\":\"scan\"}\n ",
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct ictus_output *out = NULL;
        json_t *objects = NULL;
        int skipped = -1;
        write_text(path, "w", files[i]);
        REQUIRE(!ictus_output_resume(ICTUS_FORMAT_JSON, NULL, path, &out, NULL));
        CHECK(!ictus_output_keep(out, measurement("gather", 4, 1.0)));
        CHECK(!ictus_output_close(out));
        CHECK(!ictus_result_read(path, &objects, &skipped, NULL));
        CHECK(json_array_size(objects) == (i ? 3 : 2) && skipped == 0);
        CHECK_STR(text_at(objects, 0, "version"), i ? "(none)" : "7");
        CHECK_STR(text_at(objects, i ? 2 : 1, "operation"), "gather");
        CHECK(i == 0 || strcmp(text_at(objects, 1, "operation"), "scan") == 0);
        json_decref(objects);
    }
}

/* Everybody whom the umask permits may read and write a result file, and nobody may run it. */
static void test_permissions(const char *path)
{
    struct ictus_output *out = NULL;
    struct stat file;
    const mode_t mask = umask(0);
    (void)unlink(path);
    CHECK(!ictus_output_open(ICTUS_FORMAT_JSON, NULL, path, json_object(), &out, NULL));
    CHECK(!ictus_output_close(out));
    (void)umask(mask);
    CHECK(stat(path, &file) == 0 && (file.st_mode & 07777) == 0666);
}

/* Numbers come back as they are, with as many digits as others write: 0.07 stays 0.07. */
static void test_digits(const char *path)
{
    struct ictus_output *out = NULL;
    struct captured capture;
    char line[256] = "";
    capture_begin(&capture);
    int err = ictus_output_open(ICTUS_FORMAT_JSON, NULL, path, json_object(), &out, NULL);
    err = err ? err : ictus_output_put(out, json_pack("{s:s, s:f}", "type", "t", "x", 0.07));
    (void)ictus_output_close(out);
    capture_end(&capture);
    CHECK_STR(capture.text, "{\"type\":\"t\",\"x\":0.07}\n");
    FILE *file = fopen(path, "r");
    REQUIRE(!err && file && fgets(line, sizeof(line), file) && fgets(line, sizeof(line), file));
    (void)fclose(file);
    CHECK_STR(line, capture.text);
}

/* Texts that are no UTF-8 are mended, and a member that is named twice has its last value. */
static void test_strange_texts(const char *path)
{
    json_t *objects = NULL;
    json_t *text = ictus_result_text("a\xff"
                                     "b");
    CHECK(json_is_string(text) && strlen(json_string_value(text)) >= 3);
    json_decref(text);
    write_text(path, "w",
               "{\"type\":\"t\",\"x\":\"1\",\"x\":\"2\"}\n"
               "{\"type\":\"t\",\"x\":\"1\",\"x\":\"3\",\"y\":NaN}\n");
    CHECK(!ictus_result_read(path, &objects, NULL, NULL) && json_array_size(objects) == 3);
    CHECK_STR(text_at(objects, 1, "x"), "2");
    CHECK_STR(text_at(objects, 2, "x"), "3");
    json_decref(objects);
}

/* The kernel may write a line in pieces, and be interrupted in between. */
static struct {
    bool on;
    int calls;
} pieces;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
ssize_t __real_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count);

ssize_t __wrap_write(int fd, const void *bytes, size_t count)
{
    if (pieces.on && pieces.calls++ % 3 == 1) {
        errno = EINTR;
        return -1;
    }
    return __real_write(fd, bytes, pieces.on && count > 7 ? 7 : count);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void test_pieces(const char *path)
{
    struct captured whole;
    json_t *objects = NULL;
    int skipped = -1;
    pieces.on = true;
    write_two(ICTUS_FORMAT_CSV, NULL, path, &whole);
    pieces.on = false;
    CHECK(pieces.calls > 60);
    CHECK(ictus_result_read(path, &objects, &skipped, NULL) == ICTUS_OK);
    CHECK(json_array_size(objects) == 3 && skipped == 0);
    CHECK_STR(text_at(objects, 2, "operation"), "allreduce");
    json_decref(objects);
}

/* However long the line that a kill has cut, the file continues after the last complete line. */
static void test_resume_after_long_lines(const char *path)
{
    static const size_t lengths[] = {1, 100, 4095, 4096, 4097, 8191, 8192, 8193, 20000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct captured capture;
        struct ictus_output *out = NULL;
        json_t *objects = NULL;
        int skipped = -1;
        write_two(ICTUS_FORMAT_CSV, NULL, path, &capture);
        FILE *file = fopen(path, "a");
        REQUIRE(file);
        for (size_t k = 0; k < lengths[i]; k++) {
            (void)fputc('{', file);
        }
        (void)fclose(file);
        REQUIRE(!ictus_output_resume(ICTUS_FORMAT_JSON, NULL, path, &out, NULL));
        CHECK(!ictus_output_keep(out, measurement("gather", 4, 1.0)));
        CHECK(!ictus_output_close(out));
        CHECK(!ictus_result_read(path, &objects, &skipped, NULL));
        CHECK(json_array_size(objects) == 4 && skipped == 0);
        CHECK_STR(text_at(objects, 3, "operation"), "gather");
        json_decref(objects);
    }
    struct ictus_output *out = NULL;
    struct ictus_why why = {""};
    CHECK(ictus_output_resume(ICTUS_FORMAT_JSON, NULL, NULL, &out, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_output_resume(ICTUS_FORMAT_JSON, NULL, path, NULL, &why) == ICTUS_ERR_ARG);
    write_text(path, "w", "nothing of ours\n");
    CHECK(ictus_output_resume(ICTUS_FORMAT_JSON, NULL, path, &out, &why) == ICTUS_ERR_FORMAT);
}

/* What is kept is not shown, and what is shown is not kept. */
static void test_kept_or_shown(const char *path)
{
    struct captured capture;
    struct ictus_output *out = NULL;
    json_t *objects = NULL;
    capture_begin(&capture);
    const int opened = ictus_output_open(ICTUS_FORMAT_JSON, NULL, path, json_object(), &out, NULL);
    const int kept = opened ? opened : ictus_output_keep(out, measurement("kept", 4, 1.0));
    const int shown = opened ? opened : ictus_output_show(out, measurement("shown", 4, 1.0));
    const int closed = ictus_output_close(out);
    capture_end(&capture);
    CHECK(!opened && !kept && !shown && !closed);
    CHECK(strstr(capture.text, "shown") && !strstr(capture.text, "kept"));
    CHECK(!ictus_result_read(path, &objects, NULL, NULL));
    CHECK(json_array_size(objects) == 2);
    CHECK_STR(text_at(objects, 1, "operation"), "kept");
    json_decref(objects);
}

/* If standard input is closed, the file gets its descriptor, and still works as a file. */
static void test_closed_input(const char *path)
{
    struct ictus_output *out = NULL;
    json_t *objects = NULL;
    const int saved = dup(0);
    (void)close(0);
    const int opened = ictus_output_open(ICTUS_FORMAT_JSON, NULL, path, json_object(), &out, NULL);
    const int kept = opened ? opened : ictus_output_keep(out, measurement("bcast", 1, 1e-6));
    const int closed = ictus_output_close(out);
    CHECK(fcntl(0, F_GETFD) < 0); /* the file had it, and is closed */
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

/* On a full file system the output reports an error, and closing it does so again. */
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

/* If results go to a file, the run continues even when nobody can read the output any more. */
static void test_lost_view(const char *path, bool closed_input)
{
    struct ictus_output *out = NULL;
    json_t *objects = NULL;
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        return;
    }
    (void)fflush(stdout);
    const int saved = dup(1);
    const int input = closed_input ? dup(0) : -1;
    REQUIRE(saved >= 0 && dup2(fileno(full), 1) == 1);
    if (closed_input) {
        (void)close(0); /* so that the file gets its descriptor */
    }
    const int opened = ictus_output_open(ICTUS_FORMAT_JSON, NULL, path, json_object(), &out, NULL);
    const int put = opened ? opened : ictus_output_put(out, measurement("bcast", 1, 1.0));
    const int closed = ictus_output_close(out);
    clearerr(stdout);
    REQUIRE(dup2(saved, 1) == 1);
    close(saved);
    if (input >= 0) {
        REQUIRE(dup2(input, 0) == 0);
        (void)close(input);
    }
    (void)fclose(full);
    CHECK(!opened && !put && !closed);
    CHECK(!ictus_result_read(path, &objects, NULL, NULL));
    CHECK(json_array_size(objects) == 2);
    json_decref(objects);
}

/*
 * If the disk fills up in the middle of a line, the file ends with the last complete line, and
 * nothing after it is said to be kept.
 */
static void test_disk_fills(const char *path, bool closed_input)
{
    struct captured capture;
    struct ictus_output *out = NULL;
    json_t *objects = NULL;
    int skipped = -1;
    struct rlimit before;
    int failed_at = -1;
    int kept = 0;
    const int input = closed_input ? dup(0) : -1;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit small = {1000, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    capture_begin(&capture);
    if (closed_input) {
        (void)close(0); /* so that the file gets its descriptor */
    }
    const int opened = ictus_output_open(ICTUS_FORMAT_JSON, NULL, path, json_object(), &out, NULL);
    (void)fclose(capture.file); /* the limit applies to every file, so show nothing */
    capture.file = fopen("/dev/null", "r+");
    REQUIRE(capture.file && dup2(fileno(capture.file), 1) == 1);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (int i = 0; i < 10 && !opened; i++) {
        const int err = ictus_output_put(out, measurement("bcast", i, 1e-6));
        kept += !err;
        failed_at = err && failed_at < 0 ? i : failed_at;
    }
    const int closed = ictus_output_close(out);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    capture_end(&capture);
    if (input >= 0) {
        REQUIRE(dup2(input, 0) == 0);
        (void)close(input);
    }
    CHECK(!opened && closed == ICTUS_ERR_IO);
    CHECK(failed_at > 0 && failed_at < 10 && kept == failed_at);
    CHECK(ictus_result_read(path, &objects, &skipped, NULL) == ICTUS_OK);
    CHECK((int)json_array_size(objects) == failed_at + 1);
    CHECK(skipped == 0);
    json_decref(objects);
}

int main(void)
{
    char path[CHECK_PATH];
    const int fd = mkstemp(check_scratch(path, "result"));
    REQUIRE(fd >= 0);
    close(fd);
    test_formats(path);
    test_read_back(path);
    test_damaged(path);
    test_no_numbers(path);
    test_marks(path);
    test_no_header(path);
    test_refused(path);
    test_resume(path);
    test_resume_without_newline(path);
    test_permissions(path);
    test_digits(path);
    test_strange_texts(path);
    test_pieces(path);
    test_resume_after_long_lines(path);
    test_kept_or_shown(path);
    test_closed_input(path);
    test_unwritable();
    test_full_stdout();
    test_lost_view(path, false);
    test_lost_view(path, true);
    test_disk_fills(path, false);
    test_disk_fills(path, true);
    (void)unlink(path);
    return check_result();
}
