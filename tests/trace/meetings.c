/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators between processes that meet: at ports, over a socket, by groups without a parent.
 * Their members make and use them in different orders, and those of one call have the same members
 * as those of another. Prints what a trace must hold. Exactly 3 processes.
 */
#include <mpi.h>

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TAG = 5, INTS = 4, TEXT = 64 };

/* What this process sent, and the collectives of several processes of which it is the first. */
struct truth {
    int messages, collectives;
};

static void send_ints(MPI_Comm comm, int to, int first, struct truth *t)
{
    const int values[INTS] = {first, 0, 0, 0};
    MPI_Send(values, INTS, MPI_INT, to, TAG, comm);
    t->messages++;
}

static void expect_ints(MPI_Comm comm, int from, int first)
{
    int values[INTS] = {-1};
    MPI_Recv(values, INTS, MPI_INT, from, TAG, comm, MPI_STATUS_IGNORE);
    if (values[0] != first) {
        (void)fprintf(stderr, "received %d instead of %d\n", values[0], first);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Process 0 has two ports, a process at each: it accepts the second before the first. */
static void meet_at_two_ports(int rank, struct truth *t)
{
    char ports[2][MPI_MAX_PORT_NAME] = {"", ""};
    MPI_Comm made[2];
    if (rank == 0) {
        for (int i = 0; i < 2; i++) {
            MPI_Open_port(MPI_INFO_NULL, ports[i]);
            MPI_Send(ports[i], MPI_MAX_PORT_NAME, MPI_CHAR, 1 + i, TAG, MPI_COMM_WORLD);
            t->messages++;
        }
        for (int i = 1; i >= 0; i--) {
            MPI_Comm_accept(ports[i], MPI_INFO_NULL, 0, MPI_COMM_SELF, &made[i]);
        }
        for (int i = 0; i < 2; i++) {
            send_ints(made[i], 0, i, t);
            expect_ints(made[i], 0, 10 + i);
        }
        for (int i = 0; i < 2; i++) {
            MPI_Comm_disconnect(&made[i]);
            MPI_Close_port(ports[i]);
        }
    } else {
        MPI_Recv(ports[0], MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_connect(ports[0], MPI_INFO_NULL, 0, MPI_COMM_SELF, &made[0]);
        expect_ints(made[0], 0, rank - 1);
        send_ints(made[0], 0, 9 + rank, t);
        MPI_Comm_disconnect(&made[0]);
    }
}

/* Messages on two communicators, sent in one order and received in the other. */
static void cross(MPI_Comm *made, bool first, int peer, struct truth *t)
{
    int in[2][INTS];
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++) {
        if (first) {
            send_ints(made[1 - i], peer, 1 - i, t);
        } else {
            MPI_Irecv(in[i], INTS, MPI_INT, peer, TAG, made[i], &requests[i]);
        }
    }
    if (!first) {
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (in[0][0] != 0 || in[1][0] != 1) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* Two connections between the same groups, {0, 1} and {2}. */
static void meet_twice(int rank, struct truth *t)
{
    char port[MPI_MAX_PORT_NAME] = "";
    const bool first = rank < 2;
    MPI_Comm side;
    MPI_Comm made[2];
    MPI_Comm_split(MPI_COMM_WORLD, !first, rank, &side);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 2, TAG, MPI_COMM_WORLD);
        t->messages++;
    } else if (rank == 2) {
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 2; i++) {
        if (first) {
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, side, &made[i]);
        } else {
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, side, &made[i]);
        }
    }
    if (rank != 1) {
        cross(made, first, 0, t);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Comm both;
        MPI_Comm apart;
        MPI_Intercomm_merge(made[i], !first, &both);
        MPI_Comm_split(both, first, 0, &apart); /* the same groups again */
        MPI_Barrier(both);
        MPI_Barrier(apart);
        t->collectives += 2 * (rank == 0); /* process 2 alone makes none */
        MPI_Comm_free(&apart);
        MPI_Comm_free(&both);
        MPI_Comm_disconnect(&made[i]);
    }
    if (rank == 0) {
        MPI_Close_port(port);
    }
    MPI_Comm_free(&side);
}

/* A socket between the processes 0 and 1, on a port that the system chooses. */
static int make_socket(int rank, struct truth *t)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (rank == 0) {
        const int listener = fd;
        if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 1) ||
            getsockname(listener, (struct sockaddr *)&at, &length)) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        MPI_Send(&at, (int)sizeof(at), MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        t->messages++;
        fd = accept(listener, NULL, NULL);
        (void)close(listener);
    } else {
        MPI_Recv(&at, (int)sizeof(at), MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (connect(fd, (struct sockaddr *)&at, sizeof(at))) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    return fd;
}

/* Two communicators over one socket. */
static void join_twice(int rank, struct truth *t)
{
    MPI_Comm made[2];
    const int fd = make_socket(rank, t);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_join(fd, &made[i]);
    }
    cross(made, rank == 0, 0, t);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_disconnect(&made[i]);
    }
    (void)close(fd);
}

/* Two communicators of all, and two between the groups {0} and {1, 2}, that only texts tell apart.
 */
static void meet_by_text(int rank, struct truth *t)
{
#if MPI_VERSION >= 4
    static const int others[2] = {1, 2};
    static const int zero = 0;
    MPI_Group world;
    MPI_Group sides[2];
    MPI_Comm made[2];
    MPI_Comm between[2];
    char text[TEXT];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zero, &sides[0]);
    MPI_Group_incl(world, 2, others, &sides[1]);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof(text), "org.ictus.meeting.%d", i);
        MPI_Comm_create_from_group(world, text, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made[i]);
        (void)snprintf(text, sizeof(text), "org.ictus.between.%d", i);
        MPI_Intercomm_create_from_groups(sides[rank != 0], 0, sides[rank == 0], 0, text,
                                         MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &between[i]);
    }
    if (rank < 2) {
        cross(made, rank == 0, 1 - rank, t);
        cross(between, rank == 0, 0, t);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Barrier(made[1 - i]);
        t->collectives += rank == 0;
    }
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&made[i]);
        MPI_Comm_free(&between[i]);
        MPI_Group_free(&sides[i]);
    }
    MPI_Group_free(&world);
#else
    (void)rank;
    (void)t;
#endif
}

static void set_errors(MPI_Errhandler handler)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
}

/* Whether this library has ports: MPICH has none over UCX. */
static int find_ports(int rank, struct truth *t)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int found = 0;
    if (rank == 0) {
        set_errors(MPI_ERRORS_RETURN);
        found = MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS;
        set_errors(MPI_ERRORS_ARE_FATAL);
        if (found) {
            MPI_Close_port(port);
        }
    }
    MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
    t->collectives += rank == 0;
    return found;
}

int main(int argc, char **argv)
{
    int rank = 0;
    struct truth mine = {0, 0};
    struct truth all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int ports = find_ports(rank, &mine);
    if (ports) {
        meet_at_two_ports(rank, &mine);
        meet_twice(rank, &mine);
    }
    if (ports && rank < 2) {
        join_twice(rank, &mine);
    }
    meet_by_text(rank, &mine);
    mine.collectives += rank == 0;
    MPI_Reduce(&mine, &all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        (void)printf("messages %d collectives %d ports %d\n", all.messages, all.collectives, ports);
    }
    MPI_Finalize();
    return 0;
}
