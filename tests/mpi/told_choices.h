/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake MPI library that runs the algorithms that are chosen, and a witness of what runs. For
 * ictus_wrap(nanosleep).
 */
#ifndef ICTUS_TESTS_MPI_TOLD_CHOICES_H
#define ICTUS_TESTS_MPI_TOLD_CHOICES_H

#include <ictus/select.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "check_mpi.h"
#include "told_libraries.h"

enum { AUTO, BINOMIAL, RING, SMP, DEVICE, OTHER, BOTH, TWICE, ALGORITHMS };
enum { ALWAYS, OFF, EACH }; /* when devices' collectives come before the library's */

/* The state of the fake library. */
static struct {
    int own;                  /* the algorithm it chooses by itself */
    int own_last;             /* likewise, as seen by the last process; 0: the same */
    bool refuses[ALGORITHMS]; /* algorithms that the last process cannot run, if it must not fall
                                 back silently */
    bool alike;               /* the ring is the same function as smp */
    bool apart;               /* each process is on a node of its own */
    int blind;                /* process whose witness sees nothing, or -1 */
    bool dark;                /* no witness sees anything */
    size_t bytes;             /* size of the trial message */
    int runs, duplicates;
    int made, freed;      /* communicators */
    int ran;              /* algorithm of the last run */
    bool by_itself;       /* nothing was forced in the last run */
    bool watched, waited; /* whether this process was, in the last run */
    int kept_ms;          /* how long it was delayed before the last run */
    int delays_ms[80];
} lib;

static int algorithm_in_force(void)
{
    const int devices = mpich[M_DEVICES].value;
    const int value = mpich[M_BCAST].value;
    if (variables != mpich) {
        return open_mpi[O_BCAST].value;
    }
    if (devices == ALWAYS || (devices == EACH && mpich[M_BCAST_DEVICE].value)) {
        return DEVICE;
    }
    return value == AUTO ? lib.own : value;
}

static bool goes_on_in_silence(void)
{
    return variables == mpich && mpich[M_FALLBACK].value != 0;
}

int MPI_Bcast(void *words, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int rank = 0;
    int size = 0;
    int bytes = 0;
    int delays[2] = {lib.kept_ms, -lib.kept_ms};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Type_size(type, &bytes);
    CHECK(!lib.bytes || (size_t)count * (size_t)bytes == lib.bytes);
    lib.ran = algorithm_in_force();
    lib.by_itself = mpich[M_BCAST].value == AUTO;
    int late = lib.kept_ms ? rank : -1;
    int lates = lib.kept_ms > 0;
    PMPI_Allreduce(MPI_IN_PLACE, &late, 1, MPI_INT, MPI_MAX, comm);
    PMPI_Allreduce(MPI_IN_PLACE, &lates, 1, MPI_INT, MPI_SUM, comm);
    PMPI_Allreduce(MPI_IN_PLACE, delays, 2, MPI_INT, MPI_MAX, comm);
    if (lib.runs < (int)(sizeof(lib.delays_ms) / sizeof(lib.delays_ms[0]))) {
        lib.delays_ms[lib.runs] = late == size - 1 ? delays[0] : -delays[0];
    }
    /* No process is late, or exactly one: the first or the last. */
    CHECK(lates == 0 || (lates == 1 && (late == 0 || late == size - 1)));
    CHECK(lates == 0 || lib.watched == (check_rank != lib.blind));
    lib.waited = lates > 0 && late != rank;
    lib.kept_ms = 0;
    lib.runs++;
    const int err = PMPI_Bcast(words, count, type, root, comm);
    return lib.refuses[lib.ran] && rank == size - 1 && !goes_on_in_silence() ? MPI_ERR_OTHER : err;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    CHECK(type == MPI_COMM_TYPE_SHARED && info == MPI_INFO_NULL);
    lib.made++;
    return PMPI_Comm_split(comm, lib.apart ? rank : 0, key, part);
}

