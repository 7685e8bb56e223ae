/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process prints messages while MPI is not initialised: the ranks that Open MPI, MPICH and
 * Slurm give.
 */
#include "speaker.h"

#include <ictus/text.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By then the first process has printed its message, however busy the machine is. */
enum { END_S = 60 };

bool preload_speaks(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        const char *rank = getenv(ranks[i]);
        if (rank) {
            return strcmp(rank, "0") == 0;
        }
    }
    return true;
}

/* Exported, so that all preloaded libraries of a process share the first one's. */
__attribute__((visibility("default"))) atomic_flag ictus_preload_told = ATOMIC_FLAG_INIT;

void preload_tell_variables(const char *name)
{
    struct ictus_why why = {""};
    if (!preload_speaks() || getenv("ICTUS_TRACE_PID") ||
        atomic_flag_test_and_set(&ictus_preload_told)) {
        return;
    }
    for (size_t at = ictus_variable_unknown(0, &why); at > 0;
         at = ictus_variable_unknown(at, &why)) {
        (void)fprintf(stderr, "%s: %s\n", name, why.text);
    }
}

void preload_end(int code)
{
    if (preload_speaks()) {
        ictus_drain(STDERR_FILENO);
    } else if (getenv("OMPI_COMM_WORLD_RANK")) {
        (void)sleep(END_S); /* Open MPI's launcher ends all other processes as soon as one fails */
    }
    _exit(code);
}
