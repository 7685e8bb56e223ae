/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus check-nodes: name slow nodes, bad links, and clocks that step or drift, before a job runs.
 */
#include "clocks/node_metrics.h"
#include "main/command.h"
#include "main/header.h"
#include "main/progress.h"
#include "main/results.h"
#include "main/shared_rows.h"

#include <ictus/clock.h>
#include <ictus/result.h>
#include <ictus/study.h>
#include <ictus/text.h>

#include <jansson.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check_options {
    const char *clock;
    int64_t rounds, worst;
    double span, slow, drift, step;
    const char *metrics;
    struct results_options results;
    struct progress_options talk;
};

#define AT(member) offsetof(struct check_options, member)

static const struct option_row options[] = {
    ROW_CLOCK(AT(clock)),
    {"rounds", 0, OPTION_INT, AT(rounds), "40", 2, 10000, NULL, "N",
     "largest number of other nodes that each node meets"},
    {"span", 0, OPTION_SECONDS, AT(span), "1s", 1e-3, 3600, NULL, "TIME",
     "time from the first to the last of three sweeps"},
    {"slow", 0, OPTION_REAL, AT(slow), "1.5", 1.01, 1e6, NULL, "FACTOR",
     "a round trip is slow if it takes this many times the usual one"},
    {"drift", 0, OPTION_RATIO, AT(drift), "50ppm", 1e-9, 0.1, NULL, "RATIO",
     "a clock drifts if its rate is this far from the median rate"},
    {"step", 0, OPTION_SECONDS, AT(step), "2us", 1e-9, 1, NULL, "TIME",
     "a clock stepped if it changed by more than this"},
    {"worst", 0, OPTION_INT, AT(worst), "10", 1, 1e6, NULL, "N",
     "largest number of rows in the table; the result file has all faults"},
    {"metrics", 0, OPTION_TEXT, AT(metrics), NULL, 0, 0, NULL, "FILE",
     "write metrics for a node exporter's textfile collector"},
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static const struct ictus_column columns[] = {
    {"what", "node or link              ", ICTUS_COLUMN_TEXT},
    {"fault", "fault          ", ICTUS_COLUMN_TEXT},
    {"over_limit", "x limit", ICTUS_COLUMN_NUMBER},
    {"rtt_ns", "rtt us", ICTUS_COLUMN_NS},
    {"drift_ppm", "drift ppm", ICTUS_COLUMN_NUMBER},
    {"step_ns", "step us", ICTUS_COLUMN_NS},
    {NULL, NULL, ICTUS_COLUMN_TEXT}};

enum { NAME_BYTES = 64 };

/* One row of the table: a node, or a link where b is not negative. */
struct row {
    int a, b;
    double worst;
};

/* Everything of one run; found and names on rank 0. */
struct census {
    const struct check_options *options;
    char clock[1024];
    MPI_Comm nodes; /* of one process on each node; MPI_COMM_NULL on the others */
    struct ictus_checkup *found;
    char *names; /* NAME_BYTES each */
};

static const char *check_nodes_name_of(const struct census *c, int node)
{
    return c->names + (size_t)node * NAME_BYTES;
}

/* One process of each node, rank 0 among them. */
static int nodes_join(struct census *c)
{
    MPI_Comm node;
    int inside = 0;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, command_rank(), MPI_INFO_NULL,
                            &node) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    MPI_Comm_rank(node, &inside);
    MPI_Comm_free(&node);
    return MPI_Comm_split(MPI_COMM_WORLD, inside ? MPI_UNDEFINED : 0, command_rank(), &c->nodes) ==
                   MPI_SUCCESS
               ? ICTUS_OK
               : ICTUS_ERR_MPI;
}

static int nodes_gather_names(struct census *c)
{
    char mine[MPI_MAX_PROCESSOR_NAME + 1] = "";
    char cut[NAME_BYTES] = "";
    int length = 0;
    int size = 0;
    int enough = 1;
    MPI_Comm_size(c->nodes, &size);
    MPI_Get_processor_name(mine, &length);
    (void)snprintf(cut, sizeof(cut), "%.63s", mine);
    if (command_rank() == 0) {
        c->names = calloc((size_t)size, NAME_BYTES);
        enough = c->names != NULL;
    }
    MPI_Bcast(&enough, 1, MPI_INT, 0, c->nodes);
    if (!enough) {
        return ICTUS_ERR_NOMEM;
    }
    MPI_Gather(cut, NAME_BYTES, MPI_CHAR, c->names, NAME_BYTES, MPI_CHAR, 0, c->nodes);
    return ICTUS_OK;
}

