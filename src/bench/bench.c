/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running one experiment: warm up, measure in batches, reduce each batch over the ranks, and stop
 * after a number of repetitions, at a time limit, or when the confidence interval of the median is
 * narrow enough.
 */
#include "bench/bench.h"

#include "bench/operation_list.h"
#include "bench/plan.h"
#include "bench/reduce.h"
#include "clock/watch.h"
#include "harmonize/state.h"
#include "sync/sync.h"

#include <ictus/bench.h>
#include <ictus/harmonize.h>
#include <ictus/text.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_FIRST = 8, /* the first batch shows how long a repetition takes */
    BATCH_MAX = 256, /* samples kept between two reductions */
    /* starts of a persistent operation that are verified before it is measured */
    RESTARTS = 3,
    ATTEMPTS_FACTOR = 4 /* without a time limit: most invalid repetitions for each one wanted */
};

/* Longest time that a batch should take. Limits are checked between batches only. */
#define BATCH_TIME_S 0.1

static int bench_build(struct ictus_bench *bench, MPI_Comm comm, const char *scheme,
                       const char *clock, struct ictus_why *why)
{
    if (MPI_Comm_dup(comm, &bench->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    /*
     * An operation may fail in the library. The error then returns, so that all processes stop
     * together and can say why.
     */
    MPI_Comm_set_errhandler(bench->comm, MPI_ERRORS_RETURN);
    int err = ictus_harmonize_configure(bench->comm, NULL, clock, why);
    if (!err) {
        err = ictus_harmonize_clock(bench->comm, &bench->clock);
    }
    if (!err) {
        err = ictusi_scheme_create(scheme, bench->comm, bench->clock, &bench->scheme, why);
        err = ictusi_sync_agree(bench->comm, err, why);
    }
    if (!err) {
        bench->samples = calloc(BATCH_MAX, sizeof(*bench->samples));
        err = ictusi_sync_agree(bench->comm, bench->samples ? ICTUS_OK : ICTUS_ERR_NOMEM, why);
    }
    return err ? err
               : ictusi_node_trip_create(bench->comm, bench->clock->crowded, &bench->node_trip);
}

int ictus_bench_create(MPI_Comm comm, const char *scheme, const char *clock,
                       struct ictus_bench **out, struct ictus_why *why)
{
    struct ictus_why unheard;
    struct ictus_why *reason = why ? why : &unheard;
    reason->text[0] = '\0';
    if (comm == MPI_COMM_NULL || !out) {
        return ICTUS_ERR_ARG;
    }
    struct ictus_bench *bench = calloc(1, sizeof(*bench));
    if (!bench) {
        return ICTUS_ERR_NOMEM;
    }
    bench->comm = MPI_COMM_NULL;
    const int err = bench_build(bench, comm, scheme, clock, reason);
    if (err) {
        ictus_bench_free(bench);
        return err;
    }
    *out = bench;
    return ICTUS_OK;
}

void ictus_bench_free(struct ictus_bench *bench)
{
    if (!bench) {
        return;
    }
    ictusi_node_trip_free(bench->node_trip);
    ictusi_scheme_free(bench->scheme);
    if (bench->comm != MPI_COMM_NULL) {
        MPI_Comm_free(&bench->comm); /* frees the clock as well, which is attached to it */
    }
    free(bench->samples);
    free(bench);
}

struct ictus_clock *ictus_bench_clock(struct ictus_bench *bench)
{
    return bench->clock;
}

int ictus_bench_crowded(const struct ictus_bench *bench)
{
    return bench->clock->crowded;
}

/* The state of one experiment. */
struct experiment {
    struct ictus_bench *bench;
    const struct ictus_bench_plan *plan;
    struct call call;
    MPI_Comm group; /* processes that run the operation together; MPI_COMM_NULL if all do */
    int rank;       /* in the bench's communicator */
    struct collection all;
    int64_t began; /* local instant of the start */
    double repetition_s;
};

static double bench_elapsed_s(const struct experiment *e)
{
    return 1e-9 * (double)(ictusi_source_read(e->bench->clock->source) - e->began);
}

/*
 * The most repetitions that a batch may have: as many as fit into the time of a batch and into what
 * is left of the experiment's time. Without the second bound, one round of several could use up the
 * time of the later ones.
 */
static int64_t batch_affordable(const struct experiment *e, double time_s)
{
    const double most_s = e->plan->max_time_s;
    const double left_s =
        most_s > 0.0 ? fmin(fmax(most_s - time_s, 0.0), BATCH_TIME_S) : BATCH_TIME_S;
    return e->repetition_s > 0.0 ? (int64_t)(left_s / e->repetition_s) + 1 : BATCH_FIRST;
}

/* Number of repetitions in the next batch; 0 stops the experiment. Rank 0 decides for all. */
static int bench_next_batch(struct experiment *e, int64_t *n)
{
    const struct ictus_bench_plan *plan = e->plan;
    const int64_t tried = e->all.n + e->all.invalid;
    /*
     * Only rank 0 has the values, and clocks differ. If each process decided for itself, some would
     * leave the loop while others wait in the next batch.
     */
    int64_t left = plan->repetitions - e->all.n;
    if (e->rank == 0) {
        const double time = bench_elapsed_s(e);
        const bool out_of_time = plan->max_time_s > 0.0 && tried > 0 && time >= plan->max_time_s;
        /*
         * On a machine with other load, starts may be late for as long as that load lasts. The time
         * limit ends their repetition; without one, it ends here. The constant allows a short
         * experiment a bad beginning.
         */
        const bool hopeless = plan->max_time_s <= 0.0 &&
                              e->all.invalid > ATTEMPTS_FACTOR * plan->repetitions + BATCH_MAX;
        const int64_t affordable = batch_affordable(e, time);
        left = left < affordable ? left : affordable;
        left = left < BATCH_MAX ? left : BATCH_MAX;
        const double *values = e->all.values[e->bench->scheme->ops->reduction];
        if (out_of_time || hopeless ||
            ictus_median_settled(values, (size_t)e->all.n, plan->width)) {
            left = 0;
        }
    }
    *n = left;
    return MPI_Bcast(n, 1, MPI_INT64_T, 0, e->bench->comm) == MPI_SUCCESS ? ICTUS_OK
                                                                          : ICTUS_ERR_MPI;
}

/* A wrong result on one process ends the experiment on all. */
static int batch_checked(const struct experiment *e, struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (e->call.wrong > 0) {
        err = ictus_because(why, ICTUS_ERR_CORRUPT, "%s", e->call.wrong_why.text);
    }
    return ictusi_sync_agree(e->bench->comm, err, why);
}

/*
 * One batch. A clock step, a wrong result or an MPI error on any process must have the same
 * consequence on all, because the reduction that follows is collective.
 */
static int bench_run_batch(struct experiment *e, int64_t n, struct ictus_why *why)
{
    struct ictus_bench *bench = e->bench;
    struct watch watch;
    ictusi_watch_begin(&watch, bench->clock->source);
    const double before = bench_elapsed_s(e);
    /* A budget of 0 means that there is no limit, so what is left of a limit must not become 0. */
    const double budget =
        e->plan->max_time_s > 0.0 ? fmax(e->plan->max_time_s - before, 1e-9) : 0.0;
    int64_t made = n;
    int err = bench->scheme->ops->measure(bench->scheme, &e->call, budget, bench->samples, &made);
    err = ictusi_sync_agree(bench->comm, err, NULL);
    if (!err && e->call.every) {
        err = batch_checked(e, why);
    }
    /*
     * A clock may be stepped on one node only. All processes drop the batch then, because the
     * reduction below is collective.
     */
    int stepped = ictusi_watch_look(&watch, bench->clock->source).stepped;
    if (!err && MPI_Allreduce(MPI_IN_PLACE, &stepped, 1, MPI_INT, MPI_MAX, bench->comm)) {
        err = ICTUS_ERR_MPI;
    }
    if (!err && stepped) {
        e->all.invalid += made; /* at least one of them contains the step */
        return ICTUS_OK;
    }
    /*
     * This includes the cost of everything around the call, which the next repetition will have
     * too.
     */
    e->repetition_s = made > 0 ? (bench_elapsed_s(e) - before) / (double)made : 0.0;
    return err ? err : ictusi_reduce_batch(bench->scheme, &e->call, bench->samples, made, &e->all);
}

/*
 * The first calls set up connections, buffers and caches. Their times are not those of a
 * repetition.
 */
static int bench_warm_up(struct experiment *e)
{
    int err = ICTUS_OK;
    for (int64_t i = 0; i < e->plan->warmup && !err; i++) {
        ictusi_call_next(&e->call);
        err = ictusi_call_run(&e->call);
    }
    return ictusi_sync_agree(e->bench->comm, err, NULL);
}

static int bench_measure_all(struct experiment *e, struct ictus_why *why)
{
    int err = ICTUS_OK;
    int64_t n = 1;
    e->began = ictusi_source_read(e->bench->clock->source);
    while (!err && n > 0) {
        err = bench_next_batch(e, &n);
        if (!err && n > 0) {
            err = bench_run_batch(e, n, why);
        }
    }
    return err;
}

/* All groups must be right, or the experiment ends in all of them. */
static int experiment_check(struct experiment *e, struct ictus_why *why)
{
    return ictusi_sync_agree(e->bench->comm, ictusi_verify_call(&e->call, e->plan, why), why);
}

/*
 * Whether an object that is made once does its work each time it is used. Some persistent
 * operations of MPICH 4.0 move no data when they are started again, and its MPI_Win_allocate
 * sometimes gives memory that puts do not reach; their times would be those of an empty operation.
 * The check is repeated in each round. It looks at the ends of blocks only, because checking 64
 * large messages in full takes longer than measuring them.
 */
static int bench_check_restart(struct experiment *e, struct ictus_why *why)
{
    int err = ICTUS_OK;
    for (int start = 0; start < RESTARTS && !err && e->call.operation->prepare; start++) {
        const int mine = ictusi_verify_glance(&e->call, e->plan, why);
        err = ictusi_sync_agree(e->bench->comm, mine, why);
    }
    if (err != ICTUS_ERR_CORRUPT) {
        return err;
    }
    return ictus_because(
        why, ICTUS_ERR_UNSUPPORTED, "%s of %llu bytes: this MPI library's %s", e->plan->operation,
        (unsigned long long)e->plan->bytes,
        ictusi_operation_shape(e->call.operation->shape)->window == WINDOW_NONE
            ? "persistent operation has no effect when it is started again"
            : "window does not contain the data that was moved; choose another by --window");
}

/*
 * The time of MPI_Init, which is over before a clock exists: the instants that the plan gives are
 * mapped by the clock as it is now, and nothing is called. The clock is extrapolated farthest for
 * the earliest instant, so the reductions that compare processes are least certain here.
 */
static int bench_run_past(struct experiment *e, struct ictus_why *why)
{
    struct ictus_bench *bench = e->bench;
    const struct ictus_time *init = e->plan->init;
    struct sample *sample = bench->samples;
    const char *source = bench->clock->source->ops->name;
    int err = ICTUS_OK;
    if (strcmp(source, "monotonic") != 0) {
        err = ictus_because(
            why, ICTUS_ERR_UNSUPPORTED,
            "%s was timed by the clock 'monotonic', not by '%s'; use --clock=monotonic",
            e->plan->operation, source);
    }
    err = ictusi_sync_agree(bench->comm, err, why);
    if (err) {
        return err;
    }
    *sample = (struct sample){.start = init[0].ns, .stop = init[1].ns, .valid = true};
    ictusi_sample_place(bench->clock, sample);
    return ictusi_reduce_batch(bench->scheme, &e->call, sample, 1, &e->all);
}

/*
 * Verify before the measurement, so that no time is spent on wrong results, and after it, so that
 * the buffers that were used are covered too.
 */
static int bench_run_all(struct experiment *e, struct ictus_why *why)
{
    if (e->call.operation->once) {
        return bench_run_past(e, why);
    }
    int err = bench_check_restart(e, why);
    if (!err && e->plan->check) {
        err = experiment_check(e, why);
    }
    if (!err) {
        err = bench_warm_up(e);
    }
    if (!err) {
        e->call.every = e->plan->check > 1 ? e->plan : NULL;
        err = bench_measure_all(e, why);
        e->call.every = NULL;
    }
    if (!err && e->plan->check) {
        err = experiment_check(e, why);
    }
    if (!err && e->all.n == 0) {
        err = ictus_because(
            why, ICTUS_ERR_SAMPLES, "%s of %llu bytes: none of the %lld starts was on time",
            e->plan->operation, (unsigned long long)e->plan->bytes, (long long)e->all.invalid);
    }
    return err;
}

/*
 * All groups must have the same size. An algorithm is forced on one communicator, so it cannot be
 * forced on one that is split into groups.
 */
static int bench_check_group(const struct ictus_bench_plan *plan, int processes,
                             struct ictus_why *why)
{
    if (plan->group < 0 || (plan->group > 0 && processes % plan->group != 0)) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "groups of %d processes: the number of processes (%d) is not a "
                             "multiple of the group size",
                             plan->group, processes);
    }
    return plan->group > 0 && plan->use_comm
               ? ictus_because(why, ICTUS_ERR_ARG,
                               "no algorithm can be forced in groups of processes")
               : ICTUS_OK;
}

