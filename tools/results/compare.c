/* SPDX-License-Identifier: BSD-3-Clause */
/* One experiment of two files set against each other. */
#include "results/compare.h"

#include <ictus/bench.h>
#include <ictus/error.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAUNCHES_LEAST = 5, SAMPLES_LEAST = 5 };

/* At which false discovery rate a difference counts as shown. */
static const double discovery_rate = 0.05;

struct values {
    double *list;
    size_t count;
    double effective; /* of how many independent ones they tell as much */
};

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static size_t count_values(const struct experiment *experiment, const char *key)
{
    size_t count = 0;
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach(experiment->launches, i, launch)
    {
        const json_t *value = json_object_get(launch, key);
        count += json_is_array(value) ? json_array_size(value) : 1;
    }
    return count;
}

static void take_value(struct values *values, const json_t *value)
{
    if (json_is_number(value) && json_number_value(value) > 0) {
        values->list[values->count++] = json_number_value(value);
    }
}

/*
 * The samples of one launch come in the order of measurement, and a machine that changes meanwhile
 * makes them depend on each other: bench widens the median's interval for it, by batch means with
 * nine degrees of freedom. An effective number of values stands for the same here.
 */
static void take_series(struct values *values, const json_t *series)
{
    enum { ONLY = 2 };
    static const double student = (1.960 / 2.262) * (1.960 / 2.262);
    struct ictus_summary summary;
    size_t i = 0;
    json_t *item = NULL;
    const size_t before = values->count;
    json_array_foreach((json_t *)series, i, item)
    {
        take_value(values, item);
    }
    const double n = (double)(values->count - before);
    if (n > 0 &&
        ictus_summarize_series(values->list + before, values->count - before, &summary) == 0 &&
        summary.effective < n) {
        values->effective += fmax(fmin(n, ONLY), summary.effective * student);
    } else {
        values->effective += n;
    }
}

/* All positive numbers that the launches have under a name, sorted. */
static struct values take_values(const struct experiment *experiment, const char *key)
{
    struct values values = {malloc((count_values(experiment, key) + 1) * sizeof(double)), 0, 0.0};
    size_t i = 0;
    json_t *launch = NULL;
    if (!values.list) {
        return values;
    }
    json_array_foreach(experiment->launches, i, launch)
    {
        const json_t *value = json_object_get(launch, key);
        if (json_is_array(value)) {
            take_series(&values, value);
        } else {
            const size_t before = values.count;
            take_value(&values, value);
            values.effective += (double)(values.count - before);
        }
    }
    compare_sort(values.list, values.count);
    return values;
}

static double middle(const struct values *values)
{
    const size_t n = values->count;
    if (n == 0) {
        return NAN;
    }
    return 0.5 * (values->list[(n - 1) / 2] + values->list[n / 2]);
}

/* Compare by one member that both have at least so often. Returns whether they have. */
static bool by_samples(struct compared *compared, const struct experiment *a,
                       const struct experiment *b, const char *key, size_t least, size_t resamples,
                       uint64_t seed)
{
    struct values first = take_values(a, key);
    struct values second = take_values(b, key);
    const bool enough = first.count >= least && second.count >= least;
    if (enough) {
        const struct sample mine = {first.list, first.count, first.effective};
        const struct sample theirs = {second.list, second.count, second.effective};
        compare_samples(&mine, &theirs, resamples, seed, &compared->result);
        compared->samples_a = first.count;
        compared->samples_b = second.count;
        compared->value_a = middle(&first);
        compared->value_b = middle(&second);
    }
    free(first.list);
    free(second.list);
    return enough;
}

static bool by_intervals(struct compared *compared, const struct experiment *a,
                         const struct experiment *b)
{
    const json_t *first = json_array_get(a->launches, 0);
    const json_t *second = json_array_get(b->launches, 0);
    const double known_a[3] = {number_of(first, "median_s"), number_of(first, "ci95_low_s"),
                               number_of(first, "ci95_high_s")};
    const double known_b[3] = {number_of(second, "median_s"), number_of(second, "ci95_low_s"),
                               number_of(second, "ci95_high_s")};
    for (int i = 0; i < 3; i++) {
        if (!(known_a[i] > 0 && known_b[i] > 0)) {
            return false;
        }
    }
    compare_intervals(known_a, known_b, &compared->result);
    compared->value_a = known_a[0];
    compared->value_b = known_b[0];
    compared->samples_a = (size_t)fmax(0, number_of(first, "n"));
    compared->samples_b = (size_t)fmax(0, number_of(second, "n"));
    return true;
}

