/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading command line options from their table. */
#include "main/options.h"

#include "main/text_table.h"

#include <ictus/text.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    ROWS_MAX = 64,
    NAMES_MAX = 12,  /* largest number of options that an error message lists */
    HELP_COLUMN = 31 /* column in which the description of an option begins */
};

/* A limit this large is not mentioned in messages. */
static const double no_limit = 1e9;

static int options_read_choice(const struct option_row *row, const char *text, int *member,
                               struct ictus_why *why)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            *member = i;
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, row->name, text, row->choices);
}

static int options_in_range(const struct option_row *row, double number)
{
    return number >= row->min && number <= row->max ? ICTUS_OK : ICTUS_ERR_SPEC;
}

static int options_read_real(const struct option_row *row, const char *text, double *member)
{
    double number = 0.0;
    int err = 0;
    if (row->type == OPTION_SECONDS) {
        err = ictus_parse_seconds(text, &number);
    } else if (row->type == OPTION_RATIO) {
        err = ictus_parse_ratio(text, &number);
    } else {
        err = ictus_parse_real(text, &number);
    }
    if (err || options_in_range(row, number)) {
        return ICTUS_ERR_SPEC;
    }
    *member = number;
    return ICTUS_OK;
}

static int options_read_integer(const struct option_row *row, const char *text, void *member)
{
    int64_t integer = 0;
    uint64_t bytes = 0;
    if (row->type == OPTION_INT) {
        if (ictus_parse_int(text, &integer) || options_in_range(row, (double)integer)) {
            return ICTUS_ERR_SPEC;
        }
        *(int64_t *)member = integer;
    } else {
        if (ictus_parse_bytes(text, &bytes) || options_in_range(row, (double)bytes)) {
            return ICTUS_ERR_SPEC;
        }
        *(uint64_t *)member = bytes;
    }
    return ICTUS_OK;
}

/* Describe the values that are allowed, with their unit and an example. */
static void options_describe_range(const struct option_row *row, char *text, size_t size)
{
    const bool endless = row->max >= no_limit;
    switch (row->type) {
    case OPTION_SECONDS:
        (void)snprintf(text, size, "a duration between %.12g s and %.12g s, such as 1.5us",
                       row->min, row->max);
        break;
    case OPTION_RATIO:
        (void)snprintf(text, size, "a ratio between %.12g and %.12g, such as 5%%", row->min,
                       row->max);
        break;
    case OPTION_REAL:
        (void)snprintf(text, size, "a number between %.12g and %.12g", row->min, row->max);
        break;
    case OPTION_BYTES:
        (void)snprintf(text, size,
                       endless ? "a size of at least %.0f bytes, such as %s"
                               : "a size from %.0f bytes on, such as %s, to %.0f bytes",
                       row->min, row->min > 1 << 16 ? "64M" : "64K", row->max);
        break;
    default:
        (void)snprintf(text, size,
                       endless ? "an integer of at least %.0f" : "an integer between %.0f and %.0f",
                       row->min, row->max);
        break;
    }
}

static int options_out_of_range(const struct option_row *row, const char *text, int err,
                                struct ictus_why *why)
{
    char range[120];
    options_describe_range(row, range, sizeof(range));
    return ictus_because(why, err, "--%s=%.80s: must be %s", row->name, text, range);
}

static int options_read_value(const struct option_row *row, const char *text, void *options,
                              struct ictus_why *why)
{
    void *member = (char *)options + row->offset;
    int err = 0;
    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)member = text != NULL;
        return ICTUS_OK;
    case OPTION_TEXT:
        *(const char **)member = text;
        return ICTUS_OK;
    case OPTION_CHOICE:
        return options_read_choice(row, text, member, why);
    case OPTION_INT:
    case OPTION_BYTES:
        err = options_read_integer(row, text, member);
        break;
    default:
        err = options_read_real(row, text, member);
        break;
    }
    return err ? options_out_of_range(row, text, err, why) : ICTUS_OK;
}

static const struct option_row *option_find_long(const struct option_row *rows, const char *word,
                                                 size_t length)
{
    for (; rows->name; rows++) {
        if (strlen(rows->name) == length && strncmp(rows->name, word, length) == 0) {
            return rows;
        }
    }
    return NULL;
}

