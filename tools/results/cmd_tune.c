/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus tune: the fastest algorithms among measurements, as the MPI library's tuning file. */
#include "main/command.h"
#include "main/member.h"
#include "main/output.h"
#include "main/progress.h"
#include "main/shared_rows.h"
#include "main/text_table.h"
#include "results/experiments.h"
#include "results/settings.h"
#include "results/tune.h"
#include "results/tune_arrival.h"

#include <ictus/bench.h>
#include <ictus/text.h>

#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum form { FORM_TEXT, FORM_OMPI, FORM_OMPI_JSON, FORM_MPICH };

static const char *const forms[] = {"text", "ompi", "ompi-json", "mpich", NULL};

struct tune_options {
    int form; /* enum form */
    const char *output;
    const char *reduction;
    const char *base;
    const char *han;
    const char *arrival;
    bool force;
    double margin;
    struct progress_options talk;
};

#define AT(member) offsetof(struct tune_options, member)

static const struct option_row rows[] = {
    ROW_FORMAT(AT(form), "text", forms,
               "text (a table), ompi or ompi-json (dynamic rules), mpich (tree)"),
    ROW_OUTPUT(AT(output), "FILE", "file to write instead of standard output"),
    ROW_FORCE(AT(force)),
    {"reduction", 0, OPTION_TEXT, AT(reduction), NULL, 0, 0, NULL, "NAME",
     "reduction over processes to use: max, mean, ...; by default the first "
     "in the files"},
    {"arrival", 0, OPTION_TEXT, AT(arrival), NULL, 0, 0, NULL, "SPEC",
     "choose under this arrival pattern of the files, or minimax over all of them"},
    {"margin", 0, OPTION_RATIO, AT(margin), "5%", 0, 10, NULL, "RATIO",
     "how much faster than the default an algorithm must be for a rule"},
    {"base", 0, OPTION_TEXT, AT(base), NULL, 0, 0, NULL, "FILE",
     "MPICH's tree: its JSON file or libmpich.so; by default the one in use"},
    {"han", 0, OPTION_TEXT, AT(han), NULL, 0, 0, NULL, "FILE",
     "also write the file by which Open MPI's HAN hands sizes back to these rules"},
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

enum {
    FILE_LAUNCHES = 1000000, /* more than one file holds */
    MOCKUP_BYTES = 400
};

/* What was read: all objects, which files were simulated, by their clocks, and the settings. */
struct reading {
    json_t *all;
    json_t *simulated; /* the first file of each clock, by the clock's specification */
    json_t *settings;  /* of the launches */
};

/*
 * Simulations with the same seed are one machine at one time: SimGrid's algorithms are chosen when
 * it starts, so that each is a simulation of its own. The seed is in the clock's specification.
 */
static int file_launch(struct reading *reading, const json_t *objects, int file)
{
    const json_t *header = json_array_get(objects, 0);
    const char *clock = json_string_value(json_object_get(header, "clock"));
    if (!json_is_true(json_object_get(header, "simulated"))) {
        return file;
    }
    clock = clock ? clock : "";
    if (!json_object_get(reading->simulated, clock)) {
        (void)json_object_set_new(reading->simulated, clock, json_integer(file));
    }
    return (int)json_integer_value(json_object_get(reading->simulated, clock));
}

/*
 * Each header begins a launch, unless the objects say which one they belong to. Two files number
 * their launches alike, and are not the same launches.
 */
static void tune_number_launches(json_t *objects, int file)
{
    size_t i = 0;
    json_t *object = NULL;
    json_int_t headers = 0;
    json_array_foreach(objects, i, object)
    {
        const json_t *known = json_object_get(object, "launch");
        headers += strcmp(member_text(object, "type"), "header") == 0;
        const json_int_t launch = json_is_integer(known) ? json_integer_value(known) : headers;
        (void)json_object_set_new(object, "launch",
                                  json_integer((json_int_t)FILE_LAUNCHES * file + launch));
    }
}

static int tune_read_all(int count, char **words, bool quiet, struct reading *reading,
                         struct ictus_why *why)
{
    for (int i = 0; i < count; i++) {
        json_t *objects = NULL;
        int skipped = 0;
        const int err = experiments_read_objects(words[i], &objects, &skipped, why);
        if (err) {
            return err;
        }
        if (!quiet) {
            experiments_tell_skipped("tune", words[i], skipped);
        }
        settings_add(reading->settings, words[i], objects);
        tune_number_launches(objects, file_launch(reading, objects, i));
        const int failed = json_array_extend(reading->all, objects);
        json_decref(objects);
        if (failed) {
            return ICTUS_ERR_NOMEM;
        }
    }
    if (!quiet) {
        settings_tell("tune", reading->settings);
    }
    return ICTUS_OK;
}

/* Whether a rule was made: a word for the table, and its meaning, which is printed once below. */
static const struct {
    const char *word, *meaning;
} verdicts[] = {
    [TUNE_RULE] = {"yes", NULL},
    [TUNE_DEFAULT] = {"default", "no rule is needed: the library's own choice is the fastest"},
    [TUNE_UNCLEAR] = {"unclear", "not shown to be faster than the default by the margin"},
    [TUNE_NO_DEFAULT] = {"missing", "the default was not measured, so there is nothing to compare "
                                    "with"},
    [TUNE_NO_COMPONENT] = {"other", "the default is served by another component, which does not "
                                    "read the rules"},
};

static void tune_describe_mockup(const struct mockup *m, char *text, size_t size)
{
    (void)snprintf(text, size,
                   "%s of %lld bytes, %lld processes: %s takes %.3f us, the fastest algorithm "
                   "%.3f us",
                   m->operation, (long long)m->bytes, (long long)m->processes, m->name,
                   1e6 * m->median_s, 1e6 * m->fastest_s);
}

static void tune_put_winner(const struct winner *w, struct text_table *table)
{
    text_table_cell(table, "%s", w->operation);
    text_table_cell(table, "%lld", (long long)w->bytes);
    text_table_cell(table, "%lld", (long long)w->processes);
    text_table_cell(table, "%s", w->algorithm);
    text_table_cell(table, "%.3f", 1e6 * w->median_s);
    text_table_cell(table, isnan(w->fallback_s) ? "-" : "%.3f", 1e6 * w->fallback_s);
    text_table_cell(table, isnan(w->most) ? "-" : "%.1f %%", 100.0 * w->most);
    text_table_cell(table, "%s", verdicts[w->verdict].word);
}

/* What the words in the last column mean, and what the medians rest on. */
static void tune_put_legend(const struct winners *winners, double margin, FILE *file)
{
    bool met[sizeof verdicts / sizeof *verdicts] = {false};
    int least = 0;
    int most = 0;
    for (size_t i = 0; i < winners->count; i++) {
        const struct winner *w = &winners->list[i];
        met[w->verdict] = true;
        least = i == 0 || w->launches < least ? w->launches : least;
        most = w->launches > most ? w->launches : most;
    }
    remark_print(file,
                 "at most: the fastest's time in %% of the default's, at the upper end of the "
                 "interval; a rule needs less than %.1f %% (margin %g %%)",
                 100.0 / (1.0 + margin), 100.0 * margin);
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (met[i] && verdicts[i].meaning) {
            remark_print(file, "%s: %s", verdicts[i].word, verdicts[i].meaning);
        }
    }
    if (least < most) {
        remark_print(file, "medians over %d to %d launches", least, most);
    } else {
        remark_print(file, "medians over %d launch%s", most, most == 1 ? "" : "es");
    }
}

