/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus drift: how the clocks of a job wander, and for how long a line describes them (H18 figure
 * 2, H08 figure 5). */
#include "clocks/clock_study.h"
#include "clocks/drift_describe.h"
#include "main/command.h"
#include "main/interrupt.h"
#include "main/meet.h"
#include "main/progress.h"
#include "main/results.h"
#include "main/shared_rows.h"

#include <ictus/result.h>
#include <ictus/study.h>
#include <ictus/text.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct drift_options {
    const char *clock;
    double duration_s;
    double interval_s;
    int64_t exchanges;
    int64_t reference;
    double fit_s;
    double tolerance_s;
    struct results_options results;
    struct progress_options talk;
};

#define AT(member) offsetof(struct drift_options, member)

static const struct option_row options[] = {
    ROW_CLOCK(AT(clock)),
    ROW_DURATION(AT(duration_s), "60s", 0.001, "how long to observe"),
    {"interval", 0, OPTION_SECONDS, AT(interval_s), "500ms", 0, 1e5, NULL, "TIME",
     "time between two offset measurements of a process"},
    ROW_EXCHANGES(AT(exchanges), "100", 1, 1e6, "exchanges for each offset measurement"),
    {"reference-rank", 0, OPTION_INT, AT(reference), "0", 0, 1e9, NULL, "RANK",
     "rank whose clock all others are compared with"},
    {"fit", 0, OPTION_SECONDS, AT(fit_s), "10s", 1e-6, 1e6, NULL, "TIME",
     "fit lines to this much data, then see how long they hold"},
    {"tolerance", 0, OPTION_SECONDS, AT(tolerance_s), "1us", 1e-9, 1e3, NULL, "TIME",
     "a line holds while its error is no larger than this"},
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static const struct ictus_column columns[] = {{"rank", "rank", ICTUS_COLUMN_COUNT},
                                              {"points", "points", ICTUS_COLUMN_COUNT},
                                              {"duration_s", "over s", ICTUS_COLUMN_NUMBER},
                                              {"slope_ppm", "slope ppm", ICTUS_COLUMN_NUMBER},
                                              {"r2", "R2", ICTUS_COLUMN_NUMBER},
                                              {"max_residual_ns", "residual us", ICTUS_COLUMN_NS},
                                              {"judgement_ns", "+- us", ICTUS_COLUMN_NS},
                                              {"holds", "a line holds", ICTUS_COLUMN_TEXT},
                                              {NULL, NULL, ICTUS_COLUMN_TEXT}};

enum {
    POINTS_MAX = 1000000,
    DRAWN_MAX = 3, /* processes whose windows the terminal lists */
    TAG_DRIFT = 8
};

/* This process's offsets to the reference. */
struct series {
    double *times_s;
    double *offsets_ns;
    size_t count;
    size_t room;
    struct ictus_offset first;
    double half_width_ns;
};

static size_t points_planned(const struct drift_options *o)
{
    const double wanted = o->interval_s > 0.0 ? o->duration_s / o->interval_s + 1.0 : POINTS_MAX;
    return wanted < POINTS_MAX ? (size_t)wanted : POINTS_MAX;
}

static int series_create(struct series *s, size_t room)
{
    *s = (struct series){.times_s = calloc(room, sizeof(double)),
                         .offsets_ns = calloc(room, sizeof(double)),
                         .room = room};
    int enough = s->times_s && s->offsets_ns;
    MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return enough ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

static void series_free(struct series *s)
{
    free(s->times_s);
    free(s->offsets_ns);
}

static void series_add(struct series *s, const struct ictus_offset *offset)
{
    if (s->count == 0) {
        s->first = *offset;
    }
    s->times_s[s->count] = (double)(offset->at.ns - s->first.at.ns) * 1e-9;
    s->offsets_ns[s->count] =
        (double)(offset->offset_ns - s->first.offset_ns) + (offset->frac_ns - s->first.frac_ns);
    s->half_width_ns =
        offset->half_width_ns > s->half_width_ns ? offset->half_width_ns : s->half_width_ns;
    s->count++;
}

/* One offset of every process, one after the other. */
static int drift_sample(struct ictus_study *study, const struct drift_options *o, struct series *s)
{
    const int reference = (int)o->reference;
    const int rank = command_rank();
    struct ictus_offset offset;
    int failed = ICTUS_OK;
    for (int client = 0; client < command_size(); client++) {
        if (client == reference || (rank != client && rank != reference)) {
            continue;
        }
        const int err = ictus_study_offset(study, client, reference, (size_t)o->exchanges, &offset);
        if (!err && rank == client) {
            series_add(s, &offset);
        }
        failed = failed ? failed : err;
    }
    return failed;
}

/* Collective: sample until the time is over, the room is full, or somebody interrupts. */
static int drift_collect(struct ictus_study *study, const struct drift_options *o,
                         const char *clock, struct series *s, struct ictus_why *why)
{
    struct progress progress;
    int err = ICTUS_OK;
    const double start_s = meet_now_s();
    progress_start(&progress, &o->talk, "s", o->duration_s);
    for (size_t k = 0; k < s->room && !err; k++) {
        meet_sleep_telling(start_s + (double)k * o->interval_s, &progress, meet_now_s() - start_s,
                           o->interval_s, NULL);
        meet_all();
        int over = meet_now_s() - start_s > o->duration_s + 0.5 * o->interval_s ? 1 : 0;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (over || interrupt_came()) {
            break;
        }
        err = drift_sample(study, o, s);
        MPI_Allreduce(MPI_IN_PLACE, &err, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        progress_step(&progress, meet_now_s() - start_s, NULL);
    }
    progress_hide(&progress);
    if (err == ICTUS_ERR_CLOCK) {
        return ictus_because(why, err, "clock '%.80s' ran backwards during an exchange", clock);
    }
    return err;
}

/* Move a process's series to rank 0, whose own stays in place. */
static int series_fetch(struct series *s, struct series *other, int from)
{
    const int rank = command_rank();
    double head[2] = {(double)s->count, s->half_width_ns};
    if (from == 0) {
        *other = *s;
        return ICTUS_OK;
    }
    if (rank == from) {
        MPI_Send(head, 2, MPI_DOUBLE, 0, TAG_DRIFT, MPI_COMM_WORLD);
        MPI_Send(&s->first.offset_ns, 1, MPI_INT64_T, 0, TAG_DRIFT, MPI_COMM_WORLD);
        MPI_Send(s->times_s, (int)s->count, MPI_DOUBLE, 0, TAG_DRIFT, MPI_COMM_WORLD);
        MPI_Send(s->offsets_ns, (int)s->count, MPI_DOUBLE, 0, TAG_DRIFT, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(head, 2, MPI_DOUBLE, from, TAG_DRIFT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        other->count = (size_t)head[0];
        other->half_width_ns = head[1];
        MPI_Recv(&other->first.offset_ns, 1, MPI_INT64_T, from, TAG_DRIFT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Recv(other->times_s, (int)other->count, MPI_DOUBLE, from, TAG_DRIFT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Recv(other->offsets_ns, (int)other->count, MPI_DOUBLE, from, TAG_DRIFT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    return ICTUS_OK;
}

static int drift_describe_all(struct series *s, const struct drift_options *o, const char *clock,
                              struct ictus_output *out, struct ictus_why *why)
{
    struct series received;
    int err = series_create(&received, s->room);
    const struct drift_picture common = {.clock = clock,
                                         .reference = (int)o->reference,
                                         .fit_s = o->fit_s,
                                         .tolerance_ns = o->tolerance_s * 1e9,
                                         .text = o->results.format == ICTUS_FORMAT_TEXT &&
                                                 command_size() <= DRAWN_MAX + 1};
    for (int rank = 0; rank < command_size() && !err; rank++) {
        struct series other = received;
        if (rank == common.reference) {
            continue;
        }
        err = series_fetch(s, &other, rank);
        if (!err && command_rank() == 0) {
            struct drift_picture picture = common;
            const struct drift_points points = {.times_s = other.times_s,
                                                .offsets_ns = other.offsets_ns,
                                                .count = other.count,
                                                .first_ns = other.first.offset_ns,
                                                .half_width_ns = other.half_width_ns};
            picture.rank = rank;
            err = drift_describe(out, &picture, &points);
            if (err == ICTUS_ERR_SAMPLES) {
                err = ictus_because(why, err, "the data is too short to fit a line: %zu points",
                                    other.count);
            }
        }
        err = results_agree(err, why);
    }
    series_free(&received);
    return err;
}

static int drift_observe(struct ictus_study *study, const struct drift_options *o,
                         const char *clock, struct ictus_output *out, struct ictus_why *why)
{
    struct series mine;
    int err = series_create(&mine, points_planned(o));
    if (!err) {
        err = drift_collect(study, o, clock, &mine, why);
    }
    if (!err) {
        err = drift_describe_all(&mine, o, clock, out, why);
    }
    series_free(&mine);
    return err;
}

static int drift_run_study(const struct drift_options *o, struct ictus_why *why)
{
    struct clock_study s;
    const struct header_facts facts = {.command = "drift", .rows = options, .options = o};
    int err = clock_study_open(&s, o->clock, facts, &o->results, columns, why);
    if (!err) {
        err = drift_observe(s.study, o, s.clock, s.out, why);
    }
    return clock_study_close(&s, err, why);
}

static int drift_check(const struct drift_options *o, int word_count, char **words,
                       struct ictus_why *why)
{
    if (word_count > 0) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "unexpected argument '%.80s'; drift takes only options", words[0]);
    }
    if (command_size() < 2) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "drift needs at least two processes: mpirun -n 2 ictus drift");
    }
    if (o->reference >= command_size()) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--reference-rank=%lld: must be a rank between 0 and %d",
                             (long long)o->reference, command_size() - 1);
    }
    if (o->interval_s > o->duration_s) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--interval must not be longer than --duration");
    }
    /*
     * With the default of --fit a short duration is allowed; the table then does not say how long
     * lines hold.
     */
    if (options_is_set(options_row(options, "fit"), o) && o->fit_s >= o->duration_s) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--fit must be shorter than --duration: how long a line holds is seen "
                             "after the data that it is fitted to");
    }
    return ICTUS_OK;
}

static int drift_run(const void *given, int word_count, char **words)
{
    struct ictus_why why = {""};
    int err = drift_check(given, word_count, words, &why);
    if (!err) {
        err = drift_run_study(given, &why);
    }
    if (err) {
        return command_fail("drift", err, &why);
    }
    return interrupt_came() ? EXIT_INTERRUPTED : EXIT_OK;
}

const struct command command_drift = {
    .name = "drift",
    .summary = "measure how clocks drift, and for how long a line describes them",
    .arguments = "",
    .details = "mpirun -n 2 ictus drift --duration=5min --interval=1s --fit=10s "
               "--tolerance=1us\n"
               "Offsets are the reference's clock minus a process's, over that "
               "process's time.\n"
               "a line holds: half of the lines stay within --tolerance this long.",
    .options = options,
    .flags = NEEDS_MPI,
    .options_size = sizeof(struct drift_options),
    .run = drift_run,
};