static const struct option_row *option_find_letter(const struct option_row *rows, char letter)
{
    for (; rows->name; rows++) {
        if (rows->letter && rows->letter == letter) {
            return rows;
        }
    }
    return NULL;
}

/* The message shows options with their dashes, as they are typed. */
static int option_refuse_unknown(const struct option_row *rows, const char *command,
                                 const char *word, struct ictus_why *why)
{
    const char *names[ROWS_MAX + 2] = {"help"};
    int count = 1;
    while (count <= ROWS_MAX && rows[count - 1].name) {
        names[count] = rows[count - 1].name;
        count++;
    }
    char typed[64];
    (void)snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(word, "="), word);
    const char *near = ictus_nearest(typed + strspn(typed, "-"), names);
    if (near) {
        return ictus_because(why, ICTUS_ERR_UNKNOWN, "unknown option '%s'; did you mean '--%s'?",
                             typed, near);
    }
    if (count > NAMES_MAX) {
        return ictus_because(why, ICTUS_ERR_UNKNOWN, "unknown option '%s'; see ictus %s --help",
                             typed, command);
    }
    char list[240] = "";
    size_t used = 0;
    int i = 0;
    for (; i < count && used + strlen(names[i]) + 5 < sizeof(list); i++) {
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s--%s", used ? ", " : "",
                                 names[i]);
    }
    return ictus_because(why, ICTUS_ERR_UNKNOWN, "unknown option '%s'; must be one of: %s%s", typed,
                         list, i < count ? ", ..." : "");
}

/* The row and value of the option at argv[*i]; moves *i over a value in the next word. */
static int option_take(const struct option_row *rows, int argc, char **argv, int *i,
                       const struct option_row **row, const char **value, struct ictus_why *why)
{
    char *word = argv[*i];
    char *inside = NULL;
    if (word[1] == '-') {
        const size_t length = strcspn(word + 2, "=");
        *row = option_find_long(rows, word + 2, length);
        inside = word[2 + length] == '=' ? word + 3 + length : NULL;
    } else {
        *row = option_find_letter(rows, word[1]);
        inside = word[2] ? word + 2 : NULL;
    }
    if (!*row) {
        return option_refuse_unknown(rows, argv[0], word, why);
    }
    if ((*row)->type == OPTION_FLAG) {
        if (inside) {
            return ictus_because(why, ICTUS_ERR_SPEC, "--%s takes no value", (*row)->name);
        }
        *value = "1";
        return ICTUS_OK;
    }
    if (!inside && *i + 1 >= argc) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--%s needs a value: %s", (*row)->name,
                             (*row)->argument);
    }
    *value = inside ? inside : argv[++*i];
    return ICTUS_OK;
}

/*
 * An option without a default is set to a value that a user cannot give, to tell whether it was
 * given.
 */
static void options_unset_value(const struct option_row *row, void *options)
{
    void *member = (char *)options + row->offset;
    if (row->type == OPTION_REAL || row->type == OPTION_SECONDS || row->type == OPTION_RATIO) {
        *(double *)member = NAN;
    } else if (row->type == OPTION_INT) {
        *(int64_t *)member = -1;
    }
}

static int options_set_defaults(const struct option_row *rows, void *options, struct ictus_why *why)
{
    for (; rows->name; rows++) {
        const bool unset =
            !rows->fallback && rows->type != OPTION_TEXT && rows->type != OPTION_FLAG;
        const int err = unset ? ICTUS_OK : options_read_value(rows, rows->fallback, options, why);
        if (err) {
            return err;
        }
        if (unset) {
            options_unset_value(rows, options);
        }
    }
    return ICTUS_OK;
}

int options_read(const struct option_row *rows, int argc, char **argv, void *options, int *left,
                 struct ictus_why *why)
{
    int err = options_set_defaults(rows, options, why);
    int kept = 0;
    for (int i = 1; i < argc && !err; i++) {
        if (strcmp(argv[i], "--") == 0) {
            while (++i < argc) {
                argv[++kept] = argv[i];
            }
            break;
        }
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            return ICTUS_ERR_EXISTS;
        }
        if (argv[i][0] != '-' || !argv[i][1]) {
            argv[++kept] = argv[i];
            continue;
        }
        const struct option_row *row = NULL;
        const char *value = NULL;
        err = option_take(rows, argc, argv, &i, &row, &value, why);
        if (!err) {
            err = options_read_value(row, value, options, why);
        }
    }
    *left = kept;
    return err;
}

