/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing the fastest algorithm of each experiment. */
#include "results/tune.h"

#include "main/member.h"
#include "main/values.h"
#include "results/experiments.h"

#include <ictus/bench.h>
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
    json_t *members; /* the experiment's, as are the launches */
    json_t *launches;
    const char *component; /* that was seen to run; "": not known */
};

/* Median over the launches of a member; NaN where none has it. */
static double tune_over_launches(const json_t *launches, const char *key)
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
    values_sort(values, count);
    const double median = values_median(values, count);
    free(values);
    return median;
}

struct tune_time tune_time(const json_t *launches)
{
    struct tune_time time = {.median_s = tune_over_launches(launches, "median_s"),
                             .low_s = tune_over_launches(launches, "ci95_low_s"),
                             .high_s = tune_over_launches(launches, "ci95_high_s")};
    time.low_s = isnan(time.low_s) ? time.median_s : time.low_s;
    time.high_s = isnan(time.high_s) ? time.median_s : time.high_s;
    return time;
}

bool tune_is_proven(const json_t *launches)
{
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)launches, i, launch)
    {
        if (!json_is_true(json_object_get(launch, "proven"))) {
            return false;
        }
    }
    return true;
}

const char *tune_component(const json_t *launches)
{
    const char *component = "";
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)launches, i, launch)
    {
        const char *its = member_text(launch, "component");
        if (its[0] && (!component[0] || strcmp(component, RULED_COMPONENT) == 0)) {
            component = its;
        }
    }
    return component;
}

void tune_note_component(struct winner *winner, const char *component)
{
    (void)snprintf(winner->component, sizeof(winner->component), "%s", component);
    if (winner->verdict == TUNE_RULE && component[0] && strcmp(component, RULED_COMPONENT) != 0) {
        winner->verdict = TUNE_NO_COMPONENT;
    }
}

/* False for objects from which nothing can be chosen. */
static bool tune_read_candidate(const struct experiment *experiment, const char *reduction,
                                struct candidate *candidate)
{
    const json_t *members = experiment->members;
    struct winner *w = &candidate->as_winner;
    const char *algorithm = member_text(members, "algorithm");
    *candidate =
        (struct candidate){.members = experiment->members, .launches = experiment->launches};
    candidate->component = tune_component(experiment->launches);
    w->processes = json_integer_value(json_object_get(members, "processes"));
    w->bytes = json_integer_value(json_object_get(members, "bytes"));
    const struct tune_time time = tune_time(experiment->launches);
    w->median_s = time.median_s;
    w->low_s = time.low_s;
    w->high_s = time.high_s;
    if (strcmp(member_text(members, "reduction"), reduction) != 0 || !(w->median_s > 0.0) ||
        w->processes < 1 || w->bytes < 0 || strlen(algorithm) >= WINNER_NAME_MAX ||
        strlen(member_text(members, "operation")) >= WINNER_NAME_MAX) {
        return false;
    }
    candidate->is_default = !algorithm[0] || strcmp(algorithm, ICTUS_ALGORITHM_DEFAULT) == 0;
    (void)snprintf(w->operation, sizeof(w->operation), "%s", member_text(members, "operation"));
    (void)snprintf(w->algorithm, sizeof(w->algorithm), "%s",
                   candidate->is_default ? ICTUS_ALGORITHM_DEFAULT : algorithm);
    return true;
}

static int tune_compare_places(const struct winner *a, const struct winner *b)
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

static int tune_compare_candidates(const void *a, const void *b)
{
    const struct winner *x = &((const struct candidate *)a)->as_winner;
    const struct winner *y = &((const struct candidate *)b)->as_winner;
    const int order = tune_compare_places(x, y);
    return order ? order : (x->median_s > y->median_s) - (x->median_s < y->median_s);
}

/* One-sided 97.5 % quantiles of Student's t by degrees of freedom, then the normal distribution's.
 */
static double tune_student(int freedom)
{
    static const double quantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                       2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                       2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064};
    const int known = (int)(sizeof(quantiles) / sizeof(quantiles[0]));
    return freedom <= known ? quantiles[freedom - 1] : 2.064;
}

void tune_interval(const double *ratios, int count, double *low, double *high)
{
    double sum = 0.0;
    double squares = 0.0;
    for (int i = 0; i < count; i++) {
        sum += log(ratios[i]);
        squares += log(ratios[i]) * log(ratios[i]);
    }
    const double n = count;
    const double variance = fmax(squares - sum * sum / n, 0.0) / (n - 1.0);
    const double half = tune_student(count - 1) * sqrt(variance / n);
    *low = exp(sum / n - half);
    *high = exp(sum / n + half);
}

