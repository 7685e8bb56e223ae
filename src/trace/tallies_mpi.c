/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * At MPI_Finalize the root receives the tallies of one process after another, and writes the
 * patterns.
 */
#include "trace/tallies_mpi.h"

#include "trace/tallies.h"
#include "tracer/directory.h"
#include "tracer/real.h"
#include "tracer/tracer.h"

#include <ictus/result.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The approximate number of offsets in the file, and the least number of instances per site. */
enum { CELLS = 1 << 16, ROWS_LEAST = 64, TAG_TALLY = 1 };

/* The data that the root holds about all processes. */
struct gathering {
    struct tracer *t;
    struct rawlog *logs;
    struct trace_map *maps;
    struct unified unified;
    struct tallies tallies;
    struct tally_image *image; /* of one other process at a time */
    int *counts, *offsets;
};

static int gathering_agree(const struct gathering *g, int err)
{
    int worst = 0;
    (void)REAL(Allreduce)(&err, &worst, 1, MPI_INT, MPI_MIN, g->t->comm);
    return worst;
}

static int gathering_init(struct gathering *g)
{
    const size_t n = g->t->rank == 0 ? (size_t)g->t->size : 0;
    g->logs = calloc(n + 1, sizeof *g->logs);
    g->maps = calloc(n + 1, sizeof *g->maps);
    g->counts = calloc(n + 1, sizeof *g->counts);
    g->offsets = calloc(n + 1, sizeof *g->offsets);
    g->image = g->t->rank == 0 ? calloc(1, sizeof *g->image) : NULL;
    const bool fine =
        g->logs && g->maps && g->counts && g->offsets && (g->t->rank != 0 || g->image);
    return gathering_agree(g, fine ? ICTUS_OK : ICTUS_ERR_NOMEM);
}

static void gathering_release(struct gathering *g)
{
    for (int p = 0; g->t->rank == 0 && g->logs && g->maps && p < g->t->size; p++) {
        ictusi_rawlog_free(&g->logs[p]);
        free(g->maps[p].flat);
    }
    ictusi_unify_free(&g->unified);
    ictusi_tallies_free(&g->tallies);
    free(g->image);
    free(g->logs);
    free(g->maps);
    free(g->counts);
    free(g->offsets);
}

/* Gather the texts of all logs, one after another, at the root. */
static char *tallies_mpi_gather_logs(struct gathering *g, const char *mine, int bytes)
{
    size_t sum = 0;
    char *all = NULL;
    (void)REAL(Gather)(&bytes, 1, MPI_INT, g->counts, 1, MPI_INT, 0, g->t->comm);
    for (int p = 0; g->t->rank == 0 && p < g->t->size; p++) {
        g->offsets[p] = (int)sum;
        sum += (size_t)g->counts[p];
    }
    if (g->t->rank == 0 && sum < INT32_MAX) {
        all = malloc(sum + 1);
    }
    if (gathering_agree(g, g->t->rank != 0 || all ? ICTUS_OK : ICTUS_ERR_NOMEM)) {
        free(all);
        return NULL;
    }
    (void)REAL(Gatherv)(mine, bytes, MPI_CHAR, all, g->counts, g->offsets, MPI_CHAR, 0, g->t->comm);
    return all;
}

/* Gather all logs; the root parses and numbers them. */
static int tallies_mpi_gather_definitions(struct gathering *g, struct ictus_why *why)
{
    char path[4352];
    size_t size = 0;
    (void)snprintf(path, sizeof path, "%s/%d.log", g->t->setup.directory, g->t->rank);
    char *mine = ictusi_rawlog_read_file(path, &size);
    int err = mine ? ICTUS_OK : ictus_because(why, ICTUS_ERR_IO, "%.200s cannot be read", path);
    err = gathering_agree(g, err);
    char *all = err ? NULL : tallies_mpi_gather_logs(g, mine, (int)size);
    free(mine);
    for (int p = 0; g->t->rank == 0 && all && p < g->t->size && !err; p++) {
        err = ictusi_rawlog_parse(all + g->offsets[p], (size_t)g->counts[p], &g->logs[p], why);
    }
    if (g->t->rank == 0 && !err) {
        err =
            all ? ictusi_unify(g->logs, g->t->size, false, &g->unified, g->maps) : ICTUS_ERR_NOMEM;
    }
    free(all);
    return gathering_agree(g, err);
}

