/* SPDX-License-Identifier: BSD-3-Clause */
/* OSU's way to measure a collective on MPI_COMM_WORLD. */
#ifndef BENCH_OSU_LOOP_H
#define BENCH_OSU_LOOP_H

#include <stddef.h>

struct osu {
    int (*call)(const struct osu *osu, int bytes);
    char *send, *recv;
    int rank, size;
};

/* Get the buffers of "allreduce", "bcast" or "reduce" up to that size. */
void osu_begin(struct osu *osu, const char *operation, size_t largest);

void osu_end(struct osu *osu);

/* How many calls are timed at that size. */
int osu_repetitions(int bytes);

/* Measure one size; alike on all ranks. */
double osu_p50_us(const struct osu *osu, int bytes);

#endif
