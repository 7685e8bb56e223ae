/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process arrives at the operation with the delay that a pattern gives it: after waiting
 * idly, or after computing.
 */
#include "bench/arrive.h"

#include "sync/wait.h"

enum {
    /*
     * Cache lines between two readings of the clock. A reading takes as long as some ten lines do:
     * with a few, the process would go through memory at half the speed of a program.
     */
    WORK_LINES = 32,
    LINE_BYTES = 64,
    MARGIN_NS = 2000 /* upper bound on the time for WORK_LINES lines when the memory is busy */
};

uint64_t ictusi_arrive_bytes(const struct call *call)
{
#if defined(ICTUS_SIMGRID)
    (void)call; /* Computing takes no simulated time, and SimGrid models no caches. */
    return 0;
#else
    return arrival_computes(&call->arrival) ? (uint64_t)call->arrival.footprint : 0;
#endif
}

/*
 * The load that stands in for an application's computation: one read-modify-write in each cache
 * line of a buffer, over and over until the instant. It leaves the caches as an application does
 * that goes through so much memory.
 */
static void arrive_work_until(const struct source *source, struct call *call, int64_t instant)
{
    const size_t size = (size_t)call->arrival.footprint;
    int64_t now = ictusi_source_read(source);
    /*
     * If the clock is set back, stop at once. Otherwise the loop would go on for as long as the
     * clock was set back.
     */
    for (int64_t before = now; now < instant && now >= before;) {
        for (int i = 0; i < WORK_LINES; i++) {
            ((volatile unsigned char *)call->work)[call->work_at]++;
            call->work_at = call->work_at + LINE_BYTES < size ? call->work_at + LINE_BYTES : 0;
        }
        before = now;
        now = ictusi_source_read(source);
    }
}

/*
 * An application that was inside MPI shortly before it arrives has just received what had come
 * until then, and finds the code of MPI in the caches. So the process calls MPI at the same
 * distance from its arrival. It probes for messages, of which there are none on this communicator,
 * until the instant at which the application left MPI.
 */
static void arrive_call_until(const struct source *source, const struct call *call, int64_t instant)
{
    int64_t now = ictusi_source_read(source);
    int64_t before = now;
    do {
        int found = 0;
        (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, call->comm, &found, MPI_STATUS_IGNORE);
        before = now;
        now = ictusi_source_read(source);
    } while (now < instant && now >= before);
}

static void arrive_compute_until(const struct source *source, struct call *call, int64_t arrival)
{
    const int64_t silence = call->next.silence_ns;
    (void)ictusi_sync_wait_until(source, arrival - call->next.gap_ns, false);
    if (silence > 0) {
        arrive_work_until(source, call, arrival - silence - MARGIN_NS);
        arrive_call_until(source, call, arrival - silence);
    }
    arrive_work_until(source, call, arrival - MARGIN_NS);
}

/*
 * The computation ends MARGIN_NS before the arrival and a spin covers the rest. Otherwise the
 * arrival would be as imprecise as WORK_LINES cache lines take.
 */
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
    /*
     * If processes share cores, a process that computes would keep others from arriving on time.
     * All of them wait idly then.
     */
    if (call->work && next->gap_ns > MARGIN_NS && !clock->crowded) {
        arrive_compute_until(source, call, arrival);
        sample->start = ictusi_source_read(source);
    }
    if (sample->start < arrival) {
        sample->start = ictusi_sync_wait_until(source, arrival, clock->crowded);
    }
    sample->late = sample->start - arrival > call->tolerance_ns;
}
