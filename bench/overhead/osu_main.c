/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OSU's loop with nothing of ours.
 *
 *     osu_loop OPERATION LARGEST      prints "BYTES P50_us" for each power of two from 1
 */
#include "osu_loop.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { DECIMAL = 10, LARGEST = 65536 };

int main(int argc, char **argv)
{
    struct osu osu;
    MPI_Init(&argc, &argv);
    const long largest = argc > 2 ? strtol(argv[2], NULL, DECIMAL) : LARGEST;
    osu_begin(&osu, argc > 1 ? argv[1] : "allreduce", (size_t)largest);
    for (int bytes = 1; bytes <= largest; bytes *= 2) {
        const double p50_us = osu_p50_us(&osu, bytes);
        if (osu.rank == 0) {
            printf("%d %.4f\n", bytes, p50_us);
        }
    }
    osu_end(&osu);
    MPI_Finalize();
    return 0;
}
