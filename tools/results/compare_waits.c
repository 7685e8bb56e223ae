/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wait that a file has no row for is 0 in that run. So waits are compared by their differences:
 * a ratio to nothing says nothing.
 */
#include "results/compare_waits.h"
#include "main/member.h"

#include <ictus/text.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums below this share of the ranks' time on both sides are not compared: there are many. */
static const double least_share = 1e-3;

static bool compare_waits_is_type(const json_t *object, const char *type)
{
    return strcmp(member_text(object, "type"), type) == 0;
}

bool compare_waits_held(const json_t *objects)
{
    json_t *object = NULL;
    size_t i = 0;
    json_array_foreach((json_t *)objects, i, object)
    {
        if (compare_waits_is_type(object, "waits")) {
            return true;
        }
    }
    return false;
}

/* Whether an object is a sum of waits, of which no other one that is compared is a part. */
static bool waits_compared(const json_t *object)
{
    static const char *const types[] = {"waits", "wait-total", "wait-site", "wait-state"};
    static const char *const asides[] = {"wrong-order", "late-receiver-possible",
                                         "barrier-completion", "nxn-completion"};
    bool compared = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        compared |= compare_waits_is_type(object, types[i]);
    }
    for (size_t i = 0; i < sizeof asides / sizeof *asides; i++) {
        compared &= strcmp(member_text(object, "state"), asides[i]) != 0;
    }
    return compared;
}

static json_t *waits_members(const json_t *object)
{
    static const char *const keys[] = {"state", "call", "site", "rank", "location"};
    json_t *members = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(object, keys[i]);
        if (value) {
            (void)json_object_set(members, keys[i], value);
        }
    }
    return members;
}

/* The change that a sum belongs to; NULL: no memory. */
static struct wait_change *waits_change_at(struct wait_changes *changes, const json_t *object)
{
    json_t *members = waits_members(object);
    char *identity = json_dumps(members, JSON_COMPACT | JSON_SORT_KEYS);
    const json_t *known = identity ? json_object_get(changes->index, identity) : NULL;
    struct wait_change *change = known ? &changes->list[json_integer_value(known)] : NULL;
    const size_t n = changes->count;
    if (identity && !known) {
        struct wait_change *wide = realloc(changes->list, (n + 1) * sizeof *wide);
        changes->list = wide ? wide : changes->list;
        if (wide &&
            json_object_set_new(changes->index, identity, json_integer((json_int_t)n)) == 0) {
            change = &wide[changes->count++];
            *change = (struct wait_change){.members = json_incref(members)};
        }
    }
    json_decref(members);
    free(identity);
    return change;
}

/* One run's sum. Its interval is that of the clocks; NaN where their errors are unknown. */
static int waits_gather(struct wait_changes *changes, const json_t *object, int side)
{
    static const double two_sided = 2 * 1.96;
    struct wait_change *change = waits_change_at(changes, object);
    if (!change) {
        return ICTUS_ERR_NOMEM;
    }
    const double wait = member_number(object, "wait_s");
    const double sigma =
        (member_number(object, "wait_high_s") - member_number(object, "wait_low_s")) / two_sided;
    change->sum[side] += wait;
    change->squares[side] += wait * wait;
    change->variance[side] += sigma * sigma;
    return ICTUS_OK;
}

/* All runs of a file. */
static int waits_gather_file(struct wait_changes *changes, const json_t *objects, int side,
                             json_int_t *processes)
{
    json_t *object = NULL;
    size_t i = 0;
    int err = ICTUS_OK;
    json_array_foreach((json_t *)objects, i, object)
    {
        if (compare_waits_is_type(object, "waits")) {
            changes->runs[side]++;
            changes->rank_time_s[side] += member_number(object, "rank_time_s");
            *processes = json_integer_value(json_object_get(object, "processes"));
        }
        if (!err && waits_compared(object)) {
            err = waits_gather(changes, object, side);
        }
    }
    return err;
}

double compare_waits_mean(const struct wait_changes *changes, const struct wait_change *change,
                          int side)
{
    return change->sum[side] / (double)changes->runs[side];
}

