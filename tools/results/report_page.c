/* SPDX-License-Identifier: BSD-3-Clause */
/* The web report: results packed as rows under shared lists of names, put into the template. */
#include "results/report.h"

#include "main/output.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "@ICTUS_RESULTS@";

struct packer {
    FILE *stream;
    json_t *shapes; /* joined names -> number */
    json_t *names;  /* array of arrays of names */
    size_t thinning;
};

/*
 * JSON inside a script element: only "<" could end it or begin a comment there, and JSON has it in
 * strings alone, where it may be written as an escape.
 */
static int report_page_put_escaped(const char *bytes, size_t count, void *stream)
{
    for (size_t i = 0; i < count; i++) {
        const int done =
            bytes[i] == '<' ? fputs("\\u003c", stream) : fputc((unsigned char)bytes[i], stream);
        if (done == EOF) {
            return -1;
        }
    }
    return 0;
}

static int page_put_json(FILE *stream, const json_t *value, size_t digits)
{
    return json_dump_callback(value, report_page_put_escaped, stream,
                              JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits))
               ? ICTUS_ERR_IO
               : ICTUS_OK;
}

static bool report_page_is_samples(const char *key, const json_t *value)
{
    return strcmp(key, "raw_s") == 0 && json_is_array(value);
}

/*
 * Other raw numbers, like samples of each rank, have no picture: they stay in the file. The
 * stretches of a critical path, which are few, have one.
 */
static bool report_page_is_left_out(const char *key, const json_t *value)
{
    return strncmp(key, "raw", 3) == 0 && !report_page_is_samples(key, value) &&
           json_is_array(value) && !json_is_object(json_array_get(value, 0)) &&
           strcmp(key, "raw_stretches") != 0;
}

static int report_page_put_samples(const struct packer *packer, const json_t *samples)
{
    int err = ICTUS_OK;
    (void)fputc('[', packer->stream);
    for (size_t i = 0; i < json_array_size(samples) && !err; i += packer->thinning) {
        if (i > 0) {
            (void)fputc(',', packer->stream);
        }
        err = page_put_json(packer->stream, json_array_get(samples, i), 6);
    }
    (void)fputc(']', packer->stream);
    return err;
}

/* The number of the object's list of names, a new one if no object before had the same. */
static json_int_t shape_of(struct packer *packer, const json_t *object)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_t *names = json_array();
    json_object_foreach((json_t *)object, key, value)
    {
        if (!report_page_is_left_out(key, value)) {
            (void)json_array_append_new(names, json_string(key));
        }
    }
    char *joined = json_dumps(names, JSON_COMPACT);
    json_int_t number = -1;
    if (joined) {
        const json_t *known = json_object_get(packer->shapes, joined);
        number = known ? json_integer_value(known) : (json_int_t)json_array_size(packer->names);
        if (!known && (json_object_set_new(packer->shapes, joined, json_integer(number)) ||
                       json_array_append(packer->names, names))) {
            number = -1;
        }
    }
    free(joined);
    json_decref(names);
    return number;
}

static int report_page_put_row(struct packer *packer, const json_t *object)
{
    const char *key = NULL;
    json_t *value = NULL;
    const json_int_t shape = shape_of(packer, object);
    if (shape < 0) {
        return ICTUS_ERR_NOMEM;
    }
    int err = fprintf(packer->stream, "[%lld", (long long)shape) < 0 ? ICTUS_ERR_IO : ICTUS_OK;
    json_object_foreach((json_t *)object, key, value)
    {
        if (err || report_page_is_left_out(key, value)) {
            continue;
        }
        (void)fputc(',', packer->stream);
        err = report_page_is_samples(key, value) ? report_page_put_samples(packer, value)
                                                 : page_put_json(packer->stream, value, 9);
    }
    (void)fputc(']', packer->stream);
    return err;
}

/* What to call a file: its label, else its last part, or all of its path if another file ends
 * alike. */
static const char *report_page_short_name(const struct report *report, size_t file)
{
    const char *path = report->files[file].path;
    if (report->files[file].label) {
        return report->files[file].label;
    }
    const char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    for (size_t i = 0; i < report->count; i++) {
        const char *other = report->files[i].path;
        const char *cut = strrchr(other, '/');
        if (i != file && strcmp(cut ? cut + 1 : other, last) == 0) {
            return path;
        }
    }
    return last;
}

static int report_page_put_file(const struct report *report, size_t at, size_t thinning,
                                FILE *stream)
{
    const struct report_file *file = &report->files[at];
    struct packer packer = {stream, json_object(), json_array(), thinning};
    json_t *name = ictus_result_text(report_page_short_name(report, at));
    int err = packer.shapes && packer.names && name ? ICTUS_OK : ICTUS_ERR_NOMEM;
    size_t i = 0;
    json_t *object = NULL;
    if (!err) {
        (void)fputs("{\"name\":", stream);
        err = page_put_json(stream, name, 9);
        (void)fprintf(stream, ",\"labelled\":%s,\"skipped\":%d,\"thinned\":%zu,\"rows\":[\n",
                      file->label ? "true" : "false", file->skipped, thinning);
    }
    json_array_foreach(file->objects, i, object)
    {
        if (!err) {
            (void)fputs(i > 0 ? ",\n" : "", stream);
            err = report_page_put_row(&packer, object);
        }
    }
    if (!err) {
        (void)fputs("],\"shapes\":", stream);
        err = page_put_json(stream, packer.names, 9);
        (void)fputc('}', stream);
    }
    json_decref(name);
    json_decref(packer.shapes);
    json_decref(packer.names);
    return err;
}

/* Keep every k-th raw sample, so that all files together stay within the allowance. */
static size_t report_page_find_thinning(const struct report *report)
{
    size_t samples = 0;
    for (size_t f = 0; f < report->count; f++) {
        size_t i = 0;
        json_t *object = NULL;
        json_array_foreach(report->files[f].objects, i, object)
        {
            samples += json_array_size(json_object_get(object, "raw_s"));
        }
    }
    const size_t most = report->most_samples > 0 ? (size_t)report->most_samples : 1;
    return samples <= most ? 1 : (samples + most - 1) / most;
}

static int results_put(const struct report *report, FILE *stream)
{
    const size_t thinning = report_page_find_thinning(report);
    int err = ICTUS_OK;
    (void)fprintf(stream, "{\"version\":\"%s\",\"files\":[", ICTUS_VERSION);
    for (size_t f = 0; f < report->count && !err; f++) {
        (void)fputs(f > 0 ? "," : "", stream);
        err = report_page_put_file(report, f, thinning, stream);
    }
    (void)fputs("]}", stream);
    return err;
}

static int page_put(const struct report *report, const char *template_text, size_t size,
                    const char *place, FILE *stream)
{
    const size_t before = (size_t)(place - template_text);
    const size_t after = size - before - strlen(mark);
    if (fwrite(template_text, 1, before, stream) != before) {
        return ICTUS_ERR_IO;
    }
    const int err = results_put(report, stream);
    if (err) {
        return err;
    }
    return fwrite(place + strlen(mark), 1, after, stream) == after ? ICTUS_OK : ICTUS_ERR_IO;
}

int report_write_page(const struct report *report, const char *path, const char *template_text,
                      size_t template_size, struct ictus_why *why)
{
    const char *place = memmem(template_text, template_size, mark, strlen(mark));
    if (!place) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "the page has no place for the results (%s)",
                             mark);
    }
    struct output output;
    int err = output_open(&output, path, why);
    if (err) {
        return err;
    }
    err = page_put(report, template_text, template_size, place, output.stream);
    return output_close(&output, err, why);
}
