/* SPDX-License-Identifier: BSD-3-Clause */
/* The global clock: a source, a line, and the algorithm that fits it. */
#include "sync/clock.h"

#include "sync/place.h"
#include "sync/wait.h"

#include <ictus/text.h>
#include <ictus/traits.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The mesh synchronises the nodes. Inside a node the line is copied if its processes share the
 * source; otherwise the mesh works there too. */
static const char default_sync[] = "hierarchy(mesh,propagate(mesh))";
static const char default_source[] = "monotonic";

/* An empty environment variable counts as absent. */
static const char *clock_first_of(const char *a, const char *b)
{
    return a && a[0] ? a : b;
}

/* A missing part of SYNC@SOURCE is taken from the environment, and failing that from the
 * defaults. */
int ictusi_clock_spec(const char *text, char *sync, size_t sync_size, char *source,
                      size_t source_size, struct ictus_why *why)
{
    const char *given = text ? text : "";
    const size_t length = strcspn(given, "@");
    const char *after = given[length] == '@' ? given + length + 1 : NULL;
    if (after && !after[0]) {
        return ictus_because(why, ICTUS_ERR_SPEC, "'%.200s': a clock is missing after the @",
                             given);
    }
    if (length >= sync_size || (after && strlen(after) >= source_size)) {
        return ictus_because(why, ICTUS_ERR_SPEC, "the clock's specification is too long");
    }
    const char *fallback = clock_first_of(getenv("ICTUS_SYNC"), default_sync);
    const char *chosen =
        clock_first_of(after, clock_first_of(getenv("ICTUS_CLOCK"), default_source));
    (void)snprintf(sync, sync_size, "%.*s", (int)(length ? length : strlen(fallback)),
                   length ? given : fallback);
    (void)snprintf(source, source_size, "%s", chosen);
    return ICTUS_OK;
}

/*
 * Run the algorithm once. Its result is used only if all processes have one. The statistics give
 * the error at the end of the synchronisation and not at the anchor of the line, because that is
 * when the clock begins to be used.
 */
static int clock_synchronise_once(struct ictus_clock *clock, struct ictus_why *why)
{
    struct sync_run run = {
        .comm = clock->comm,
        .source = clock->source,
        .crowded = clock->crowded,
        .base = ictusi_line_identity(),
    };
    /* G starts as rank 0's own clock at this instant. Every anchor is near it, so that the
     * distances by which slopes are multiplied stay small. */
    ictusi_watch_begin(&clock->watch, clock->source);
    const int64_t start = ictusi_source_read(clock->source);
    run.base.anchor = start;
    int err = ictusi_sync_run(clock->sync, &run);
    const int64_t end = ictusi_source_read(clock->source);
    /* Most algorithms cannot distinguish a step from an offset. */
    if (!err && (end < start || ictusi_watch_look(&clock->watch, clock->source).stepped)) {
        err = ictus_because(&run.why, ICTUS_ERR_CLOCK,
                            "clock '%s' stepped or ran backwards during the synchronisation",
                            clock->source->ops->name);
    }
    err = ictusi_sync_agree(clock->comm, err, &run.why);
    if (err) {
        if (why) {
            *why = run.why;
        }
        return err;
    }
    clock->line = run.line;
    clock->error = run.error;
    const double age_s = (double)(end - run.line.anchor) * 1e-9;
    clock->stats.duration_s = (double)(end - start) * 1e-9;
    clock->stats.exchanges = run.exchanges;
    clock->stats.messages = run.messages;
    clock->stats.synced++;
    clock->stats.steps += run.steps;
    clock->stats.sigma_ns = ictusi_line_error_sigma(&run.error, age_s);
    clock->stats.bound_ns = ictusi_line_error_bound(&run.error, age_s);
    clock->stats.path_ns = sqrt(run.error.path_var_ns2);
    clock->stats.slope = run.line.slope;
    return ICTUS_OK;
}

/* A step during one synchronisation spoils only that one, because the next one begins after the
 * step. All ranks see the same error and repeat together. */
static int clock_synchronise(struct ictus_clock *clock, struct ictus_why *why)
{
    const int err = clock_synchronise_once(clock, why);
    if (err != ICTUS_ERR_CLOCK) {
        return err;
    }
    clock->stats.steps++;
    return clock_synchronise_once(clock, why);
}

/*
 * All ranks must be given the same specification. An algorithm is a protocol, and processes that
 * run two different ones would wait for each other forever. Their hashes are compared before
 * anything is measured.
 */
static int clock_build(struct ictus_clock *clock, MPI_Comm comm, const char *text,
                       struct ictus_why *why)
{
    char sync[CLOCK_SPEC_MAX / 2];
    char source[CLOCK_SPEC_MAX / 2 - 1];
    int err = ictusi_place_own(comm, &clock->comm);
    if (err) {
        return err;
    }
    err = ictusi_clock_spec(text, sync, sizeof(sync), source, sizeof(source), why);
    if (!err) {
        err = ictusi_sync_create(sync, &clock->sync, why);
    }
    err = ictusi_sync_agree(clock->comm, err, why);
    if (!err) {
        (void)snprintf(clock->spec, sizeof(clock->spec), "%s@%s", sync, source);
        err = ictus_traits_agree(clock->comm, &(struct ictus_trait){"clock", clock->spec}, 1, why);
    }
    if (err) {
        return err;
    }
    err = ictusi_place_open_source(clock->comm, source, &clock->source, &clock->crowded, why);
    return err ? err : clock_synchronise(clock, why);
}

