/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The definition of an MPI function behind ours: another tool's, or the library's. A tool behind
 * us is reached by our calling the next MPI_X. One in front of us calls PMPI_X: what must not be
 * missed, beginning and end, is therefore defined as PMPI_X too. A tool behind that calls PMPI_X
 * comes back to us then, and is passed on. (Not so for what libictus calls to synchronise and to
 * harmonize: that is PMPI_X, so that no tool takes it for the program's.)
 */
#ifndef ICTUS_PRELOAD_BEHIND_H
#define ICTUS_PRELOAD_BEHIND_H

#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

/* Find a symbol once. The MPI library is loaded, so there is always one. */
static inline uintptr_t preload_find(_Atomic uintptr_t *found, const char *name)
{
    uintptr_t address = atomic_load_explicit(found, memory_order_relaxed);
    if (!address) {
        address = (uintptr_t)dlsym(RTLD_NEXT, name);
        atomic_store_explicit(found, address, memory_order_relaxed);
    }
    return address;
}

/* behind_MPI_X(): a pointer to the next MPI_X. */
/* NOLINTBEGIN(bugprone-macro-parentheses): the argument is a name */
#define PRELOAD_BEHIND(name)                                                                       \
    static __typeof__(&name) behind_##name(void)                                                   \
    {                                                                                              \
        static _Atomic uintptr_t found;                                                            \
        return (__typeof__(&name))preload_find(&found, #name);                                     \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
