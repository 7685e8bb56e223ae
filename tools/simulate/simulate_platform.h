/* SPDX-License-Identifier: BSD-3-Clause */
/* The described cluster as SimGrid reads it: platform, host names, messages' jitter. */
#ifndef ICTUS_TOOLS_SIMULATE_PLATFORM_H
#define ICTUS_TOOLS_SIMULATE_PLATFORM_H

#include <ictus/error.h>
#include <stdint.h>

struct simulate_cluster {
    int64_t nodes, ppn;
    const char *topology; /* fat-tree, dragonfly, torus, or the path of a platform file */
    double latency_s;     /* between two nodes, the usual way */
    double bandwidth;     /* bytes per second of a link */
    double inside_bandwidth;
};

/* "exp:300ns,tail:1%:2us" taken apart. */
struct simulate_jitter {
    char shape[16];
    double mean_s;
    double tail, tail_s;
};

/* Errors: ICTUS_ERR_SPEC. */
int simulate_jitter_read(const char *text, struct simulate_jitter *jitter, struct ictus_why *why);

/*
 * Write the platform and the list of hosts, one line a rank. Errors: ICTUS_ERR_IO, ICTUS_ERR_SPEC
 * (an unknown topology, or a platform file with too few hosts).
 */
int simulate_platform_write(const struct simulate_cluster *cluster, const char *platform,
                            const char *hosts, struct ictus_why *why);

#endif
