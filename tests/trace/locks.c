/* SPDX-License-Identifier: BSD-3-Clause */
/* Process 0 has the lock of a window while 1 asks for it, exclusive and with all targets; to be
 * traced. */
#include <mpi.h>
#include <time.h>

enum { ROUNDS = 8, HELD_NS = 20000000 };

static void locks_hold(MPI_Win win, int rank, int value)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    if (rank == 0) {
        const struct timespec held = {.tv_nsec = HELD_NS};
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        (void)nanosleep(&held, NULL);
    }
    MPI_Win_unlock(0, win);
}

static void locks_ask(MPI_Win win, int round)
{
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (round % 2) {
        MPI_Win_lock_all(0, win);
        MPI_Put(&round, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_unlock_all(win);
    } else {
        locks_hold(win, 1, round);
    }
}

int main(int argc, char **argv)
{
    int rank = 0;
    int *base = NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(2 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            locks_hold(win, 0, round);
        } else if (rank == 1) {
            locks_ask(win, round);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
