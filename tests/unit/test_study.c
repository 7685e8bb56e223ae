/* SPDX-License-Identifier: BSD-3-Clause */
/* What round trips and offsets show: exact expectations against simulation, lines against truth. */
#include "clock/source.h"
#include "core/random.h"
#include "core/stats.h"
#include "study/study.h"
#include "sync/clock.h"

#include <ictus/study.h>

#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "../check.h"

enum { SAMPLE = 400, RUNS = 20000 };

/* H08 3.1 as the paper simulates it. */
static void simulate(const double *sorted, size_t n, size_t patience, struct rng *rng,
                     double *exchanges, double *error)
{
    double count = 0.0;
    double excess = 0.0;
    for (int run = 0; run < RUNS; run++) {
        double best = 1e300;
        size_t since = 0;
        size_t draws = 0;
        for (; since < patience || draws == 0; draws++) {
            const double value = sorted[(size_t)(ictusi_random_uniform(rng) * (double)n)];
            since = value < best && draws > 0 ? 0 : since + (draws > 0 ? 1 : 0);
            best = value < best ? value : best;
        }
        count += (double)draws;
        excess += best - sorted[0];
    }
    *exchanges = count / RUNS;
    *error = excess / RUNS;
}

static void patience_is_what_simulation_says(void)
{
    static const size_t patiences[] = {1, 2, 5, 20, 100};
    double sample[SAMPLE];
    struct rng rng;
    ictusi_random_seed(&rng, 11, 0);
    for (int i = 0; i < SAMPLE; i++) {
        /* Deliberately coarse: equal values must not count as smaller. */
        sample[i] = 1500.0 + floor(-300.0 * log(1.0 - ictusi_random_uniform(&rng)) / 10.0) * 10.0;
    }
    ictusi_stats_sort(sample, SAMPLE);
    for (size_t i = 0; i < sizeof(patiences) / sizeof(patiences[0]); i++) {
        double exchanges = 0.0;
        double error = 0.0;
        double simulated_exchanges = 0.0;
        double simulated_error = 0.0;
        CHECK(!ictus_patience(sample, SAMPLE, patiences[i], &exchanges, &error));
        simulate(sample, SAMPLE, patiences[i], &rng, &simulated_exchanges, &simulated_error);
        CHECK_NEAR(exchanges, simulated_exchanges, 0.03 * simulated_exchanges);
        CHECK_NEAR(error, simulated_error, 0.05 * simulated_error + 0.1);
    }
}

