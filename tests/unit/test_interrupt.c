/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that end a study: which are taken, who learns of them, and the exit code. */
#include "main/command.h"
#include "main/interrupt.h"

#include "../check.h"

#include <mpi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    int size, others; /* what the other processes were told */
    int reductions, failed;
} world = {.size = 1};

int command_size(void)
{
    return world.size;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    (void)why;
    CHECK_STR(command, "bench");
    world.failed = err;
    return EXIT_FAILED;
}

int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm);

int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    CHECK(from == MPI_IN_PLACE && count == 1 && type == MPI_INT && op == MPI_MAX);
    CHECK(comm == MPI_COMM_WORLD);
    int *any = to;
    *any = *any > world.others ? *any : world.others;
    world.reductions++;
    return MPI_SUCCESS;
}

static int ends(int err, int otherwise)
{
    return interrupt_end("bench", err, NULL, otherwise);
}

/* In a process of its own, since what came once stays. The last signal may end it. */
static int child_with(int ignored, int first, int second)
{
    const pid_t child = fork();
    if (child == 0) {
        if (ignored) {
            (void)signal(ignored, SIG_IGN);
        }
        interrupt_watch();
        CHECK(!interrupt_here() && !interrupt_came() && ends(ICTUS_OK, EXIT_BELOW) == EXIT_BELOW);
        (void)raise(first);
        CHECK(interrupt_here() == (first != ignored));
        CHECK(interrupt_came() == (first != ignored));
        CHECK(ends(ICTUS_OK, EXIT_OK) == (first == ignored ? EXIT_OK : EXIT_INTERRUPTED));
        CHECK(ends(ICTUS_ERR_IO, EXIT_OK) == EXIT_FAILED && world.failed == ICTUS_ERR_IO);
        if (second) {
            (void)raise(second);
        }
        _exit(check_result());
    }
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int main(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        (void)signal(signals[i], SIG_DFL); /* the caller of the test may ignore it */
    }
    for (int i = 0; i < 3; i++) {
        CHECK(child_with(0, signals[i], 0) == 0);
        CHECK(child_with(0, signals[i], signals[(i + 1) % 3]) == 0);
        CHECK(child_with(0, signals[i], signals[i]) == -signals[i]); /* the second time it ends */
        CHECK(child_with(signals[i], signals[i], 0) == 0);           /* as nohup has it */
    }
    /* One process of a job is enough. */
    world.size = 3;
    CHECK(!interrupt_came() && world.reductions == 1 && ends(ICTUS_OK, EXIT_OK) == EXIT_OK);
    world.others = 1;
    CHECK(interrupt_came() && !interrupt_here());
    CHECK(ends(ICTUS_OK, EXIT_OK) == EXIT_INTERRUPTED && world.reductions == 4);
    world.size = 2;
    CHECK(interrupt_came() && world.reductions == 5);
    world.size = 1; /* who is alone asks nobody */
    CHECK(!interrupt_came() && world.reductions == 5);
    return check_result();
}
