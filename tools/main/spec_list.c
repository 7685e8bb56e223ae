/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits lists of specifications and of numbers. */
#include "main/spec_list.h"

#include <ictus/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 4096, NUMBER_MAX_BYTES = 64 };

int spec_list_add(struct spec_list *list, const char *text, struct ictus_why *why)
{
    if (strlen(text) >= SPEC_ITEM_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC, "'%.60s...' is too long", text);
    }
    struct spec_item *items = realloc(list->items, (list->count + 1) * sizeof(*items));
    if (!items) {
        return ICTUS_ERR_NOMEM;
    }
    (void)snprintf(items[list->count].text, SPEC_ITEM_MAX, "%s", text);
    list->items = items;
    list->count++;
    return ICTUS_OK;
}

static bool spec_list_has(const struct spec_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].text, text) == 0) {
            return true;
        }
    }
    return false;
}

int spec_list_read(struct spec_list *list, const char *option, const char *text,
                   struct ictus_why *why)
{
    char piece[SPEC_ITEM_MAX];
    const char *rest = text;
    int err = ICTUS_OK;
    while (!err) {
        err = ictus_next_spec(&rest, piece, sizeof(piece));
        if (!err && !spec_list_has(list, piece)) {
            err = spec_list_add(list, piece, why);
        }
    }
    if (err != ICTUS_ERR_SAMPLES) {
        return err == ICTUS_ERR_SPEC
                   ? ictus_because(why, err,
                                   "--%s=%.80s: a part between commas is empty or too long", option,
                                   text)
                   : err;
    }
    return list->count ? ICTUS_OK
                       : ictus_because(why, ICTUS_ERR_SPEC, "--%s: the list is empty", option);
}

void spec_list_free(struct spec_list *list)
{
    free(list->items);
    *list = (struct spec_list){NULL, 0};
}

/* The next piece up to a comma; false where it is empty or too long. */
static bool spec_list_next_piece(const char **rest, char *piece)
{
    const size_t length = strcspn(*rest, ",");
    if (length == 0 || length >= NUMBER_MAX_BYTES) {
        return false;
    }
    (void)snprintf(piece, NUMBER_MAX_BYTES, "%.*s", (int)length, *rest);
    *rest += length;
    if (**rest == ',') {
        (*rest)++;
        return **rest != '\0';
    }
    return true;
}

int number_list_read(const char *option, const char *text, int (*parse)(const char *, double *),
                     double min, double max, double **values, size_t *count, struct ictus_why *why)
{
    char piece[NUMBER_MAX_BYTES];
    double *list = calloc(NUMBERS_MAX, sizeof(*list));
    size_t n = 0;
    bool good = text[0] != '\0';
    if (!list) {
        return ICTUS_ERR_NOMEM;
    }
    for (const char *rest = text; good && *rest;) {
        good = n < NUMBERS_MAX && spec_list_next_piece(&rest, piece) &&
               parse(piece, &list[n]) == ICTUS_OK && list[n] >= min && list[n] <= max;
        n++;
    }
    if (!good) {
        free(list);
        return ictus_because(
            why, ICTUS_ERR_SPEC,
            "--%s=%.80s: must be values between %.12g and %.12g, separated by commas", option, text,
            min, max);
    }
    *values = list;
    *count = n;
    return ICTUS_OK;
}
