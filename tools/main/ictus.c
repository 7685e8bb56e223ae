/* SPDX-License-Identifier: BSD-3-Clause */
/* The program: a table of commands, and what is common to running any of them. */
#include "main/agreement.h"
#include "main/command.h"
#include "main/completion.h"
#include "main/effect.h"
#include "main/output.h"
#include "main/results.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(ICTUS_SIMGRID)
#include "main/commands_simulated.h"
#else
#include "main/commands.h"
#endif

static void ictus_print_commands(void)
{
    printf("usage: ictus COMMAND [OPTION...]\n       mpirun -n N ictus COMMAND [OPTION...]\n");
    for (const struct command_group *group = command_groups; group->name; group++) {
        printf("\n%s\n", group->name);
        for (size_t i = 0; i < COMMAND_GROUP_MAX && group->commands[i]; i++) {
            printf("  %-12s %s\n", group->commands[i]->name, group->commands[i]->summary);
        }
    }
    printf("\n'ictus help COMMAND' describes a command, as ictus-COMMAND(1) does.\n");
}

/* All commands in a row, ended by NULL. */
static void ictus_list_commands(const struct command *list[COMMANDS_MAX])
{
    size_t count = 0;
    for (const struct command_group *group = command_groups; group->name; group++) {
        for (size_t i = 0; i < COMMAND_GROUP_MAX && group->commands[i]; i++) {
            list[count++] = group->commands[i];
        }
    }
    list[count] = NULL;
}

static void ictus_print_help(const struct command *command)
{
    printf("usage: ictus %s [OPTION...]%s%s\n%s\n\n", command->name,
           command->arguments[0] ? " " : "", command->arguments, command->summary);
    options_help(command->options);
    if (command->details) {
        printf("\n%s\n", command->details);
    }
}

static const struct command *ictus_find_command(const char *name)
{
    const struct command *list[COMMANDS_MAX];
    ictus_list_commands(list);
    for (size_t i = 0; list[i]; i++) {
        if (strcmp(list[i]->name, name) == 0) {
            return list[i];
        }
    }
    return NULL;
}

static int ictus_unknown_command(const char *word)
{
    static const char *const questions[] = {"--help", "--version", "--completion", NULL};
    const struct command *list[COMMANDS_MAX];
    const char *names[COMMANDS_MAX] = {NULL};
    struct ictus_why why;
    ictus_list_commands(list);
    for (size_t i = 0; list[i]; i++) {
        names[i] = list[i]->name;
    }
    if (word[0] == '-') {
        (void)ictus_unknown(&why, "option", word, questions);
    } else {
        (void)ictus_unknown(&why, "command", word, names);
    }
    if (command_speaks()) {
        (void)fprintf(stderr, "ictus: %s\n", why.text);
    }
    return EXIT_USAGE;
}

static bool ictus_wants_mpi(const struct command *command)
{
    return (command->flags & (NEEDS_MPI | NEEDS_THREADS)) ||
           ((command->flags & USES_MPI) && command_launched());
}

/* Whether the list of --strategy (or of an abbreviation of it) contains a word. */
static bool ictus_asks_strategy(int argc, char **argv, const char *word)
{
    static const char option[] = "--strategy";
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const size_t length = strcspn(argv[i], "=");
        if (length < 4 || strncmp(argv[i], option, length) != 0) {
            continue;
        }
        const char *value = argv[i][length] ? argv[i] + length : i + 1 < argc ? argv[i + 1] : "";
        if (strstr(value, word)) {
            return true;
        }
    }
    return false;
}

/* Whether the option stands there, whatever its value. */
static bool ictus_asks_option(int argc, char **argv, const char *option)
{
    const size_t length = strlen(option);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], option, length) == 0 && (!argv[i][length] || argv[i][length] == '=')) {
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
    const bool library = asks && ictus_asks_strategy(argc, argv, "library");
    const bool threads =
        (command->flags & ASKS_THREADS) && ictus_asks_option(argc, argv, "--threads");
    if (library) {
        (void)setenv("MPIR_CVAR_ASYNC_PROGRESS", "1", 0);
    }
    if (command->flags & NEEDS_THREADS || library || threads ||
        (asks && ictus_asks_strategy(argc, argv, "thread"))) {
        return MPI_THREAD_MULTIPLE;
    }
    /* What works on files under MPI has a thread for its progress, which calls no MPI. */
    return command->flags & USES_MPI ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
}

