/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the lists of a bench study. */
#include "bench/bench_study.h"

#include "bench/witness.h"
#include "main/command.h"
#include "main/shuffle.h"
#include "main/sizes.h"
#include "main/word_list.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bench_load_plugin(void *given, char *path, struct ictus_why *why)
{
    struct bench_study *study = given;
    return ictus_plugins_load(&study->plugins, path, why);
}

static int bench_load_plugins(struct bench_study *study, struct ictus_why *why)
{
    const struct word_list list = {"plugin", study->options->plugin, "plugin"};
    if (!list.text) {
        return ICTUS_OK;
    }
    const int err = word_list_read_all(&list, bench_load_plugin, study, why);
    /* Whatever is wrong with the file is reported as a wrong option. */
    return err && err != ICTUS_ERR_NOMEM ? ICTUS_ERR_SPEC : err;
}

/* Mock-ups are for comparisons, and an MPI_Init is slow: they are measured where they are named. */
static void bench_study_add_all_ops(struct bench_study *study)
{
    struct ictus_operation_info info;
    study->every_operation = true;
    for (int i = 0; study->op_count < STUDY_OPS_MAX && !ictus_operation(study->plugins, i, &info);
         i++) {
        if (!info.mocks && !info.once && (!info.threaded || study->options->threads > 0)) {
            study->ops[study->op_count++] = info;
        }
    }
}

static int bench_study_add_op(void *given, char *word, struct ictus_why *why)
{
    struct bench_study *study = given;
    if (study->op_count == STUDY_OPS_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--ops: at most %d operations can be given",
                             STUDY_OPS_MAX);
    }
    return ictus_operation_find(study->plugins, word, &study->ops[study->op_count++], why);
}

static int bench_study_read_ops(struct bench_study *study, struct ictus_why *why)
{
    const struct word_list list = {"ops", study->options->ops, "operation"};
    if (strcmp(list.text, "all") == 0) {
        bench_study_add_all_ops(study);
        return ICTUS_OK;
    }
    return word_list_read(&list, bench_study_add_op, study, why);
}

static int bench_study_read_counts(struct bench_study *study, struct ictus_why *why)
{
    int counts[GROUP_COUNTS_MAX];
    const int err = group_counts(study->options->processes, counts, &study->group_count, why);
    for (int i = 0; i < study->group_count && !err; i++) {
        study->groups[i].processes = counts[i];
        study->groups[i].comm = MPI_COMM_NULL;
    }
    return err;
}

static int bench_study_add_reduction(void *given, char *word, struct ictus_why *why)
{
    struct bench_study *study = given;
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        if (strcmp(word, ictus_reduction_names[r]) == 0) {
            study->wanted[r] = true;
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, "reduction", word, ictus_reduction_names);
}

static int bench_study_read_reductions(struct bench_study *study, struct ictus_why *why)
{
    const struct word_list list = {"reduction", study->options->reduction, "reduction"};
    if (list.text) {
        return word_list_read(&list, bench_study_add_reduction, study, why);
    }
    const bool together = strcmp(study->options->arrival, "together") == 0;
    study->wanted[ICTUS_REDUCE_EXIT] = !together;
    study->wanted[ICTUS_REDUCE_WAIT] = !together;
    study->wanted[ictus_scheme_reduction(study->options->scheme)] = together;
    return ICTUS_OK;
}

static int bench_study_add_algorithm(struct bench_study *study, const char *operation,
                                     const char *name, bool of_all, struct ictus_why *why)
{
    for (int i = 0; i < study->algorithm_count; i++) {
        struct bench_algorithm *known = &study->algorithms[i];
        if (strcmp(known->operation, operation) == 0 && strcmp(known->name, name) == 0) {
            /* An operation that was named is measured in any case. */
            known->of_all = known->of_all && of_all;
            return ICTUS_OK;
        }
    }
    if (study->algorithm_count == STUDY_ALGORITHMS_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--algorithm: at most %d algorithms can be given",
                             STUDY_ALGORITHMS_MAX);
    }
    struct bench_algorithm *a = &study->algorithms[study->algorithm_count++];
    (void)snprintf(a->operation, sizeof(a->operation), "%s", operation);
    (void)snprintf(a->name, sizeof(a->name), "%s", name);
    a->of_all = of_all;
    return ICTUS_OK;
}