/* On one process of each node: measure and judge. */
static int census_take(struct census *c, struct ictus_why *why)
{
    const struct check_options *o = c->options;
    const struct ictus_checkup_plan plan = {.rounds = (int)o->rounds,
                                            .span_s = o->span,
                                            .slow = o->slow,
                                            .drift = o->drift,
                                            .step_ns = o->step * 1e9};
    struct ictus_study *study = NULL;
    struct progress_watch watch;
    char what[64];
    int size = 0;
    MPI_Comm_size(c->nodes, &size);
    (void)snprintf(what, sizeof(what), "%d node%s", size, size == 1 ? "" : "s");
    progress_watch_measuring(&watch, &o->talk, "check-nodes", what);
    int err = ictus_study_create(c->nodes, c->clock, &study, why);
    if (!err) {
        err = ictus_study_checkup(study, &plan, &c->found, why);
    }
    progress_watch_end(&watch);
    ictus_study_free(study);
    return err ? err : nodes_gather_names(c);
}

/* Name the faults of a node, "step+slow", or "-". */
static void faults_put_words(unsigned faults, char *out, size_t size)
{
    static const struct {
        unsigned fault;
        const char *word;
    } words[] = {{ICTUS_NODE_SILENT, "silent"},
                 {ICTUS_NODE_STEP, "step"},
                 {ICTUS_NODE_DRIFT, "drift"},
                 {ICTUS_NODE_SLOW, "slow"}};
    size_t used = 0;
    (void)snprintf(out, size, "-");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (faults & words[i].fault && used < size) {
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", used ? "+" : "", words[i].word);
        }
    }
}

static json_t *census_describe(const struct census *c, const struct row *row)
{
    const struct ictus_checkup *f = c->found;
    char what[2 * NAME_BYTES + 8];
    char faults[NAME_BYTES];
    json_t *object = json_pack("{s:s}", "type", row->b < 0 ? "node" : "link");
    if (row->b < 0) {
        const struct ictus_node_check *n = &f->nodes[row->a];
        (void)snprintf(what, sizeof(what), "%s", check_nodes_name_of(c, row->a));
        json_object_set_new(object, "what", json_string(what));
        faults_put_words(n->faults, faults, sizeof(faults));
        json_object_set_new(object, "fault", json_string(faults));
        json_object_set_new(object, "rtt_ns", ictus_result_real(n->rtt_ns));
        json_object_set_new(object, "drift_ppm", ictus_result_real(n->drift * 1e6));
        json_object_set_new(object, "step_ns", ictus_result_real(n->step_ns));
    } else {
        const struct ictus_link_check *l = &f->links[row->b];
        (void)snprintf(what, sizeof(what), "%s to %s", check_nodes_name_of(c, l->a),
                       check_nodes_name_of(c, l->b));
        json_object_set_new(object, "what", json_string(what));
        json_object_set_new(object, "fault", json_string("link"));
        json_object_set_new(object, "rtt_ns", ictus_result_real(l->rtt_ns));
        json_object_set_new(object, "expected_rtt_ns", ictus_result_real(l->expected_ns));
    }
    json_object_set_new(object, "over_limit", ictus_result_real(row->worst));
    return object;
}

static int check_nodes_compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    return (x->worst < y->worst) - (x->worst > y->worst);
}

/* If a node is itself faulty, its bad links add nothing and are left out. */
static bool nodes_is_new(const struct ictus_checkup *f, const struct ictus_link_check *l)
{
    return !(f->nodes[l->a].faults & ICTUS_NODE_SLOW) && !(f->nodes[l->b].faults & ICTUS_NODE_SLOW);
}

