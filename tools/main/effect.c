/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which options have an effect only together with others. bench/bench_reach.c has those that depend
 * on operations.
 */
#include "main/effect.h"

#include <ictus/text.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * Of a command, the option and the one that it needs. NAME=WORD is a choice; a command of NULL is
 * any that has the options.
 */
static const struct {
    const char *command, *option, *with;
} effect_needs[] = {
    {"bench", "seed", "shuffle"},          {"bench", "placement", "processes"},
    {"overlap", "placement", "processes"}, {"trace", "metrics-every", "metrics"},
    {"arrivals", "every", "follow"},       {"correct", "force", "report"},
    {"report", "columns", "format=text"},  {"lock", "tconf", "loop"},
    {"serve", "stratum", "system-clock"},
};

/*
 * The same for options that are ignored: of a command, the option and the one that makes it
 * useless.
 */
static const struct {
    const char *command, *option, *without, *reason;
} effect_excludes[] = {
    {"trace", "limit", "statistics", "which records no events"},
    {"trace", "window", "statistics", "which records no events"},
    {"trace", "buffer", "statistics", "which records no events"},
    {"trace", "requests", "statistics", "which records no events"},
    {"trace", "keep", "defer", "which keeps the raw files anyway"},
    {"arrivals", "instances", "follow", "which shows the latest calls"},
    {"bench", "plugin", "list-algorithms", "which lists those of the library"},
    {"bench", "force", "resume", "which continues the file"},
    {"report", "template", "format=text", "which makes no page"},
    {"report", "force", "format=text", "which writes no file"},
    {"lock", "tmax", "policy=fixed", "which always polls after --tmin"},
    {NULL, "progress", "quiet", "which reports nothing"},
    {NULL, "verbose", "quiet", "which reports nothing"},
};

/*
 * Options that may stand beside --list: those that it reads, and those about reporting, which do no
 * harm.
 */
static const struct {
    const char *command, *option;
} effect_listed[] = {
    {NULL, "list"},    {NULL, "list-algorithms"}, {NULL, "quiet"},         {NULL, "progress"},
    {NULL, "verbose"}, {"guidelines", "ops"},     {"guidelines", "kinds"}, {"bench", "plugin"},
};

/*
 * Options that name what --force allows to be replaced, and the commands that have an output even
 * if none is named.
 */
static const char *const effect_replaced[] = {"output", "report", "han"};
static const char *const effect_outputs[] = {"recover", "report"};

/* Options for data that tables and CSV have no place for. */
static const char *const effect_kept[] = {"raw", "raw-ranks"};

static bool effect_is_in(const char *const *list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], word) == 0) {
            return true;
        }
    }
    return false;
}

#define EFFECT_IN(list, word) effect_is_in(list, sizeof(list) / sizeof(*(list)), word)

/* Whether an option is set, or NAME=WORD chosen. */
static bool effect_has(const struct option_row *rows, const void *options, const char *given)
{
    char name[32];
    const char *word = strchr(given, '=');
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(given, "="), given);
    const struct option_row *row = options_row(rows, name);
    if (!row || !word) {
        return row && options_is_set(row, options);
    }
    const int choice = *(const int *)((const char *)options + row->offset);
    return strcmp(row->choices[choice], word + 1) == 0;
}

static bool effect_prints_objects(const struct option_row *rows, const void *options)
{
    return effect_has(rows, options, "format=json");
}

/*
 * A span is the distance between rounds. A span of 0 asks for none, so it is fine with a single
 * round.
 */
static bool effect_spans_one(const struct option_row *rows, const void *options)
{
    const struct option_row *rounds = options_row(rows, "rounds");
    const struct option_row *span = options_row(rows, "span");
    if (!rounds || !span || !options_is_set(span, options)) {
        return false;
    }
    const void *count = (const char *)options + rounds->offset;
    const void *seconds = (const char *)options + span->offset;
    return *(const int64_t *)count == 1 && *(const double *)seconds > 0.0;
}

