/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of schemes, and the default scheme. */
#include "bench/scheme.h"

#include <ictus/harmonize.h>
#include <ictus/text.h>
#include <ictus/traits.h>

#include <stdlib.h>
#include <string.h>

static const struct spec_param no_params[] = {{NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

/* S23: every repetition begins at a common instant, and late starts are marked invalid. */
static int scheme_measure_harmonize(struct scheme *scheme, struct call *call, double budget_s,
                                    struct sample *samples, int64_t *n)
{
    (void)budget_s;
    int64_t made = 0;
    int err = ICTUS_OK;
    for (int64_t i = 0; i < *n && !err; i++) {
        struct ictus_harmony harmony;
        /*
         * Prepared before the start is agreed on, because this takes time and not the same time on
         * all processes.
         */
        ictusi_call_next(call);
        err = ictus_harmonize(scheme->comm, &harmony);
        if (!err) {
            samples[i].common = harmony.deadline.ns;
            samples[i].has_common = true;
            err = ictusi_time_call(scheme->clock, call, &samples[i]);
            samples[i].valid = harmony.flag;
            made++;
        }
    }
    *n = made;
    return err;
}

const struct scheme_ops ictusi_scheme_harmonize = {
    .name = "harmonize",
    .summary = "a common instant for each repetition; late starts are marked",
    .reduction = ICTUS_REDUCE_MAX,
    .params = no_params,
    .measure = scheme_measure_harmonize,
};

static const struct scheme_ops *const registry[] = {
    &ictusi_scheme_harmonize,      &ictusi_scheme_round_time,
    &ictusi_scheme_window,         &ictusi_scheme_barrier,
    &ictusi_scheme_double_barrier, &ictusi_scheme_dissemination,
    &ictusi_scheme_loop_imb,       &ictusi_scheme_loop_mpptest,
    &ictusi_scheme_loop_mpbench,   NULL,
};

enum { SCHEMES = sizeof(registry) / sizeof(registry[0]) - 1 };

const char *ictus_scheme_name(int i, const char **summary)
{
    if (i < 0 || i >= SCHEMES) {
        return NULL;
    }
    if (summary) {
        *summary = registry[i]->summary;
    }
    return registry[i]->name;
}

static const struct scheme_ops *scheme_find(const char *name, struct ictus_why *why)
{
    const char *names[SCHEMES + 1] = {NULL};
    for (int i = 0; i < SCHEMES; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) {
            return registry[i];
        }
    }
    (void)ictus_unknown(why, "scheme", name, names);
    return NULL;
}

/* Read a specification into options that are allocated here. */
static int scheme_read_spec(const char *text, const struct scheme_ops **ops, void **options,
                            struct ictus_why *why)
{
    struct spec spec;
    int err = ictusi_spec_split(text ? text : "harmonize", &spec, why);
    if (err) {
        return err;
    }
    *ops = scheme_find(spec.name, why);
    if (!*ops) {
        return ICTUS_ERR_UNKNOWN;
    }
    *options = calloc(1, (*ops)->options_size + 1);
    if (!*options) {
        return ICTUS_ERR_NOMEM;
    }
    err = ictusi_spec_read(&spec, (*ops)->params, *options, why);
    if (err) {
        free(*options);
        *options = NULL;
    }
    return err;
}

/*
 * A scheme that times a loop of calls has nothing between two calls: no place to empty caches, to
 * check a result or to wait for an arrival.
 */
int ictusi_scheme_can(const struct scheme_ops *ops, const struct ictus_bench_plan *plan,
                      struct ictus_why *why)
{
    const char *asked = plan->cold                               ? "cold caches"
                        : plan->check > 1                        ? "checks"
                        : ictusi_arrival_is_asked(plan->arrival) ? "arrivals"
                                                                 : NULL;
    if (!ops->loops || !asked) {
        return ICTUS_OK;
    }
    return ictus_because(why, ICTUS_ERR_SPEC,
                         "%s times many calls at once, so there can be no %s between them",
                         ops->name, asked);
}

int ictus_scheme_check(const char *spec, struct ictus_why *why)
{
    const struct scheme_ops *ops = NULL;
    void *options = NULL;
    const int err = scheme_read_spec(spec, &ops, &options, why);
    free(options);
    return err;
}

const struct scheme_ops *ictusi_scheme_find(const char *text, struct ictus_why *why)
{
    struct spec spec;
    return ictusi_spec_split(text ? text : "harmonize", &spec, why) ? NULL
                                                                    : scheme_find(spec.name, why);
}

enum ictus_reduction ictus_scheme_reduction(const char *text)
{
    const struct scheme_ops *ops = ictusi_scheme_find(text, NULL);
    return ops ? ops->reduction : ICTUS_REDUCE_MAX;
}

int ictusi_scheme_create(const char *spec, MPI_Comm comm, struct ictus_clock *clock,
                         struct scheme **out, struct ictus_why *why)
{
    struct scheme *scheme = calloc(1, sizeof(*scheme));
    int err =
        scheme ? scheme_read_spec(spec, &scheme->ops, &scheme->options, why) : ICTUS_ERR_NOMEM;
    err = ictusi_sync_agree(comm, err, why);
    if (!err) {
        /*
         * Each scheme has its own messages, so processes with different schemes would wait for each
         * other forever.
         */
        err = ictus_traits_agree(comm, &(struct ictus_trait){"scheme", spec ? spec : "harmonize"},
                                 1, why);
    }
    if (!scheme) {
        return err;
    }
    scheme->comm = comm;
    scheme->clock = clock;
    if (!err && scheme->ops && scheme->ops->init) {
        err = scheme->ops->init(scheme, why);
    }
    if (err) {
        free(scheme->options);
        free(scheme);
        return err;
    }
    *out = scheme;
    return ICTUS_OK;
}

void ictusi_scheme_free(struct scheme *scheme)
{
    if (!scheme) {
        return;
    }
    if (scheme->ops->fini) {
        scheme->ops->fini(scheme);
    }
    free(scheme->options);
    free(scheme);
}
