/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that a command writes as a whole (a page, rules, merged results): it takes the place of
 * what had its name once it is complete, and not before. What fails or is killed on the way leaves
 * the old one, and nothing of the new.
 */
#ifndef ICTUS_TOOLS_OUTPUT_H
#define ICTUS_TOOLS_OUTPUT_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stdio.h>

enum { OUTPUT_PATH_BYTES = 4096 };

struct output {
    FILE *stream;     /* to write to */
    const char *name; /* as it was given */
    /* Where it goes; empty if it is written in place: standard output, pipes, devices, and where
     * the directory takes no nameless files. */
    char target[OUTPUT_PATH_BYTES];
    bool fresh; /* nothing was there */
};

/*
 * Whether a command may write to a path (NULL: nowhere): never to a file that it reads, and to a
 * file that holds something only if it may replace that. Errors: ICTUS_ERR_EXISTS.
 */
int output_allowed(const char *path, bool replace, int word_count, char **words,
                   struct ictus_why *why);

/*
 * Whether there can be such a file (NULL and "-": standard output, always): asked before work that
 * may take hours, and told as a mistake in the command line. Errors: ICTUS_ERR_ARG.
 */
int output_possible(const char *path, struct ictus_why *why);

/*
 * Whether there can be such a directory: what is there of the path must be a directory that can be
 * written to. Errors: ICTUS_ERR_ARG.
 */
int output_possible_directory(const char *path, struct ictus_why *why);

/* Open it; path NULL or "-": standard output. Errors: ICTUS_ERR_IO, told in why. */
int output_open(struct output *output, const char *path, struct ictus_why *why);

/*
 * Close it and put it in its place, unless err says that writing failed, or it did. Returns err, or
 * ICTUS_ERR_IO; why is filled for the latter, and for an err of ICTUS_ERR_IO that came without.
 */
int output_close(struct output *output, int err, struct ictus_why *why);

#endif
