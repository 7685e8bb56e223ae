/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes a clock down a binomial tree (H18 algorithm 1, SYNC_CLOCKS).
 *
 * A client's stamps are from its bare clock, and its reference's are already in global time. The
 * client thus learns its line to G directly, and no lines need to be composed. The error of a leaf
 * is that of log2 p lines in a row. Each reference sends its own error with the line. All pairs of
 * a round measure at the same time, so that the duration is that of ceil(log2 p) lines.
 */
#include "sync/tree.h"

/* The state of one process during the rounds. */
struct climb {
    struct sync_run *run;
    struct measure measure;
    const struct learn_options *learning;
    int err;
};

/* The first error is kept and the rounds go on, because other processes depend on this one. */
static void tree_be_client(struct climb *c, int reference)
{
    const int err = ictusi_measure_learn_client(&c->measure, c->learning, reference, &c->run->line,
                                                &c->run->error);
    c->err = c->err ? c->err : err;
}

static void tree_be_reference(struct climb *c, int client)
{
    /* A process whose own line failed still answers, so that its client does not wait forever. */
    const int err = ictusi_measure_learn_reference(&c->measure, c->learning, client, &c->run->line,
                                                   &c->run->error);
    c->err = c->err ? c->err : err;
}

/* H18 algorithm 1, lines 5-15: the ranks below the largest power of two. */
static void tree_first_step(struct climb *c, int rank, int max_power)
{
    for (int running = max_power; running > 1; running /= 2) {
        const int next = running / 2;
        if (rank % running == 0) {
            tree_be_reference(c, rank + next);
        } else if (rank % running == next) {
            tree_be_client(c, rank - next);
        }
    }
}

/* H18 algorithm 1, lines 16-22: each other rank with one of the first group. */
static void second_step(struct climb *c, int rank, int size, int max_power)
{
    if (rank >= max_power) {
        tree_be_client(c, rank - max_power);
    } else if (rank < size - max_power) {
        tree_be_reference(c, rank + max_power);
    }
}

int ictusi_tree_learn(struct sync_run *run, const struct measure_options *measuring,
                      const struct learn_options *learning)
{
    struct climb c = {.run = run, .learning = learning};
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(run->comm, &rank);
    PMPI_Comm_size(run->comm, &size);
    int max_power = 1;
    while (max_power <= size / 2) {
        max_power *= 2;
    }
    c.err = ictusi_measure_init(&c.measure, measuring, learning->fitpoints, run);
    if (c.err) {
        return c.err;
    }
    /* H18 algorithm 1, line 4: the clock that a process already has; only rank 0's is used. */
    run->line = run->base;
    run->error = run->base_error;
    if (rank < max_power) {
        tree_first_step(&c, rank, max_power);
    }
    second_step(&c, rank, size, max_power);
    ictusi_measure_fini(&c.measure, run);
    return c.err;
}
