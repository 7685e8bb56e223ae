/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The certainty of 'ictus tune' about ratios over launches: Student's intervals, checked with his
 * distribution.
 */
#include "../check.h"

#include "results/tune.h"

enum { LAUNCHES_MAX = 200, STEPS = 4000 };

/* The probability of lying between -t and t with these degrees of freedom, by Simpson's rule. */
static double within(double t, int freedom)
{
    const double v = freedom;
    const double scale = exp(lgamma((v + 1) / 2) - lgamma(v / 2)) / sqrt(v * M_PI);
    double sum = 0.0;
    for (int i = 0; i <= STEPS; i++) {
        const double x = t * i / STEPS;
        const double weight = i == 0 || i == STEPS ? 1.0 : i % 2 ? 4.0 : 2.0;
        sum += weight * scale * pow(1 + x * x / v, -(v + 1) / 2);
    }
    return 2 * sum * t / STEPS / 3;
}

int main(void)
{
    static double ratios[LAUNCHES_MAX];
    for (int n = 2; n <= LAUNCHES_MAX; n++) {
        double low = 0.0;
        double high = 0.0;
        double mean = 0.0;
        double squares = 0.0;
        for (int i = 0; i < n; i++) {
            const double x = -0.2 + 0.01 * (i * 7 % 13);
            ratios[i] = exp(x);
            mean += x / n;
        }
        for (int i = 0; i < n; i++) {
            squares += (log(ratios[i]) - mean) * (log(ratios[i]) - mean);
        }
        tune_interval(ratios, n, &low, &high);
        CHECK_NEAR((log(low) + log(high)) / 2, mean, 1e-12);
        const double error = sqrt(squares / (n - 1) / n);
        const double held = within((log(high) - log(low)) / 2 / error, n - 1);
        /* To the digits of the tables; for many launches, slightly more than required. */
        CHECK_NEAR(held, n <= 25 ? 0.95 : 0.955, n <= 25 ? 1e-4 : 0.0052);
    }
    return check_result();
}
