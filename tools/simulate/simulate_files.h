/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What SimGrid is given to read: platform, hosts, and a wrapper around the program. In memory, so
 * that nothing stays behind however a simulation ends.
 */
#ifndef ICTUS_TOOLS_SIMULATE_FILES_H
#define ICTUS_TOOLS_SIMULATE_FILES_H

#include "simulate/simulate_platform.h"

#include <stdbool.h>

enum { SIMULATE_PATH_BYTES = 64 };

struct simulate_files {
    /* Paths to open, /dev/fd/N, here and in all children. */
    char platform[SIMULATE_PATH_BYTES], hosts[SIMULATE_PATH_BYTES], wrapper[SIMULATE_PATH_BYTES];
};

/*
 * Make and fill them. The wrapper is a shell's script that runs its arguments, the words after
 * them, as simulate_run() wants it: smpirun itself would take words apart at blanks. keep: put
 * copies into a new directory under $TMPDIR or /tmp, and say where. Errors: ICTUS_ERR_IO, and those
 * of simulate_platform_write().
 */
int simulate_files_make(const struct simulate_cluster *cluster, char *const *words, bool keep,
                        struct simulate_files *files, struct ictus_why *why);

#endif
