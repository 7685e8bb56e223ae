/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus sync: how accurate, how long it stays so, and how costly each algorithm is here. */
#include "clocks/sync_experiment.h"
#include "clocks/sync_summary.h"
#include "main/command.h"
#include "main/group.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/meet.h"
#include "main/progress.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "main/spec_list.h"
#include "main/values.h"

#include <ictus/result.h>
#include <ictus/study.h>
#include <ictus/text.h>

#include <jansson.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(ICTUS_SIMGRID)
#define WARMUP "0" /* in a simulation connections cost nothing, and large runs cost much */
/* All simulated processes come to the same conclusion about a clock. */
#define CHECKED_ON MPI_COMM_SELF
#else
#define WARMUP "1"
#define CHECKED_ON MPI_COMM_WORLD
#endif

struct sync_options {
    const char *sync;
    const char *clock;
    const char *waits;
    int64_t repetitions;
    const char *processes;
    double sample;
    int64_t exchanges;
    int64_t warmup;
    int64_t seed;
    bool reseed;
    bool raw;
    bool list;
    struct results_options results;
    struct progress_options talk;
};

#define AT(member) offsetof(struct sync_options, member)

static const struct option_row options[] = {
    {"sync", 0, OPTION_TEXT, AT(sync), NULL, 0, 0, NULL, "SPEC[,SPEC...]",
     "clock algorithms; see --list"},
    ROW_CLOCK(AT(clock)),
    {"wait", 0, OPTION_TEXT, AT(waits), "0,5", 0, 0, NULL, "TIME[,TIME...]",
     "times after the synchronisation at which it is judged"},
    ROW_REPETITIONS(AT(repetitions), "5", 1e6, "synchronisations of each algorithm"),
    ROW_PROCESSES(AT(processes)),
    {"sample", 0, OPTION_RATIO, AT(sample), "100%", 1e-6, 1, NULL, "RATIO",
     "share of the processes to judge"},
    ROW_EXCHANGES(AT(exchanges), "100", 1, 1e6,
                  "exchanges for each judgement if the truth is not known"),
    ROW_WARMUP(AT(warmup), WARMUP, 1000,
               "warm-up synchronisations of each algorithm, which are not counted"),
    ROW_SEED(AT(seed), 9e18, "seed of the random order and of the sample of processes"),
    {"reseed", 0, OPTION_FLAG, AT(reseed), NULL, 0, 0, NULL, NULL,
     "draw new simulated clocks for each repetition"},
    ROW_RAW(AT(raw), "keep the error of every process in the result file"),
    ROW_LIST(AT(list), "list the algorithms and their parameters"),
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

/* Everything that is decided before anything is measured. */
struct plan {
    const struct sync_options *options;
    struct spec_list syncs;
    char clock[SPEC_ITEM_MAX];
    double *waits;
    size_t wait_count;
    int processes[GROUP_COUNTS_MAX];
    MPI_Comm
        comms[GROUP_COUNTS_MAX]; /* of each count; MPI_COMM_NULL where this rank is not in it */
    int process_count;
    struct ictus_output *out;     /* rank 0 */
    struct sync_summary *summary; /* rank 0, text */
    struct sync_quality *qualities;
    int64_t done; /* experiments */
};

static void sync_print_algorithms(void)
{
    struct ictus_entry entry;
    struct ictus_parameter p;
    for (size_t i = 0; ictus_sync_entry(i, &entry) == ICTUS_OK; i++) {
        printf("%s: %s\n", entry.name, entry.summary);
        for (size_t k = 0; ictus_sync_parameter(i, k, &p) == ICTUS_OK; k++) {
            printf("    %s=%s  %s", p.name, p.fallback, p.help);
            for (size_t c = 0; p.choices && p.choices[c]; c++) {
                printf("%s%s", c ? ", " : ": ", p.choices[c]);
            }
            printf("\n");
        }
    }
}

/* Where a simulated clock's own seed is, or NULL. */
static const char *sync_find_seed(const char *clock)
{
    const char *at = strstr(clock, "seed=");
    return at && at > clock && (at[-1] == ':' || at[-1] == ',') ? at : NULL;
}

/*
 * Put source and algorithm into one text. With --reseed each repetition has simulated clocks of its
 * own: its number is added to the seed that the clock has, or to --seed.
 */
static void clock_spec(const struct plan *plan, size_t sync, int64_t repetition, char *text,
                       size_t size)
{
    const struct sync_options *o = plan->options;
    const char *const clock = plan->clock;
    const char *const algorithm = plan->syncs.items[sync].text;
    const char *const given = o->reseed ? sync_find_seed(clock) : NULL;
    const long long of_clock = given ? strtoll(given + strlen("seed="), NULL, 10) : 0;
    if (given) {
        (void)snprintf(text, size, "%s@%.*sseed=%lld%s", algorithm, (int)(given - clock), clock,
                       of_clock + (long long)repetition, given + strcspn(given, ","));
    } else if (o->reseed) {
        (void)snprintf(text, size, "%s@%s%cseed=%lld", algorithm, clock,
                       strchr(clock, ':') ? ',' : ':', (long long)o->seed + (long long)repetition);
    } else {
        (void)snprintf(text, size, "%s@%s", algorithm, clock);
    }
}

static int sync_check_reseed(const struct plan *plan, struct ictus_why *why)
{
    const bool simulated = strncmp(plan->clock, "sim", 3) == 0;
    return !plan->options->reseed || simulated
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_SPEC,
                               "--reseed needs a simulated clock (sim:...), not '%.80s'",
                               plan->clock);
}

