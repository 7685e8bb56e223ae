/* SPDX-License-Identifier: BSD-3-Clause */
/* Which options have an effect only beside others; bench/bench_reach.c has those of operations. */
#include "main/effect.h"

#include <ictus/text.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Of a command, the option and the one that it needs. */
static const struct {
    const char *command, *option, *with;
} effect_needs[] = {
    {"bench", "seed", "shuffle"},          {"bench", "placement", "processes"},
    {"overlap", "placement", "processes"}, {"trace", "metrics-every", "metrics"},
    {"arrivals", "every", "follow"},
};

/* Likewise, and the one beside which it is not looked at. */
static const struct {
    const char *command, *option, *without, *reason;
} effect_excludes[] = {
    {"trace", "limit", "statistics", "which records no events"},
    {"trace", "window", "statistics", "which records no events"},
    {"trace", "buffer", "statistics", "which records no events"},
    {"trace", "requests", "statistics", "which records no events"},
    {"arrivals", "instances", "follow", "which shows the latest calls"},
};

/* What a table and CSV have no place for. */
static const char *const effect_kept[] = {"raw", "raw-ranks"};

static bool effect_has(const struct option_row *rows, const void *options, const char *name)
{
    const struct option_row *row = options_row(rows, name);
    return row && options_is_set(row, options);
}

static bool effect_prints_objects(const struct option_row *rows, const void *options)
{
    const struct option_row *row = options_row(rows, "format");
    return row && row->type == OPTION_CHOICE &&
           strcmp(row->choices[*(const int *)((const char *)options + row->offset)], "json") == 0;
}

/* A span parts rounds from each other; 0 asks for none, which one round has as well. */
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

int effect_check(const char *command, const struct option_row *rows, const void *options,
                 struct ictus_why *why)
{
    for (size_t i = 0; i < sizeof(effect_needs) / sizeof(*effect_needs); i++) {
        if (strcmp(command, effect_needs[i].command) == 0 &&
            effect_has(rows, options, effect_needs[i].option) &&
            !effect_has(rows, options, effect_needs[i].with)) {
            return ictus_because(why, ICTUS_ERR_SPEC, "--%s has an effect only with --%s",
                                 effect_needs[i].option, effect_needs[i].with);
        }
    }
    for (size_t i = 0; i < sizeof(effect_excludes) / sizeof(*effect_excludes); i++) {
        if (strcmp(command, effect_excludes[i].command) == 0 &&
            effect_has(rows, options, effect_excludes[i].option) &&
            effect_has(rows, options, effect_excludes[i].without)) {
            return ictus_because(
                why, ICTUS_ERR_SPEC, "--%s has no effect with --%s, %s; leave one of them out",
                effect_excludes[i].option, effect_excludes[i].without, effect_excludes[i].reason);
        }
    }
    if (effect_spans_one(rows, options)) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--span has an effect only with --rounds of 2 or more");
    }
    for (size_t i = 0; i < sizeof(effect_kept) / sizeof(*effect_kept); i++) {
        if (effect_has(rows, options, effect_kept[i]) && !effect_has(rows, options, "output") &&
            !effect_prints_objects(rows, options)) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "--%s has an effect only with --output=FILE or --format=json",
                                 effect_kept[i]);
        }
    }
    return ICTUS_OK;
}