static int tune_put_table(const struct winners *winners, double margin, FILE *file)
{
    struct text_table table;
    text_table_init(&table, 4);
    text_table_column(&table, "operation", true);
    text_table_column(&table, "bytes", false);
    text_table_column(&table, "procs", false);
    text_table_column(&table, "fastest", true);
    text_table_column(&table, "median us", false);
    text_table_column(&table, "default us", false);
    text_table_column(&table, "at most", false);
    text_table_column(&table, "rule", true);
    for (size_t i = 0; i < winners->count; i++) {
        tune_put_winner(&winners->list[i], &table);
    }
    const int err = text_table_print(&table, "", file);
    tune_put_legend(winners, margin, file);
    for (size_t i = 0; i < winners->mockup_count; i++) {
        char text[MOCKUP_BYTES];
        tune_describe_mockup(&winners->mockups[i], text, sizeof text);
        remark_print(file, "%s", text);
    }
    return err;
}

/* Messages about what the files for MPI libraries cannot express. */
static void tune_tell_rest(const struct tune_options *options, const struct winners *winners)
{
    int single = 0;
    int elsewhere = 0;
    for (size_t i = 0; i < winners->count; i++) {
        single += winners->list[i].verdict == TUNE_RULE && winners->list[i].launches < 2;
        elsewhere += winners->list[i].verdict == TUNE_NO_COMPONENT;
    }
    for (size_t i = 0; i < winners->mockup_count && options->form != FORM_TEXT; i++) {
        char text[MOCKUP_BYTES];
        tune_describe_mockup(&winners->mockups[i], text, sizeof text);
        (void)fprintf(stderr, "ictus tune: %s\n", text);
    }
    if (winners->unproven > 0) {
        (void)fprintf(stderr,
                      "ictus tune: measurements left out because it was not verified that their "
                      "algorithm ran: %d\n",
                      winners->unproven);
    }
    if (elsewhere > 0) {
        (void)fprintf(
            stderr,
            "ictus tune: rules left out because another component than the one that reads them "
            "serves the default, so that they would have no effect: %d\n",
            elsewhere);
    }
    if (single > 0) {
        (void)fprintf(stderr,
                      "ictus tune: rules that rest on a single launch: %d; the spread between "
                      "launches is not known, so give the files of several launches\n",
                      single);
    }
}