/*
 * A simulated clock is judged by the truth, which is known if all processes share one kernel.
 * Collective.
 */
static int sync_check_exchanges(const struct plan *plan, struct ictus_study *study,
                                struct ictus_why *why)
{
    struct ictus_sharing sharing;
    if (!options_is_set(options_row(options, "exchanges"), plan->options) ||
        strncmp(plan->clock, "sim", 3) != 0) {
        return ICTUS_OK;
    }
    const int err = ictus_study_sharing(study, &sharing, why);
    return err || sharing.kernels > 1
               ? err
               : ictus_because(why, ICTUS_ERR_SPEC,
                               "--exchanges has an effect only if the truth is not known, and "
                               "'%.80s' knows it",
                               plan->clock);
}

static int sync_read_clock(struct plan *plan, struct ictus_why *why)
{
    const struct sync_options *o = plan->options;
    char usual[SPEC_ITEM_MAX];
    int err =
        ictus_clock_default(NULL, usual, sizeof(usual), plan->clock, sizeof(plan->clock), why);
    if (!err && o->clock) {
        if (strlen(o->clock) >= sizeof(plan->clock)) {
            return ictus_because(why, ICTUS_ERR_SPEC, "--clock: the specification is too long");
        }
        (void)snprintf(plan->clock, sizeof(plan->clock), "%s", o->clock);
    }
    if (!err) {
        err = o->sync ? spec_list_read(&plan->syncs, "sync", o->sync, why)
                      : spec_list_add(&plan->syncs, usual, why);
    }
    for (size_t i = 0; !err && i < plan->syncs.count; i++) {
        err = ictus_sync_check(plan->syncs.items[i].text, why);
    }
    return err ? err : sync_check_reseed(plan, why);
}

