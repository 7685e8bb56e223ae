/* SPDX-License-Identifier: BSD-3-Clause */
/* Remembers a signal until the next pause. */
#include "main/interrupt.h"

#include "main/command.h"

#include <mpi.h>
#include <signal.h>
#include <string.h>

/*
 * The only mutable global of the program: a signal handler has nowhere else to store what happened.
 */
static volatile sig_atomic_t told_to_stop;

static void interrupt_remember(int number)
{
    (void)number;
    told_to_stop = 1;
}

void interrupt_watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before;
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = interrupt_remember;
    /* Once only: a second signal ends the process the usual way. */
    action.sa_flags = (int)SA_RESETHAND;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        /*
         * A signal that is ignored already (by nohup, or by a shell for jobs in the background)
         * stays ignored.
         */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}

bool interrupt_here(void)
{
    return told_to_stop != 0;
}

bool interrupt_came(void)
{
    int any = told_to_stop != 0;
    if (command_size() > 1) {
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    return any != 0;
}

int interrupt_end(const char *command, int err, const struct ictus_why *why, int otherwise)
{
    const bool interrupted = interrupt_came();
    if (err) {
        return command_fail(command, err, why);
    }
    return interrupted ? EXIT_INTERRUPTED : otherwise;
}
