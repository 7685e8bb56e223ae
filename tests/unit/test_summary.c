/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a median counts as settled: narrow enough, from enough values, and without a drift. And how
 * large a drift is.
 */
#include "../check.h"
#include <ictus/bench.h>
#include <math.h>

enum { MANY = 400, HALF = 50 };

/* Batch medians that differ by 20 % in half of the parts have a standard deviation of about 10 %.
 */
static void test_drift(const double *drifting, const double *steady)
{
    struct ictus_summary s;
    CHECK(ictus_summarize_series(drifting, MANY, &s) == ICTUS_OK);
    CHECK(ictus_summary_drift(&s) > 0.05 && ictus_summary_drift(&s) < 0.2);
    CHECK(ictus_summarize_series(steady, MANY, &s) == ICTUS_OK);
    CHECK(ictus_summary_drift(&s) <= 0);
    /* The interval is that of the mean of ten parts, with Student's t for nine degrees. */
    s = (struct ictus_summary){.n = 999, .effective = 332, .ci95_low = 0.8, .ci95_high = 1.25};
    CHECK_NEAR(ictus_summary_drift(&s), 0.5 * log(1.25 / 0.8) / 2.262 * sqrt(10), 1e-12);
    s.effective = 333;
    CHECK(ictus_summary_drift(&s) <= 0);
    s = (struct ictus_summary){.n = 999, .effective = NAN, .ci95_low = 0.8, .ci95_high = 1.25};
    CHECK(ictus_summary_drift(&s) <= 0);
}

int main(void)
{
    double steady[MANY];
    double drifting[MANY];
    double same[MANY];
    for (int i = 0; i < MANY; i++) {
        const double wobble = 1e-8 * (double)(i * 7 % 13 - 6);
        same[i] = 1e-5;
        steady[i] = 1e-5 + wobble;
        drifting[i] = steady[i] * (i / HALF % 2 ? 1.2 : 1.0);
    }
    CHECK(ictus_median_settled(same, MANY, 1e-9));
    CHECK(ictus_median_settled(same, 100, 1e-9) && !ictus_median_settled(same, 99, 1e-9));
    CHECK(!ictus_median_settled(same, MANY, 0.0)); /* 0: never requested */
    CHECK(ictus_median_settled(steady, MANY, 0.01));
    CHECK(!ictus_median_settled(steady, MANY, 1e-5));
    CHECK(!ictus_median_settled(drifting, MANY, 0.01));
    CHECK(!ictus_median_settled(NULL, 0, 0.01));
    test_drift(drifting, steady);
    return check_result();
}
