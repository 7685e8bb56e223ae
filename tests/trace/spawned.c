/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of several worlds: two processes spawn two others, twice. What happens on communicators of
 * both worlds is not recorded by either; what happens on those that are split from them again is.
 * The first process of each world prints what its trace must hold.
 * usage: spawned FILE
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>

enum { TAG = 5, WORLD = 2, ROUNDS = 3 };

/* Messages, collectives, a window and a file of both worlds: all four processes. */
static void work_together(MPI_Comm both, const char *file)
{
    int rank = 0;
    int size = 0;
    int value = 0;
    int *memory = NULL;
    MPI_Win win;
    MPI_File out;
    MPI_Comm_rank(both, &rank);
    MPI_Comm_size(both, &size);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, TAG, &value, 1, MPI_INT,
                     (rank + size - 1) % size, TAG, both, MPI_STATUS_IGNORE);
        MPI_Bcast(&value, 1, MPI_INT, 0, both);
    }
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, both, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_File_open(both, file, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &out);
    MPI_File_write_at_all(out, (MPI_Offset)rank * (MPI_Offset)sizeof(int), &rank, 1, MPI_INT,
                          MPI_STATUS_IGNORE);
    MPI_File_close(&out);
}

/* One world's processes only, on a communicator whose parents are of both. */
static void work_apart(MPI_Comm own, int *messages, int *collectives)
{
    int rank = 0;
    int value = 0;
    MPI_Comm_rank(own, &rank);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, TAG, &value, 1, MPI_INT, 1 - rank, TAG, own,
                     MPI_STATUS_IGNORE);
        MPI_Barrier(own);
    }
    *messages += WORLD * ROUNDS;
    *collectives += ROUNDS;
}

static void meet(MPI_Comm between, bool child, const char *file, int *messages, int *collectives)
{
    MPI_Comm both;
    MPI_Comm own;
    MPI_Intercomm_merge(between, child, &both);
    MPI_Comm_split(both, child, 0, &own);
    work_together(both, file);
    work_apart(own, messages, collectives);
    MPI_Comm_free(&own);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&between);
}

/* @return MPI_COMM_NULL: this library cannot */
static MPI_Comm spawn(int how, char *program, char *file)
{
    MPI_Comm made = MPI_COMM_NULL;
    char *words[] = {file, NULL};
    char *programs[] = {program, program};
    char **arguments[] = {words, words};
    const int counts[] = {1, 1};
    const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    const int err = how == 0 ? MPI_Comm_spawn(program, words, WORLD, MPI_INFO_NULL, 0,
                                              MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE)
                             : MPI_Comm_spawn_multiple(2, programs, arguments, counts, infos, 0,
                                                       MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE);
    return err == MPI_SUCCESS ? made : MPI_COMM_NULL;
}

int main(int argc, char **argv)
{
    int rank = 0;
    int messages = 0;
    int collectives = 0;
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (argc < 2) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (parent != MPI_COMM_NULL) {
        meet(parent, true, argv[1], &messages, &collectives);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2 && parent == MPI_COMM_NULL; i++) {
        MPI_Comm between = spawn(i, argv[0], argv[1]);
        if (between == MPI_COMM_NULL) {
            if (rank == 0) {
                (void)printf("cannot spawn\n");
            }
            break;
        }
        meet(between, false, argv[1], &messages, &collectives);
    }
    if (rank == 0) {
        (void)printf("%s: messages %d collectives %d\n",
                     parent == MPI_COMM_NULL ? "parents" : "children", messages, collectives);
    }
    MPI_Finalize();
    return 0;
}
