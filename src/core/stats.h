/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics and moments of plain arrays. Arguments named `sorted` must be ascending. */
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
 * Hoefler and Belli 2015). The ranks are from the binomial(n, 1/2) distribution, exactly for n <=
 * 1000 and by the normal approximation above. It covers at least `level` if n permits. For few
 * samples it is the whole range, and *covered is its level (at most 1 - 2^(1-n)).
 */
void ictusi_stats_median_interval(const double *sorted, size_t n, double level, double *low,
                                  double *high, double *covered);

/*
 * Return the factor by which the variance of the median's rank exceeds that of independent values.
 * It is found from batch means of the sign around the median (Heidelberger and Lewis 1984), over
 * ICTUSI_BATCHES equal parts of the values in the order of measurement. It is 1 if the values look
 * independent, if there are fewer than ICTUSI_BATCHED, or if the estimate is within its own noise
 * (below its 95 % quantile).
 */
enum { ICTUSI_BATCHES = 10, ICTUSI_BATCHED = 100 };
/* The 97.5 % quantile of Student's t for the degrees of freedom of the batches. */
#define ICTUSI_BATCH_T 2.262
double ictusi_stats_batch_inflation(const double *values, size_t n, double median);

/*
 * Widen the interval of the median of sorted values by ictusi_stats_batch_inflation(), with
 * Student's t for the degrees of freedom of the batches. The interval is never narrowed. With
 * drift, the coverage depends on the independence of the batches: it is right if a state of the
 * machine lasts no longer than a batch.
 */
void ictusi_stats_median_widen(const double *sorted, size_t n, double inflation, double *low,
                               double *high);

/* Return how many values are outside Tukey's fences, 1.5 interquartile ranges beyond the
 * quartiles. */
size_t ictusi_stats_tukey_outliers(const double *sorted, size_t n);

#endif
