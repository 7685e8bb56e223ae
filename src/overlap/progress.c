/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress thread. */
#include "overlap/progress.h"

#include <ictus/error.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct progress_thread {
    pthread_t thread;
    MPI_Comm comm; /* nobody sends on it, so a probe only makes progress */
    atomic_bool stop;
};

static void *progress_run(void *argument)
{
    struct progress_thread *t = argument;
    while (!atomic_load_explicit(&t->stop, memory_order_relaxed)) {
        int found = 0;
        if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, t->comm, &found, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS) {
            break;
        }
        (void)sched_yield();
    }
    return NULL;
}

int ictusi_progress_start(MPI_Comm comm, struct progress_thread **out)
{
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        return ICTUS_ERR_THREAD;
    }
    struct progress_thread *t = calloc(1, sizeof(*t));
    if (!t) {
        return ICTUS_ERR_NOMEM;
    }
    if (MPI_Comm_dup(comm, &t->comm) != MPI_SUCCESS) {
        free(t);
        return ICTUS_ERR_MPI;
    }
    if (pthread_create(&t->thread, NULL, progress_run, t)) {
        MPI_Comm_free(&t->comm);
        free(t);
        return ICTUS_ERR_THREAD;
    }
    *out = t;
    return ICTUS_OK;
}

void ictusi_progress_stop(struct progress_thread *t)
{
    if (!t) {
        return;
    }
    atomic_store(&t->stop, true);
    (void)pthread_join(t->thread, NULL);
    MPI_Comm_free(&t->comm);
    free(t);
}
