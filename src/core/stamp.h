/* SPDX-License-Identifier: BSD-3-Clause */
/* One request and its reply, as stamped by the client, and what a burst of them shows about the
 * offset between two clocks. Instants are nanoseconds on their own clock. Any value is valid. */
#ifndef ICTUS_CORE_STAMP_H
#define ICTUS_CORE_STAMP_H

#include <stdint.h>

/* One exchange: the client sends, the server stamps and answers, the client receives. */
struct stamp {
    int64_t sent;     /* on the client's clock, just before the request was sent */
    int64_t remote;   /* on the server's clock, between request and reply */
    int64_t received; /* on the client's clock, just after the reply arrived */
};

/* Remote minus local clock at one local instant. */
struct offset {
    int64_t at;           /* local instant to which the offset belongs */
    int64_t offset;       /* ns, whole part */
    double frac;          /* ns, fraction: within [-0.5, 0.5] */
    double rtt_min_ns;    /* shortest round trip */
    double half_width_ns; /* the true offset at `at` is within +- this, unless a clock stepped */
};

#endif
