/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON that reads well in C: with ' for ". */
#ifndef ICTUS_TESTS_UNIT_QUOTED_H
#define ICTUS_TESTS_UNIT_QUOTED_H

#include "../check.h"

#include <jansson.h>

/* The value of such a text; a new reference. */
static inline json_t *json_of(const char *text)
{
    char plain[4096];
    (void)snprintf(plain, sizeof plain, "%s", text);
    for (char *at = strchr(plain, '\''); at; at = strchr(at, '\'')) {
        *at = '"';
    }
    json_t *value = json_loads(plain, JSON_DECODE_ANY, NULL);
    REQUIRE(value);
    return value;
}

#endif
