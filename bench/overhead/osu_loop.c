/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OSU's procedure for blocking collectives (osu_allreduce, osu_bcast, osu_reduce of OMB 7.4) and
 * the P50 of its --tail-lat, written from its description: MPI_CHAR, the root fixed at 0, buffers
 * of the largest size on page boundaries, MPI_Wtime around each call, MPI_Barrier behind it. The
 * times of each repetition are summed over the ranks, sorted, and number round(n / 2) of them is
 * divided by the ranks. (Before 7.0 its reductions took MPI_FLOAT.)
 */
#include "osu_loop.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE_MESSAGE = 8192, SMALL_LOOP = 1000, SMALL_SKIP = 200, LARGE_LOOP = 100 };
enum { LARGE_SKIP = 10 };

static int call_allreduce(const struct osu *osu, int bytes)
{
    return MPI_Allreduce(osu->send, osu->recv, bytes, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
}

static int call_bcast(const struct osu *osu, int bytes)
{
    return MPI_Bcast(osu->send, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static int call_reduce(const struct osu *osu, int bytes)
{
    return MPI_Reduce(osu->send, osu->recv, bytes, MPI_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static char *page_aligned(size_t bytes, int value)
{
    void *made = NULL;
    if (posix_memalign(&made, (size_t)sysconf(_SC_PAGESIZE), bytes)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(made, value, bytes);
    return made;
}

int osu_repetitions(int bytes)
{
    return bytes > LARGE_MESSAGE ? LARGE_LOOP : SMALL_LOOP;
}

double osu_p50_us(const struct osu *osu, int bytes)
{
    double times_us[SMALL_LOOP];
    double sums_us[SMALL_LOOP];
    const int loop = osu_repetitions(bytes);
    const int skip = bytes > LARGE_MESSAGE ? LARGE_SKIP : SMALL_SKIP;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < loop + skip; i++) {
        const double start = MPI_Wtime();
        if (osu->call(osu, bytes) != MPI_SUCCESS) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        const double stop = MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
        if (i >= skip) {
            times_us[i - skip] = (stop - start) * 1e6;
        }
    }
    MPI_Allreduce(times_us, sums_us, loop, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    qsort(sums_us, (size_t)loop, sizeof(*sums_us), by_value);
    MPI_Barrier(MPI_COMM_WORLD);
    return sums_us[(int)round(loop * 0.5) - 1] / osu->size;
}

void osu_begin(struct osu *osu, const char *operation, size_t largest)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &osu->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &osu->size);
    osu->call = call_allreduce;
    if (strcmp(operation, "bcast") == 0) {
        osu->call = call_bcast;
    } else if (strcmp(operation, "reduce") == 0) {
        osu->call = call_reduce;
    }
    osu->send = page_aligned(largest, 1);
    osu->recv = page_aligned(largest, 0);
}

void osu_end(struct osu *osu)
{
    free(osu->send);
    free(osu->recv);
}
