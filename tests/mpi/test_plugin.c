/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library inside a plugin: it is loaded twice by a program that is not linked with it, used,
 * and closed while communicators still have attributes from it. Argument: libictus.so.
 */
#include "check_mpi.h"

#include <dlfcn.h>
#include <string.h>

typedef int harmonize_function(MPI_Comm comm, void *harmony);

static void use(void *library, MPI_Comm comm)
{
    harmonize_function *harmonize = NULL;
    void *symbol = library ? dlsym(library, "ictus_harmonize") : NULL;
    REQUIRE(symbol);
    memcpy(&harmonize, &symbol, sizeof(harmonize));
    CHECK(harmonize(comm, NULL) == 0);
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    REQUIRE(argc == 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        use(library, comm);
        use(library, MPI_COMM_WORLD);
        CHECK(dlclose(library) == 0);
    }
    MPI_Comm_free(&comm);
    return check_mpi_finish();
}
