/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus sync, as one rank of a job: which experiments it makes, in which order and with which
 * clocks, and what becomes of their results. The experiments themselves, MPI and the files are made
 * up here. */
#include "captured.h"
#include "clocks/sync_experiment.h"
#include "clocks/sync_summary.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/meet.h"
#include "main/results.h"
#include "typed.h"

#include <ictus/clock.h>
#include <ictus/study.h>
#include <ictus/text.h>
#include <jansson.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

extern const struct command command_sync;

enum { RUNS = 64, TEXT = 200, SIZE = 4 };

struct run {
    char spec[TEXT], label[TEXT];
    MPI_Comm comm;
    size_t waits;
    double first_wait_s, last_wait_s, done;
    uint64_t seed;
};

static struct {
    int rank, kernels, fails_at, err, put_err, interrupt_at;
    bool truth;
    size_t exchanges;
    struct run runs[RUNS];
    int run_count, puts, keeps, shows, opened, closed, failed, studies, met, comms, groups, hidden;
    long steps;
    double total;
    size_t cells, repetitions, added[RUNS];
    size_t added_count;
    size_t unseen_cell; /* whose row has only what sigma leaves out */
    double unseen_ns;
    char put_text[RUNS][TEXT], shown[RUNS][TEXT], why[TEXT], clock[2000], header_sync[TEXT];
    int64_t header_seed;
} world;

static struct ictus_study *const study_here = (struct ictus_study *)(void *)&world;
static struct ictus_output *const output_here = (struct ictus_output *)(void *)&world.runs;
static struct sync_summary *const summary_here = (struct sync_summary *)(void *)&world.cells;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int __wrap_MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *made);
int __wrap_MPI_Group_free(MPI_Group *group);
int __wrap_MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made);
int __wrap_MPI_Comm_free(MPI_Comm *comm);
int __wrap_ictus_clock_default(const char *asked, char *sync, size_t sync_size, char *source,
                               size_t source_size, struct ictus_why *why);
int __wrap_ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                              struct ictus_why *why);
void __wrap_ictus_study_free(struct ictus_study *study);
int __wrap_ictus_study_sharing(struct ictus_study *study, struct ictus_sharing *out,
                               struct ictus_why *why);
int __wrap_ictus_output_put(struct ictus_output *out, json_t *object);
int __wrap_ictus_output_keep(struct ictus_output *out, json_t *object);
int __wrap_ictus_output_show(struct ictus_output *out, json_t *object);

int __wrap_MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    CHECK(comm == MPI_COMM_WORLD);
    *group = MPI_GROUP_EMPTY;
    world.groups++;
    return MPI_SUCCESS;
}

int __wrap_MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *made)
{
    CHECK(group == MPI_GROUP_EMPTY && n == 1 && ranges[0][0] == 0 && ranges[0][2] == 1);
    CHECK(world.rank <= ranges[0][1] && ranges[0][1] < SIZE - 1);
    *made = MPI_GROUP_EMPTY;
    world.groups++;
    return MPI_SUCCESS;
}

int __wrap_MPI_Group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    world.groups--;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
    CHECK(comm == MPI_COMM_WORLD && group == MPI_GROUP_EMPTY && tag >= 0 && tag < 8);
    *made = MPI_COMM_SELF;
    world.comms++;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_free(MPI_Comm *comm)
{
    CHECK(*comm == MPI_COMM_SELF);
    *comm = MPI_COMM_NULL;
    world.comms--;
    return MPI_SUCCESS;
}

int __wrap_ictus_clock_default(const char *asked, char *sync, size_t sync_size, char *source,
                               size_t source_size, struct ictus_why *why)
{
    (void)why;
    CHECK(!asked);
    (void)snprintf(sync, sync_size, "mesh");
    (void)snprintf(source, source_size, "monotonic");
    return ICTUS_OK;
}

