/* SPDX-License-Identifier: BSD-3-Clause */
#include "causality/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CREW_MOST = 8 };

/*
 * What the threads share. Each takes the next free number, so that a long job does not hold up the
 * others.
 */
struct crew {
    atomic_uint next;
    uint32_t count;
    void (*job)(void *self, uint32_t number);
    void *self;
};

/*
 * Counts the processors that this process may use, not all that exist, because launchers bind
 * processes.
 */
int ictusi_crew_size(void)
{
    cpu_set_t ours;
    if (sched_getaffinity(0, sizeof ours, &ours)) {
        return 1;
    }
    return CPU_COUNT(&ours) < CREW_MOST ? CPU_COUNT(&ours) : CREW_MOST;
}

static void *crew_take_jobs(void *self)
{
    struct crew *crew = self;
    for (uint32_t i = 0; (i = atomic_fetch_add(&crew->next, 1)) < crew->count;) {
        crew->job(crew->self, i);
    }
    return NULL;
}

void ictusi_crew_run(int threads, uint32_t count, void (*job)(void *self, uint32_t number),
                     void *self)
{
    struct crew crew = {.count = count, .job = job, .self = self};
    pthread_t others[CREW_MOST];
    const int most = threads < CREW_MOST ? threads : CREW_MOST;
    int made = 0;
    atomic_init(&crew.next, 0);
    /* The caller works as well. If a thread cannot be created, the others do its jobs. */
    while (made + 1 < most && (uint32_t)made + 1 < count &&
           pthread_create(&others[made], NULL, crew_take_jobs, &crew) == 0) {
        made++;
    }
    (void)crew_take_jobs(&crew);
    while (made > 0) {
        (void)pthread_join(others[--made], NULL);
    }
}
