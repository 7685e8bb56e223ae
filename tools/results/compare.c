/* SPDX-License-Identifier: BSD-3-Clause */
/* One experiment of two files set against each other. */
#include "results/compare.h"

#include "main/member.h"

#include <ictus/bench.h>
#include <ictus/error.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAUNCHES_LEAST = 5, /* a side, to be judged by their own spread alone */
    COMBINED_LEAST = 6, /* whose median's rank-based interval has 95 % (ictus merge --combine) */
    SAMPLES_LEAST = 5,  /* a side */
    FREEDOM_LEAST = 2   /* of an estimate of the spread that is better than an assumption */
};

/*
 * At which false discovery rate a difference counts as shown: well below 5 %, so that a series of
 * comparisons of equals stays below that as well.
 */
const double compared_discovery_rate = 0.03;

/* What stands for a launch, the more robust first. */
static const char *const launch_keys[] = {"median_s", "mean_s", "min_s", NULL};

/* The launches of one side, and what to multiply their times by. */
struct side {
    const json_t *launches;
    double scale;
};

struct values {
    double *list;
    size_t count;
    double effective; /* the number of independent values that would say as much */
};

static size_t compare_count_values(const json_t *launches, const char *key)
{
    size_t count = 0;
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)launches, i, launch)
    {
        const json_t *value = json_object_get(launch, key);
        count += json_is_array(value) ? json_array_size(value) : 1;
    }
    return count;
}

static void compare_take_value(struct values *values, const json_t *value, double scale)
{
    if (json_is_number(value) && json_number_value(value) > 0) {
        values->list[values->count++] = json_number_value(value) * scale;
    }
}

/*
 * The samples of one launch come in the order of measurement, and a machine that changes meanwhile
 * makes them depend on each other: bench widens the median's interval for it, by batch means with
 * nine degrees of freedom. An effective number of values stands for the same here.
 */
