/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least of some delays, on average: where a message's delay begins, as more than one shortest
 * delay shows it. The least of all n is best where delays pile up at their minimum, and errs by
 * much where few are near it. The mean, over all choices of m delays, of their least is a smooth
 * way between that (m = n) and the mean of all (m = 1):
 *     integral of (1 - F(x))^m dx,
 * with F the delays' distribution. Its variance follows from its influence function.
 */
#ifndef ICTUS_CORE_LEAST_DELAY_H
#define ICTUS_CORE_LEAST_DELAY_H

#include <stddef.h>

struct least_delay {
    double value;
    double variance; /* of delays that are independent; in the value's unit, squared */
};

/*
 * The least of m of n delays, sorted upwards, 1 <= m <= n / 8 on average over all choices; for any
 * other m, of all n. The variance of the least of all is found from that of fewer and how fast it
 * falls with their number. O(n).
 */
struct least_delay ictusi_least_delay(const double *sorted, size_t n, double m);

#endif
