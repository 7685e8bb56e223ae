/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another PMPI tool, beside the preloaded libraries: each process says at its end how often it was
 * begun, ended, and told to control, and how many messages and reductions it saw. Fortran calls
 * reach it by one name each, as gfortran has them.
 */
#include <mpi.h>

#include <stdatomic.h>
#include <stdio.h>

#pragma GCC visibility push(default)

static atomic_int begun, ended, controlled, messages;

static void tool_say(void)
{
    (void)fprintf(stderr, "tool: begun %d ended %d controlled %d messages %d\n",
                  atomic_load(&begun), atomic_load(&ended), atomic_load(&controlled),
                  atomic_load(&messages));
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

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    atomic_fetch_add(&messages, 1);
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    atomic_fetch_add(&messages, 1);
    return PMPI_Recv(buf, count, type, source, tag, comm, status);
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    atomic_fetch_add(&messages, 1);
    return PMPI_Allreduce(send, recv, count, type, op, comm);
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
