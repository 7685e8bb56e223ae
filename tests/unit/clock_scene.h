/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job that runs ictus drift or ictus rtt. Time is virtual, and all that MPI, a study
 * and the terminal would do is made up here, and kept for whoever looks.
 */
#ifndef ICTUS_TESTS_CLOCK_SCENE_H
#define ICTUS_TESTS_CLOCK_SCENE_H

#include "clocks/drift_describe.h"
#include "clocks/rtt_describe.h"
#include "main/command.h"
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
#include <string.h>

extern const struct command command_drift, command_rtt;

enum { CALLS = 4096, TEXT = 300 };

struct described {
    int from, to; /* drift: rank, reference */
    size_t n;
    double first, last, half_width_ns, fit_s, tolerance_ns;
    int64_t first_ns;
    size_t bins;
    bool raw, text;
};

static struct {
    int rank, size;
    double now_s, cost_s; /* of each measurement */
    /* What is to happen. */
    int create_err, measure_err, describe_err, results_err;
    long fails_at,
        interrupt_at; /* the measurement that fails, or before which somebody interrupts */
    int agreed;       /* the least of the others' numbers */
    int over_at;      /* the round in which rank 0 says that it is over; 0: never */
    /* What happened. */
    long measured, slept, met, rounds, steps, hidden;
    int pairs[CALLS][2];
    size_t counts[CALLS];
    double *places[CALLS];
    double last_done, total, step_done[64];
    struct described said[16];
    int said_count, sends, receives, opened, closed, freed, failed;
    double head[2], sent_first, sent_last;
    int64_t sent_offset;
    int sent_counts[8], tag;
    char why[TEXT], clock[TEXT];
} world;

static struct ictus_study *const study_here = (struct ictus_study *)(void *)&world;
static struct ictus_output *const output_here = (struct ictus_output *)(void *)&world.said;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                              struct ictus_why *why);
void __wrap_ictus_study_free(struct ictus_study *study);
int __wrap_ictus_clock_default(const char *asked, char *sync, size_t sync_size, char *source,
                               size_t source_size, struct ictus_why *why);
int __wrap_ictus_study_offset(struct ictus_study *study, int client, int reference,
                              size_t exchanges, struct ictus_offset *offset);
int __wrap_ictus_study_rtt(struct ictus_study *study, int from, int to, size_t n, double *rtt_ns);
int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm);
int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag,
                    MPI_Comm comm);
int __wrap_MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    MPI_Status *status);

int __wrap_ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                              struct ictus_why *why)
{
    CHECK(comm == MPI_COMM_WORLD);
    (void)snprintf(world.clock, sizeof world.clock, "%s", source);
    if (world.create_err) {
        return ictus_because(why, world.create_err, "no clock");
    }
    *study = study_here;
    return ICTUS_OK;
}

void __wrap_ictus_study_free(struct ictus_study *study)
{
    CHECK(!study || study == study_here);
    world.freed += study != NULL;
}

int __wrap_ictus_clock_default(const char *asked, char *sync, size_t sync_size, char *source,
                               size_t source_size, struct ictus_why *why)
{
    (void)why;
    CHECK(!asked && sync && sync_size > 0);
    (void)snprintf(source, source_size, "usual");
    return ICTUS_OK;
}

static long measured(int from, int to, size_t n, double *place)
{
    const long k = world.measured++;
    REQUIRE(k < CALLS);
    CHECK(from != to && from >= 0 && to >= 0 && from < world.size && to < world.size);
    world.pairs[k][0] = from;
    world.pairs[k][1] = to;
    world.counts[k] = n;
    world.places[k] = place;
    world.now_s += world.cost_s;
    return k;
}

/* Offset k of this rank: at k s and a quarter, of 5 s and 300 k ns and a fraction. */
int __wrap_ictus_study_offset(struct ictus_study *study, int client, int reference,
                              size_t exchanges, struct ictus_offset *offset)
{
    CHECK(study == study_here && (world.rank == client || world.rank == reference));
    const long k = measured(client, reference, exchanges, NULL);
    if (world.measure_err && k == world.fails_at) {
        return world.measure_err;
    }
    if (world.rank == client) {
        offset->at.ns = 7000000250 + k * 1000000000;
        offset->offset_ns = 5000000000 + 300 * k;
        offset->frac_ns = 0.125 + 0.25 * (double)k;
        offset->half_width_ns = k == 2 ? 47 : 40;
    }
    return ICTUS_OK;
}

int __wrap_ictus_study_rtt(struct ictus_study *study, int from, int to, size_t n, double *rtt_ns)
{
    CHECK(study == study_here);
    const long k = measured(from, to, n, rtt_ns);
    if (world.measure_err && k == world.fails_at) {
        return world.measure_err;
    }
    for (size_t i = 0; i < n && world.rank == from; i++) {
        rtt_ns[i] = (double)(1000 * k) + (double)i;
    }
    return ICTUS_OK;
}

int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    int *number = to;
    CHECK(from == MPI_IN_PLACE && count == 1 && type == MPI_INT && op == MPI_MIN);
    CHECK(comm == MPI_COMM_WORLD);
    *number = world.agreed < *number ? world.agreed : *number;
    return MPI_SUCCESS;
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int *over = buffer;
    CHECK(count == 1 && type == MPI_INT && root == 0 && comm == MPI_COMM_WORLD);
    world.rounds++;
    if (world.rank != 0) {
        *over = world.over_at != 0 && world.rounds >= world.over_at;
    }
    return MPI_SUCCESS;
}

