/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs written down event by event, and what is told about them. */
#ifndef ICTUS_TESTS_WAIT_PROGRAM_H
#define ICTUS_TESTS_WAIT_PROGRAM_H

#include "../check.h"

#include <ftw.h>
#include <ictus/waits.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

int write_archive(int argc, char **argv);

enum { TEXT = 8192 };

static char root[CHECK_PATH];
static char archive[128];
static char told_text[TEXT];

/* Lines of a program: an event, a call with what is in it, and a member's part in a collective. */
#define EVENT(l, at, what) #l " " #at " " what "\n"
#define CALL(l, from, to, region, inside)                                                          \
    EVENT(l, from, "enter " #region) inside EVENT(l, to, "leave " #region)
#define MEET(l, from, to, region, op, root, sent, received)                                        \
    CALL(l, from, to, region,                                                                      \
         EVENT(l, from, "begin") EVENT(l, to, "end " #op " 0 " #root " " #sent " " #received))
#define FENCE(l, from, to)                                                                         \
    CALL(l, from, to, 4, EVENT(l, from, "rmabegin") EVENT(l, to, "rmaend 0 0 4294967295 0 0"))
#define MEET_IN(l, from, to, region, comm)                                                         \
    CALL(l, from, to, region,                                                                      \
         EVENT(l, from, "begin") EVENT(l, to, "end 0 " #comm " 4294967295 0 0"))
#define MEET_ALL(l, from, to, region, op, sent, received)                                          \
    MEET(l, from, to, region, op, 4294967295, sent, received)

/* Appends to a text of TEXT characters. */
__attribute__((format(printf, 2, 3))) static inline void text_add(char *text, const char *format,
                                                                  ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    const int put = vsnprintf(text + used, TEXT - used, format, arguments);
    va_end(arguments);
    REQUIRE(put >= 0 && used + (size_t)put < TEXT);
}

static inline int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* Writes the archive of a program, whose lines end with NULL. */
static inline void program_write(const char *const *lines)
{
    static char name[] = "write_archive";
    char *arguments[] = {name, archive, NULL};
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/text", root);
    (void)nftw(archive, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    FILE *text = fopen(path, "we");
    REQUIRE(text);
    for (; *lines; lines++) {
        (void)fputs(*lines, text);
    }
    REQUIRE(fclose(text) == 0 && freopen(path, "re", stdin));
    REQUIRE(write_archive(2, arguments) == 0);
}

static inline json_t *program_waits(const char *const *lines)
{
    json_t *report = NULL;
    struct ictus_why why = {""};
    program_write(lines);
    const int err = ictus_waits(archive, &report, &why);
    CHECK_STR(why.text, "");
    REQUIRE(!err);
    return report;
}

static inline size_t value_tell(char *text, size_t size, const char *key, const json_t *value)
{
    const size_t length = strlen(key);
    const bool time = length > 2 && strcmp(key + length - 2, "_s") == 0;
    int put = 0;
    if (json_is_string(value)) {
        put = snprintf(text, size, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        put = snprintf(text, size, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        const double number = json_real_value(value);
        put = snprintf(text, size, time ? "%.0f" : "%.4f", time ? number * 1e9 : number);
    } else {
        put = snprintf(text, size, json_is_null(value) ? "null" : "-");
    }
    REQUIRE(put >= 0 && (size_t)put < size);
    return (size_t)put;
}

/* These members of all objects of a type, in the order of the report; times in ns. */
static inline const char *told(const json_t *report, const char *type, const char *keys)
{
    size_t used = 0;
    size_t i = 0;
    const json_t *object = NULL;
    told_text[0] = '\0';
    json_array_foreach(report, i, object)
    {
        char list[256];
        char *save = NULL;
        if (strcmp(json_string_value(json_object_get(object, "type")), type) != 0) {
            continue;
        }
        (void)snprintf(list, sizeof(list), "%s", keys);
        for (const char *key = strtok_r(list, " ", &save); key; key = strtok_r(NULL, " ", &save)) {
            used += value_tell(told_text + used, TEXT - used, key, json_object_get(object, key));
            REQUIRE(used + 2 < TEXT);
            told_text[used++] = ' ';
        }
        told_text[used - 1] = '\n';
        told_text[used] = '\0';
    }
    return told_text;
}

#define NODE_OF_TWO "node a\nprocess 0\nprocess 0\nlocation 0\nlocation 1\n"

/* How processes arrived at collectives, most spread first. */
static inline const char *arrivals_told(const struct ictus_arrivals_list *list)
{
    told_text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        const struct ictus_arrivals *a = &list->at[i];
        text_add(told_text, "%s %s %s %d %d %d %lld\n", a->site, a->call, a->operation,
                 (int)a->bytes, a->ranks, a->root, (long long)a->instances);
        for (int64_t k = 0; k < a->recorded * a->ranks; k++) {
            text_add(told_text, "%d %d %d\n", (int)a->offsets_ns[k], (int)a->gaps_ns[k],
                     (int)a->silences_ns[k]);
        }
        for (int64_t k = 0; k < a->recorded; k++) {
            text_add(told_text, "%.0f %.0f\n", a->errors_ns[k], a->durations_s[k] * 1e9);
        }
    }
    return told_text;
}

static inline void programs_begin(void)
{
    REQUIRE(mkdtemp(check_scratch(root, "wait-programs")));
    (void)snprintf(archive, sizeof(archive), "%s/archive", root);
}

static inline int programs_end(void)
{
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}

#endif
