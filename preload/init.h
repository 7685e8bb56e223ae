/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Init and MPI_Init_thread under both of MPI's names, for a library that has something to do
 * once everybody behind it has begun. The file that includes this one defines preload_enter() and
 * preload_leave(). A tool behind that calls PMPI_Init comes through here again, within the
 * outermost call.
 */
#ifndef ICTUS_PRELOAD_INIT_H
#define ICTUS_PRELOAD_INIT_H

#include "behind.h"
#include "fortran.h"

#include <stdbool.h>

PRELOAD_BEHIND(MPI_Init)
PRELOAD_BEHIND(PMPI_Init)
PRELOAD_BEHIND(MPI_Init_thread)
PRELOAD_BEHIND(PMPI_Init_thread)

/* Called before MPI begins. Returns whether this call is the outermost one. */
static bool preload_enter(void);
/*
 * Called after MPI has begun. err is what the library behind returned; it is returned to the
 * program.
 */
static int preload_leave(bool outer, int err);

static int preload_init(int (*behind)(int *, char ***), int *argc, char ***argv)
{
    const bool outer = preload_enter();
    return preload_leave(outer, behind(argc, argv));
}

static int preload_init_thread(int (*behind)(int *, char ***, int, int *), int *argc, char ***argv,
                               int required, int *provided)
{
    const bool outer = preload_enter();
    return preload_leave(outer, behind(argc, argv, required, provided));
}

PRELOAD_API int MPI_Init(int *argc, char ***argv)
{
    return preload_init(behind_MPI_Init(), argc, argv);
}

PRELOAD_API int PMPI_Init(int *argc, char ***argv)
{
    return preload_init(behind_PMPI_Init(), argc, argv);
}

PRELOAD_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return preload_init_thread(behind_MPI_Init_thread(), argc, argv, required, provided);
}

PRELOAD_API int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return preload_init_thread(behind_PMPI_Init_thread(), argc, argv, required, provided);
}

#endif
