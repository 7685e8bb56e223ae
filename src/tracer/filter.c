/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects functions by name and group. */
#include "tracer/filter.h"

#include "tracer/functions.h"

#include <ictus/text.h>
#include <ictus/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Whether a word matches a function: its name, its large-count form, or its group. */
static bool filter_names(const char *word, const struct trace_function *function)
{
    const size_t length = strlen(word);
    if (strcasecmp(word, function->group) == 0) {
        return true;
    }
    return strncasecmp(word, function->name, length) == 0 &&
           (!function->name[length] || strcmp(function->name + length, "_c") == 0);
}

static int filter_unknown(const char *word, struct ictus_why *why)
{
    const char *list[2 * TRACE_FUNCTIONS + 1] = {NULL};
    int count = 0;
    for (int i = 0; i < TRACE_FUNCTIONS; i += 2) {
        list[count++] = ictusi_tracer_functions[i].name;
        list[count++] = ictusi_tracer_functions[i].group;
    }
    const char *nearest = ictus_nearest(word, list);
    return ictus_because(why, ICTUS_ERR_UNKNOWN,
                         nearest ? "there is no MPI function or group '%.80s'; did you mean '%s'?"
                                 : "there is no MPI function or group '%.80s'%s",
                         word, nearest ? nearest : "");
}

int ictusi_filter_apply(const char *text, uint8_t *enabled, struct ictus_why *why)
{
    char list[1024];
    char *rest = NULL;
    const bool all = !text[0] || text[0] == '-';
    if (strlen(text) >= sizeof(list)) {
        return ictus_because(why, ICTUS_ERR_SPEC, "the filter is longer than %zu bytes",
                             sizeof(list) - 1);
    }
    (void)snprintf(list, sizeof(list), "%s", text);
    memset(enabled, all, TRACE_FUNCTIONS);
    for (char *word = strtok_r(list, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        const bool on = word[0] != '-';
        bool known = false;
        for (int i = 0; i < TRACE_FUNCTIONS; i++) {
            if (filter_names(word + !on, &ictusi_tracer_functions[i])) {
                enabled[i] = on;
                known = true;
            }
        }
        if (!known) {
            return filter_unknown(word + !on, why);
        }
    }
    for (int i = 0; i < TRACE_FUNCTIONS; i++) {
        const bool tracked = ictusi_tracer_functions[i].tracked;
        if (enabled[i]) {
            enabled[i] = FILTER_FRESH;
        } else if (tracked) {
            enabled[i] = FILTER_HIDDEN;
        }
    }
    return ICTUS_OK;
}

int ictus_trace_filter_check(const char *list, struct ictus_why *why)
{
    uint8_t enabled[TRACE_FUNCTIONS];
    return list ? ictusi_filter_apply(list, enabled, why)
                : ictus_because(why, ICTUS_ERR_ARG, "no filter was given");
}
