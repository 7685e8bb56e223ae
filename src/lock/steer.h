/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steers CLOCK_REALTIME to the locked clock, if requested. Its frequency is set to the oscillator's
 * correction only. Phase is removed by the kernel's own slew, which ends by itself, or, below some
 * microseconds, by a rate that is withdrawn a second later. Thus, however the daemon ends, the
 * clock keeps its right frequency. The system call is a member, so that tests do not touch a clock.
 */
#ifndef ICTUS_LOCK_STEER_H
#define ICTUS_LOCK_STEER_H

#include "page/page.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <sys/timex.h>

struct steer {
    int (*adjust)(struct timex *request); /* clock_adjtime(CLOCK_REALTIME, ...) */
    bool settled;                         /* the single step, if any, has been made */
    bool slewing;                         /* the kernel is removing phase */
    bool steered;                         /* a frequency has been set: slope */
    double slope;                         /* the oscillator's correction that was set last */
    int last_errno;                       /* of the last call; 0 if it succeeded */
};

void ictusi_steer_init(struct steer *steer);

/* Check that the clock may be set. @return ICTUS_OK or ICTUS_ERR_PERMISSION */
int ictusi_steer_check(struct steer *steer, struct ictus_why *why);

/* Called once a second, with or without polls. offset_ns is CLOCK_REALTIME minus the clock now. */
void ictusi_steer_apply(struct steer *steer, const struct page_clock *clock, double offset_ns);

/* Stop steering and leave the clock at its frequency. */
void ictusi_steer_release(struct steer *steer);

#endif
