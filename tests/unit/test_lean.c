/* SPDX-License-Identifier: BSD-3-Clause */
/* The direction in which messages wait, against sums and shares that are computed separately. */
#include "core/random.h"
#include "lock/lean.h"

#include <string.h>

#include "../check.h"

static const int64_t second = 1000000000;

/* Contrasts of three successive exchanges, each with 511/512 of the weight of the next. */
static void leans_are_sums_of_contrasts(void)
{
    enum { N = 200 };
    struct lean lean;
    struct lean_point p[N];
    struct rng rng;
    double sums[4] = {0, 0, 0, 0};
    ictusi_random_seed(&rng, 8, 0);
    memset(&lean, 0x7f, sizeof(lean));
    ictusi_lean_reset(&lean);
    for (int i = 0; i < N; i++) {
        p[i].local =
            (i ? p[i - 1].local : 0) + second + (int64_t)ictusi_random_below(&rng, 9) * second;
        p[i].excess_ns = 1000 * ictusi_random_exponential(&rng);
        p[i].offset_ns = INT64_C(1800000000000000000) + 3000 * p[i].local / second +
                         llround(0.3 * p[i].excess_ns + 100 * ictusi_random_normal(&rng));
        ictusi_lean_add(&lean, &p[i]);
        const struct lean_point again = {p[i].local, 0, 5.0}; /* not later: ignored */
        ictusi_lean_add(&lean, &again);
    }
    for (int i = 1; i < N - 1; i++) {
        const double share =
            (double)(p[i].local - p[i - 1].local) / (double)(p[i + 1].local - p[i - 1].local);
        const double d =
            p[i].excess_ns - p[i - 1].excess_ns * (1 - share) - p[i + 1].excess_ns * share;
        const double o = (double)(p[i].offset_ns - p[i - 1].offset_ns) -
                         (double)(p[i + 1].offset_ns - p[i - 1].offset_ns) * share;
        const double most =
            (p[i].excess_ns + p[i - 1].excess_ns * (1 - share) + p[i + 1].excess_ns * share) / 2 +
            30;
        const double weighs = fabs(o) > most ? 0 : 1;
        for (int z = 0; z < 4 && weighs > 0; z++) {
            const double terms[4] = {1.0, d * d, o * d, o * o};
            sums[z] = sums[z] * 511 / 512 + terms[z];
        }
    }
    CHECK(sums[0] > 100 && sums[0] < N - 10); /* some are too large for any wait */
    CHECK_NEAR(lean.weight, sums[0], 1e-9 * sums[0]);
    CHECK_NEAR(lean.dd, sums[1], 1e-6 * sums[1]);
    CHECK_NEAR(lean.od, sums[2], 1e-6 * sums[1]);
    CHECK_NEAR(lean.oo, sums[3], 1e-6 * sums[1]);
}

/* Waits with means 3 and 1 have a slope of (9 - 1) / 20 and a share of (3 - 1) / 8. */
static void leans_are_believed_beyond_chance(void)
{
    struct lean lean = {.weight = 100, .dd = 1e6, .od = 0.4e6, .oo = 0.16e6};
    double sd = 0;
    CHECK_NEAR(ictusi_lean_share(&lean, &sd), 0.25, 1e-6);
    lean.od = -lean.od;
    CHECK_NEAR(ictusi_lean_share(&lean, &sd), -0.25, 1e-6);
    lean.od = 0.4e6;
    lean.oo += 100 * 900.0; /* residual: 30 ns per contrast, so the slope's error is 0.045 */
    CHECK_NEAR(ictusi_lean_share(&lean, &sd), 0.25 * (1 - 16 * 0.045 * 0.045 / 0.16), 1e-9);
    CHECK_NEAR(sd, 0.045, 1e-9);
    lean.weight = 32;
    CHECK(ictusi_lean_share(&lean, &sd) > 0.0);
    lean.weight = 31.9;
    CHECK(ictusi_lean_share(&lean, &sd) == 0.0 && sd == 0.0);
    lean = (struct lean){.weight = 100, .dd = 22500, .od = 9000, .oo = 3600};
    CHECK(ictusi_lean_share(&lean, &sd) == 0.0); /* no more than rounding */
    lean.dd = 22501;
    CHECK(ictusi_lean_share(&lean, &sd) > 0.2);
    /* Four standard errors may be chance; here the error is 0.1. */
    lean = (struct lean){.weight = 100, .dd = 1e6, .od = 0.39e6, .oo = 0.1521e6 + 1e8 / 225};
    CHECK(ictusi_lean_share(&lean, &sd) == 0.0 && sd == 0.0);
    lean.od = 0.41e6;
    lean.oo = 0.1681e6 + 1e8 / 225;
    CHECK(ictusi_lean_share(&lean, &sd) > 0.0);
    CHECK_NEAR(sd, 0.1, 1e-9);
    lean = (struct lean){.weight = 100, .dd = 1e6, .od = 0.7e6, .oo = 0.49e6};
    CHECK_NEAR(ictusi_lean_share(&lean, &sd), 0.5, 1e-9);
    lean.od = -lean.od;
    CHECK_NEAR(ictusi_lean_share(&lean, &sd), -0.5, 1e-9);
}

int main(void)
{
    leans_are_sums_of_contrasts();
    leans_are_believed_beyond_chance();
    return check_result();
}
