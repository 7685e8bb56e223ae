/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics and moments over plain arrays. Arguments named sorted must be ascending. */
#ifndef ICTUS_CORE_STATS_H
#define ICTUS_CORE_STATS_H

#include <stddef.h>

/* Sort ascending, in place. */
void ictusi_stats_sort(double *values, size_t n);

/* Quantile by linear interpolation of order statistics (Hyndman and Fan 1996, type 7); n > 0. */
double ictusi_stats_quantile(const double *sorted, size_t n, double q);

double ictusi_stats_mean(const double *values, size_t n);

/* Standard deviation with n - 1; 0 for n < 2. */
double ictusi_stats_sd(const double *values, size_t n);

/*
 * Distribution-free confidence interval of the median from order statistics (Conover 1999, 3.2;
 * Hoefler and Belli 2015): ranks from the binomial(n, 1/2) distribution, exact for n <= 1000, by
 * the normal approximation above. Covers at least `level` wherever n allows; for few samples it is
 * the whole range, and *covered tells the level that has (1 - 2^(1-n) at most).
 */
void ictusi_stats_median_interval(const double *sorted, size_t n, double level, double *low,
                                  double *high, double *covered);

/*
 * How much wider the variance of the median's rank is than that of as many independent values: by
 * batch means of the sign about the median (Heidelberger and Lewis 1984), over ICTUSI_BATCHES equal
 * stretches of the values in the order of measurement. 1 where they look independent, where there
 * are fewer than ICTUSI_BATCHED values, and for the noise of that estimate (below its 95 %
 * quantile).
 */
enum { ICTUSI_BATCHES = 10, ICTUSI_BATCHED = 100 };
double ictusi_stats_batch_inflation(const double *values, size_t n, double median);

/*
 * Widen the median's interval of sorted values to what ictusi_stats_batch_inflation() says, by
 * Student's t with the batches' degrees of freedom. Never narrows it. Coverage in the face of drift
 * is that of the batches' independence: right where a state of the machine lasts no longer than a
 * batch.
 */
void ictusi_stats_median_widen(const double *sorted, size_t n, double inflation, double *low,
                               double *high);

/* How many values lie outside Tukey's fences, 1.5 interquartile ranges beyond the quartiles. */
size_t ictusi_stats_tukey_outliers(const double *sorted, size_t n);

#endif