/* What the runs of one side say of a sum. */
static struct run_values waits_change_values(const struct wait_changes *changes,
                                             const struct wait_change *change, int side)
{
    const double n = (double)changes->runs[side];
    const double mean = change->sum[side] / n;
    return (struct run_values){.n = changes->runs[side],
                               .mean = mean,
                               .scatter = fmax(0, change->squares[side] - n * mean * mean),
                               .variance = change->variance[side] / (n * n)};
}

static bool waits_change_is_small(const struct wait_changes *changes,
                                  const struct wait_change *change)
{
    return change->sum[0] < least_share * changes->rank_time_s[0] &&
           change->sum[1] < least_share * changes->rank_time_s[1] &&
           json_object_size(change->members) > 0;
}

static int compare_waits_by_difference(const void *a, const void *b)
{
    const struct wait_change *p = a;
    const struct wait_change *q = b;
    const bool whole_p = json_object_size(p->members) == 0;
    const bool whole_q = json_object_size(q->members) == 0;
    if (whole_p != whole_q) {
        return whole_p ? -1 : 1;
    }
    const double x = fabs(p->difference.value);
    const double y = fabs(q->difference.value);
    return (x < y) - (x > y);
}

/* Drop what is small, and say of the rest how much it changed. */
static void changes_measure(struct wait_changes *changes)
{
    size_t kept = 0;
    for (size_t i = 0; i < changes->count; i++) {
        struct wait_change *change = &changes->list[i];
        if (waits_change_is_small(changes, change)) {
            json_decref(change->members);
            changes->small++;
            continue;
        }
        const struct run_values a = waits_change_values(changes, change, 0);
        const struct run_values b = waits_change_values(changes, change, 1);
        compare_differences(&a, &b, &change->difference);
        changes->list[kept++] = *change;
    }
    changes->count = kept;
    qsort(changes->list, kept, sizeof *changes->list, compare_waits_by_difference);
}

static enum verdict waits_change_verdict(const struct wait_changes *changes,
                                         const struct wait_change *change, double same)
{
    const struct difference *d = &change->difference;
    const double before = compare_waits_mean(changes, change, 0);
    if (!isfinite(d->p)) {
        return VERDICT_BARE;
    }
    if (d->low > -same * before && d->high < same * before) {
        return VERDICT_SAME;
    }
    if (change->p_adjusted <= compared_discovery_rate && d->low > 0) {
        return VERDICT_SLOWER;
    }
    if (change->p_adjusted <= compared_discovery_rate && d->high < 0) {
        return VERDICT_FASTER;
    }
    return VERDICT_UNCLEAR;
}

static int changes_judge(struct wait_changes *changes, double same)
{
    double *p = malloc((changes->count + 1) * sizeof *p);
    double *adjusted = malloc((changes->count + 1) * sizeof *adjusted);
    const int err = p && adjusted ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (size_t i = 0; i < changes->count && !err; i++) {
        p[i] = changes->list[i].difference.p;
    }
    if (!err) {
        compare_adjust(p, adjusted, changes->count);
    }
    for (size_t i = 0; i < changes->count && !err; i++) {
        changes->list[i].p_adjusted = adjusted[i];
        changes->list[i].verdict = waits_change_verdict(changes, &changes->list[i], same);
    }
    free(p);
    free(adjusted);
    return err;
}

int compare_waits_find(struct wait_changes *changes, const json_t *a, const json_t *b, double same,
                       struct ictus_why *why)
{
    json_int_t processes[2] = {0, 0};
    *changes = (struct wait_changes){.index = json_object()};
    int err = waits_gather_file(changes, a, 0, &processes[0]);
    err = err ? err : waits_gather_file(changes, b, 1, &processes[1]);
    if (err) {
        return err;
    }
    if (processes[0] != processes[1]) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "the runs had %lld and %lld processes, but waits are compared rank by "
                             "rank",
                             (long long)processes[0], (long long)processes[1]);
    }
    changes_measure(changes);
    return changes_judge(changes, same);
}

void compare_waits_free(struct wait_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        json_decref(changes->list[i].members);
    }
    free(changes->list);
    json_decref(changes->index);
    *changes = (struct wait_changes){.count = 0};
}
