/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call sites: the places in the program that call MPI, each known by the address to which the call
 * returns. A record has a place's number; the log says once, when the place is first seen, which
 * file was mapped there and at which offset, so that nothing must be resolved while the program
 * runs, and what was loaded later or unloaded again is known all the same.
 *
 * A Fortran program's calls come through the MPI library's binding, whose functions are no places
 * of the program: a place there leads to the one from which the binding was called, as far up the
 * stack as its frame is large.
 */
#ifndef ICTUS_TRACER_SITES_H
#define ICTUS_TRACER_SITES_H

#include <stdatomic.h>
#include <stdint.h>

/* Numbers have 16 bits; 0 stands for a place that is not known. Slots: of a table half full. */
enum { SITE_NUMBERS = 1 << 13, SITE_SLOT_BITS = 14, SITE_NUMBER_BITS = 16 };

/*
 * SITE_FROM() says where the function that it stands in was called from. On x86-64 that is the
 * stack as the caller finds it again, below which is the address to which the function returns.
 */
#ifdef __x86_64__
#define SITE_FROM() __builtin_dwarf_cfa()
#else
#define SITE_FROM() __builtin_return_address(0)
#endif

static inline uint64_t site_address(const void *from)
{
#ifdef __x86_64__
    return ((const uint64_t *)from)[-1];
#else
    return (uint64_t)(uintptr_t)from;
#endif
}

struct sites {
    _Atomic uint64_t slots[1 << SITE_SLOT_BITS]; /* address << 16 | number, see sites.c; 0: free */
    _Atomic uint32_t last;                       /* number given */
};

/*
 * The slow path of sites_number(): a place that is not in its first slot, perhaps a new one, or one
 * in the Fortran binding, which without the stack has no number.
 */
uint64_t ictusi_sites_find(struct sites *sites, uint64_t address, const void *stack);

static inline uint64_t sites_slot(uint64_t address)
{
    return address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SITE_SLOT_BITS);
}

/*
 * The number of the place to which a call returns. Addresses of programs have 48 bits at most.
 * @param stack  as the caller finds it then, or NULL; looked at only if the place is in the Fortran
 * binding
 */
static inline uint64_t sites_number(struct sites *sites, uint64_t address, const void *stack)
{
    const uint64_t there =
        atomic_load_explicit(&sites->slots[sites_slot(address)], memory_order_relaxed);
    if (__builtin_expect(there >> SITE_NUMBER_BITS == address, 1)) {
        return there & ((1 << SITE_NUMBER_BITS) - 1);
    }
    return ictusi_sites_find(sites, address, stack);
}

#endif
