/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits the footprint of a replay to the time that the recorded calls took. */
#include "bench/footprint.h"

#include "bench/arrive.h"
#include "bench/bench.h"
#include "sync/sync.h"

#include <ictus/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From a single line to more than most caches hold. */
const int64_t ictusi_footprint_levels[FOOTPRINT_LEVELS] = {64,     4096,    16384,   65536,
                                                           262144, 1048576, 4194304, 16777216};

enum {
    PASSES = 4, /* through all levels, since the state of the machine changes */
    REPETITIONS = 25,
    LEAST = 12, /* samples of a level, of the 100 that are wanted */
    LINE_BYTES = 64,
    SPEC_BYTES = 1024
};

/* For one pass of one level: recorded gaps may be 10 ms long. */
#define PART_S 0.1

/* Pool adjacent violators: the ascending sequence that is nearest to y by least squares. */
static void footprint_ascend(double y[FOOTPRINT_LEVELS])
{
    double mean[FOOTPRINT_LEVELS];
    int size[FOOTPRINT_LEVELS];
    int pools = 0;
    for (int i = 0; i < FOOTPRINT_LEVELS; i++) {
        mean[pools] = y[i];
        size[pools++] = 1;
        while (pools > 1 && mean[pools - 2] > mean[pools - 1]) {
            const int both = size[pools - 2] + size[pools - 1];
            mean[pools - 2] =
                (mean[pools - 2] * size[pools - 2] + mean[pools - 1] * size[pools - 1]) / both;
            size[pools - 2] = both;
            pools--;
        }
    }
    for (int pool = 0, i = 0; pool < pools; pool++) {
        for (int k = 0; k < size[pool]; k++) {
            y[i++] = mean[pool];
        }
    }
}

int64_t ictusi_footprint_find(const double took[FOOTPRINT_LEVELS], double target)
{
    double y[FOOTPRINT_LEVELS];
    const double wanted = log(target);
    int above = 0; /* the first level at which a call takes the target or longer */
    for (int i = 0; i < FOOTPRINT_LEVELS; i++) {
        y[i] = log(took[i]);
    }
    footprint_ascend(y);
    while (above < FOOTPRINT_LEVELS && y[above] < wanted) {
        above++;
    }
    if (above == FOOTPRINT_LEVELS) {
        for (above--; above > 0 && y[above - 1] >= y[above];) {
            above--;
        }
        return ictusi_footprint_levels[above];
    }
    if (above == 0) {
        return ictusi_footprint_levels[0];
    }
    const double from = log((double)ictusi_footprint_levels[above - 1]);
    const double to = log((double)ictusi_footprint_levels[above]);
    const double share = (wanted - y[above - 1]) / (y[above] - y[above - 1]);
    return llround(exp(from + share * (to - from)) / LINE_BYTES) * LINE_BYTES;
}

/* What is measured at all levels. */
struct fitting {
    struct ictus_bench *bench;
    struct ictus_bench_plan plan;
    struct ictus_arrival_traced traced;
    char arrival[SPEC_BYTES];
    /* at each level, in seconds; rank 0 */
    double samples[FOOTPRINT_LEVELS][PASSES * REPETITIONS];
    size_t count[FOOTPRINT_LEVELS];
};

/*
 * Whether there is anything to fit: recorded calls of so many processes, their duration, a
 * computation before each arrival, and nothing that the user asked for instead.
 */
static int fitting_begin(struct fitting *f, const struct ictus_bench_plan *plan, int *any,
                         struct ictus_why *why)
{
    struct call call = {.work = NULL};
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(f->bench->comm, &rank);
    MPI_Comm_size(f->bench->comm, &size);
    const int err = ictusi_arrival_init(&call.arrival, plan->arrival, rank, size, why);
    if (err) {
        return err;
    }
    f->traced = call.arrival.traced;
    *any = f->traced.duration_s > 0 && f->traced.ranks == size && plan->group == 0 &&
           !call.arrival.footprint_given && !f->bench->clock->crowded &&
           ictusi_arrive_bytes(&call) > 0;
    ictusi_arrival_fini(&call.arrival);
    f->plan = *plan;
    f->plan.operation = f->traced.operation;
    f->plan.bytes = f->traced.bytes;
    f->plan.arrival = f->arrival;
    f->plan.use_comm = 0;
    f->plan.check = 0;
    f->plan.repetitions = REPETITIONS;
    f->plan.max_time_s = PART_S;
    f->plan.width = 0;
    f->plan.keep_ranks = 0;
    return ICTUS_OK;
}

