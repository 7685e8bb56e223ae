/* SPDX-License-Identifier: BSD-3-Clause */
/* Arriving as a pattern asks: idle, or from computing. */
#include "bench/arrive.h"

#include "sync/wait.h"

enum {
    WORK_BYTES = 16 << 20, /* more than a core's own caches; what is beyond matters little */
    WORK_LINES = 8,        /* between two looks at the clock */
    LINE_BYTES = 64,
    MARGIN_NS = 2000 /* so many lines may take this long where memory is busy */
};

uint64_t ictusi_arrive_bytes(const struct call *call)
{
#if defined(ICTUS_SIMGRID)
    (void)call; /* computing takes no simulated time, and there are no caches */
    return 0;
#else
    return arrival_computes(&call->arrival) ? WORK_BYTES : 0;
#endif
}

static void arrive_work_until(const struct source *source, struct call *call, int64_t instant)
{
    int64_t now = ictusi_source_read(source);
    /*
     * A clock that was set back ends the work at once: it might otherwise go on for as long as it
     * was set back by.
     */
    for (int64_t before = now; now < instant && now >= before;) {
        for (int i = 0; i < WORK_LINES; i++) {
            ((volatile unsigned char *)call->work)[call->work_at]++;
            call->work_at = (call->work_at + LINE_BYTES) % WORK_BYTES;
        }
        before = now;
        now = ictusi_source_read(source);
    }
}

void ictusi_arrive(const struct ictus_clock *clock, struct call *call, struct sample *sample)
{
    const struct source *source = clock->source;
    const struct arrival_turn *next = &call->next;
    const int64_t from =
        sample->has_common ? ictusi_line_unmap(&clock->line, sample->common) : sample->start;
    const int64_t arrival = from + next->lead_ns + next->delay_ns;
    if (sample->has_common) {
        sample->common += next->lead_ns;
    }
    /* Where processes share cores, who computes keeps others from arriving. */
    if (call->work && next->gap_ns > MARGIN_NS && !clock->crowded) {
        (void)ictusi_sync_wait_until(source, arrival - next->gap_ns, false);
        arrive_work_until(source, call, arrival - MARGIN_NS);
        sample->start = ictusi_source_read(source);
    }
    if (sample->start < arrival) {
        sample->start = ictusi_sync_wait_until(source, arrival, clock->crowded);
    }
    sample->late = sample->start - arrival > call->tolerance_ns;
}
