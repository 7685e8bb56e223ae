/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request and its reply, as its client stamped it, and what a burst of them says about the
 * offset between two clocks. Instants are nanoseconds on their own clock; any value is legal.
 */
#ifndef ICTUS_CORE_STAMP_H
#define ICTUS_CORE_STAMP_H

#include <stdint.h>

/* One exchange: the client sends, the server stamps and answers, the client receives. */
struct stamp {
    int64_t sent;     /* on the client's clock, just before the request left */
    int64_t remote;   /* on the server's clock, between request and reply */
    int64_t received; /* on the client's clock, just after the reply came */
};

/* Remote minus local clock at one local instant. */
struct offset {
    int64_t at;           /* local instant the offset belongs to */
    int64_t offset;       /* ns, whole part */
    double frac;          /* ns, the rest: within [-0.5, 0.5] */
    double rtt_min_ns;    /* shortest round trip seen */
    double half_width_ns; /* the true offset at `at` lies within +- this, if no clock stepped */
};

#endif