int __wrap_ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                              struct ictus_why *why)
{
    (void)why;
    CHECK(comm == MPI_COMM_WORLD);
    (void)snprintf(world.clock, sizeof world.clock, "%s", source);
    *study = study_here;
    world.studies++;
    return ICTUS_OK;
}

void __wrap_ictus_study_free(struct ictus_study *study)
{
    world.studies -= study == study_here;
}

int __wrap_ictus_study_sharing(struct ictus_study *study, struct ictus_sharing *out,
                               struct ictus_why *why)
{
    CHECK(study == study_here);
    *out = (struct ictus_sharing){.kernels = world.kernels};
    return world.kernels ? ICTUS_OK : ictus_because(why, ICTUS_ERR_MPI, "no MPI");
}

/* "sync processes repetition wait order seed max/covered/raw". */
static void object_take(char *text, json_t *object)
{
    const json_t *raw = json_object_get(object, "raw_errors_ns");
    (void)snprintf(text, TEXT, "%s %lld %lld %g %lld %lld %g/%g/%zu",
                   json_string_value(json_object_get(object, "sync")),
                   json_integer_value(json_object_get(object, "processes")),
                   json_integer_value(json_object_get(object, "repetition")),
                   json_real_value(json_object_get(object, "wait_s")),
                   json_integer_value(json_object_get(object, "order")),
                   json_integer_value(json_object_get(object, "seed")),
                   json_real_value(json_object_get(object, "max_error_ns")),
                   json_object_get(object, "covered") ? 1.0 : 0.0, json_array_size(raw));
    CHECK_STR(json_string_value(json_object_get(object, "type")), "sync");
    CHECK_STR(json_string_value(json_object_get(object, "clock")), world.clock);
    CHECK(json_is_boolean(json_object_get(object, "truth")));
    CHECK(json_integer_value(json_object_get(object, "exchanges")) == 70);
    CHECK(json_integer_value(json_object_get(object, "messages")) == 90);
    CHECK(json_integer_value(json_object_get(object, "checked")) == 3);
    CHECK_NEAR(json_real_value(json_object_get(object, "duration_s")), 0.5, 0);
    CHECK_NEAR(json_real_value(json_object_get(object, "rms_error_ns")), 2, 0);
    CHECK_NEAR(json_real_value(json_object_get(object, "max_sigma_ns")), 3, 0);
    CHECK_NEAR(json_real_value(json_object_get(object, "max_path_ns")), 4, 0);
    CHECK_NEAR(json_real_value(json_object_get(object, "max_unseen_ns")), 6, 0);
    CHECK_NEAR(json_real_value(json_object_get(object, "max_bound_ns")), 5, 0);
    CHECK(json_is_null(json_object_get(object, "judgement_ns"))); /* not known */
    json_decref(object);
}

int __wrap_ictus_output_put(struct ictus_output *out, json_t *object)
{
    REQUIRE(out == output_here && world.puts < RUNS);
    object_take(world.put_text[world.puts++], object);
    return world.put_err;
}

int __wrap_ictus_output_keep(struct ictus_output *out, json_t *object)
{
    char text[TEXT];
    CHECK(out == output_here);
    object_take(text, object);
    world.keeps++;
    return world.put_err;
}

