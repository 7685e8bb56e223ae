/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fortran's names for C functions that stand in front of MPI's: mpif.h and `use mpi` callers reach
 * one of the four customary spellings, mpi_f08 callers NAME_f08_ (a handle is a structure of one
 * integer there, and the last argument is optional).
 */
#ifndef ICTUS_PRELOAD_FORTRAN_H
#define ICTUS_PRELOAD_FORTRAN_H

#include <mpi.h>
#include <stddef.h>

#define PRELOAD_API __attribute__((visibility("default")))

/* One spelling: declare, then define by calling `body` with the same arguments. */
#define PRELOAD_NAME(type, name, body, params, args)                                               \
    PRELOAD_API type name params;                                                                  \
    type name params                                                                               \
    {                                                                                              \
        body args;                                                                                 \
    }

#define PRELOAD_FORTRAN(lower, upper, body, params, args)                                          \
    PRELOAD_NAME(void, lower, body, params, args)                                                  \
    PRELOAD_NAME(void, lower##_, body, params, args)                                               \
    PRELOAD_NAME(void, lower##__, body, params, args)                                              \
    PRELOAD_NAME(void, lower##_f08_, body, params, args)                                           \
    PRELOAD_NAME(void, upper, body, params, args)

static inline void preload_error(MPI_Fint *ierror, int err)
{
    if (ierror) {
        *ierror = err;
    }
}

#endif
