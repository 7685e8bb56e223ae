/* SPDX-License-Identifier: BSD-3-Clause */
/* Smooth minima of delays. */
#include "core/least_delay.h"

#include <math.h>

/* Terms smaller than this part of the first one are left out. */
static const double negligible = 1e-9;
/* Ratio between the numbers of delays from which the variance of the smallest of all is
 * extrapolated. */
static const double part = 8.0;
static const double part_few = 4.0;
static const size_t many = 128;
/* Limits of the power with which the variance falls with the number of delays. Even delays
 * without a sharp minimum gain a little. */
static const double power_least = 0.05;
static const double power_most = 1.0;

/* Return how many spacings contribute to the smallest of m of n. */
static size_t least_terms(size_t n, double m)
{
    /* (1 - j/n)^m falls below `negligible` at j = n (1 - negligible^(1/m)). */
    const double rank = (double)n * (1.0 - pow(negligible, 1.0 / m)) + 1.0;
    return rank < (double)n ? (size_t)rank : n - 1;
}

/* Return the variance of the smallest of m, in a population with these delays. */
static double least_scatter(const double *x, size_t n, double m)
{
    double mean = 0.0;
    double square = 0.0;
    const size_t terms = least_terms(n, m);
    /* E[X] = integral of P(X > x) dx and E[X^2] = integral of P(X > x) d(x^2), both starting at
     * the shortest delay, where P(smallest of m > x) = (1 - F(x))^m. */
    for (size_t j = 1; j <= terms; j++) {
        const double above = pow(1.0 - (double)j / (double)n, m);
        const double low = x[j - 1] - x[0];
        const double high = x[j] - x[0];
        mean += above * (high - low);
        square += above * (high * high - low * low);
    }
    return fmax(square - mean * mean, 0.0);
}

/* Return the variance of the smallest of all n, from that of an eighth and a 64th of them. */
static double least_variance(const double *x, size_t n)
{
    /*
     * If n delays were drawn anew, the smallest one would itself be among them in 63 % of the draws
     * and would show little scatter. The variance is therefore computed where it is visible, for n
     * / step and n / step^2 delays, and extrapolated by the power law var ~ m^(-2 power) that these
     * two show.
     */
    const double step = n >= many ? part : part_few;
    const double few = least_scatter(x, n, fmax((double)n / step / step, 1.0));
    const double more = least_scatter(x, n, fmax((double)n / step, 1.0));
    const double power = more > 0.0 ? log(few / more) / (2.0 * log(step)) : power_most;
    return more * pow(step, -2.0 * fmin(fmax(power, power_least), power_most));
}

struct least_delay ictusi_least_delay(const double *sorted, size_t n, double m)
{
    struct least_delay least = {.value = sorted[0]};
    if (m > (double)n / part) {
        least.variance = n > 1 ? least_variance(sorted, n) : 0.0;
        return least;
    }
    /* The influence of delay i is -(a_i - mean of a), with a_i = sum over j >= i of m (1 -
     * F_j)^(m-1) d_j, where d_j is the spacing above delay j and F_j = j / n. */
    double a = 0.0;
    double sum = 0.0;
    double square = 0.0;
    for (size_t j = least_terms(n, m); j > 0; j--) {
        const double rest = 1.0 - (double)j / (double)n;
        const double above = pow(rest, m - 1.0);
        const double spacing = sorted[j] - sorted[j - 1];
        least.value += above * rest * spacing;
        a += m * above * spacing;
        sum += a;
        square += a * a;
    }
    const double mean = sum / (double)n;
    least.variance = fmax(square / (double)n - mean * mean, 0.0) / (double)n;
    return least;
}