static void compare_take_series(struct values *values, const json_t *series, double scale)
{
    enum { ONLY = 2 };
    static const double student = (1.960 / 2.262) * (1.960 / 2.262);
    struct ictus_summary summary;
    size_t i = 0;
    json_t *item = NULL;
    const size_t before = values->count;
    json_array_foreach((json_t *)series, i, item)
    {
        compare_take_value(values, item, scale);
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
static struct values compare_take_values(const struct side *side, const char *key)
{
    struct values values = {
        malloc((compare_count_values(side->launches, key) + 1) * sizeof(double)), 0, 0.0};
    size_t i = 0;
    json_t *launch = NULL;
    if (!values.list) {
        return values;
    }
    json_array_foreach((json_t *)side->launches, i, launch)
    {
        const json_t *value = json_object_get(launch, key);
        if (json_is_array(value)) {
            compare_take_series(&values, value, side->scale);
        } else {
            const size_t before = values.count;
            compare_take_value(&values, value, side->scale);
            values.effective += (double)(values.count - before);
        }
    }
    compare_sort(values.list, values.count);
    return values;
}

static double compare_middle(const struct values *values)
{
    const size_t n = values->count;
    if (n == 0) {
        return NAN;
    }
    return 0.5 * (values->list[(n - 1) / 2] + values->list[n / 2]);
}

/* Compare by one member that both have at least so often, as launches where there is no how.
 * Returns whether they have. */
static bool compare_by_samples(struct compared *compared, const struct side *a,
                               const struct side *b, const char *key, size_t least,
                               const struct compare_how *how)
{
    struct values first = compare_take_values(a, key);
    struct values second = compare_take_values(b, key);
    const bool enough = first.count >= least && second.count >= least;
    if (enough) {
        const struct sample mine = {first.list, first.count, first.effective};
        const struct sample theirs = {second.list, second.count, second.effective};
        if (how) {
            compare_samples(&mine, &theirs, how->resamples, how->seed, &compared->result);
        } else {
            compare_launches(&mine, &theirs, &compared->result);
        }
        compared->samples_a = first.count;
        compared->samples_b = second.count;
        compared->value_a = compare_middle(&first);
        compared->value_b = compare_middle(&second);
    }
    free(first.list);
    free(second.list);
    return enough;
}

static bool compare_by_launches(struct compared *compared, const struct side *a,
                                const struct side *b)
{
    bool done = false;
    for (int i = 0; launch_keys[i] && !done; i++) {
        done = compare_by_samples(compared, a, b, launch_keys[i], LAUNCHES_LEAST, NULL);
    }
    return done;
}

/*
 * One number and its 95 % interval for a side of few launches: the geometric mean of their medians,
 * each with the interval that its own samples gave. Returns whether all have one.
 */
static bool compare_combine_intervals(const struct side *side, double known[3], size_t *samples)
{
    double sum = 0.0;
    double square = 0.0;
    size_t i = 0;
    json_t *launch = NULL;
    *samples = 0;
    json_array_foreach((json_t *)side->launches, i, launch)
    {
        const double median = member_number(launch, "median_s");
        const double half =
            0.5 * log(member_number(launch, "ci95_high_s") / member_number(launch, "ci95_low_s"));
        if (!(median > 0) || !isfinite(half)) {
            return false;
        }
        sum += log(median);
        square += half * half;
        *samples += (size_t)fmax(0, member_number(launch, "n"));
    }
    const double n = (double)json_array_size(side->launches);
    known[0] = exp(sum / n) * side->scale;
    known[1] = known[0] * exp(-sqrt(square) / n);
    known[2] = known[0] * exp(sqrt(square) / n);
    if (n == 1) { /* as it was measured: it need not be symmetric */
        launch = json_array_get(side->launches, 0);
        known[1] = member_number(launch, "ci95_low_s") * side->scale;
        known[2] = member_number(launch, "ci95_high_s") * side->scale;
    }
    return true;
}

static bool compare_by_intervals(struct compared *compared, const struct side *a,
                                 const struct side *b)
{
    double known_a[3];
    double known_b[3];
    if (!compare_combine_intervals(a, known_a, &compared->samples_a) ||
        !compare_combine_intervals(b, known_b, &compared->samples_b)) {
        return false;
    }
    compare_intervals(known_a, known_b, &compared->result);
    compared->value_a = known_a[0];
    compared->value_b = known_b[0];
    return true;
}

/* The same statistic on both sides, with no interval but what launches show. */
static bool compare_by_values(struct compared *compared, const struct side *a, const struct side *b)
{
    static const char *const keys[] = {"median_s", "mean_s", "min_s", "raw_s", NULL};
    bool found = false;
    for (int i = 0; keys[i] && !found; i++) {
        struct values first = compare_take_values(a, keys[i]);
        struct values second = compare_take_values(b, keys[i]);
        found = first.count > 0 && second.count > 0;
        if (found) {
            compared->value_a = compare_middle(&first);
            compared->value_b = compare_middle(&second);
            compared->samples_a = first.count;
            compared->samples_b = second.count;
        }
        free(first.list);
        free(second.list);
    }
    const double ratio = compared->value_b / compared->value_a;
    compared->result = (struct comparison){ratio, NAN, NAN, NAN};
    return found;
}

/* Variance of the logarithms of an experiment's launches; returns the degrees of freedom. */
static double compare_launch_variance(const json_t *launches, double *variance)
{
    const struct side side = {launches, 1.0};
    double sum = 0.0;
    double squares = 0.0;
    struct values values = {NULL, 0, 0.0};
    for (int i = 0; launch_keys[i] && values.count == 0; i++) {
        free(values.list);
        values = compare_take_values(&side, launch_keys[i]);
    }
    for (size_t i = 0; i < values.count; i++) {
        sum += log(values.list[i]);
    }
    for (size_t i = 0; i < values.count; i++) {
        const double off = log(values.list[i]) - sum / (double)values.count;
        squares += off * off;
    }
    const double freedom = values.count > 1 ? (double)values.count - 1 : 0;
    *variance = freedom > 0 ? squares / freedom : 0;
    free(values.list);
    return freedom;
}

/* Add a file's experiments to the sum of variances. A launch moves all its experiments together,
 * so that many of them have no more degrees of freedom than one. */
static double compare_pool_launches(const struct experiments *experiments, double *sum,
                                    double *count)
{
    double most = 0.0;
    for (size_t i = 0; i < experiments->count; i++) {
        double variance = 0.0;
        const double freedom = compare_launch_variance(experiments->list[i].launches, &variance);
        *sum += variance;
        *count += freedom > 0;
        most = fmax(most, freedom);
    }
    return most;
}

static struct launch_spread compare_choose_spread(double share, double freedom, double assumed)
{
    if (freedom >= FREEDOM_LEAST) {
        return (struct launch_spread){share, freedom, false};
    }
    return (struct launch_spread){fmax(share, assumed), 0, false};
}

struct launch_spread compare_spread(const struct experiments *a, const struct experiments *b,
                                    double assumed)
{
    double sum = 0.0;
    double count = 0.0;
    const double freedom =
        compare_pool_launches(a, &sum, &count) + compare_pool_launches(b, &sum, &count);
    return compare_choose_spread(count > 0 ? sqrt(sum / count) : 0, freedom, assumed);
}

/* Launches behind one side; several in one object where ictus merge has combined them. */
static size_t compare_count_launches(const json_t *launches)
{
    const json_t *combined = json_object_get(json_array_get(launches, 0), "launches");
    const size_t n = json_array_size(launches);
    return n == 1 && json_integer_value(combined) > 0 ? (size_t)json_integer_value(combined) : n;
}

/* By how much the samples of a launch drifted; 0 where the file does not say. */
static double compare_drift(const json_t *launch)
{
    const double n = member_number(launch, "n");
    const struct ictus_summary summary = {.n = n > 0 ? (size_t)n : 0,
                                          .effective = member_number(launch, "n_effective"),
                                          .ci95_low = member_number(launch, "ci95_low_s"),
                                          .ci95_high = member_number(launch, "ci95_high_s")};
    return ictus_summary_drift(&summary);
}

/* What one side's launches say of their host. */
struct host {
    double trip;   /* geometric mean of the trips through shared memory; NaN: not all have one */
    double spread; /* the largest within a launch, of the trips or of the samples */
};

static struct host compare_host_of(const json_t *launches)
{
    struct host host = {0.0, 0.0};
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)launches, i, launch)
    {
        const double n = (double)json_array_size(launches);
        const double spread = member_number(launch, "node_trip_spread");
        host.trip += log(member_number(launch, "node_trip_s")) / n;
        host.spread = fmax(host.spread, fmax(spread, compare_drift(launch)));
    }
    host.trip = exp(host.trip);
    return host;
}

