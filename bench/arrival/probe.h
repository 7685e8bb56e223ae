/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How cold the caches are when a process comes to a collective: the time to go through a chain of
 * lines that nobody else uses and that were last read at the collective before. Warm, a line costs
 * what the nearest cache does; cold, what memory does. MPI's own lines fare as these do.
 */
#ifndef BENCH_ARRIVAL_PROBE_H
#define BENCH_ARRIVAL_PROBE_H

#include <stdint.h>
#include <time.h>

enum { PROBE_LINES = 8, PROBE_STRIDE = 4096 + 192 }; /* each in a page and a set of its own */

/* Volatile: its reads stay between those of the clock. */
struct probe {
    void *volatile lines[(PROBE_LINES + 1) * PROBE_STRIDE / sizeof(void *)];
};

/* One collective of one process, as the wrapper writes it to a file. */
struct probe_row {
    int64_t enter, leave;     /* ns, of the clock that the machine's processes share */
    int64_t cold;             /* ns that the chain took before it was entered */
    int64_t since_collective; /* ns since one was left */
    int64_t since_any;        /* ns since any MPI function that is wrapped was left */
    int64_t operation;        /* enum probe_operation */
    int64_t bytes, place;     /* of the call: offset in its object */
};

enum probe_operation { PROBE_ALLREDUCE, PROBE_IN_PLACE, PROBE_BCAST, PROBE_BARRIER, PROBE_REDUCE };

static inline int64_t probe_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