/* MPICH's own duplication fails under some choices, and Open MPI's copies the choices. */
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    CHECK(variables != mpich || mpich[M_BCAST].value == AUTO);
    lib.duplicates++;
    lib.made++;
    return PMPI_Comm_dup(comm, copy);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy)
{
    char value[32] = "";
    int found = 0;
    MPI_Info_get(info, "ompi_comm_coll_preference", (int)sizeof(value) - 1, value, &found);
    CHECK(variables == open_mpi && found);
    CHECK_STR(value, "tuned");
    CHECK(open_mpi[O_BCAST].value != 0 || lib.duplicates > 2);
    lib.duplicates += 100;
    lib.made++;
    return PMPI_Comm_dup(comm, copy);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    lib.freed++;
    return PMPI_Comm_free(comm);
}

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's name */
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);

/* Sleeps for the first half, and for the second half when it is called again. */
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    const long ms = (long)wanted->tv_sec * 1000 + wanted->tv_nsec / 1000000;
    const bool interrupted = ms % 4 == 0;
    lib.kept_ms += (int)(interrupted ? ms / 2 - 1 : ms);
    *left = (struct timespec){0, (ms / 2 + 1) * 1000000};
    return interrupted ? -1 : 0;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* What a witness sees on stacks: functions inside MPI_Bcast, which have no names. */
static const char functions[ALGORITHMS], inside;

static int own_choice(void)
{
    return lib.own_last && check_rank == check_size - 1 ? lib.own_last : lib.own;
}

static const void *path(int algorithm, size_t depth)
{
    const int own = own_choice();
    const int first = algorithm == DEVICE ? own : lib.alike && algorithm == SMP ? RING : algorithm;
    switch (depth) {
    case 0:
        return (const void *)(uintptr_t)&MPI_Bcast;
    case 1:
        return &inside;
    case 2:
        return algorithm == DEVICE ? &functions[DEVICE]
               : first == BOTH     ? &functions[RING]
               : first == TWICE    ? path(0, 0)
                                   : &functions[first];
    default:
        return first == BOTH || first == TWICE || algorithm == DEVICE
                   ? &functions[algorithm == DEVICE ? own : BINOMIAL]
                   : NULL;
    }
}

static int watch(void *state)
{
    CHECK(state == &lib && !lib.watched);
    lib.waited = false;
    lib.watched = check_rank != lib.blind;
    return lib.watched ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED;
}

static void rest(void *state)
{
    CHECK(state == &lib && lib.watched);
    lib.watched = false;
}

static size_t stack(void *state, size_t i, const void **found, size_t room)
{
    size_t depth = 0;
    CHECK(state == &lib && !lib.watched);
    if (i >= 7 || !lib.waited || check_rank == lib.blind || lib.dark) {
        return 0;
    }
    const int ran = lib.by_itself && lib.ran != DEVICE ? own_choice() : lib.ran;
    for (; depth < 4 && depth < room && path(ran, depth); depth++) {
        found[depth] = path(ran, depth);
    }
    return depth;
}

static const struct ictus_witness witness = {&lib, watch, rest, stack};

static struct ictus_selector *selector;
static struct ictus_why why;

/* Simulate a library that has just been started. */
static void start(struct told *told, int count)
{
    variables = told;
    variable_count = count;
    memset(&lib, 0, sizeof(lib));
    lib.own = BINOMIAL;
    lib.blind = -1;
}

/* Everything is as it was before, and nothing is left open, but for this many communicators that
 * the selector has with those that were not released. */
static void left_is(int kept)
{
    static const int values[] = {7, 0, 0, -1, -1, 2, 1, 0, 0, 0, 0, 0};
    CHECK(tools == 0 && lib.made == lib.freed + kept);
    for (int i = 0; i < variable_count; i++) {
        CHECK(variables[i].open == 0);
        CHECK(variables != mpich || values[i] < 0 || variables[i].value == values[i]);
    }
}

static void release(MPI_Comm *forced)
{
    CHECK(!ictus_selector_release(selector, forced) && *forced == MPI_COMM_NULL);
}

#endif
