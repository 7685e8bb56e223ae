/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that ends as its argument says: kill (rank 1 gets SIGKILL), segfault, abort, exit
 * (without MPI_Finalize), fork (a child that goes on and ends), noinit. Every rank prints, before
 * that, how many barriers it has left behind.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 100 };

static void end(const char *how, int rank)
{
    static volatile int *const nowhere = NULL;
    if (strcmp(how, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (strcmp(how, "exit") == 0) {
        exit(4);
    }
    if (strcmp(how, "kill") == 0 && rank == 1) {
        (void)raise(SIGKILL);
    }
    if (strcmp(how, "segfault") == 0 && rank == 1) {
        *nowhere = 1;
    }
}

int main(int argc, char **argv)
{
    int rank = 0;
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "noinit") == 0) {
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (i == ROUNDS / 2 && strcmp(how, "fork") == 0) {
            const pid_t child = fork();
            if (child == 0) {
                _exit(0);
            }
            (void)waitpid(child, NULL, 0);
        }
    }
    end(how, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
