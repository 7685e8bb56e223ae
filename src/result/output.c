/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes results. Each object goes to the file and to standard output whole, or not at all. */
#include "print.h"
#include "result.h"

#include "core/utf8.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ictus_output {
    struct printer printer;
    int fd;       /* -1: no file */
    off_t length; /* length of the complete lines in the file */
    int err;      /* the first failure, kept for ictus_output_close() */
    bool broken;  /* the file can take no more lines */
};

/* JSON has no NaN and no infinity, so such a value becomes null. */
json_t *ictus_result_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Jansson refuses text that is not UTF-8, such as a path, so invalid bytes are replaced first. */
json_t *ictus_result_text(const char *text)
{
    char *copy = strdup(text);
    if (!copy) {
        return NULL;
    }
    ictusi_utf8_mend(copy);
    json_t *string = json_string(copy);
    free(copy);
    return string;
}

/* Write all bytes of a buffer. On a full disk, a short write is followed by an error. */
static int output_write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t done = write(fd, bytes, count);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return ICTUS_ERR_IO;
        }
        bytes += done;
        count -= (size_t)done;
    }
    return ICTUS_OK;
}

/* Append one line to the file. If writing fails, the part of the line that was written is cut
 * off again, so that the file always consists of complete lines. */
static int output_write_line(struct ictus_output *out, const json_t *object)
{
    if (out->fd < 0 || out->broken) {
        return out->fd < 0 ? ICTUS_OK : ICTUS_ERR_IO;
    }
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (!text) {
        return ICTUS_ERR_NOMEM;
    }
    const size_t length = strlen(text);
    text[length] = '\n'; /* one write for each line, so that a kill rarely cuts a line */
    int err = output_write_all(out->fd, text, length + 1);
    free(text);
    if (err) {
        const int reason = errno;
        out->broken = true;
        /* Pipes and devices cannot be truncated. Nothing better can be done for them. */
        const int cut = ftruncate(out->fd, out->length);
        (void)cut;
        errno = reason;
        return err;
    }
    out->length += (off_t)length + 1;
    return ICTUS_OK;
}

static struct ictus_output *output_create(enum ictus_format format,
                                          const struct ictus_column *columns)
{
    struct ictus_output *out = calloc(1, sizeof(*out));
    if (!out) {
        return NULL;
    }
    out->fd = -1;
    out->printer = (struct printer){stdout, format, columns, false, json_object()};
    if (!out->printer.csv_types) {
        free(out);
        return NULL;
    }
    return out;
}

static int output_cannot(struct ictus_why *why, const char *path, const char *what)
{
    return ictus_because(why, ICTUS_ERR_IO, "cannot %s '%.200s': %s", what, path, strerror(errno));
}

static int output_write_header(struct ictus_output *out, const char *path, json_t *header,
                               struct ictus_why *why)
{
    if (!path) {
        return ICTUS_OK;
    }
    out->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out->fd < 0) {
        return output_cannot(why, path, "write");
    }
    const int err = output_write_line(out, header);
    return err == ICTUS_ERR_IO ? output_cannot(why, path, "write to") : err;
}

/* Put the two fixed members in front of the header. Return NULL if memory runs out. */
static json_t *output_complete_header(json_t *header)
{
    json_t *whole = json_pack("{s:s, s:s}", "type", "header", "schema", ICTUSI_RESULT_SCHEMA);
    if (whole && json_object_update_missing(whole, header)) {
        json_decref(whole);
        whole = NULL;
    }
    json_decref(header);
    return whole;
}

int ictus_output_open(enum ictus_format format, const struct ictus_column *columns,
                      const char *path, json_t *header, struct ictus_output **out,
                      struct ictus_why *why)
{
    if (!out || !json_is_object(header)) {
        json_decref(header);
        return ictus_because(why, ICTUS_ERR_ARG, "the header must be an object");
    }
    int err = ICTUS_ERR_NOMEM;
    json_t *whole = output_complete_header(header);
    struct ictus_output *fresh = output_create(format, columns);
    /* Opening truncates the file. Memory is allocated before, so that running out of it leaves an
     * old file as it was. */
    if (whole && fresh) {
        err = output_write_header(fresh, path, whole, why);
    }
    json_decref(whole);
    if (err) {
        (void)ictus_output_close(fresh);
        return err;
    }
    *out = fresh;
    return ICTUS_OK;
}

/* Find the length of the file up to and including its last newline. The search begins at the end,
 * because only the last line can be incomplete, and the file may be large. */
