/* SPDX-License-Identifier: BSD-3-Clause */
/* The least that a tracer can be: wrappers that read the clock twice and keep nothing. */
#include <mpi.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define READ() __rdtsc()
#else
#include <time.h>
static unsigned long long READ(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_nsec;
}
#endif

/* Not every mpi.h says that its functions are to be seen, and hidden wrappers wrap nothing. */
#pragma GCC visibility push(default)

static volatile unsigned long long spent;

#define WRAP(call)                                                                                 \
    const unsigned long long from = READ();                                                        \
    const int err = call;                                                                          \
    spent = READ() - from;                                                                         \
    return err

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    WRAP(PMPI_Comm_rank(comm, rank));
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    WRAP(PMPI_Iprobe(source, tag, comm, flag, status));
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    WRAP(PMPI_Send(buf, count, type, dest, tag, comm));
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    WRAP(PMPI_Recv(buf, count, type, source, tag, comm, status));
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    WRAP(PMPI_Allreduce(in, out, count, type, op, comm));
}

int MPI_Barrier(MPI_Comm comm)
{
    WRAP(PMPI_Barrier(comm));
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    WRAP(PMPI_Bcast(data, count, type, root, comm));
}

int MPI_Alltoall(const void *in, int sent, MPI_Datatype from_type, void *out, int received,
                 MPI_Datatype to_type, MPI_Comm comm)
{
    WRAP(PMPI_Alltoall(in, sent, from_type, out, received, to_type, comm));
}