static void patience_knows_its_limits(void)
{
    static const double one[] = {7.0};
    static const double same[] = {7.0, 7.0, 7.0};
    double exchanges = 0.0;
    double error = 1.0;
    CHECK(!ictus_patience(one, 1, 100, &exchanges, &error));
    CHECK_NEAR(exchanges, 101.0, 1e-9);
    CHECK_NEAR(error, 0.0, 0.0);
    CHECK(!ictus_patience(same, 3, 5, &exchanges, &error));
    CHECK_NEAR(exchanges, 6.0, 1e-9);
    CHECK(ictus_patience(one, 0, 5, &exchanges, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_patience(one, 1, 0, &exchanges, &error) == ICTUS_ERR_ARG);
}

/* Three values, where the next draw decides: by hand, from the smallest one on. */
static void patience_is_exact(void)
{
    static const double values[] = {1.0, 2.0, 4.0};
    double exchanges = 0.0;
    double error = 0.0;
    CHECK(!ictus_patience(values, 3, 1, &exchanges, &error));
    CHECK_NEAR(exchanges, 64.0 / 27.0, 1e-12); /* after the first: 1, 4/3 and 16/9 in the mean */
    CHECK_NEAR(error, 17.0 / 27.0, 1e-12);     /* 0, 2/3 and 11/9 */
}

static void minimum_of_draws(void)
{
    static const double values[] = {1.0, 2.0, 4.0};
    double error = 0.0;
    CHECK(!ictus_minimum_excess(values, 3, 1, &error));
    CHECK_NEAR(error, 7.0 / 3.0 - 1.0, 1e-12);
    /* Two draws: of 9 pairs, 5 contain a 1, 3 have the minimum 2, and 1 has 4. */
    CHECK(!ictus_minimum_excess(values, 3, 2, &error));
    CHECK_NEAR(error, (5.0 * 1 + 3.0 * 2 + 1.0 * 4) / 9.0 - 1.0, 1e-12);
    CHECK(!ictus_minimum_excess(values, 3, 1000, &error));
    CHECK_NEAR(error, 0.0, 1e-12);
    CHECK(!ictus_minimum_excess(values, 1, 7, &error));
    CHECK_NEAR(error, 0.0, 0.0);
    CHECK(ictus_minimum_excess(NULL, 3, 1, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_minimum_excess(values, 0, 1, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_minimum_excess(values, 3, 0, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_minimum_excess(values, 3, 1, NULL) == ICTUS_ERR_ARG);
}

static void lines_through_points(void)
{
    double times[100];
    double offsets[100];
    struct ictus_straight line;
    for (int i = 0; i < 100; i++) {
        times[i] = 0.5 * i;
        offsets[i] = 3e6 - 12500.0 * times[i];
    }
    CHECK(!ictus_straight_fit(times, offsets, 100, &line));
    CHECK_NEAR(line.slope_ppm, -12.5, 1e-9);
    CHECK_NEAR(line.intercept_ns, 3e6, 1e-5);
    CHECK_NEAR(line.r2, 1.0, 1e-12);
    CHECK_NEAR(line.max_residual_ns, 0.0, 1e-5);
    offsets[99] += 1000.0;
    CHECK(!ictus_straight_fit(times, offsets, 100, &line));
    CHECK(line.r2 < 1.0 && line.max_residual_ns > 900.0);
    CHECK(ictus_straight_fit(times, offsets, 1, &line) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_straight_fit(times, NULL, 5, &line) == ICTUS_ERR_ARG);
    times[1] = times[0];
    CHECK(ictus_straight_fit(times, offsets, 2, &line) == ICTUS_ERR_SAMPLES);
}

/* A parabola leaves its tangent after a known time. */
static void lines_hold_so_long(void)
{
    enum { N = 1000 };
    static double times[N];
    static double offsets[N];
    struct ictus_holding holding;
    for (int i = 0; i < N; i++) {
        times[i] = 0.1 * i;
        offsets[i] = 10.0 * times[i] * times[i];
    }
    /* A chord over 1 s of 10 t^2 is off by 1000 ns at about (t - middle)^2 = 100: 9.5 s. */
    CHECK(!ictus_straight_holding(times, offsets, N, 1.0, 1000.0, &holding));
    CHECK_NEAR(holding.median_s, 9.5, 0.3);
    CHECK_NEAR(holding.least_s, 9.5, 0.3);
    CHECK(holding.median_known && holding.lasted > 0 && holding.lasted < holding.lines);
    /* A single stray point does not end a line. */
    for (int i = 0; i < N; i++) {
        offsets[i] = i == 500 ? 1e6 : 5.0 * times[i];
    }
    CHECK(!ictus_straight_holding(times, offsets, 490, 1.0, 1000.0, &holding));
    CHECK(holding.lasted == holding.lines);
    CHECK(!holding.median_known);
    CHECK_NEAR(holding.median_s, 47.9, 0.3);
    CHECK(ictus_straight_holding(times, offsets, N, 1000.0, 1000.0, &holding) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_straight_holding(times, offsets, 0, 1.0, 1000.0, &holding) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_straight_holding(times, offsets, N, 0.0, 1000.0, &holding) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_holding(times, offsets, N, 1.0, 0.0, &holding) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_holding(times, offsets, N, 1.0, NAN, &holding) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_holding(times, NULL, N, 1.0, 1000.0, &holding) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_holding(times, offsets, N, 1.0, 1000.0, NULL) == ICTUS_ERR_ARG);
}

/* The number of lines that are tried is limited, because each is followed along all points. */
static void many_points_take_no_more_lines(void)
{
    enum { MANY = 100000 };
    double *times = malloc(sizeof(*times) * 2 * MANY);
    struct ictus_holding holding;
    REQUIRE(times);
    for (int i = 0; i < MANY; i++) {
        times[i] = 1e-3 * i;
        times[MANY + i] = 10.0 * times[i] * times[i];
    }
    CHECK(!ictus_straight_holding(times, times + MANY, MANY, 1.0, 1000.0, &holding));
    CHECK(holding.lines > 1000 && holding.lines <= 2000);
    CHECK_NEAR(holding.median_s, 9.5, 0.3);
    free(times);
}

/* A line is judged by the share of the variance that it explains. */
static void lines_are_judged(void)
{
    static const double times[] = {-3, -1, 1, 3};
    static const double offsets[] = {8, 10, 15, 15};
    static const double level[] = {7, 7, 7, 7};
    struct ictus_straight line;
    CHECK(!ictus_straight_fit(times, offsets, 4, &line));
    /* Sums of squares: 20 for the times, 26 for the products, 38 for the offsets. */
    CHECK_NEAR(line.slope_ppm, 1.3e-3, 1e-15);
    CHECK_NEAR(line.intercept_ns, 12, 1e-12);
    CHECK_NEAR(line.r2, 1.3 * 26 / 38, 1e-12);
    CHECK_NEAR(line.max_residual_ns, 1.7, 1e-12);
    CHECK(!ictus_straight_fit(times, level, 4, &line));
    CHECK(line.r2 == 1.0 && line.slope_ppm == 0.0 && line.max_residual_ns == 0.0);
    CHECK(!ictus_straight_fit(times, offsets, 2, &line));
    CHECK_NEAR(line.slope_ppm, 1e-3, 1e-15);
    CHECK(ictus_straight_fit(times, offsets, 2, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_fit(NULL, offsets, 2, &line) == ICTUS_ERR_ARG);
}

/*
 * Offsets jump at 6 s of 11. Lines through two points 1 s apart, counted from the second point:
 * those before the jump hold for 5, 4, 3, 2, 1 s, the one across it for 1 s, and the others for 4,
 * 3, 2, 1 s, to the end. By the product limit estimator, 0.37 are left after 4 s, and 0.55 before.
 */
static void lives_are_summed_up(void)
{
    double times[12];
    double offsets[12];
    struct ictus_holding h;
    for (int i = 0; i < 12; i++) {
        times[i] = i;
        offsets[i] = i < 6 ? 0.0 : 1e6;
    }
    CHECK(!ictus_straight_holding(times, offsets, 12, 1.0, 1000.0, &h));
    CHECK(h.lines == 10 && h.lasted == 4 && h.median_known);
    CHECK(h.median_s == 4.0 && h.least_s == 1.0);
    /* A single line is all that is known. */
    CHECK(!ictus_straight_holding(times, offsets, 3, 1.5, 1000.0, &h));
    CHECK(h.lines == 1 && h.lasted == 1 && !h.median_known);
    /* A deviation equal to the tolerance is within it. */
    CHECK(!ictus_straight_holding(times, offsets, 12, 1.0, 1e6, &h));
    CHECK(h.lines == 10 && h.lasted == 9 && !h.median_known && h.median_s == 10.0);
    /* One of two is left: half of them do not hold longer. */
    CHECK(!ictus_straight_holding(times + 3, offsets + 3, 5, 2.0, 1000.0, &h));
    CHECK(h.lines == 2 && h.lasted == 1 && h.median_known && h.median_s == 1.0);
}

/*
 * A clock that is given what to show, and the cost of reading it and the kernel's clock; the latter
 * advances by its own cost only.
 */
enum { COST_NS = 25, KERNEL_COST_NS = 40 };

static struct {
    int64_t kernel_ns, count;
    int64_t (*show)(int64_t count, int64_t kernel_ns);
} told;

static int64_t told_read(const struct source *source)
{
    (void)source;
    told.kernel_ns += COST_NS;
    return told.show(told.count++, told.kernel_ns);
}

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_clock_gettime(clockid_t id, struct timespec *now);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
int __wrap_sched_setaffinity(pid_t process, size_t size, const cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set);

static bool memory_is_out;

void *__wrap_malloc(size_t size)
{
    return memory_is_out ? NULL : __real_malloc(size);
}

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    CHECK(id == CLOCK_MONOTONIC);
    told.kernel_ns += KERNEL_COST_NS;
    *now = (struct timespec){told.kernel_ns / 1000000000, told.kernel_ns % 1000000000};
    return 0;
}

/* The processors that this process may use, and the one it is on; 0: on none in particular. */
static cpu_set_t cpus_allowed;
static size_t cpu_here, cpus_shut;
static int hops;
static bool cpus_unknown;

int __wrap_sched_setaffinity(pid_t process, size_t size, const cpu_set_t *set)
{
    CHECK(process == 0 && size == sizeof(*set));
    if (CPU_EQUAL(set, &cpus_allowed)) {
        cpu_here = 0;
        return 0;
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, set)) {
            CHECK(CPU_ISSET(cpu, &cpus_allowed) && CPU_COUNT(set) == 1);
            if (cpu == cpus_shut) {
                return -1;
            }
            cpu_here = cpu;
        }
    }
    hops++;
    return 0;
}

int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
    CHECK(process == 0 && size == sizeof(*set));
    *set = cpus_allowed;
    return cpus_unknown ? -1 : 0;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static const struct source_ops told_ops = {.name = "told", .read = told_read};

/* What was on the stack before has no say. */
static __attribute__((noinline)) void stack_spoil(void)
{
    volatile double spoilt[1 << 14];
    for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
        spoilt[i] = 0.125;
    }
}

static struct ictus_source_study probe(int64_t (*show)(int64_t count, int64_t kernel_ns))
{
    static struct source source = {&told_ops};
    const struct ictus_study study = {.source = &source};
    struct ictus_source_study found;
    told.kernel_ns = 999999000;
    told.count = 0;
    told.show = show;
    hops = 0;
    stack_spoil();
    CHECK(!ictus_study_source(&study, &found));
    CHECK(cpu_here == 0); /* back where it may run */
    return found;
}

/* Ticks of 7 ns; a reading takes three to five of them. */
static int64_t show_ticks(int64_t count, int64_t kernel_ns)
{
    (void)kernel_ns;
    return 28 * count + (count % 3 == 1 ? 7 : 0);
}

/* The same number of ticks each time, so their length cannot be determined. */
static int64_t show_even(int64_t count, int64_t kernel_ns)
{
    (void)kernel_ns;
    return 21 * count;
}

/* It occasionally goes back a little, most at the end of the second burst. */
static int64_t show_steps(int64_t count, int64_t kernel_ns)
{
    (void)kernel_ns;
    return 100 * count - 300 * (count / 1000);
}

static int64_t show_milliseconds(int64_t count, int64_t kernel_ns)
{
    (void)count;
    return kernel_ns / 1000000 * 1000000;
}

static int64_t show_nothing(int64_t count, int64_t kernel_ns)
{
    (void)count;
    (void)kernel_ns;
    return 5;
}

/* The counter of each processor is 5 us behind that of the previous one. */
static int64_t show_own(int64_t count, int64_t kernel_ns)
{
    (void)count;
    return kernel_ns - 5000 * (int64_t)cpu_here;
}

static void sources_are_described(void)
{
    const int64_t burst = 4096;
    CPU_ZERO(&cpus_allowed);
    CPU_SET(3, &cpus_allowed);
    struct ictus_source_study found = probe(show_ticks);
    CHECK_NEAR(found.resolution_ns, 7, 0);
    CHECK_NEAR(found.cost_ns, COST_NS + KERNEL_COST_NS / 1000.0, 1e-9);
    CHECK(found.cpus == 1 && found.reads == (uint64_t)(2 * (burst - 1) + 1));
    CHECK(found.backwards == 0 && found.worst_step_ns == 0);
    CHECK_NEAR(probe(show_even).resolution_ns, 21, 0);
    found = probe(show_steps);
    CHECK(found.backwards == 4 + 4 && found.worst_step_ns == 200);
    CHECK_NEAR(probe(show_milliseconds).resolution_ns, 1e6, 0);
    found = probe(show_nothing);
    CHECK(found.resolution_ns == 0 && found.backwards == 0);
    CPU_SET(4, &cpus_allowed);
    CPU_SET(9, &cpus_allowed);
    CPU_SET(10, &cpus_allowed);
    cpus_shut = 9;
    found = probe(show_own);
    CHECK(found.cpus == 3 && hops == 3 && found.reads == (uint64_t)(4 * (burst - 1) + 3));
    /* From none in particular to 3, to 4, and via 9, which is not allowed, to 10. */
    CHECK(found.backwards == 3 && found.worst_step_ns == 6 * 5000 - COST_NS);
    cpus_shut = 0;
    for (size_t cpu = 1; cpu <= 100; cpu++) {
        CPU_SET(cpu, &cpus_allowed);
    }
    CHECK(probe(show_even).cpus == 64); /* on a large node, not all are visited */
    cpus_unknown = true;
    CHECK(probe(show_even).cpus == 1 && hops == 0);
    CHECK(ictus_study_source(NULL, &found) == ICTUS_ERR_ARG);
}

/* Who has no memory for the stamps of a burst says so, before the other is kept busy. */
static void bursts_need_memory(void)
{
    static struct source source = {&told_ops};
    struct ictus_study study = {.source = &source, .rank = 0, .size = 2};
    struct ictus_offset offset = {.half_width_ns = -1.0};
    double rtt_ns = -1.0;
    memory_is_out = true;
    const int round_trips = ictus_study_rtt(&study, 0, 1, 1, &rtt_ns);
    const int offsets = ictus_study_offset(&study, 0, 1, 1, &offset);
    memory_is_out = false;
    CHECK(round_trips == ICTUS_ERR_NOMEM && rtt_ns == -1.0);
    CHECK(offsets == ICTUS_ERR_NOMEM && offset.half_width_ns == -1.0);
}

/* A pair is two ranks of the job; for who is none of them a call is local. */
static void pairs_are_of_two_ranks(void)
{
    static const int others[][2] = {{0, 0}, {0, 3}, {3, 0}, {-1, 0}, {0, -1}};
    static struct source source = {&told_ops};
    struct ictus_study study = {.source = &source, .rank = 2, .size = 3};
    struct ictus_offset offset = {.half_width_ns = -1.0};
    double rtt_ns = -1.0;
    CHECK(ictus_study_rtt(&study, 0, 1, 1, &rtt_ns) == ICTUS_OK);
    CHECK(ictus_study_offset(&study, 1, 0, 1, &offset) == ICTUS_OK);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const int *o = others[i];
        CHECK(ictus_study_rtt(&study, o[0], o[1], 1, &rtt_ns) == ICTUS_ERR_ARG);
        CHECK(ictus_study_offset(&study, o[0], o[1], 1, &offset) == ICTUS_ERR_ARG);
    }
    CHECK(ictus_study_rtt(&study, 0, 1, 0, &rtt_ns) == ICTUS_ERR_ARG);
    CHECK(ictus_study_offset(NULL, 0, 1, 1, &offset) == ICTUS_ERR_ARG);
    CHECK(rtt_ns == -1.0 && offset.half_width_ns == -1.0);
}

