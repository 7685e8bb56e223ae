/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults that are planted among many processes are found, and nothing else is. */
#include "core/checkup.h"
#include "core/random.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../check.h"

enum { SIZE = 60, PARTNERS = 12, PAIRS = SIZE * PARTNERS / 2 };

static const struct checkup_limits limits = {.slow = 1.5, .drift = 50e-6, .step_ns = 2000.0};

/* The planted fault, if any. */
struct plant {
    int slow, drift, step, silent;
    int link_a, link_b;
};

static double delay(struct rng *rng, const struct plant *p, int a, int b)
{
    double ns = 1500.0 + 300.0 * ictusi_random_exponential(rng);
    ns += a == p->slow || b == p->slow ? 20000.0 : 0.0;
    const bool link = (a == p->link_a && b == p->link_b) || (a == p->link_b && b == p->link_a);
    return ns + (link ? 30000.0 : 0.0);
}

/* A clock at a true instant: offsets of seconds, and up to 10 ppm of drift. */
static int64_t clock_at(const struct plant *p, int i, double t_s)
{
    const double drift = (i * 37 % 21 - 10) * 1e-6 + (i == p->drift ? 100e-6 : 0.0);
    const double step_ns = i == p->step && t_s > 0.4 ? -50e3 : 0.0;
    return INT64_C(1000000000) * (i % 7) + (int64_t)llrint(t_s * 1e9 * (1.0 + drift) + step_ns);
}

static void fill_meetings(const struct plant *p, uint64_t seed, struct checkup_meeting *m)
{
    struct rng rng;
    ictusi_random_seed(&rng, seed, 0);
    for (int k = 0; k < CHECKUP_SWEEPS; k++) {
        size_t e = 0;
        for (int i = 0; i < SIZE; i++) {
            for (int d = 1; d <= PARTNERS / 2; d++) {
                const int j = (i + d * d) % SIZE;
                /* The process that asks may differ between sweeps. */
                const bool turned = (i + k) % 2 != 0;
                const int a = turned ? j : i;
                const int b = turned ? i : j;
                const double t = 0.5 * k + 1e-5 * (double)e;
                const double there = delay(&rng, p, a, b);
                const double back = delay(&rng, p, a, b);
                const bool silent = i == p->silent || j == p->silent;
                m[(size_t)k * PAIRS + e++] = (struct checkup_meeting){
                    a, silent ? -1 : b, clock_at(p, a, t),
                    clock_at(p, b, t) - clock_at(p, a, t) + (int64_t)((there - back) / 8.0),
                    there + back};
            }
        }
    }
}

/* Memory as it comes from whoever had it before. */
void *__real_malloc(size_t size); // NOLINT(bugprone-reserved-identifier)
void *__wrap_malloc(size_t size); // NOLINT(bugprone-reserved-identifier)
void *__wrap_malloc(size_t size)
{
    void *memory = __real_malloc(size);
    return memory ? memset(memory, 0xa5, size) : NULL;
}

static void faults_are_named(const struct plant *p)
{
    static struct checkup_meeting meetings[CHECKUP_SWEEPS * PAIRS];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct checkup c;
        fill_meetings(p, seed, meetings);
        REQUIRE(!ictusi_checkup(meetings, PAIRS, SIZE, &limits, &c));
        for (int i = 0; i < SIZE; i++) {
            const unsigned wanted =
                (i == p->slow ? CHECKUP_SLOW : 0U) | (i == p->drift ? CHECKUP_DRIFT : 0U) |
                (i == p->step ? CHECKUP_STEP : 0U) | (i == p->silent ? CHECKUP_SILENT : 0U);
            CHECK(c.process[i].faults == wanted);
            CHECK((c.process[i].worst > 1.0) == (wanted != 0));
        }
        CHECK(c.links == (p->link_a >= 0 ? 1 : 0));
        if (c.links) {
            CHECK(c.link[0].a + c.link[0].b == p->link_a + p->link_b);
            CHECK(c.link[0].rtt_ns > 50e3 && c.link[0].expected_ns < 6e3);
        }
        if (p->drift >= 0) {
            CHECK_NEAR(c.process[p->drift].drift, (p->drift * 37 % 21 - 10) * 1e-6 + 100e-6, 3e-6);
        }
        if (p->step >= 0) {
            CHECK_NEAR(c.process[p->step].step_ns, 50e3, 2e3);
        }
        ictusi_checkup_free(&c);
    }
}

