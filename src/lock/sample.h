/* SPDX-License-Identifier: BSD-3-Clause */
/* One comparison of a remote clock with the local one, however it was made. */
#ifndef ICTUS_LOCK_SAMPLE_H
#define ICTUS_LOCK_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct sample {
    int64_t local;     /* CLOCK_MONOTONIC_RAW at its middle */
    int64_t offset_ns; /* remote minus local then */
    double delay_ns;   /* round trip without the server's hold; 0 for a local reference */
    double bound_ns;   /* the offset cannot be further off than this: half the delay, at least */
    double root_ns;    /* what the remote clock said then of its own distance to the truth */
    double sigma_ns;   /* a priori standard deviation of a reference; 0: learn it from delays */
    double send_ns;    /* M00 figure 4: client's send overhead, */
    double network_ns; /* network, */
    double receive_ns; /* and receive overhead; zeros with user stamps */
    bool interleaved;  /* all four stamps from the kernel */
    bool kernel;       /* the client's two stamps are the kernel's or the card's */
};

#endif
