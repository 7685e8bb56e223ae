/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of one process that call MPI at the same time (MPI_THREAD_MULTIPLE). Each thread makes a
 * round trip with a thread of the other process, and the repetition ends when the last round trip
 * does. The threads are created in advance. They wait for the next repetition without sleeping, so
 * that the time to wake them up is not part of the measurement.
 */
#include "bench/operation.h"

#if defined(ICTUS_SIMGRID)

/* not available: simulated processes have no threads */
const struct operation ictusi_threaded[] = {{.name = NULL}};

#else

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { TAG = 15 };

struct crew_member {
    struct crew *crew;
    int place; /* number of its block and its tag; 0 is the main thread */
    pthread_t thread;
};

struct crew {
    struct call *call;
    atomic_int turn;    /* number of repetitions begun */
    atomic_int through; /* threads that have finished this repetition */
    atomic_int error;   /* an MPI error of any thread, or MPI_SUCCESS */
    atomic_bool over;
    int count;
    struct crew_member members[THREADS_MAX];
};

/*
 * Each thread has a block and a tag of its own, so that its messages match its own receives only.
 */
static int thread_bounce(const struct call *c, int place)
{
    const size_t at = (size_t)place * c->layout.extent;
    const int peer = 1 - c->rank;
    const char *send = (const char *)c->send + at;
    char *recv = (char *)c->recv + at;
    int err = MPI_SUCCESS;
    if (c->rank == 0) {
        err = MPI_Send(send, c->count, c->type, peer, TAG + place, c->comm);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Recv(recv, c->count, c->type, peer, TAG + place, c->comm, MPI_STATUS_IGNORE);
    }
    if (err == MPI_SUCCESS && c->rank == 1) {
        err = MPI_Send(send, c->count, c->type, peer, TAG + place, c->comm);
    }
    return err;
}

static void *crew_work(void *given)
{
    struct crew_member *member = given;
    struct crew *crew = member->crew;
    for (int turn = 1;; turn++) {
        /* Yield, so that the threads make progress even if there are more of them than cores. */
        while (atomic_load(&crew->turn) < turn) {
            (void)sched_yield();
        }
        if (atomic_load(&crew->over)) {
            return NULL;
        }
        const int err = thread_bounce(crew->call, member->place);
        if (err != MPI_SUCCESS) {
            atomic_store(&crew->error, err);
        }
        atomic_fetch_add(&crew->through, 1);
    }
}

/*
 * One repetition: release the crew by the next turn, bounce the main thread's own message, and wait
 * for the rest.
 */
static int threads_run(struct call *c)
{
    struct crew *crew = c->crew;
    if (!crew) {
        return MPI_SUCCESS;
    }
    /*
     * Reset before the turn begins. Otherwise a thread that finishes at once would not be counted.
     */
    atomic_store(&crew->through, 0);
    atomic_fetch_add(&crew->turn, 1);
    const int err = thread_bounce(c, 0);
    while (atomic_load(&crew->through) < crew->count) {
        (void)sched_yield();
    }
    return err == MPI_SUCCESS ? atomic_load(&crew->error) : err;
}

static int threads_release(struct call *c)
{
    struct crew *crew = c->crew;
    if (!crew) {
        return MPI_SUCCESS;
    }
    /* Set before the turn, so that every thread that sees the new turn also sees this. */
    atomic_store(&crew->over, true);
    atomic_fetch_add(&crew->turn, 1);
    for (int i = 0; i < crew->count; i++) {
        (void)pthread_join(crew->members[i].thread, NULL);
    }
    free(crew);
    c->crew = NULL;
    return MPI_SUCCESS;
}

static int threads_prepare(struct call *c)
{
    if (c->rank > 1) {
        return MPI_SUCCESS;
    }
    struct crew *crew = calloc(1, sizeof(*crew));
    if (!crew) {
        return MPI_ERR_NO_MEM;
    }
    crew->call = c;
    atomic_init(&crew->error, MPI_SUCCESS);
    c->crew = crew;
    for (int i = 1; i < c->threads; i++) {
        struct crew_member *member = &crew->members[crew->count];
        *member = (struct crew_member){.crew = crew, .place = i};
        if (pthread_create(&member->thread, NULL, crew_work, member)) {
            (void)threads_release(c);
            return MPI_ERR_NO_MEM;
        }
        crew->count++;
    }
    return MPI_SUCCESS;
}

const struct operation ictusi_threaded[] = {
    {.name = "ping_pong_threads",
     .summary = "round trips of threads of ranks 0 and 1, all at once",
     .shape = SHAPE_THREADS,
     .run = threads_run,
     .prepare = threads_prepare,
     .release = threads_release},
    {.name = NULL},
};

#endif