static int sync_read_plan(struct plan *plan, struct ictus_why *why)
{
    const struct sync_options *o = plan->options;
    struct ictus_study *study = NULL;
    int err = sync_read_clock(plan, why);
    if (!err) {
        err = number_list_read("wait", o->waits, ictus_parse_seconds, 0, 1e6, &plan->waits,
                               &plan->wait_count, why);
    }
    if (!err) {
        err = group_counts(o->processes, plan->processes, &plan->process_count, why);
    }
    if (!err) {
        values_sort(plan->waits, plan->wait_count);
        plan->qualities = calloc(plan->wait_count, sizeof(*plan->qualities));
        err = plan->qualities ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    if (!err) {
        err = ictus_study_create(CHECKED_ON, plan->clock, &study, why);
        err = err ? err : sync_check_exchanges(plan, study, why);
        ictus_study_free(study);
    }
    return err;
}

/*
 * One communicator for each process count. For the count of all processes it is MPI_COMM_WORLD
 * itself.
 */
static void sync_make_comms(struct plan *plan)
{
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < plan->process_count; i++) {
        const int n = plan->processes[i];
        int range[1][3] = {{0, n - 1, 1}};
        plan->comms[i] = n == command_size() ? MPI_COMM_WORLD : MPI_COMM_NULL;
        if (n < command_size() && command_rank() < n) {
            MPI_Group first;
            MPI_Group_range_incl(world, 1, range, &first);
            MPI_Comm_create_group(MPI_COMM_WORLD, first, i, &plan->comms[i]);
            MPI_Group_free(&first);
        }
    }
    MPI_Group_free(&world);
}

static void sync_free_plan(struct plan *plan)
{
    for (int i = 0; i < plan->process_count; i++) {
        if (plan->comms[i] != MPI_COMM_NULL && plan->comms[i] != MPI_COMM_WORLD) {
            MPI_Comm_free(&plan->comms[i]);
        }
    }
    spec_list_free(&plan->syncs);
    sync_summary_free(plan->summary);
    free(plan->waits);
    free(plan->qualities);
}

/* One cell of the table: an algorithm on so many processes. */
struct experiment {
    size_t processes;
    size_t sync;
};

static json_t *sync_experiment_describe(const struct plan *plan, const struct experiment *e,
                                        int64_t repetition, const struct sync_cost *cost,
                                        const struct sync_quality *q)
{
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:i, s:I, s:f, s:f, s:I, s:I}", "type", "sync", "sync",
                  plan->syncs.items[e->sync].text, "clock", ictus_result_text(plan->clock),
                  "processes", plan->processes[e->processes], "repetition", (json_int_t)repetition,
                  "wait_s", q->wait_s, "duration_s", cost->duration_s, "exchanges",
                  (json_int_t)cost->exchanges, "messages", (json_int_t)cost->messages);
    json_object_set_new(object, "max_error_ns", ictus_result_real(q->max_error_ns));
    json_object_set_new(object, "rms_error_ns", ictus_result_real(q->rms_error_ns));
    json_object_set_new(object, "truth", json_boolean(cost->truth));
    json_object_set_new(object, "max_sigma_ns", ictus_result_real(q->max_sigma_ns));
    json_object_set_new(object, "max_path_ns", ictus_result_real(q->max_path_ns));
    json_object_set_new(object, "max_unseen_ns", ictus_result_real(q->max_unseen_ns));
    json_object_set_new(object, "max_bound_ns", ictus_result_real(q->max_bound_ns));
    json_object_set_new(object, "checked", json_integer(q->checked));
    json_object_set_new(object, "judgement_ns", ictus_result_real(q->half_width_ns));
    if (cost->truth) {
        json_object_set_new(object, "covered", ictus_result_real(q->covered));
    }
    json_object_set_new(object, "order", json_integer((json_int_t)plan->done));
    json_object_set_new(object, "seed", json_integer((json_int_t)plan->options->seed));
    if (q->errors_ns) {
        json_t *raw = json_array();
        for (int i = 0; i < plan->processes[e->processes]; i++) {
            json_array_append_new(raw, ictus_result_real(q->errors_ns[i]));
        }
        json_object_set_new(object, "raw_errors_ns", raw);
    }
    return object;
}

