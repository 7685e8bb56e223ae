/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that ends as its argument says: kill (rank 1 gets SIGKILL), segfault, abort, exit
 * (without MPI_Finalize), abort-one and exit-one (rank 1 alone, while the others are in a barrier),
 * inside (a signal ends rank 1 while it waits in MPI_Recv), fork (a child that goes on and ends),
 * noinit, comms (a thousand at once), freed (requests that are still active), uneven (rank 0 calls
 * much more often), toggle (a thread switches recording while another calls), fill (the disk of the
 * file MISHAP_FILLER is full meanwhile), bare (threads that can have no file, of which two end
 * after MPI_Finalize and one never does). It speaks the user's language. Every rank prints, before
 * that, how many barriers it has left behind.
 */
#include <mpi.h>

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 100, COMMS = 1000, TOGGLES = 400 };

/* Many communicators at a time, each used. */
static void make_comms(void)
{
    MPI_Comm copies[COMMS];
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    }
    for (int i = 0; i < COMMS; i++) {
        MPI_Barrier(copies[i]);
        MPI_Comm_free(&copies[i]);
    }
}

/* Communicators are made while the disk has no room, which it has again later. */
static void make_comms_on_a_full_disk(int rank)
{
    static const char zeros[4096];
    const char *path = getenv("MISHAP_FILLER");
    const int fd = rank == 0 && path ? open(path, O_WRONLY | O_CREAT, 0666) : -1;
    while (fd >= 0 && write(fd, zeros, sizeof(zeros)) > 0) {
    }
    MPI_Barrier(MPI_COMM_WORLD);
    make_comms();
    MPI_Barrier(MPI_COMM_WORLD);
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

enum { STAYING = 3 };

/* Threads without files, which meet each other and the main thread. */
static struct {
    pthread_barrier_t meet;
    pthread_t threads[STAYING];
} bare;

static void *call_and_stay(void *ends)
{
    int size = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    pthread_barrier_wait(&bare.meet);
    pthread_barrier_wait(&bare.meet);
    while (!ends) {
        (void)pause();
    }
    return NULL;
}

/* Threads that begin while no file can be opened, and are there until MPI ends at least. */
static void call_without_files(void)
{
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = files.rlim_max};
    if (pthread_barrier_init(&bare.meet, NULL, STAYING + 1) || setrlimit(RLIMIT_NOFILE, &none)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < STAYING; i++) {
        if (pthread_create(&bare.threads[i], NULL, call_and_stay, i ? &bare : NULL)) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    pthread_barrier_wait(&bare.meet);
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

static void end_after_mpi(const char *how)
{
    if (strcmp(how, "bare") != 0) {
        return;
    }
    pthread_barrier_wait(&bare.meet);
    for (int i = 1; i < STAYING; i++) {
        pthread_join(bare.threads[i], NULL);
    }
}

/* Sends whose requests are freed before they can be complete, and their handles used again. */
static void free_requests(int rank)
{
    static int out[ROUNDS];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < ROUNDS; i++) {
        out[i] = i;
        MPI_Issend(&out[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < ROUNDS; i++) {
        int in = 0;
        MPI_Irecv(&in, 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* One process's log is full long before the other's; both go on to meet. */
static void call_unevenly(int rank)
{
    int size = 0;
    for (int i = 0; i < 100 * ROUNDS && rank == 0; i++) {
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    for (int i = 0; i < 2 * ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void *toggle(void *meet)
{
    for (int i = 0; i < TOGGLES; i++) {
        pthread_barrier_wait(meet);
        for (int k = 0; k < ROUNDS; k++) {
            MPI_Pcontrol(0);
            MPI_Pcontrol(1);
        }
        pthread_barrier_wait(meet);
    }
    return NULL;
}

/* Each call of MPI_Comm_test_inter is made while recording is on. */
static void call_while_toggled(void)
{
    pthread_barrier_t meet;
    pthread_t thread;
    int value = 0;
    if (pthread_barrier_init(&meet, NULL, 2) || pthread_create(&thread, NULL, toggle, &meet)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < TOGGLES; i++) {
        pthread_barrier_wait(&meet);
        for (int k = 0; k < ROUNDS; k++) {
            MPI_Comm_size(MPI_COMM_WORLD, &value);
        }
        pthread_barrier_wait(&meet);
        MPI_Comm_test_inter(MPI_COMM_WORLD, &value);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&meet);
}

static void end(const char *how, int rank)
{
    static volatile int *const nowhere = NULL;
    if (strcmp(how, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (strcmp(how, "exit") == 0) {
        exit(4);
    }
    if (strcmp(how, "abort-one") == 0 && rank == 1) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (strcmp(how, "exit-one") == 0 && rank == 1) {
        exit(4);
    }
    if (strcmp(how, "inside") == 0 && rank == 1) {
        int never = 0;
        (void)alarm(1);
        MPI_Recv(&never, 1, MPI_INT, 0, ROUNDS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(how, "kill") == 0 && rank == 1) {
        (void)raise(SIGKILL);
    }
    if (strcmp(how, "segfault") == 0 && rank == 1) {
        *nowhere = 1;
    }
}

int main(int argc, char **argv)
{
    (void)setlocale(LC_ALL, "");
    int rank = 0;
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "noinit") == 0) {
        return 0;
    }
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (i == ROUNDS / 2 && strcmp(how, "fork") == 0) {
            const pid_t child = fork();
            if (child == 0) {
                _exit(0);
            }
            (void)waitpid(child, NULL, 0);
        }
    }
    if (strcmp(how, "comms") == 0) {
        make_comms();
    }
    if (strcmp(how, "bare") == 0) {
        call_without_files();
    }
    if (strcmp(how, "fill") == 0) {
        make_comms_on_a_full_disk(rank);
    }
    if (strcmp(how, "freed") == 0) {
        free_requests(rank);
    }
    if (strcmp(how, "uneven") == 0) {
        call_unevenly(rank);
    }
    if (strcmp(how, "toggle") == 0 && provided == MPI_THREAD_MULTIPLE) {
        call_while_toggled();
    }
    if (strcmp(how, "pause") == 0) {
        (void)sleep(2);
    }
    end(how, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    end_after_mpi(how);
    return 0;
}
