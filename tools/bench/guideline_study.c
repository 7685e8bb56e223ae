/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the lists of a study of guidelines. */
#include "bench/guideline_study.h"

#include "main/command.h"
#include "main/sizes.h"
#include "main/word_list.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const guideline_kinds[] = {"mockup", "split", "monotony", NULL};

static int guideline_study_add_kind(void *given, char *word, struct ictus_why *why)
{
    struct guideline_study *study = given;
    for (int i = 0; guideline_kinds[i]; i++) {
        if (strcmp(guideline_kinds[i], word) == 0) {
            study->kinds[i] = true;
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, "kind of guideline", word, guideline_kinds);
}

static int guideline_read_kinds(struct guideline_study *study, struct ictus_why *why)
{
    struct word_list list = {"kinds", study->options->kinds, "kind of guideline"};
    if (strcmp(list.text, "all") == 0) {
        list.text = "mockup,split,monotony";
    }
    return word_list_read(&list, guideline_study_add_kind, study, why);
}

static bool guideline_study_is_wanted(const struct guideline_study *study,
                                      const struct ictus_operation_info *rival)
{
    return study->kinds[rival->pieces ? KIND_SPLIT : KIND_MOCKUP];
}

/* An operation and those of its mock-ups that are of a wanted kind. */
static int guideline_study_add_operation(struct guideline_study *study,
                                         const struct ictus_operation_info *info,
                                         struct ictus_why *why)
{
    struct ictus_operation_info rival;
    if (study->operation_count == GUIDELINE_OPS_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--ops: at most %d operations can be given",
                             GUIDELINE_OPS_MAX);
    }
    struct guideline_operation *op = &study->operations[study->operation_count++];
    op->rivals[op->rival_count++] = *info;
    for (int i = 0; op->rival_count < GUIDELINE_RIVALS_MAX && !ictus_operation(NULL, i, &rival);
         i++) {
        if (rival.mocks && strcmp(rival.mocks, info->name) == 0 &&
            guideline_study_is_wanted(study, &rival)) {
            op->rivals[op->rival_count++] = rival;
        }
    }
    return ICTUS_OK;
}

static bool guideline_study_has_mockup(const char *name)
{
    struct ictus_operation_info info;
    bool found = false;
    for (int i = 0; !found && !ictus_operation(NULL, i, &info); i++) {
        found = info.mocks && strcmp(info.mocks, name) == 0;
    }
    return found;
}

static int guideline_study_add_op(void *given, char *word, struct ictus_why *why)
{
    struct ictus_operation_info info;
    int err = ictus_operation_find(NULL, word, &info, why);
    if (!err && (info.mocks || !info.has_data || info.single)) {
        err = ictus_because(why, ICTUS_ERR_SPEC, "--ops: there is no guideline for '%.60s'", word);
    }
    return err ? err : guideline_study_add_operation(given, &info, why);
}

static int guideline_study_read_ops(struct guideline_study *study, struct ictus_why *why)
{
    const struct word_list list = {"ops", study->options->ops, "operation"};
    struct ictus_operation_info info;
    int err = ICTUS_OK;
    if (strcmp(list.text, "all") != 0) {
        return word_list_read(&list, guideline_study_add_op, study, why);
    }
    for (int i = 0; !err && !ictus_operation(NULL, i, &info); i++) {
        if (guideline_study_has_mockup(info.name)) {
            err = guideline_study_add_operation(study, &info, why);
        }
    }
    return err;
}

static int guideline_study_by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int guideline_read_sizes(struct guideline_study *study, struct ictus_why *why)
{
    const int err =
        sizes_read("sizes", study->options->sizes, &study->sizes, &study->size_count, why);
    if (err) {
        return err;
    }
    size_t kept = 0;
    qsort(study->sizes, study->size_count, sizeof(*study->sizes), guideline_study_by_size);
    for (size_t i = 0; i < study->size_count; i++) {
        if (kept == 0 || study->sizes[i] != study->sizes[kept - 1]) {
            study->sizes[kept++] = study->sizes[i];
        }
    }
    study->size_count = kept;
    return ICTUS_OK;
}

/* How many guidelines there are to test: what p is corrected for. */
static size_t guideline_count_comparisons(const struct guideline_study *study)
{
    size_t count = 0;
    for (int i = 0; i < study->operation_count; i++) {
        count += (size_t)(study->operations[i].rival_count - 1) * study->size_count;
        count += study->kinds[KIND_MONOTONY] ? study->size_count * (study->size_count - 1) / 2 : 0;
    }
    return count;
}

static int guideline_study_check_rest(struct guideline_study *study, struct ictus_why *why)
{
    const struct guideline_options *o = study->options;
    const size_t comparisons = guideline_count_comparisons(study);
    const struct ictus_bench_plan plan = {.size = sizeof(plan),
                                          .operation = study->operations[0].rivals[0].name,
                                          .bytes = study->sizes[0],
                                          .datatype = o->datatype,
                                          .reduce = o->reduce,
                                          .repetitions = 1};
    int err = ictus_scheme_check(o->scheme, why);
    err = err ? err : ictus_bench_check_plan(&plan, why);
    if (!err && o->root >= command_size()) {
        err = ictus_because(why, ICTUS_ERR_SPEC, "--root=%lld: must be a rank between 0 and %d",
                            (long long)o->root, command_size() - 1);
    }
    if (!err && o->rounds > o->repetitions) {
        err =
            ictus_because(why, ICTUS_ERR_SPEC, "--rounds=%lld: must not be more than --repetitions",
                          (long long)o->rounds);
    }
    if (!err && comparisons == 0) {
        err = ictus_because(why, ICTUS_ERR_SPEC,
                            "nothing to compare: monotony needs two sizes, and the other kinds "
                            "have no guideline for these operations");
    }
    study->limits = (struct guideline_limits){o->tolerance, o->significance, (double)comparisons,
                                              o->launch_spread, TURNS_UNKNOWN};
    study->tally = (struct guideline_tally){.processes = command_size(), .launches = 1};
    study->reduction = o->reduction > 0 ? (enum ictus_reduction)(o->reduction - 1)
                                        : ictus_scheme_reduction(o->scheme);
    return err;
}

static int guideline_allocate(struct guideline_study *study)
{
    const size_t cells = GUIDELINE_RIVALS_MAX * study->size_count;
    study->turns = calloc(cells, sizeof(*study->turns));
    study->unfit = calloc(cells, sizeof(*study->unfit));
    return study->turns && study->unfit ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

int guideline_study_read(struct guideline_study *study, struct ictus_why *why)
{
    study->operations = calloc(GUIDELINE_OPS_MAX, sizeof(*study->operations));
    int err = study->operations ? guideline_read_kinds(study, why) : ICTUS_ERR_NOMEM;
    err = err ? err : guideline_study_read_ops(study, why);
    err = err ? err : guideline_read_sizes(study, why);
    err = err ? err : guideline_study_check_rest(study, why);
    study_base_init(&study->base, "guidelines", &study->options->results, &study->options->talk);
    study_base_clock(&study->base, study->options->sync, study->options->clock);
    return err ? err : guideline_allocate(study);
}

void guideline_study_fini(struct guideline_study *study)
{
    for (size_t i = 0; study->turns && i < GUIDELINE_RIVALS_MAX * study->size_count; i++) {
        turns_fini(&study->turns[i]);
    }
    ictus_bench_free(study->bench);
    json_decref(study->earlier);
    free(study->turns);
    free(study->unfit);
    free(study->operations);
    free(study->sizes);
}
