/* SPDX-License-Identifier: BSD-3-Clause */
/* How the shim skews MPI_Wtime: the truth by which clocks on it are judged. */
#ifndef ICTUS_TESTS_MPI_SKEW_H
#define ICTUS_TESTS_MPI_SKEW_H

#include <stdint.h>
#include <stdlib.h>

/* One process's clock against CLOCK_MONOTONIC. */
struct skew {
    double offset_s;
    double drift; /* since the machine's boot */
};

/*
 * Offsets of seconds and drifts of tens of ppm, by rank: nothing a program could guess, nothing
 * that MPI tells.
 */
static inline struct skew skew_of(int rank)
{
    static const struct skew table[] = {{0.0, 0.0},       {1.5, 12.5e-6}, {-3.25, -37e-6},
                                        {7.75, 50e-6},    {0.125, -8e-6}, {-12.0, 21e-6},
                                        {2.0e-3, -29e-6}, {30.0, 3e-6}};
    return table[rank % 8];
}

/* MPI_Wtime in seconds at an instant of CLOCK_MONOTONIC. */
static inline double skew_apply(struct skew skew, int64_t monotonic_ns)
{
    const double base_s = (double)monotonic_ns * 1e-9;
    return base_s + skew.offset_s + skew.drift * base_s;
}

/* This process's rank before MPI is up: what the launchers of Open MPI and MPICH say. */
static inline int skew_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    text = text ? text : getenv("PMI_RANK");
    return text ? (int)strtol(text, NULL, 10) : 0;
}

#endif
