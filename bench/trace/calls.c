/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call costs: MPI_Comm_rank, MPI_Iprobe, half a round trip of 8 bytes, ictus_event(), a bare
 * clock read. The least of many short batches, in nanoseconds: other load only adds.
 */
#include <ictus/trace.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { BATCHES = 400, CALLS = 500 };

static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static volatile unsigned long long sink;

static void comm_rank(int rank)
{
    int value = 0;
    (void)rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &value);
}

static void iprobe(int rank)
{
    int flag = 0;
    (void)rank;
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void ping_pong(int rank)
{
    double data = 0.0;
    if (rank == 0) {
        MPI_Send(&data, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&data, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&data, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&data, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}

static int event_number;

static void event(int rank)
{
    (void)rank;
    ictus_event(event_number, 1);
}

static void read_clock(int rank)
{
    (void)rank;
#if defined(__x86_64__)
    sink += __rdtsc();
#else
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    sink += (unsigned long long)t.tv_nsec;
#endif
}

static void nothing(int rank)
{
    sink += (unsigned long long)rank;
}

static double least(void (*call)(int), int rank)
{
    double best = 1e18;
    for (int b = 0; b < BATCHES; b++) {
        const double from = now_ns();
        for (int i = 0; i < CALLS; i++) {
            call(rank);
        }
        const double one = (now_ns() - from) / CALLS;
        best = one < best ? one : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    event_number = ictus_event_define("mark");
    const double empty = least(nothing, rank);
    const double clock = least(read_clock, rank) - empty;
    const double comm = least(comm_rank, rank) - empty;
    const double probe = least(iprobe, rank) - empty;
    const double mark = least(event, rank) - empty;
    MPI_Barrier(MPI_COMM_WORLD);
    const double trip = size > 1 ? least(ping_pong, rank) - empty : 0.0;
    if (rank == 0) {
        printf("clock %.2f\ncomm_rank %.2f\niprobe %.2f\nevent %.2f\nping_pong %.2f\n", clock, comm,
               probe, mark, trip);
    }
    MPI_Finalize();
    return 0;
}
