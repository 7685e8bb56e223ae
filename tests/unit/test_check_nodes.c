/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus check-nodes, as one rank of a job: one process of each node takes part, the worst come
 * first, a link is not blamed for its node, and what is faulty decides on the exit code. MPI and
 * the checkup itself are made up here. */
#include "captured.h"
#include "clocks/node_metrics.h"
#include "main/header.h"
#include "main/progress.h"
#include "main/results.h"
#include "typed.h"

#include <ictus/clock.h>
#include <ictus/study.h>
#include <ictus/text.h>
#include <jansson.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

extern const struct command command_check_nodes;

enum { NODES = 3, TEXT = 300 };

static struct {
    int rank, inside; /* of this process, in the job and in its node */
    int split_err, create_err, checkup_err, output_err, metrics_err, enough, told;
    struct ictus_node_check nodes[NODES];
    struct ictus_link_check links[4];
    struct ictus_checkup found;
    struct ictus_checkup_plan plan;
    int color, studies, freed_studies, freed_found, freed_comms, failed, puts, keeps, opened,
        closed;
    char rows[2][8][TEXT]; /* on the screen; only in the file */
    char why[TEXT], what[64], metrics[TEXT], names[NODES][64], clock[TEXT];
    bool watching;
} world;

static struct ictus_study *const study_here = (struct ictus_study *)(void *)&world;
static struct ictus_output *const output_here = (struct ictus_output *)(void *)&world.rows;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made);
int __wrap_MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made);
int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_MPI_Comm_size(MPI_Comm comm, int *size);
int __wrap_MPI_Comm_free(MPI_Comm *comm);
int __wrap_MPI_Get_processor_name(char *name, int *length);
int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_MPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int each,
                      MPI_Datatype each_type, int root, MPI_Comm comm);
int __wrap_ictus_clock_default(const char *asked, char *sync, size_t sync_size, char *source,
                               size_t source_size, struct ictus_why *why);
int __wrap_ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                              struct ictus_why *why);
void __wrap_ictus_study_free(struct ictus_study *study);
int __wrap_ictus_study_checkup(struct ictus_study *study, const struct ictus_checkup_plan *plan,
                               struct ictus_checkup **out, struct ictus_why *why);
void __wrap_ictus_checkup_free(struct ictus_checkup *found);
int __wrap_ictus_output_put(struct ictus_output *out, json_t *object);
int __wrap_ictus_output_keep(struct ictus_output *out, json_t *object);

int __wrap_MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
    CHECK(comm == MPI_COMM_WORLD && type == MPI_COMM_TYPE_SHARED && key == world.rank);
    (void)info;
    *made = MPI_COMM_SELF;
    world.freed_comms--;
    return world.split_err == 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int __wrap_MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    CHECK(comm == MPI_COMM_WORLD && key == world.rank);
    world.color = color;
    *made = color == MPI_UNDEFINED || world.split_err ? MPI_COMM_NULL : MPI_COMM_SELF;
    world.freed_comms -= *made != MPI_COMM_NULL;
    return world.split_err == 2 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    CHECK(comm == MPI_COMM_SELF);
    *rank = world.inside;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_size(MPI_Comm comm, int *size)
{
    CHECK(comm == MPI_COMM_SELF);
    *size = world.found.node_count;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_free(MPI_Comm *comm)
{
    CHECK(*comm == MPI_COMM_SELF);
    *comm = MPI_COMM_NULL;
    world.freed_comms++;
    return MPI_SUCCESS;
}

int __wrap_MPI_Get_processor_name(char *name, int *length)
{
    *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "n0-%070d", 5); /* longer than is kept */
    return MPI_SUCCESS;
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int *number = buffer;
    CHECK(count == 1 && type == MPI_INT && root == 0);
    if (world.rank != 0) {
        *number = comm == MPI_COMM_WORLD ? world.told : world.enough;
    }
    return MPI_SUCCESS;
}

