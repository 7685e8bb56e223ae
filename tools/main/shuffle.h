/* SPDX-License-Identifier: BSD-3-Clause */
/* Random orders that are the same on every rank and machine for a seed. */
#ifndef ICTUS_TOOLS_SHUFFLE_H
#define ICTUS_TOOLS_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* The next number of a splitmix64 sequence. */
uint64_t shuffle_next(uint64_t *state);

/* Put count numbers into random order (Fisher and Yates). */
void shuffle_order(size_t *order, size_t count, uint64_t *state);

#endif
