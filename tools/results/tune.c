/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing the fastest algorithm of each experiment. */
#include "results/tune.h"

#include "results/experiments.h"

#include <ictus/select.h>
#include <ictus/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One algorithm of one experiment, over its launches. */
struct candidate {
    struct winner as_winner;
    bool is_default;
};

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over the launches of a member; NaN where none has it. */
static double over_launches(const json_t *launches, const char *key)
{
    double *values = malloc((json_array_size(launches) + 1) * sizeof(*values));
    size_t count = 0;
    size_t i = 0;
    json_t *launch = NULL;
    if (!values) {
        return NAN;
    }
    json_array_foreach((json_t *)launches, i, launch)
    {
        const json_t *value = json_object_get(launch, key);
        if (json_is_number(value) && json_number_value(value) > 0.0) {
            values[count++] = json_number_value(value);
        }
    }
    qsort(values, count, sizeof(*values), compare_reals);
    const double median = count ? 0.5 * (values[(count - 1) / 2] + values[count / 2]) : NAN;
    free(values);
    return median;
}

static const char *text_of(const json_t *members, const char *key)
{
    const char *text = json_string_value(json_object_get(members, key));
    return text ? text : "";
}

/* Whether every launch saw the named algorithm run. */
static bool is_proven(const struct experiment *experiment)
{
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach(experiment->launches, i, launch)
    {
        if (!json_is_true(json_object_get(launch, "proven"))) {
            return false;
        }
    }
    return true;
}

/* False for what nothing can be chosen from. */
static bool read_candidate(const struct experiment *experiment, const char *reduction,
                           struct candidate *candidate)
{
    const json_t *members = experiment->members;
    struct winner *w = &candidate->as_winner;
    const char *algorithm = text_of(members, "algorithm");
    *candidate = (struct candidate){.is_default = false};
    w->processes = json_integer_value(json_object_get(members, "processes"));
    w->bytes = json_integer_value(json_object_get(members, "bytes"));
    w->median_s = over_launches(experiment->launches, "median_s");
    w->low_s = over_launches(experiment->launches, "ci95_low_s");
    w->high_s = over_launches(experiment->launches, "ci95_high_s");
    if (strcmp(text_of(members, "reduction"), reduction) != 0 || !(w->median_s > 0.0) ||
        w->processes < 1 || w->bytes < 0 || strlen(algorithm) >= WINNER_NAME_MAX ||
        strlen(text_of(members, "operation")) >= WINNER_NAME_MAX) {
        return false;
    }
    w->low_s = isnan(w->low_s) ? w->median_s : w->low_s;
    w->high_s = isnan(w->high_s) ? w->median_s : w->high_s;
    candidate->is_default = !algorithm[0] || strcmp(algorithm, ICTUS_ALGORITHM_DEFAULT) == 0;
    (void)snprintf(w->operation, sizeof(w->operation), "%s", text_of(members, "operation"));
    (void)snprintf(w->algorithm, sizeof(w->algorithm), "%s",
                   candidate->is_default ? ICTUS_ALGORITHM_DEFAULT : algorithm);
    return true;
}

