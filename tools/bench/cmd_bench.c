/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus bench: how long a collective takes when every process starts together. */
#include "bench/bench_footer.h"
#include "bench/bench_proof.h"
#include "bench/bench_reach.h"
#include "bench/bench_rounds.h"
#include "bench/bench_study.h"
#include "main/command.h"
#include "main/group.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/progress.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "main/text_table.h"

#include <ictus/arrivals.h>
#include <ictus/text.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A simulated machine has no lasting states, so sleeping would only let its clocks drift. */
#if defined(ICTUS_SIMGRID)
#define SPAN_DEFAULT "0"
#else
#define SPAN_DEFAULT "3s"
#endif

#define AT(member) offsetof(struct bench_options, member)

static const struct option_row options[] = {
    ROW_OPS(AT(ops), "allreduce", "operations to measure, or all"),
    ROW_SIZES(AT(sizes), "8,1K,64K"),
    ROW_PROCESSES(AT(processes)),
    ROW_PLACEMENT(AT(placement), group_placements),
    {"group", 0, OPTION_INT, AT(group), "0", 0, 1e6, NULL, "N",
     "run in groups of this many processes at once"},
    ROW_ALGORITHM(AT(algorithm), NULL, "algorithms: allreduce:ring,linear or all"),
    ROW_SCHEME(AT(scheme), "harmonize", "SPEC", "how processes start together"),
    ROW_REPETITIONS(AT(repetitions), "1000", 1e9, "valid repetitions of each experiment"),
    ROW_TIME(AT(max_time_s), NULL, "time limit of each experiment, 0: none [2s]"),
    {"rounds", 0, OPTION_INT, AT(rounds), "10", 1, 10000, NULL, "N",
     "rounds, each with a part of every experiment"},
    {"span", 0, OPTION_SECONDS, AT(span_s), SPAN_DEFAULT, 0, 1e6, NULL, "TIME",
     "spread the rounds over at least this time"},
    {"width", 0, OPTION_RATIO, AT(width), "0", 0, 1, NULL, "RATIO",
     "stop at this width of the median's interval"},
    ROW_WARMUP(AT(warmup), "10", 1e6, "untimed calls before each measurement"),
    {"reduction", 0, OPTION_TEXT, AT(reduction), NULL, 0, 0, NULL, "LIST",
     "how the processes' times are combined: max,mean,min,root,makespan,exit,wait"},
    ROW_ROOT(AT(root)),
    {"rotate-root", 0, OPTION_FLAG, AT(rotate_root), NULL, 0, 0, NULL, NULL,
     "use another root in each repetition"},
    ROW_DATATYPE(AT(datatype)),
    ROW_REDUCE(AT(reduce)),
    ROW_LAYOUT(AT(layout)),
    ROW_TOPOLOGY(AT(topology)),
    {"in-place", 0, OPTION_FLAG, AT(in_place), NULL, 0, 0, NULL, NULL, "use MPI_IN_PLACE"},
    {"check", 0, OPTION_FLAG, AT(check), NULL, 0, 0, NULL, NULL,
     "verify the results of the operations"},
    {"check-all", 0, OPTION_FLAG, AT(check_all), NULL, 0, 0, NULL, NULL,
     "verify the result of every repetition"},
    {"buffers", 0, OPTION_INT, AT(buffers), "1", 1, 64, NULL, "N",
     "number of buffer sets, used in turn"},
    {"messages", 0, OPTION_INT, AT(messages), "64", 1, 4096, NULL, "N",
     "messages in flight in bandwidth operations"},
    {"partitions", 0, OPTION_INT, AT(partitions), "4", 1, 4096, NULL, "N",
     "parts of a partitioned message"},
    {"threads", 0, OPTION_INT, AT(threads), "0", 0, 64, NULL, "N",
     "threads of each process in ping_pong_threads"},
    {"window", 0, OPTION_CHOICE, AT(window), ICTUS_WINDOW_DEFAULT, 0, 0, ictus_window_kinds, "KIND",
     "one-sided windows: create, shared, ..."},
    {"cold", 0, OPTION_FLAG, AT(cold), NULL, 0, 0, NULL, NULL,
     "empty the caches before each repetition"},
    {"arrival", 0, OPTION_TEXT, AT(arrival), "together", 0, 0, NULL, "SPEC",
     "arrival pattern: random:spread=10us"},
    {"plugin", 0, OPTION_TEXT, AT(plugin), NULL, 0, 0, NULL, "FILE",
     "load operations of your own from this plugin"},
    ROW_CLOCK(AT(clock)),
    ROW_SYNC(AT(sync)),
    {"shuffle", 0, OPTION_FLAG, AT(shuffle), NULL, 0, 0, NULL, NULL,
     "measure the experiments in random order"},
    ROW_SEED(AT(seed), 9e18, "seed of the random order"),
    ROW_RAW(AT(raw), "keep every sample in the result file"),
    {"raw-ranks", 0, OPTION_FLAG, AT(raw_ranks), NULL, 0, 0, NULL, NULL,
     "also keep the samples of every process"},
    ROWS_RESULTS(AT(results)),
    {"resume", 0, OPTION_FLAG, AT(resume), NULL, 0, 0, NULL, NULL,
     "continue the --output file of an interrupted run"},
    ROW_LIST(AT(list), "list operations and schemes"),
    {"list-algorithms", 0, OPTION_FLAG, AT(list_algorithms), NULL, 0, 0, NULL, NULL,
     "list the MPI library's algorithms"},
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static int bench_build_group(const struct bench_study *study, struct bench_group *group,
                             struct ictus_why *why)
{
    const struct bench_options *o = study->options;
    group_split(group->processes, (enum placement)o->placement, &group->comm);
    group->member = group->comm != MPI_COMM_NULL;
    const int err =
        group->member ? ictus_bench_create(group->comm, o->scheme, study->clock, &group->bench, why)
                      : ICTUS_OK;
    /* Rank 0 is in every group, and all of a group have the same error. */
    return results_agree(err, why);
}

static int bench_build_groups(struct bench_study *study, struct ictus_why *why)
{
    for (int i = 0; i < study->group_count; i++) {
        const int err = bench_build_group(study, &study->groups[i], why);
        if (err) {
            return err;
        }
    }
    return ICTUS_OK;
}

/* A group's footprint, and the pattern with it. */
static int bench_fit_group(const struct bench_study *study, int index, struct bench_group *group,
                           struct ictus_why *why)
{
    const struct bench_experiment first = {.group = index, .algorithm = -1};
    const struct ictus_bench_plan plan = bench_study_plan(study, &first);
    const int err = ictus_bench_fit_footprint(group->bench, &plan, &group->footprint, why);
    if (err || group->footprint == 0) {
        return err;
    }
    const size_t room = strlen(plan.arrival) + 32;
    group->arrival = malloc(room);
    if (!group->arrival) {
        return ICTUS_ERR_NOMEM;
    }
    (void)snprintf(group->arrival, room, "%s,footprint=%lld", plan.arrival,
                   (long long)group->footprint);
    return ICTUS_OK;
}

/* How cold the caches of a replay are is found out before anything is measured under it. */
static int bench_fit_footprints(struct bench_study *study, struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (strcmp(study->options->arrival, "together") == 0) {
        return ICTUS_OK;
    }
    for (int i = 0; i < study->group_count && !err; i++) {
        struct bench_group *group = &study->groups[i];
        if (group->member) {
            err = bench_fit_group(study, i, group, why);
        }
        if (group->processes < command_size()) {
            group_rest();
        }
        err = results_agree(err, why);
    }
    return err;
}

/* Measure on a member: under a forced algorithm if one is named. */
static int bench_measure(struct bench_study *study, const struct bench_experiment *e,
                         struct ictus_bench_plan *plan, struct ictus_bench_result *result,
                         struct ictus_why *why)
{
    const struct bench_group *group = &study->groups[e->group];
    if (e->algorithm < 0) {
        return ictus_bench_run(group->bench, plan, result, why);
    }
    const struct bench_algorithm *a = &study->algorithms[e->algorithm];
    int err = bench_study_refuse(study, e, why);
    if (!err) {
        err = ictus_selector_force(study->selector, group->comm, a->operation, a->name, &plan->comm,
                                   why);
    }
    if (err) {
        return err;
    }
    plan->use_comm = 1;
    err = ictus_selector_works(study->selector, plan->comm, (size_t)e->bytes,
                               ictus_datatype_bytes(study->options->datatype));
    if (err) {
        (void)ictus_because(why, err, "algorithm '%s' of %s does not work with %llu bytes", a->name,
                            a->operation, (unsigned long long)e->bytes);
    } else {
        err = ictus_bench_run(group->bench, plan, result, why);
    }
    (void)ictus_selector_release(study->selector, &plan->comm);
    return err;
}

static int bench_run_experiments(struct bench_study *study, struct ictus_why *why)
{
    struct bench_experiment *list = NULL;
    size_t count = 0;
    int err = bench_study_list(study, &list, &count);
    err = results_agree(err, why);
    progress_start(&study->progress, &study->options->talk, "experiments", (double)count);
    progress_foretell(&study->progress, study->options->max_time_s / rounds_count(study->options));
    if (!err && count > 0) {
        err = bench_study_prove(study, list, count, why);
    }
    if (!err && count > 0) {
        err = rounds_run(study, list, count, bench_measure, why);
    }
    progress_hide(&study->progress);
    free(list);
    return err;
}

/* The clock's uncertainty right after its first synchronisation, over all ranks. */
static void clock_facts(const struct bench_study *study, struct header_facts *facts)
{
    struct ictus_sync_stats stats = {0};
    double worst[2] = {0.0, 0.0};
    if (study->groups[0].member) {
        (void)ictus_clock_stats(ictus_bench_clock(study->groups[0].bench), &stats);
    }
    const double mine[2] = {stats.sigma_ns, stats.bound_ns};
    MPI_Allreduce(mine, worst, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    facts->clock_known = true;
    facts->clock_sigma_ns = worst[0];
    facts->clock_bound_ns = worst[1];
}

/* One file holds what one MPI library did: its header speaks for all that is in it. */
static int bench_check_library(const char *path, const json_t *objects, const json_t *header,
                               struct ictus_why *why)
{
    const char *mine = json_string_value(json_object_get(header, "mpi"));
    const char *its = json_string_value(json_object_get(json_array_get(objects, 0), "mpi"));
    return mine && its && strcmp(mine, its) != 0
               ? ictus_because(why, ICTUS_ERR_SPEC,
                               "--resume: '%.200s' was measured with %.80s, but this is %.80s",
                               path, its, mine)
               : ICTUS_OK;
}

/*
 * --resume: go on after the last whole line of the file; what it holds is not touched, so that
 * nothing is lost if this run is killed as well. Where there is no file yet, begin one.
 */
static int bench_resume(struct bench_study *study, json_t *header, struct ictus_why *why)
{
    const struct bench_options *o = study->options;
    size_t i = 0;
    json_t *object = NULL;
    json_t *objects = NULL;
    int err = ictus_result_read(o->results.file, &objects, NULL, why);
    if (!err) {
        err = bench_check_library(o->results.file, objects, header, why);
    }
    if (!err) {
        err = bench_study_know(study, objects);
    }
    if (!err) {
        results_outlive_readers();
        err = ictus_output_resume((enum ictus_format)o->results.format, bench_study_columns(study),
                                  o->results.file, &study->out, why);
    }
    if (!err && o->results.format == ICTUS_FORMAT_TEXT) {
        header_print(header);
    }
    json_decref(header);
    json_array_foreach(objects, i, object)
    {
        const char *type = json_string_value(json_object_get(object, "type"));
        if (!err && strcmp(type, "measurement") == 0) {
            err = ictus_output_show(study->out, json_incref(object));
        }
    }
    json_decref(objects);
    return err;
}

/* Whether there is a file to continue: rank 0 looks and tells all. */
static bool bench_is_resumed(const struct bench_options *o)
{
    int there = 0;
    if (o->resume && command_rank() == 0) {
        there = access(o->results.file, F_OK) == 0;
    }
    MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return there;
}

static int bench_open_results(struct bench_study *study, struct ictus_why *why)
{
    char spec[2048];
    const struct bench_group *first = &study->groups[0];
    (void)snprintf(spec, sizeof(spec), "%s",
                   first->member ? ictus_clock_spec(ictus_bench_clock(first->bench)) : "");
    char *at = strchr(spec, '@');
    struct header_facts facts = {
        .command = "bench",
        .rows = options,
        .options = study->options,
        .sync = spec,
        .clock = at ? at + 1 : "",
        .seeded = study->options->shuffle,
        .seed = study->options->seed,
        .selection = study->selector ? ictus_selector_terms(study->selector) : NULL,
    };
    if (at) {
        *at = '\0';
    }
    clock_facts(study, &facts);
    json_t *header = header_create(&facts);
    if (bench_is_resumed(study->options)) {
        return results_agree(command_rank() == 0 ? bench_resume(study, header, why) : ICTUS_OK,
                             why);
    }
    return results_open(&study->options->results, bench_study_columns(study), header, &study->out,
                        why);
}

/* A pattern belongs to one call of the application; other operations are called at other times. */
static void bench_warn_of_arrival(const struct bench_study *study)
{
    const char *recorded = study->traced.operation;
    const char *other = NULL;
    int others = 0;
    if (!recorded[0]) {
        return;
    }
    for (int i = 0; i < study->op_count; i++) {
        if (strcmp(study->ops[i].name, recorded) != 0) {
            other = other ? other : study->ops[i].name;
            others++;
        }
    }
    if (others > 1) {
        (void)fprintf(stderr,
                      "ictus bench: the arrival pattern was recorded for %s, but %d other "
                      "operations, such as %s, are measured under it\n",
                      recorded, others, other);
    } else if (other) {
        (void)fprintf(stderr,
                      "ictus bench: the arrival pattern was recorded for %s, but %s is measured "
                      "under it\n",
                      recorded, other);
    }
}

/* What a user should know before she believes the table. */
static void bench_warn_of_conditions(const struct bench_study *study)
{
    const struct bench_group *first = &study->groups[0];
    if (command_rank() != 0 || study->options->talk.quiet) {
        return;
    }
    if (command_size() == 1) {
        (void)fprintf(stderr,
                      "ictus bench: only one process runs; 'mpirun -n N ictus bench' starts "
                      "more\n");
    }
    if (first->member && ictus_bench_crowded(first->bench)) {
        (void)fprintf(stderr, "ictus bench: there are more processes than cores: they cannot all "
                              "start together, and times include waiting for a core\n");
    }
    bench_warn_of_arrival(study);
}

static int bench_run_study(struct bench_study *study, struct ictus_why *why)
{
    int err = bench_build_groups(study, why);
    if (!err) {
        if (command_rank() == 0) { /* who writes the results */
            (void)ictus_arrival_describe(study->options->arrival, &study->traced);
        }
        bench_warn_of_conditions(study);
        err = bench_fit_footprints(study, why);
    }
    if (!err) {
        err = bench_open_results(study, why);
    }
    if (!err) {
        err = bench_run_experiments(study, why);
        bench_footer_print(study, options);
        err = results_close(study->out, study->options->results.file, err, why);
    }
    return err;
}

static void bench_list_all(const struct bench_study *study)
{
    struct ictus_operation_info info;
    const char *summary = NULL;
    printf("operations\n");
    for (int i = 0; !ictus_operation(study->plugins, i, &info); i++) {
        printf("  %-28s %s\n", info.name, info.summary);
    }
    printf("schemes\n");
    for (int i = 0; ictus_scheme_name(i, &summary); i++) {
        printf("  %-28s %s\n", ictus_scheme_name(i, NULL), summary);
    }
}

static int bench_list_algorithms(struct ictus_why *why)
{
    struct ictus_selector *selector = NULL;
    const int err = ictus_selector_create(&selector, why);
    if (err) {
        return err;
    }
    const char *const *operations = ictus_selector_operations(selector);
    for (int i = 0; command_rank() == 0 && operations[i]; i++) {
        const char *const *names = NULL;
        if (!ictus_selector_algorithms(selector, operations[i], &names, why)) {
            for (int k = 0; names[k]; k++) {
                printf("%s:%s\n", operations[i], names[k]);
            }
        }
    }
    ictus_selector_free(selector);
    return ICTUS_OK;
}

/*
 * Refuse options that would silently do nothing. --root is allowed with any operation if
 * --reduction asks for the root's own times.
 */
static int bench_check_effect(const struct bench_study *study, struct ictus_why *why)
{
    const struct bench_options *o = study->options;
    unsigned reached = study->wanted[ICTUS_REDUCE_ROOT] ? REACH_ROOT : 0U;
    for (int op = 0; op < study->op_count; op++) {
        reached |= bench_reach_of(&study->ops[op]);
    }
    if (rounds_count(o) == 1 && o->span_s > 0 && options_is_set(options_row(options, "span"), o)) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--span has an effect only if there are --repetitions for several "
                             "rounds, 50 for each");
    }
    return study->every_operation ? ICTUS_OK : bench_reach_check(options, o, reached, why);
}

