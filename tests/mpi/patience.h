/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On a crowded machine, a scheme may have no start in time, and reports ICTUS_ERR_SAMPLES. A scheme
 * that gives every process enough time cannot fail like this, so an error that remains with it is a
 * real one.
 */
#ifndef ICTUS_TESTS_MPI_PATIENCE_H
#define ICTUS_TESTS_MPI_PATIENCE_H

#include <ictus/bench.h>

#include <stdlib.h>
#include <string.h>

#include "check_mpi.h"

/* Harmonised starts with so much time that none can be late. */
#define PATIENT_STARTS "harmonize:slack=1ms,tolerance=900ms"

/*
 * Create a bench with a scheme that waits long enough for every process. round-time waits in units
 * of a latency that was itself measured on the crowded machine: a few of them in the first attempt,
 * and many in later ones. Collective.
 */
static inline struct ictus_bench *patience_bench(const char *scheme, int attempt)
{
    struct ictus_bench *bench = NULL;
    struct ictus_why why = {""};
    if (strncmp(scheme, "round-time", strlen("round-time")) == 0) {
        scheme = attempt == 0 ? "round-time:slack=50" : "round-time:slack=2000";
    } else if (strncmp(scheme, "window", strlen("window")) == 0) {
        scheme = "window:window=400ms";
    }
    REQUIRE(!setenv("ICTUS_HARMONIZE", PATIENT_STARTS, 1));
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, scheme, "hca3:fitpoints=20,exchanges=10", &bench,
                                &why));
    return bench;
}

static inline void patience_end(struct ictus_bench *bench)
{
    ictus_bench_free(bench);
    REQUIRE(!unsetenv("ICTUS_HARMONIZE"));
}

/* ictus_bench_run(), repeated once with patience if no start was in time. Collective. */
static inline int patience_run(struct ictus_bench *bench, const char *scheme,
                               const struct ictus_bench_plan *plan,
                               struct ictus_bench_result *result, struct ictus_why *why)
{
    int err = ictus_bench_run(bench, plan, result, why);
    if (err != ICTUS_ERR_SAMPLES) {
        return err;
    }
    struct ictus_bench_plan unhurried = *plan;
    unhurried.max_time_s = 0.0;
    unhurried.repetitions = 1;
    for (int attempt = 0; attempt < 2 && err == ICTUS_ERR_SAMPLES; attempt++) {
        struct ictus_bench *patient = patience_bench(scheme, attempt);
        err = ictus_bench_run(patient, &unhurried, result, why);
        patience_end(patient);
    }
    return err;
}

#endif
