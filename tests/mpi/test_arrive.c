/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deliberate arrivals: processes arrive when they should, waiting or computing, and report if they
 * do not.
 */
#include <ictus/bench.h>

#include <stdint.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/call.h"
#include "bench/operation_list.h"

#include "check_mpi.h"
#include "small_plan.h"

/* No process calls the operation before the common instant plus its delay. */
static void arrivals_are_kept(void)
{
    enum { TIMES = 5 };
    struct ictus_bench *bench = NULL;
    struct ictus_bench_plan plan = plan_of("allreduce", 8, TIMES);
    struct sample samples[TIMES] = {{.valid = false}};
    struct call call;
    struct ictus_why why;
    int64_t n = TIMES;
    plan.arrival = "descending:spread=200us";
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "harmonize", "hca3-offset", &bench, &why));
    const struct operation *operation = ictusi_operation_find(NULL, "allreduce", &why);
    REQUIRE(!ictusi_call_init(&call, operation, MPI_COMM_WORLD, &plan, &why));
    REQUIRE(!bench->scheme->ops->measure(bench->scheme, &call, 0.0, samples, &n));
    for (int64_t i = 0; i < n; i++) {
        CHECK(samples[i].has_common);
        CHECK(!samples[i].valid || samples[i].begin - samples[i].common >= call.next.delay_ns - 2);
    }
    const double place = check_size > 1 ? (double)check_rank / (check_size - 1) : 0.0;
    CHECK_NEAR((double)call.next.delay_ns, 200000.0 * (1.0 - place), 1.5);
    ictusi_call_fini(&call);
    ictus_bench_free(bench);
}

/* A clock that the test moves: each reading advances it by the next step. */
struct scripted {
    struct source source;
    int64_t now, steps[8];
    int next;
};

static int64_t scripted_read(const struct source *source)
{
    struct scripted *s = (struct scripted *)source;
    s->now += s->steps[s->next];
    s->next += s->next < 7;
    return s->now;
}

static int call_nothing(struct call *call)
{
    (void)call;
    return MPI_SUCCESS;
}

/* A process that is kept from arriving in time, although its start was not late, reports that. */
static void late_arrivals_are_noticed(void)
{
    static const struct source_ops ops = {.name = "scripted", .read = scripted_read};
    static const struct operation nothing = {.name = "nothing", .run = call_nothing};
    const struct {
        int64_t wakes, delay;
        bool late;
    } cases[] = {{20000, 20000, false},
                 {20900, 20000, false},
                 {21100, 20000, true},
                 {50000, 0, false},
                 {30000, 1000, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scripted clock_source = {{&ops}, 0, {100, cases[i].wakes - 100, 10}, 0};
        const struct ictus_clock clock = {.source = &clock_source.source};
        struct call call = {
            .operation = &nothing, .next.delay_ns = cases[i].delay, .tolerance_ns = 1000};
        struct sample sample = {.has_common = true, .common = 0, .late = true};
        REQUIRE(!ictusi_time_call(&clock, &call, &sample));
        CHECK(sample.late == cases[i].late);
    }
}

/* A process that computes before it arrives goes through memory, and still arrives in time. */
static void computation_comes_before_arrivals(void)
{
    enum { LEAD_NS = 50000, DELAY_NS = 3000, STEP_NS = 100, BYTES = 64 << 20 };
    static const struct source_ops ops = {.name = "scripted", .read = scripted_read};
    static const struct operation nothing = {.name = "nothing", .run = call_nothing};
    for (int crowded = 0; crowded < 2; crowded++) {
        struct scripted s = {
            {&ops}, 0, {STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS}, 0};
        const struct ictus_clock clock = {.source = &s.source, .crowded = crowded};
        struct call call = {.operation = &nothing,
                            .next = {.lead_ns = LEAD_NS, .delay_ns = DELAY_NS, .gap_ns = 20000},
                            .arrival = {.footprint = BYTES},
                            .tolerance_ns = 1000,
                            .work = calloc(1, BYTES)};
        struct sample sample = {.has_common = true, .common = 0};
        REQUIRE(call.work);
        REQUIRE(!ictusi_time_call(&clock, &call, &sample));
        CHECK(!sample.late && sample.common == LEAD_NS);
        CHECK(sample.start >= LEAD_NS + DELAY_NS && sample.start < LEAD_NS + DELAY_NS + 1000);
        CHECK((call.work_at > 0) == !crowded);
        CHECK(call.work[0] == !crowded);
        free(call.work);
    }
}

/* Where the scripted clock stood at each probe for messages. */
static const struct scripted *probed_clock;
static int64_t probed_at[64];
static int probes;

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    if (probed_clock && probes < 64) {
        probed_at[probes++] = probed_clock->now;
    }
    return PMPI_Iprobe(source, tag, comm, flag, status);
}

