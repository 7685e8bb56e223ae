/* SPDX-License-Identifier: BSD-3-Clause */
/* A comparison of a remote clock with the local one, however it was made. */
#ifndef ICTUS_LOCK_SAMPLE_H
#define ICTUS_LOCK_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct sample {
    int64_t local;     /* CLOCK_MONOTONIC_RAW at the middle of the exchange */
    int64_t offset_ns; /* remote minus local at that time */
    double delay_ns;   /* round trip without the server's hold; 0 for a local reference */
    double bound_ns;   /* limit of the offset's error: at least half the delay */
    double root_ns;    /* distance to the truth as stated by the remote clock */
    double sigma_ns;   /* a priori standard deviation of a reference; 0: learned from delays */
    double send_ns;    /* M00 figure 4: client's send overhead, */
    double network_ns; /* network, */
    double receive_ns; /* and receive overhead; zeros with user stamps */
    bool interleaved;  /* all four stamps from the kernel */
    bool kernel;       /* the client's two stamps are from the kernel or the card */
};

#endif
