/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns in memory: they are made, freed, and found by site. */
#include <ictus/arrivals.h>

#include <ictus/text.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const double ictus_arrival_levels[ICTUS_ARRIVALS_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

/* NaN and not 0, because an offset of 0 would be a measured value. */
static void rank_forget(struct ictus_arrival_rank *rank)
{
    *rank = (struct ictus_arrival_rank){
        .mean_ns = NAN, .sd_ns = NAN, .last = NAN, .autocorrelation = NAN};
    for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
        rank->quantiles_ns[q] = NAN;
    }
}

/*
 * offsets_ns is row-major (instance, rank), in ns after the first arrival of the instance. ranks
 * and recorded are set last: until then, ictus_arrivals_free() finds pointers that are NULL or
 * valid, and no count to use. Whoever read the rows and ranks has limited their product
 * (ARRIVAL_CELLS_MAX).
 */
int ictus_arrivals_init(struct ictus_arrivals *arrivals, int ranks, int64_t recorded)
{
    *arrivals = (struct ictus_arrivals){.in_place = -1,
                                        .root = -1,
                                        .duration_s = NAN,
                                        .error_ns = NAN,
                                        .spread_ns = NAN,
                                        .persistence = NAN};
    if (ranks < 1 || recorded < 0) {
        return ICTUS_ERR_ARG;
    }
    /*
     * A summary has no rows. Its arrays have one element, so that nobody needs to check whether
     * they exist.
     */
    const size_t rows = recorded > 0 ? (size_t)recorded : 1;
    arrivals->rank = calloc((size_t)ranks, sizeof *arrivals->rank);
    arrivals->offsets_ns = calloc(rows * (size_t)ranks, sizeof *arrivals->offsets_ns);
    arrivals->errors_ns = calloc(rows, sizeof *arrivals->errors_ns);
    arrivals->durations_s = calloc(rows, sizeof *arrivals->durations_s);
    if (!arrivals->rank || !arrivals->offsets_ns || !arrivals->errors_ns ||
        !arrivals->durations_s) {
        return ICTUS_ERR_NOMEM;
    }
    arrivals->ranks = ranks;
    arrivals->recorded = recorded;
    arrivals->instances = recorded;
    for (int r = 0; r < ranks; r++) {
        rank_forget(&arrivals->rank[r]);
    }
    for (int64_t i = 0; i < recorded; i++) {
        arrivals->errors_ns[i] = NAN;
        arrivals->durations_s[i] = NAN;
    }
    return ICTUS_OK;
}

void ictus_arrivals_free(struct ictus_arrivals *arrivals)
{
    free(arrivals->rank);
    free(arrivals->offsets_ns);
    free(arrivals->errors_ns);
    free(arrivals->durations_s);
    free(arrivals->calls);
    free(arrivals->gaps_ns);
    free(arrivals->silences_ns);
    memset(arrivals, 0, sizeof *arrivals);
}

void ictus_arrivals_list_free(struct ictus_arrivals_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ictus_arrivals_free(&list->at[i]);
    }
    free(list->at);
    *list = (struct ictus_arrivals_list){.at = NULL};
}

/*
 * names has one more entry than there are sites, because the list that ictus_unknown() searches for
 * a similar word ends with NULL. If there is no memory for it, no suggestion is made.
 */
static void arrivals_say_unknown(const struct ictus_arrivals_list *list, const char *site,
                                 struct ictus_why *why)
{
    static const char *const nothing[] = {NULL};
    const char **names = calloc(list->count + 1, sizeof *names);
    for (size_t i = 0; i < list->count && names; i++) {
        names[i] = list->at[i].site;
    }
    (void)ictus_unknown(why, "call site", site, names ? names : nothing);
    free(names);
}

const struct ictus_arrivals *ictus_arrivals_find(const struct ictus_arrivals_list *list,
                                                 const char *site, struct ictus_why *why)
{
    if (site && *site) {
        for (size_t i = 0; i < list->count; i++) {
            if (strcmp(list->at[i].site, site) == 0) {
                return &list->at[i];
            }
        }
        arrivals_say_unknown(list, site, why);
        return NULL;
    }
    if (list->count == 1) {
        return &list->at[0];
    }
    /*
     * If there are several sites, none is chosen arbitrarily: which one is first depends on how
     * long they waited.
     */
    (void)ictus_because(why, ICTUS_ERR_ARG,
                        "the file contains the patterns of %zu call sites; choose one with site=, "
                        "for example site=%s",
                        list->count, list->count ? list->at[0].site : "");
    return NULL;
}
