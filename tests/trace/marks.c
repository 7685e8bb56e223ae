/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with marks of its own: regions, events, a metric, the switch. Prints what a trace must
 * hold like basic.c; without a tracer the same calls do nothing.
 */
#include <ictus/trace.h>
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 10 };

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    const int step = ictus_event_define("step");
    MPI_Init(&argc, &argv);
    const int solve = ictus_region_define("solve \"it\"");
    const int residual = ictus_metric_define("residual", "1");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++) {
        ictus_region_enter(solve);
        ictus_event(step, (uint64_t)i);
        MPI_Barrier(MPI_COMM_WORLD);
        ictus_metric(residual, 1.0 / (i + 1));
        ictus_region_leave(solve);
    }
    MPI_Pcontrol(0);
    for (int i = 0; i < ROUNDS; i++) {
        ictus_region_enter(solve);
        ictus_event(step, 99);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Sendrecv(&i, 1, MPI_INT, rank, 0, &size, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        ictus_region_leave(solve);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Started while off, completed while on: no trace of it, and no completion without a start. */
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Pcontrol(1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("PARAMETER_UINT64 %d\n", ROUNDS * size);
        printf("MPI_COLLECTIVE_END %d\n", (ROUNDS + 1) * size);
        printf("MPI_SEND 0\nMPI_RECV 0\n");
        printf("NON_BLOCKING_COLLECTIVE_REQUEST 0\nNON_BLOCKING_COLLECTIVE_COMPLETE 0\n");
        printf("MEASUREMENT_ON_OFF %d\n", 2 * size);
        printf("METRIC %d\n", (ROUNDS + 2) * size);
    }
    MPI_Finalize();
    return 0;
}
