/* SPDX-License-Identifier: BSD-3-Clause */
/* The datagram of chrony's SOCK reference clock. */
#ifndef ICTUS_LOCK_REFERENCE_SOCK_H
#define ICTUS_LOCK_REFERENCE_SOCK_H

#include "page/timebase.h"
#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>

struct sock_message {
    struct timeval time; /* on the system's clock */
    double offset;       /* true minus system time, in s */
    int pulse;           /* not 0: only the fraction of a second counts */
    int leap;
    int padding;
    int magic;
};

/* utc_ns: what the clock shows at the pair of `base`, or 0. @return false if the message is to
 * be ignored */
bool ictusi_sock_sample(const struct sock_message *message, size_t length, struct timebase *base,
                        int64_t utc_ns, struct sample *sample);

#endif
