/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round-Time (H18 algorithm 5). The root broadcasts a start that lies a multiple of a broadcast's
 * latency ahead, late repetitions are invalid, and a time slice ends the experiment. As in the
 * paper, there is one MPI_Bcast before and one MPI_Allreduce after each repetition.
 */
#include "bench/scheme.h"
#include "sync/wait.h"

#include <math.h>
#include <stdlib.h>

struct round_time_options {
    double slack;
};

static const struct spec_param params[] = {
    {"slack", SPEC_REAL, offsetof(struct round_time_options, slack), "3", 1, 1e6, NULL,
     "B: the start is this many broadcast latencies ahead"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

struct round_time {
    double latency_ns; /* of MPI_Bcast, estimated once; rank 0 only */
};

enum { LATENCY_TRIES = 20 };

/* A lower bound on the latency, in case the clock gives an implausibly small one. */
#define LATENCY_MIN_NS 100.0

/*
 * ESTIMATE_LATENCY(MPI_Bcast), line 1: the median over the tries of the time until the last process
 * has left the broadcast, on the global clock.
 */
static int round_time_estimate_latency(struct scheme *scheme, double *latency_ns)
{
    int64_t took[LATENCY_TRIES];
    /*
     * The barrier keeps one try from beginning inside another. Its exit skew does not matter,
     * because the time counts from the root's reading, which the broadcast itself carries.
     */
    for (int i = 0; i < LATENCY_TRIES; i++) {
        int64_t sent = 0;
        MPI_Barrier(scheme->comm);
        sent = ictus_clock_now(scheme->clock).ns;
        if (MPI_Bcast(&sent, 1, MPI_INT64_T, 0, scheme->comm) != MPI_SUCCESS) {
            return ICTUS_ERR_MPI;
        }
        took[i] = ictus_clock_now(scheme->clock).ns - sent;
    }
    if (MPI_Allreduce(MPI_IN_PLACE, took, LATENCY_TRIES, MPI_INT64_T, MPI_MAX, scheme->comm) !=
        MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    for (int i = 1; i < LATENCY_TRIES; i++) {
        const int64_t value = took[i];
        int j = i;
        for (; j > 0 && took[j - 1] > value; j--) {
            took[j] = took[j - 1];
        }
        took[j] = value;
    }
    const int middle = LATENCY_TRIES / 2;
    *latency_ns = fmax((double)took[middle], LATENCY_MIN_NS);
    return ICTUS_OK;
}

/*
 * The latency is estimated once, as in the paper. If broadcasts become slower later, starts are
 * late; those repetitions are invalid but not wrong.
 */
static int round_time_init(struct scheme *scheme, struct ictus_why *why)
{
    (void)why;
    struct round_time *state = calloc(1, sizeof(*state));
    if (!state) {
        return ICTUS_ERR_NOMEM;
    }
    scheme->state = state;
    const int err = round_time_estimate_latency(scheme, &state->latency_ns);
    if (err) {
        free(state);
    }
    return err;
}

/*
 * Lines 6 to 16: agree on a start and wait for it.
 *       start = now(root) + B latency,   on the global clock; B: `slack`
 *
 * Only the root's reading counts; the others get it from the broadcast.
 */
static int round_start_together(struct scheme *scheme, struct sample *sample)
{
    const struct round_time_options *options = scheme->options;
    const struct round_time *state = scheme->state;
    int64_t start = 0;
    start = ictus_clock_now(scheme->clock).ns + (int64_t)(options->slack * state->latency_ns);
    if (MPI_Bcast(&start, 1, MPI_INT64_T, 0, scheme->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    const int64_t local = ictusi_line_unmap(&scheme->clock->line, start);
    /* Checked before waiting: a process that learns of the start after it has passed is late. */
    sample->valid = ictusi_source_read(scheme->clock->source) < local;
    (void)ictusi_sync_wait_until(scheme->clock->source, local, scheme->clock->crowded);
    sample->common = start;
    sample->has_common = true;
    return ICTUS_OK;
}

/*
 * The reduction after each repetition is part of the algorithm, and it has a cost: processes leave
 * it at different times, and the next start has to allow for that.
 */
static int round_time_measure(struct scheme *scheme, struct call *call, double budget_s,
                              struct sample *samples, int64_t *n)
{
    const int64_t begin = ictusi_source_read(scheme->clock->source);
    int64_t made = 0;
    int out_of_time = 0;
    while (made < *n && !out_of_time) {
        struct sample *sample = &samples[made];
        ictusi_call_next(call);
        int err = round_start_together(scheme, sample);
        if (!err) {
            err = ictusi_time_call(scheme->clock, call, sample);
        }
        if (err) {
            return err;
        }
        /*
         * Lines 20 to 24: all processes learn whether the repetition was valid and whether the time
         * is up.
         */
        int flags[2] = {!sample->valid,
                        budget_s > 0.0 && (double)(sample->stop - begin) * 1e-9 >= budget_s};
        if (MPI_Allreduce(MPI_IN_PLACE, flags, 2, MPI_INT, MPI_MAX, scheme->comm) != MPI_SUCCESS) {
            return ICTUS_ERR_MPI;
        }
        sample->valid = !flags[0];
        out_of_time = flags[1];
        made++;
    }
    *n = made;
    return ICTUS_OK;
}

static void round_time_fini(struct scheme *scheme)
{
    free(scheme->state);
}

const struct scheme_ops ictusi_scheme_round_time = {
    .name = "round-time",
    .summary = "a broadcast start time and a time slice (Hunold 2018)",
    .reduction = ICTUS_REDUCE_MAX,
    .params = params,
    .options_size = sizeof(struct round_time_options),
    .init = round_time_init,
    .measure = round_time_measure,
    .fini = round_time_fini,
};
