/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out one collective once, to see whether a forced algorithm can run. */
#include "select/trial.h"

#include <ictus/error.h>

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The members have the names that src/select/collectives.def uses. */
struct trial {
    MPI_Comm comm;
    int size, root;
    int count;  /* elements for each process */
    char *send; /* room for count * size elements */
    char *recv;
    int *counts;
    int *displs, *byte_displs;
    MPI_Datatype type, *types;
    MPI_Op op;
};

#define N c->count
#define LOCAL(...)        /* has no algorithms to choose from */
#define NEIGHBORHOOD(...) /* has none either */
#define COLLECTIVE(name, Name, shape, counts, arguments)                                           \
    static int trial_##name(const struct trial *c)                                                 \
    {                                                                                              \
        return MPI_##Name arguments;                                                               \
    }
#include "select/collectives.def"
#undef COLLECTIVE

#define IS_PLACED_LARGE false
#define IS_PLACED_SMALL false
#define IS_PLACED_PLACED true
#define COLLECTIVE(name, Name, shape, counts, arguments) {#name, trial_##name, IS_PLACED_##counts},
static const struct {
    const char *operation;
    int (*run)(const struct trial *trial);
    bool is_placed; /* has int displacements */
} trials[] = {
#include "select/collectives.def"
};

static int trial_find(const char *operation)
{
    const int count = (int)(sizeof(trials) / sizeof(trials[0]));
    for (int i = 0; i < count; i++) {
        if (strcmp(trials[i].operation, operation) == 0) {
            return i;
        }
    }
    return -1;
}

/* Return the datatype of the element's size, or the largest smaller one that MPI_SUM accepts. */
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

/* Agree before the trial: a process without memory must not leave the others in the collective. */
static bool trial_all_have(MPI_Comm comm, bool enough)
{
    const int mine = enough;
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

void *ictusi_trial_allocate(MPI_Comm comm, size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!trial_all_have(comm, memory != NULL)) {
        free(memory);
        memory = NULL;
    }
    return memory;
}

/*
 * Displacements of the v- and w-variants are ints, in elements or in bytes. As in
 * ictus_bench_run(), the whole buffer must therefore not exceed INT_MAX bytes.
 */
static bool trial_can_place(const char *operation, size_t bytes, int size)
{
    const int i = trial_find(operation);
    return i < 0 || !trials[i].is_placed || bytes <= (size_t)(INT_MAX / size);
}

int ictusi_trial_prepare(MPI_Comm comm, const char *operation, struct message message,
                         struct trial **trial)
{
    int size = 1;
    MPI_Comm_size(comm, &size);
    const MPI_Datatype type = type_of(message.element);
    if (message.element == 0 || message.bytes / message.element > (size_t)(INT_MAX / size)) {
        return ICTUS_ERR_ARG;
    }
    if (!trial_can_place(operation, message.bytes, size)) {
        return ICTUS_ERR_UNSUPPORTED;
    }
    const size_t count = message.bytes / message.element;
    /* The room follows from the element's size, which is at least the datatype's. One more
     * element ensures that no buffer has 0 bytes. */
    const size_t room = (count * (size_t)size + 1) * message.element;
    struct trial *t = calloc(1, sizeof(*t));
    /* send and recv are the two halves of one allocation, and counts, displs and byte_displs the
     * three thirds of another. Only the first of each is freed. */
    char *in = calloc(2, room);
    int *counts = calloc(3 * (size_t)size, sizeof(*counts));
    MPI_Datatype *types = calloc((size_t)size, sizeof(MPI_Datatype));
    if (!trial_all_have(comm, t && in && counts && types) || !t || !counts || !types) {
        free(t);
        free(in);
        free(counts);
        free(types);
        return ICTUS_ERR_NOMEM;
    }
    *t = (struct trial){.size = size, .count = (int)count, .send = in, .recv = in + room};
    t->type = type;
    t->types = types;
    t->op = MPI_SUM;
    t->counts = counts;
    t->displs = counts + size;
    t->byte_displs = t->displs + size;
    for (int i = 0; i < size; i++) {
        t->counts[i] = t->count;
        t->displs[i] = i * t->count;
        /* It may wrap for operations that do not read it; the others were refused above. */
        t->byte_displs[i] = (int)((uint32_t)t->displs[i] * (uint32_t)message.element);
        t->types[i] = type;
    }
    *trial = t;
    return ICTUS_OK;
}

bool ictusi_trial_knows(const char *operation)
{
    return trial_find(operation) >= 0;
}

int ictusi_trial_run(struct trial *trial, MPI_Comm comm, const char *operation)
{
    const int i = trial_find(operation);
    trial->comm = comm;
    return i < 0 || trials[i].run(trial) == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
}

void ictusi_trial_free(struct trial *trial)
{
    if (trial) {
        free(trial->send);
        free(trial->counts);
        free(trial->types);
        free(trial);
    }
}
