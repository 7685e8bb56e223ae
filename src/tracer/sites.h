/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call sites: the places in the program that call MPI, each identified by the return address of the
 * call. Records contain the number of a place. When a place is first seen, the log states which
 * file was mapped there and at which offset. So nothing has to be resolved while the program runs,
 * and files that were loaded later or unloaded again are also known.
 *
 * A Fortran program calls MPI through the library's binding, whose functions are not places of the
 * program. A place there is replaced by the one that called the binding, which is found on the
 * stack by the size of the binding's frame.
 */
#ifndef ICTUS_TRACER_SITES_H
#define ICTUS_TRACER_SITES_H

#include <stdatomic.h>
#include <stdint.h>

/* Numbers have 16 bits; 0 is an unknown place. The table of slots is at most half full. */
enum { SITE_NUMBERS = 1 << 13, SITE_SLOT_BITS = 14, SITE_NUMBER_BITS = 16 };

/*
 * SITE_FROM() tells where the function that uses it was called from. On x86-64 that is the caller's
 * stack pointer after the return; the return address is just below it.
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
    _Atomic uint32_t last;                       /* number assigned */
};

/*
 * The slow path of sites_number(): the place is not in its first slot, or is new, or is in the
 * Fortran binding. Without the stack, a place in the binding has no number.
 */
uint64_t ictusi_sites_find(struct sites *sites, uint64_t address, const void *stack);

static inline uint64_t sites_slot(uint64_t address)
{
    return address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SITE_SLOT_BITS);
}

/*
 * The number of the place that a call returns to. Addresses of programs have at most 48 bits.
 * @param stack  the caller's stack pointer after the return, or NULL; used only if the place is in
 * the Fortran binding
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