static int bench_processes(const struct ictus_bench *bench)
{
    int processes = 1;
    MPI_Comm_size(bench->comm, &processes);
    return processes;
}

static int bench_check_plan(const struct ictus_bench_plan *plan, struct ictus_why *why)
{
    if (!plan || plan->size < sizeof(*plan) || !plan->operation) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "the plan must name an operation, and its member size must be set");
    }
    if (plan->repetitions < 1 || plan->warmup < 0 || plan->max_time_s < 0.0 || plan->width < 0.0 ||
        plan->first < 0) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "the plan must have at least one repetition and no negative numbers");
    }
    return ICTUS_OK;
}

/* Give all processes the reason that the first failing process has. */
static int experiment_explain(const struct experiment *e, struct ictus_why *why)
{
    const int mine = e->call.mpi_error ? ictusi_call_failed(&e->call, why) : ICTUS_OK;
    (void)ictusi_sync_agree(e->bench->comm, mine, why);
    return ICTUS_ERR_MPI;
}

/* Hand over the collected samples, with the uncertainty of the clock at the end. */
static int experiment_finish(struct experiment *e, struct ictus_bench_result *result)
{
    struct ictus_reading now;
    double errors[2] = {0.0, 0.0};
    if (e->call.operation->once) {
        (void)ictus_clock_map_reading(e->bench->clock, e->plan->init[0], &now);
    } else {
        (void)ictus_clock_read(e->bench->clock, &now);
    }
    const double mine[2] = {now.sigma_ns, now.bound_ns};
    if (MPI_Allreduce(mine, errors, 2, MPI_DOUBLE, MPI_MAX, e->bench->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    result->n = e->all.n;
    result->invalid = e->all.invalid;
    result->sigma_ns = errors[0];
    result->bound_ns = errors[1];
    result->arrival_ranks = e->call.arrival.ranks;
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        /* The result owns the arrays from here on. */
        result->samples_s[r] = e->all.values[r];
        e->all.values[r] = NULL;
    }
    result->ranks_s = e->all.ranks_s;
    e->all.ranks_s = NULL;
    return ICTUS_OK;
}

/*
 * Make the call ready, on this process's group if there are several. Collective over the bench's
 * communicator: a failure in one group is an error in all.
 */
static int experiment_begin(struct experiment *e, const struct operation *operation,
                            struct ictus_why *why)
{
    const struct ictus_bench_plan *plan = e->plan;
    MPI_Comm comm = plan->use_comm ? plan->comm : e->bench->comm;
    MPI_Comm_rank(e->bench->comm, &e->rank);
    e->group = MPI_COMM_NULL;
    if (plan->group > 0) {
        if (MPI_Comm_split(comm, e->rank / plan->group, e->rank, &e->group) != MPI_SUCCESS) {
            return ICTUS_ERR_MPI;
        }
        comm = e->group;
    }
    return ictusi_call_init_beside(&e->call, operation, comm, e->bench->comm, plan, why);
}

static void experiment_end(struct experiment *e)
{
    if (e->group != MPI_COMM_NULL) {
        MPI_Comm_free(&e->group);
    }
}

/*
 * How late a process may come to a call before the repetition is invalid: the tolerance of a
 * harmonised start.
 */
static int64_t bench_tolerance_ns(const struct ictus_bench *bench)
{
    const struct harmonize_state *state = ictusi_harmonize_find(bench->comm);
    return state ? state->tolerance_ns : INT64_MAX;
}

int ictus_bench_run(struct ictus_bench *bench, const struct ictus_bench_plan *plan,
                    struct ictus_bench_result *result, struct ictus_why *why)
{
    struct ictus_why unheard;
    struct ictus_why *reason = why ? why : &unheard;
    reason->text[0] = '\0';
    if (!bench || !result) {
        return ICTUS_ERR_ARG;
    }
    struct experiment e = {.bench = bench, .plan = plan};
    int err = bench_check_plan(plan, reason);
    const struct operation *operation =
        err ? NULL : ictusi_operation_find(plan->plugins, plan->operation, reason);
    if (!err && !operation) {
        err = ICTUS_ERR_UNKNOWN;
    }
    err = err ? err : ictusi_scheme_can(bench->scheme->ops, plan, reason);
    err = err ? err : bench_check_group(plan, bench_processes(bench), reason);
    err = ictusi_sync_agree(bench->comm, err, reason);
    if (err || !operation) {
        return err;
    }
    e.all.keep_ranks = plan->keep_ranks;
    err = experiment_begin(&e, operation, reason);
    if (err) {
        experiment_end(&e);
        return err;
    }
    e.call.tolerance_ns = bench_tolerance_ns(bench);
    result->node_trip_s = ictusi_node_trip_measure(bench->node_trip);
    err = bench_run_all(&e, reason);
    if (!err) {
        err = experiment_finish(&e, result);
    } else if (err == ICTUS_ERR_SAMPLES) {
        result->invalid = e.all.invalid;
    } else if (err == ICTUS_ERR_MPI) {
        err = experiment_explain(&e, reason);
    }
    ictusi_call_fini(&e.call);
    ictusi_reduce_collection_fini(&e.all);
    experiment_end(&e);
    return err;
}

int ictus_bench_check(const struct ictus_bench_plan *plan, const char *scheme, int processes,
                      struct ictus_why *why)
{
    struct arrival arrival;
    const int err = bench_check_plan(plan, why);
    if (err) {
        return err;
    }
    const struct operation *operation = ictusi_operation_find(plan->plugins, plan->operation, why);
    const struct scheme_ops *ops = operation ? ictusi_scheme_find(scheme, why) : NULL;
    if (!ops) {
        return ICTUS_ERR_UNKNOWN;
    }
    int unfit = ictusi_scheme_can(ops, plan, why);
    const int members = plan->group > 0 ? plan->group : processes;
    if (!unfit) {
        unfit = bench_check_group(plan, processes, why);
    }
    if (!unfit) {
        unfit = members > 0 ? ictusi_plan_fits(operation, plan, members, why)
                            : ictusi_plan_possible(operation, plan, why);
    }
    if (!unfit) {
        unfit = ictusi_arrival_init(&arrival, plan->arrival, 0, members, why);
        ictusi_arrival_fini(&arrival);
    }
    return unfit;
}

int ictus_bench_check_plan(const struct ictus_bench_plan *plan, struct ictus_why *why)
{
    return ictus_bench_check(plan, NULL, 0, why);
}

void ictus_bench_result_free(struct ictus_bench_result *result)
{
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        free(result->samples_s[r]);
        result->samples_s[r] = NULL;
    }
    free(result->ranks_s);
    result->ranks_s = NULL;
}
