/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands whose work takes one process: under a launcher, rank 0 does it with threads on the
 * processors of all processes of its node, which sleep meanwhile.
 */
#ifndef ICTUS_TOOLS_LEAD_H
#define ICTUS_TOOLS_LEAD_H

#include <stdbool.h>

/*
 * Collective where MPI is up. Whether this process is to do the work. It may then use the
 * processors that the launcher gave to any process of its node.
 */
bool lead_begin(void);

/* Collective where MPI is up: sleep until rank 0 has done the work. */
void lead_end(void);

/* Collective where MPI is up: what rank 0 says. */
bool lead_agree(bool value);

#endif
