/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call sites: the places in the program that call MPI, each known by the address to which the call
 * returns. A record has a place's number; the log says once, when the place is first seen, which
 * file was mapped there and at which offset, so that nothing must be resolved while the program
 * runs, and what was loaded later or unloaded again is known all the same.
 */
#ifndef ICTUS_TRACER_SITES_H
#define ICTUS_TRACER_SITES_H

#include <stdatomic.h>
#include <stdint.h>

/* Numbers have 16 bits; 0 stands for a place that is not known. Slots: of a table half full. */
enum { SITE_NUMBERS = 1 << 13, SITE_SLOT_BITS = 14, SITE_NUMBER_BITS = 16 };

struct sites {
    _Atomic uint64_t slots[1 << SITE_SLOT_BITS]; /* address << 16 | number; 0: free */
    _Atomic uint32_t last;                       /* number given */
};

/* The slow path of sites_number(): a place that is not in its first slot, perhaps a new one. */
uint64_t ictusi_sites_find(struct sites *sites, uint64_t address);

static inline uint64_t sites_slot(uint64_t address)
{
    return address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SITE_SLOT_BITS);
}

/* The number of the place to which a call returns. Addresses of programs have 48 bits at most. */
static inline uint64_t sites_number(struct sites *sites, const void *from)
{
    const uint64_t address = (uint64_t)(uintptr_t)from;
    const uint64_t there =
        atomic_load_explicit(&sites->slots[sites_slot(address)], memory_order_relaxed);
    if (__builtin_expect(there >> SITE_NUMBER_BITS == address, 1)) {
        return there & ((1 << SITE_NUMBER_BITS) - 1);
    }
    return ictusi_sites_find(sites, address);
}

#endif
