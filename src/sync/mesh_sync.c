/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mesh: sweeps over matchings of all processes, spread over a window, followed by one least-squares
 * fit of all clocks together (core/mesh.h; docs/mesh.md derives it). A further run adds one sweep
 * over fresh pairs, which lengthens the history.
 *
 * Cost: each process takes part in about rounds x exchanges request-reply pairs in each sweep and
 * starts half of them, whatever the number of processes; then one gather and one scatter. Blocks
 * for the window, or longer if processes stall.
 */
#include "sync/algorithms.h"
#include "sync/mesh_rounds.h"
#include "sync/wait.h"

#include <ictus/text.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ATTEMPTS = 2,         /* if a clock stepped, everything starts again once */
    TOLERANCE_SWEEPS = 12 /* if this many sweeps do not reach a tolerance, it is given up */
};

/* 95 % of a Gaussian distribution lie within this many standard deviations. */
static const double two_sided_95 = 1.96;

static const struct spec_param params[] = {
    {"rounds", SPEC_INT, offsetof(struct mesh_options, rounds), "100", 1, 100000, NULL,
     "number of pairings in each sweep; at most as many as there are"},
    {"exchanges", SPEC_INT, offsetof(struct mesh_options, exchanges), "0", 0, 1000000, NULL,
     "request-reply pairs in each round, more if there are few pairings; 0 means 100 for up to 32 "
     "processes and 75 for more"},
    {"sweeps", SPEC_INT, offsetof(struct mesh_options, sweeps), "0", 0, MESH_SWEEPS_MAX, NULL,
     "sweeps of the first synchronisation; they share the exchanges of two; 0 "
     "chooses the number from the pairings"},
    {"window", SPEC_SECONDS, offsetof(struct mesh_options, window_s), "0", 0, 3600, NULL,
     "time from the first to the last sweep; exchanges are reduced to fit; 0 "
     "chooses it from round trips, noise and tolerance"},
    {"tolerance", SPEC_SECONDS, offsetof(struct mesh_options, tolerance_s), "0", 0, 1, NULL,
     "repeat sweeps until 95 % of the clocks are this accurate at the "
     "horizon"},
    {"horizon", SPEC_SECONDS, offsetof(struct mesh_options, horizon_s), "10", 0, 86400, NULL,
     "time after the synchronisation at which the tolerance must hold"},
    {"limit", SPEC_SECONDS, offsetof(struct mesh_options, limit_s), "10", 1e-3, 86400, NULL,
     "time after which the attempt to reach a tolerance is given up"},
    {"walk", SPEC_REAL, offsetof(struct mesh_options, walk), "1e-9", 1e-15, 1e-3, NULL,
     "random walk of a clock's frequency per square root of a second, used "
     "until it has been measured"},
    {"pair", SPEC_CHOICE, offsetof(struct mesh_options, pair), "auto", 0, 0,
     ictusi_rounds_pair_names, "how a pair's offset is estimated"},
    {"calibrate", SPEC_CHOICE, offsetof(struct mesh_options, calibrate), "auto", 0, 0,
     ictusi_rounds_calibrate_names,
     "within a node, compare clocks by the counter that its processes share, too"},
    {"seed", SPEC_INT, offsetof(struct mesh_options, seed), "1", 0, 1e15, NULL,
     "seed of the pairings"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

/* What the root sends to each process after a solution. */
struct verdict {
    int32_t err;
    int32_t again; /* one more sweep is needed to reach the tolerance */
    struct line line;
    struct line_error error;
    struct ictus_why why;
};

/*
 * Make the sweeps of this call. Those of a fresh mesh are spread over the window and use the same
 * pairs, so that the asymmetry of a pair cancels in the drifts. A process whose stamps are unusable
 * goes on, so that no other process waits for it. Its error is returned at the end.
 */
static int mesh_sync_sweep_all(struct mesh_rounds *s, struct sync_run *run, int count)
{
    const int64_t start = ictusi_source_read(run->source);
    int failed = ICTUS_OK;
    for (int k = 0; k < count; k++) {
        if (k) {
            const int64_t then = start + (int64_t)(ictusi_mesh_plan_start(&s->plan, k) * 1e9);
            (void)ictusi_sync_wait_until(run->source, then, run->crowded);
        }
        const int err = ictusi_rounds_sweep(s, k);
        failed = failed ? failed : err;
    }
    failed = failed ? failed : ictusi_rounds_estimate(s, count);
    if (failed == ICTUS_ERR_CLOCK) {
        return ictus_because(&run->why, failed,
                             "mesh: the '%s' clock of rank %d, or of one that it exchanged "
                             "messages with, stepped or ran backwards",
                             run->source->ops->name, s->rank);
    }
    return failed;
}

/* At the root: solve the mesh and prepare the verdict for each process. */
static void mesh_decide(struct mesh_rounds *s, const struct sync_run *run, struct verdict *verdicts,
                        int *suspect)
{
    const struct mesh_options *o = s->options;
    struct mesh_quality quality = {.suspect = -1};
    int err = s->gather_err;
    if (!err) {
        err = ictusi_mesh_solve(s->mesh, s->lines, s->errors, o->horizon_s, &quality);
    }
    /* What 95 % of the clocks keep to at the horizon, judged by the clock with the largest
     * uncertainty. */
    const double reached_s = two_sided_95 * quality.horizon_max_ns * 1e-9;
    const bool again = !err && o->tolerance_s > 0.0 && !(reached_s <= o->tolerance_s);
    struct ictus_why why = {""};
    *suspect = quality.suspect;
    if (err == ICTUS_ERR_CLOCK && quality.suspect >= 0) {
        (void)ictus_because(&why, err,
                            "mesh: the '%s' clock of rank %d stepped or its rate is erratic",
                            run->source->ops->name, quality.suspect);
    } else if (again) {
        (void)ictus_because(&why, ICTUS_ERR_TOLERANCE,
                            "mesh: reached +-%.3g us at %g s from now, but tolerance=%.3g us was "
                            "requested",
                            reached_s * 1e6, o->horizon_s, o->tolerance_s * 1e6);
    }
    for (int i = 0; i < s->size; i++) {
        verdicts[i] = (struct verdict){.err = err, .again = again, .why = why};
        if (!err) {
            /* The mesh's G is rank 0's clock, and the base maps that to the global clock of all.
             * The error of the base has grown until the anchor of this line, measured in G. */
            verdicts[i].line = ictusi_line_compose(&run->base, &s->lines[i]);
            const double away_s =
                (double)(s->lines[i].anchor + s->lines[i].offset - run->base.anchor) * 1e-9;
            const struct line_error base = ictusi_line_error_move(&run->base_error, away_s);
            verdicts[i].error = ictusi_line_error_add(&s->errors[i], &base);
        }
    }
}

/* Each process receives its line. Rank 0's memory is checked before anything is sent. */
static int mesh_conclude(struct mesh_rounds *s, struct sync_run *run, struct verdict *mine)
{
    struct verdict *verdicts = NULL;
    int suspect = -1;
    if (s->rank == 0) {
        verdicts = calloc((size_t)s->size, sizeof(*verdicts));
        if (verdicts) {
            mesh_decide(s, run, verdicts, &suspect);
        }
    }
    int err = ictusi_sync_agree(run->comm, s->rank || verdicts ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
    const int size = (int)sizeof(*mine);
    if (!err &&
        PMPI_Scatter(verdicts, size, MPI_BYTE, mine, size, MPI_BYTE, 0, run->comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    free(verdicts);
    return err;
}

/* Draw pairs, make sweeps and solve. Collective; the error is the same on all processes. */
static int mesh_sweep_and_solve(struct mesh_rounds *s, struct sync_run *run, struct verdict *mine)
{
    /* Each run uses fresh pairs. All ranks derive the same seed without a message. */
    const uint64_t seed = (uint64_t)s->options->seed + s->runs++;
    int err = ictusi_rounds_begin(s, run, seed);
    if (err) {
        return err;
    }
    const int count = s->solved ? 1 : s->plan.sweeps;
    err = mesh_sync_sweep_all(s, run, count);
    const int gathered = ictusi_rounds_gather(s, run, count);
    const int concluded = gathered ? gathered : mesh_conclude(s, run, mine);
    err = ictusi_sync_agree(run->comm, err ? err : concluded, &run->why);
    s->solved = !err && !mine->err;
    if (err && s->mesh) {
        ictusi_mesh_reset(s->mesh); /* all start again, including the root */
    }
    return err;
}

/*
 * Synchronise once, and then add sweeps until the tolerance is reached, at 0, T, 2T, 4T, .... The
 * variance of a drift falls with the square of the span. Doubling the span each time therefore
 * costs at most twice the time that would have sufficed.
 */
static int mesh_attempt(struct mesh_rounds *s, struct sync_run *run, struct verdict *mine)
{
    const struct mesh_options *o = s->options;
    const int64_t start = ictusi_source_read(run->source);
    for (int k = 0; k < TOLERANCE_SWEEPS; k++) {
        const int err = mesh_sweep_and_solve(s, run, mine);
        if (err || mine->err || !mine->again) {
            return err;
        }
        /* The error of a drift falls with the span, so wait as long again as it has taken so
         * far. */
        double spent_s = (double)(ictusi_source_read(run->source) - start) * 1e-9;
        if (PMPI_Allreduce(MPI_IN_PLACE, &spent_s, 1, MPI_DOUBLE, MPI_MAX, run->comm) !=
            MPI_SUCCESS) {
            return ICTUS_ERR_MPI;
        }
        if (spent_s + s->plan.length_s >= o->limit_s) {
            break;
        }
        const double next_s = fmin(2.0 * spent_s, o->limit_s - s->plan.length_s);
        (void)ictusi_sync_wait_until(run->source, start + (int64_t)(next_s * 1e9), run->crowded);
    }
    mine->err = ICTUS_ERR_TOLERANCE;
    return ICTUS_OK;
}

/* ICTUS_ERR_CLOCK is the same on all ranks: the root proves a step, and its verdict is sent to
 * all. */
static int mesh_run(struct sync *sync, struct sync_run *run)
{
    struct verdict mine = {.err = ICTUS_OK};
    int err = ictusi_rounds_open(sync->state, sync->options, run);
    struct mesh_rounds *s = sync->state;
    if (err) {
        return err;
    }
    if (s->size == 1) {
        run->line = run->base;
        run->error = run->base_error;
        return ICTUS_OK;
    }
    for (int k = 0; k < ATTEMPTS; k++) {
        err = mesh_attempt(s, run, &mine);
        if ((err ? err : mine.err) != ICTUS_ERR_CLOCK) {
            break;
        }
        run->steps++; /* the mesh has dropped its history, so that a clock which stepped once is
                         usable again */
    }
    if (err) {
        return err;
    }
    if (mine.err) {
        run->why = mine.why;
        return mine.err;
    }
    run->line = mine.line;
    run->error = mine.error;
    return ICTUS_OK;
}

static int mesh_init(struct sync *sync, struct ictus_why *why)
{
    const struct mesh_options *options = sync->options;
    if (options->sweeps == 1) {
        return ictus_because(
            why, ICTUS_ERR_SPEC,
            "mesh: sweeps=1: must be 0 or at least 2, because one sweep cannot show a drift");
    }
    sync->state = calloc(1, sizeof(struct mesh_rounds));
    return sync->state ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

static void mesh_fini(struct sync *sync)
{
    if (sync->state) {
        ictusi_rounds_close(sync->state);
        free(sync->state);
    }
}

const struct sync_ops ictusi_sync_mesh = {
    .name = "mesh",
    .summary = "least squares over sweeps of matchings: all clocks at once",
    .params = params,
    .options_size = sizeof(struct mesh_options),
    .init = mesh_init,
    .run = mesh_run,
    .fini = mesh_fini,
};
