/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus clocks: which time sources are here, how fine, how costly to read, who shares one. */
#include "main/command.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/progress.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "main/spec_list.h"

#include <ictus/result.h>
#include <ictus/study.h>
#include <ictus/text.h>

#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clocks_options {
    const char *clocks;
    struct results_options results;
    struct progress_options talk;
};

#define AT(member) offsetof(struct clocks_options, member)

static const struct option_row options[] = {ROW_CLOCK(AT(clocks)), ROWS_RESULTS(AT(results)),
                                            ROWS_PROGRESS(AT(talk)), ROW_END};

enum { COLUMNS = 9 };

/* The columns after the first one, whose title is made as wide as the longest name. */
static const struct ictus_column columns[COLUMNS] = {
    {"clock", "clock        ", ICTUS_COLUMN_TEXT},
    {"available", "here", ICTUS_COLUMN_TEXT},
    {"resolution_ns", "step ns", ICTUS_COLUMN_NUMBER},
    {"cost_ns", "read ns", ICTUS_COLUMN_NUMBER},
    {"backwards", "backwards", ICTUS_COLUMN_COUNT},
    {"shared", "shared by", ICTUS_COLUMN_TEXT},
    {"groups", "clocks", ICTUS_COLUMN_COUNT},
    {"note", "note", ICTUS_COLUMN_TEXT},
    {NULL, NULL, ICTUS_COLUMN_TEXT}};

/* What the ranks found together; valid on rank 0. */
struct findings {
    struct ictus_source_study worst; /* largest values, summed counts */
    struct ictus_sharing sharing;
    int *groups; /* over ranks */
    char identity[512];
};

/* PTP hardware clocks carry their device in the name: list those that exist. */
static int clocks_add_devices(struct spec_list *list, struct ictus_why *why)
{
    glob_t found;
    int err = ICTUS_OK;
    if (glob("/dev/ptp[0-9]*", 0, NULL, &found) != 0) {
        return spec_list_add(list, "phc:/dev/ptp0", why);
    }
    for (size_t i = 0; i < found.gl_pathc && !err; i++) {
        char text[SPEC_ITEM_MAX];
        (void)snprintf(text, sizeof(text), "phc:%.200s", found.gl_pathv[i]);
        err = spec_list_add(list, text, why);
    }
    globfree(&found);
    return err;
}

/* Every known source. Only rank 0 looks for devices, so that all list the same. */
static int clocks_list_all(struct spec_list *list, struct ictus_why *why)
{
    struct ictus_entry entry;
    int err = ICTUS_OK;
    for (size_t i = 0; !err && ictus_source_entry(i, &entry) == ICTUS_OK; i++) {
        err = strcmp(entry.name, "phc") == 0 ? clocks_add_devices(list, why)
                                             : spec_list_add(list, entry.name, why);
    }
    return err;
}

static int clocks_share_list(struct spec_list *list)
{
    int count = (int)list->count;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    struct spec_item *items = realloc(list->items, (size_t)count * sizeof(*items));
    if (!items) {
        return ICTUS_ERR_NOMEM;
    }
    list->items = items;
    list->count = (size_t)count;
    MPI_Bcast(items, count * (int)sizeof(*items), MPI_BYTE, 0, MPI_COMM_WORLD);
    return ICTUS_OK;
}

/* Collective: refuse a misspelt name before anything is measured. */
static int clocks_check_list(const struct spec_list *list, struct ictus_why *why)
{
    for (size_t i = 0; i < list->count; i++) {
        struct ictus_study *study = NULL;
        const int err = ictus_study_create(MPI_COMM_WORLD, list->items[i].text, &study, why);
        ictus_study_free(study);
        if (err == ICTUS_ERR_SPEC || err == ICTUS_ERR_UNKNOWN || err == ICTUS_ERR_NOMEM) {
            return err;
        }
        why->text[0] = '\0';
    }
    return ICTUS_OK;
}

static int findings_make(const char *source, struct findings *f, struct ictus_why *why)
{
    struct ictus_study *study = NULL;
    struct ictus_source_study mine;
    int err = ictus_study_create(MPI_COMM_WORLD, source, &study, why);
    if (err) {
        return err;
    }
    err = ictus_study_source(study, &mine);
    if (!err) {
        double most[3] = {mine.resolution_ns, mine.cost_ns, mine.worst_step_ns};
        uint64_t sums[3] = {mine.reads, mine.backwards, mine.cpus};
        MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        f->worst = (struct ictus_source_study){.resolution_ns = most[0],
                                               .cost_ns = most[1],
                                               .worst_step_ns = most[2],
                                               .reads = sums[0],
                                               .backwards = sums[1],
                                               .cpus = sums[2]};
        err = ictus_study_sharing(study, &f->sharing, why);
    }
    if (!err) {
        MPI_Gather(&f->sharing.group, 1, MPI_INT, f->groups, 1, MPI_INT, 0, MPI_COMM_WORLD);
        ictus_study_identity(study, f->identity, sizeof(f->identity));
    }
    ictus_study_free(study);
    return err;
}

/* The word that result files use. */
static const char *clocks_scope_of(const struct ictus_sharing *s, int processes)
{
    if (s->groups == processes) {
        return "process";
    }
    if (s->groups == 1 && s->nodes > 1) {
        return "job";
    }
    return s->per_node ? "node" : "mixed";
}

static const char *clocks_note_of(const struct findings *f, bool by_default)
{
    if (f->sharing.contradicted) {
        return "claims to be shared, but its readings contradict that";
    }
    if (!f->identity[0]) {
        return "does not claim to be shared";
    }
    return by_default ? "the default" : "";
}

