/* SPDX-License-Identifier: BSD-3-Clause */
/* When a median counts as settled: narrow enough, from enough values, and without a drift. */
#include "../check.h"
#include <ictus/bench.h>

enum { MANY = 400, HALF = 50 };

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
    return check_result();
}
