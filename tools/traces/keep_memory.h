/* SPDX-License-Identifier: BSD-3-Clause */
/* Keep freed memory for the next location. */
#ifndef ICTUS_TOOLS_KEEP_MEMORY_H
#define ICTUS_TOOLS_KEEP_MEMORY_H

/*
 * The OTF2 library takes and clears about ten megabytes of buffers for each location. By default
 * the C library hands them back to the system in between, and getting them again costs
 * milliseconds: most of the time where locations are many and short. Has to come before the archive
 * is opened.
 */
void keep_memory(void);

#endif
