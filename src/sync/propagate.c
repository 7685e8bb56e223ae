/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ClockPropSync (H18 algorithm 3): processes that share one time source copy the line of rank 0.
 *
 * The precondition is checked and never assumed. First, the identities of the sources must be equal
 * (same boot, time namespace, source and parameters). Second, a few exchanges must not contradict
 * it: the interval that they leave for the offset must contain zero. The second check also detects
 * what no identity shows, such as a library that skews the clock below us. propagate(hca3) falls
 * back to hca3 where propagate alone fails.
 */
#include "core/estimator.h"
#include "sync/algorithms.h"
#include "sync/measure.h"

#include <ictus/text.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

struct propagate_options {
    int64_t checks;
};

static const struct spec_param params[] = {
    {"checks", SPEC_INT, offsetof(struct propagate_options, checks), "5", 1, 10000, NULL,
     "exchanges per pair to check that the source is shared"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

/* Find out whether this process's source has the identity of rank 0's. An empty identity promises
 * nothing, not even that it equals itself. */
static int propagate_same_identity(const struct sync_run *run, bool *same)
{
    char mine[SOURCE_IDENTITY_MAX] = "";
    char first[SOURCE_IDENTITY_MAX] = "";
    run->source->ops->identify(run->source, mine, sizeof(mine));
    memcpy(first, mine, sizeof(first));
    int rank = 0;
    PMPI_Comm_rank(run->comm, &rank);
    const int err = PMPI_Bcast(first, (int)sizeof(first), MPI_CHAR, 0, run->comm);
    *same = rank == 0 || (mine[0] && strcmp(mine, first) == 0);
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/*
 * Find out whether exchanges with the parent leave room for an offset of zero. Every exchange
 * proves remote - received <= offset <= remote - sent. A clock that differs by more than a round
 * trip (1 us within a node) therefore cannot pass. One that differs by less is as good as a
 * measurement could make it.
 */
static int propagate_agrees_with(struct measure *m, int parent, bool *agrees)
{
    struct offset offset;
    const int err = ictusi_measure_client(m, parent, &offset);
    /* Stamps that show no offset are those of clocks that do not agree. */
    *agrees = !err && fabs((double)offset.offset + offset.frac) <= offset.half_width_ns;
    return err == ICTUS_ERR_MPI ? err : ICTUS_OK;
}

/* Compare each process with its parent in a binomial tree, in O(log p) rounds. An error of the
 * exchanges is this process's own; that of the preparation is the same on all. */
static int exchanges_agree(struct sync_run *run, struct measure *m, bool *agree)
{
    const struct line bare = ictusi_line_identity();
    int rank = 0;
    int size = 0;
    int err = ICTUS_OK;
    PMPI_Comm_rank(run->comm, &rank);
    PMPI_Comm_size(run->comm, &size);
    *agree = true;
    int bit = 1;
    for (; bit < size && !(rank & bit); bit <<= 1) {
        /* Find the bit that links this rank to its parent. */
    }
    if (rank > 0) {
        err = propagate_agrees_with(m, rank - bit, agree);
    }
    for (int child = bit >> 1; child > 0; child >>= 1) {
        if (rank + child < size) {
            const int failed = ictusi_measure_reference(m, rank + child, &bare);
            err = err ? err : failed;
        }
    }
    return err;
}

/* Replace `stranger` by the lowest one of all processes. */
static int propagate_lowest(const struct sync_run *run, int *stranger)
{
    const int err = PMPI_Allreduce(MPI_IN_PLACE, stranger, 1, MPI_INT, MPI_MIN, run->comm);
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/* Find the lowest rank whose readings do not agree with its parent's, or `size`. Collective; the
 * error is the same on all processes. */
static int propagate_compare(struct sync_run *run, int64_t checks, int rank, int *stranger)
{
    const struct measure_options options = {.exchanges = checks, .estimator = 0};
    struct measure m;
    bool agree = true;
    int err = ictusi_measure_init(&m, &options, 1, run);
    if (err) {
        return err;
    }
    const int failed = exchanges_agree(run, &m, &agree);
    ictusi_measure_fini(&m, run);
    /* A process whose exchanges failed is below all ranks, so that every process hears of it. */
    *stranger = failed ? -1 : agree ? *stranger : rank;
    err = propagate_lowest(run, stranger);
    return err || *stranger < 0 ? ICTUS_ERR_MPI : ICTUS_OK;
}

/* Find the lowest rank that does not share rank 0's source, or -1. *reason is the cause as text.
 * Collective; the error is the same on all processes. */
static int propagate_first_stranger(struct sync_run *run, int64_t checks, int *first,
                                    const char **reason)
{
    int rank = 0;
    int size = 0;
    bool same = false;
    PMPI_Comm_rank(run->comm, &rank);
    PMPI_Comm_size(run->comm, &size);
    int err = propagate_same_identity(run, &same);
    int stranger = same ? size : rank;
    err = err ? err : propagate_lowest(run, &stranger);
    *reason = "their sources are not the same";
    if (!err && stranger == size) {
        *reason = "their readings differ by more than a message takes";
        err = propagate_compare(run, checks, rank, &stranger);
    }
    *first = stranger == size ? -1 : stranger;
    return err;
}

static int propagate_run(struct sync *sync, struct sync_run *run)
{
    const struct propagate_options *options = sync->options;
    const char *reason = NULL;
    int stranger = -1;
    int err = propagate_first_stranger(run, options->checks, &stranger, &reason);
    if (err) {
        return err;
    }
    if (stranger >= 0 && sync->child_count) {
        return ictusi_sync_run_inner(sync->children[0], run, run->comm, &run->base,
                                     &run->base_error);
    }
    if (stranger >= 0) {
        return ictus_because(
            &run->why, ICTUS_ERR_NOT_SHARED,
            "propagate: rank %d does not share the '%s' clock of rank 0 on its level: %s", stranger,
            run->source->ops->name, reason);
    }
    run->line = run->base;
    run->error = run->base_error;
    err = PMPI_Bcast(&run->line, (int)sizeof(run->line), MPI_BYTE, 0, run->comm);
    if (err == MPI_SUCCESS) {
        err = PMPI_Bcast(&run->error, (int)sizeof(run->error), MPI_BYTE, 0, run->comm);
    }
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

const struct sync_ops ictusi_sync_propagate = {
    .name = "propagate",
    .summary = "copy rank 0's line where the source is shared (Hunold 2018)",
    .params = params,
    .options_size = sizeof(struct propagate_options),
    .children_max = 1,
    .run = propagate_run,
};
