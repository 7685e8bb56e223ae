/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merges lines up a binomial tree and scatters them (HCA, HCA2: Hunold and Carpen-Amarie 2015;
 * offsets only: Hoefler, Schneider and Lumsdaine 2008).
 *
 * In round k = 0, 1, ... each rank that is a multiple of 2^(k+1) is joined by the rank that is 2^k
 * higher. All pairs of a round measure at the same time, so that p processes need log2 p rounds
 * instead of p - 1 measurements in a row. The price is that the line of a process to rank 0 is
 * composed of up to log2 p lines, each with its error, and that the slope errors of the first
 * rounds have had the longest time to grow.
 */
#include "sync/upward.h"

#include <stdlib.h>

/* A process's line to the process that stores it, and its error at the anchor of the line. */
struct merged {
    struct line line;
    struct line_error error;
};

/* The state of one process during the merging. */
struct ascent {
    struct sync_run *run;
    const struct upward_options *options;
    struct measure measure;
    struct merged *below; /* lines of rank, rank + 1, ... to rank */
    int rank, size, power;
    int err;
};

/* Keep the first error. */
static void upward_keep(struct ascent *a, int err)
{
    a->err = a->err ? a->err : err;
}

/*
 * Compose two lines, inner first, with the error at the anchor of the inner line. The outer line
 * was fitted at another instant, so its error is first moved there: a slope error s adds s times
 * the distance. Variances add, and so do bounds.
 */
static struct merged upward_merge(const struct merged *outer, const struct merged *inner)
{
    const int64_t image = ictusi_line_map(&inner->line, inner->line.anchor);
    const double away_s = (double)(image - outer->line.anchor) * 1e-9;
    const struct line_error moved = ictusi_line_error_move(&outer->error, away_s);
    return (struct merged){ictusi_line_compose(&outer->line, &inner->line),
                           ictusi_line_error_add(&moved, &inner->error)};
}

/* Learn the line to a peer. Only the process that asks knows it afterwards. */
static void upward_learn_from(struct ascent *a, int peer, struct merged *line)
{
    upward_keep(a, ictusi_measure_learn_client(&a->measure, &a->options->learn, peer, &line->line,
                                               &line->error));
}

/* During the merging the reference is a bare clock without an error. The clock G is applied at
 * the end. */
static void upward_answer(struct ascent *a, int peer)
{
    static const struct line_error none;
    const struct line bare = ictusi_line_identity();
    upward_keep(
        a, ictusi_measure_learn_reference(&a->measure, &a->options->learn, peer, &bare, &none));
}

/* The lower rank's side of a pair. Afterwards below[count], ... are the lines of the other's
 * subtree. */
static void upward_join_lower(struct ascent *a, int peer, int count)
{
    struct merged theirs = {.line = ictusi_line_identity()};
    struct merged *subtree = a->below + count;
    if (a->options->lower_asks) {
        upward_learn_from(a, peer, &theirs);
        theirs.line = ictusi_line_invert(&theirs.line);
    } else {
        upward_answer(a, peer);
    }
    const size_t bytes = (size_t)count * sizeof(*subtree);
    upward_keep(a, ictusi_exchange_hear(&a->measure.exchange, peer, subtree, bytes));
    for (int k = 0; k < count && a->options->lower_asks; k++) {
        subtree[k] = upward_merge(&theirs, &subtree[k]);
    }
}

/* The higher rank's side: it sends the lines of its subtree to the lower rank. */
static void upward_join_higher(struct ascent *a, int peer, int count)
{
    if (a->options->lower_asks) {
        upward_answer(a, peer);
    } else {
        struct merged mine = {.line = ictusi_line_identity()};
        upward_learn_from(a, peer, &mine);
        for (int k = 0; k < count; k++) {
            a->below[k] = upward_merge(&mine, &a->below[k]);
        }
    }
    const size_t bytes = (size_t)count * sizeof(*a->below);
    upward_keep(a, ictusi_exchange_tell(&a->measure.exchange, peer, a->below, bytes));
}

/* Round k of H18 figure 1a: subtrees of 2^k processes are joined to subtrees of 2^(k+1). */
static void upward_climb(struct ascent *a)
{
    for (int next = 1; next < a->power && a->rank < a->power; next *= 2) {
        if (a->rank % (2 * next) == 0) {
            upward_join_lower(a, a->rank + next, next);
        } else if (a->rank % (2 * next) == next) {
            upward_join_higher(a, a->rank - next, next);
        }
    }
}

