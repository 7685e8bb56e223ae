/* SPDX-License-Identifier: BSD-3-Clause */
/* A comma-separated list of specifications, taken apart. */
#ifndef ICTUS_TOOLS_SPEC_LIST_H
#define ICTUS_TOOLS_SPEC_LIST_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>

enum { SPEC_ITEM_MAX = 768 };

struct spec_item {
    char text[SPEC_ITEM_MAX];
};

struct spec_list {
    struct spec_item *items;
    size_t count;
};

/* Append what a text names, each specification once; option is for the reason. Errors:
 * ICTUS_ERR_SPEC, ICTUS_ERR_NOMEM. */
int spec_list_read(struct spec_list *list, const char *option, const char *text,
                   struct ictus_why *why);

/* Append one. Errors: ICTUS_ERR_SPEC where it is too long, ICTUS_ERR_NOMEM. */
int spec_list_add(struct spec_list *list, const char *text, struct ictus_why *why);

void spec_list_free(struct spec_list *list);

/* A list of plain numbers, "0,2,5": parse reads one. Errors as above. The caller frees *values. */
int number_list_read(const char *option, const char *text, int (*parse)(const char *, double *),
                     double min, double max, double **values, size_t *count, struct ictus_why *why);

#endif
