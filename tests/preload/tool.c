/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another PMPI tool, beside the preloaded libraries: each process says at its end how often it was
 * begun, ended, and told to control. Fortran calls reach it by one name each, as gfortran has them.
 */
#include <mpi.h>

#include <stdatomic.h>
#include <stdio.h>

#pragma GCC visibility push(default)

static atomic_int begun, ended, controlled;

static void tool_say(void)
{
    (void)fprintf(stderr, "tool: begun %d ended %d controlled %d\n", atomic_load(&begun),
                  atomic_load(&ended), atomic_load(&controlled));
}

int MPI_Init(int *argc, char ***argv)
{
    atomic_fetch_add(&begun, 1);
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    atomic_fetch_add(&begun, 1);
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Finalize(void)
{
    atomic_fetch_add(&ended, 1);
    tool_say();
    return PMPI_Finalize();
}

int MPI_Pcontrol(const int level, ...)
{
    atomic_fetch_add(&controlled, 1);
    return PMPI_Pcontrol(level);
}

void mpi_init_(MPI_Fint *ierror);
void mpi_init_(MPI_Fint *ierror)
{
    *ierror = MPI_Init(NULL, NULL);
}

void mpi_finalize_(MPI_Fint *ierror);
void mpi_finalize_(MPI_Fint *ierror)
{
    *ierror = MPI_Finalize();
}
