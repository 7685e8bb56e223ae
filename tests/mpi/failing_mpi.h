/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI calls, one of which a test makes fail on all ranks. A test is linked with --wrap for each. */
#ifndef ICTUS_TESTS_FAILING_MPI_H
#define ICTUS_TESTS_FAILING_MPI_H

#include <mpi.h>
#include <stdbool.h>

static int failing, calls; /* the call of MPI that fails, on all ranks */

static bool call_fails(void)
{
    return ++calls == failing;
}

#define FAILS(RETURN, NAME, PARAMETERS, ARGUMENTS)                                                 \
    RETURN __real_##NAME PARAMETERS; /* NOLINT(bugprone-reserved-identifier) */                    \
    RETURN __wrap_##NAME PARAMETERS; /* NOLINT(bugprone-reserved-identifier) */                    \
    RETURN __wrap_##NAME PARAMETERS                                                                \
    {                                                                                              \
        return call_fails() ? MPI_ERR_OTHER : __real_##NAME ARGUMENTS;                             \
    }

FAILS(int, PMPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
FAILS(int, PMPI_Allreduce,
      (const void *in, void *out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
      (in, out, n, t, op, c))
FAILS(int, PMPI_Gather,
      (const void *in, int m, MPI_Datatype s, void *out, int n, MPI_Datatype t, int root,
       MPI_Comm c),
      (in, m, s, out, n, t, root, c))

#endif
