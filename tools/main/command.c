/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a command knows about its process and the others of the job, and how it fails for all of
 * them.
 */
#include "main/command.h"
#include "main/output.h"

#include <ictus/text.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool command_mpi_is_up(void)
{
    int up = 0;
    int down = 0;
    MPI_Initialized(&up);
    MPI_Finalized(&down);
    return up && !down;
}

int command_rank(void)
{
    int rank = 0;
    if (command_mpi_is_up()) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    return rank;
}

int command_size(void)
{
    int size = 1;
    if (command_mpi_is_up()) {
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    return size;
}

/* A launcher's environment is there, so its processes must call MPI_Init. */
bool command_launched(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK") ||
           getenv("SLURM_STEP_NUM_TASKS");
}

/* The first of some variables (ended by NULL) that is a number. */
static int launched_number(const char *const *names, int otherwise)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        int64_t number = 0;
        if (text && ictus_parse_int(text, &number) == ICTUS_OK) {
            return (int)number;
        }
    }
    return otherwise;
}

int command_launched_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID", NULL};
    return launched_number(names, 0);
}

int command_launched_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                        NULL};
    return launched_number(names, 1);
}

bool command_speaks(void)
{
    /* By then the first process has printed its line, however busy the machine is. */
    enum { END_S = 60 };
    if (command_mpi_is_up() || command_launched_rank() == 0) {
        return command_rank() == 0;
    }
    /*
     * Open MPI's launcher ends all others as soon as one fails: let that be the first, which
     * speaks. A process that lives on had another command line than the first.
     */
    if (getenv("OMPI_COMM_WORLD_RANK")) {
        (void)sleep(END_S);
        return true;
    }
    return false;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    const bool usage = err == ICTUS_ERR_SPEC || err == ICTUS_ERR_UNKNOWN || err == ICTUS_ERR_ARG ||
                       err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_EXISTS ||
                       err == ICTUS_ERR_NOT_SHARED || err == ICTUS_ERR_THREAD ||
                       err == ICTUS_ERR_FORMAT;
    /*
     * Without MPI a process knows nothing about the others: what fails here may work there, so each
     * one reports.
     */
    if (usage ? command_speaks() : command_rank() == 0) {
        const bool said = why && why->text[0];
        (void)fprintf(stderr, "ictus %s: %s\n", command, said ? why->text : ictus_strerror(err));
        ictus_drain(STDERR_FILENO);
    }
    return usage ? EXIT_USAGE : EXIT_FAILED;
}
