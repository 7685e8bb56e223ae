/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrivals as planted, so that who is late is known: in each of N rounds an MPI_Allreduce to which
 * rank LATE comes 3 ms after the others, a broadcast from rank 0 to which ranks come 3 ms late in
 * turn, on a duplicate of the communicator, and what else a program may do beside: MPI_Iallreduce,
 * point-to-point messages, communicators of one process, a call that is refused, muted calls.
 *
 * arrive ROUNDS [wait FILE | kill FILE | threads | sites | operands]: "wait" goes on until FILE
 * exists, "kill" has all end by SIGKILL after the rounds and what rank 0 prints in FILE, since a
 * launcher whose job is killed passes no more on, "threads" works on a communicator of its own in a
 * second thread, "sites" calls with more sizes than there is room for, "operands" with several
 * datatypes, operators and buffers. Rank 0 prints the lines of its calls, and when each came late.
 */
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LATE_MS = 3, ROUNDS_MAX = 100000 };

static int own_rank, own_size;
static long long came[ROUNDS_MAX]; /* to the late allreduce, by this machine's clock */
static int came_count;

static void note_arrival(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (came_count < ROUNDS_MAX) {
        came[came_count++] = (long long)now.tv_sec * 1000000000 + now.tv_nsec;
    }
}

/* What the tracer is to find: "truth ROUND OFFSET..." in ns from the first. */
static void print_truth(void)
{
    long long *all = calloc((size_t)came_count * (size_t)own_size + 1, sizeof *all);
    PMPI_Gather(came, came_count, MPI_LONG_LONG, all, came_count, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; own_rank == 0 && i < came_count; i++) {
        long long first = all[i];
        for (int r = 1; r < own_size; r++) {
            first = all[r * came_count + i] < first ? all[r * came_count + i] : first;
        }
        printf("truth %d", i + 1);
        for (int r = 0; r < own_size; r++) {
            printf(" %lld", all[r * came_count + i] - first);
        }
        printf("\n");
    }
    free(all);
}

static void come_late(int late)
{
    if (late) {
        const struct timespec pause = {0, LATE_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
    }
}

#define SAID(call, round) (own_rank == 0 && (round) == 0 ? printf("%s %d\n", call, __LINE__) : 0)

static void work(MPI_Comm comm, int rounds)
{
    long in = 1;
    long out = 0;
    long four[4] = {0};
    for (int i = 0; i < rounds; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Barrier(MPI_COMM_WORLD);
        come_late(own_rank == own_size - 1);
        note_arrival();
        /* clang-format off */
        MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); SAID("late", i);
        MPI_Barrier(comm);
        come_late(i % own_size == own_rank);
        MPI_Bcast(four, 4, MPI_LONG, 0, comm); SAID("turns", i);
        MPI_Barrier(comm);
        come_late(own_rank == 0);
        MPI_Iallreduce(&in, &out, 1, MPI_LONG, MPI_SUM, comm, &request); SAID("begun", i);
        /* clang-format on */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_SELF);
        if (own_size > 1) {
            MPI_Sendrecv(&in, 1, MPI_LONG, (own_rank + 1) % own_size, 0, &out, 1, MPI_LONG,
                         (own_rank + own_size - 1) % own_size, 0, comm, MPI_STATUS_IGNORE);
        }
        if (i == rounds / 2) {
            MPI_Pcontrol(0); /* calls keep their numbers, but leave nothing */
            MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
            MPI_Pcontrol(1);
        }
    }
}

static void *work_aside(void *comm)
{
    long in = 1;
    long out = 0;
    for (int i = 0; i < 200; i++) {
        MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, *(MPI_Comm *)comm);
    }
    return NULL;
}

static void work_in_threads(MPI_Comm comm)
{
    MPI_Comm both[2];
    pthread_t thread;
    MPI_Comm_dup(comm, &both[0]);
    MPI_Comm_dup(comm, &both[1]);
    (void)pthread_create(&thread, NULL, work_aside, &both[0]);
    (void)work_aside(&both[1]);
    (void)pthread_join(thread, NULL);
    MPI_Comm_free(&both[0]);
    MPI_Comm_free(&both[1]);
}

/* Sizes without end; the same bytes again at the end. */
static void work_in_sizes(MPI_Comm comm)
{
    static char data[2000];
    for (int i = 1; i <= 2000; i++) {
        MPI_Bcast(data, i, MPI_CHAR, 0, comm);
    }
}

static void take_first(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)out;
    (void)count;
    (void)type;
}

/* The last place calls with another datatype and operator each time. */
static void work_with_operands(MPI_Comm comm)
{
    int in[64] = {0};
    int out[64] = {0};
    const int root = own_rank == 0;
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Op own = MPI_OP_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(take_first, 1, &own);
    /* clang-format off */
    MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_INT, MPI_MAX, comm); SAID("max", 0);
    MPI_Gather(root ? MPI_IN_PLACE : in, 1, MPI_INT, out, 1, MPI_INT, 0, comm); SAID("gather", 0);
    MPI_Scatter(out, 1, MPI_INT, root ? MPI_IN_PLACE : in, 1, MPI_INT, 0, comm); SAID("scatter", 0);
    MPI_Reduce(in, out, 1, MPI_INT, own, 0, comm); SAID("own", 0);
    MPI_Bcast(in, 1, pair, 0, comm); SAID("pair", 0);
    MPI_Iallreduce(in, out, 4, MPI_FLOAT, MPI_MIN, comm, &request); SAID("min", 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Allreduce(in, out, 2, i ? MPI_INT : MPI_FLOAT, i ? MPI_MIN : MPI_SUM, comm); SAID("both", i);
    }
    /* clang-format on */
    MPI_Op_free(&own);
    MPI_Type_free(&pair);
}

static void work_aside_from_rounds(const char *what, MPI_Comm comm)
{
    if (strcmp(what, "sites") == 0) {
        work_in_sizes(comm);
    }
    if (strcmp(what, "operands") == 0) {
        work_with_operands(comm);
    }
}

static int keep_on(const char *path)
{
    int go = access(path, F_OK) != 0;
    PMPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return go;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20;
    const char *what = argc > 2 ? argv[2] : "";
    const int threads = strcmp(what, "threads") == 0;
    int provided = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &own_size);
    if (strcmp(what, "kill") == 0 && argc > 3 && own_rank == 0 && !freopen(argv[3], "w", stdout)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "aside");
    do {
        work(comm, rounds);
    } while (strcmp(what, "wait") == 0 && argc > 3 && keep_on(argv[3]));
    if (threads && provided == MPI_THREAD_MULTIPLE) {
        work_in_threads(comm);
    }
    work_aside_from_rounds(what, comm);
    print_truth();
    (void)fflush(stdout);
    if (strcmp(what, "kill") == 0) {
        PMPI_Barrier(MPI_COMM_WORLD);
        (void)raise(SIGKILL);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
