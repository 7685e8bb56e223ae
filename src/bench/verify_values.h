/* SPDX-License-Identifier: BSD-3-Clause */
/* The values that are sent where results are verified. */
#ifndef ICTUS_BENCH_VERIFY_VALUES_H
#define ICTUS_BENCH_VERIFY_VALUES_H

#include "bench/datatype.h"

#include <stdint.h>

/*
 * What a rank of so many contributes to element i of block b of a reduction. A missing contribution
 * of any rank shows in one of two consecutive rounds of as many elements as there are ranks.
 */
int64_t ictusi_verify_contribution(enum reduction_kind kind, int size, int rank, int b, int64_t i);

/* What a rank sends in element i of block b if nothing is reduced. */
int64_t ictusi_verify_plain(int rank, int b, int64_t i);

/* What swaps store in a target: a value that no element has before. */
int64_t ictusi_verify_swapped(int target);

#endif
