/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Operations of your own for `ictus bench --plugin`: a shared object that defines
 *
 *     const struct ictus_plugin ictus_plugin = {ICTUS_PLUGIN_VERSION, operations};
 *
 * with a table of operations that ends with a NULL name. They are measured like MPI's own; see
 * examples/plugin.c. Build it with the MPI library with which ictus was built: mpicc -shared -fPIC.
 *
 * Threads: the functions of a plugin are called by one thread at a time.
 */
#ifndef ICTUS_PLUGIN_H
#define ICTUS_PLUGIN_H

#include <ictus/api.h>
#include <mpi.h>
#include <stdint.h>

ICTUS_BEGIN

/**
 * The version of the structures below plus the size of a handle, so that a plugin for another MPI
 * is refused.
 */
#define ICTUS_PLUGIN_VERSION (256 + (int)sizeof(MPI_Comm))

/** An operation. All its functions are called on every process of the communicator. */
struct ictus_plugin_operation {
    const char *name;    /**< as given to --ops; lower case, no comma */
    const char *summary; /**< one line for the list of operations */
    /**
     * Prepare the operation. Collective over @p comm.
     * @param comm       valid until fini(); its errors are returned
     * @param bytes      the size to measure
     * @param[out] state passed to run() and fini()
     * @return MPI_SUCCESS or an MPI error code
     */
    int (*init)(MPI_Comm comm, uint64_t bytes, void **state);
    int (*run)(void *state);   /**< the timed region. @return MPI_SUCCESS or an error code */
    void (*fini)(void *state); /**< release what init() allocated */
};

/** What the shared object exports by the name ictus_plugin. */
struct ictus_plugin {
    int version;                                     /**< ICTUS_PLUGIN_VERSION */
    const struct ictus_plugin_operation *operations; /**< terminated by a NULL name */
};

/** Defined by the shared object. It is visible whatever the compiler's default is. */
ICTUS_API extern const struct ictus_plugin ictus_plugin;

ICTUS_END

#endif
