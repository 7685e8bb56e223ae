/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build/launch starts the requested number of processes as one job, they can communicate, and
 * processes that wait yield.
 */
#include <dlfcn.h>
#include <string.h>

#include "check_mpi.h"

/* MPICH never yields by itself, so the launcher preloads code that does (tests/mpi/yield.c). */
static void waiting_yields(void)
{
#ifdef MPICH_NAME
    Dl_info info;
    void *poll = dlsym(RTLD_DEFAULT, "ucp_worker_progress");
    CHECK(poll && dladdr(poll, &info) && strstr(info.dli_fname, "ictus-test-yield"));
#endif
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(argc == 2 && atoi(argv[1]) == check_size);
    int sum = 0;
    MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == check_size * (check_size - 1) / 2);

    const int next = (check_rank + 1) % check_size;
    const int previous = (check_rank + check_size - 1) % check_size;
    int got = -1;
    MPI_Sendrecv(&check_rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(got == previous);
    waiting_yields();
    return check_mpi_finish();
}
