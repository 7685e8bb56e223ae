/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many exchanges a good minimum needs (H08 3.1, figure 6). The paper simulates this. Draws with
 * replacement from a recorded sample have exact expectations, which need no simulation.
 *
 * Let k be the number of values below the smallest one drawn so far, and q = k/n. The next N draws
 * all miss with probability s = (1 - q)^N, and then the run ends. Otherwise one of the k smaller
 * values is drawn, each with the same probability. The expected error is therefore
 *     E(k) = s error(k) + (1 - s) mean over j < k of E(j),
 * and the expected number of draws after the first one is
 *     C(k) = (1 - s) / q + (1 - s) mean over j < k of C(j),   C(0) = N.
 * The first draw is any of the n values. Computed in ascending order, this takes O(n) steps.
 */
#include <ictus/study.h>

#include <math.h>

/* Sums of the expectations over all values so far, in ascending order. */
struct sums {
    double draws;
    double error;
};

/* Return the expectations for a group of equal values, of which `begin` values are smaller. */
static struct sums patience_expect(const double *sorted, size_t n, size_t begin, size_t patience,
                                   const struct sums *smaller)
{
    const double q = (double)begin / (double)n;
    if (begin == 0) {
        return (struct sums){(double)patience, 0.0};
    }
    const double stay = pow(1.0 - q, (double)patience);
    /* 1 - (1 - q)^N without cancellation. With q = 1 / n and a large n, the plain difference
     * would have no digits left. */
    const double fall = -expm1((double)patience * log1p(-q));
    const double share = fall / (double)begin;
    return (struct sums){fall / q + share * smaller->draws,
                         stay * (sorted[begin] - sorted[0]) + share * smaller->error};
}

int ictus_patience(const double *sorted, size_t n, size_t patience, double *exchanges,
                   double *error)
{
    struct sums sum = {0.0, 0.0};
    if (!sorted || n < 1 || patience < 1 || !exchanges || !error) {
        return ICTUS_ERR_ARG;
    }
    for (size_t begin = 0; begin < n;) {
        size_t end = begin + 1;
        /* Equal values form one state. Drawing the same minimum again is no improvement, so they
         * have the same number of smaller values and the same expectation. */
        while (end < n && sorted[end] <= sorted[begin]) {
            end++;
        }
        const struct sums each = patience_expect(sorted, n, begin, patience, &sum);
        sum.draws += each.draws * (double)(end - begin);
        sum.error += each.error * (double)(end - begin);
        begin = end;
    }
    *exchanges = 1.0 + sum.draws / (double)n;
    *error = sum.error / (double)n;
    return ICTUS_OK;
}

int ictus_minimum_excess(const double *sorted, size_t n, size_t k, double *error)
{
    double excess = 0.0;
    if (!sorted || n < 1 || k < 1 || !error) {
        return ICTUS_ERR_ARG;
    }
    /* E(min) - min is the sum of the gaps between neighbours, each times the probability that
     * all k draws lie above it. */
    for (size_t i = 1; i < n; i++) {
        const double above = (double)(n - i) / (double)n;
        excess += (sorted[i] - sorted[i - 1]) * pow(above, (double)k);
    }
    *error = excess;
    return ICTUS_OK;
}