/* The root receives from all processes, whatever happens to the data. */
static int tallies_gather(struct gathering *g)
{
    struct tracer *t = g->t;
    int err = ICTUS_OK;
    if (t->rank != 0) {
        const size_t bytes =
            offsetof(struct tally_image, site) + t->tally.image->sites * sizeof(struct tally_site);
        (void)REAL(Send)(t->tally.image, (int)bytes, MPI_CHAR, 0, TAG_TALLY, t->comm);
        return gathering_agree(g, ICTUS_OK);
    }
    g->tallies =
        (struct tallies){.logs = g->logs, .maps = g->maps, .unified = &g->unified, .size = t->size};
    err = ictusi_tallies_init(&g->tallies);
    err = err ? err : ictusi_tallies_add(&g->tallies, 0, t->tally.image);
    for (int p = 1; p < t->size; p++) {
        (void)REAL(Recv)(g->image, (int)sizeof *g->image, MPI_CHAR, p, TAG_TALLY, t->comm,
                         MPI_STATUS_IGNORE);
        err = err ? err : ictusi_tallies_add(&g->tallies, p, g->image);
    }
    return gathering_agree(g, err);
}

static json_t *tallies_mpi_make_header(const struct tracer *t)
{
    return json_pack("{s:s, s:s, s:i, s:s}", "version", ICTUS_VERSION, "command", "trace",
                     "processes", t->size, "clock", ictus_clock_spec(t->clock));
}

/* Write the file under another name and rename it when it is complete. */
static int tallies_mpi_write_list(const struct tracer *t, const struct ictus_arrivals_list *list,
                                  struct ictus_why *why)
{
    char path[4352];
    char part[4400];
    struct ictus_output *out = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", t->settings.directory, ARRIVALS_FILE);
    (void)snprintf(part, sizeof part, "%s.part", path);
    int err =
        ictus_output_open(ICTUS_FORMAT_JSON, NULL, part, tallies_mpi_make_header(t), &out, why);
    for (size_t i = 0; i < list->count && !err; i++) {
        json_t *object = ictus_arrivals_json(&list->at[i]);
        err = object ? ictus_output_keep(out, object) : ICTUS_ERR_NOMEM;
    }
    const int closed = ictus_output_close(out);
    err = err ? err : closed;
    if (!err && rename(part, path) != 0) {
        err = ictus_because(why, ICTUS_ERR_IO, "%.200s cannot be written", path);
    }
    return err;
}

static void tallies_mpi_say_summary(const struct gathering *g,
                                    const struct ictus_arrivals_list *list)
{
    int64_t calls = 0;
    for (size_t i = 0; i < list->count; i++) {
        calls += list->at[i].instances;
    }
    ictusi_tracer_say("%s/%s: arrivals of %d processes at %zu call site%s, in %" PRId64
                      " calls; clocks synchronised %llu times",
                      g->t->settings.directory, ARRIVALS_FILE, g->t->size, list->count,
                      list->count == 1 ? "" : "s", calls, (unsigned long long)g->t->syncs);
    if (g->tallies.full) {
        ictusi_tracer_say("%llu calls were not counted: a process has room for %d call sites, "
                          "communicators and sizes",
                          (unsigned long long)g->tallies.full, TALLY_SITES);
    }
}

static int tallies_mpi_write_patterns(struct gathering *g, struct ictus_why *why)
{
    struct ictus_arrivals_list list = {.at = NULL};
    const int64_t sites = (int64_t)g->t->tally.image->sites + 1;
    const int64_t rows = CELLS / g->t->size / sites;
    int err = ictusi_tallies_list(&g->tallies, rows > ROWS_LEAST ? rows : ROWS_LEAST, &list);
    err = err ? err : tallies_mpi_write_list(g->t, &list, why);
    if (!err && !g->t->settings.quiet) {
        tallies_mpi_say_summary(g, &list);
    }
    ictus_arrivals_list_free(&list);
    return err;
}

void ictusi_tallies_write(struct tracer *t)
{
    struct ictus_why why = {""};
    struct gathering g = {.t = t};
    int err = gathering_init(&g);
    err = err ? err : tallies_mpi_gather_definitions(&g, &why);
    err = err ? err : tallies_gather(&g);
    if (!err) {
        err = gathering_agree(&g, t->rank == 0 ? tallies_mpi_write_patterns(&g, &why) : ICTUS_OK);
    }
    if (err) {
        ictusi_tracer_say("%s; the statistics are in %s; 'ictus arrivals %s' reads them",
                          why.text[0] ? why.text : ictus_strerror(err), t->setup.directory,
                          t->settings.directory);
    } else if (!t->settings.keep) {
        ictusi_directory_clean(t->setup.directory, t->rank);
        (void)REAL(Barrier)(t->comm);
        if (t->rank == 0) {
            ictusi_directory_release(t->settings.directory);
        }
    }
    gathering_release(&g);
}
