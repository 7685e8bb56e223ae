/* SPDX-License-Identifier: BSD-3-Clause */
/* Backward amortisation (B07 3.2 and 4.2): smooth the jumps of the logical clock. */
#ifndef ICTUS_CAUSALITY_BACKWARD_H
#define ICTUS_CAUSALITY_BACKWARD_H

#include "causality/points.h"

struct backward_stats {
    uint64_t jumps;       /* ramps that were started */
    uint64_t limited;     /* of these, those broken by a send's limit */
    double largest_slope; /* between two points, beyond what rounding to ticks explains */
    uint64_t steep;       /* intervals steeper than requested */
};

/*
 * For the points [first, end) of one location: raise values, never above a point's limit nor below
 * the value of the forward pass, so that the shift value - time grows towards each jump by at most
 * `slope` where the limits allow, and otherwise by as little more as they allow. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_backward(struct points *points, uint64_t first, uint64_t end, double slope,
                    struct backward_stats *stats);

/* Add the statistics of another location. */
void ictusi_backward_add(struct backward_stats *sum, const struct backward_stats *more);

#endif