/*
 * By how much the host changed, from one side to the other or within a launch; fmax() passes over
 * what is not known. Times that depend on it may have changed by as much for that reason alone.
 */
static double compare_host_change(const json_t *a, const json_t *b)
{
    const struct host first = compare_host_of(a);
    const struct host second = compare_host_of(b);
    const double change = fabs(log(second.trip / first.trip));
    return fmax(isfinite(change) ? change : 0.0, fmax(first.spread, second.spread));
}

/* The spread that is known of an experiment, from the best source there is. */
static struct launch_spread compare_spread_of(const struct experiment *a,
                                              const struct experiment *b, double own,
                                              const struct launch_spread *known)
{
    const double change = compare_host_change(a->launches, b->launches);
    const double share = fmax(own, known->share);
    if (!(known->freedom > 0) && change > share) {
        return (struct launch_spread){change, 0, true};
    }
    return (struct launch_spread){share, known->freedom, false};
}

/*
 * Whether the host changed by so much that the interval would say nothing: with one launch a side
 * it would reach from a 47th of the ratio to 47 times of it.
 */
static bool compare_host_hides(const struct launch_spread *spread)
{
    static const double most = 4;
    return spread->host && spread->share > log(most);
}

/* What this experiment's own launches show may be more than what all do on average. */
static void compare_allow_for_launches(struct compared *compared, const struct experiment *a,
                                       const struct experiment *b, const struct compare_how *how)
{
    double first = 0.0;
    double second = 0.0;
    const double n = compare_launch_variance(a->launches, &first);
    const double m = compare_launch_variance(b->launches, &second);
    const double own = n + m > 0 ? sqrt((n * first + m * second) / (n + m)) : 0;
    const bool bare = !isfinite(compared->result.low);
    const bool combined = json_array_size(a->launches) == 1 && json_array_size(b->launches) == 1 &&
                          compared->launches_a >= COMBINED_LEAST &&
                          compared->launches_b >= COMBINED_LEAST;
    if (combined || (bare && !(how->spread.freedom > 0))) {
        return; /* its interval is of launches; or: an assumption alone judges nothing */
    }
    compared->spread = compare_spread_of(a, b, own, &how->spread);
    if (compare_host_hides(&compared->spread)) {
        compared->result = (struct comparison){compared->result.ratio, NAN, NAN, NAN};
        return;
    }
    if (bare) {
        compared->result.low = compared->result.ratio;
        compared->result.high = compared->result.ratio;
        compared->result.p = compared->result.ratio == 1.0 ? 1.0 : 0.0;
    }
    compare_widen(&compared->spread, (double)compared->launches_a, (double)compared->launches_b,
                  &compared->result);
}

