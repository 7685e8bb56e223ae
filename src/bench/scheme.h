/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schemes: how the processes are made to start an operation together, and what is timed. Each is a
 * constant table of functions, and there is one registry.
 */
#ifndef ICTUS_BENCH_SCHEME_H
#define ICTUS_BENCH_SCHEME_H

#include "bench/arrive.h"
#include "bench/call.h"
#include "core/spec.h"
#include "sync/clock.h"
#include "sync/wait.h"

#include <ictus/bench.h>
#include <stdbool.h>
#include <stdint.h>

struct scheme;

struct scheme_ops {
    const char *name;
    const char *summary;
    enum ictus_reduction reduction; /* the reduction that its users expect */
    bool loops;                     /* runs many calls between two readings of the clock */
    const struct spec_param *params;
    size_t options_size;
    /*
     * Called after the options have been read; clock and communicator are set. Collective. May be
     * NULL.
     */
    int (*init)(struct scheme *scheme, struct ictus_why *why);
    /*
     * Measure up to *n repetitions. On return *n is the number made, which is the same on all
     * processes. Collective. budget_s > 0 limits the time, if the scheme can check it between
     * repetitions.
     */
    int (*measure)(struct scheme *scheme, struct call *call, double budget_s,
                   struct sample *samples, int64_t *n);
    void (*fini)(struct scheme *scheme); /* may be NULL */
};

struct scheme {
    const struct scheme_ops *ops;
    void *options;
    void *state;
    MPI_Comm comm;
    struct ictus_clock *clock; /* of the harmonised starts on this communicator; not owned */
};

/*
 * Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC, ICTUS_ERR_NOMEM, or those of init. Collective over
 * comm.
 */
int ictusi_scheme_create(const char *spec, MPI_Comm comm, struct ictus_clock *clock,
                         struct scheme **out, struct ictus_why *why);

/*
 * The scheme that a specification names; NULL means the default. If there is none, the reason is
 * the most similar name. Local.
 */
const struct scheme_ops *ictusi_scheme_find(const char *text, struct ictus_why *why);

/* Whether the scheme can measure what the plan asks for. Errors: ICTUS_ERR_SPEC. Local. */
int ictusi_scheme_can(const struct scheme_ops *ops, const struct ictus_bench_plan *plan,
                      struct ictus_why *why);

/* NULL is allowed. */
void ictusi_scheme_free(struct scheme *scheme);

/* Map a repetition onto the global clock. */
static inline void ictusi_sample_place(const struct ictus_clock *clock, struct sample *sample)
{
    sample->begin = ictusi_line_map(&clock->line, sample->start);
    sample->end = ictusi_line_map(&clock->line, sample->stop);
}

/*
 * Call the operation once between two readings of the source. This is the timed region of every
 * scheme. A process that is to arrive late waits or computes first.
 */
static inline int ictusi_time_call(const struct ictus_clock *clock, struct call *call,
                                   struct sample *sample)
{
    const struct source *source = clock->source;
    sample->start = ictusi_source_read(source);
    sample->late = false;
    if (call->next.delay_ns > 0 || call->next.lead_ns > 0) {
        ictusi_arrive(clock, call, sample);
    }
    call->mpi_error = call->operation->run(call);
    sample->stop = ictusi_source_read(source);
    ictusi_sample_place(clock, sample);
    if (call->mpi_error == MPI_SUCCESS) {
        call->mpi_error = ictusi_settle(call);
    }
    if (call->every && call->mpi_error == MPI_SUCCESS) {
        ictusi_verify_repetition(call);
    }
    return call->mpi_error == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

extern const struct scheme_ops ictusi_scheme_harmonize;
extern const struct scheme_ops ictusi_scheme_barrier;
extern const struct scheme_ops ictusi_scheme_round_time;
extern const struct scheme_ops ictusi_scheme_window;
extern const struct scheme_ops ictusi_scheme_double_barrier;
extern const struct scheme_ops ictusi_scheme_dissemination;
extern const struct scheme_ops ictusi_scheme_loop_imb;
extern const struct scheme_ops ictusi_scheme_loop_mpptest;
extern const struct scheme_ops ictusi_scheme_loop_mpbench;

#endif
