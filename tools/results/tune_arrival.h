/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the choice of an algorithm costs when processes arrive in another way than it was chosen
 * for. The regret of an algorithm under a pattern is its time over that of the fastest there, less
 * one; minimax takes the one whose largest regret over all patterns is the least (Savage 1951).
 */
#ifndef ICTUS_TOOLS_TUNE_ARRIVAL_H
#define ICTUS_TOOLS_TUNE_ARRIVAL_H

#include "results/tune.h"

/* The name that asks for the least largest regret. */
extern const char tune_minimax[];

/* One algorithm under one pattern. */
struct regret_cell {
    struct tune_time time; /* NaN: not measured */
    json_t *launches;      /* its measurements; owned */
};

/* Algorithms of one operation, process count and size under all patterns. */
struct regrets {
    char operation[WINNER_NAME_MAX];
    json_int_t processes, bytes;
    char (*algorithms)[WINNER_NAME_MAX];
    size_t algorithm_count;
    struct regret_cell *cells; /* by algorithm and pattern */
};

struct regret_table {
    char **patterns; /* as --arrival of the measurements, "together" first where it is there */
    size_t pattern_count;
    struct regrets *places;
    size_t place_count;
    int unproven; /* measurements left out: their algorithm was not verified to run */
};

/*
 * Gather the proven measurements of one reduction over ranks. Errors: ICTUS_ERR_FORMAT (none),
 * ICTUS_ERR_NOMEM. Released by regret_table_free(), after errors too.
 */
int regret_table_make(const json_t *objects, const char *reduction, struct regret_table *table,
                      struct ictus_why *why);
void regret_table_free(struct regret_table *table);

/*
 * The pattern that a word means: its whole text, or its beginning where only one has it; minimax is
 * pattern_count. Errors: ICTUS_ERR_UNKNOWN with the nearest.
 */
int regret_table_pattern(const struct regret_table *table, const char *word, size_t *pattern,
                         struct ictus_why *why);

/* Those of the objects that are no measurements under another pattern: a new reference. */
json_t *regret_table_only(const struct regret_table *table, size_t pattern, const json_t *objects);

/* An algorithm's regret under a pattern, and its largest; NaN where it was not measured. */
double regret_under(const struct regret_table *table, const struct regrets *r, size_t algorithm,
                    size_t pattern);
double regret_worst(const struct regret_table *table, const struct regrets *r, size_t algorithm);

/* The algorithm that a pattern asks for, or minimax; SIZE_MAX: none was measured everywhere. */
size_t regret_choice(const struct regret_table *table, const struct regrets *r, size_t pattern);

/* As tune_choose(), by the least largest regret; the default stays within the margin.
 * Errors: ICTUS_ERR_FORMAT (nothing to choose from), ICTUS_ERR_NOMEM. */
int regret_winners(const struct regret_table *table, double margin, struct winners *winners,
                   struct ictus_why *why);

/* What each choice costs under each pattern. Errors: ICTUS_ERR_IO. */
int regret_table_print(const struct regret_table *table, size_t pattern, FILE *file);

#endif