/* The path of the MPI library in use. */
static const char *library_path(void)
{
    Dl_info info;
    /* Any function of the library will do. POSIX lets a function's address be a void *. */
    int (*const function)(int *, char ***) = MPI_Init;
    void *address = NULL;
    memcpy(&address, &function, sizeof(address));
    return dladdr(address, &info) ? info.dli_fname : "";
}

static int tune_put_mpich(const struct tune_options *options, const struct winners *winners,
                          FILE *file, struct ictus_why *why)
{
    json_t *base = NULL;
    int err = tune_read_base(options->base ? options->base : library_path(), &base, why);
    if (err && !options->base) {
        err = ictus_because(why, ICTUS_ERR_ARG,
                            "the MPI library in use contains no selection tree of MPICH; name a "
                            "libmpich.so or a JSON file with --base");
    }
    if (!err) {
        err = tune_write_mpich(winners, base, file, why);
    }
    json_decref(base);
    return err;
}

/* What is to be written, and where it comes from. */
struct choice {
    struct winners winners;
    struct regret_table regrets; /* of --arrival */
    size_t pattern;
    bool simulated;
};

static int tune_put(const struct tune_options *options, const struct choice *choice, FILE *file,
                    struct ictus_why *why)
{
    const struct winners *winners = &choice->winners;
    int err = ICTUS_OK;
    switch ((enum form)options->form) {
    case FORM_OMPI:
        return tune_write_ompi(winners, file, why);
    case FORM_OMPI_JSON:
        return tune_write_ompi_json(winners, file, why);
    case FORM_MPICH:
        return tune_put_mpich(options, winners, file, why);
    default:
        err = tune_put_table(winners, options->margin, file);
        if (choice->simulated) {
            remark_print(file, "simulated: times and algorithms are SimGrid's");
        }
        return err || !options->arrival
                   ? err
                   : regret_table_print(&choice->regrets, choice->pattern, file);
    }
}

static int tune_put_han(const char *path, const struct winners *winners, struct ictus_why *why)
{
    struct output output;
    const int err = output_open(&output, path, why);
    return err ? err : output_close(&output, tune_write_han(winners, output.stream), why);
}

