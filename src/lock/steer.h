/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steering CLOCK_REALTIME after the locked clock, only when asked to. Its frequency is the
 * oscillator's correction and nothing else: phase is removed by the kernel's own slew, which ends
 * by itself, or, below some microseconds, by a rate that is taken back a second later. So whatever
 * ends the daemon leaves the clock at its frequency. The system call is a member, so that tests
 * never touch a clock.
 */
#ifndef ICTUS_LOCK_STEER_H
#define ICTUS_LOCK_STEER_H

#include "page/page.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <sys/timex.h>

struct steer {
    int (*adjust)(struct timex *request); /* clock_adjtime(CLOCK_REALTIME, ...) */
    bool settled;                         /* the one step is behind us */
    bool slewing;                         /* the kernel is removing phase */
    bool steered;                         /* a frequency was set: slope */
    double slope;                         /* the oscillator's correction, as set last */
    int last_errno;                       /* of the last call, 0 when it worked */
};

void ictusi_steer_init(struct steer *steer);

/* Whether the clock may be set at all. @return ICTUS_OK or ICTUS_ERR_PERMISSION */
int ictusi_steer_check(struct steer *steer, struct ictus_why *why);

/* Once a second, whether polls come or not: offset_ns is CLOCK_REALTIME minus the clock now. */
void ictusi_steer_apply(struct steer *steer, const struct page_clock *clock, double offset_ns);

/* Leave the clock at its frequency. */
void ictusi_steer_release(struct steer *steer);

#endif
