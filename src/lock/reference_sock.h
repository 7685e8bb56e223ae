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
    struct timeval time; /* of the system's clock */
    double offset;       /* true minus system time, in s */
    int pulse;           /* not 0: only its fraction of a second counts */
    int leap;
    int padding;
    int magic;
};

/* utc_ns: what the clock shows at the pair of base, 0 for none. @return false: to be ignored */
bool ictusi_sock_sample(const struct sock_message *message, size_t length, struct timebase *base,
                        int64_t utc_ns, struct sample *sample);

#endif
