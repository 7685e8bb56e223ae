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
    int count; /* elements for each process */
    MPI_Datatype type;
    char *in; /* room for count * size elements */
    char *out;
    int *counts;
    int *places;
};

static int try_barrier(const struct trial *t)
{
    return MPI_Barrier(t->comm);
}

static int try_bcast(const struct trial *t)
{
    return MPI_Bcast(t->in, t->count, t->type, 0, t->comm);
}

static int try_reduce(const struct trial *t)
{
    return MPI_Reduce(t->in, t->out, t->count, t->type, MPI_SUM, 0, t->comm);
}

static int try_allreduce(const struct trial *t)
{
    return MPI_Allreduce(t->in, t->out, t->count, t->type, MPI_SUM, t->comm);
}

static int try_scan(const struct trial *t)
{
    return MPI_Scan(t->in, t->out, t->count, t->type, MPI_SUM, t->comm);
}

static int try_exscan(const struct trial *t)
{
    return MPI_Exscan(t->in, t->out, t->count, t->type, MPI_SUM, t->comm);
}

static int try_gather(const struct trial *t)
{
    return MPI_Gather(t->in, t->count, t->type, t->out, t->count, t->type, 0, t->comm);
}

static int try_gatherv(const struct trial *t)
{
    return MPI_Gatherv(t->in, t->count, t->type, t->out, t->counts, t->places, t->type, 0, t->comm);
}

static int try_scatter(const struct trial *t)
{
    return MPI_Scatter(t->in, t->count, t->type, t->out, t->count, t->type, 0, t->comm);
}

static int try_scatterv(const struct trial *t)
{
    return MPI_Scatterv(t->in, t->counts, t->places, t->type, t->out, t->count, t->type, 0,
                        t->comm);
}

static int try_allgather(const struct trial *t)
{
    return MPI_Allgather(t->in, t->count, t->type, t->out, t->count, t->type, t->comm);
}

static int try_allgatherv(const struct trial *t)
{
    return MPI_Allgatherv(t->in, t->count, t->type, t->out, t->counts, t->places, t->type, t->comm);
}

static int try_alltoall(const struct trial *t)
{
    return MPI_Alltoall(t->in, t->count, t->type, t->out, t->count, t->type, t->comm);
}

static int try_alltoallv(const struct trial *t)
{
    return MPI_Alltoallv(t->in, t->counts, t->places, t->type, t->out, t->counts, t->places,
                         t->type, t->comm);
}

static int try_reduce_scatter(const struct trial *t)
{
    return MPI_Reduce_scatter(t->in, t->out, t->counts, t->type, MPI_SUM, t->comm);
}

static int try_reduce_scatter_block(const struct trial *t)
{
    return MPI_Reduce_scatter_block(t->in, t->out, t->count, t->type, MPI_SUM, t->comm);
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

/* Of the element's size, or the next smaller one that can be added up. */
static MPI_Datatype type_of(size_t element)
{
    if (element >= 16) {
        return MPI_C_DOUBLE_COMPLEX;
    }
    if (element >= 8) {
        return MPI_INT64_T;
    }
    return element >= 4 ? MPI_INT : element >= 2 ? MPI_SHORT : MPI_SIGNED_CHAR;
}

/* All or none: a process without memory must not leave the others in the collective. */
static bool all_have(MPI_Comm comm, bool enough)
{
    const int mine = enough;
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

int ictusi_trial_prepare(MPI_Comm comm, struct message message, struct trial **trial)
{
    int size = 1;
    MPI_Comm_size(comm, &size);
    const MPI_Datatype type = type_of(message.element);
    if (message.element == 0 || message.bytes / message.element > (size_t)(INT_MAX / size)) {
        return ICTUS_ERR_ARG;
    }
    const size_t count = message.bytes / message.element;
    const size_t room = (count * (size_t)size + 1) * message.element;
    struct trial *t = calloc(1, sizeof(*t));
    char *in = calloc(2, room);
    int *counts = calloc(2 * (size_t)size, sizeof(*counts));
    if (!all_have(comm, t && in && counts) || !t || !counts) {
        free(t);
        free(in);
        free(counts);
        return ICTUS_ERR_NOMEM;
    }
    *t = (struct trial){.size = size, .count = (int)count, .type = type, .in = in};
    t->out = in + room;
    t->counts = counts;
    t->places = counts + size;
    for (int i = 0; i < size; i++) {
        t->counts[i] = t->count;
        t->places[i] = i * t->count;
    }
    *trial = t;
    return ICTUS_OK;
}

static int find_trial(const char *operation)
{
    const int count = (int)(sizeof(trials) / sizeof(trials[0]));
    for (int i = 0; i < count; i++) {
        if (strcmp(trials[i].operation, operation) == 0) {
            return i;
        }
    }
    return -1;
}

bool ictusi_trial_knows(const char *operation)
{
    return find_trial(operation) >= 0;
}

int ictusi_trial_run(struct trial *trial, MPI_Comm comm, const char *operation)
{
    const int i = find_trial(operation);
    trial->comm = comm;
    return i < 0 || trials[i].run(trial) == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
}

void ictusi_trial_free(struct trial *trial)
{
    if (trial) {
        free(trial->in);
        free(trial->counts);
        free(trial);
    }
}
