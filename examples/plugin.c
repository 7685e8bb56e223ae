/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation of your own for `ictus bench`: a broadcast down a chain of processes.
 *
 *     mpicc -shared -fPIC -o chain.so plugin.c
 *     mpirun -n 4 ictus bench --plugin=./chain.so --ops=chain,bcast
 */
#include <ictus/plugin.h>

#include <limits.h>
#include <stdlib.h>

struct chain {
    MPI_Comm comm;
    int rank, size, count;
    void *buffer;
};

static int chain_init(MPI_Comm comm, uint64_t bytes, void **state)
{
    struct chain *chain = calloc(1, sizeof(*chain));
    if (!chain || bytes > INT_MAX || !(chain->buffer = calloc(1, bytes + 1))) {
        free(chain);
        return MPI_ERR_COUNT; /* shown to the user by MPI_Error_string() */
    }
    chain->comm = comm;
    chain->count = (int)bytes;
    MPI_Comm_rank(comm, &chain->rank);
    MPI_Comm_size(comm, &chain->size);
    *state = chain;
    return MPI_SUCCESS;
}

static int chain_run(void *state)
{
    const struct chain *chain = state;
    int err = MPI_SUCCESS;
    if (chain->rank > 0) {
        err = MPI_Recv(chain->buffer, chain->count, MPI_BYTE, chain->rank - 1, 0, chain->comm,
                       MPI_STATUS_IGNORE);
    }
    if (err == MPI_SUCCESS && chain->rank + 1 < chain->size) {
        err = MPI_Send(chain->buffer, chain->count, MPI_BYTE, chain->rank + 1, 0, chain->comm);
    }
    return err;
}

static void chain_fini(void *state)
{
    struct chain *chain = state;
    free(chain->buffer);
    free(chain);
}

static const struct ictus_plugin_operation operations[] = {
    {"chain", "a broadcast from process to process", chain_init, chain_run, chain_fini},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct ictus_plugin ictus_plugin = {ICTUS_PLUGIN_VERSION, operations};
