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

int main(void)
{
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