static json_t *findings_describe(const char *source, const struct findings *f, const char *summary,
                                 bool by_default)
{
    const int size = command_size();
    json_t *groups = json_array();
    for (int i = 0; i < size; i++) {
        json_array_append_new(groups, json_integer(f->groups[i]));
    }
    json_t *object =
        json_pack("{s:s, s:o, s:b, s:b, s:f, s:f, s:b, s:I, s:I, s:f}", "type", "clock", "clock",
                  ictus_result_text(source), "available", 1, "default", by_default, "resolution_ns",
                  f->worst.resolution_ns, "cost_ns", round(f->worst.cost_ns * 10.0) / 10.0,
                  "monotonic", f->worst.backwards == 0, "backwards", (json_int_t)f->worst.backwards,
                  "reads", (json_int_t)f->worst.reads, "worst_step_ns", f->worst.worst_step_ns);
    json_t *more = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:s, s:s}", "shared",
                             clocks_scope_of(&f->sharing, size), "groups", f->sharing.groups,
                             "processes", size, "nodes", f->sharing.nodes, "kernels",
                             f->sharing.kernels, "contradicted", f->sharing.contradicted,
                             "group_of", groups, "identity", ictus_result_text(f->identity),
                             "summary", summary, "note", clocks_note_of(f, by_default));
    if (object && more) {
        json_object_update(object, more);
    }
    json_decref(more);
    return object;
}

static json_t *clocks_describe_missing(const char *source, const char *reason, const char *summary,
                                       bool by_default)
{
    return json_pack("{s:s, s:o, s:b, s:b, s:o, s:i, s:s, s:o}", "type", "clock", "clock",
                     ictus_result_text(source), "available", 0, "default", by_default, "reason",
                     ictus_result_text(reason), "processes", command_size(), "summary", summary,
                     "note", ictus_result_text(reason));
}

static const char *summary_of(const char *source)
{
    struct ictus_entry entry;
    const size_t length = strcspn(source, ":");
    for (size_t i = 0; ictus_source_entry(i, &entry) == ICTUS_OK; i++) {
        if (strlen(entry.name) == length && strncmp(entry.name, source, length) == 0) {
            return entry.summary;
        }
    }
    return "";
}

static int study_one(struct ictus_output *out, const char *source, const char *usual, int *groups)
{
    struct findings f = {.groups = groups};
    struct ictus_why why = {""};
    const bool by_default = strcmp(source, usual) == 0;
    const int err = findings_make(source, &f, &why);
    if (err == ICTUS_ERR_MPI || err == ICTUS_ERR_NOMEM) {
        return err;
    }
    if (command_rank() != 0) {
        return ICTUS_OK;
    }
    const char *reason = why.text[0] ? why.text : ictus_strerror(err);
    return ictus_output_put(
        out, err ? clocks_describe_missing(source, reason, summary_of(source), by_default)
                 : findings_describe(source, &f, summary_of(source), by_default));
}

static int study_all(const struct clocks_options *o, const struct spec_list *list,
                     struct ictus_why *why)
{
    const struct header_facts facts = {.command = "clocks", .rows = options, .options = o};
    struct ictus_output *out = NULL;
    struct progress progress;
    char sync[1024];
    char usual[1024];
    int err = ictus_clock_default(NULL, sync, sizeof(sync), usual, sizeof(usual), why);
    int *groups = calloc((size_t)command_size(), sizeof(*groups));
    if (!err) {
        err = groups ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    if (!err) {
        err = results_open(&o->results, columns, header_create(&facts), &out, why);
    }
    if (err) {
        free(groups);
        return err;
    }
    interrupt_watch();
    progress_start(&progress, &o->talk, "clocks", (double)list->count);
    for (size_t i = 0; i < list->count && !err && !interrupt_came(); i++) {
        progress_hide(&progress);
        err = results_agree(study_one(out, list->items[i].text, usual, groups), why);
        progress_step(&progress, (double)(i + 1), NULL);
    }
    progress_hide(&progress);
    free(groups);
    return results_close(out, o->results.file, err, why);
}

static int clocks_run(const void *given, int word_count, char **words)
{
    const struct clocks_options *o = given;
    struct spec_list list = {NULL, 0};
    struct ictus_why why = {""};
    int err = ICTUS_OK;
    if (word_count > 0) {
        err = ictus_because(&why, ICTUS_ERR_SPEC,
                            "unexpected argument '%.80s'; name clocks with --clock", words[0]);
        return command_fail("clocks", err, &why);
    }
    if (o->clocks) {
        err = spec_list_read(&list, "clock", o->clocks, &why);
        err = err ? err : clocks_check_list(&list, &why);
    } else {
        err = clocks_list_all(&list, &why);
        err = err ? err : clocks_share_list(&list);
    }
    if (!err) {
        err = study_all(o, &list, &why);
    }
    spec_list_free(&list);
    return err ? command_fail("clocks", err, &why) : EXIT_OK;
}

const struct command command_clocks = {
    .name = "clocks",
    .summary = "list time sources: resolution, cost of a read, who shares one",
    .arguments = "",
    .details = "Run it under mpirun to see the whole job: mpirun -n 4 ictus clocks\n"
               "step ns: smallest difference seen. read ns: cost of a read, slowest rank.\n"
               "clocks: number of sets of processes that read the same clock.",
    .options = options,
    .flags = NEEDS_MPI,
    .options_size = sizeof(struct clocks_options),
    .run = clocks_run,
};
