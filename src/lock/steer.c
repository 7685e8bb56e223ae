/* SPDX-License-Identifier: BSD-3-Clause */
/* Steering the system's clock. */
#include "steer.h"

#include <errno.h>
#include <ictus/text.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* If the offset is larger than this (ns) at the first locked poll, step once. ntpd uses 128 ms,
 * chronyd 1 s. */
static const double step_ns = 1.28e8;

/* The kernel's own limit of the frequency correction. */
static const double frequency_max = 5e-4;

/* Offsets below this (ns) are removed by rate over this many seconds: at most 5 ppm. */
static const double fine_ns = 2e4;
static const double fine_s = 4.0;

/* The kernel is informed of a leap second that is no further away than this (ns). */
static const int64_t leap_soon_ns = INT64_C(12) * 3600 * 1000000000;

static int steer_adjust_system(struct timex *request)
{
    return clock_adjtime(CLOCK_REALTIME, request);
}

void ictusi_steer_init(struct steer *steer)
{
    memset(steer, 0, sizeof(*steer));
    steer->adjust = steer_adjust_system;
}

static void steer_call(struct steer *steer, struct timex *request)
{
    steer->last_errno = steer->adjust(request) < 0 ? errno : 0;
}

/*
 * ADJ_SETOFFSET adds a signed time whose fraction must be between 0 and 1 s, so -0.25 s is -1 s +
 * 0.75 s. It is relative, and so exact however late the call is made. clock_settime() would lose
 * the time between computing and setting.
 */
static void steer_step(struct steer *steer, double offset_ns)
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
    request.time.tv_usec = rest; /* nanoseconds because of ADJ_NANO */
    steer_call(steer, &request);
}

/* The first call, without a mode, reads the present frequency, and the second one writes it
 * back. Only the second one fails without the privilege. */
int ictusi_steer_check(struct steer *steer, struct ictus_why *why)
{
    struct timex request;
    memset(&request, 0, sizeof(request));
    steer_call(steer, &request);
    /* Writing the same frequency changes nothing but needs the privilege. */
    request.modes = ADJ_FREQUENCY;
    steer_call(steer, &request);
    return steer->last_errno
               ? ictus_because(why, ICTUS_ERR_PERMISSION,
                               "--steer cannot set the system's clock (%s): it needs CAP_SYS_TIME",
                               strerror(steer->last_errno))
               : ICTUS_OK;
}

/*
 * clock_adjtime(2) takes the frequency in ppm with 16 bits of fraction, and errors in microseconds.
 * The errors are rounded up, because programs rely on them. The tick is reset to its nominal 10000
 * us, because another daemon may have left one that changes the rate by up to 10 %.
 */
static void steer_set_rate(struct steer *steer, double rate, const struct page_clock *clock)
{
    struct timex request;
    memset(&request, 0, sizeof(request));
    request.modes = ADJ_FREQUENCY;
    const double within = fmin(frequency_max, fmax(-frequency_max, rate));
    request.freq = lround(within * 1e6 * 65536.0); /* ppm, 16 bits of fraction */
    if (clock) {
        request.modes |= ADJ_TICK | ADJ_STATUS;
        request.tick = 10000;
        request.status = clock->bound_ns < 1e9 ? 0 : STA_UNSYNC;
        if (clock->leap_ns && clock->leap_at - clock->value < leap_soon_ns) {
            request.status |= clock->leap_ns < 0 ? STA_INS : STA_DEL;
        }
        if (!(request.status & STA_UNSYNC)) {
            request.modes |= ADJ_MAXERROR | ADJ_ESTERROR;
            request.maxerror = (long)(clock->bound_ns / 1e3) + 1;
            request.esterror = (long)(sqrt(clock->pp_ns2) / 1e3) + 1;
        }
    }
    steer_call(steer, &request);
}

/*
 * Let the kernel remove a phase at 500 ppm. This is the mechanism of adjtime(3): the kernel runs
 * 500 ppm faster or slower until the microseconds are used up, even if this daemon has ended. With
 * ADJ_OFFSET_SINGLESHOT the unit is the microsecond, even together with ADJ_NANO. 0 cancels the
 * rest.
 */
static void steer_slew(struct steer *steer, double ns)
{
    struct timex request;
    memset(&request, 0, sizeof(request));
    request.modes = ADJ_OFFSET_SINGLESHOT;
    request.offset = lround(ns / 1e3); /* microseconds, always */
    steer_call(steer, &request);
    steer->slewing = request.offset != 0;
}

/*
 * offset_ns is the system clock minus ours. There are three ways to remove it: at the first locked
 * poll a single step if it is large; above fine_ns the kernel's slew, which ends by itself; below
 * that a rate that would remove it in fine_s. The last one is proportional control with a gain of
 * 1/fine_s, applied every second. It is stable for intervals of up to 2 fine_s.
 */
void ictusi_steer_apply(struct steer *steer, const struct page_clock *clock, double offset_ns)
{
    if (clock->state == ICTUS_LOCK_UNLOCKED) {
        ictusi_steer_release(steer);
        return;
    }
    if (!steer->settled && fabs(offset_ns) > step_ns) {
        steer_step(steer, offset_ns);
        offset_ns = 0.0;
    }
    steer->settled = true;
    steer->slope = clock->slope;
    steer->steered = true;
    if (fabs(offset_ns) > fine_ns) {
        steer_set_rate(steer, clock->slope, clock);
        steer_slew(steer, -offset_ns);
        return;
    }
    if (steer->slewing) {
        steer_slew(steer, 0.0);
    }
    steer_set_rate(steer, clock->slope - offset_ns * 1e-9 / fine_s, clock);
}

void ictusi_steer_release(struct steer *steer)
{
    if (steer->slewing) {
        steer_slew(steer, 0.0);
    }
    if (steer->steered) {
        steer_set_rate(steer, steer->slope, NULL);
    }
    steer->steered = false;
}
