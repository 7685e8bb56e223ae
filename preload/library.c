/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out which MPI library a program uses: of those that are loaded, the one that is not ours.
 */
#include "library.h"

#include "speaker.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * A symbol that every MPI library defines and none of our libraries does: the tracer stands before
 * most functions under both of their names.
 */
static const char probe[] = "PMPI_T_cvar_get_num";

enum { FOUND_MAX = 16 };

/* Loaded files whose names begin like those of MPI libraries and their parts. */
struct found {
    const char *paths[FOUND_MAX];
    int count;
};

static const char *library_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/*
 * The file that defines the probe for a loaded library or one that it needs; NULL if there is none.
 */
static const char *library_of(const char *path)
{
    Dl_info info;
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    void *found = handle ? dlsym(handle, probe) : NULL;
    if (handle) {
        (void)dlclose(handle);
    }
    return found && dladdr(found, &info) ? info.dli_fname : NULL;
}

static bool library_is_mpi(const char *path)
{
    return strncmp(library_base(path), "libmpi", 6) == 0;
}

static int library_visit(struct dl_phdr_info *object, size_t size, void *given)
{
    struct found *found = given;
    (void)size;
    if (library_is_mpi(object->dlpi_name) && found->count < FOUND_MAX) {
        found->paths[found->count++] = object->dlpi_name;
    }
    return 0;
}

/* A loaded MPI library other than `own`; NULL if there is none. */
static const char *library_other(const char *own)
{
    struct found found = {.count = 0};
    (void)dl_iterate_phdr(library_visit, &found);
    for (int i = 0; i < found.count; i++) {
        const char *mpi = library_of(
            found.paths[i]); /* a part such as the Fortran library has a file of its own */
        if (mpi && library_is_mpi(mpi) && strcmp(mpi, own) != 0) {
            return mpi;
        }
    }
    return NULL;
}

void preload_refuse_other(const char *name)
{
    Dl_info self;
    /* The address of a static object is certain to be in this file. */
    const char *own = dladdr(probe, &self) ? library_of(self.dli_fname) : NULL;
    const char *other = own ? library_other(own) : NULL;
    if (!other) {
        return;
    }
    if (preload_speaks()) {
        (void)fprintf(stderr,
                      "ictus-%s: built with %s, but the program uses %s: preload the "
                      "libictus-%s.so built with the program's MPI library\n",
                      name, library_base(own), library_base(other), name);
    }
    preload_end(2);
}
