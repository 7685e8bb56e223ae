/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory this node can still give. */
#ifndef ICTUS_BENCH_MEMORY_H
#define ICTUS_BENCH_MEMORY_H

#include <stdint.h>

/* Bytes that can be taken without swapping; UINT64_MAX where the system does not tell. Local. */
uint64_t ictusi_memory_available(void);

#endif