static int64_t startup_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct startup ictus_start_mpi(const struct command *command, int *argc, char ***argv)
{
    struct startup startup;
    const int wanted = thread_level(command, *argc, *argv);
    int provided = 0;
    /* Open MPI reads this only at start-up; without it no algorithm can be selected later. */
    (void)setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
    startup.init_began_ns = startup_now_ns();
    MPI_Init_thread(argc, argv, wanted, &provided);
    startup.init_ended_ns = startup_now_ns();
    return startup;
}

static const void *option_named(const struct command *command, const void *options,
                                const char *name)
{
    const struct option_row *row = options_row(command->options, name);
    return row ? (const char *)options + row->offset : NULL;
}

static int ictus_check_inputs(int count, char **words, struct ictus_why *why)
{
    for (int i = 0; i < count; i++) {
        if (access(words[i], R_OK)) {
            return ictus_because(why, ICTUS_ERR_ARG, "cannot read '%.200s': %s", words[i],
                                 strerror(errno));
        }
    }
    return ICTUS_OK;
}

static int ictus_check_output(const struct command *command, const void *options, int count,
                              char **words, struct ictus_why *why)
{
    const bool *force = option_named(command, options, "force");
    const bool *resume = option_named(command, options, "resume");
    const char *const *output = option_named(command, options, "output");
    const struct option_row *row = options_row(command->options, "output");
    int err = ICTUS_OK;
    if (row && output) {
        err = strcmp(row->argument, "DIR") == 0 ? output_possible_directory(*output, why)
                                                : output_possible(*output, why);
    }
    if (err || !force || !output || (command->flags & REMAKES_OUTPUT)) {
        return err;
    }
    err = output_allowed(*output, *force || (resume && *resume), count, words, why);
    if (err && resume && !*force && !*resume) {
        (void)ictus_because(why, err,
                            "'%.200s' exists; use --force to replace it or --resume to continue it",
                            *output);
    }
    return err;
}

/* The earlier result of --after is read, and the output must not replace it. */
static int ictus_check_after(const struct command *command, const void *options,
                             struct ictus_why *why)
{
    const char *const *after = option_named(command, options, "after");
    const char *const *output = option_named(command, options, "output");
    if (!after || !*after) {
        return ICTUS_OK;
    }
    char *word = strdup(*after);
    int err = word ? ictus_check_inputs(1, &word, why) : ICTUS_ERR_NOMEM;
    err = err || !output ? err : output_allowed(*output, true, 1, &word, why);
    free(word);
    return err;
}

/*
 * What is wrong with files before anything is done: one that is to be read and is not there, one
 * that is to be written and would be lost. Collective where MPI is up: rank 0 looks, since it may
 * create the file while others have yet to.
 */
static int ictus_check_files(const struct command *command, const void *options, int count,
                             char **words, struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (command_rank() == 0) {
        err = command->flags & READS_FILES ? ictus_check_inputs(count, words, why) : ICTUS_OK;
        err = err ? err : ictus_check_after(command, options, why);
        err = err ? err : ictus_check_output(command, options, count, words, why);
    }
    return results_agree(err, why);
}

/*
 * What works on files in one process would do all its work, print it and write its file as often as
 * a launcher started it.
 */
static int ictus_check_alone(const struct command *command, struct ictus_why *why)
{
    const int count = command_launched_size();
    const bool alone = (command->flags & (READS_FILES | NEEDS_MPI | USES_MPI)) == READS_FILES;
    return alone && count > 1
               ? ictus_because(why, ICTUS_ERR_ARG,
                               "this command works in one process, but %d were started; leave out "
                               "the launcher (mpirun, srun)",
                               count)
               : ICTUS_OK;
}

/*
 * A variable that is misspelt has no effect. What ictus trace starts need not repeat what it has
 * said, nor the simulator what ictus simulate has.
 */
static void ictus_tell_variables(const struct command *command, const void *options)
{
#if defined(ICTUS_SIMGRID)
    (void)command;
    (void)options;
#else
    const bool *quiet = option_named(command, options, "quiet");
    struct ictus_why why;
    if (command_launched_rank() > 0 || (quiet && *quiet) || getenv("ICTUS_TRACE_PID")) {
        return;
    }
    for (size_t at = ictus_variable_unknown(0, &why); at > 0;
         at = ictus_variable_unknown(at, &why)) {
        (void)fprintf(stderr, "ictus %s: %s\n", command->name, why.text);
    }
#endif
}

