/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics and moments over plain arrays. Arguments named sorted must be ascending. */
#ifndef ICTUS_CORE_STATS_H
#define ICTUS_CORE_STATS_H

#include <stddef.h>

/* Sort ascending, in place. */
void ictusi_sort(double *values, size_t n);

/* Quantile by linear interpolation of order statistics (Hyndman and Fan 1996, type 7); n > 0. */
double ictusi_quantile(const double *sorted, size_t n, double q);

double ictusi_mean(const double *values, size_t n);

/* Standard deviation with n - 1; 0 for n < 2. */
double ictusi_sd(const double *values, size_t n);

/*
 * Distribution-free confidence interval of the median from order statistics (Conover 1999, 3.2;
 * Hoefler and Belli 2015): ranks from the binomial(n, 1/2) distribution, exact for n <= 1000, by
 * the normal approximation above. Covers at least `level` wherever n allows; for few samples it is
 * the whole range, and *covered tells the level that has (1 - 2^(1-n) at most).
 */
void ictusi_median_interval(const double *sorted, size_t n, double level, double *low, double *high,
                            double *covered);

/* How many values lie outside Tukey's fences, 1.5 interquartile ranges beyond the quartiles. */
size_t ictusi_tukey_outliers(const double *sorted, size_t n);

#endif