static int output_whole_lines(int fd, off_t *length)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char block[4096];
    while (end > 0) {
        const size_t count = end < (off_t)sizeof(block) ? (size_t)end : sizeof(block);
        if (pread(fd, block, count, end - (off_t)count) != (ssize_t)count) {
            return ICTUS_ERR_IO;
        }
        const char *newline = memrchr(block, '\n', count);
        if (newline) {
            *length = end - (off_t)count + (newline - block) + 1;
            return ICTUS_OK;
        }
        end -= (off_t)count;
    }
    *length = 0;
    return end < 0 ? ICTUS_ERR_IO : ICTUS_OK;
}

/* Whether the file has a whole object after its last newline, which lacks only its own newline. */
static bool output_lacks_newline(int fd, off_t from)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    const size_t count = end > from ? (size_t)(end - from) : 0;
    char *text = count > 0 ? malloc(count) : NULL;
    json_t *object = NULL;
    if (text && pread(fd, text, count, from) == (ssize_t)count) {
        object = ictusi_reader_parse_line(text, count);
    }
    const bool lacks = json_is_object(object);
    json_decref(object);
    free(text);
    return lacks;
}

/* Let the file end with a newline. A last line that is whole gets one, because readers count it;
 * one that a killed run left incomplete is cut off. */
static int output_end_line(struct ictus_output *out)
{
    int err = output_whole_lines(out->fd, &out->length);
    if (!err && output_lacks_newline(out->fd, out->length)) {
        err = output_write_all(out->fd, "\n", 1);
        out->length = lseek(out->fd, 0, SEEK_END);
    }
    if (!err && (ftruncate(out->fd, out->length) || lseek(out->fd, out->length, SEEK_SET) < 0)) {
        err = ICTUS_ERR_IO;
    }
    return err;
}

/* Open an existing file to append to it. It must be a valid result file. */
static int output_reopen(struct ictus_output *out, const char *path, struct ictus_why *why)
{
    json_t *objects = NULL;
    int err = ictus_result_read(path, &objects, NULL, why);
    if (err) {
        return err;
    }
    json_decref(objects);
    out->fd = open(path, O_RDWR | O_CLOEXEC);
    return out->fd < 0 || output_end_line(out) ? output_cannot(why, path, "continue") : ICTUS_OK;
}

int ictus_output_resume(enum ictus_format format, const struct ictus_column *columns,
                        const char *path, struct ictus_output **out, struct ictus_why *why)
{
    if (!out || !path) {
        return ictus_because(why, ICTUS_ERR_ARG, "resuming needs a result file");
    }
    struct ictus_output *fresh = output_create(format, columns);
    if (!fresh) {
        return ICTUS_ERR_NOMEM;
    }
    const int err = output_reopen(fresh, path, why);
    if (err) {
        (void)ictus_output_close(fresh);
        return err;
    }
    *out = fresh;
    return ICTUS_OK;
}

static int output_put(struct ictus_output *out, json_t *object, bool keep, bool show)
{
    if (!out || !json_is_string(json_object_get(object, "type"))) {
        json_decref(object);
        return ICTUS_ERR_ARG;
    }
    const int written = keep ? output_write_line(out, object) : ICTUS_OK;
    const int printed = show ? ictusi_printer_put(&out->printer, object) : ICTUS_OK;
    /* If the object is in the file, a failure to print it does not stop the run. */
    const bool lost_only_view = printed == ICTUS_ERR_IO && !written && out->fd >= 0;
    const int err = written ? written : lost_only_view ? ICTUS_OK : printed;
    json_decref(object);
    /* The first failure is the cause, and later ones often follow from it. */
    if (!out->err) {
        out->err = err;
    }
    return err;
}

int ictus_output_put(struct ictus_output *out, json_t *object)
{
    return output_put(out, object, true, true);
}

int ictus_output_keep(struct ictus_output *out, json_t *object)
{
    return output_put(out, object, true, false);
}

int ictus_output_show(struct ictus_output *out, json_t *object)
{
    return output_put(out, object, false, true);
}

int ictus_output_close(struct ictus_output *out)
{
    if (!out) {
        return ICTUS_OK;
    }
    int err = out->err;
    /* On a network file system, a full disk may be reported only by close(). */
    if (out->fd >= 0 && close(out->fd) && !err) {
        err = ICTUS_ERR_IO;
    }
    json_decref(out->printer.csv_types);
    free(out);
    return err;
}