static int ictus_run_command(const struct command *command, const struct startup *startup, int argc,
                             char **argv)
{
    struct ictus_why why = {""};
    int left = 0;
    void *options = calloc(1, command->options_size + 1);
    if (!options) {
        return command_fail(command->name, ICTUS_ERR_NOMEM, NULL);
    }
    int code = EXIT_OK;
    int err = options_read(command->options, argc, argv, options, &left, &why);
    const bool help = err == ICTUS_ERR_EXISTS;
    if (command->startup_at > 0) {
        memcpy((char *)options + command->startup_at, startup, sizeof(*startup));
    }
    if (!help) {
        err = agreement_reach(command, options, left, argv + 1, err, &why);
    }
    if (!err) {
        err = effect_check(command->name, command->options, options, &why);
    }
    if (!err) {
        err = ictus_check_alone(command, &why);
    }
    if (!err) {
        err = ictus_check_files(command, options, left, argv + 1, &why);
    }
    if (!help) {
        ictus_tell_variables(command, options);
    }
    if (help && command_launched_rank() == 0) {
        ictus_print_help(command);
    } else if (!help) {
        code = err ? command_fail(command->name, err, &why) : command->run(options, left, argv + 1);
    }
    free(options);
    return code;
}

static bool ictus_asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* If standard output could not be written completely (a full disk), that is a failure. */
static int ictus_close_output(int code)
{
    const bool lost = ferror(stdout) || fflush(stdout) != 0;
    if (lost && code != EXIT_FAILED) {
        (void)fprintf(stderr, "ictus: standard output could not be written completely\n");
    }
    return lost ? EXIT_FAILED : code;
}

/* ictus help, ictus help COMMAND */
static int help_run(int argc, char **argv)
{
    const struct command *command = argc > 2 ? ictus_find_command(argv[2]) : NULL;
    if (argc > 2 && !command) {
        return ictus_unknown_command(argv[2]);
    }
    if (command_launched_rank() > 0) {
        return EXIT_OK;
    }
    if (command) {
        ictus_print_help(command);
    } else {
        ictus_print_commands();
    }
    return EXIT_OK;
}

static bool question_is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* How many words may follow a question: the command of help, the shell of --completion. */
static int question_words(const char *word)
{
    return word[0] && strcmp(word, "--version") != 0;
}

/* Words that stand in a command's place. */
static bool ictus_is_question(const char *word)
{
    static const char *const words[] = {"", "--help", "-h", "help", "--version", "--completion"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Answer --help, --version and the like; of several processes only the first one prints. Returns
 * false if the word is a command.
 */
static bool ictus_answer_word(int argc, char **argv, int *code)
{
    const char *word = argc < 2 ? "" : argv[1];
    *code = argc < 2 ? EXIT_USAGE : EXIT_OK;
    if (!ictus_is_question(word)) {
        return false;
    }
    const int taken = 2 + question_words(word);
    if (argc > taken) {
        *code = EXIT_USAGE;
        if (command_speaks()) {
            (void)fprintf(stderr, "ictus: unexpected argument '%.80s' after '%.80s'\n", argv[taken],
                          argv[taken - 1]);
        }
    } else if (question_is_help(word)) {
        *code = help_run(argc, argv);
    } else if (command_launched_rank() > 0) {
        return true;
    } else if (strcmp(word, "--version") == 0) {
        printf("ictus %s\n", ICTUS_VERSION);
    } else if (strcmp(word, "--completion") == 0) {
        const struct command *list[COMMANDS_MAX];
        ictus_list_commands(list);
        *code = completion_print(argc > 2 ? argv[2] : "bash", list) ? EXIT_OK : EXIT_USAGE;
    } else {
        ictus_print_commands(); /* no word at all */
    }
    return true;
}

static int main_run_program(int argc, char **argv)
{
    int code = EXIT_OK;
    if (ictus_answer_word(argc, argv, &code)) {
        return code;
    }
    const struct command *command = ictus_find_command(argv[1]);
    if (!command) {
        return ictus_unknown_command(argv[1]);
    }
    const bool mpi = ictus_wants_mpi(command) && !ictus_asks_for_help(argc, argv);
    struct startup startup = {0, 0};
    if (mpi) {
        startup = ictus_start_mpi(command, &argc, &argv);
    }
    code = ictus_run_command(command, &startup, argc - 1, argv + 1);
    if (mpi) {
        MPI_Finalize();
    }
    return code;
}

/*
 * A standard stream that was closed must not become a result file or one of MPI's sockets: it is
 * held by a device that, as a closed one, takes no output.
 */
static void ictus_hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd) {
            return;
        }
    }
}

int main(int argc, char **argv)
{
    ictus_hold_streams();
    /*
     * A file that reaches the allowed size is then an error that is reported, like a full disk, and
     * does not kill the process.
     */
    (void)signal(SIGXFSZ, SIG_IGN);
    return ictus_close_output(main_run_program(argc, argv));
}
