/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of ictus compare for result files of ictus waits. */
#ifndef ICTUS_TOOLS_COMPARE_WAITS_TEXT_H
#define ICTUS_TOOLS_COMPARE_WAITS_TEXT_H

#include "main/results.h"
#include "results/compare_waits.h"

struct compare_waits_how {
    const struct results_options *results;
    double same, fail_above;
    bool quiet;
};

/*
 * Compare each further file with the first one, whose objects are given, and print it; how many
 * sums of waits have grown by more than fail_above in *failed. Errors: those of reading and
 * writing, ICTUS_ERR_ARG (a file without waits).
 */
int compare_waits_files(const struct compare_waits_how *how, const json_t *first, int count,
                        char **words, size_t *failed, struct ictus_why *why);

#endif