const struct option_row *options_row(const struct option_row *rows, const char *name)
{
    return option_find_long(rows, name, strlen(name));
}

bool options_is_set(const struct option_row *row, const void *options)
{
    union {
        bool flag;
        int choice;
        int64_t integer;
        double real;
        const char *text;
    } usual = {.integer = 0};
    struct option_row alone[] = {*row, {.name = NULL}};
    struct ictus_why unheard;
    const void *member = (const char *)options + row->offset;
    alone[0].offset = 0;
    (void)options_set_defaults(alone, &usual, &unheard);
    switch (row->type) {
    case OPTION_FLAG:
        return *(const bool *)member != usual.flag;
    case OPTION_CHOICE:
        return *(const int *)member != usual.choice;
    case OPTION_INT:
    case OPTION_BYTES:
        return *(const int64_t *)member != usual.integer;
    case OPTION_TEXT: {
        const char *text = *(const char *const *)member;
        return text && (!usual.text || strcmp(text, usual.text) != 0);
    }
    default: {
        const double real = *(const double *)member;
        return isnan(usual.real) ? !isnan(real) : real < usual.real || real > usual.real;
    }
    }
}

const char *options_value(const struct option_row *row, const void *options, char *text,
                          size_t size)
{
    const void *member = (const char *)options + row->offset;
    switch (row->type) {
    case OPTION_FLAG:
        return *(const bool *)member ? "yes" : "no";
    case OPTION_CHOICE:
        return row->choices[*(const int *)member];
    case OPTION_TEXT:
        return *(const char *const *)member;
    case OPTION_INT:
    case OPTION_BYTES:
        (void)snprintf(text, size, "%lld", (long long)*(const int64_t *)member);
        return row->fallback || *(const int64_t *)member >= 0 ? text : NULL;
    default:
        (void)snprintf(text, size, "%.15g", *(const double *)member);
        return isnan(*(const double *)member) ? NULL : text;
    }
}

int options_judge_only(const struct option_row *rows, const void *options,
                       const char *const *judging, struct ictus_why *why)
{
    for (const struct option_row *row = rows; row->name; row++) {
        bool judges = false;
        for (size_t i = 0; judging[i]; i++) {
            judges = judges || strcmp(row->name, judging[i]) == 0;
        }
        if (!judges && options_is_set(row, options)) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "--%s has no effect on result files, which have been measured",
                                 row->name);
        }
    }
    return ICTUS_OK;
}

int options_fail_above(const char *text, double *limit, struct ictus_why *why)
{
    *limit = INFINITY;
    if (text && (ictus_parse_ratio(text, limit) || *limit < 0)) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--fail-above=%.80s: must be a ratio of 0 or more, such as 5%%", text);
    }
    return ICTUS_OK;
}

/* Print text from a column on, wrapped for a terminal of 80 columns. */
static void options_print_wrapped(size_t column, const char *text)
{
    while (*text) {
        const size_t room = column < SCREEN_COLUMNS ? SCREEN_COLUMNS - column : 1;
        const size_t length = ictus_text_fit(text, room);
        printf("%.*s", (int)length, text);
        text += length + strspn(text + length, " ");
        if (*text) {
            printf("\n%*s", HELP_COLUMN, "");
        }
        column = HELP_COLUMN;
    }
    printf("\n");
}

void options_help(const struct option_row *rows)
{
    for (; rows->name; rows++) {
        char label[64];
        char text[256];
        const bool flag = rows->type == OPTION_FLAG;
        const bool falls_back = rows->fallback && rows->fallback[0] && !flag;
        (void)snprintf(label, sizeof(label), "%c%c%s--%s%s%s", rows->letter ? '-' : ' ',
                       rows->letter ? rows->letter : ' ', rows->letter ? ", " : "  ", rows->name,
                       flag ? "" : "=", flag ? "" : rows->argument);
        (void)snprintf(text, sizeof(text), "%s%s%s%s", rows->help, falls_back ? " [" : "",
                       falls_back ? rows->fallback : "", falls_back ? "]" : "");
        const int label_columns = printf("  %-*s ", HELP_COLUMN - 3, label);
        options_print_wrapped((size_t)label_columns, text);
    }
    printf("  -h, --help                   print this text\n");
}
