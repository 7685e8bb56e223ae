/* SPDX-License-Identifier: BSD-3-Clause */
/* Who speaks for a job outside of MPI_Init and MPI_Finalize. */
#ifndef ICTUS_PRELOAD_SPEAKER_H
#define ICTUS_PRELOAD_SPEAKER_H

#include <stdbool.h>

/*
 * Whether this is the first process of its job, as the launcher says; without a launcher every
 * process is. Local, at any time.
 */
bool preload_speaks(void);

#endif
