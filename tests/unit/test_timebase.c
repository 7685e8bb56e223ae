/* SPDX-License-Identifier: BSD-3-Clause */
/* Two clocks read one after the other: the possible error is half of the time that this takes. */
#include "clock/counter.h"
#include "page/timebase.h"

#include "../check.h"
#include "core/random.h"

#include <dlfcn.h>
#include <ictus/time.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { RATE_PPM = 300, READ_NS = 40, EPOCH_S = 1800000000 };
enum { CALLS = 16, QUICK_CALL = 5, QUICK_TICKS = 20000, SLOW_TICKS = 200000 };

/* What answers for the kernel, and the truth about it. */
static struct {
    enum { KERNEL, SCRIPT, CALLED } by;
    /* SCRIPT: each reading takes a while, and the system's clock is steered by RATE_PPM. */
    struct rng rng;
    int64_t now;
    int64_t step_ns;    /* how far the system's clock has been set */
    int preempted;      /* one in this many readings takes 5 ms; 0: none */
    clockid_t last[2];  /* the clocks of the two latest readings, the latest one last */
    int64_t read_at[2]; /* the times of these */
    /* Between two readings of CLOCK_MONOTONIC_RAW around CLOCK_REALTIME, so far. */
    int64_t least_width;
    /* CALLED: when each call began and ended. */
    uint64_t began[CALLS], ended[CALLS];
    int calls;
} kernel;

static int64_t steered(int64_t now)
{
    return now + now * RATE_PPM / 1000000;
}

static int64_t real_at(int64_t now)
{
    return EPOCH_S * ICTUS_NS_PER_S + steered(now) + kernel.step_ns;
}

static int64_t script_read(clockid_t id)
{
    const bool is_preempted =
        kernel.preempted && ictusi_random_uniform(&kernel.rng) * (double)kernel.preempted < 1.0;
    const double part = ictusi_random_uniform(&kernel.rng);
    kernel.now += is_preempted ? 5000000 : READ_NS + (int64_t)(part * READ_NS);
    if (id == CLOCK_MONOTONIC_RAW) {
        const int64_t width = kernel.now - kernel.read_at[0];
        if (kernel.last[0] == CLOCK_MONOTONIC_RAW && kernel.last[1] == CLOCK_REALTIME &&
            width < kernel.least_width) {
            kernel.least_width = width;
        }
    }
    kernel.last[0] = kernel.last[1];
    kernel.last[1] = id;
    kernel.read_at[0] = kernel.read_at[1];
    kernel.read_at[1] = kernel.now;
    return id == CLOCK_MONOTONIC_RAW ? kernel.now
           : id == CLOCK_REALTIME    ? real_at(kernel.now)
                                     : steered(kernel.now);
}

#if defined(__x86_64__)
static int64_t ticks_read(void)
{
    return (int64_t)__rdtsc();
}

static void ticks_pass(uint64_t ticks)
{
    const uint64_t start = __rdtsc();
    while (__rdtsc() - start < ticks) {
    }
}

/* Calls of which all but one take long. */
static int64_t called_read(void)
{
    const int call = kernel.calls++ % CALLS;
    kernel.began[call] = __rdtsc();
    ticks_pass(call == QUICK_CALL ? QUICK_TICKS : SLOW_TICKS);
    kernel.ended[call] = __rdtsc();
    return call;
}
#else
static int64_t ticks_read(void)
{
    return 0;
}

static int64_t called_read(void)
{
    return 0;
}
#endif

int clock_gettime(clockid_t id, struct timespec *t)
{
    if (kernel.by == KERNEL) {
        return (int)syscall(SYS_clock_gettime, id, t);
    }
    const int64_t ns = kernel.by == SCRIPT ? script_read(id) : called_read();
    t->tv_sec = ns / ICTUS_NS_PER_S;
    t->tv_nsec = ns % ICTUS_NS_PER_S;
    return 0;
}

