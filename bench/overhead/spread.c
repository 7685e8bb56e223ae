/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One launch of bench/overhead/run by the peers' procedures: allreduce of 64 KiB, prints
 * "OSU_us IMB_us BEFORE_us AFTER_us" on rank 0, the latter the round trip of 8 bytes, which tells
 * how near each other the two cores are at that moment; 0 where more processes share them. OSU 1000
 * times start, operation, stop, barrier after 200 of them untimed; mean over repetitions and ranks
 * (its "Avg Latency") IMB  640 calls in a row between two readings after a barrier and 64 calls
 * untimed; mean over ranks (its t_avg; 40 MiB of volume by default bound the calls)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 65536, OSU_SKIP = 200, OSU_CALLS = 1000, IMB_SKIP = 64, IMB_CALLS = 640 };

static double osu_s(const char *send, char *recv, int repetitions)
{
    double sum = 0.0;
    for (int i = 0; i < repetitions; i++) {
        const double start = MPI_Wtime();
        MPI_Allreduce(send, recv, BYTES, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
        sum += MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return sum / repetitions;
}

static double imb_s(const char *send, char *recv, int repetitions)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < repetitions; i++) {
        MPI_Allreduce(send, recv, BYTES, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) / repetitions;
}

static double batch_s(char *byte, int rank)
{
    enum { TRIPS = 200 };
    const int other = 1 - rank;
    const double start = MPI_Wtime();
    for (int i = 0; i < TRIPS; i++) {
        if (rank == 0) {
            MPI_Send(byte, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
        }
        MPI_Recv(byte, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) {
            MPI_Send(byte, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) / TRIPS;
}

static double round_trip_s(char *bytes, int rank, int size)
{
    enum { BATCHES = 20 };
    double least = 0.0;
    for (int i = 0; i < BATCHES && size == 2; i++) {
        const double seconds = batch_s(bytes, rank);
        least = i == 0 || seconds < least ? seconds : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    char *send = calloc(BYTES, 1);
    char *recv = calloc(BYTES, 1);
    double mine[2];
    double all[2];
    int rank = 0;
    int size = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double before = round_trip_s(recv, rank, size);
    (void)osu_s(send, recv, OSU_SKIP);
    mine[0] = osu_s(send, recv, OSU_CALLS);
    (void)imb_s(send, recv, IMB_SKIP);
    mine[1] = imb_s(send, recv, IMB_CALLS);
    const double after = round_trip_s(recv, rank, size);
    MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%.4f %.4f %.4f %.4f\n", 1e6 * all[0] / size, 1e6 * all[1] / size, 1e6 * before,
               1e6 * after);
    }
    MPI_Finalize();
    free(send);
    free(recv);
    return 0;
}
