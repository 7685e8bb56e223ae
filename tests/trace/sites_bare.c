/* SPDX-License-Identifier: BSD-3-Clause */
/* A call from a place without a line: compiled without debugging information. */
#include <mpi.h>

int sites_rank(void);

int sites_rank(void)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
