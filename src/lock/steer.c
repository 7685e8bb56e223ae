/* SPDX-License-Identifier: BSD-3-Clause */
/* Steering the system's clock. */
#include "steer.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* Farther off than this at the first locked poll: step once. ntpd and chronyd use 128 ms, 1 s. */
static const double step_ns = 1.28e8;

/* The kernel's own limit. */
static const double frequency_max = 5e-4;

/* Remove an offset over this many seconds at least. */
static const double shortest_s = 4.0;

static int adjust_system(struct timex *request)
{
    return clock_adjtime(CLOCK_REALTIME, request);
}

void ictusi_steer_init(struct steer *steer)
{
    memset(steer, 0, sizeof(*steer));
    steer->adjust = adjust_system;
}

static void call(struct steer *steer, struct timex *request)
{
    steer->last_errno = steer->adjust(request) < 0 ? errno : 0;
}

static void step(struct steer *steer, double offset_ns)
{
    struct timex request;
    const int64_t ns = -llround(offset_ns);
    int64_t seconds = ns / 1000000000;
    int64_t rest = ns % 1000000000;
    if (rest < 0) {
        rest += 1000000000;
        seconds--;
    }
    memset(&request, 0, sizeof(request));
    request.modes = ADJ_SETOFFSET | ADJ_NANO;
    request.time.tv_sec = seconds;
    request.time.tv_usec = rest; /* nanoseconds under ADJ_NANO */
    call(steer, &request);
}

void ictusi_steer_apply(struct steer *steer, const struct page_clock *clock, double offset_ns,
                        double interval_s)
{
    struct timex request;
    if (clock->state != ICTUS_LOCK_LOCKED) {
        return;
    }
    if (!steer->settled && fabs(offset_ns) > step_ns) {
        step(steer, offset_ns);
        offset_ns = 0.0;
    }
    steer->settled = true;
    const double slew = -offset_ns * 1e-9 / fmax(shortest_s, interval_s);
    const double rate = fmin(frequency_max, fmax(-frequency_max, clock->slope + slew));
    memset(&request, 0, sizeof(request));
    request.modes = ADJ_FREQUENCY | ADJ_TICK | ADJ_STATUS;
    request.tick = 10000;
    request.status = STA_UNSYNC;
    if (clock->bound_ns < 1e9) {
        request.status = 0;
        request.modes |= ADJ_MAXERROR | ADJ_ESTERROR;
        request.maxerror = (long)(clock->bound_ns / 1e3) + 1;
        request.esterror = (long)(sqrt(clock->pp_ns2) / 1e3) + 1;
    }
    request.freq = lround(rate * 1e6 * 65536.0); /* ppm, 16 bits of fraction */
    call(steer, &request);
}
