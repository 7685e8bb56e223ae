/* SPDX-License-Identifier: BSD-3-Clause */
/* The command table's row, the exit codes, and what every command gets from the program. */
#ifndef ICTUS_TOOLS_COMMAND_H
#define ICTUS_TOOLS_COMMAND_H

#include "main/options.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of the program, as ictus(1) documents them; interrupt.h has EXIT_INTERRUPTED. */
enum {
    EXIT_OK = 0,
    EXIT_FAILED = 1, /* began, but could not finish: a full disk, no memory, MPI, a server */
    EXIT_USAGE = 2,  /* cannot begin: a wrong option, an input that is missing or malformed */
    EXIT_BELOW = 3   /* finished, but what came is below what was asked (--fail-above, ...) */
};

enum command_flags {
    NEEDS_MPI = 1,       /* MPI is initialised before the command runs */
    NEEDS_THREADS = 2,   /* ... with MPI_THREAD_MULTIPLE */
    ASKS_PROGRESS = 8,   /* "thread" or "library" in its --strategy wants MPI_THREAD_MULTIPLE */
    READS_FILES = 16,    /* words are files or directories that must be there */
    REMAKES_OUTPUT = 32, /* looks after its --output itself: what it made is made anew */
    ASKS_THREADS = 64,   /* --threads wants MPI_THREAD_MULTIPLE */
    USES_MPI = 4         /* runs with MPI under a launcher, without it otherwise */
};

/* Instants of the clock "monotonic" around MPI_Init of this process; 0 where MPI is not up. */
struct startup {
    int64_t init_began_ns, init_ended_ns;
};

/* One command. Rows live in each cmd_*.c; ictus.c only lists them. */
struct command {
    const char *name;
    const char *summary;   /* for the list of commands */
    const char *arguments; /* after the options: "FILE..." or "" */
    const char *details;   /* a few lines under the usage, with an example */
    const struct option_row *options;
    unsigned flags;
    size_t options_size; /* of the structure that the rows fill */
    size_t startup_at;   /* its member that is a struct startup; 0: it has none */
    /*
     * Run with options read; words are what was left of the command line. Returns an exit code, the
     * same on every rank.
     */
    int (*run)(const void *options, int word_count, char **words);
};

enum { COMMAND_GROUP_MAX = 12, COMMANDS_MAX = 64 };

/* Commands that belong together; both lists end with NULL. */
struct command_group {
    const char *name;
    const struct command *commands[COMMAND_GROUP_MAX];
};

/*
 * Print one line "ictus COMMAND: ..." on standard error, from rank 0 only, and return the exit code
 * that belongs to err: EXIT_USAGE for a wrong argument, else EXIT_FAILED. Where MPI is not
 * initialised, each process that a launcher started tells of its own failure, but the command line
 * is that of all: the first one alone says what is wrong with it.
 */
int command_fail(const char *command, int err, const struct ictus_why *why);

/* Whether MPI has been initialised and not ended. */
bool command_mpi_is_up(void);

/* Rank and size in MPI_COMM_WORLD; 0 and 1 where MPI is not initialised. */
int command_rank(void);
int command_size(void);

/* Whether an MPI launcher started this process. */
bool command_launched(void);

/* How many processes a launcher started, 1 where none tells; MPI need not be initialised. */
int command_launched_size(void);

/* The rank that a launcher gave this process, 0 without one; MPI need not be initialised. */
int command_launched_rank(void);

/*
 * Whether this process is to say what is wrong with the command line of all. Others may sleep here
 * until their launcher ends them.
 */
bool command_speaks(void);

#endif
