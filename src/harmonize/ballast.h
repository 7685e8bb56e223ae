/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators numbered out of the program's way. Open MPI before 5 gives a communicator the
 * lowest number that is free in all its members, which they find by messages; several MPI_Comm_idup
 * at a time then hang where the lowest free numbers of their members differ. They would differ by
 * what we keep beside a communicator of which not all processes are members: so that takes later
 * numbers, and the next ones are free everywhere. Nothing is to be done elsewhere.
 */
#ifndef ICTUS_HARMONIZE_BALLAST_H
#define ICTUS_HARMONIZE_BALLAST_H

#include <mpi.h>

/* So many communicators a program can have made since, until it meets ours. */
enum { BALLAST_COMMS = 64 };

struct ballast {
    MPI_Comm comms[BALLAST_COMMS];
    int count;
};

/* Take the next numbers, before ours are made. Collective over comm. */
void ictusi_ballast_take(struct ballast *ballast, MPI_Comm comm);

/* Give them back. Collective over the same communicator. */
void ictusi_ballast_drop(struct ballast *ballast);

#endif
