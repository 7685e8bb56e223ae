/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plugins that fail. VERSION: as if built for another MPI library or another version of ictus.
 * FIRST: the name of an operation.
 */
#include <ictus/plugin.h>

#include <stddef.h>

#ifndef VERSION
#define VERSION ICTUS_PLUGIN_VERSION
#endif

#ifndef FIRST
#define FIRST "begins_badly"
#endif

static int succeed(MPI_Comm comm, uint64_t bytes, void **state)
{
    (void)comm;
    (void)bytes;
    *state = NULL;
    return MPI_SUCCESS;
}

/* Fails on one process only. */
static int fail(MPI_Comm comm, uint64_t bytes, void **state)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank == 1 ? MPI_ERR_NO_MEM : succeed(comm, bytes, state);
}

static int run_fails(void *state)
{
    (void)state;
    return MPI_ERR_TRUNCATE;
}

static void forget(void *state)
{
    (void)state;
}

static const struct ictus_plugin_operation operations[] = {
    {FIRST, "fails in init", fail, run_fails, forget},
    {"runs_badly", "fails in run", succeed, run_fails, forget},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct ictus_plugin ictus_plugin = {VERSION, operations};