/* The same statistic on both sides, the more robust first. */
static bool by_values(struct compared *compared, const struct experiment *a,
                      const struct experiment *b)
{
    static const char *const keys[] = {"median_s", "mean_s", "min_s", "raw_s", NULL};
    bool found = false;
    for (int i = 0; keys[i] && !found; i++) {
        struct values first = take_values(a, keys[i]);
        struct values second = take_values(b, keys[i]);
        found = first.count > 0 && second.count > 0;
        if (found) {
            compared->value_a = middle(&first);
            compared->value_b = middle(&second);
            compared->samples_a = first.count;
            compared->samples_b = second.count;
        }
        free(first.list);
        free(second.list);
    }
    compared->result = (struct comparison){compared->value_b / compared->value_a, NAN, NAN, NAN};
    return found;
}

int compared_add(struct compared_list *list, const struct experiment *a, const struct experiment *b,
                 const char *file, size_t resamples, uint64_t seed)
{
    struct compared fresh = {.file = file, .p_adjusted = NAN};
    if (by_samples(&fresh, a, b, "median_s", LAUNCHES_LEAST, resamples, seed)) {
        fresh.method = "launches";
    } else if (by_samples(&fresh, a, b, "raw_s", SAMPLES_LEAST, resamples, seed)) {
        fresh.method = "samples";
    } else if (by_intervals(&fresh, a, b)) {
        fresh.method = "intervals";
    } else if (by_values(&fresh, a, b)) {
        fresh.method = "values";
    } else {
        return ICTUS_OK;
    }
    struct compared *items = realloc(list->items, (list->count + 1) * sizeof(*items));
    if (!items) {
        return ICTUS_ERR_NOMEM;
    }
    list->items = items;
    fresh.members = json_incref(b->members);
    items[list->count++] = fresh;
    return ICTUS_OK;
}

static enum verdict verdict_of(const struct compared *compared, double same)
{
    const struct comparison *result = &compared->result;
    if (!isfinite(result->low) || !isfinite(result->high)) {
        return VERDICT_BARE;
    }
    if (result->low > 1 / (1 + same) && result->high < 1 + same) {
        return VERDICT_SAME;
    }
    if (compared->p_adjusted <= discovery_rate && result->low > 1) {
        return VERDICT_SLOWER;
    }
    if (compared->p_adjusted <= discovery_rate && result->high < 1) {
        return VERDICT_FASTER;
    }
    return VERDICT_UNCLEAR;
}

void compared_judge(struct compared_list *list, double same)
{
    double *p = malloc((list->count + 1) * sizeof(*p));
    double *adjusted = malloc((list->count + 1) * sizeof(*adjusted));
    if (p && adjusted) {
        for (size_t i = 0; i < list->count; i++) {
            p[i] = list->items[i].result.p;
        }
        compare_adjust(p, adjusted, list->count);
        for (size_t i = 0; i < list->count; i++) {
            list->items[i].p_adjusted = adjusted[i];
            list->items[i].verdict = verdict_of(&list->items[i], same);
        }
    }
    free(p);
    free(adjusted);
}

void compared_words(const struct compared *compared, char *text, size_t size)
{
    const double off = (compared->result.ratio - 1) * 100;
    switch (compared->verdict) {
    case VERDICT_SLOWER:
        (void)snprintf(text, size, "slower by %.3g %%", off);
        break;
    case VERDICT_FASTER:
        (void)snprintf(text, size, "faster by %.3g %%", -off);
        break;
    case VERDICT_SAME:
        (void)snprintf(text, size, "the same");
        break;
    case VERDICT_BARE:
        (void)snprintf(text, size, "%+.3g %%, nothing to judge it by", off);
        break;
    default:
        (void)snprintf(text, size, "no difference shown");
        break;
    }
}

double compared_mean_ratio(const struct compared_list *list)
{
    double sum = 0.0;
    for (size_t i = 0; i < list->count; i++) {
        sum += log(list->items[i].result.ratio);
    }
    return exp(sum / (double)list->count);
}

void compared_free(struct compared_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        json_decref(list->items[i].members);
    }
    free(list->items);
}
