/* SPDX-License-Identifier: BSD-3-Clause */
#include "traces/lead.h"

#include "main/command.h"
#include "main/meet.h"

#include <mpi.h>
#include <sched.h>
#include <stddef.h>

/*
 * Launchers bind each process to processors of its own, so rank 0 alone would have one. Threads
 * that are created later inherit all.
 */
static void lead_take_processors(void)
{
    cpu_set_t own;
    cpu_set_t all;
    MPI_Comm node;
    CPU_ZERO(&own);
    CPU_ZERO(&all);
    if (sched_getaffinity(0, sizeof own, &own)) {
        CPU_ZERO(&own); /* a machine with more processors than the set has room for */
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, command_rank(), MPI_INFO_NULL, &node);
    MPI_Reduce(&own, &all, (int)sizeof own, MPI_BYTE, MPI_BOR, 0, node);
    MPI_Comm_free(&node);
    if (command_rank() == 0 && CPU_COUNT(&all) > CPU_COUNT(&own)) {
        (void)sched_setaffinity(0, sizeof all, &all); /* otherwise it works where it is */
    }
}

bool lead_begin(void)
{
    if (command_size() > 1) {
        lead_take_processors();
    }
    return command_rank() == 0;
}

void lead_end(void)
{
    if (command_size() > 1) {
        meet_all();
    }
}

bool lead_agree(bool value)
{
    int said = value;
    if (command_size() > 1) {
        MPI_Bcast(&said, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return said != 0;
}
