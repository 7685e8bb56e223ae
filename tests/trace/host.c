/* SPDX-License-Identifier: BSD-3-Clause */
/* A program without MPI, which loads a library that has it: usage: host LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*run)(void) = NULL;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *symbol = library ? dlsym(library, "run") : NULL;
    if (!symbol) {
        (void)fprintf(stderr, "host: %s\n", dlerror());
        return 1;
    }
    memcpy(&run, &symbol, sizeof(run));
    return run();
}