double tune_of_launch(const json_t *launches, const json_t *launch)
{
    size_t i = 0;
    json_t *other = NULL;
    json_array_foreach((json_t *)launches, i, other)
    {
        const json_t *value = json_object_get(other, "median_s");
        if (json_equal(json_object_get(other, "launch"), json_object_get(launch, "launch")) &&
            json_is_number(value) && json_number_value(value) > 0.0) {
            return json_number_value(value);
        }
    }
    return NAN;
}

/*
 * How long the winner takes at most, by the time of the library's own choice: launch by launch,
 * where both were measured in the same ones, since what slows a launch slows both.
 */
static double tune_most_of(const struct candidate *best, const struct candidate *own, int *launches)
{
    double *ratios = calloc(json_array_size(best->launches) + 1, sizeof(*ratios));
    double low = NAN;
    double most = best->as_winner.high_s / own->as_winner.low_s;
    size_t i = 0;
    json_t *launch = NULL;
    int count = 0;
    json_array_foreach(best->launches, i, launch)
    {
        const double mine = tune_of_launch(best->launches, launch);
        const double its = tune_of_launch(own->launches, launch);
        if (ratios && mine > 0.0 && its > 0.0 && json_object_get(launch, "launch")) {
            ratios[count++] = mine / its;
        }
    }
    if (count > 1) {
        tune_interval(ratios, count, &low, &most);
    }
    *launches = count > 1 ? count : 1;
    free(ratios);
    return most;
}

/*
 * The winner among candidates of one place, sorted by their medians. A rule without a reason is a
 * burden: it wants proof that it is faster than what the library chooses itself.
 */
static struct winner tune_judge(const struct candidate *candidates, size_t count, double margin)
{
    const struct candidate *best = &candidates[0];
    const struct candidate *own = NULL;
    for (size_t i = 0; i < count && !own; i++) {
        own = candidates[i].is_default ? &candidates[i] : NULL;
    }
    struct winner winner = best->as_winner;
    winner.fallback_s = own ? own->as_winner.median_s : NAN;
    winner.runner_up_s = count > 1 ? candidates[1].as_winner.median_s : NAN;
    winner.rivals = (int)count - 1;
    winner.launches = (int)json_array_size(best->launches);
    winner.most = NAN;
    winner.verdict = own ? TUNE_DEFAULT : TUNE_NO_DEFAULT;
    if (own && own != best) {
        winner.most = tune_most_of(best, own, &winner.launches);
        winner.verdict = winner.most * (1.0 + margin) < 1.0 ? TUNE_RULE : TUNE_UNCLEAR;
    }
    tune_note_component(&winner, own ? own->component : "");
    return winner;
}

const char *tune_rule(const struct winner *winner)
{
    return winner->verdict == TUNE_RULE ? winner->algorithm : ICTUS_ALGORITHM_DEFAULT;
}

size_t tune_end(const struct winners *winners, size_t first, bool of_processes)
{
    const struct winner *w = &winners->list[first];
    size_t end = first;
    while (end < winners->count && strcmp(winners->list[end].operation, w->operation) == 0 &&
           (!of_processes || winners->list[end].processes == w->processes)) {
        end++;
    }
    return end;
}

bool tune_has_rule(const struct winners *winners, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (winners->list[i].verdict == TUNE_RULE) {
            return true;
        }
    }
    return false;
}

static const char *tune_first_reduction(const struct experiments *experiments)
{
    const char *text = "";
    for (size_t i = 0; i < experiments->count && !text[0]; i++) {
        text = member_text(experiments->list[i].members, "reduction");
    }
    return text;
}

static void tune_judge_all(const struct candidate *candidates, size_t count, double margin,
                           struct winners *winners)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count &&
               tune_compare_places(&candidates[i].as_winner, &candidates[end].as_winner) == 0) {
            end++;
        }
        if (end - i > 1) {
            winners->list[winners->count++] = tune_judge(&candidates[i], end - i, margin);
        }
        i = end;
    }
}

/* The fastest candidate of an operation where a mock-up was measured; NaN where there is none. */
static double fastest_of(const struct candidate *candidates, size_t count, const char *operation,
                         const struct winner *place)
{
    double fastest = NAN;
    for (size_t i = 0; i < count; i++) {
        const struct winner *w = &candidates[i].as_winner;
        if (strcmp(w->operation, operation) == 0 && w->processes == place->processes &&
            w->bytes == place->bytes) {
            fastest = fmin(fastest, w->median_s); /* of a NaN and a number: the number */
        }
    }
    return fastest;
}