static void sources_are_listed(void)
{
    struct ictus_entry entry = {NULL, NULL};
    const char *before = "";
    CHECK(!ictus_source_entry(0, &entry));
    CHECK_STR(entry.name, "monotonic");
    CHECK(ictus_source_entry(1000, &entry) == ICTUS_ERR_SAMPLES);
    for (size_t i = 0; ictus_source_entry(i, &entry) == ICTUS_OK; i++) {
        CHECK(strcmp(entry.name, before) != 0 && entry.summary[0]);
        before = entry.name;
    }
}

/* The default choices of the algorithm at this place in the list. */
static const char *usual_choice(size_t algorithm)
{
    struct ictus_parameter parameter;
    const char *choice = "";
    for (size_t i = 0; !ictus_sync_parameter(algorithm, i, &parameter); i++) {
        CHECK(parameter.name[0] && parameter.fallback && parameter.help[0]);
        choice = parameter.choices ? parameter.fallback : choice;
    }
    return choice;
}

static void algorithms_are_listed(void)
{
    struct ictus_entry entry = {NULL, NULL};
    struct ictus_parameter parameter;
    int found = 0;
    for (size_t i = 0; ictus_sync_entry(i, &entry) == ICTUS_OK; i++) {
        CHECK(entry.name[0] && entry.summary[0]);
        if (strcmp(entry.name, "hca3") == 0) {
            found++;
            CHECK_STR(usual_choice(i), "skampi");
            CHECK(ictus_sync_parameter(i, 100, &parameter) == ICTUS_ERR_SAMPLES);
        }
    }
    CHECK(found == 1);
    CHECK(ictus_sync_parameter(1000, 0, &parameter) == ICTUS_ERR_SAMPLES);
}

