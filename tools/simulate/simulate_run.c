/* SPDX-License-Identifier: BSD-3-Clause */
/* smpirun as a child. */
#include "simulate/simulate_run.h"

#include "main/command.h"
#include "main/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct running {
    pid_t launcher; /* smpirun */
    pid_t program;  /* the simulation, once it has said so */
    int number;     /* where it says so */
    int told;       /* signals handed on */
    int status;     /* of the program if we saw its end, else of the launcher */
};

static void simulate_run_make_set(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGCHLD);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGHUP);
}

/* Never returns: smpirun with the descriptors that the wrapper takes for the program's. */
static void simulate_run_be_launcher(int number, const sigset_t *before,
                                     int (*become)(const void *), const void *given)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    /* It hands a SIGTERM on to the simulation. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)sigprocmask(SIG_SETMASK, before, NULL);
    if (nowhere >= 0 && dup2(STDOUT_FILENO, SIMULATE_RESULTS) == SIMULATE_RESULTS &&
        dup2(number, SIMULATE_NUMBER) == SIMULATE_NUMBER) {
        (void)dup2(nowhere, STDOUT_FILENO);
        _exit(become(given));
    }
    _exit(EXIT_FAILED);
}

static void simulate_run_learn_program(struct running *r)
{
    char text[24];
    struct pollfd ready = {.fd = r->number, .events = POLLIN};
    if (!r->program && poll(&ready, 1, 0) > 0) {
        const ssize_t n = read(r->number, text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        r->program = (pid_t)strtol(text, NULL, 10);
    }
}

/*
 * The first goes to the simulation alone, so that the launcher waits for its end; where there is
 * none yet, to the launcher. The second ends both.
 */
static void simulate_run_hand_on(struct running *r)
{
    const int number = r->told++ ? SIGKILL : SIGTERM;
    simulate_run_learn_program(r);
    if (r->program) {
        (void)kill(r->program, number);
    }
    if (!r->program || number == SIGKILL) {
        (void)kill(r->launcher, number);
    }
}

/* Whether no process is left to wait for. */
static bool running_reap(struct running *r)
{
    int status = 0;
    pid_t gone;
    simulate_run_learn_program(r);
    while ((gone = waitpid(-1, &status, WNOHANG)) > 0) {
        if (gone == r->program || (gone == r->launcher && r->status < 0)) {
            r->status = status;
        }
    }
    return gone < 0 && errno == ECHILD;
}

static int simulate_run_end_code(const struct running *r)
{
    if (r->told) {
        return EXIT_INTERRUPTED;
    }
    return r->status >= 0 && WIFEXITED(r->status) ? WEXITSTATUS(r->status) : EXIT_FAILED;
}

int simulate_run(int (*become)(const void *given), const void *given)
{
    struct running r = {.status = -1};
    sigset_t before;
    sigset_t set;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        return EXIT_FAILED;
    }
    simulate_run_make_set(&set);
    (void)fflush(NULL);
    /*
     * A terminal sends the signal to all processes: the launcher ends, and the simulation becomes
     * our own child.
     */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    r.launcher = fork();
    if (r.launcher == 0) {
        simulate_run_be_launcher(ends[1], &before, become, given);
    }
    r.number = ends[0];
    (void)close(ends[1]);
    while (r.launcher > 0 && !running_reap(&r)) {
        int number = 0;
        if (sigwait(&set, &number) == 0 && number != SIGCHLD) {
            simulate_run_hand_on(&r);
        }
    }
    (void)close(ends[0]);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return simulate_run_end_code(&r);
}
