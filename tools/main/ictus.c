/* SPDX-License-Identifier: BSD-3-Clause */
/* The program: a table of commands. */
#include "main/command.h"
#include "main/completion.h"

#include <fcntl.h>
#include <ictus/text.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(ICTUS_SIMGRID)
#include "main/commands_simulated.h"
#else
#include "main/commands.h"
#endif

static bool mpi_is_up(void)
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
    if (mpi_is_up()) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    return rank;
}

int command_size(void)
{
    int size = 1;
    if (mpi_is_up()) {
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    return size;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    if (command_rank() == 0) {
        const bool said = why && why->text[0];
        (void)fprintf(stderr, "ictus %s: %s\n", command, said ? why->text : ictus_strerror(err));
        ictus_drain(STDERR_FILENO);
    }
    const bool usage = err == ICTUS_ERR_SPEC || err == ICTUS_ERR_UNKNOWN || err == ICTUS_ERR_ARG ||
                       err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_EXISTS ||
                       err == ICTUS_ERR_NOT_SHARED || err == ICTUS_ERR_THREAD;
    return usage ? EXIT_USAGE : EXIT_FAILED;
}

static void print_commands(void)
{
    printf("usage: ictus COMMAND [OPTION...]\n       mpirun -n N ictus COMMAND [OPTION...]\n\n");
    for (size_t i = 0; commands[i]; i++) {
        printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
    }
    printf("\nictus COMMAND --help says more; so does the manual page ictus-COMMAND(1).\n");
}

static void print_help(const struct command *command)
{
    printf("usage: ictus %s [OPTION...]%s%s\n%s\n\n", command->name,
           command->arguments[0] ? " " : "", command->arguments, command->summary);
    options_help(command->options);
    if (command->details) {
        printf("\n%s\n", command->details);
    }
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static int unknown_command(const char *word)
{
    const char *names[sizeof(commands) / sizeof(commands[0])] = {NULL};
    struct ictus_why why;
    for (size_t i = 0; commands[i]; i++) {
        names[i] = commands[i]->name;
    }
    (void)ictus_unknown(&why, "command", word, names);
    (void)fprintf(stderr, "ictus: %s\n", why.text);
    return EXIT_USAGE;
}

/* Whether a launcher started us: then its environment must be answered by MPI_Init. */
static bool under_launcher(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK") ||
           getenv("SLURM_STEP_NUM_TASKS");
}

static bool wants_mpi(const struct command *command)
{
    return (command->flags & (NEEDS_MPI | NEEDS_THREADS)) ||
           ((command->flags & USES_MPI) && under_launcher());
}

static bool mentions(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++) {
        if (strstr(argv[i], word)) {
            return true;
        }
    }
    return false;
}

/*
 * The thread level must be known before options are read, since options are read with MPI up, so
 * that only rank 0 complains. Asking for threads without need would slow everything that is
 * measured.
 */
static int thread_level(const struct command *command, int argc, char **argv)
{
    const bool asks = command->flags & ASKS_PROGRESS;
    const bool library = asks && mentions(argc, argv, "library");
    if (library) {
        (void)setenv("MPIR_CVAR_ASYNC_PROGRESS", "1", 0);
    }
    return command->flags & NEEDS_THREADS || library || (asks && mentions(argc, argv, "thread"))
               ? MPI_THREAD_MULTIPLE
               : MPI_THREAD_SINGLE;
}

static void start_mpi(const struct command *command, int *argc, char ***argv)
{
    const int wanted = thread_level(command, *argc, *argv);
    int provided = 0;
    /* Open MPI reads this only at start-up; without it no algorithm can be selected later. */
    (void)setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
    MPI_Init_thread(argc, argv, wanted, &provided);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct ictus_why why = {""};
    int left = 0;
    void *options = calloc(1, command->options_size + 1);
    if (!options) {
        return command_fail(command->name, ICTUS_ERR_NOMEM, NULL);
    }
    int code = EXIT_OK;
    const int err = options_read(command->options, argc, argv, options, &left, &why);
    if (err == ICTUS_ERR_EXISTS) {
        if (command_rank() == 0) {
            print_help(command);
        }
    } else if (err) {
        code = command_fail(command->name, err, &why);
    } else {
        code = command->run(options, left, argv + 1);
    }
    free(options);
    return code;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* What was printed must have come out: a full disk is a failure, not a short table. */
static int close_output(int code)
{
    const bool lost = ferror(stdout) || fflush(stdout) != 0;
    if (lost && code != EXIT_FAILED) {
        (void)fprintf(stderr, "ictus: standard output could not be written whole\n");
    }
    return lost ? EXIT_FAILED : code;
}

static int run_program(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_commands();
        return argc < 2 ? EXIT_USAGE : EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("ictus %s\n", ICTUS_VERSION);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--completion") == 0) {
        completion_print(commands);
        return EXIT_OK;
    }
    const struct command *command = find_command(argv[1]);
    if (!command) {
        return unknown_command(argv[1]);
    }
    const bool mpi = wants_mpi(command) && !asks_for_help(argc, argv);
    if (mpi) {
        start_mpi(command, &argc, &argv);
    }
    const int code = run_command(command, argc - 1, argv + 1);
    if (mpi) {
        MPI_Finalize();
    }
    return code;
}

/*
 * A standard stream that was closed must not become a result file or one of MPI's sockets: it is
 * held by a device that, as a closed one, takes no output.
 */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd) {
            return;
        }
    }
}

int main(int argc, char **argv)
{
    hold_streams();
    /* A file at its allowed size shall be an error like a full disk, which is told, not a death. */
    (void)signal(SIGXFSZ, SIG_IGN);
    return close_output(run_program(argc, argv));
}