static int tune_write_file(const struct tune_options *options, const struct choice *choice,
                           struct ictus_why *why)
{
    struct output output;
    int err = options->han ? tune_put_han(options->han, &choice->winners, why) : ICTUS_OK;
    err = err ? err : output_open(&output, options->output, why);
    if (err) {
        return err;
    }
    err = tune_put(options, choice, output.stream, why);
    return output_close(&output, err, why);
}

static int tune_check_han(const struct tune_options *o, int count, char **words,
                          struct ictus_why *why)
{
    if (o->form != FORM_OMPI && o->form != FORM_OMPI_JSON) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "--han can be used only with --format=ompi or ompi-json");
    }
    if (strcmp(o->han, o->output ? o->output : "-") == 0) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "--han names the file of --output; HAN's file and the rules are two");
    }
    const int err = output_possible(o->han, why);
    return err ? err : output_allowed(o->han, o->force, count, words, why);
}

static int tune_check(const struct tune_options *options, int count, char **words,
                      struct ictus_why *why)
{
    if (count < 1) {
        return ictus_because(why, ICTUS_ERR_ARG, "name the result files to read");
    }
    if (options->base && options->form != FORM_MPICH) {
        return ictus_because(why, ICTUS_ERR_ARG, "--base can be used only with --format=mpich");
    }
    if (options->han) {
        const int err = tune_check_han(options, count, words, why);
        if (err) {
            return err;
        }
    }
    if (options->arrival && !options->arrival[0]) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "--arrival= names no pattern; give one of the files, or its "
                             "beginning, or minimax");
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

/* A tuning file for one library cannot name the algorithms of another. */
static int tune_check_simulated(const struct tune_options *options, const struct reading *reading,
                                struct ictus_why *why)
{
    return json_object_size(reading->simulated) > 0 && options->form != FORM_TEXT
               ? ictus_because(why, ICTUS_ERR_ARG,
                               "--format=%s: the files hold simulated measurements, and SimGrid's "
                               "algorithms are not those of an MPI library; use --format=text",
                               forms[options->form])
               : ICTUS_OK;
}

/* Under one pattern as without any, from its measurements alone; minimax from those of all. */
static int tune_choose_under(const struct tune_options *o, const json_t *all, struct choice *choice,
                             struct ictus_why *why)
{
    const char *reduction = o->reduction ? o->reduction : "exit";
    int err = regret_table_make(all, reduction, &choice->regrets, why);
    err = err ? err : regret_table_pattern(&choice->regrets, o->arrival, &choice->pattern, why);
    if (err || choice->pattern == choice->regrets.pattern_count) {
        return err ? err : regret_winners(&choice->regrets, o->margin, &choice->winners, why);
    }
    json_t *only = regret_table_only(&choice->regrets, choice->pattern, all);
    err = tune_choose(only, reduction, o->margin, &choice->winners, why);
    json_decref(only);
    return err;
}

static int tune_command(const void *given, int word_count, char **words)
{
    const struct tune_options *options = given;
    struct ictus_why why = {""};
    struct choice choice = {.winners = {.list = NULL}};
    struct progress_watch watch;
    struct reading reading = {json_array(), json_object(), json_array()};
    int err = tune_check(options, word_count, words, &why);
    if (!err) {
        progress_watch_begin(&watch, &options->talk, "tune", word_count, words);
        err = tune_read_all(word_count, words, options->talk.quiet, &reading, &why);
        err = err ? err : tune_check_simulated(options, &reading, &why);
        if (!err) {
            err = options->arrival ? tune_choose_under(options, reading.all, &choice, &why)
                                   : tune_choose(reading.all, options->reduction, options->margin,
                                                 &choice.winners, &why);
        }
        progress_watch_end(&watch);
    }
    if (!err && options->han) {
        (void)tune_hand_back(&choice.winners);
    }
    if (!err && !options->talk.quiet) {
        tune_tell_rest(options, &choice.winners);
    }
    choice.simulated = json_object_size(reading.simulated) > 0;
    if (!err) {
        err = tune_write_file(options, &choice, &why);
    }
    tune_free(&choice.winners);
    regret_table_free(&choice.regrets);
    json_decref(reading.all);
    json_decref(reading.simulated);
    json_decref(reading.settings);
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
    .run = tune_command,
};
