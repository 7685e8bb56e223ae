/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The expected smallest of some delays: an estimate of a path's minimum delay from more than one
 * short delay. The smallest of all n is best if delays accumulate at their minimum, and errs much
 * if few are near it. The mean, over all choices of m delays, of the smallest one lies between that
 * (m = n) and the mean of all (m = 1):
 *     integral of (1 - F(x))^m dx,
 * where F is the distribution of the delays. Its variance follows from its influence function.
 */
#ifndef ICTUS_CORE_LEAST_DELAY_H
#define ICTUS_CORE_LEAST_DELAY_H

#include <stddef.h>

struct least_delay {
    double value;
    double variance; /* if the delays are independent; unit of value, squared */
};

/*
 * Compute the expected smallest of m of n delays, sorted in ascending order, for 1 <= m <= n / 8.
 * For any other m, use the smallest of all n. The variance of the smallest of all is extrapolated
 * from that of fewer delays. O(n).
 */
struct least_delay ictusi_least_delay(const double *sorted, size_t n, double m);

#endif