/* Every algorithm of an operation, the library's own choice first. */
static int bench_study_add_every(struct bench_study *study, const char *operation,
                                 const char *const *names, struct ictus_why *why)
{
    int err = bench_study_add_algorithm(study, operation, ICTUS_ALGORITHM_DEFAULT, true, why);
    for (int i = 0; names[i] && !err; i++) {
        err = bench_study_add_algorithm(study, operation, names[i], true, why);
    }
    return err;
}

/* The algorithms of every operation that has a choice. */
static int bench_study_add_all_algorithms(struct bench_study *study, struct ictus_why *why)
{
    int err = ICTUS_OK;
    for (int op = 0; op < study->op_count && !err; op++) {
        const char *const *names = NULL;
        struct ictus_why unheard;
        const char *operation = study->ops[op].name;
        if (!ictus_selector_algorithms(study->selector, operation, &names, &unheard)) {
            err = bench_study_add_every(study, operation, names, why);
        }
    }
    return err;
}

/* One that was named, or "all" of an operation that is measured. */
static int bench_study_add_named(struct bench_study *study, const char *operation, const char *name,
                                 struct ictus_why *why)
{
    const char *const *names = NULL;
    const int err = ictus_selector_algorithms(study->selector, operation, &names, why);
    bool measured = false;
    for (int op = 0; op < study->op_count && !measured; op++) {
        measured = strcmp(study->ops[op].name, operation) == 0;
    }
    if (err || !measured) {
        return err ? err
                   : ictus_because(why, ICTUS_ERR_SPEC,
                                   "--algorithm: '%.60s' is not one of the operations of --ops",
                                   operation);
    }
    if (strcmp(name, "all") == 0) {
        return bench_study_add_every(study, operation, names, why);
    }
    bool known = strcmp(name, ICTUS_ALGORITHM_DEFAULT) == 0;
    for (int i = 0; names[i] && !known; i++) {
        known = strcmp(names[i], name) == 0;
    }
    return known ? bench_study_add_algorithm(study, operation, name, false, why)
                 : ictus_unknown(why, "algorithm", name, names);
}

/* Whose algorithms a list names: a colon begins the list of another operation. */
struct algorithm_reading {
    struct bench_study *study;
    const char *operation;
};

static int bench_study_take_algorithm(void *given, char *word, struct ictus_why *why)
{
    struct algorithm_reading *reading = given;
    char *colon = strchr(word, ':');
    if (colon) {
        *colon = '\0';
        reading->operation = word;
        word = colon + 1;
    }
    return reading->operation
               ? bench_study_add_named(reading->study, reading->operation, word, why)
               : ictus_because(
                     why, ICTUS_ERR_SPEC,
                     "--algorithm: '%.60s' is malformed; write OPERATION:NAME,NAME or all", word);
}

/* "allreduce:ring,recursive_doubling,bcast:all" */
static int bench_study_read_algorithms(struct bench_study *study, struct ictus_why *why)
{
    const struct word_list list = {"algorithm", study->options->algorithm, "algorithm"};
    struct algorithm_reading reading = {study, NULL};
    if (!list.text) {
        return ICTUS_OK;
    }
    const int err = ictus_selector_create(&study->selector, why);
    if (!err && strcmp(list.text, "all") == 0) {
        return bench_study_add_all_algorithms(study, why);
    }
    return err ? err : word_list_read_all(&list, bench_study_take_algorithm, &reading, why);
}

/* Each of the counts must do for named operations, one of them for all there are. */
static int bench_study_checked_processes(const struct bench_study *study)
{
    int chosen = study->groups[0].processes;
    for (int i = 1; i < study->group_count; i++) {
        const int other = study->groups[i].processes;
        if (study->every_operation ? other > chosen : other < chosen) {
            chosen = other;
        }
    }
    return chosen;
}