/* MPI is called for the last time when the silence begins, and then not until the arrival. */
static void silence_comes_before_arrivals(void)
{
    enum { GAP_NS = 40000, STEP_NS = 100, BYTES = 4096, MARGIN_NS = 2000 };
    static const struct source_ops ops = {.name = "scripted", .read = scripted_read};
    static const struct operation nothing = {.name = "nothing", .run = call_nothing};
    static const int64_t silences[] = {0, 150, 1999, 30000, GAP_NS - 1};
    for (size_t c = 0; c < 2 * (sizeof silences / sizeof *silences); c++) {
        const bool crowded = c % 2;
        const int64_t silence = silences[c / 2];
        struct scripted s = {
            {&ops}, 0, {STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS}, 0};
        const struct ictus_clock clock = {.source = &s.source, .crowded = crowded};
        unsigned char memory[BYTES] = {0};
        struct call call = {
            .operation = &nothing,
            .comm = MPI_COMM_WORLD,
            .next = {.lead_ns = 2 * GAP_NS, .gap_ns = GAP_NS, .silence_ns = silence},
            .arrival = {.footprint = BYTES},
            .tolerance_ns = 1000,
            .work = memory};
        struct sample sample = {.has_common = true, .common = 0};
        const int64_t begins = 2 * GAP_NS - silence;
        probes = 0;
        probed_clock = &s;
        REQUIRE(!ictusi_time_call(&clock, &call, &sample));
        probed_clock = NULL;
        CHECK(!sample.late && sample.start >= 2 * GAP_NS);
        CHECK((probes > 0) == (silence > 0 && !crowded));
        /* The probes may begin late by two readings: one by the wait, one by the computation. */
        CHECK(probes == 0 || (probed_at[probes - 1] >= begins - 2 * STEP_NS &&
                              probed_at[probes - 1] < begins + 2 * STEP_NS));
        CHECK(probes == 0 || silence == GAP_NS - 1 || probed_at[0] >= begins - MARGIN_NS);
    }
}

/* A computation goes through all of its footprint, and never beyond it. */
static void computation_stays_in_its_footprint(void)
{
    enum { GAP_NS = 20000, STEP_NS = 100, FOOTPRINT = 200, BYTES = 320 };
    static const struct source_ops ops = {.name = "scripted", .read = scripted_read};
    static const struct operation nothing = {.name = "nothing", .run = call_nothing};
    struct scripted s = {
        {&ops}, 0, {STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS, STEP_NS}, 0};
    const struct ictus_clock clock = {.source = &s.source};
    unsigned char memory[BYTES] = {0};
    struct call call = {.operation = &nothing,
                        .next = {.lead_ns = GAP_NS, .gap_ns = GAP_NS},
                        .arrival = {.footprint = FOOTPRINT},
                        .tolerance_ns = 1000,
                        .work = memory};
    struct sample sample = {.has_common = true, .common = 0};
    REQUIRE(!ictusi_time_call(&clock, &call, &sample));
    for (int i = 0; i < BYTES; i++) {
        CHECK((memory[i] > 0) == (i % 64 == 0 && i < FOOTPRINT));
    }
}

/* All processes make the same room for the recorded computation. */
static void computation_is_prepared(void)
{
    struct ictus_bench_plan plan = plan_of("allreduce", 8, 1);
    struct call call;
    struct ictus_why why;
    plan.arrival = "late:rank=0,spread=20us,gap=300us";
    REQUIRE(!ictusi_call_init(&call, ictusi_operation_find(NULL, "allreduce", &why), MPI_COMM_WORLD,
                              &plan, &why));
    ictusi_call_next(&call);
    CHECK(call.work && call.next.lead_ns == 300000 && call.next.gap_ns == 300000);
    CHECK(call.next.delay_ns == (check_rank == 0 ? 20000 : 0));
    CHECK(ictusi_arrive_bytes(&call) == 512 << 10);
    ictusi_call_fini(&call);
    plan.arrival = "late:gap=300us,footprint=4096";
    REQUIRE(!ictusi_call_init(&call, ictusi_operation_find(NULL, "allreduce", &why), MPI_COMM_WORLD,
                              &plan, &why));
    CHECK(call.work && ictusi_arrive_bytes(&call) == 4096);
    ictusi_call_fini(&call);
}

/*
 * The time from the last arrival to the last exit is not longer than the makespan, and waits are
 * not negative.
 */
static void waiting_is_apart_from_exits(void)
{
    struct ictus_bench *bench = NULL;
    struct ictus_bench_result result;
    struct ictus_why why;
    struct ictus_bench_plan plan = plan_of("allreduce", 8, 10);
    plan.arrival = "late:rank=0,spread=100us";
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "barrier", "hca3-offset", &bench, &why));
    REQUIRE(!ictus_bench_run(bench, &plan, &result, &why));
    for (int64_t i = 0; i < result.n && check_rank == 0; i++) {
        CHECK(result.samples_s[ICTUS_REDUCE_EXIT][i] <= result.samples_s[ICTUS_REDUCE_MAKESPAN][i]);
        CHECK(result.samples_s[ICTUS_REDUCE_WAIT][i] >= 0.0);
        CHECK(result.samples_s[ICTUS_REDUCE_WAIT][i] <=
              check_size * result.samples_s[ICTUS_REDUCE_MAX][i] + 1e-9 * check_size);
    }
    ictus_bench_result_free(&result);
    ictus_bench_free(bench);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    arrivals_are_kept();
    late_arrivals_are_noticed();
    computation_comes_before_arrivals();
    silence_comes_before_arrivals();
    computation_stays_in_its_footprint();
    computation_is_prepared();
    waiting_is_apart_from_exits();
    return check_mpi_finish();
}
