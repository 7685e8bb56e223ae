/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program without MPI_Init: it opens a session before it closes another, numbers processes
 * otherwise than their launcher does, and makes communicators of some of them first. Prints what a
 * trace must hold, which begins with the first communicator of all. (MPICH 4.0 dies where a session
 * is opened after the last one was closed.)
 */
#include <mpi.h>

#include <stdio.h>

#ifdef MPI_SESSION_NULL

enum { TAG = 3, INTS = 8 };

/* What this process sent, and the collectives of which it is the first. */
struct truth {
    int messages, collectives;
};

static MPI_Session open_session(MPI_Group *all)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", all);
    return session;
}

static void close_session(MPI_Session *session, MPI_Group *all)
{
    MPI_Group_free(all);
    MPI_Session_finalize(session);
}

static MPI_Comm make_comm(MPI_Group group, const char *text)
{
    MPI_Comm comm;
    MPI_Comm_create_from_group(group, text, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    return comm;
}

/* Each process sends to the next one of comm, and all meet. */
static void go_round(MPI_Comm comm, struct truth *t)
{
    int rank = 0;
    int size = 0;
    int in[INTS] = {0};
    int out[INTS] = {0};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    out[0] = rank;
    MPI_Sendrecv(out, INTS, MPI_INT, (rank + 1) % size, TAG, in, INTS, MPI_INT,
                 (rank + size - 1) % size, TAG, comm, MPI_STATUS_IGNORE);
    t->messages++;
    if (in[0] != (rank + size - 1) % size) {
        (void)fprintf(stderr, "received %d\n", in[0]);
        MPI_Abort(comm, 1);
    }
    MPI_Barrier(comm);
    t->collectives += rank == 0 && size > 1;
}

/* The group the other way round. */
static MPI_Group turn(MPI_Group group)
{
    int size = 0;
    MPI_Group turned;
    MPI_Group_size(group, &size);
    int ranges[1][3] = {{size - 1, 0, -1}};
    MPI_Group_range_incl(group, 1, ranges, &turned);
    return turned;
}

/* Of each process alone: a communicator that begins no trace. */
static void be_alone(MPI_Session session)
{
    MPI_Group self;
    MPI_Group_from_session_pset(session, "mpi://SELF", &self);
    MPI_Comm comm = make_comm(self, "org.ictus.self");
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&self);
}

/* The session that all began in ends before the next one is used. */
static void change_sessions(struct truth *t, struct truth *sum)
{
    MPI_Group all;
    MPI_Group others;
    MPI_Comm half;
    int rank = 0;
    MPI_Session one = open_session(&all);
    be_alone(one);
    MPI_Group turned = turn(all);
    MPI_Comm first = make_comm(turned, "org.ictus.first");
    MPI_Session two = open_session(&others);
    MPI_Comm second = make_comm(others, "org.ictus.second");
    MPI_Comm_rank(first, &rank);
    MPI_Comm_split(first, rank % 2, 0, &half);
    go_round(first, t);
    go_round(half, t);
    MPI_Comm_free(&half);
    MPI_Comm_free(&first);
    MPI_Group_free(&turned);
    close_session(&one, &all);
    go_round(second, t);
    MPI_Comm_rank(second, &rank);
    t->collectives += rank == 0;
    MPI_Reduce(t, sum, 2, MPI_INT, MPI_SUM, 0, second);
    if (rank == 0) {
        (void)printf("messages %d collectives %d\n", sum->messages, sum->collectives);
    }
    MPI_Comm_free(&second);
    close_session(&two, &others);
}

int main(void)
{
    struct truth mine = {0, 0};
    struct truth sum = {0, 0};
    change_sessions(&mine, &sum);
    return 0;
}

#else

int main(void)
{
    (void)puts("this MPI has no sessions");
    return 0;
}

#endif
