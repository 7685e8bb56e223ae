/* SPDX-License-Identifier: BSD-3-Clause */
/* Who speaks for a job that MPI does not know of: ranks of the launchers of Open MPI, MPICH, Slurm.
 */
#include "speaker.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
