/* SPDX-License-Identifier: BSD-3-Clause */
/* What is planted in a simulated cluster: slow nodes and links, clocks out of line. */
#ifndef ICTUS_TOOLS_SIMULATE_FAULTS_H
#define ICTUS_TOOLS_SIMULATE_FAULTS_H

#include <ictus/error.h>
#include <stdint.h>

enum { SIMULATE_FAULTS_BYTES = 512 };

/*
 * Read NODE:TIME and NODE-NODE:TIME, separated by commas, for a cluster of so many nodes; seconds
 * is the list as the platform reads it. Errors: ICTUS_ERR_SPEC.
 */
int simulate_faults_slow(const char *list, int64_t nodes, char seconds[SIMULATE_FAULTS_BYTES],
                         struct ictus_why *why);

/* Check NODE:RATIO and NODE:TIME, separated by commas. Errors: ICTUS_ERR_SPEC. */
int simulate_faults_clocks(const char *list, int64_t nodes, struct ictus_why *why);

#endif
