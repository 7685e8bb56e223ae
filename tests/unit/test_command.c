/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a command knows of its job: from MPI while it is up, else from the launcher's environment;
 * and who of all processes says what is wrong, with which exit code.
 */
#include "main/command.h"

#include "../check.h"

#include <mpi.h>
#include <unistd.h>

static struct {
    bool up, down;
    int slept_s;
} world;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_MPI_Initialized(int *flag);
int __wrap_MPI_Finalized(int *flag);
int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_MPI_Comm_size(MPI_Comm comm, int *size);
unsigned __wrap_sleep(unsigned seconds);

int __wrap_MPI_Initialized(int *flag)
{
    *flag = world.up;
    return MPI_SUCCESS;
}

int __wrap_MPI_Finalized(int *flag)
{
    *flag = world.down;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    CHECK(world.up && !world.down);
    *rank = 2;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    CHECK(world.up && !world.down);
    *size = 5;
    return MPI_SUCCESS;
}

unsigned __wrap_sleep(unsigned seconds)
{
    world.slept_s += (int)seconds;
    return 0;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "SLURM_PROCID",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_SIZE",
                                        "SLURM_STEP_NUM_TASKS"};

static void environment_clear(void)
{
    memset(&world, 0, sizeof(world));
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        CHECK(unsetenv(variables[i]) == 0);
    }
}

static void mpi_is_asked_while_it_is_up(void)
{
    int version = 0, minor = 0;
    environment_clear();
    CHECK(MPI_Get_version(&version, &minor) == MPI_SUCCESS && version >= 3); /* at any time */
    CHECK(!command_mpi_is_up() && command_rank() == 0 && command_size() == 1);
    world.up = true;
    CHECK(command_mpi_is_up() && command_rank() == 2 && command_size() == 5);
    world.down = true;
    CHECK(!command_mpi_is_up() && command_rank() == 0 && command_size() == 1);
}

/* The first variable that is a number counts. */
static void launchers_are_believed(void)
{
    environment_clear();
    CHECK(command_launched_rank() == 0 && command_launched_size() == 1 && !command_launched());
    for (int i = 3; i >= 0; i--) { /* the later ones stay */
        char text[8];
        (void)snprintf(text, sizeof(text), "%d", 10 + i);
        CHECK(setenv(variables[i], text, 1) == 0 && command_launched_rank() == 10 + i);
    }
    CHECK(setenv("OMPI_COMM_WORLD_RANK", "x", 1) == 0 && command_launched_rank() == 11);
    CHECK(setenv("PMIX_RANK", "", 1) == 0 && command_launched_rank() == 12);
    for (int i = 6; i >= 4; i--) {
        char text[8];
        (void)snprintf(text, sizeof(text), "%d", 10 + i);
        CHECK(setenv(variables[i], text, 1) == 0 && command_launched_size() == 10 + i);
    }
    static const char *const launched[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK",
                                           "SLURM_STEP_NUM_TASKS"};
    for (int i = 0; i < 4; i++) {
        environment_clear();
        CHECK(!command_launched() && setenv(launched[i], "3", 1) == 0 && command_launched());
    }
}

/* Without MPI the launcher's first process, with it MPI's; others of Open MPI's launcher wait. */
static void one_process_speaks(void)
{
    environment_clear();
    CHECK(command_speaks());
    CHECK(setenv("PMI_RANK", "1", 1) == 0 && !command_speaks() && world.slept_s == 0);
    CHECK(setenv("OMPI_COMM_WORLD_RANK", "1", 1) == 0 && command_speaks() && world.slept_s >= 30);
    world.slept_s = 0;
    CHECK(setenv("OMPI_COMM_WORLD_RANK", "0", 1) == 0 && command_speaks() && world.slept_s == 0);
    world.up = true;
    CHECK(!command_speaks() && world.slept_s == 0); /* rank 2 */
}

/* What is written on standard error meanwhile. */
static void fail_as(int err, const char *reason, int code, const char *words)
{
    char said[256] = "";
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    REQUIRE(file && before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    struct ictus_why why = {""};
    (void)snprintf(why.text, sizeof(why.text), "%s", reason);
    const int found = command_fail("sync", err, reason[0] ? &why : NULL);
    REQUIRE(dup2(before, STDERR_FILENO) >= 0);
    (void)close(before);
    REQUIRE(pread(fileno(file), said, sizeof(said) - 1, 0) >= 0);
    (void)fclose(file);
    CHECK(found == code);
    CHECK_STR(said, words);
}

static void failures_have_codes(void)
{
    static const int usage[] = {ICTUS_ERR_SPEC,   ICTUS_ERR_UNKNOWN,    ICTUS_ERR_ARG,
                                ICTUS_ERR_FORMAT, ICTUS_ERR_NOT_SHARED, ICTUS_ERR_UNSUPPORTED,
                                ICTUS_ERR_EXISTS, ICTUS_ERR_THREAD};
    environment_clear();
    for (size_t i = 0; i < sizeof(usage) / sizeof(usage[0]); i++) {
        fail_as(usage[i], "wrong", EXIT_USAGE, "ictus sync: wrong\n");
    }
    fail_as(ICTUS_ERR_IO, "full", EXIT_FAILED, "ictus sync: full\n");
    char words[128];
    (void)snprintf(words, sizeof(words), "ictus sync: %s\n", ictus_strerror(ICTUS_ERR_NOMEM));
    fail_as(ICTUS_ERR_NOMEM, "", EXIT_FAILED, words);
    CHECK(setenv("PMI_RANK", "1", 1) == 0);
    fail_as(ICTUS_ERR_ARG, "wrong", EXIT_USAGE, ""); /* the first one says so */
    fail_as(ICTUS_ERR_IO, "full", EXIT_FAILED, "ictus sync: full\n");
    world.up = true;
    fail_as(ICTUS_ERR_IO, "full", EXIT_FAILED, "");
}

int main(void)
{
    mpi_is_asked_while_it_is_up();
    launchers_are_believed();
    one_process_speaks();
    failures_have_codes();
    return check_result();
}
