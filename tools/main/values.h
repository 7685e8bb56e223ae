/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics of plain arrays of numbers, as tables and verdicts need them. */
#ifndef ICTUS_TOOLS_VALUES_H
#define ICTUS_TOOLS_VALUES_H

#include <jansson.h>
#include <stddef.h>

/* Sort ascending, in place. None may be NaN. */
void values_sort(double *values, size_t n);

/* The middle of ascending values, or the mean of the middle two; NaN where there are none. */
double values_median(const double *sorted, size_t n);

/* The smallest of ascending values that a share of them, 0 to 1, does not exceed; n > 0. */
double values_reach(const double *sorted, size_t n, double share);

/*
 * The numbers of an array, ascending; what is not a number is left out. member: of its objects, or
 * NULL where the items are the numbers. values has room for all items. @return how many there are
 */
size_t values_collect(const json_t *array, const char *member, double *values);

#endif
