/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command line options as data: one row an option, from which the parser, --help and the shell
 * completion all read. Values are checked here, before MPI or any measuring starts.
 */
#ifndef ICTUS_TOOLS_OPTIONS_H
#define ICTUS_TOOLS_OPTIONS_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>

enum option_type {
    OPTION_FLAG,    /* bool; takes no value */
    OPTION_INT,     /* int64_t; -1 when unset and without a default */
    OPTION_REAL,    /* double; likewise NAN, as the next two */
    OPTION_SECONDS, /* double: "1.5us" */
    OPTION_RATIO,   /* double: "5%", "12.5ppm" */
    OPTION_BYTES,   /* uint64_t: "64K" */
    OPTION_CHOICE,  /* int: index into choices */
    OPTION_TEXT     /* const char *, points into argv or at the default; NULL when unset */
};

struct option_row {
    const char *name; /* long name without dashes */
    char letter;      /* short name or 0 */
    enum option_type type;
    size_t offset; /* of the member in the command's options structure */
    const char *fallback;
    double min, max; /* inclusive, for numbers */
    const char *const *choices;
    const char *argument; /* shown in --help: "SPEC" */
    const char *help;
};

/*
 * Read argv[1..] into an options structure: defaults first. A word that is not an option stays, and
 * argv is permuted so that argv[1..*left] are those; everything after "--" is left there too.
 * -h and --help give ICTUS_ERR_EXISTS (the caller prints the help).
 * Errors: ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN with the reason in why.
 */
int options_read(const struct option_row *rows, int argc, char **argv, void *options, int *left,
                 struct ictus_why *why);

/* The row of that name; NULL where there is none. */
const struct option_row *options_row(const struct option_row *rows, const char *name);

/* Whether an option has another value than its default. */
bool options_is_set(const struct option_row *row, const void *options);

/*
 * An option's value as text: its own one, or one written to text, which must be as long as a number
 * (32 bytes). NULL: it has none.
 */
const char *options_value(const struct option_row *row, const void *options, char *text,
                          size_t size);

/*
 * Refuse options that are set beside result files, which were measured with options of their own,
 * but for those that a list (up to NULL) names. Errors: ICTUS_ERR_SPEC.
 */
int options_judge_only(const struct option_row *rows, const void *options,
                       const char *const *judging, struct ictus_why *why);

/*
 * --fail-above: a share of 0 or more such as 5%; INFINITY where text is NULL. Errors:
 * ICTUS_ERR_SPEC.
 */
int options_fail_above(const char *text, double *limit, struct ictus_why *why);

/* Print the table of options on standard output. */
void options_help(const struct option_row *rows);

#endif
