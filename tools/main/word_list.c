/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking an option's list of words apart. */
#include "main/word_list.h"

#include <ictus/text.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORD_LIST_BYTES = 4096 };

/* Whether a text of this length is one of the words of a list that end before it. */
static bool word_came_before(const char *list, const char *word, size_t length)
{
    for (const char *other = list; other < word;) {
        const size_t its = strcspn(other, ",");
        if (its == length && strncmp(other, word, length) == 0) {
            return true;
        }
        other += its + 1;
    }
    return false;
}

static int word_list_take(const struct word_list *list, bool again, word_take *take, void *study,
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
        if (!again && *word &&
            word_came_before(list->text, list->text + (word - copy), strlen(word))) {
            continue;
        }
        err = *word
                  ? take(study, word, why)
                  : ictus_because(why, ICTUS_ERR_SPEC, "--%s=%.80s: a part between commas is empty",
                                  list->option, list->text);
    }
    return err;
}

int word_list_read(const struct word_list *list, word_take *take, void *study,
                   struct ictus_why *why)
{
    return word_list_take(list, false, take, study, why);
}

int word_list_read_all(const struct word_list *list, word_take *take, void *study,
                       struct ictus_why *why)
{
    return word_list_take(list, true, take, study, why);
}
