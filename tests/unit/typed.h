/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command of the program in this process, with its options as somebody would type them. */
#ifndef ICTUS_TESTS_UNIT_TYPED_H
#define ICTUS_TESTS_UNIT_TYPED_H

#include "../check.h"
#include "main/command.h"

#include <string.h>

/* Words are separated by single blanks. */
static inline int typed_run(const struct command *command, const char *typed)
{
    char text[400], *words[24] = {"ictus"};
    double options[64]; /* aligned for all members */
    struct ictus_why why = {""};
    int count = 1, left = 0;
    REQUIRE(strlen(typed) < sizeof text && command->options_size <= sizeof options);
    for (char *word = strtok(strcpy(text, typed), " "); word && count < 23;
         word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    memset(options, 0, sizeof options);
    REQUIRE(options_read(command->options, count, words, options, &left, &why) == ICTUS_OK);
    return command->run(options, left, words + 1);
}

#endif
