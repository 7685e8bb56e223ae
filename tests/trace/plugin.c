/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program in a library, as an interpreter's module is. */
#include <mpi.h>

#include <stddef.h>

enum { ROUNDS = 100 };

__attribute__((visibility("default"))) int run(void);

int run(void)
{
    MPI_Init(NULL, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