/* The sizes that an operation is measured with. */
static const uint64_t *bench_study_sizes(const struct bench_study *study, int op, size_t *count)
{
    static const uint64_t none = 0;
    const bool is_element = study->ops[op].single && !study->sizes_given;
    *count = study->ops[op].has_data && !is_element ? study->size_count : 1;
    if (!study->ops[op].has_data) {
        return &none;
    }
    return is_element ? &study->element : study->sizes;
}

/* Whether an operation can be measured as asked, at every size. */
static int bench_study_check_op(const struct bench_study *study, int op, struct ictus_why *why)
{
    size_t count = 0;
    const uint64_t *sizes = bench_study_sizes(study, op, &count);
    const int processes = bench_study_checked_processes(study);
    int err = ICTUS_OK;
    for (size_t i = 0; i < count && !err; i++) {
        const struct bench_experiment e = {.op = op, .algorithm = -1, .bytes = sizes[i]};
        struct ictus_bench_plan plan = bench_study_plan(study, &e);
        if (op > 0 || i > 0) {
            plan.arrival = NULL; /* the same for all processes, and it may come from a file, so it
                                    is read once */
        }
        err = ictus_bench_check(&plan, study->options->scheme, processes, why);
    }
    return err;
}

/* Of all operations those that can; of named ones each must. */
static int bench_study_check_ops(struct bench_study *study, struct ictus_why *why)
{
    int can = 0;
    int err = ICTUS_OK;
    for (int op = 0; op < study->op_count; op++) {
        err = bench_study_check_op(study, op, why);
        if (!err) {
            study->ops[can++] = study->ops[op];
        } else if (!study->every_operation ||
                   (err != ICTUS_ERR_ARG && err != ICTUS_ERR_UNSUPPORTED)) {
            return err;
        } else if (command_rank() == 0) {
            (void)fprintf(stderr, "ictus bench: left out: %s\n", why->text);
        }
    }
    study->op_count = can;
    return can ? ICTUS_OK : err;
}

/* All processes took part in MPI_Init. */
static int bench_study_check_once(const struct bench_study *study, struct ictus_why *why)
{
    bool part = study->options->group > 0;
    for (int i = 0; i < study->group_count; i++) {
        part = part || study->groups[i].processes != command_size();
    }
    for (int op = 0; part && op < study->op_count; op++) {
        if (study->ops[op].once) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "%s concerns all processes; measure it without --processes and "
                                 "--group",
                                 study->ops[op].name);
        }
    }
    return ICTUS_OK;
}

static int bench_study_check_rest(struct bench_study *study, struct ictus_why *why)
{
    int err = ictus_scheme_check(study->options->scheme, why);
    if (!err && study->options->resume && !study->options->results.file) {
        err = ictus_because(why, ICTUS_ERR_SPEC,
                            "--resume needs --output=FILE, the file to continue");
    }
    if (!err) {
        err = bench_study_check_once(study, why);
    }
    for (int i = 0; i < study->group_count && !err && study->options->group > 0; i++) {
        if (study->groups[i].processes % study->options->group != 0) {
            err =
                ictus_because(why, ICTUS_ERR_SPEC,
                              "--group=%lld: the number of processes (%d) is not a multiple of it",
                              (long long)study->options->group, study->groups[i].processes);
        }
    }
    if (!err && study->options->group > 0 && study->options->algorithm) {
        err = ictus_because(
            why, ICTUS_ERR_SPEC,
            "--algorithm cannot be used with --group: groups cannot be forced to use an algorithm");
    }
    return err ? err : bench_study_check_ops(study, why);
}

int bench_study_read(struct bench_study *study, struct ictus_why *why)
{
    int err = bench_load_plugins(study, why);
    if (!err) {
        err = bench_study_read_ops(study, why);
    }
    if (!err) {
        err = sizes_read("sizes", study->options->sizes, &study->sizes, &study->size_count, why);
    }
    study->element = ictus_datatype_bytes(study->options->datatype);
    if (!err) {
        err = bench_study_read_counts(study, why);
    }
    if (!err) {
        err = bench_study_read_reductions(study, why);
    }
    if (!err) {
        err = bench_study_check_rest(study, why);
    }
    if (!err) {
        err = bench_study_read_algorithms(study, why);
    }
    study->clock = clock_spec_join(&study->clock_text, study->options->sync, study->options->clock);
    return err;
}