/* One pass of a level. Starts that were all late leave it without samples. */
static int fitting_measure(struct fitting *f, const char *arrival, int level, int pass,
                           struct ictus_why *why)
{
    struct ictus_bench_result result = {.n = 0};
    (void)snprintf(f->arrival, sizeof f->arrival, "%s,footprint=%lld", arrival,
                   (long long)ictusi_footprint_levels[level]);
    f->plan.first = (int64_t)pass * REPETITIONS;
    const int err = ictus_bench_run(f->bench, &f->plan, &result, why);
    const double *took = result.samples_s[ICTUS_REDUCE_EXIT];
    for (int64_t i = 0; !err && took && i < result.n && i < REPETITIONS; i++) {
        f->samples[level][f->count[level]++] = took[i];
    }
    ictus_bench_result_free(&result);
    return err == ICTUS_ERR_SAMPLES ? ICTUS_OK : err;
}

/* Rank 0: 0 where some level has too few samples. */
static int64_t fitting_end(const struct fitting *f)
{
    double took[FOOTPRINT_LEVELS];
    for (int i = 0; i < FOOTPRINT_LEVELS; i++) {
        struct ictus_summary s;
        if (f->count[i] < LEAST || ictus_summarize(f->samples[i], f->count[i], &s) ||
            !(s.median > 0)) {
            return 0;
        }
        took[i] = s.median;
    }
    return ictusi_footprint_find(took, f->traced.duration_s);
}

/*
 * Whether the recorded calls cannot be made as the plan has them, with its datatype for example, or
 * the arrival has no room for another option.
 */
static bool fitting_cannot(int err)
{
    return err == ICTUS_ERR_ARG || err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_UNKNOWN ||
           err == ICTUS_ERR_SPEC;
}

/* All levels in turn, and what they say. */
static int fitting_run(struct fitting *f, const char *arrival, int64_t *footprint,
                       struct ictus_why *why)
{
    for (int part = 0; part < PASSES * FOOTPRINT_LEVELS; part++) {
        const int pass = part / FOOTPRINT_LEVELS;
        const int err = fitting_measure(f, arrival, part % FOOTPRINT_LEVELS, pass, why);
        if (err) {
            return fitting_cannot(err) ? ICTUS_OK : err;
        }
    }
    *footprint = fitting_end(f);
    return MPI_Bcast(footprint, 1, MPI_INT64_T, 0, f->bench->comm) == MPI_SUCCESS ? ICTUS_OK
                                                                                  : ICTUS_ERR_MPI;
}

int ictus_bench_fit_footprint(struct ictus_bench *bench, const struct ictus_bench_plan *plan,
                              int64_t *footprint, struct ictus_why *why)
{
    if (!bench || !plan || !footprint) {
        return ICTUS_ERR_ARG;
    }
    struct ictus_why unheard = {""};
    struct ictus_why *reason = why ? why : &unheard;
    struct fitting *f = calloc(1, sizeof *f);
    int any = 0;
    int err = ICTUS_ERR_NOMEM;
    *footprint = 0;
    if (f) {
        f->bench = bench;
        err = fitting_begin(f, plan, &any, reason);
    }
    err = ictusi_sync_agree(bench->comm, err, reason);
    /* Processes may outnumber the cores of one node only. */
    if (!err &&
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MIN, bench->comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    if (!err && any) {
        err = fitting_run(f, plan->arrival, footprint, reason);
    }
    free(f);
    return err;
}
