/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steering CLOCK_REALTIME after the locked clock, only when asked to: by frequency, and by one step
 * at the start where it is far off. The system call is a member, so that tests never touch a clock.
 */
#ifndef ICTUS_LOCK_STEER_H
#define ICTUS_LOCK_STEER_H

#include "page/page.h"

#include <stdbool.h>
#include <sys/timex.h>

struct steer {
    int (*adjust)(struct timex *request); /* clock_adjtime(CLOCK_REALTIME, ...) */
    bool settled;                         /* the one step is behind us */
    int last_errno;                       /* of the last call, 0 when it worked */
};

void ictusi_steer_init(struct steer *steer);

/*
 * After each poll: offset_ns is CLOCK_REALTIME minus the clock; the rate that removes it within
 * about interval_s is added to the oscillator's own correction.
 */
void ictusi_steer_apply(struct steer *steer, const struct page_clock *clock, double offset_ns,
                        double interval_s);

#endif