struct ictus_bench_plan bench_study_plan(const struct bench_study *study,
                                         const struct bench_experiment *e)
{
    const struct bench_options *o = study->options;
    return (struct ictus_bench_plan){
        .size = sizeof(struct ictus_bench_plan),
        .operation = study->ops[e->op].name,
        .plugins = study->plugins,
        .bytes = e->bytes,
        .datatype = o->datatype,
        .reduce = o->reduce,
        .root = (int)o->root,
        .rotate_root = o->rotate_root,
        .in_place = o->in_place,
        .buffers = (int)o->buffers,
        .messages = (int)o->messages,
        .partitions = (int)o->partitions,
        .window = ictus_window_kinds[o->window],
        .threads = (int)o->threads,
        .init = {{o->startup.init_began_ns}, {o->startup.init_ended_ns}},
        .layout = o->layout,
        .topology = o->topology,
        .cold = o->cold,
        .check = o->check_all ? 2 : o->check,
        .group = (int)o->group,
        .arrival = study->groups[e->group].arrival ? study->groups[e->group].arrival : o->arrival,
        .repetitions = o->repetitions,
        .warmup = o->warmup,
        .width = o->width,
        .keep_ranks = o->raw_ranks,
    };
}

static void bench_study_shuffle(struct bench_experiment *list, size_t count, uint64_t seed)
{
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)(shuffle_next(&seed) % i);
        const struct bench_experiment kept = list[i - 1];
        list[i - 1] = list[j];
        list[j] = kept;
    }
}

/* The sizes of one operation under one algorithm; one experiment where the size does not matter. */
static size_t bench_study_list_sizes(const struct bench_study *study, struct bench_experiment first,
                                     struct bench_experiment *list)
{
    size_t count = 0;
    const uint64_t *sizes = bench_study_sizes(study, first.op, &count);
    for (size_t i = 0; i < count; i++) {
        first.bytes = sizes[i];
        list[i] = first;
    }
    return count;
}

static size_t bench_study_list_algorithms(const struct bench_study *study, int op, int group,
                                          struct bench_experiment *list)
{
    struct bench_experiment first = {.op = op, .group = group, .algorithm = -1};
    size_t count = 0;
    bool named = false;
    for (int a = 0; a < study->algorithm_count; a++) {
        if (strcmp(study->algorithms[a].operation, study->ops[op].name) == 0) {
            first.algorithm = a;
            count += bench_study_list_sizes(study, first, list + count);
            named = true;
        }
    }
    return named ? count : bench_study_list_sizes(study, first, list);
}

int bench_study_list(const struct bench_study *study, struct bench_experiment **out, size_t *count)
{
    const size_t most = (size_t)study->group_count * (size_t)study->op_count *
                        ((size_t)study->algorithm_count + 1) * study->size_count;
    struct bench_experiment *list = calloc(most, sizeof(*list));
    if (!list) {
        return ICTUS_ERR_NOMEM;
    }
    *count = 0;
    for (int group = 0; group < study->group_count; group++) {
        for (int op = 0; op < study->op_count; op++) {
            *count += bench_study_list_algorithms(study, op, group, list + *count);
        }
    }
    if (study->options->shuffle) {
        bench_study_shuffle(list, *count, (uint64_t)study->options->seed);
    }
    *out = list;
    return ICTUS_OK;
}

struct bench_proof *bench_study_proof(const struct bench_study *study,
                                      const struct bench_experiment *e)
{
    return e->algorithm >= 0 && study->proofs ? &study->proofs[e - study->listed] : NULL;
}

void bench_study_fini(struct bench_study *study)
{
    for (int i = 0; i < study->group_count; i++) {
        struct bench_group *group = &study->groups[i];
        if (group->member) {
            ictus_bench_free(group->bench);
            MPI_Comm_free(&group->comm);
        }
        free(group->arrival);
    }
    ictus_selector_free(study->selector);
    witness_free(&study->witness);
    free(study->proofs);
    ictus_plugins_free(study->plugins);
    json_decref(study->done);
    free(study->sizes);
}
