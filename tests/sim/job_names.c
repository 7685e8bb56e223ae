/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's own names, which stand for those of the profiling interface, and a planted barrier. */
#include "job_names.h"

#include "../check.h"

struct named_barriers named_barriers;

int MPI_Barrier(MPI_Comm comm)
{
    const int me = job_rank();
    const int k = named_barriers.turn[me]++;
    REQUIRE(k < NAMED_BARRIERS);
    named_barriers.last_entry[k] =
        job_now() > named_barriers.last_entry[k] ? job_now() : named_barriers.last_entry[k];
    named_barriers.first_entry[k] =
        named_barriers.first_entry[k] && named_barriers.first_entry[k] < job_now()
            ? named_barriers.first_entry[k]
            : job_now();
    const int err = PMPI_Barrier(comm);
    if (named_barriers.over_ns) {
        job_arrive(named_barriers.last_entry[k] + named_barriers.over_ns +
                   named_barriers.stagger_ns[(me + k) % NAMED_RANKS]);
    }
    return err;
}

int MPI_Bcast(void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return PMPI_Bcast(bytes, count, type, root, comm);
}

int MPI_Reduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    return PMPI_Reduce(mine, all, count, type, op, root, comm);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    return PMPI_Allreduce(mine, all, count, type, op, comm);
}

int MPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
               MPI_Datatype all_type, int root, MPI_Comm comm)
{
    return PMPI_Gather(mine, count, type, all, all_count, all_type, root, comm);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    return PMPI_Comm_size(comm, size);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    return PMPI_Comm_dup(comm, made);
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *made)
{
    return PMPI_Comm_split(comm, colour, key, made);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
    return PMPI_Comm_split_type(comm, type, key, info, made);
}

int MPI_Error_string(int err, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "error %d", err);
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    return PMPI_Comm_free(comm);
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    return PMPI_Comm_set_errhandler(comm, handler);
}

const char named_clock[] = "skampi:exchanges=20@monotonic";

void named_job_run(void (*rank_main)(int rank, void *context), void *context, double away_every_s)
{
    char said[512];
    const struct job_options options = {.seed = 5,
                                        .ranks = NAMED_RANKS,
                                        .nodes = NAMED_RANKS,
                                        .cores = NAMED_RANKS,
                                        .latency_ns = NAMED_LATENCY_NS,
                                        .inside_ns = 300.0,
                                        .jitter_ns = 20.0,
                                        .away_every_s = away_every_s,
                                        .away_ns = 3e5,
                                        .slow = -1,
                                        .slow_factor = 1.0,
                                        .drift = 1e-6};
    memset(&named_barriers.turn, 0, sizeof(named_barriers.turn));
    memset(&named_barriers.last_entry, 0, sizeof(named_barriers.last_entry));
    memset(&named_barriers.first_entry, 0, sizeof(named_barriers.first_entry));
    REQUIRE(job_run(&options, rank_main, context, said, sizeof(said)) == JOB_DONE);
}
