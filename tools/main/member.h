/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of a result's objects. */
#ifndef ICTUS_TOOLS_MEMBER_H
#define ICTUS_TOOLS_MEMBER_H

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* A member's text, the object's own; "" where there is none. */
static inline const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* A member's number; NaN where there is none. */
static inline double member_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* What an object has of the members that a list of keys (up to NULL) names, as text to free(). */
static inline char *member_identity(const json_t *object, const char *const *keys)
{
    json_t *identity = json_object();
    for (int i = 0; keys[i]; i++) {
        (void)json_object_set(identity, keys[i], json_object_get(object, keys[i]));
    }
    char *text = json_dumps(identity, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(identity);
    return text;
}

/*
 * Append a value, which is referred to, to the group of all whose objects agree in these members.
 * groups: identity -> values, in the order of first appearance. Returns 0, or -1 if there is no
 * memory.
 */
static inline int member_group(json_t *groups, const json_t *object, const char *const *keys,
                               json_t *value)
{
    char *identity = member_identity(object, keys);
    json_t *group = identity ? json_object_get(groups, identity) : NULL;
    int failed = !identity;
    if (!failed && !group) {
        group = json_array();
        failed = json_object_set_new(groups, identity, group);
    }
    free(identity);
    return failed || json_array_append(group, value) ? -1 : 0;
}

#endif
