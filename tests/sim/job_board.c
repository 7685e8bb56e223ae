/* SPDX-License-Identifier: BSD-3-Clause */
/* The notice board, where looking at memory takes time: else a rank that spins would see no change.
 */
#include "job.h"

#include <stdatomic.h>

/* NOLINTBEGIN(readability-identifier-naming): the C library's name */
#undef atomic_load_explicit
#define atomic_load_explicit(place, order) (job_look(), *(place))
/* NOLINTEND(readability-identifier-naming) */

/* NOLINTNEXTLINE(bugprone-suspicious-include): instead of the library's own */
#include "harmonize/board.c"
