/* SPDX-License-Identifier: BSD-3-Clause */
/* One repetition on one process, and how the process arrives at the operation. */
#ifndef ICTUS_BENCH_ARRIVE_H
#define ICTUS_BENCH_ARRIVE_H

#include "bench/operation.h"
#include "sync/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* One repetition on this process. */
struct sample {
    int64_t start, stop; /* readings of the local source */
    /*
     * The same two instants on the global clock, mapped at once: the clock may be fitted again
     * before the samples are reduced.
     */
    int64_t begin, end;
    /* global instant at which the first process may arrive; valid only if has_common */
    int64_t common;
    bool has_common;
    bool valid;
    bool late; /* the process arrived later than its pattern asked for */
};

/*
 * Wait until call->next after the common instant, or after sample->start if the scheme has no
 * common instant. Because the delay counts from the common instant, a late start does not add to
 * it. Sets sample->start to the arrival, moves the common instant to where the first process may
 * arrive, and records whether this process was late. A late process makes the repetition unusable,
 * since its arrivals no longer follow the pattern.
 *
 * If the pattern asks for computation, the process goes through memory as fast as it can until it
 * arrives. As after an application's own computation, neither the data nor the code of the
 * operation is then in the nearest caches.
 */
void ictusi_arrive(const struct ictus_clock *clock, struct call *call, struct sample *sample);

/* Bytes of memory that this process needs at call->work. */
uint64_t ictusi_arrive_bytes(const struct call *call);

#endif
