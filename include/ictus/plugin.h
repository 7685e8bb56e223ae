/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Operations of your own, a shared object for `ictus bench --plugin`, that defines
 *
 *     const struct ictus_plugin ictus_plugin = {ICTUS_PLUGIN_VERSION, operations};
 *
 * with a table of operations that ends with a NULL name. They are measured like MPI's own; see
 * examples/plugin.c. Build it with the MPI library that ictus was built with: mpicc -shared -fPIC.
 */
#ifndef ICTUS_PLUGIN_H
#define ICTUS_PLUGIN_H

#include <ictus/api.h>
#include <mpi.h>
#include <stdint.h>

ICTUS_BEGIN

/** Of the structures below, and the size of a handle: a plugin for another MPI is refused. */
#define ICTUS_PLUGIN_VERSION (256 + (int)sizeof(MPI_Comm))

/** One operation. All functions are called on every process of the communicator. */
struct ictus_plugin_operation {
    const char *name;    /**< as given to --ops; lower case, no comma */
    const char *summary; /**< one line for the list of operations */
    /**
     * Get ready. Collective.
     * @param comm   lives until fini(); errors are returned, not fatal
     * @param bytes  the size that is measured
     * @param[out] state handed to run() and fini()
     * @return MPI_SUCCESS or an MPI error code
     */
    int (*init)(MPI_Comm comm, uint64_t bytes, void **state);
    int (*run)(void *state);   /**< the timed region. @return MPI_SUCCESS or an error code */
    void (*fini)(void *state); /**< release what init() made */
};

/** What the shared object exports under the name ictus_plugin. */
struct ictus_plugin {
    int version;                                     /**< ICTUS_PLUGIN_VERSION */
    const struct ictus_plugin_operation *operations; /**< ended by one without a name */
};

/** To be defined by the shared object; visible whatever it was compiled with. */
ICTUS_API extern const struct ictus_plugin ictus_plugin;

ICTUS_END

#endif
