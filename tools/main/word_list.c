/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking an option's list of words apart. */
#include "main/word_list.h"

#include <ictus/text.h>

#include <stdio.h>
#include <string.h>

enum { WORD_LIST_BYTES = 4096 };

int word_list_read(const struct word_list *list, word_take *take, void *study,
                   struct ictus_why *why)
{
    char copy[WORD_LIST_BYTES];
    char *rest = copy;
    int err = ICTUS_OK;
    if (snprintf(copy, sizeof(copy), "%s", list->text) >= (int)sizeof(copy)) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--%s: the list is too long", list->option);
    }
    if (!*copy) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--%s: the list names no %s", list->option,
                             list->what);
    }
    for (char *word = strsep(&rest, ","); word && !err; word = strsep(&rest, ",")) {
        err = *word
                  ? take(study, word, why)
                  : ictus_because(why, ICTUS_ERR_SPEC, "--%s=%.80s: a part between commas is empty",
                                  list->option, list->text);
    }
    return err;
}