static const char *compare_best(struct compared *compared, const struct side *a,
                                const struct side *b, const struct compare_how *how)
{
    if (compare_by_launches(compared, a, b)) {
        return "launches";
    }
    const bool single = json_array_size(a->launches) == 1 && json_array_size(b->launches) == 1;
    if (single && compare_by_samples(compared, a, b, "raw_s", SAMPLES_LEAST, how)) {
        return "samples";
    }
    if (compare_by_intervals(compared, a, b)) {
        return "intervals";
    }
    return compare_by_values(compared, a, b) ? "values" : NULL;
}

/*
 * Times of a window of messages are set against times of another window, or of one message (other
 * programs' bandwidths), by the message. Returns whether the two can be compared.
 */
static bool compare_make_units_alike(struct side *a, struct side *b)
{
    const double first = member_number(json_array_get(a->launches, 0), "messages");
    const double second = member_number(json_array_get(b->launches, 0), "messages");
    if (first > 0 && second > 0 && first != second) {
        a->scale = 1 / first;
        b->scale = 1 / second;
    }
    return (first > 0) == (second > 0);
}

int compared_add(struct compared_list *list, const struct experiment *a, const struct experiment *b,
                 const char *file, const struct compare_how *how)
{
    struct compared fresh = {.file = file, .p_adjusted = NAN};
    struct side first = {a->launches, 1.0};
    struct side second = {b->launches, 1.0};
    if (!compare_make_units_alike(&first, &second)) {
        list->unlike++;
        return ICTUS_OK;
    }
    fresh.launches_a = compare_count_launches(a->launches);
    fresh.launches_b = compare_count_launches(b->launches);
    fresh.method = compare_best(&fresh, &first, &second, how);
    if (!fresh.method) {
        return ICTUS_OK;
    }
    if (strcmp(fresh.method, "launches") != 0) {
        compare_allow_for_launches(&fresh, a, b, how);
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

static enum verdict compare_verdict_of(const struct compared *compared, double same)
{
    const struct comparison *result = &compared->result;
    if (!isfinite(result->low) || !isfinite(result->high)) {
        return compare_host_hides(&compared->spread) ? VERDICT_HOST : VERDICT_BARE;
    }
    if (result->low > 1 / (1 + same) && result->high < 1 + same) {
        return VERDICT_SAME;
    }
    if (compared->p_adjusted <= compared_discovery_rate && result->low > 1) {
        return VERDICT_SLOWER;
    }
    if (compared->p_adjusted <= compared_discovery_rate && result->high < 1) {
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
            list->items[i].verdict = compare_verdict_of(&list->items[i], same);
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
        (void)snprintf(text, size, "%+.3g %%, cannot be judged", off);
        break;
    case VERDICT_HOST:
        (void)snprintf(text, size, "not comparable");
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
