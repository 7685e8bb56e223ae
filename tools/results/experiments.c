/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathering the measurements of result files by experiment. */
#include "results/experiments.h"

#include "results/foreign.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that belong to an experiment, and text that does not. */
static const char *const numbers[] = {"bytes", "processes", "root", "count", NULL};
static const char *const remarks[] = {"type", "file",      "started", "placement_file",
                                      "ran",  "component", NULL};

static bool experiments_is_listed(const char *const *names, const char *name)
{
    for (; *names; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

json_t *experiment_members(const json_t *measurement)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_t *members = json_object();
    json_object_foreach((json_t *)measurement, key, value)
    {
        const bool text = json_is_string(value) && !experiments_is_listed(remarks, key);
        if (text || (json_is_integer(value) && experiments_is_listed(numbers, key))) {
            (void)json_object_set(members, key, value);
        }
    }
    return members;
}

char *experiment_identity(const json_t *measurement)
{
    json_t *members = experiment_members(measurement);
    char *identity = json_dumps(members, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(members);
    return identity;
}

int experiments_read_objects(const char *path, json_t **objects, int *skipped,
                             struct ictus_why *why)
{
    struct ictus_why foreign_why = {""};
    const int err = ictus_result_read(path, objects, skipped, why);
    if (err != ICTUS_ERR_FORMAT) {
        /* Whatever is wrong with a file that was named is reported as a wrong argument. */
        return err == ICTUS_ERR_IO ? ICTUS_ERR_ARG : err;
    }
    *skipped = 0;
    const int foreign = foreign_read(path, objects, &foreign_why);
    if (foreign == ICTUS_ERR_CORRUPT) {
        *why = foreign_why;
        return foreign;
    }
    /* for a later schema of ours, the reason says so */
    return foreign ? err : ICTUS_OK;
}

void experiments_tell_skipped(const char *command, const char *path, int skipped)
{
    if (skipped > 0) {
        (void)fprintf(stderr, "ictus %s: %s: %d %s left out\n", command, path, skipped,
                      skipped == 1 ? "line is not a result and was"
                                   : "lines are not results and were");
    }
}

/* Takes members; the identity as well if it succeeds. */
static struct experiment *experiment_add(struct experiments *experiments, char *identity,
                                         json_t *members)
{
    const size_t size = (experiments->count + 1) * sizeof(*experiments->list);
    struct experiment *list = realloc(experiments->list, size);
    if (!list) {
        json_decref(members);
        return NULL;
    }
    experiments->list = list;
    struct experiment *fresh = &list[experiments->count];
    *fresh = (struct experiment){identity, members, json_array()};
    if (json_object_set_new(experiments->index, identity,
                            json_integer((json_int_t)experiments->count))) {
        json_decref(fresh->launches);
        json_decref(members);
        return NULL;
    }
    experiments->count++;
    return fresh;
}

static int experiments_put(struct experiments *experiments, json_t *object)
{
    char *identity = experiment_identity(object);
    const json_t *known = identity ? json_object_get(experiments->index, identity) : NULL;
    struct experiment *experiment = NULL;
    if (known) {
        experiment = &experiments->list[json_integer_value(known)];
    } else if (identity) {
        experiment = experiment_add(experiments, identity, experiment_members(object));
    }
    if (known || !experiment) {
        free(identity);
    }
    return experiment && json_array_append(experiment->launches, object) == 0 ? ICTUS_OK
                                                                              : ICTUS_ERR_NOMEM;
}

int experiments_gather(const json_t *objects, struct experiments *experiments,
                       struct ictus_why *why)
{
    json_t *object = NULL;
    size_t i = 0;
    int err = ICTUS_OK;
    *experiments = (struct experiments){.path = "", .index = json_object()};
    json_array_foreach((json_t *)objects, i, object)
    {
        const char *type = json_string_value(json_object_get(object, "type"));
        if (!err && strcmp(type, "measurement") == 0) {
            err = experiments_put(experiments, object);
        }
    }
    if (!err && experiments->count == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT, "the file holds no measurement");
    }
    return err;
}

/* Leave out what is of another reduction. */
static void experiments_keep_reduction(json_t *objects, const char *reduction)
{
    size_t i = json_array_size(objects);
    while (reduction && i-- > 0) {
        const json_t *object = json_array_get(objects, i);
        const char *is = json_string_value(json_object_get(object, "reduction"));
        if (is && strcmp(is, reduction) != 0) {
            (void)json_array_remove(objects, i);
        }
    }
}

int experiments_take(json_t *objects, const char *path, const char *reduction,
                     struct experiments *experiments, struct ictus_why *why)
{
    const json_t *refused = json_object_get(json_array_get(objects, 0), "refused");
    experiments_keep_reduction(objects, reduction);
    int err = experiments_gather(objects, experiments, why);
    experiments->path = path;
    experiments->refused = (int)json_integer_value(refused);
    if (err == ICTUS_ERR_FORMAT) {
        err = ictus_because(why, err, "'%.200s' holds no measurement%s%s", path,
                            reduction ? " with the reduction " : "", reduction ? reduction : "");
    }
    return err;
}

int experiments_read(const char *path, const char *reduction, struct experiments *experiments,
                     struct ictus_why *why)
{
    json_t *objects = NULL;
    int skipped = 0;
    *experiments = (struct experiments){.path = path};
    int err = experiments_read_objects(path, &objects, &skipped, why);
    err = err ? err : experiments_take(objects, path, reduction, experiments, why);
    json_decref(objects);
    return err;
}

void experiments_free(struct experiments *experiments)
{
    for (size_t i = 0; i < experiments->count; i++) {
        free(experiments->list[i].identity);
        json_decref(experiments->list[i].members);
        json_decref(experiments->list[i].launches);
    }
    free(experiments->list);
    json_decref(experiments->index);
}

/* Whether the two agree in operation, size and all that both tell; programs may differ. */
static bool experiments_agree(const json_t *a, const json_t *b)
{
    const char *key = NULL;
    json_t *value = NULL;
    if (!json_equal(json_object_get(a, "operation"), json_object_get(b, "operation")) ||
        !json_equal(json_object_get(a, "bytes"), json_object_get(b, "bytes"))) {
        return false;
    }
    json_object_foreach((json_t *)a, key, value)
    {
        const json_t *other = json_object_get(b, key);
        if (other && strcmp(key, "program") != 0 && !json_equal(value, other)) {
            return false;
        }
    }
    return true;
}

const struct experiment *experiments_find(const struct experiments *other,
                                          const struct experiment *wanted, bool *several)
{
    const json_t *known = json_object_get(other->index, wanted->identity);
    const struct experiment *found = NULL;
    *several = false;
    if (known) {
        return &other->list[json_integer_value(known)];
    }
    for (size_t i = 0; i < other->count; i++) {
        if (experiments_agree(other->list[i].members, wanted->members)) {
            *several = found != NULL;
            found = &other->list[i];
            if (*several) {
                return NULL;
            }
        }
    }
    return found;
}

static void experiments_describe_bytes(json_int_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(text, size, "%lld %s", (long long)bytes, units[unit]);
}

static void experiments_describe_member(const char *key, const json_t *value, char *part,
                                        size_t size)
{
    const long long number = (long long)json_integer_value(value);
    if (strcmp(key, "bytes") == 0) {
        experiments_describe_bytes(number, part, size);
    } else if (strcmp(key, "processes") == 0) {
        (void)snprintf(part, size, "%lld processes", number);
    } else if (json_is_integer(value)) {
        (void)snprintf(part, size, "%s %lld", key, number);
    } else {
        (void)snprintf(part, size, "%s", json_string_value(value));
    }
}

void experiment_describe(const json_t *members, char *text, size_t size)
{
    static const char *const first[] = {"operation", "bytes",  "processes",
                                        "algorithm", "scheme", NULL};
    const char *key = NULL;
    json_t *value = NULL;
    char part[128];
    size_t used = 0;
    text[0] = '\0';
    for (int pass = 0; pass < 6; pass++) { /* the five above in their order, then all others */
        json_object_foreach((json_t *)members, key, value)
        {
            const bool here =
                first[pass] ? strcmp(first[pass], key) == 0 : !experiments_is_listed(first, key);
            if (!here || used + 4 >= size) {
                continue;
            }
            experiments_describe_member(key, value, part, sizeof(part));
            const int wrote =
                snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", part);
            used += wrote > 0 ? (size_t)wrote : 0;
        }
    }
}
