/* SPDX-License-Identifier: BSD-3-Clause */
/* Process counts and placements. */
#include "main/group.h"

#include "main/command.h"
#include "main/sizes.h"

#include <ictus/text.h>

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

const char *const group_placements[] = {"packed", "spread", NULL};

int group_counts(const char *text, int *counts, int *count, struct ictus_why *why)
{
    uint64_t *wanted = NULL;
    size_t n = 0;
    const int size = command_size();
    *count = 0;
    if (!text) {
        counts[(*count)++] = size;
        return ICTUS_OK;
    }
    int err = sizes_read("processes", text, &wanted, &n, why);
    for (size_t i = 0; i < n && !err; i++) {
        if (wanted[i] < 1 || wanted[i] > (uint64_t)size || *count == GROUP_COUNTS_MAX) {
            err = ictus_because(why, ICTUS_ERR_SPEC,
                                "--processes=%llu: must be between 1 and %d, the number of running "
                                "processes",
                                (unsigned long long)wanted[i], size);
            break;
        }
        counts[(*count)++] = (int)wanted[i];
    }
    free(wanted);
    return err;
}

static bool group_takes_part(int rank, int wanted, int all, enum placement placement)
{
    if (placement == PLACE_PACKED) {
        return rank < wanted;
    }
    for (int64_t i = 0; i < wanted; i++) {
        if (i * all / wanted == rank) {
            return true;
        }
    }
    return false;
}

void group_split(int processes, enum placement placement, MPI_Comm *comm)
{
    const int rank = command_rank();
    const bool member = group_takes_part(rank, processes, command_size(), placement);
    MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, rank, comm);
}

void group_rest(void)
{
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = 200000};
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        (void)nanosleep(&nap, NULL);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}
