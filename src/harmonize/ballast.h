/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the numbers of our communicators out of the program's way. Open MPI before version 5 gives
 * a communicator the lowest number that is free in all of its members, which they find by messages.
 * Several pending MPI_Comm_idup then hang if the lowest free numbers of their members differ. A
 * private communicator that only some processes have would make them differ. So it is given a later
 * number, and the next numbers stay free everywhere. With other MPI libraries nothing needs to be
 * done.
 */
#ifndef ICTUS_HARMONIZE_BALLAST_H
#define ICTUS_HARMONIZE_BALLAST_H

#include <mpi.h>

/* The program can create this many communicators before their numbers reach ours. */
enum { BALLAST_COMMS = 64 };

struct ballast {
    MPI_Comm comms[BALLAST_COMMS];
    int count;
};

/* Take the next numbers, before our communicators are created. Collective over `comm`. */
void ictusi_ballast_take(struct ballast *ballast, MPI_Comm comm);

/* Release them. Collective over the same communicator. */
void ictusi_ballast_drop(struct ballast *ballast);

#endif