/* Rows, the worst first: all nodes, and the bad links. */
static struct row *nodes_sort_rows(const struct ictus_checkup *f, size_t *count)
{
    struct row *rows = calloc((size_t)f->node_count + f->link_count, sizeof(*rows));
    size_t n = 0;
    for (int i = 0; rows && i < f->node_count; i++) {
        rows[n++] = (struct row){i, -1, f->nodes[i].worst};
    }
    for (size_t l = 0; rows && l < f->link_count; l++) {
        if (nodes_is_new(f, &f->links[l])) {
            rows[n++] = (struct row){0, (int)l, f->links[l].worst};
        }
    }
    if (rows) {
        qsort(rows, n, sizeof(*rows), check_nodes_compare_rows);
    }
    *count = n;
    return rows;
}

/* Rank 0: the table of the worst, all faults to the file. Says how many faults there are. */
static int census_tell(const struct census *c, struct ictus_output *out, int *faults)
{
    size_t count = 0;
    struct row *rows = nodes_sort_rows(c->found, &count);
    int err = rows ? ICTUS_OK : ICTUS_ERR_NOMEM;
    int links = 0;
    for (size_t i = 0; rows && i < count && !err; i++) {
        const bool fault = rows[i].worst > 1.0;
        *faults += fault;
        links += fault && rows[i].b >= 0;
        if (i < (size_t)c->options->worst) {
            err = ictus_output_put(out, census_describe(c, &rows[i]));
        } else if (fault) {
            err = ictus_output_keep(out, census_describe(c, &rows[i]));
        }
    }
    free(rows);
    if (!err && c->options->results.format == ICTUS_FORMAT_TEXT) {
        printf("Faulty: %d of %d nodes and %d of %zu links. The usual round trip is %.3f us, and\n"
               "the rates of the clocks scatter by %.3g ppm. The checkup took %.2f s.\n",
               *faults - links, c->found->node_count, links, c->found->pair_count,
               c->found->usual_rtt_ns * 1e-3, c->found->drift_spread * 1e6, c->found->duration_s);
    }
    return err;
}

static int nodes_run_census(struct census *c, int *faults, struct ictus_why *why)
{
    const struct check_options *o = c->options;
    const struct header_facts facts = {
        .command = "check-nodes", .rows = options, .options = o, .clock = c->clock};
    struct ictus_output *out = NULL;
    int err = nodes_join(c);
    if (!err && c->nodes != MPI_COMM_NULL) {
        err = census_take(c, why);
    }
    err = results_agree(err, why);
    if (err) {
        return err;
    }
    err = results_open(&o->results, columns, header_create(&facts), &out, why);
    if (err) {
        return err;
    }
    if (command_rank() == 0) {
        err = census_tell(c, out, faults);
    }
    if (!err && command_rank() == 0 && o->metrics) {
        err = node_metrics_write(o->metrics, c->found, c->names, NAME_BYTES, why);
    }
    MPI_Bcast(faults, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return results_close(out, o->results.file, results_agree(err, why), why);
}

static int check_nodes_run(const void *given, int word_count, char **words)
{
    struct census c = {.options = given, .nodes = MPI_COMM_NULL};
    struct ictus_why why = {""};
    char sync[1024];
    int faults = 0;
    int err = ICTUS_OK;
    if (word_count > 0) {
        err =
            ictus_because(&why, ICTUS_ERR_SPEC,
                          "unexpected argument '%.80s'; check-nodes takes only options", words[0]);
    } else {
        err = ictus_clock_default(NULL, sync, sizeof(sync), c.clock, sizeof(c.clock), &why);
    }
    if (!err && c.options->clock) {
        (void)snprintf(c.clock, sizeof(c.clock), "%s", c.options->clock);
    }
    if (!err) {
        err = nodes_run_census(&c, &faults, &why);
    }
    ictus_checkup_free(c.found);
    free(c.names);
    if (c.nodes != MPI_COMM_NULL) {
        MPI_Comm_free(&c.nodes);
    }
    if (err) {
        return command_fail("check-nodes", err, &why);
    }
    return faults ? EXIT_BELOW : EXIT_OK;
}

const struct command command_check_nodes = {
    .name = "check-nodes",
    .summary = "find slow nodes, bad links, and clocks that step or drift",
    .arguments = "",
    .details = "  mpirun --map-by node ictus check-nodes "
               "--metrics=/var/lib/ictus.prom\n"
               "In three sweeps, each node exchanges messages with some dozens of "
               "others.\n"
               "The exit code is 3 if any node or link is faulty.",
    .options = options,
    .flags = NEEDS_MPI,
    .options_size = sizeof(struct check_options),
    .run = check_nodes_run,
};
