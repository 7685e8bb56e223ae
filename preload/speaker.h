/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process prints a job's messages before MPI_Init and after MPI_Finalize. */
#ifndef ICTUS_PRELOAD_SPEAKER_H
#define ICTUS_PRELOAD_SPEAKER_H

#include <stdbool.h>

/*
 * Whether this is the first process of its job, as the launcher says; without a launcher every
 * process is. Local, at any time.
 */
bool preload_speaks(void);

/*
 * End a process whose job ends the same way everywhere, once the first process has said why: that
 * one's words are on their way to the user before any process has failed. Local.
 */
_Noreturn void preload_end(int code);

#endif
