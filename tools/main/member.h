/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of a result's objects. */
#ifndef ICTUS_TOOLS_MEMBER_H
#define ICTUS_TOOLS_MEMBER_H

#include <jansson.h>

/* A member's text, the object's own; "" where there is none. */
static inline const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

#endif