static const char *kernel_keeps_time_by; /* NULL: as the kernel itself says */

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "fopen");
    memcpy(&next, &symbol, sizeof(next));
    if (kernel_keeps_time_by && strstr(path, "current_clocksource")) {
        return fmemopen((void *)(uintptr_t)kernel_keeps_time_by, strlen(kernel_keeps_time_by), "r");
    }
    return next(path, mode);
}

static void script_begin(uint64_t seed, int preempted)
{
    memset(&kernel, 0, sizeof(kernel));
    kernel.by = SCRIPT;
    kernel.now = 3600 * ICTUS_NS_PER_S;
    kernel.preempted = preempted;
    ictusi_random_seed(&kernel.rng, seed, 1);
}

/* The error of the timebase for an instant this many ns from now, in ns of CLOCK_MONOTONIC_RAW. */
static double base_error(const struct timebase *base, int64_t from_now)
{
    const int64_t raw = kernel.now + from_now;
    const int64_t error = ictusi_timebase_raw(base, real_at(raw)) - raw;
    /* The inverse restores the instant, except for the square of the rate. */
    CHECK(llabs(ictusi_timebase_real(base, raw + error) - real_at(raw)) <=
          1 + llabs(from_now) / 10000000);
    return fabs((double)error);
}

/* The narrowest of several sandwiches is used, and it states the possible error of the pair. */
static void pairs_are_as_good_as_their_width(void)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct timebase base = {0};
        script_begin(seed, 3);
        kernel.least_width = INT64_MAX;
        CHECK(ictusi_timebase_read(&base) == 0);
        CHECK_NEAR(base.width_ns, kernel.least_width, 0);
        /* Without a rate: some readings take 5 ms, during which 300 ppm amount to 1.5 us. */
        const double age_ns = (double)(kernel.now - base.raw);
        CHECK(base_error(&base, 0) <= base.width_ns / 2 + 1 + RATE_PPM * 1e-6 * age_ns);
    }
}

/*
 * Once half a second has passed, the rate between the two clocks is known, and steps do not change
 * it.
 */
static void rates_are_learned(void)
{
    struct timebase base = {0};
    script_begin(1, 0);
    for (int i = 0; i < 40; i++) {
        kernel.step_ns += i == 20 ? 10000000 : 0;
        CHECK(ictusi_timebase_read(&base) == (i == 20 ? TIMEBASE_STEPPED : 0));
        /* 0.2 ppm of a tenth of a second plus half a sandwich; 30 us without a rate. */
        CHECK(i > 2 || base.rate == 0);
        if (i >= 5) {
            CHECK(base_error(&base, 100000000) < 100);
            CHECK(base_error(&base, -100000000) < 100);
        }
        kernel.now += 170000000;
    }
    CHECK(base.stepped == 1 && base.suspended == 0);
    /* A pair that is close to the one before says nothing about the rate. */
    kernel.now += ICTUS_NS_PER_S;
    CHECK(ictusi_timebase_read(&base) == 0);
    const double rate = base.rate;
    for (int i = 0; i < 20; i++) {
        kernel.now += 1000000;
        CHECK(ictusi_timebase_read(&base) == 0 && base.rate == rate);
    }
    CHECK_NEAR(rate, 1 / (1 + RATE_PPM * 1e-6) - 1, 1e-6);
}

/*
 * A process that is preempted between two readings reports no step; true steps are reported all the
 * same.
 */
static void preemptions_are_no_steps(void)
{
    int stepped = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct timebase base = {0};
        script_begin(seed, 60);
        CHECK(ictusi_timebase_read(&base) == 0);
        for (int i = 1; i < 10; i++) {
            kernel.now += 1000000;
            const int64_t way = i % 2 ? 1 : -1;
            kernel.step_ns += i % 3 == 0 ? way * 1000000 : 0;
            const unsigned events = ictusi_timebase_read(&base);
            CHECK(events == (i % 3 == 0 ? TIMEBASE_STEPPED : 0));
            stepped += events != 0;
        }
    }
    CHECK(stepped == 600);
}