int __wrap_MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag,
                    MPI_Comm comm)
{
    const double *values = buffer;
    CHECK(to == 0 && comm == MPI_COMM_WORLD && world.rank != 0 && world.sends < 8);
    CHECK(world.sends == 0 || tag == world.tag);
    world.tag = tag;
    world.sent_counts[world.sends++] = count;
    if (type == MPI_INT64_T) {
        world.sent_offset = *(const int64_t *)buffer;
    } else if (count == 2 && world.sends == 1) {
        memcpy(world.head, buffer, sizeof world.head);
    } else {
        CHECK(type == MPI_DOUBLE);
        world.sent_first = values[0];
        world.sent_last = values[count - 1];
    }
    return MPI_SUCCESS;
}

/* Of a series: three points, half a second apart, that rise by 10 times the rank. */
int __wrap_MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    MPI_Status *status)
{
    const double head[2] = {3, 12.5 + from};
    double *values = buffer;
    CHECK(from > 0 && comm == MPI_COMM_WORLD && status == MPI_STATUS_IGNORE && world.rank == 0);
    CHECK(world.receives == 0 || tag == world.tag);
    world.tag = tag;
    const int which = world.receives++ % 4;
    if (type == MPI_INT64_T) {
        CHECK(count == 1 && which == 1);
        *(int64_t *)buffer = 1000 + from;
    } else if (count == 2 && which == 0) {
        memcpy(buffer, head, sizeof head);
    } else {
        for (int i = 0; i < count; i++) {
            values[i] = count == 3 && which == 2 ? 0.5 * i : 10.0 * from * i;
        }
    }
    return MPI_SUCCESS;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

int command_rank(void)
{
    return world.rank;
}

int command_size(void)
{
    return world.size;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    CHECK(strcmp(command, "drift") == 0 || strcmp(command, "rtt") == 0);
    world.failed = err;
    (void)snprintf(world.why, sizeof world.why, "%.*s", (int)sizeof world.why - 1, why->text);
    return err == ICTUS_ERR_SPEC ? EXIT_USAGE : EXIT_FAILED;
}

json_t *header_create(const struct header_facts *facts)
{
    CHECK(strcmp(facts->command, "drift") == 0 || strcmp(facts->command, "rtt") == 0);
    CHECK_STR(facts->clock, world.clock);
    CHECK(facts->rows && facts->options);
    return NULL;
}

const char *const results_formats[] = {"text", "csv", "json", NULL};

int results_open(const struct results_options *options, const struct ictus_column *columns,
                 json_t *header, struct ictus_output **out, struct ictus_why *why)
{
    CHECK(options && columns && !header && columns[0].key);
    world.opened++;
    *out = output_here;
    return world.results_err ? ictus_because(why, world.results_err, "no file") : ICTUS_OK;
}

int results_agree(int err, struct ictus_why *why)
{
    (void)why;
    return err ? err : world.agreed < 0 ? world.agreed : ICTUS_OK;
}

int results_close(struct ictus_output *out, const char *path, int before, struct ictus_why *why)
{
    (void)why;
    CHECK(out == output_here && !path);
    world.closed++;
    return before;
}

void progress_start(struct progress *progress, const struct progress_options *options,
                    const char *what, double total)
{
    (void)progress;
    CHECK(options && (strcmp(what, "s") == 0 || strcmp(what, "pairs") == 0));
    world.total = total;
}

void progress_step(struct progress *progress, double done, const char *label)
{
    (void)progress;
    (void)label;
    if (world.steps < 64) {
        world.step_done[world.steps] = done;
    }
    world.steps++;
    world.last_done = done;
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
    return world.interrupt_at > 0 && world.measured >= world.interrupt_at;
}

void meet_all(void)
{
    world.met++;
}

double meet_now_s(void)
{
    return world.now_s;
}

void meet_sleep_telling(double deadline_s, struct progress *progress, double done, double more,
                        const char *label)
{
    (void)progress;
    (void)label;
    CHECK_NEAR(done, world.now_s - 100, 1e-9);
    CHECK(more >= 0);
    world.slept++;
    world.now_s = fmax(world.now_s, deadline_s);
}

int drift_describe(struct ictus_output *out, const struct drift_picture *picture,
                   const struct drift_points *points)
{
    REQUIRE(out == output_here && world.said_count < 16);
    CHECK_STR(picture->clock, world.clock);
    struct described *d = &world.said[world.said_count++];
    *d = (struct described){.from = picture->rank,
                            .to = picture->reference,
                            .n = points->count,
                            .half_width_ns = points->half_width_ns,
                            .fit_s = picture->fit_s,
                            .tolerance_ns = picture->tolerance_ns,
                            .first_ns = points->first_ns,
                            .text = picture->text};
    if (points->count > 0) {
        d->first = points->times_s[points->count - 1];
        d->last = points->offsets_ns[points->count - 1];
        CHECK(points->times_s[0] == 0 && points->offsets_ns[0] == 0);
    }
    return world.describe_err;
}

int rtt_describe(struct ictus_output *out, const struct rtt_picture *picture, int from, int to,
                 double *rtt_ns, size_t n)
{
    REQUIRE(out == output_here && world.said_count < 16 && n > 0);
    CHECK_STR(picture->clock, world.clock);
    world.said[world.said_count++] = (struct described){.from = from,
                                                        .to = to,
                                                        .n = n,
                                                        .first = rtt_ns[0],
                                                        .last = rtt_ns[n - 1],
                                                        .bins = picture->bins,
                                                        .raw = picture->raw,
                                                        .text = picture->text};
    return world.describe_err;
}

static void begin(int rank, int size)
{
    memset(&world, 0, sizeof world);
    world.rank = rank;
    world.size = size;
    world.now_s = 100;
    world.agreed = 1;
}

#endif
