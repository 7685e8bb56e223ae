/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of CLOCK_MONOTONIC_RAW and CLOCK_REALTIME. */
#include "timebase.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* A pair is read at most PAIR_TRIES times. The pair with the smallest distance is kept, and a
 * distance of at most PAIR_GOOD_NS ends the search. */
enum { PAIR_TRIES = 12, PAIR_GOOD_NS = 90 };

/* Smaller steps are not detected, because a preemption between two readings looks like one. They
 * do little harm: the next pair corrects them. */
static const int64_t step_ns = 500000;

/* The rate between two pairs is uncertain by about half a distance over their span: 45 ns / 0.5
 * s, or 0.1 ppm. */
static const int64_t rate_span_ns = INT64_C(500000000);

static int64_t timebase_read_clock(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t ictusi_timebase_raw_now(void)
{
    return timebase_read_clock(CLOCK_MONOTONIC_RAW);
}

int64_t ictusi_timebase_real_now(void)
{
    return timebase_read_clock(CLOCK_REALTIME);
}

/* Return outer - inner, in ns, from the try whose two outer readings are closest together. */
static int64_t clock_difference(clockid_t outer, clockid_t inner)
{
    int64_t best = 0;
    int64_t best_width = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        const int64_t before = timebase_read_clock(outer);
        const int64_t middle = timebase_read_clock(inner);
        const int64_t after = timebase_read_clock(outer);
        if (after - before < best_width) {
            best_width = after - before;
            best = before + (after - before) / 2 - middle;
        }
    }
    return best;
}

static void timebase_read_pair(int64_t *raw, int64_t *real, double *width)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < PAIR_TRIES && best > PAIR_GOOD_NS; i++) {
        const int64_t before = timebase_read_clock(CLOCK_MONOTONIC_RAW);
        const int64_t middle = timebase_read_clock(CLOCK_REALTIME);
        const int64_t after = timebase_read_clock(CLOCK_MONOTONIC_RAW);
        if (after - before < best) {
            best = after - before;
            *raw = before + best / 2;
            *real = middle;
        }
    }
    *width = (double)best;
}

bool ictusi_timebase_stamp_join(int64_t seconds, int64_t nanoseconds, int64_t *ns)
{
    static const int64_t second = 1000000000;
    static const int64_t margin_s = 3600; /* leaves room for differences near the end */
    if (seconds < 0 || seconds > INT64_MAX / second - margin_s || nanoseconds < 0 ||
        nanoseconds >= second) {
        return false;
    }
    *ns = seconds * second + nanoseconds;
    return true;
}

/*
 * Both CLOCK_REALTIME and CLOCK_MONOTONIC follow NTP's slewing, so their difference changes only if
 * CLOCK_REALTIME is stepped. CLOCK_BOOTTIME and CLOCK_MONOTONIC differ only by the time for which
 * the machine was suspended. After either event the measurement of the rate starts anew.
 */
unsigned ictusi_timebase_read(struct timebase *base)
{
    const struct timebase old = *base;
    unsigned events = 0;
    timebase_read_pair(&base->raw, &base->real, &base->width_ns);
    base->real_minus_mono = clock_difference(CLOCK_REALTIME, CLOCK_MONOTONIC);
    base->boot_minus_mono = clock_difference(CLOCK_BOOTTIME, CLOCK_MONOTONIC);
    base->started = true;
    if (!old.started) {
        base->rate_raw = base->raw;
        base->rate_real = base->real;
        return 0;
    }
    if (llabs(base->real_minus_mono - old.real_minus_mono) > step_ns) {
        events |= TIMEBASE_STEPPED;
        base->stepped++;
    }
    if (llabs(base->boot_minus_mono - old.boot_minus_mono) > step_ns) {
        events |= TIMEBASE_SUSPENDED;
        base->suspended++;
    }
    if (events) {
        base->rate_raw = base->raw;
        base->rate_real = base->real;
    } else if (base->real - base->rate_real >= rate_span_ns) {
        base->rate =
            (double)(base->raw - base->rate_raw) / (double)(base->real - base->rate_real) - 1.0;
        base->rate_raw = base->raw;
        base->rate_real = base->real;
    }
    return events;
}

int64_t ictusi_timebase_raw(const struct timebase *base, int64_t real)
{
    const int64_t d = real - base->real;
    return base->raw + d + (int64_t)lrint(base->rate * (double)d);
}

int64_t ictusi_timebase_real(const struct timebase *base, int64_t raw)
{
    const int64_t d = raw - base->raw;
    return base->real + d - (int64_t)lrint(base->rate * (double)d);
}