int __wrap_ictus_output_show(struct ictus_output *out, json_t *object)
{
    REQUIRE(out == output_here && world.shows < RUNS);
    (void)snprintf(world.shown[world.shows++], TEXT, "%s",
                   json_is_string(object) ? json_string_value(object) : "");
    json_decref(object);
    return ICTUS_OK;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

int sync_experiment_run(MPI_Comm comm, const char *spec, const struct judging *how,
                        struct sync_cost *cost, struct sync_quality *qualities, size_t *judged,
                        struct ictus_why *why)
{
    REQUIRE(world.run_count < RUNS);
    struct run *run = &world.runs[world.run_count];
    *run = (struct run){.comm = comm,
                        .waits = how->wait_count,
                        .first_wait_s = how->waits[0],
                        .done = how->done,
                        .seed = how->seed};
    (void)snprintf(run->spec, TEXT, "%s", spec);
    (void)snprintf(run->label, TEXT, "%s", how->label);
    CHECK(how->exchanges == world.exchanges && how->sample == 0.5 && how->progress);
    if (world.err && world.run_count == world.fails_at) {
        return ictus_because(why, world.err, "it failed");
    }
    world.run_count++;
    *cost = (struct sync_cost){0.5, 70, 90, world.truth};
    for (size_t i = 0; i < how->wait_count; i++) {
        qualities[i] = (struct sync_quality){
            how->waits[i], 10.0 + (double)i, 2, 3, 4, 6, 5, NAN, 0.5, 3, NULL};
        if (how->raw && world.rank == 0) {
            qualities[i].errors_ns = calloc(SIZE, sizeof(double));
            REQUIRE(qualities[i].errors_ns);
        }
    }
    *judged = how->wait_count;
    return ICTUS_OK;
}

uint64_t sync_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

struct sync_summary *sync_summary_create(size_t cells, size_t repetitions)
{
    world.cells = cells;
    world.repetitions = repetitions;
    return summary_here;
}

void sync_summary_add(struct sync_summary *summary, size_t cell, const struct sync_cost *cost,
                      const struct sync_quality *quality)
{
    REQUIRE(summary == summary_here && cost && quality && world.added_count < RUNS);
    world.added[world.added_count++] = cell;
}

json_t *sync_summary_row(struct sync_summary *summary, size_t cell, const char *sync, int processes,
                         double wait_s)
{
    char text[TEXT];
    CHECK(summary == summary_here);
    (void)snprintf(text, sizeof text, "%zu %s %d %g", cell, sync, processes, wait_s);
    if (cell == world.unseen_cell) {
        return json_pack("{s:f}", "unseen_ns", world.unseen_ns);
    }
    return cell == 1 ? NULL : json_string(text); /* of one cell nothing was measured */
}

void sync_summary_free(struct sync_summary *summary)
{
    CHECK(!summary || summary == summary_here);
}

void sync_summary_columns(const char *title, struct ictus_column *columns)
{
    columns[0] = (struct ictus_column){"sync", title, ICTUS_COLUMN_TEXT};
    columns[1] = (struct ictus_column){NULL, NULL, ICTUS_COLUMN_TEXT};
}

int command_rank(void)
{
    return world.rank;
}

int command_size(void)
{
    return SIZE;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    CHECK_STR(command, "sync");
    world.failed = err;
    (void)snprintf(world.why, sizeof world.why, "%.190s", why->text);
    return err == ICTUS_ERR_SPEC || err == ICTUS_ERR_UNKNOWN ? EXIT_USAGE : EXIT_FAILED;
}

json_t *header_create(const struct header_facts *facts)
{
    CHECK_STR(facts->command, "sync");
    CHECK_STR(facts->clock, world.clock);
    CHECK(facts->rows && facts->options && facts->seeded);
    (void)snprintf(world.header_sync, TEXT, "%s", facts->sync);
    world.header_seed = facts->seed;
    return NULL;
}

#include "results_stub.h"

void progress_start(struct progress *progress, const struct progress_options *options,
                    const char *what, double total)
{
    CHECK(progress && options);
    CHECK_STR(what, "synchronisations");
    world.total = total;
}

void progress_step(struct progress *progress, double done, const char *label)
{
    CHECK(progress && label[0] && done <= world.total);
    world.steps++;
}

void progress_hide(struct progress *progress)
{
    (void)progress;
    world.hidden++;
}

void interrupt_watch(void)
{
}

bool interrupt_came(void)
{
    return world.interrupt_at > 0 && world.run_count >= world.interrupt_at;
}

void meet_all(void)
{
    world.met++;
}

static void begin(int rank)
{
    memset(&world, 0, sizeof world);
    world.rank = rank;
    world.kernels = 1;
    world.exchanges = 100;
    world.unseen_cell = RUNS;
}

static int run(const char *typed)
{
    char all[400];
    (void)snprintf(all, sizeof all, "--sample=50%% %s", typed);
    const int code = typed_run(&command_sync, all);
    CHECK(world.studies == 0 && world.comms == 0 && world.groups == 0);
    CHECK(world.opened == world.closed);
    return code;
}

/* Two waits of each experiment after the warm-ups of four. */
static void rows_are_of_their_runs(void)
{
    for (int i = 0; i < world.puts; i++) {
        char wanted[TEXT];
        const struct run *r = &world.runs[4 + i / 2];
        (void)snprintf(wanted, sizeof wanted, "%s %d %d %d %d 5 %d/0/0", r->label,
                       r->comm == MPI_COMM_WORLD ? 4 : 2, i / 8, i % 2 ? 2 : 0, i / 2, 10 + i % 2);
        CHECK_STR(world.put_text[i], wanted);
    }
}

/* Warm-ups go first, in order, and are judged by nobody; then each repetition makes all once. */
static void everything_is_tried_as_often(void)
{
    int seen[4][4] = {{0}}, moved = 0;
    begin(0);
    CHECK(run("--sync=jk,skampi --processes=2,4 --wait=2,0 --repetitions=3 --warmup=1 --seed=5 "
              "--format=json") == EXIT_OK);
    REQUIRE(world.run_count == 16 && world.puts == 3 * 4 * 2 && world.keeps == 0);
    CHECK(world.total == 12 && world.steps == 16 && world.met == 32);
    for (int i = 0; i < 16; i++) {
        const struct run *r = &world.runs[i];
        const int repetition = i / 4 - 1;
        const int second = strcmp(r->label, "skampi") == 0, whole = r->comm == MPI_COMM_WORLD;
        CHECK_STR(r->spec, second ? "skampi@monotonic" : "jk@monotonic");
        CHECK(r->waits == (repetition < 0 ? 0 : 2) && r->first_wait_s == 0);
        CHECK(r->seed == (uint64_t)(5 + repetition) && r->done == (i < 4 ? 0 : i - 4));
        seen[i / 4][2 * whole + second]++;
        CHECK(repetition >= 0 || i == 2 * whole + second);
        moved += repetition >= 0 && i % 4 != 2 * whole + second;
    }
    for (int i = 0; i < 16; i++) {
        CHECK(seen[i / 4][i % 4] == 1);
    }
    CHECK(moved > 0); /* orders are drawn */
    rows_are_of_their_runs();
    CHECK_STR(world.header_sync, "jk,skampi");
    CHECK(world.header_seed == 5);
}

static void seeds_draw_the_order(void)
{
    char orders[3][TEXT] = {""};
    for (int i = 0; i < 3; i++) {
        char typed[TEXT];
        begin(0);
        (void)snprintf(typed, sizeof typed,
                       "--sync=jk,skampi,mesh,hca --wait=0 --warmup=0 --seed=%d", i < 2 ? 9 : 10);
        CHECK(run(typed) == EXIT_OK && world.run_count == 20);
        for (int k = 0; k < 20; k++) {
            const size_t length = strlen(orders[i]);
            (void)snprintf(orders[i] + length, TEXT - length, "%s ", world.runs[k].label);
        }
    }
    CHECK_STR(orders[0], orders[1]);
    CHECK(strcmp(orders[0], orders[2]) != 0);
}

/* On a screen, rows are kept and summed up: a cell for each processes, algorithm and wait. */
static void screens_show_a_summary(void)
{
    static const char *const rows[] = {"0 jk 2 0",   "2 skampi 2 0", "3 skampi 2 1.5", "4 jk 4 0",
                                       "5 jk 4 1.5", "6 skampi 4 0", "7 skampi 4 1.5"};
    int counts[8] = {0};
    begin(0);
    CHECK(run("--sync=jk,skampi --processes=2,4 --wait=0,1.5 --repetitions=2 --warmup=0") ==
          EXIT_OK);
    CHECK(world.puts == 0 && world.keeps == 16 && world.cells == 8 && world.repetitions == 2);
    REQUIRE(world.added_count == 16 && world.shows == 7);
    for (size_t i = 0; i < world.added_count; i++) {
        const struct run *r = &world.runs[i / 2];
        const size_t cell =
            ((size_t)(r->comm == MPI_COMM_WORLD) * 2 + (r->label[0] == 's')) * 2 + i % 2;
        CHECK(world.added[i] == cell && cell < 8);
        counts[cell]++;
    }
    for (int i = 0; i < 8; i++) {
        CHECK(counts[i] == 2);
        CHECK(i == 7 || strcmp(world.shown[i], rows[i]) == 0);
    }
    begin(1); /* no other rank writes or sums up */
    CHECK(run("--sync=jk --repetitions=2 --raw") == EXIT_OK);
    CHECK(world.run_count == 3 && world.keeps == 0 && world.shows == 0 && world.cells == 0);
    CHECK_STR(world.header_sync, "jk");
}

static void what_is_known_is_written(void)
{
    begin(0);
    world.truth = true;
    CHECK(run("--clock=sim:offset=1s --wait=3 --raw --repetitions=1 --warmup=0 --processes=3 "
              "--format=csv") == EXIT_OK);
    CHECK_STR(world.put_text[0], "mesh 3 0 3 0 1 10/1/3");
    CHECK_STR(world.header_sync, "mesh");
}

static void spec_is(const char *clock, int64_t seed, const char *first, const char *second)
{
    char typed[TEXT];
    begin(0);
    (void)snprintf(typed, sizeof typed,
                   "--sync=jk --reseed --clock=%s --seed=%lld --repetitions=2 --warmup=1", clock,
                   (long long)seed);
    CHECK(run(typed) == EXIT_OK && world.run_count == 3);
    CHECK_STR(world.runs[0].spec, first); /* a warm-up is like the first one */
    CHECK_STR(world.runs[1].spec, first);
    CHECK_STR(world.runs[2].spec, second);
}

/* Each repetition has clocks of its own: from the clock's seed on, or from the command's. */
static void clocks_are_drawn_anew(void)
{
    spec_is("sim", 7, "jk@sim:seed=7", "jk@sim:seed=8");
    spec_is("sim:offset=1s", 7, "jk@sim:offset=1s,seed=7", "jk@sim:offset=1s,seed=8");
    spec_is("sim:seed=40", 7, "jk@sim:seed=40", "jk@sim:seed=41");
    spec_is("sim:offset=1s,seed=40,drift=1ppm", 7, "jk@sim:offset=1s,seed=40,drift=1ppm",
            "jk@sim:offset=1s,seed=41,drift=1ppm");
    begin(0);
    CHECK(run("--sync=jk --clock=sim:seed=3 --repetitions=2 --warmup=0") == EXIT_OK);
    CHECK_STR(world.runs[1].spec, "jk@sim:seed=3"); /* not asked for */
    begin(0);
    CHECK(run("--reseed --clock=tsc") == EXIT_USAGE && strstr(world.why, "simulated clock"));
}

/* Exchanges would change nothing where the truth is known: in one kernel. */
static void exchanges_need_an_unknown_truth(void)
{
    begin(0);
    CHECK(run("--clock=sim:offset=1s --exchanges=99") == EXIT_USAGE && world.opened == 0);
    CHECK(strstr(world.why, "--exchanges has an effect only") != NULL);
    begin(0);
    world.kernels = 2;
    world.exchanges = 99;
    CHECK(run("--clock=sim:offset=1s --exchanges=99 --wait=0") == EXIT_OK);
    begin(0);
    world.kernels = 0;
    CHECK(run("--clock=sim:offset=1s --exchanges=99") == EXIT_FAILED &&
          world.failed == ICTUS_ERR_MPI);
    begin(0);
    world.exchanges = 99;
    CHECK(run("--clock=tsc --exchanges=99 --wait=0") == EXIT_OK);
}

/* Whoever is beyond the count of an experiment meets the others before and after it. */
static void others_rest(void)
{
    begin(2);
    CHECK(run("--sync=jk --processes=2,3,4 --repetitions=1 --warmup=0") == EXIT_OK);
    CHECK(world.run_count == 2 && world.met == 6 && world.puts == 0);
    begin(3);
    CHECK(run("--sync=jk --processes=1,3 --repetitions=2 --warmup=0") == EXIT_OK);
    CHECK(world.run_count == 0 && world.met == 8);
}

static void failures_are_told(void)
{
    begin(0);
    world.err = ICTUS_ERR_CLOCK;
    world.fails_at = 3;
    CHECK(run("--sync=jk --warmup=1 --repetitions=5 --format=json --wait=0") == EXIT_FAILED);
    CHECK(world.run_count == 3 && world.puts == 2 && world.failed == ICTUS_ERR_CLOCK);
    begin(0);
    world.put_err = ICTUS_ERR_IO;
    CHECK(run("--sync=jk --warmup=0 --wait=0,1 --raw") == EXIT_FAILED && world.run_count == 1);
    CHECK(world.keeps == 2); /* all of one experiment */
    begin(0);
    world.interrupt_at = 2;
    CHECK(run("--sync=jk --warmup=0 --wait=0") == EXIT_INTERRUPTED && world.run_count == 2);
    CHECK(world.failed == 0 && world.shows == 1 && world.hidden == 1); /* what there is, is shown */
}

static void refused(const char *typed, const char *part)
{
    begin(0);
    CHECK(run(typed) == EXIT_USAGE && world.opened == 0 && world.run_count == 0);
    if (!strstr(world.why, part)) {
        CHECK_STR(world.why, part);
    }
}

static void nonsense_is_refused(void)
{
    refused("word", "unexpected argument 'word'; name algorithms with --sync");
    refused("--sync=none", "none");
    refused("--sync=jk,", "jk,");
    refused("--wait=soon", "soon");
    refused("--wait=-1", "wait");
    refused("--processes=5", "between 1 and 4");
}

/* What sigma leaves out is told after the table, if there is any. */
static void the_unseen_is_told(void)
{
    for (int some = 0; some < 2; some++) {
        struct captured shown;
        begin(0);
        world.unseen_cell = 2;
        world.unseen_ns = some ? 1234.4 : 0.49;
        capture_begin(&shown);
        CHECK(run("--sync=mesh,hca3 --wait=0,1") == EXIT_OK && world.shows == 3);
        capture_end(&shown);
        CHECK(some ? strstr(shown.text, "receive. The usual\nerror from that, 1.234 us (") != NULL
                   : shown.text[0] == '\0');
    }
}

static void algorithms_are_listed(void)
{
    struct captured shown;
    begin(0);
    capture_begin(&shown);
    const int code = run("--list --sync=none");
    capture_end(&shown);
    CHECK(code == EXIT_OK && world.run_count == 0 && world.opened == 0);
    CHECK(strstr(shown.text, "skampi: ") && strstr(shown.text, "\n    exchanges="));
    CHECK(strstr(shown.text, ", ") && strstr(shown.text, "mesh: "));
    begin(1);
    capture_begin(&shown);
    CHECK(run("--list") == EXIT_OK);
    capture_end(&shown);
    CHECK_STR(shown.text, "");
}

int main(void)
{
    everything_is_tried_as_often();
    seeds_draw_the_order();
    screens_show_a_summary();
    what_is_known_is_written();
    clocks_are_drawn_anew();
    exchanges_need_an_unknown_truth();
    others_rest();
    failures_are_told();
    nonsense_is_refused();
    the_unseen_is_told();
    algorithms_are_listed();
    return check_result();
}
