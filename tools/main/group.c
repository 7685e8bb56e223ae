/* SPDX-License-Identifier: BSD-3-Clause */
/* Process counts and placements. */
#include "main/group.h"

#include "main/command.h"

#include <ictus/text.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *const group_placements[] = {"packed", "spread", NULL};

int group_counts(const char *text, int *counts, int *count, struct ictus_why *why)
{
    char copy[1024];
    char *rest = NULL;
    const int size = command_size();
    *count = 0;
    if (!text) {
        counts[(*count)++] = size;
        return ICTUS_OK;
    }
    (void)snprintf(copy, sizeof(copy), "%s", text);
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        int64_t wanted = 0;
        if (ictus_parse_int(word, &wanted) || wanted < 1 || wanted > size ||
            *count == GROUP_COUNTS_MAX) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "--processes: '%.40s' must be between 1 and the %d that run", word,
                                 size);
        }
        counts[(*count)++] = (int)wanted;
    }
    return *count ? ICTUS_OK : ictus_because(why, ICTUS_ERR_SPEC, "--processes: names no count");
}

static bool takes_part(int rank, int wanted, int all, enum placement placement)
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
    const bool member = takes_part(rank, processes, command_size(), placement);
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
