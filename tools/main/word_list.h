/* SPDX-License-Identifier: BSD-3-Clause */
/* An option's list of words, "bcast,reduce", taken word by word. */
#ifndef ICTUS_TOOLS_WORD_LIST_H
#define ICTUS_TOOLS_WORD_LIST_H

#include <ictus/error.h>

/* What is done with a word. It may be cut further in place, and lives as long as the list is read.
 */
typedef int word_take(void *study, char *word, struct ictus_why *why);

struct word_list {
    const char *option; /* without dashes, for reasons */
    const char *text;   /* what was given */
    const char *what;   /* what a word names: "operation" */
};

/*
 * Call take for each word, in order, until one fails; a word that came before is not taken again.
 * Errors: ICTUS_ERR_SPEC where the list is too
 * long or names nothing, and what take returns.
 */
int word_list_read(const struct word_list *list, word_take *take, void *study,
                   struct ictus_why *why);

/* The same where a word may name something else the next time. */
int word_list_read_all(const struct word_list *list, word_take *take, void *study,
                       struct ictus_why *why);

#endif