static int compare_places(const struct winner *a, const struct winner *b)
{
    const int order = strcmp(a->operation, b->operation);
    if (order) {
        return order;
    }
    if (a->processes != b->processes) {
        return a->processes < b->processes ? -1 : 1;
    }
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int compare_candidates(const void *a, const void *b)
{
    const struct winner *x = &((const struct candidate *)a)->as_winner;
    const struct winner *y = &((const struct candidate *)b)->as_winner;
    const int order = compare_places(x, y);
    return order ? order : (x->median_s > y->median_s) - (x->median_s < y->median_s);
}

/*
 * The winner among candidates of one place, sorted by their medians. The library's own choice
 * stays unless another is faster beyond both intervals: a rule without a reason is a burden.
 */
static struct winner judge(const struct candidate *candidates, size_t count)
{
    const struct candidate *best = &candidates[0];
    const struct candidate *own = NULL;
    for (size_t i = 0; i < count && !own; i++) {
        own = candidates[i].is_default ? &candidates[i] : NULL;
    }
    if (own && own->as_winner.low_s <= best->as_winner.high_s) {
        best = own;
    }
    struct winner winner = best->as_winner;
    winner.fallback_s = own ? own->as_winner.median_s : NAN;
    winner.runner_up_s = NAN;
    winner.clear = count > 1;
    for (size_t i = 0; i < count; i++) {
        if (&candidates[i] == best) {
            continue;
        }
        winner.runner_up_s =
            isnan(winner.runner_up_s) ? candidates[i].as_winner.median_s : winner.runner_up_s;
        winner.clear = winner.clear && candidates[i].as_winner.low_s > winner.high_s;
        winner.rivals++;
    }
    return winner;
}

static const char *first_reduction(const struct experiments *experiments)
{
    const char *text = "";
    for (size_t i = 0; i < experiments->count && !text[0]; i++) {
        text = text_of(experiments->list[i].members, "reduction");
    }
    return text;
}

static void judge_all(const struct candidate *candidates, size_t count, struct winners *winners)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count &&
               compare_places(&candidates[i].as_winner, &candidates[end].as_winner) == 0) {
            end++;
        }
        if (end - i > 1) {
            winners->list[winners->count++] = judge(&candidates[i], end - i);
        }
        i = end;
    }
}

/* The same algorithm twice in one place: measured under conditions that differ. */
static int refuse_mixture(const struct candidate *candidates, size_t count, struct ictus_why *why)
{
    for (size_t i = 0; i < count; i++) {
        const struct winner *a = &candidates[i].as_winner;
        for (size_t k = i + 1; k < count && compare_places(a, &candidates[k].as_winner) == 0; k++) {
            if (strcmp(a->algorithm, candidates[k].as_winner.algorithm) == 0) {
                return ictus_because(why, ICTUS_ERR_FORMAT,
                                     "%s of %lld bytes, algorithm '%s', was measured under "
                                     "conditions that differ (scheme, datatype, root, ...)",
                                     a->operation, (long long)a->bytes, a->algorithm);
            }
        }
    }
    return ICTUS_OK;
}

int tune_choose(const json_t *objects, const char *reduction, struct winners *winners,
                struct ictus_why *why)
{
    struct experiments experiments;
    *winners = (struct winners){.list = NULL};
    int err = experiments_gather(objects, &experiments, why);
    struct candidate *candidates = calloc(experiments.count + 1, sizeof(*candidates));
    winners->list = calloc(experiments.count + 1, sizeof(*winners->list));
    if (!err && (!candidates || !winners->list)) {
        err = ICTUS_ERR_NOMEM;
    }
    size_t count = 0;
    if (!err) {
        const char *wanted = reduction ? reduction : first_reduction(&experiments);
        for (size_t i = 0; i < experiments.count; i++) {
            const bool usable = read_candidate(&experiments.list[i], wanted, &candidates[count]);
            const bool proven =
                !usable || candidates[count].is_default || is_proven(&experiments.list[i]);
            winners->unproven += !proven;
            count += usable && proven;
        }
        qsort(candidates, count, sizeof(*candidates), compare_candidates);
        err = refuse_mixture(candidates, count, why);
    }
    if (!err) {
        judge_all(candidates, count, winners);
        if (winners->count == 0) {
            err = ictus_because(why, ICTUS_ERR_FORMAT,
                                "nothing to choose from: no operation was measured with two "
                                "algorithms%s; see ictus bench --algorithm=all",
                                winners->unproven > 0 ? " that were seen to run" : "");
        }
    }
    free(candidates);
    experiments_free(&experiments);
    if (err) {
        tune_free(winners);
    }
    return err;
}

void tune_free(struct winners *winners)
{
    free(winners->list);
    *winners = (struct winners){.list = NULL};
}