enum { FEW_MOST = 8, FEW_PAIRS = FEW_MOST * (FEW_MOST - 1) / 2 };

/* One clock of a few, all of which meet: it steps at an instant, and it runs at a rate. */
struct odd {
    int process;
    double step_s, step_ns, drift, noise_ns;
};

static int64_t odd_clock(const struct odd *odd, int i, double t_s)
{
    const bool it = i == odd->process;
    const double step_ns = it && t_s > odd->step_s ? odd->step_ns : 0.0;
    return (int64_t)llrint(t_s * 1e9 * (1.0 + (it ? odd->drift : 0.0)) + step_ns);
}

/* Sweeps at 0, 0.5 and 1 s, of 10 us for each pair. Offsets err by noise_ns with the odd one. */
static size_t fill_few(const struct odd *odd, int size, struct rng *rng, struct checkup_meeting *m)
{
    const size_t pairs = (size_t)size * (size_t)(size - 1) / 2;
    for (int k = 0; k < CHECKUP_SWEEPS; k++) {
        size_t e = 0;
        for (int i = 0; i < size; i++) {
            for (int j = i + 1; j < size; j++) {
                const double t = 0.5 * k + 1e-5 * (double)e;
                const bool it = i == odd->process || j == odd->process;
                const double noise = it ? odd->noise_ns * ictusi_random_normal(rng) : 0.0;
                m[(size_t)k * pairs + e++] = (struct checkup_meeting){
                    i, j, odd_clock(odd, i, t),
                    odd_clock(odd, j, t) - odd_clock(odd, i, t) + (int64_t)noise,
                    3000.0 + (it ? 8.0 * odd->noise_ns : 0.0)};
            }
        }
    }
    return pairs;
}

/* The faults of clocks among `size` processes that all meet. */
static struct checkup check_few(const struct odd *odd, int size, uint64_t seed)
{
    struct checkup_meeting meetings[CHECKUP_SWEEPS * FEW_PAIRS];
    struct checkup c;
    struct rng rng;
    ictusi_random_seed(&rng, seed, 0);
    const size_t pairs = fill_few(odd, size, &rng, meetings);
    REQUIRE(!ictusi_checkup(meetings, pairs, size, &limits, &c));
    return c;
}

static void faults_of_few(const struct odd *odd, int size, unsigned wanted)
{
    struct checkup c = check_few(odd, size, 1);
    for (int i = 0; i < size; i++) {
        CHECK(c.process[i].faults == (i == odd->process ? wanted : 0U));
    }
    if (wanted & CHECKUP_STEP) {
        CHECK_NEAR(c.process[odd->process].step_ns, fabs(odd->step_ns), 200.0);
    }
    if (wanted & CHECKUP_DRIFT) {
        CHECK_NEAR(c.process[odd->process].drift, odd->drift, 1e-6);
    }
    ictusi_checkup_free(&c);
}

/* Also if it comes while some pairs of the process have met in the middle sweep, and others not. */
static void a_step_has_its_size_among_few(void)
{
    for (int size = CHECKUP_SIZE_MIN; size <= FEW_MOST; size++) {
        const int pairs = size * (size - 1) / 2;
        for (int i = 0; i < size * (pairs + 1); i++) {
            const double step_s = 0.5 + 1e-5 * (i % (pairs + 1) - 0.5);
            const struct odd back = {i / (pairs + 1), step_s, -30e3, 0.0, 0.0};
            faults_of_few(&back, size, CHECKUP_STEP);
            const struct odd forth = {i / (pairs + 1), step_s, 30e3, 100e-6, 0.0};
            faults_of_few(&forth, size, CHECKUP_STEP | CHECKUP_DRIFT);
        }
    }
}

/* How many pairs of process i show a step at that instant: those that meet before it if it comes in
 * the first sweep, and after it in the last one. */
static int pairs_that_show(int process, int size, int sweep, double step_s)
{
    int shown = 0;
    int e = 0;
    for (int i = 0; i < size; i++) {
        for (int j = i + 1; j < size; j++, e++) {
            const bool before = 0.5 * sweep + 1e-5 * e <= step_s;
            shown += (i == process || j == process) && before == (sweep == 0);
        }
    }
    return shown;
}

/* A step in the first sweep or the last is shown by the pairs that met on its other side. A few of
 * many suffice, and however few they are, they do not accuse another process. */
