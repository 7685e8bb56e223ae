/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits specifications, and reads their options into structures. */
#include "core/spec.h"

#include <ictus/text.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PARAMS_MAX = 32 };

static int spec_copy(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size) {
        return ICTUS_ERR_SPEC;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return ICTUS_OK;
}

/* Parse "(child,child)" at *p and advance beyond it. */
static int spec_split_children(const char **p, struct spec *spec)
{
    const char *start = *p + 1;
    int depth = 1;
    const char *end = start;
    for (; *end && depth > 0; end++) {
        depth += (*end == '(') - (*end == ')');
    }
    if (depth != 0) {
        return ICTUS_ERR_SPEC;
    }
    char inner[SPEC_CHILDREN_MAX * (SPEC_TEXT_MAX + 1)];
    if (spec_copy(inner, sizeof(inner), start, (size_t)(end - 1 - start))) {
        return ICTUS_ERR_SPEC;
    }
    const char *list = inner;
    while (list) {
        if (spec->child_count == SPEC_CHILDREN_MAX ||
            ictus_next_spec(&list, spec->children[spec->child_count].text, SPEC_TEXT_MAX + 1)) {
            return ICTUS_ERR_SPEC;
        }
        spec->child_count++;
    }
    *p = end;
    return ICTUS_OK;
}

int ictusi_spec_split(const char *text, struct spec *spec, struct ictus_why *why)
{
    memset(spec, 0, sizeof(*spec));
    const size_t name_length = strcspn(text, ":(");
    const char *p = text + name_length;
    int err =
        name_length ? spec_copy(spec->name, sizeof(spec->name), text, name_length) : ICTUS_ERR_SPEC;
    if (!err && *p == '(') {
        err = spec_split_children(&p, spec);
    }
    if (!err && *p == ':') {
        err = p[1] ? spec_copy(spec->options, sizeof(spec->options), p + 1, strlen(p + 1))
                   : ICTUS_ERR_SPEC;
    } else if (!err && *p) {
        err = ICTUS_ERR_SPEC;
    }
    if (err) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "'%.200s' is malformed; write name:option=value,option=value", text);
    }
    return ICTUS_OK;
}

static int spec_read_bool(const char *text, bool *value)
{
    static const char *const no[] = {"0", "no", "false", "off"};
    static const char *const yes[] = {"1", "yes", "true", "on"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *value = strcmp(text, yes[i]) == 0;
            return ICTUS_OK;
        }
    }
    return ICTUS_ERR_SPEC;
}

static int spec_read_number(const struct spec_param *param, const char *text, double *value)
{
    switch (param->type) {
    case SPEC_SECONDS:
        return ictus_parse_seconds(text, value);
    case SPEC_RATIO:
        return ictus_parse_ratio(text, value);
    default:
        return ictus_parse_real(text, value);
    }
}

static const char *spec_type_name(enum spec_type type)
{
    static const char *const names[] = {
        "an integer", "a number", "a duration such as 1.5us", "a ratio such as 12.5ppm", "0 or 1",
        "a name",     "a text"};
    return names[type];
}

static int spec_read_in_range(const struct spec_param *param, const char *text, void *member)
{
    double number = 0.0;
    int64_t integer = 0;
    int err = 0;
    if (param->type == SPEC_INT) {
        err = ictus_parse_int(text, &integer);
        number = (double)integer;
    } else {
        err = spec_read_number(param, text, &number);
    }
    if (err || number < param->min || number > param->max) {
        return ICTUS_ERR_SPEC;
    }
    if (param->type == SPEC_INT) {
        *(int64_t *)member = integer;
    } else {
        *(double *)member = number;
    }
    return ICTUS_OK;
}

static int spec_read_choice(const struct spec_param *param, const char *text, int *member,
                            struct ictus_why *why)
{
    for (int i = 0; param->choices[i]; i++) {
        if (strcmp(text, param->choices[i]) == 0) {
            *member = i;
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, param->name, text, param->choices);
}

static int spec_read_value(const struct spec_param *param, const char *text, void *options,
                           struct ictus_why *why)
{
    void *member = (char *)options + param->offset;
    int err = 0;
    switch (param->type) {
    case SPEC_BOOL:
        err = spec_read_bool(text, member);
        break;
    case SPEC_CHOICE:
        return spec_read_choice(param, text, member, why);
    case SPEC_TEXT:
        err = spec_copy(((struct spec_text *)member)->text, SPEC_TEXT_MAX + 1, text, strlen(text));
        break;
    default:
        err = spec_read_in_range(param, text, member);
        break;
    }
    if (err && param->type <= SPEC_RATIO) {
        return ictus_because(why, err, "%s=%.80s: must be %s between %.10g and %.10g", param->name,
                             text, spec_type_name(param->type), param->min, param->max);
    }
    return err ? ictus_because(why, err, "%s=%.80s: must be %s", param->name, text,
                               spec_type_name(param->type))
               : ICTUS_OK;
}

static int spec_set_option(const struct spec *spec, const struct spec_param *params, char *pair,
                           void *options, struct ictus_why *why)
{
    char *equals = strchr(pair, '=');
    if (!equals || equals == pair || !equals[1]) {
        return ictus_because(why, ICTUS_ERR_SPEC, "%s: '%.80s' is malformed; write option=value",
                             spec->name, pair);
    }
    *equals = '\0';
    const char *names[PARAMS_MAX + 1] = {NULL};
    for (int i = 0; i < PARAMS_MAX && params[i].name; i++) {
        names[i] = params[i].name;
        if (strcmp(pair, params[i].name) == 0) {
            return spec_read_value(&params[i], equals + 1, options, why);
        }
    }
    if (!names[0]) {
        return ictus_because(why, ICTUS_ERR_SPEC, "%s takes no options, but '%.80s' was given",
                             spec->name, pair);
    }
    char what[96];
    (void)snprintf(what, sizeof(what), "option of %s", spec->name);
    (void)ictus_unknown(why, what, pair, names);
    return ICTUS_ERR_SPEC;
}

/* Return the end of the pair at p: the next comma that is followed by another "key=". */
static char *pair_end(char *p)
{
    for (; *p; p++) {
        if (*p == ',' && isalpha((unsigned char)p[1]) && p[1 + strcspn(p + 1, "=,")] == '=') {
            return p;
        }
    }
    return p;
}

int ictusi_spec_read(const struct spec *spec, const struct spec_param *params, void *options,
                     struct ictus_why *why)
{
    for (const struct spec_param *p = params; p->name; p++) {
        int err = spec_read_value(p, p->fallback, options, why);
        if (err) {
            return err;
        }
    }
    char text[sizeof(spec->options)];
    memcpy(text, spec->options, sizeof(text));
    char *pair = text;
    while (*pair) {
        char *end = pair_end(pair);
        char *next = *end ? end + 1 : end;
        *end = '\0';
        int err = spec_set_option(spec, params, pair, options, why);
        if (err) {
            return err;
        }
        pair = next;
    }
    return ICTUS_OK;
}

uint64_t ictusi_spec_hash(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *text; text++) {
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    }
    return h;
}
