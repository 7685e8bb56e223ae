/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measurement loops that H08 section 1 describes, with the errors that it names. Many calls run
 * between two readings of the clock, so they overlap as in a pipeline, and each process times its
 * own loop. They are offered to compare with what other suites print, not to measure with. One
 * repetition is one loop, and its time is divided by the number of calls.
 */
#include "bench/scheme.h"

struct loop_options {
    int64_t calls;
    int64_t barriers;
};

#define CALLS_PARAM(fallback)                                                                      \
    {                                                                                              \
        "calls", SPEC_INT, offsetof(struct loop_options, calls), fallback, 1, 1e9, NULL,           \
            "calls of the operation in one loop"                                                   \
    }
#define NO_MORE                                                                                    \
    {                                                                                              \
        NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL                                                  \
    }

static const struct spec_param imb_params[] = {CALLS_PARAM("100"),
                                               {"barriers", SPEC_INT,
                                                offsetof(struct loop_options, barriers), "2", 0,
                                                1e6, NULL, "MPI_Barrier calls before each loop"},
                                               NO_MORE};
static const struct spec_param mpptest_params[] = {
    CALLS_PARAM("100"),
    {"barriers", SPEC_INT, offsetof(struct loop_options, barriers), "1", 0, 1e6, NULL,
     "MPI_Barrier calls before each loop"},
    NO_MORE};
/* MPBench does not synchronise the processes at all. */
static const struct spec_param mpbench_params[] = {CALLS_PARAM("100"), NO_MORE};

/*
 * sample = total / calls
 *
 * Errors are checked after the loop, because a check inside it would be timed.
 */
static int loop_run_one(const struct scheme *scheme, struct call *call, struct sample *sample)
{
    const struct loop_options *options = scheme->options;
    const struct source *source = scheme->clock->source;
    int err = MPI_SUCCESS;
    for (int64_t i = 0; i < options->barriers && err == MPI_SUCCESS; i++) {
        err = MPI_Barrier(scheme->comm);
    }
    const int64_t start = ictusi_source_read(source);
    for (int64_t i = 0; i < options->calls && err == MPI_SUCCESS; i++) {
        err = call->operation->run(call);
    }
    const int64_t total = ictusi_source_read(source) - start;
    call->mpi_error = err == MPI_SUCCESS ? ictusi_settle(call) : err;
    sample->start = start;
    /*
     * The sample is the mean call of the loop. In a rooted operation the root may run ahead of the
     * other calls in the pipeline, so this mean may be less than the time of any single call (H08
     * section 1).
     */
    sample->stop = start + total / options->calls;
    ictusi_sample_place(scheme->clock, sample);
    sample->has_common = false;
    sample->valid = true;
    return call->mpi_error == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/*
 * Nothing is agreed on, so no loop is late and all samples are valid. The time limit is ignored,
 * because processes that check it on their own would stop at different loops.
 */
static int loops_measure(struct scheme *scheme, struct call *call, double budget_s,
                         struct sample *samples, int64_t *n)
{
    (void)budget_s;
    int64_t made = 0;
    int err = ICTUS_OK;
    while (made < *n && !err) {
        ictusi_call_next(call);
        err = loop_run_one(scheme, call, &samples[made]);
        made += !err;
    }
    *n = made;
    return err;
}

const struct scheme_ops ictusi_scheme_loop_imb = {
    .name = "loop-imb",
    .summary = "barriers, then a loop timed on every process, as IMB does",
    .reduction = ICTUS_REDUCE_MEAN,
    .params = imb_params,
    .loops = true,
    .options_size = sizeof(struct loop_options),
    .measure = loops_measure,
};

const struct scheme_ops ictusi_scheme_loop_mpptest = {
    .name = "loop-mpptest",
    .summary = "a barrier, then a loop timed on the root, as mpptest does",
    .reduction = ICTUS_REDUCE_ROOT,
    .params = mpptest_params,
    .loops = true,
    .options_size = sizeof(struct loop_options),
    .measure = loops_measure,
};

const struct scheme_ops ictusi_scheme_loop_mpbench = {
    .name = "loop-mpbench",
    .summary = "a loop timed on the root without any barrier, as MPBench does",
    .reduction = ICTUS_REDUCE_ROOT,
    .params = mpbench_params,
    .loops = true,
    .options_size = sizeof(struct loop_options),
    .measure = loops_measure,
};