/* The ranks beyond the power of two, each with one of the first group, in parallel. Rank 0
 * receives all results. */
static void second_group(struct ascent *a)
{
    struct merged line = {.line = ictusi_line_identity()};
    const int twin = a->rank < a->power ? a->rank + a->power : a->rank - a->power;
    const bool asks = (a->rank < a->power) == a->options->lower_asks;
    if (twin < a->size && asks) {
        upward_learn_from(a, twin, &line);
    } else if (twin < a->size) {
        upward_answer(a, twin);
    }
    if (asks && a->rank < a->power) {
        line.line = ictusi_line_invert(&line.line);
    }
    if (a->rank > 0 && twin < a->size && asks) {
        upward_keep(a, ictusi_exchange_tell(&a->measure.exchange, 0, &line, sizeof(line)));
    }
    for (int high = a->power; high < a->size && a->rank == 0; high++) {
        const int from = a->options->lower_asks ? high - a->power : high;
        if (from) {
            upward_keep(a, ictusi_exchange_hear(&a->measure.exchange, from, &line, sizeof(line)));
        }
        a->below[high] = upward_merge(&a->below[high - a->power], &line);
    }
}

/* HCA: measure the intercepts again, one process after the other (H18 II: O(p), which is often
 * fast enough). */
static void upward_adjust(struct ascent *a)
{
    for (int i = 1; i < a->size; i++) {
        if (a->rank == 0) {
            upward_keep(a, ictusi_measure_reference(&a->measure, i, &a->run->base));
        } else if (a->rank == i) {
            struct offset now;
            const int err = ictusi_measure_client(&a->measure, 0, &now);
            upward_keep(a, err);
            if (!err) {
                const double away_s = (double)(now.at - a->run->line.anchor) * 1e-9;
                a->run->error = ictusi_line_error_move(&a->run->error, away_s);
                a->run->error.bound_ns = now.half_width_ns + a->run->base_error.bound_ns;
                a->run->line = ictusi_line_make(now.at, now.offset, now.frac, a->run->line.slope);
            }
        }
    }
}

/* Rank 0 composes its own base with every merged line, which then maps local time to G. */
static void upward_scatter(struct ascent *a)
{
    struct merged mine = {.line = ictusi_line_identity()};
    const struct merged base = {a->run->base, a->run->base_error};
    for (int i = 0; i < a->size && a->rank == 0; i++) {
        a->below[i] = upward_merge(&base, &a->below[i]);
    }
    const int bytes = (int)sizeof(mine);
    if (PMPI_Scatter(a->below, bytes, MPI_BYTE, &mine, bytes, MPI_BYTE, 0, a->run->comm) !=
        MPI_SUCCESS) {
        upward_keep(a, ICTUS_ERR_MPI);
    }
    a->run->line = mine.line;
    a->run->error = mine.error;
}

int ictusi_upward_learn(struct sync_run *run, const struct upward_options *options)
{
    struct ascent a = {.run = run, .options = options, .power = 1};
    PMPI_Comm_rank(run->comm, &a.rank);
    PMPI_Comm_size(run->comm, &a.size);
    while (a.power <= a.size / 2) {
        a.power *= 2;
    }
    /* In the end rank 0 holds the lines of all processes. The others hold at most half of the
     * first group's. */
    const size_t room = (size_t)(a.rank ? a.power / 2 + 1 : a.size);
    a.below = calloc(room, sizeof(*a.below));
    int err = ictusi_sync_agree(run->comm, a.below ? ICTUS_OK : ICTUS_ERR_NOMEM, &run->why);
    if (!err) {
        err = ictusi_measure_init(&a.measure, &options->measure, options->learn.fitpoints, run);
    }
    if (err) {
        free(a.below);
        return err;
    }
    a.below[0].line = ictusi_line_identity();
    a.below[0].line.anchor = ictusi_source_read(run->source);
    upward_climb(&a);
    second_group(&a);
    upward_scatter(&a);
    if (options->adjust_after) {
        upward_adjust(&a);
    }
    ictusi_measure_fini(&a.measure, run);
    free(a.below);
    return a.err;
}