/* The pair comes from the quickest call, and its ticks are those in the middle of that. */
static void counter_pairs_are_the_tightest(void)
{
    bool good = false;
    for (int trial = 0; trial < 1000 && !good; trial++) { /* a preempted call is not the quickest */
        memset(&kernel, 0, sizeof(kernel));
        kernel.by = CALLED;
        const struct counter_pair pair = ictusi_counter_pair();
        REQUIRE(kernel.calls > QUICK_CALL + 1 && kernel.calls <= CALLS);
        good = pair.ns == QUICK_CALL && pair.ticks >= kernel.began[QUICK_CALL] &&
               pair.ticks <= kernel.ended[QUICK_CALL];
    }
    CHECK(good);
}

/* A clock that counts its readings, and reads the counter in each. */
struct witness {
    struct source base;
    int64_t *reads;
    int64_t *ticks;
};

static int64_t witness_read(const struct source *source)
{
    const struct witness *w = (const struct witness *)source;
    w->ticks[*w->reads] = ticks_read();
    return (*w->reads)++;
}

/* Each reading is made between two of the counter, in the order in which they are listed. */
static void readings_are_in_brackets(void)
{
    enum { MANY = 50 };
    static const struct source_ops ops = {.name = "witness", .read = witness_read};
    int64_t reads = 0;
    int64_t ticks[MANY];
    const struct witness clock = {{&ops}, &reads, ticks};
    struct calibration_reading r[MANY];
    ictusi_counter_bracket(&clock.base, r, MANY);
    CHECK(reads == MANY);
    for (int i = 0; i < MANY; i++) {
        CHECK(r[i].clock == i);
        CHECK(r[i].before <= ticks[i] && ticks[i] <= r[i].after);
        CHECK(i == 0 || r[i - 1].after <= r[i].before);
    }
}

/* Two processes share a counter only if the kernel itself uses it to keep time. */
static void trust_is_the_kernels(void)
{
    kernel.by = KERNEL;
    kernel_keeps_time_by = "tsc\n";
    const uint64_t trusted = ictusi_counter_name();
    CHECK(trusted == ictusi_counter_name());
    static const char *const others[] = {"hpet\n", "kvm-clock\n", "tsc-early\n", "\n"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        kernel_keeps_time_by = others[i];
        CHECK(ictusi_counter_name() == 0);
    }
    kernel_keeps_time_by = NULL;
    CHECK((trusted != 0) <= ictusi_counter_invariant());
}

/* Instants in two parts are combined if they are valid, and differences near them also fit. */
static void stamps_are_joined(void)
{
    static const int64_t most_s = INT64_MAX / 1000000000 - 3600;
    int64_t ns = -1;
    CHECK(ictusi_timebase_stamp_join(0, 0, &ns) && ns == 0);
    CHECK(ictusi_timebase_stamp_join(7, 999999999, &ns) && ns == INT64_C(7999999999));
    CHECK(ictusi_timebase_stamp_join(most_s, 5, &ns) && ns == most_s * 1000000000 + 5);
    ns = -1;
    CHECK(!ictusi_timebase_stamp_join(-1, 0, &ns) && !ictusi_timebase_stamp_join(0, -1, &ns));
    CHECK(!ictusi_timebase_stamp_join(0, 1000000000, &ns) && ns == -1);
    CHECK(!ictusi_timebase_stamp_join(most_s + 1, 0, &ns) && ns == -1);
}

int main(void)
{
    stamps_are_joined();
    pairs_are_as_good_as_their_width();
    rates_are_learned();
    preemptions_are_no_steps();
    if (ictusi_counter_invariant()) {
        counter_pairs_are_the_tightest();
        readings_are_in_brackets();
    }
    trust_is_the_kernels();
    return check_result();
}