static int bench_act(struct bench_study *study, struct ictus_why *why)
{
    if (study->options->list_algorithms) {
        return bench_list_algorithms(why);
    }
    study->sizes_given = options_is_set(options_row(options, "sizes"), study->options);
    int err = bench_study_read(study, why);
    err = err ? err : bench_check_effect(study, why);
    if (!err && study->options->list) {
        if (command_rank() == 0) {
            bench_list_all(study);
        }
        return ICTUS_OK;
    }
    return err ? err : bench_run_study(study, why);
}

static int bench_run(const void *given, int word_count, char **words)
{
    struct bench_study *study = calloc(1, sizeof(*study));
    struct ictus_why why = {""};
    if (!study) {
        return command_fail("bench", ICTUS_ERR_NOMEM, NULL);
    }
    study->options = given;
    interrupt_watch();
    const int err =
        word_count > 0
            ? ictus_because(&why, ICTUS_ERR_SPEC,
                            "unexpected argument '%.80s'; bench takes only options", words[0])
            : bench_act(study, &why);
    const bool below = study->left_out > 0;
    const char *file = study->options->results.file;
    bench_study_fini(study);
    free(study);
    if (interrupt_came() && file && !err && command_rank() == 0) {
        (void)fprintf(stderr,
                      "ictus bench: interrupted; repeat the command with --resume to "
                      "continue '%.200s'\n",
                      file);
    }
    return interrupt_end("bench", err, &why, below ? EXIT_BELOW : EXIT_OK);
}

const struct command command_bench = {
    .name = "bench",
    .summary = "measure collectives, every process starting together",
    .arguments = "",
    .details = "  mpirun -n 4 ictus bench --ops=allreduce,bcast --sizes=8..64K -o result.jsonl\n"
               "  ictus report result.jsonl",
    .options = options,
    .flags = NEEDS_MPI | ASKS_THREADS,
    .options_size = sizeof(struct bench_options),
    .startup_at = offsetof(struct bench_options, startup),
    .run = bench_run,
};
