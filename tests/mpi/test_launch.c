/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * That build/launch starts as many processes of one job as it was asked for, that they can talk,
 * and that waiting ones yield.
 */
#include <dlfcn.h>
#include <string.h>

#include "check_mpi.h"

/* MPICH never yields by itself: the launcher preloads what does (tests/mpi/yield.c). */
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
