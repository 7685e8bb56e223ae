/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how far a global clock is from rank 0's. By truth: all processes find their local
 * instants of one true instant and compare what their clocks show then. If each used its own "now",
 * the spread of these instants would be added (751 ns for each level of a barrier's tree). By
 * exchange: H18 algorithm 6.
 */
#include "core/line.h"
#include "study/study.h"
#include "sync/clock.h"
#include "sync/measure.h"

#include <math.h>
#include <string.h>

/* The rate of truth is within a tenth of the local clock's, so each step leaves a tenth of the
 * error. */
enum { INVERSION_STEPS = 64 };

int ictus_clock_has_truth(const struct ictus_clock *clock, bool *truth)
{
    char mine[SOURCE_IDENTITY_MAX] = "";
    char first[SOURCE_IDENTITY_MAX];
    if (!clock || !truth) {
        return ICTUS_ERR_ARG;
    }
    const struct source_ops *ops = clock->source->ops;
    if (ops->truth && ops->under) {
        const struct source *under = ops->under(clock->source);
        under->ops->identify(under, mine, sizeof(mine));
    }
    memcpy(first, mine, sizeof(first));
    MPI_Bcast(first, (int)sizeof(first), MPI_CHAR, 0, clock->comm);
    /*
     * The truth is known only if all simulated clocks are based on the same real clock, because
     * only then are equal true instants the same instant. Processes of several nodes have different
     * real clocks.
     */
    int same = mine[0] && strcmp(mine, first) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, clock->comm);
    *truth = same != 0;
    return ICTUS_OK;
}

/* Return the local instant that belongs to a true one. */
static int64_t judge_local_at(const struct source *source, int64_t truth)
{
    int64_t local = truth;
    for (int i = 0; i < INVERSION_STEPS; i++) {
        const int64_t rest = truth - source->ops->truth(source, local);
        if (rest == 0) {
            break;
        }
        /* Newton's method with the derivative 1, from which a clock hardly differs. Integers
         * make it end exactly. */
        local += rest;
    }
    return local;
}

/* A global instant with the fraction that ictus_clock_map() rounds away. */
struct fine {
    int64_t ns;
    double frac;
};

/* G(L) = L + offset + frac + slope (L - anchor). The fraction is kept apart, because a double
 * that holds ns since 1970 has no digits left for it. */
static struct fine judge_map_finely(const struct line *line, int64_t local)
{
    return (struct fine){local + line->offset,
                         line->frac + line->slope * (double)(local - line->anchor)};
}

int ictus_clock_true_error(const struct ictus_clock *clock, struct ictus_time at,
                           struct ictus_clock_error *out)
{
    if (!clock || !out || !clock->source->ops->truth) {
        return ICTUS_ERR_ARG;
    }
    struct {
        int64_t truth;
        struct fine global;
    } first = {.truth = clock->source->ops->truth(clock->source, at.ns)};
    /*
     * Rank 0's reading at the common true instant. It is computed by way of rank 0's own local
     * clock, like those of the others, so that local instants are rounded in the same way on both
     * sides.
     */
    first.global = judge_map_finely(&clock->line, judge_local_at(clock->source, first.truth));
    if (MPI_Bcast(&first, (int)sizeof(first), MPI_BYTE, 0, clock->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    const int64_t local = judge_local_at(clock->source, first.truth);
    const struct fine mine = judge_map_finely(&clock->line, local);
    struct ictus_reading reading;
    (void)ictus_clock_map_reading(clock, (struct ictus_time){local}, &reading);
    *out = (struct ictus_clock_error){
        .known = true,
        .error_ns = (double)(mine.ns - first.global.ns) + (mine.frac - first.global.frac),
        .half_width_ns = 1.0, /* two local instants, each rounded to 1 ns */
        .sigma_ns = reading.sigma_ns,
        .path_ns = reading.path_ns,
        .bound_ns = reading.bound_ns,
    };
    return ICTUS_OK;
}

/* Client: compare rank 0's global clock with this process's. */
static int judge_compare_with_first(struct measure *m, const struct ictus_clock *clock,
                                    struct ictus_clock_error *out)
{
    struct offset offset;
    struct ictus_reading reading;
    const int err = ictusi_measure_client(m, 0, &offset);
    if (err) {
        return err;
    }
    const struct fine mine = judge_map_finely(&clock->line, offset.at);
    (void)ictus_clock_map_reading(clock, (struct ictus_time){offset.at}, &reading);
    *out = (struct ictus_clock_error){
        .known = true,
        /*
         * The measurement gives offset = G_0 - L at the local instant `at`. The error of this
         * process is G_mine(at) - G_0 = (G_mine(at) - at) - offset. Its half-width is that of the
         * exchange.
         */
        .error_ns = (double)(mine.ns - offset.at - offset.offset) + (mine.frac - offset.frac),
        .half_width_ns = offset.half_width_ns,
        .sigma_ns = reading.sigma_ns,
        .path_ns = reading.path_ns,
        .bound_ns = reading.bound_ns,
    };
    return ICTUS_OK;
}

/* H18 algorithm 6, lines 6-8: rank 0 asks one process after the other. */
static int judge_ask_all(struct measure *m, const struct ictus_clock *clock, int size)
{
    int err = ICTUS_OK;
    for (int rank = 1; rank < size && !err; rank++) {
        int asked = 0;
        err = ictusi_exchange_hear(&m->exchange, rank, &asked, sizeof(asked));
        if (!err && asked) {
            err = ictusi_measure_reference(m, rank, &clock->line);
        }
    }
    return err;
}

int ictus_clock_measured_error(const struct ictus_clock *clock, bool asked, size_t exchanges,
                               struct ictus_clock_error *out)
{
    if (!clock || !out || exchanges < 1 || exchanges > MEASURE_EXCHANGES_MAX) {
        return ICTUS_ERR_ARG;
    }
    struct sync_run run = {.comm = clock->comm, .source = clock->source, .crowded = clock->crowded};
    const struct measure_options options = {.exchanges = (int64_t)exchanges, .estimator = 0};
    struct measure m;
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(clock->comm, &rank);
    MPI_Comm_size(clock->comm, &size);
    int err = ictusi_measure_init(&m, &options, 1, &run);
    if (err) {
        return err;
    }
    struct ictus_clock_error found = {.known = rank == 0};
    const int wants = asked ? 1 : 0;
    /* Each process tells rank 0 whether to expect its exchanges, because only the process itself
     * knows. Rank 0 must not wait for a process that is not asked. */
    if (rank == 0) {
        err = judge_ask_all(&m, clock, size);
    } else {
        err = ictusi_exchange_tell(&m.exchange, 0, &wants, sizeof(wants));
        if (!err && asked) {
            err = judge_compare_with_first(&m, clock, &found);
        }
    }
    ictusi_measure_fini(&m, &run);
    err = ictusi_sync_agree(clock->comm, err, NULL);
    if (!err) {
        *out = found;
    }
    return err;
}