static void specifications_are_checked(void)
{
    struct ictus_why why = {""};
    CHECK(!ictus_sync_check("hca3:fitpoints=5", &why));
    CHECK(ictus_sync_check("hca3:fitpoints=-5", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_sync_check("hcb3", &why) == ICTUS_ERR_UNKNOWN && strstr(why.text, "hca3"));
    CHECK(ictus_sync_check(NULL, &why) == ICTUS_ERR_ARG);
    CHECK(!ictus_source_check("monotonic", &why));
    CHECK(!ictus_source_check("sim:base=realtime,offset=1s,steps=0,3s", NULL));
    /* What this machine lacks, at least now, may exist where the job runs. */
    CHECK(!ictus_source_check("phc:/does/not/exist", &why));
    CHECK(!ictus_source_check("sim:base=phc:/does/not/exist", &why));
    CHECK(!ictus_source_check("lock:name=nobody", &why));
    CHECK(!ictus_source_check("tsc", &why));
    CHECK(!ictus_source_check("wtime", &why));
    CHECK(ictus_source_check("monotonik", &why) == ICTUS_ERR_UNKNOWN &&
          strstr(why.text, "'monotonic'"));
    CHECK(ictus_source_check("sim:base=tcs", NULL) == ICTUS_ERR_UNKNOWN);
    CHECK(ictus_source_check("sim:foo=1", &why) == ICTUS_ERR_SPEC && strstr(why.text, "foo"));
    CHECK(ictus_source_check("sim:offsets=0,much", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_source_check("realtime:x=1", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_source_check("tsc:x=1", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_source_check("wtime(tsc)", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_source_check("lock:nme=x", &why) == ICTUS_ERR_SPEC && strstr(why.text, "nme"));
    CHECK(ictus_source_check("phc", &why) == ICTUS_ERR_SPEC && strstr(why.text, "device"));
    CHECK(ictus_source_check(NULL, &why) == ICTUS_ERR_ARG);
}

static void clocks_are_taken_apart(void)
{
    struct ictus_why why = {""};
    char sync[512];
    char source[512];
    CHECK(!ictus_clock_default("hca3@tsc", sync, sizeof(sync), source, sizeof(source), &why));
    CHECK_STR(sync, "hca3");
    CHECK_STR(source, "tsc");
    CHECK(!ictus_clock_default("hca3@tsc", sync, 5, source, 4, &why));
    CHECK_STR(sync, "hca3");
    CHECK_STR(source, "tsc");
    CHECK(ictus_clock_default("hca3@tsc", sync, 4, source, 4, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_default("hca3@tsc", sync, 5, source, 3, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_default("hca3@", sync, 5, source, 4, &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_clock_default("hca3@tsc", sync, 2, source, sizeof(source), &why) == ICTUS_ERR_ARG);
}

/* Whoever asks for nothing is told so, before anything is said to the others. */
static void judgements_need_a_clock(void)
{
    static struct source source = {&told_ops};
    const struct ictus_clock clock = {.source = &source};
    struct ictus_clock_error error;
    bool truth = true;
    CHECK(ictus_clock_has_truth(NULL, &truth) == ICTUS_ERR_ARG && truth);
    CHECK(ictus_clock_has_truth(&clock, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_true_error(NULL, (struct ictus_time){0}, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_true_error(&clock, (struct ictus_time){0}, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_true_error(&clock, (struct ictus_time){0}, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_measured_error(NULL, true, 10, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_measured_error(&clock, true, 10, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_measured_error(&clock, true, 0, &error) == ICTUS_ERR_ARG);
}

/* A pair is two different processes of the study. The others have nothing to do, and all refuse
 * anything else with the same error and without sending a message. */
static void pairs_are_two_of_them(void)
{
    enum { SIZE = 5 };
    static struct source source = {&told_ops};
    struct ictus_study study = {.source = &source, .rank = SIZE - 1, .size = SIZE};
    struct ictus_offset offset = {.half_width_ns = -1.0};
    double rtt_ns = -1.0;
    for (int a = -2; a <= SIZE + 1; a++) {
        for (int b = -2; b <= SIZE + 1; b++) {
            const bool fits = a >= 0 && b >= 0 && a < SIZE && b < SIZE && a != b;
            if (!fits || (a != SIZE - 1 && b != SIZE - 1)) {
                const int wanted = fits ? ICTUS_OK : ICTUS_ERR_ARG;
                CHECK(ictus_study_rtt(&study, a, b, 1, &rtt_ns) == wanted);
                CHECK(ictus_study_offset(&study, a, b, 1, &offset) == wanted);
            }
            CHECK(ictus_study_rtt(&study, a, b, 0, &rtt_ns) == ICTUS_ERR_ARG);
            CHECK(ictus_study_offset(&study, a, b, 0, &offset) == ICTUS_ERR_ARG);
        }
    }
    CHECK(ictus_study_rtt(NULL, 0, 1, 1, &rtt_ns) == ICTUS_ERR_ARG);
    CHECK(rtt_ns == -1.0 && offset.half_width_ns == -1.0);
}

int main(void)
{
    pairs_are_two_of_them();
    patience_is_exact();
    judgements_need_a_clock();
    patience_is_what_simulation_says();
    patience_knows_its_limits();
    minimum_of_draws();
    lines_through_points();
    lines_are_judged();
    lines_hold_so_long();
    lives_are_summed_up();
    sources_are_described();
    bursts_need_memory();
    pairs_are_of_two_ranks();
    many_points_take_no_more_lines();
    sources_are_listed();
    algorithms_are_listed();
    specifications_are_checked();
    clocks_are_taken_apart();
    return check_result();
}