/* Rank 0: write what one experiment found. */
static int experiment_report(struct plan *plan, const struct experiment *e, int64_t repetition,
                             const struct sync_cost *cost, size_t judged)
{
    int err = ICTUS_OK;
    for (size_t i = 0; i < judged; i++) {
        struct sync_quality *q = &plan->qualities[i];
        const size_t cell = (e->processes * plan->syncs.count + e->sync) * plan->wait_count + i;
        json_t *object = sync_experiment_describe(plan, e, repetition, cost, q);
        if (plan->summary) {
            sync_summary_add(plan->summary, cell, cost, q);
        }
        const int put = plan->summary ? ictus_output_keep(plan->out, object)
                                      : ictus_output_put(plan->out, object);
        err = err ? err : put;
        free(q->errors_ns);
        q->errors_ns = NULL;
    }
    return err;
}

/* Collective over the job. A negative repetition warms up: nothing is reported. */
static int sync_run_one(struct plan *plan, const struct experiment *e, int64_t repetition,
                        struct progress *progress, struct ictus_why *why)
{
    const struct sync_options *o = plan->options;
    const bool counts = repetition >= 0;
    const struct judging how = {.waits = plan->waits,
                                .wait_count = counts ? plan->wait_count : 0,
                                .exchanges = (size_t)o->exchanges,
                                .sample = o->sample,
                                .seed = (uint64_t)(o->seed + repetition),
                                .raw = o->raw,
                                .progress = progress,
                                .done = (double)plan->done,
                                .label = plan->syncs.items[e->sync].text};
    struct sync_cost cost = {0};
    size_t judged = 0;
    int err = ICTUS_OK;
    char spec[2 * SPEC_ITEM_MAX + 64];
    clock_spec(plan, e->sync, counts ? repetition : 0, spec, sizeof(spec));
    meet_all();
    if (plan->comms[e->processes] != MPI_COMM_NULL) {
        err = sync_experiment_run(plan->comms[e->processes], spec, &how, &cost, plan->qualities,
                                  &judged, why);
    }
    if (!err && command_rank() == 0) {
        err = experiment_report(plan, e, repetition, &cost, judged);
    }
    meet_all();
    return results_agree(err, why);
}

/* Each repetition has a new order, so that a noisy minute affects all algorithms alike. */
static void experiment_shuffle(struct experiment *list, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        const size_t k = (size_t)(sync_random(state) % i);
        const struct experiment other = list[k];
        list[k] = list[i - 1];
        list[i - 1] = other;
    }
}

static int sync_run_rounds(struct plan *plan, struct experiment *list, size_t n,
                           struct ictus_why *why)
{
    const struct sync_options *o = plan->options;
    uint64_t state = (uint64_t)o->seed;
    struct progress progress;
    int err = ICTUS_OK;
    progress_start(&progress, &o->talk, "synchronisations", (double)((int64_t)n * o->repetitions));
    for (int64_t r = -o->warmup; r < o->repetitions && !err; r++) {
        if (r >= 0) {
            experiment_shuffle(list, n, &state);
        }
        for (size_t i = 0; i < n && !err; i++) {
            if (interrupt_came()) {
                progress_hide(&progress);
                return ICTUS_ERR_TIMEOUT;
            }
            progress_step(&progress, (double)plan->done, plan->syncs.items[list[i].sync].text);
            if (o->results.format != ICTUS_FORMAT_TEXT) {
                progress_hide(&progress);
            }
            err = sync_run_one(plan, &list[i], r, &progress, why);
            plan->done += r >= 0 ? 1 : 0;
        }
    }
    progress_hide(&progress);
    return err;
}

static int sync_run_experiments(struct plan *plan, struct ictus_why *why)
{
    const size_t n = (size_t)plan->process_count * plan->syncs.count;
    struct experiment *list = calloc(n, sizeof(*list));
    if (!list) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = (struct experiment){i / plan->syncs.count, i % plan->syncs.count};
    }
    const int err = sync_run_rounds(plan, list, n, why);
    free(list);
    return err;
}

