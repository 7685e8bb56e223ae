/* SPDX-License-Identifier: BSD-3-Clause */
/* Carrying out one collective once, to see whether a forced algorithm can. */
#include "select/trial.h"

#include <ictus/error.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct trial {
    MPI_Comm comm;
    int size;
    int count; /* integers for each process */
    int *in;   /* room for count * size */
    int *out;
    int *counts;
    int *places;
};

static int try_barrier(const struct trial *t)
{
    return MPI_Barrier(t->comm);
}

static int try_bcast(const struct trial *t)
{
    return MPI_Bcast(t->in, t->count, MPI_INT, 0, t->comm);
}

static int try_reduce(const struct trial *t)
{
    return MPI_Reduce(t->in, t->out, t->count, MPI_INT, MPI_SUM, 0, t->comm);
}

static int try_allreduce(const struct trial *t)
{
    return MPI_Allreduce(t->in, t->out, t->count, MPI_INT, MPI_SUM, t->comm);
}

static int try_scan(const struct trial *t)
{
    return MPI_Scan(t->in, t->out, t->count, MPI_INT, MPI_SUM, t->comm);
}

static int try_exscan(const struct trial *t)
{
    return MPI_Exscan(t->in, t->out, t->count, MPI_INT, MPI_SUM, t->comm);
}

static int try_gather(const struct trial *t)
{
    return MPI_Gather(t->in, t->count, MPI_INT, t->out, t->count, MPI_INT, 0, t->comm);
}

static int try_gatherv(const struct trial *t)
{
    return MPI_Gatherv(t->in, t->count, MPI_INT, t->out, t->counts, t->places, MPI_INT, 0, t->comm);
}

static int try_scatter(const struct trial *t)
{
    return MPI_Scatter(t->in, t->count, MPI_INT, t->out, t->count, MPI_INT, 0, t->comm);
}

static int try_scatterv(const struct trial *t)
{
    return MPI_Scatterv(t->in, t->counts, t->places, MPI_INT, t->out, t->count, MPI_INT, 0,
                        t->comm);
}

static int try_allgather(const struct trial *t)
{
    return MPI_Allgather(t->in, t->count, MPI_INT, t->out, t->count, MPI_INT, t->comm);
}

static int try_allgatherv(const struct trial *t)
{
    return MPI_Allgatherv(t->in, t->count, MPI_INT, t->out, t->counts, t->places, MPI_INT, t->comm);
}

static int try_alltoall(const struct trial *t)
{
    return MPI_Alltoall(t->in, t->count, MPI_INT, t->out, t->count, MPI_INT, t->comm);
}

static int try_alltoallv(const struct trial *t)
{
    return MPI_Alltoallv(t->in, t->counts, t->places, MPI_INT, t->out, t->counts, t->places,
                         MPI_INT, t->comm);
}

static int try_reduce_scatter(const struct trial *t)
{
    return MPI_Reduce_scatter(t->in, t->out, t->counts, MPI_INT, MPI_SUM, t->comm);
}

static int try_reduce_scatter_block(const struct trial *t)
{
    return MPI_Reduce_scatter_block(t->in, t->out, t->count, MPI_INT, MPI_SUM, t->comm);
}

static const struct {
    const char *operation;
    int (*run)(const struct trial *trial);
} trials[] = {
    {"barrier", try_barrier},
    {"bcast", try_bcast},
    {"reduce", try_reduce},
    {"allreduce", try_allreduce},
    {"scan", try_scan},
    {"exscan", try_exscan},
    {"gather", try_gather},
    {"gatherv", try_gatherv},
    {"scatter", try_scatter},
    {"scatterv", try_scatterv},
    {"allgather", try_allgather},
    {"allgatherv", try_allgatherv},
    {"alltoall", try_alltoall},
    {"alltoallv", try_alltoallv},
    {"reduce_scatter", try_reduce_scatter},
    {"reduce_scatter_block", try_reduce_scatter_block},
};

int ictusi_trial_prepare(MPI_Comm comm, size_t bytes, struct trial **trial)
{
    int size = 1;
    MPI_Comm_size(comm, &size);
    const size_t count = bytes / sizeof(int);
    if (count > (size_t)(INT_MAX / size)) {
        return ICTUS_ERR_ARG;
    }
    const size_t words = count * (size_t)size;
    struct trial *t = calloc(1, sizeof(*t));
    int *room = calloc(2 * words + 2 * (size_t)size, sizeof(int));
    /* All or none: a process without memory must not leave the others in the collective. */
    const int enough = t && room;
    int all = 0;
    MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, comm);
    if (!all || !t || !room) {
        free(t);
        free(room);
        return ICTUS_ERR_NOMEM;
    }
    *t = (struct trial){.size = size, .count = (int)count, .in = room};
    t->out = t->in + words;
    t->counts = t->out + words;
    t->places = t->counts + size;
    for (int i = 0; i < size; i++) {
        t->counts[i] = t->count;
        t->places[i] = i * t->count;
    }
    *trial = t;
    return ICTUS_OK;
}

int ictusi_trial_run(struct trial *trial, MPI_Comm comm, const char *operation)
{
    trial->comm = comm;
    for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
        if (strcmp(trials[i].operation, operation) == 0) {
            return trials[i].run(trial) == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
        }
    }
    return ICTUS_OK;
}

void ictusi_trial_free(struct trial *trial)
{
    if (trial) {
        free(trial->in);
        free(trial);
    }
}
