/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory this node has available. */
#ifndef ICTUS_BENCH_MEMORY_H
#define ICTUS_BENCH_MEMORY_H

#include <stdint.h>

/*
 * Bytes that can be allocated without swapping; UINT64_MAX if the system does not report it. Local.
 */
uint64_t ictusi_memory_available(void);

#endif
