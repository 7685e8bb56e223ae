/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schemes that call barriers before each repetition: what most suites do, and variants that try to
 * do better. No barrier makes its processes leave at the same time, and the exit skew of the
 * barrier becomes an error of the measurement.
 */
#include "bench/scheme.h"
#include "bench/subject.h"

#include <stdlib.h>
#include <string.h>

struct barrier_options {
    struct spec_text algorithm;
};

static const struct spec_param params[] = {
    {"algorithm", SPEC_TEXT, offsetof(struct barrier_options, algorithm), "mpi", 0, 0, NULL,
     "mpi, mpi:NAME (inside the library), dissemination, tree or linear"},
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};
static const struct spec_param no_params[] = {{NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

struct barriers {
    struct subject subject;
    int64_t count;
    struct ictus_selector *selector;
};

static int barrier_make(struct scheme *scheme, const char *algorithm, int64_t count,
                        struct ictus_why *why)
{
    static const char inside[] = "mpi:";
    struct barriers *state = calloc(1, sizeof(*state));
    if (!state) {
        return ICTUS_ERR_NOMEM;
    }
    state->count = count;
    int err = ICTUS_OK;
    /* Only algorithms inside the library need a selector, which not every library can have. */
    if (strncmp(algorithm, inside, sizeof(inside) - 1) == 0) {
        err = ictus_selector_create(&state->selector, why);
    }
    if (!err) {
        err = ictusi_subject_init(&state->subject, scheme->comm, algorithm, state->selector, why);
    }
    if (err) {
        if (state->selector) {
            ictus_selector_free(state->selector);
        }
        free(state);
        return err;
    }
    scheme->state = state;
    return ICTUS_OK;
}

static int barrier_init(struct scheme *scheme, struct ictus_why *why)
{
    const struct barrier_options *options = scheme->options;
    return barrier_make(scheme, options->algorithm.text, 1, why);
}

static int barriers_init_double(struct scheme *scheme, struct ictus_why *why)
{
    const struct barrier_options *options = scheme->options;
    return barrier_make(scheme, options->algorithm.text, 2, why);
}

static int barriers_init_dissemination(struct scheme *scheme, struct ictus_why *why)
{
    return barrier_make(scheme, "dissemination", 1, why);
}

static int barriers_measure(struct scheme *scheme, struct call *call, double budget_s,
                            struct sample *samples, int64_t *n)
{
    (void)budget_s;
    /* The time limit is checked between batches, which are short. */
    const struct barriers *state = scheme->state;
    int64_t made = 0;
    int err = ICTUS_OK;
    while (made < *n && !err) {
        struct sample *sample = &samples[made];
        ictusi_call_next(call);
        for (int64_t i = 0; i < state->count && !err; i++) {
            err = ictusi_subject_call(&state->subject);
        }
        if (!err) {
            /*
             * There is no agreed start, so the makespan counts from the first entry into the
             * operation.
             */
            sample->has_common = false;
            err = ictusi_time_call(scheme->clock, call, sample);
            sample->valid = true;
            made++;
        }
    }
    *n = made;
    return err;
}

static void barrier_fini(struct scheme *scheme)
{
    struct barriers *state = scheme->state;
    ictusi_subject_fini(&state->subject);
    /*
     * The selector is freed after the subject, because it owns the subject's forced communicator.
     */
    if (state->selector) {
        ictus_selector_free(state->selector);
    }
    free(state);
}

const struct scheme_ops ictusi_scheme_barrier = {
    .name = "barrier",
    .summary = "MPI_Barrier before each repetition, as OSU does",
    .reduction = ICTUS_REDUCE_MEAN,
    .params = params,
    .options_size = sizeof(struct barrier_options),
    .init = barrier_init,
    .measure = barriers_measure,
    .fini = barrier_fini,
};

const struct scheme_ops ictusi_scheme_double_barrier = {
    .name = "double-barrier",
    .summary = "two barriers before each repetition",
    .reduction = ICTUS_REDUCE_MEAN,
    .params = params,
    .options_size = sizeof(struct barrier_options),
    .init = barriers_init_double,
    .measure = barriers_measure,
    .fini = barrier_fini,
};

const struct scheme_ops ictusi_scheme_dissemination = {
    .name = "dissemination",
    .summary = "a dissemination barrier of ictus before each repetition",
    .reduction = ICTUS_REDUCE_MEAN,
    .params = no_params,
    .init = barriers_init_dissemination,
    .measure = barriers_measure,
    .fini = barrier_fini,
};
