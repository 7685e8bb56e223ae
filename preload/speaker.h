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
 * Say which variables of the environment are misspelt, in one process of the job, and once however
 * many of the libraries are preloaded. ictus trace has said so before. Local.
 */
void preload_tell_variables(const char *name);

/*
 * End a process whose job ends the same way everywhere, once the first process has said why: that
 * one's words are on their way to the user before any process has failed. Local.
 */
_Noreturn void preload_end(int code);

#endif
