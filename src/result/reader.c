/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads result files. It tolerates what killed runs, other programs and full disks leave in
 * them. */
#include "result.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    json_t *objects;
    long line;
    int skipped;
    int found;
};

/* Return the length of a word that other writers print for a number that JSON cannot express, or
 * 0 if the text does not begin with one. */
static size_t reader_not_a_number(const char *text, size_t left)
{
    static const char *const words[] = {"NaN",       "nan",      "-NaN", "-nan",
                                        "-Infinity", "Infinity", "inf",  "-inf"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t length = strlen(words[i]);
        if (left >= length && strncmp(text, words[i], length) == 0) {
            return length;
        }
    }
    return 0;
}

/* Copy the text with null in place of every such word outside a string. Return NULL if there is
 * none. */
static char *null_for_nan(const char *text, size_t length)
{
    char *copy = malloc(2 * length + 8); /* the shortest word has three letters, null four */
    size_t at = 0;
    bool inside = false;
    bool any = false;
    for (size_t i = 0; copy && i < length; i++) {
        const size_t word = inside ? 0 : reader_not_a_number(text + i, length - i);
        if (word > 0) {
            memcpy(copy + at, "null", 4);
            at += 4;
            i += word - 1;
            any = true;
            continue;
        }
        if (text[i] == '"') {
            inside = !inside;
            /* A character after a backslash, such as \" or \\, does not end the string. */
        } else if (inside && text[i] == '\\' && i + 1 < length) {
            copy[at++] = text[i++];
        }
        copy[at++] = text[i];
    }
    if (!any) {
        free(copy);
        return NULL;
    }
    copy[at] = '\0';
    return copy;
}

/* The line is parsed as it is first, because hardly any needs the copy without NaN. */
json_t *ictusi_reader_parse_line(const char *text, size_t length)
{
    json_t *object = json_loadb(text, length, 0, NULL);
    if (!object) {
        char *copy = null_for_nan(text, length);
        object = copy ? json_loads(copy, 0, NULL) : NULL;
        free(copy);
    }
    return object;
}

/* A header of another major schema may mean anything, so the file is refused. */
static int reader_check_schema(const struct reading *reading, const json_t *object,
                               struct ictus_why *why)
{
    const char *schema = json_string_value(json_object_get(object, "schema"));
    const size_t family = strlen(ICTUSI_RESULT_FAMILY);
    if (!schema || strcmp(schema, ICTUSI_RESULT_SCHEMA) == 0) {
        return ICTUS_OK;
    }
    if (strncmp(schema, ICTUSI_RESULT_FAMILY, family) == 0) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%.200s line %ld: the schema is '%.60s', but this program reads '%s'",
                             reading->path, reading->line, schema, ICTUSI_RESULT_SCHEMA);
    }
    return ICTUS_OK;
}

static bool reader_is_blank(const char *text, size_t length)
{
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    return length == 0;
}

/*
 * Add the object of one line. Lines without one are skipped and counted, because a killed run may
 * leave half a line, and other programs may print into the file. An empty header is added if the
 * first object is none, so that callers always find one.
 */
static int reader_take_line(struct reading *reading, char *text, size_t length,
                            struct ictus_why *why)
{
    static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark that some editors put at
                                                  the beginning of UTF-8 */
    reading->line++;
    if (reading->line == 1 && length >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (reader_is_blank(text, length)) {
        return ICTUS_OK;
    }
    json_t *object = ictusi_reader_parse_line(text, length);
    const char *type = json_string_value(json_object_get(object, "type"));
    if (!type) {
        reading->skipped++;
        json_decref(object);
        return ICTUS_OK;
    }
    const bool header = strcmp(type, "header") == 0;
    int err = header ? reader_check_schema(reading, object, why) : ICTUS_OK;
    if (!err && reading->found == 0 && !header) {
        err = json_array_append_new(reading->objects, json_pack("{s:s}", "type", "header"))
                  ? ICTUS_ERR_NOMEM
                  : ICTUS_OK;
    }
    reading->found++;
    if (err) {
        json_decref(object);
        return err;
    }
    return json_array_append_new(reading->objects, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

static int reader_read_lines(struct reading *reading, FILE *file, struct ictus_why *why)
{
    char *line = NULL;
    size_t room = 0;
    int err = ICTUS_OK;
    errno = 0;
    while (!err) {
        const ssize_t length = getline(&line, &room, file);
        if (length < 0) {
            break;
        }
        err = reader_take_line(reading, line, (size_t)length, why);
    }
    free(line);
    if (!err && ferror(file)) {
        err = ictus_because(why, ICTUS_ERR_IO, "cannot read '%.200s': %s", reading->path,
                            strerror(errno));
    }
    if (!err && reading->found == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT, "'%.200s' contains no ictus results",
                            reading->path);
    }
    return err;
}

int ictus_result_read(const char *path, json_t **objects, int *skipped, struct ictus_why *why)
{
    if (!path || !objects) {
        return ictus_because(why, ICTUS_ERR_ARG, "no result file was given");
    }
    FILE *file = fopen(path, "re");
    if (!file) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot read '%.200s': %s", path, strerror(errno));
    }
    struct reading reading = {.path = path, .objects = json_array()};
    const int err = reading.objects ? reader_read_lines(&reading, file, why) : ICTUS_ERR_NOMEM;
    (void)fclose(file);
    if (err) {
        json_decref(reading.objects);
        return err;
    }
    *objects = reading.objects;
    if (skipped) {
        *skipped = reading.skipped;
    }
    return ICTUS_OK;
}
