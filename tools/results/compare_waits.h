/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of two result files of ictus waits set against each other, each by state, site and rank. */
#ifndef ICTUS_TOOLS_COMPARE_WAITS_H
#define ICTUS_TOOLS_COMPARE_WAITS_H

#include "results/compare.h"

/* One sum of waits on both sides: 0 the first file, 1 the second. */
struct wait_change {
    json_t *members;    /* state, call, site, rank, location: those that it has */
    double sum[2];      /* over the runs of a file, s */
    double squares[2];  /* likewise, of each run's wait, s^2 */
    double variance[2]; /* of each run's wait by its clocks, added up, s^2 */
    struct difference difference;
    double p_adjusted;
    enum verdict verdict; /* slower: more waiting */
};

struct wait_changes {
    struct wait_change *list; /* the largest difference first, but the whole comes before all */
    size_t count, small;      /* small: left out, below 0.1 % of the ranks' time on both sides */
    size_t runs[2];
    double rank_time_s[2]; /* of all runs of a file */
    json_t *index;
};

bool compare_waits_held(const json_t *objects);

/*
 * Compare the waits of two files' objects; where runs were merged, by what varies from run to run.
 * same: the share that counts as no difference. Errors: ICTUS_ERR_FORMAT (processes differ),
 * ICTUS_ERR_NOMEM. Released by compare_waits_free(), after errors too.
 */
int compare_waits_find(struct wait_changes *changes, const json_t *a, const json_t *b, double same,
                       struct ictus_why *why);
void compare_waits_free(struct wait_changes *changes);

/* Mean of a change's runs of one side, s. */
double compare_waits_mean(const struct wait_changes *changes, const struct wait_change *change,
                          int side);

#endif