int __wrap_MPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int each,
                      MPI_Datatype each_type, int root, MPI_Comm comm)
{
    CHECK(count == 64 && each == 64 && type == MPI_CHAR && each_type == MPI_CHAR && root == 0);
    CHECK(comm == MPI_COMM_SELF && strlen(mine) == 63);
    if (world.rank == 0) {
        memcpy(all, mine, 64);
        for (int i = 1; i < world.found.node_count; i++) {
            (void)snprintf((char *)all + 64 * (size_t)i, 64, "n%d", i);
        }
    }
    return MPI_SUCCESS;
}

int __wrap_ictus_clock_default(const char *asked, char *sync, size_t sync_size, char *source,
                               size_t source_size, struct ictus_why *why)
{
    (void)why;
    CHECK(!asked && sync && sync_size > 0);
    (void)snprintf(source, source_size, "usual");
    return ICTUS_OK;
}

int __wrap_ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                              struct ictus_why *why)
{
    CHECK(comm == MPI_COMM_SELF && world.watching);
    (void)snprintf(world.clock, sizeof world.clock, "%s", source);
    if (world.create_err) {
        return ictus_because(why, world.create_err, "no clock");
    }
    world.studies++;
    *study = study_here;
    return ICTUS_OK;
}

void __wrap_ictus_study_free(struct ictus_study *study)
{
    world.freed_studies += study == study_here;
}

int __wrap_ictus_study_checkup(struct ictus_study *study, const struct ictus_checkup_plan *plan,
                               struct ictus_checkup **out, struct ictus_why *why)
{
    (void)why;
    CHECK(study == study_here && world.watching);
    world.plan = *plan;
    *out = &world.found;
    return world.checkup_err;
}

void __wrap_ictus_checkup_free(struct ictus_checkup *found)
{
    world.freed_found += found != NULL;
}

/* A row as "type what fault over". */
static int row_take(int list, int at, json_t *object)
{
    REQUIRE(at < 8);
    (void)snprintf(world.rows[list][at], TEXT, "%s %s %s %g",
                   json_string_value(json_object_get(object, "type")),
                   json_string_value(json_object_get(object, "what")),
                   json_string_value(json_object_get(object, "fault")),
                   json_real_value(json_object_get(object, "over_limit")));
    if (strcmp(json_string_value(json_object_get(object, "what")), "n1") == 0) {
        CHECK_NEAR(json_real_value(json_object_get(object, "rtt_ns")), 900, 0);
        CHECK_NEAR(json_real_value(json_object_get(object, "drift_ppm")), 25, 1e-9);
        CHECK_NEAR(json_real_value(json_object_get(object, "step_ns")), 3000, 0);
    }
    const json_t *expected = json_object_get(object, "expected_rtt_ns");
    if (expected && json_real_value(json_object_get(object, "over_limit")) == 2) {
        CHECK_NEAR(json_real_value(json_object_get(object, "rtt_ns")), 800, 0);
        CHECK_NEAR(json_real_value(expected), 400, 0);
    }
    json_decref(object);
    return world.output_err;
}

int __wrap_ictus_output_put(struct ictus_output *out, json_t *object)
{
    CHECK(out == output_here);
    return row_take(0, world.puts++, object);
}