static void a_step_in_an_outer_sweep_is_found(void)
{
    const int pairs = FEW_MOST * (FEW_MOST - 1) / 2;
    for (int i = 0; i < 2 * FEW_MOST * pairs; i++) {
        const int sweep = i % 2 * (CHECKUP_SWEEPS - 1);
        const int process = i / 2 % FEW_MOST;
        const double step_s = 0.5 * sweep + 1e-5 * (i / 2 / FEW_MOST + 0.5);
        const struct odd odd = {process, step_s, i % 3 ? 30e3 : -30e3, i % 5 ? 0.0 : 100e-6, 0.0};
        const int shown = pairs_that_show(process, FEW_MOST, sweep, step_s);
        struct checkup c = check_few(&odd, FEW_MOST, 1);
        for (int k = 0; k < FEW_MOST; k++) {
            const bool stepped = c.process[k].faults & CHECKUP_STEP;
            CHECK(k == process ? stepped || shown < 3 : c.process[k].faults == 0);
        }
        if (shown >= 3) {
            CHECK_NEAR(c.process[process].step_ns, 30e3, 200.0);
        }
        ictusi_checkup_free(&c);
    }
}

/* The offsets of a process with a bad path change by microseconds, and prove nothing. How noisy it
 * is, seven pairs show only roughly. */
static void noise_is_no_step(void)
{
    enum { SEEDS = 500 };
    int accused = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct odd noisy = {(int)(seed % FEW_MOST), 0.0, 0.0, 0.0, 5e3};
        struct checkup c = check_few(&noisy, FEW_MOST, seed);
        for (int i = 0; i < FEW_MOST; i++) {
            accused += (c.process[i].faults & (CHECKUP_STEP | CHECKUP_DRIFT)) != 0;
        }
        ictusi_checkup_free(&c);
    }
    CHECK(accused <= SEEDS / 50);
}

/* A process that met a single other one says little of its noise, and a fault of its clock is found
 * all the same. */
static void one_partner_suffices(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct checkup_meeting meetings[CHECKUP_SWEEPS * FEW_PAIRS];
        const struct odd odd = {0, 0.7, -4e3, 100e-6, 20.0};
        struct checkup c;
        struct rng rng;
        ictusi_random_seed(&rng, seed, 0);
        const size_t pairs = fill_few(&odd, FEW_MOST, &rng, meetings);
        for (size_t e = 0; e < CHECKUP_SWEEPS * pairs; e++) {
            struct checkup_meeting *m = &meetings[e];
            m->offset += (int64_t)(100.0 * ictusi_random_normal(&rng));
            m->server = m->client == 0 && m->server != 3 ? -1 : m->server;
        }
        REQUIRE(!ictusi_checkup(meetings, pairs, FEW_MOST, &limits, &c));
        for (int i = 0; i < FEW_MOST; i++) {
            CHECK(c.process[i].faults == (i == 0 ? CHECKUP_STEP | CHECKUP_DRIFT : 0U));
        }
        CHECK_NEAR(c.process[0].step_ns, 4e3, 1e3);
        CHECK_NEAR(c.process[0].drift, 100e-6, 10e-6); /* from one half, as it stepped */
        ictusi_checkup_free(&c);
    }
}

int main(void)
{
    one_partner_suffices();
    a_step_has_its_size_among_few();
    a_step_in_an_outer_sweep_is_found();
    noise_is_no_step();
    faults_are_named(&(struct plant){-1, -1, -1, -1, -1, -1});
    faults_are_named(&(struct plant){17, -1, -1, -1, -1, -1});
    faults_are_named(&(struct plant){-1, 5, -1, -1, -1, -1});
    faults_are_named(&(struct plant){-1, -1, 9, -1, -1, -1});
    faults_are_named(&(struct plant){-1, -1, -1, 21, -1, -1});
    faults_are_named(&(struct plant){-1, -1, -1, -1, 30, 34});
    faults_are_named(&(struct plant){0, 59, 31, 12, 40, 49});
    struct checkup c;
    const struct checkup_meeting one = {0, 1, 0, 0, 1.0};
    CHECK(ictusi_checkup(&one, 1, 2, &limits, &c) == ICTUS_ERR_SAMPLES);
    CHECK(ictusi_checkup(&one, 0, 4, &limits, &c) == ICTUS_ERR_SAMPLES);
    return check_result();
}