static bool effect_is_of(const char *command, const char *row)
{
    return !row || strcmp(command, row) == 0;
}

static int effect_check_pairs(const char *command, const struct option_row *rows,
                              const void *options, struct ictus_why *why)
{
    for (size_t i = 0; i < sizeof(effect_needs) / sizeof(*effect_needs); i++) {
        if (effect_is_of(command, effect_needs[i].command) &&
            effect_has(rows, options, effect_needs[i].option) &&
            !effect_has(rows, options, effect_needs[i].with)) {
            return ictus_because(why, ICTUS_ERR_SPEC, "--%s has an effect only with --%s",
                                 effect_needs[i].option, effect_needs[i].with);
        }
    }
    for (size_t i = 0; i < sizeof(effect_excludes) / sizeof(*effect_excludes); i++) {
        if (effect_is_of(command, effect_excludes[i].command) &&
            effect_has(rows, options, effect_excludes[i].option) &&
            effect_has(rows, options, effect_excludes[i].without)) {
            return ictus_because(
                why, ICTUS_ERR_SPEC, "--%s has no effect with --%s, %s; leave one of them out",
                effect_excludes[i].option, effect_excludes[i].without, effect_excludes[i].reason);
        }
    }
    return ICTUS_OK;
}

static bool effect_is_listed(const char *command, const char *option)
{
    for (size_t i = 0; i < sizeof(effect_listed) / sizeof(*effect_listed); i++) {
        if (effect_is_of(command, effect_listed[i].command) &&
            strcmp(option, effect_listed[i].option) == 0) {
            return true;
        }
    }
    return false;
}

/* A list is printed and nothing is measured, so options of measuring are refused. */
static int effect_check_list(const char *command, const struct option_row *rows,
                             const void *options, struct ictus_why *why)
{
    const bool names = effect_has(rows, options, "list");
    if (!names && !effect_has(rows, options, "list-algorithms")) {
        return ICTUS_OK;
    }
    for (const struct option_row *row = rows; row->name; row++) {
        if (options_is_set(row, options) && !effect_is_listed(command, row->name)) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "--%s has no effect with --%s, which measures nothing", row->name,
                                 names ? "list" : "list-algorithms");
        }
    }
    return ICTUS_OK;
}

/* Options that are about what is written. */
static int effect_check_outputs(const char *command, const struct option_row *rows,
                                const void *options, struct ictus_why *why)
{
    for (size_t i = 0; i < sizeof(effect_kept) / sizeof(*effect_kept); i++) {
        if (effect_has(rows, options, effect_kept[i]) && !effect_has(rows, options, "output") &&
            !effect_prints_objects(rows, options)) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "--%s has an effect only with --output=FILE or --format=json",
                                 effect_kept[i]);
        }
    }
    bool writes = EFFECT_IN(effect_outputs, command);
    for (size_t i = 0; i < sizeof(effect_replaced) / sizeof(*effect_replaced); i++) {
        writes = writes || effect_has(rows, options, effect_replaced[i]);
    }
    if (!writes && effect_has(rows, options, "force")) {
        const struct option_row *output = options_row(rows, "output");
        return ictus_because(why, ICTUS_ERR_SPEC, "--force has an effect only with --output=%s",
                             output ? output->argument : "FILE");
    }
    return ICTUS_OK;
}

int effect_check(const char *command, const struct option_row *rows, const void *options,
                 struct ictus_why *why)
{
    int err = effect_check_list(command, rows, options, why);
    err = err ? err : effect_check_pairs(command, rows, options, why);
    if (!err && effect_spans_one(rows, options)) {
        err = ictus_because(why, ICTUS_ERR_SPEC,
                            "--span has an effect only with --rounds of 2 or more");
    }
    return err ? err : effect_check_outputs(command, rows, options, why);
}
