/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics of plain arrays. */
#include "main/values.h"

#include <math.h>
#include <stdlib.h>

static int values_compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

void values_sort(double *values, size_t n)
{
    if (n > 1) {
        qsort(values, n, sizeof(*values), values_compare);
    }
}

double values_median(const double *sorted, size_t n)
{
    return n ? 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]) : NAN;
}

double values_reach(const double *sorted, size_t n, double share)
{
    const size_t within = (size_t)ceil(share * (double)n);
    return sorted[within > 0 ? within - 1 : 0];
}

size_t values_collect(const json_t *array, const char *member, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        const json_t *value = member ? json_object_get(item, member) : item;
        if (json_is_number(value)) {
            values[count++] = json_number_value(value);
        }
    }
    values_sort(values, count);
    return count;
}