int ictus_clock_create_why(MPI_Comm comm, const char *spec, struct ictus_clock **clock,
                           struct ictus_why *why)
{
    struct ictus_why unheard = {""};
    struct ictus_why *reason = why ? why : &unheard;
    int inter = 0;
    reason->text[0] = '\0';
    if (comm == MPI_COMM_NULL || !clock) {
        return ictus_because(reason, ICTUS_ERR_ARG,
                             "a communicator and a pointer to store the clock in must be given");
    }
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (inter) {
        return ictus_because(reason, ICTUS_ERR_INTERCOMM,
                             "the communicator must be an intra-communicator");
    }
    struct ictus_clock *made = calloc(1, sizeof(*made));
    if (!made) {
        return ICTUS_ERR_NOMEM;
    }
    made->comm = MPI_COMM_NULL;
    const int err = clock_build(made, comm, spec, reason);
    if (err) {
        ictus_clock_free(made);
        return err;
    }
    *clock = made;
    return ICTUS_OK;
}

int ictus_clock_create(MPI_Comm comm, const char *spec, struct ictus_clock **clock)
{
    return ictus_clock_create_why(comm, spec, clock, NULL);
}

void ictusi_clock_settle(struct ictus_clock *clock)
{
    ictusi_sync_free(clock->sync);
    clock->sync = NULL;
    if (clock->comm != MPI_COMM_NULL) {
        ictusi_place_disown(&clock->comm);
    }
}

void ictus_clock_free(struct ictus_clock *clock)
{
    if (!clock) {
        return;
    }
    ictusi_clock_settle(clock);
    ictusi_source_free(clock->source);
    free(clock);
}

/* If this fails, the old line is kept, so that a job goes on with an older clock instead of
 * none. */
int ictus_clock_resync(struct ictus_clock *clock)
{
    return clock ? clock_synchronise(clock, NULL) : ICTUS_ERR_ARG;
}

/* G(L) = L + offset + slope (L - anchor) takes one reading and one multiplication, but no lock
 * and no message. */
struct ictus_time ictus_clock_now(const struct ictus_clock *clock)
{
    const int64_t local = ictusi_source_read(clock->source);
    return (struct ictus_time){ictusi_line_map(&clock->line, local)};
}

struct ictus_time ictus_clock_local(const struct ictus_clock *clock)
{
    return (struct ictus_time){ictusi_source_read(clock->source)};
}

struct ictus_time ictus_clock_map(const struct ictus_clock *clock, struct ictus_time local)
{
    return (struct ictus_time){ictusi_line_map(&clock->line, local.ns)};
}

struct ictus_time ictus_clock_unmap(const struct ictus_clock *clock, struct ictus_time global)
{
    return (struct ictus_time){ictusi_line_unmap(&clock->line, global.ns)};
}

int ictus_clock_map_reading(const struct ictus_clock *clock, struct ictus_time local,
                            struct ictus_reading *reading)
{
    if (!clock || !reading) {
        return ICTUS_ERR_ARG;
    }
    /* In s. The errors grow with the distance from the anchor in both directions. */
    const double distance_s = (double)(local.ns - clock->line.anchor) * 1e-9;
    reading->time = ictus_clock_map(clock, local);
    reading->sigma_ns = ictusi_line_error_sigma(&clock->error, distance_s);
    reading->path_ns = sqrt(clock->error.path_var_ns2);
    reading->bound_ns = ictusi_line_error_bound(&clock->error, distance_s);
    return ICTUS_OK;
}

int ictus_clock_read(const struct ictus_clock *clock, struct ictus_reading *reading)
{
    return clock ? ictus_clock_map_reading(clock, ictus_clock_local(clock), reading)
                 : ICTUS_ERR_ARG;
}

/* Only for judging: an algorithm must never use what this returns. */
int ictus_clock_truth(const struct ictus_clock *clock, struct ictus_time local,
                      struct ictus_time *truth)
{
    if (!clock || !truth) {
        return ICTUS_ERR_ARG;
    }
    if (!clock->source->ops->truth) {
        return ICTUS_ERR_UNSUPPORTED;
    }
    truth->ns = clock->source->ops->truth(clock->source, local.ns);
    return ICTUS_OK;
}

int ictus_clock_unseen(const struct ictus_clock *clock, double *unseen_ns)
{
    if (!clock || !unseen_ns) {
        return ICTUS_ERR_ARG;
    }
    *unseen_ns = sqrt(clock->error.unseen_var_ns2);
    return ICTUS_OK;
}

int ictus_clock_stats(const struct ictus_clock *clock, struct ictus_sync_stats *stats)
{
    if (!clock || !stats) {
        return ICTUS_ERR_ARG;
    }
    *stats = clock->stats;
    return ICTUS_OK;
}

const char *ictus_clock_spec(const struct ictus_clock *clock)
{
    return clock ? clock->spec : "";
}

int ictus_clock_wait_until(const struct ictus_clock *clock, struct ictus_time deadline)
{
    if (!clock) {
        return ICTUS_ERR_ARG;
    }
    /* The deadline is converted to local time once, before the wait. The wait itself reads only
     * the local clock. */
    const int64_t local = ictusi_line_unmap(&clock->line, deadline.ns);
    (void)ictusi_sync_wait_until(clock->source, local, clock->crowded);
    return ICTUS_OK;
}
