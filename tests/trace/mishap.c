/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that ends as its argument says: kill (rank 1 gets SIGKILL), segfault, abort, exit
 * (without MPI_Finalize), fork (a child that goes on and ends), noinit, comms (a thousand at once),
 * freed (requests that are still active). It speaks the user's language. Every rank prints, before
 * that, how many barriers it has left behind.
 */
#include <mpi.h>

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 100, COMMS = 1000 };

/* Many communicators at a time, each used. */
static void make_comms(void)
{
    MPI_Comm copies[COMMS];
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    }
    for (int i = 0; i < COMMS; i++) {
        MPI_Barrier(copies[i]);
        MPI_Comm_free(&copies[i]);
    }
}

/* Sends whose requests are freed before they can be complete, and their handles used again. */
static void free_requests(int rank)
{
    static int out[ROUNDS];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < ROUNDS; i++) {
        out[i] = i;
        MPI_Issend(&out[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < ROUNDS; i++) {
        int in = 0;
        MPI_Irecv(&in, 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

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
    (void)setlocale(LC_ALL, "");
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
    if (strcmp(how, "comms") == 0) {
        make_comms();
    }
    if (strcmp(how, "freed") == 0) {
        free_requests(rank);
    }
    if (strcmp(how, "pause") == 0) {
        (void)sleep(2);
    }
    end(how, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