/* Compositions that beat every algorithm by the margin, and by their interval. */
static void tune_note_mockups(const struct candidate *candidates, size_t count, double margin,
                              struct winners *winners)
{
    for (size_t i = 0; i < count; i++) {
        struct ictus_operation_info info;
        const struct winner *w = &candidates[i].as_winner;
        if (ictus_operation_find(NULL, w->operation, &info, NULL) || !info.mocks) {
            continue;
        }
        const double fastest = fastest_of(candidates, count, info.mocks, w);
        if (w->high_s * (1.0 + margin) < fastest) {
            struct mockup *m = &winners->mockups[winners->mockup_count++];
            *m = (struct mockup){.processes = w->processes,
                                 .bytes = w->bytes,
                                 .median_s = w->median_s,
                                 .fastest_s = fastest};
            (void)snprintf(m->name, sizeof(m->name), "%s", w->operation);
            (void)snprintf(m->operation, sizeof(m->operation), "%s", info.mocks);
        }
    }
}

/* A condition in which two experiments of one algorithm differ, or NULL. */
static const char *tune_find_difference(json_t *members, json_t *others)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(members, key, value)
    {
        if (!json_equal(value, json_object_get(others, key))) {
            return key;
        }
    }
    return NULL;
}

/* A member as one would type it; a common start is not written. */
static const char *tune_tell_member(const json_t *members, const char *key, char text[24])
{
    const json_t *value = json_object_get(members, key);
    if (json_is_integer(value)) {
        (void)snprintf(text, 24, "%lld", (long long)json_integer_value(value));
        return text;
    }
    const char *unset = strcmp(key, "arrival") == 0 ? "together" : "unknown";
    return json_is_string(value) ? json_string_value(value) : unset;
}

static int tune_refuse_pair(const struct candidate *a, const struct candidate *b,
                            struct ictus_why *why)
{
    const char *key = tune_find_difference(a->members, b->members);
    key = key ? key : tune_find_difference(b->members, a->members);
    key = key ? key : "conditions";
    char first[24];
    char second[24];
    return ictus_because(
        why, ICTUS_ERR_FORMAT,
        "%s of %lld bytes, algorithm '%s', was measured with %s %.80s and with %s %.80s; %s",
        a->as_winner.operation, (long long)a->as_winner.bytes, a->as_winner.algorithm, key,
        tune_tell_member(a->members, key, first), key, tune_tell_member(b->members, key, second),
        strcmp(key, "arrival") == 0 ? "choose one with --arrival"
                                    : "give only files that agree in this");
}

/* The same algorithm twice in one place: measured under conditions that differ. */
static int tune_refuse_mixture(const struct candidate *candidates, size_t count,
                               struct ictus_why *why)
{
    for (size_t i = 0; i < count; i++) {
        const struct winner *a = &candidates[i].as_winner;
        for (size_t k = i + 1; k < count && tune_compare_places(a, &candidates[k].as_winner) == 0;
             k++) {
            if (strcmp(a->algorithm, candidates[k].as_winner.algorithm) == 0) {
                return tune_refuse_pair(&candidates[i], &candidates[k], why);
            }
        }
    }
    return ICTUS_OK;
}

int tune_choose(const json_t *objects, const char *reduction, double margin,
                struct winners *winners, struct ictus_why *why)
{
    struct experiments experiments;
    *winners = (struct winners){.list = NULL};
    int err = experiments_gather(objects, &experiments, why);
    struct candidate *candidates = calloc(experiments.count + 1, sizeof(*candidates));
    winners->list = calloc(experiments.count + 1, sizeof(*winners->list));
    winners->mockups = calloc(experiments.count + 1, sizeof(*winners->mockups));
    if (!err && (!candidates || !winners->list || !winners->mockups)) {
        err = ICTUS_ERR_NOMEM;
    }
    size_t count = 0;
    if (!err) {
        const char *wanted = reduction ? reduction : tune_first_reduction(&experiments);
        for (size_t i = 0; i < experiments.count; i++) {
            const bool usable =
                tune_read_candidate(&experiments.list[i], wanted, &candidates[count]);
            const bool proven = !usable || candidates[count].is_default ||
                                tune_is_proven(experiments.list[i].launches);
            winners->unproven += !proven;
            count += usable && proven;
        }
        qsort(candidates, count, sizeof(*candidates), tune_compare_candidates);
        err = tune_refuse_mixture(candidates, count, why);
    }
    if (!err) {
        tune_judge_all(candidates, count, margin, winners);
        tune_note_mockups(candidates, count, margin, winners);
        if (winners->count == 0) {
            err = ictus_because(why, ICTUS_ERR_FORMAT,
                                "nothing to choose from: no operation was measured with two "
                                "algorithms%s; see 'ictus bench --algorithm=all'",
                                winners->unproven > 0
                                    ? " that were verified to run, which is not possible in "
                                      "place, with --layout or with a user-defined operator"
                                    : "");
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
    free(winners->mockups);
    *winners = (struct winners){.list = NULL};
}
