/* SPDX-License-Identifier: BSD-3-Clause */
/* One repetition on one process, and how it comes to the operation. */
#ifndef ICTUS_BENCH_ARRIVE_H
#define ICTUS_BENCH_ARRIVE_H

#include "bench/operation.h"
#include "sync/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* One repetition on this process. */
struct sample {
    int64_t start, stop; /* of the local source */
    /* The same on the global clock as it was then: it may be made again before they are reduced. */
    int64_t begin, end;
    int64_t common; /* global instant at which the first may arrive; only if has_common */
    bool has_common;
    bool valid;
    bool late; /* something kept it waiting beyond the arrival that was asked for */
};

/*
 * Wait for call->next after the common instant, where the scheme has one, so that a late start adds
 * nothing to it; else after sample->start. Sets start to the arrival, moves the common instant to
 * where the first may arrive, and says whether this process was late: such a repetition is none of
 * the pattern.
 *
 * Who is to compute goes through memory as fast as it can until it arrives: as after the
 * application's own computation, neither what the operation needs nor its code is in the nearest
 * caches.
 */
void ictusi_arrive(const struct ictus_clock *clock, struct call *call, struct sample *sample);

/* Bytes that a call's process needs at call->work. */
uint64_t ictusi_arrive_bytes(const struct call *call);

#endif