/* What sigma leaves out is told apart, where it is not nothing. */
static void sync_tell_unseen(double unseen_ns)
{
    const double worth_telling_ns = 0.5;
    if (unseen_ns >= worth_telling_ns) {
        printf("No exchange shows whether a node is slower to send than to receive. The usual\n"
               "error from that, %.3f us (standard deviation), is not part of a mesh's sigma.\n",
               unseen_ns * 1e-3);
    }
}

static void sync_show_summary(struct plan *plan)
{
    double unseen_ns = 0.0;
    for (size_t p = 0; p < (size_t)plan->process_count; p++) {
        for (size_t s = 0; s < plan->syncs.count; s++) {
            for (size_t w = 0; w < plan->wait_count; w++) {
                const size_t cell = (p * plan->syncs.count + s) * plan->wait_count + w;
                json_t *row = sync_summary_row(plan->summary, cell, plan->syncs.items[s].text,
                                               plan->processes[p], plan->waits[w]);
                if (row) {
                    unseen_ns = fmax(unseen_ns, json_real_value(json_object_get(row, "unseen_ns")));
                    (void)ictus_output_show(plan->out, row);
                }
            }
        }
    }
    sync_tell_unseen(unseen_ns);
}

static int sync_measure(struct plan *plan, struct ictus_why *why)
{
    const struct sync_options *o = plan->options;
    const struct header_facts facts = {.command = "sync",
                                       .rows = options,
                                       .options = o,
                                       .clock = plan->clock,
                                       .sync = o->sync ? o->sync : plan->syncs.items[0].text,
                                       .seeded = true,
                                       .seed = o->seed};
    struct ictus_column columns[SYNC_SUMMARY_COLUMNS];
    sync_summary_columns("algorithm        ", columns);
    int err = results_open(&o->results, columns, header_create(&facts), &plan->out, why);
    if (err) {
        return err;
    }
    if (command_rank() == 0 && o->results.format == ICTUS_FORMAT_TEXT) {
        plan->summary =
            sync_summary_create((size_t)plan->process_count * plan->syncs.count * plan->wait_count,
                                (size_t)o->repetitions);
        err = plan->summary ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    err = results_agree(err, why);
    if (!err) {
        sync_make_comms(plan);
    }
    if (!err) {
        interrupt_watch();
        err = sync_run_experiments(plan, why);
    }
    if (plan->summary) {
        sync_show_summary(plan);
    }
    return results_close(plan->out, o->results.file, err, why);
}

static int sync_run(const void *given, int word_count, char **words)
{
    struct plan plan = {.options = given};
    struct ictus_why why = {""};
    int err = ICTUS_OK;
    for (int i = 0; i < GROUP_COUNTS_MAX; i++) {
        plan.comms[i] = MPI_COMM_NULL;
    }
    if (plan.options->list) {
        if (command_rank() == 0) {
            sync_print_algorithms();
        }
        return EXIT_OK;
    }
    if (word_count > 0) {
        err = ictus_because(&why, ICTUS_ERR_SPEC,
                            "unexpected argument '%.80s'; name algorithms with --sync", words[0]);
    } else {
        err = sync_read_plan(&plan, &why);
    }
    if (!err) {
        err = sync_measure(&plan, &why);
    }
    sync_free_plan(&plan);
    if (err == ICTUS_ERR_TIMEOUT) {
        return EXIT_INTERRUPTED;
    }
    return err ? command_fail("sync", err, &why) : EXIT_OK;
}

const struct command command_sync = {
    .name = "sync",
    .summary = "compare clock synchronisations: accuracy over time, and cost",
    .arguments = "",
    .details = "  mpirun -n 4 ictus sync --sync=hca3:fitpoints=500,mesh --wait=0,2,5\n"
               "error: largest of all processes against rank 0, median over the "
               "repetitions;\n"
               "exact if clocks are simulated: -c "
               "sim:offset=1s,drift=12ppm,scope=process",
    .options = options,
    .flags = NEEDS_MPI,
    .options_size = sizeof(struct sync_options),
    .run = sync_run,
};