int __wrap_ictus_output_keep(struct ictus_output *out, json_t *object)
{
    CHECK(out == output_here);
    return row_take(1, world.keeps++, object);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

int command_rank(void)
{
    return world.rank;
}

int command_size(void)
{
    return 2 * NODES;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    CHECK_STR(command, "check-nodes");
    world.failed = err;
    (void)snprintf(world.why, sizeof world.why, "%.250s", why->text);
    return err == ICTUS_ERR_SPEC ? EXIT_USAGE : EXIT_FAILED;
}

json_t *header_create(const struct header_facts *facts)
{
    CHECK_STR(facts->command, "check-nodes");
    CHECK(facts->rows && facts->options && facts->clock[0]);
    return NULL;
}

#include "results_stub.h"

void progress_watch_measuring(struct progress_watch *watch, const struct progress_options *options,
                              const char *command, const char *what)
{
    CHECK(watch && options);
    CHECK_STR(command, "check-nodes");
    (void)snprintf(world.what, sizeof world.what, "%s", what);
    world.watching = true;
}

void progress_watch_end(struct progress_watch *watch)
{
    CHECK(watch && world.watching);
    world.watching = false;
}

int node_metrics_write(const char *path, const struct ictus_checkup *found, const char *names,
                       size_t name_bytes, struct ictus_why *why)
{
    CHECK(found == &world.found && name_bytes == 64);
    CHECK_STR(names + 64, "n1");
    (void)snprintf(world.metrics, sizeof world.metrics, "%s", path);
    return world.metrics_err ? ictus_because(why, world.metrics_err, "no metrics") : ICTUS_OK;
}

/* Node 1 is slow and stepped; the link from 0 to 2 is bad, and so are two of node 1's. */
static void begin(int rank, int inside)
{
    memset(&world, 0, sizeof world);
    world.rank = rank;
    world.inside = inside;
    world.nodes[0] = (struct ictus_node_check){.rtt_ns = 500, .worst = 0.5};
    world.nodes[1] = (struct ictus_node_check){.rtt_ns = 900,
                                               .drift = 25e-6,
                                               .step_ns = 3000,
                                               .worst = 3,
                                               .faults = ICTUS_NODE_SLOW | ICTUS_NODE_STEP};
    world.nodes[2] = (struct ictus_node_check){.rtt_ns = 600, .worst = 1}; /* just good enough */
    world.links[0] = (struct ictus_link_check){1, 2, 9000, 400, 6};
    world.links[1] = (struct ictus_link_check){0, 1, 8000, 400, 5};
    world.links[2] = (struct ictus_link_check){0, 2, 800, 400, 2};
    world.found = (struct ictus_checkup){.node_count = NODES,
                                         .nodes = world.nodes,
                                         .link_count = 3,
                                         .links = world.links,
                                         .pair_count = 7,
                                         .usual_rtt_ns = 12500,
                                         .drift_spread = 3e-6,
                                         .duration_s = 1.25};
    world.enough = 1;
}

static int run(const char *typed)
{
    const int code = typed_run(&command_check_nodes, typed);
    CHECK(world.freed_comms == 0 && world.freed_studies == world.studies && !world.watching);
    CHECK(world.opened == world.closed);
    return code;
}

static void the_worst_come_first(void)
{
    struct captured shown;
    char first[TEXT];
    begin(0, 0);
    capture_begin(&shown);
    const int code = run("");
    capture_end(&shown);
    CHECK(code == EXIT_BELOW && world.color == 0 && world.puts == 4 && world.keeps == 0);
    CHECK_STR(world.rows[0][0], "node n1 step+slow 3");
    (void)snprintf(first, sizeof first, "link n0-%060d to n2 link 2", 0);
    CHECK_STR(world.rows[0][1], first);
    CHECK_STR(world.rows[0][2], "node n2 - 1");
    (void)snprintf(first, sizeof first, "node n0-%060d - 0.5", 0);
    CHECK_STR(world.rows[0][3], first);
    CHECK_STR(shown.text,
              "Faulty: 1 of 3 nodes and 1 of 7 links. The usual round trip is 12.500 us, and\n"
              "the rates of the clocks scatter by 3 ppm. The checkup took 1.25 s.\n");
    CHECK_STR(world.what, "3 nodes");
    CHECK_STR(world.clock, "usual");
    CHECK(world.plan.rounds == 40 && world.plan.span_s == 1 && world.plan.slow == 1.5);
    CHECK_NEAR(world.plan.drift, 5e-5, 1e-12);
    CHECK_NEAR(world.plan.step_ns, 2000, 1e-9);
    CHECK(world.freed_found == 1 && !world.metrics[0]);
}

/* The table ends sooner; faults that it has no room for are in the file, what is good is not. */
static void the_table_may_be_short(void)
{
    begin(0, 0);
    CHECK(run("--worst=1 --format=json --clock=tsc --metrics=m.prom") == EXIT_BELOW);
    CHECK(world.puts == 1 && world.keeps == 1);
    CHECK(strncmp(world.rows[1][0], "link ", 5) == 0);
    CHECK_STR(world.clock, "tsc");
    CHECK_STR(world.metrics, "m.prom");
    begin(0, 0);
    world.nodes[1].worst = world.links[2].worst = 1;
    CHECK(run("--format=json") == EXIT_OK && world.puts == 4);
    begin(0, 0);
    world.found.node_count = 1;
    world.found.link_count = 0;
    CHECK(run("--format=csv") == EXIT_OK && world.puts == 1);
    CHECK_STR(world.what, "1 node");
}

static void faults_have_words(void)
{
    static const struct {
        unsigned faults;
        const char *row;
    } cases[] = {
        {ICTUS_NODE_SILENT, "node n1 silent 3"},
        {ICTUS_NODE_STEP | ICTUS_NODE_DRIFT, "node n1 step+drift 3"},
        {ICTUS_NODE_DRIFT | ICTUS_NODE_SLOW, "node n1 drift+slow 3"},
        {ICTUS_NODE_STEP | ICTUS_NODE_DRIFT | ICTUS_NODE_SLOW, "node n1 step+drift+slow 3"},
        {ICTUS_NODE_SLOW, "node n1 slow 3"},
        {0, "node n1 - 3"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(0, 0);
        world.nodes[1].faults = cases[i].faults;
        world.found.link_count = 0;
        CHECK(run("--format=json") == EXIT_BELOW);
        CHECK_STR(world.rows[0][0], cases[i].row);
    }
    begin(0, 0); /* only a slow node excuses its links */
    world.nodes[1].faults = ICTUS_NODE_STEP;
    CHECK(run("--format=json") == EXIT_BELOW && world.puts == 6);
    CHECK(strcmp(world.rows[0][0], "link n1 to n2 link 6") == 0);
}

/* A second process of a node measures nothing, and hears how it ended. */
static void others_rest(void)
{
    begin(4, 1);
    world.told = 1;
    CHECK(run("") == EXIT_BELOW && world.color == MPI_UNDEFINED && world.studies == 0);
    CHECK(world.puts == 0 && world.freed_found == 0);
    begin(4, 1);
    CHECK(run("--metrics=m.prom") == EXIT_OK && !world.metrics[0]);
    begin(2, 0); /* the first of another node: it measures, and tells nothing */
    world.told = 3;
    CHECK(run("") == EXIT_BELOW && world.studies == 1 && world.puts == 0 && world.color == 0);
    begin(2, 0);
    world.enough = 0;
    CHECK(run("") == EXIT_FAILED && world.failed == ICTUS_ERR_NOMEM && world.opened == 0);
}

static void failures_are_told(void)
{
    begin(0, 0);
    CHECK(run("word") == EXIT_USAGE && strstr(world.why, "unexpected argument 'word'"));
    CHECK(world.studies == 0);
    for (int which = 1; which <= 2; which++) {
        begin(0, 0);
        world.split_err = which;
        if (which == 1) {
            world.freed_comms = 1; /* what was not made is not freed */
        }
        CHECK(run("") == EXIT_FAILED && world.failed == ICTUS_ERR_MPI && world.studies == 0);
    }
    begin(0, 0);
    world.create_err = ICTUS_ERR_CLOCK;
    CHECK(run("") == EXIT_FAILED && world.failed == ICTUS_ERR_CLOCK && world.opened == 0);
    begin(0, 0);
    world.checkup_err = ICTUS_ERR_SAMPLES;
    CHECK(run("") == EXIT_FAILED && world.failed == ICTUS_ERR_SAMPLES && world.puts == 0);
    begin(0, 0);
    world.output_err = ICTUS_ERR_IO;
    CHECK(run("--metrics=m.prom") == EXIT_FAILED && world.puts == 1 && world.closed == 1);
    CHECK(!world.metrics[0]);
    begin(0, 0);
    world.metrics_err = ICTUS_ERR_IO;
    CHECK(run("--metrics=m.prom --format=json") == EXIT_FAILED && world.puts == 4);
    CHECK_STR(world.why, "no metrics");
}

int main(void)
{
    the_worst_come_first();
    the_table_may_be_short();
    faults_have_words();
    others_rest();
    failures_are_told();
    return check_result();
}
