/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus tune: the fastest algorithms among measurements, as the MPI library's tuning file. */
#include "main/command.h"
#include "main/output.h"
#include "main/shared_rows.h"
#include "results/experiments.h"
#include "results/tune.h"

#include <ictus/bench.h>
#include <ictus/text.h>

#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum form { FORM_TEXT, FORM_OMPI, FORM_MPICH };

static const char *const forms[] = {"text", "ompi", "mpich", NULL};

struct tune_options {
    int form; /* enum form */
    const char *output;
    const char *reduction;
    const char *base;
    bool force;
};

#define AT(member) offsetof(struct tune_options, member)

static const struct option_row rows[] = {
    ROW_FORMAT(AT(form), "text", forms, "text (a table), ompi (dynamic rules), mpich (JSON)"),
    ROW_OUTPUT(AT(output), "FILE", "write there instead of to standard output"),
    ROW_FORCE(AT(force)),
    {"reduction", 0, OPTION_TEXT, AT(reduction), NULL, 0, 0, NULL, "NAME",
     "over the processes: max, mean, ...; by default the first of the files"},
    {"base", 0, OPTION_TEXT, AT(base), NULL, 0, 0, NULL, "FILE",
     "MPICH's tree: its JSON file or libmpich.so; by default the one in use"},
    ROW_END};

static int read_all(int count, char **words, json_t *all, struct ictus_why *why)
{
    for (int i = 0; i < count; i++) {
        json_t *objects = NULL;
        int skipped = 0;
        const int err = experiments_read_objects(words[i], &objects, &skipped, why);
        if (err) {
            return err;
        }
        if (skipped > 0) {
            (void)fprintf(stderr, "ictus tune: %s: %d lines are no results and were left out\n",
                          words[i], skipped);
        }
        const int failed = json_array_extend(all, objects);
        json_decref(objects);
        if (failed) {
            return ICTUS_ERR_NOMEM;
        }
    }
    return ICTUS_OK;
}

static int put_table(const struct winners *winners, FILE *file)
{
    (void)fprintf(file, "%-22s %10s %6s %-28s %11s %11s %11s  %s\n", "operation", "bytes", "procs",
                  "fastest", "median us", "next us", "default us", "shown");
    for (size_t i = 0; i < winners->count; i++) {
        const struct winner *w = &winners->list[i];
        char own[32] = "-";
        if (!isnan(w->fallback_s)) {
            (void)snprintf(own, sizeof(own), "%.3f", 1e6 * w->fallback_s);
        }
        (void)fprintf(file, "%-22s %10lld %6lld %-28s %11.3f %11.3f %11s  %s\n", w->operation,
                      (long long)w->bytes, (long long)w->processes, w->algorithm, 1e6 * w->median_s,
                      1e6 * w->runner_up_s, own, w->clear ? "yes" : "no");
    }
    return ferror(file) ? ICTUS_ERR_IO : ICTUS_OK;
}

/* Where the MPI library in use lies. */
static const char *library_path(void)
{
    Dl_info info;
    /* Any function of the library will do. POSIX lets a function's address be a void *. */
    int (*const function)(int *, char ***) = MPI_Init;
    void *address = NULL;
    memcpy(&address, &function, sizeof(address));
    return dladdr(address, &info) ? info.dli_fname : "";
}

static int put_mpich(const struct tune_options *options, const struct winners *winners, FILE *file,
                     struct ictus_why *why)
{
    json_t *base = NULL;
    int err = tune_read_base(options->base ? options->base : library_path(), &base, why);
    if (err && !options->base) {
        err = ictus_because(why, ICTUS_ERR_ARG,
                            "the MPI library in use holds no selection tree of MPICH: name a "
                            "libmpich.so or a JSON file with --base");
    }
    if (!err) {
        err = tune_write_mpich(winners, base, file, why);
    }
    json_decref(base);
    return err;
}

static int put(const struct tune_options *options, const struct winners *winners, FILE *file,
               struct ictus_why *why)
{
    switch ((enum form)options->form) {
    case FORM_OMPI:
        return tune_write_ompi(winners, file, why);
    case FORM_MPICH:
        return put_mpich(options, winners, file, why);
    default:
        return put_table(winners, file);
    }
}

static int write_file(const struct tune_options *options, const struct winners *winners,
                      struct ictus_why *why)
{
    struct output output;
    int err = output_open(&output, options->output, why);
    if (err) {
        return err;
    }
    err = put(options, winners, output.stream, why);
    return output_close(&output, err, why);
}

static int check(const struct tune_options *options, int count, struct ictus_why *why)
{
    if (count < 1) {
        return ictus_because(why, ICTUS_ERR_ARG, "name the result files to read");
    }
    if (options->base && options->form != FORM_MPICH) {
        return ictus_because(why, ICTUS_ERR_ARG, "--base belongs to --format=mpich");
    }
    for (int i = 0; options->reduction && i <= ICTUS_REDUCTIONS; i++) {
        if (i == ICTUS_REDUCTIONS) {
            return ictus_unknown(why, "reduction", options->reduction, ictus_reduction_names);
        }
        if (strcmp(options->reduction, ictus_reduction_names[i]) == 0) {
            break;
        }
    }
    return ICTUS_OK;
}

static int run(const void *given, int word_count, char **words)
{
    const struct tune_options *options = given;
    struct ictus_why why = {""};
    struct winners winners = {.list = NULL};
    json_t *all = json_array();
    int err = check(options, word_count, &why);
    if (!err) {
        err = read_all(word_count, words, all, &why);
    }
    if (!err) {
        err = tune_choose(all, options->reduction, &winners, &why);
    }
    if (!err && winners.unproven > 0) {
        (void)fprintf(stderr,
                      "ictus tune: left out: %d measurements whose algorithm was not seen to run\n",
                      winners.unproven);
    }
    if (!err) {
        err = write_file(options, &winners, &why);
    }
    tune_free(&winners);
    json_decref(all);
    return err ? command_fail("tune", err, &why) : EXIT_OK;
}

const struct command command_tune = {
    .name = "tune",
    .summary = "write the fastest algorithms as a tuning file for the MPI library",
    .arguments = "FILE...",
    .details = "  mpirun -n 4 ictus bench --ops=bcast,allreduce --algorithm=all -o all.jsonl\n"
               "  ictus tune all.jsonl --format=ompi -o rules\n"
               "  export OMPI_MCA_coll_tuned_use_dynamic_rules=1\n"
               "  export OMPI_MCA_coll_tuned_dynamic_rules_filename=$PWD/rules",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct tune_options),
    .run = run,
};
