/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process prints messages while MPI is not initialised: the ranks that Open MPI, MPICH and
 * Slurm give.
 */
#include "speaker.h"

#include <ictus/text.h>

#include <stddef.h>
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

void preload_end(int code)
{
    if (preload_speaks()) {
        ictus_drain(STDERR_FILENO);
    } else if (getenv("OMPI_COMM_WORLD_RANK")) {
        (void)sleep(END_S); /* Open MPI's launcher ends all other processes as soon as one fails */
    }
    _exit(code);
}
