/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team whose ranks are threads of the test: each adds its numbers, and takes the result when all
 * have done so. Only what all ranks do together is there, and no messages.
 */
#ifndef ICTUS_TESTS_THREAD_TEAM_H
#define ICTUS_TESTS_THREAD_TEAM_H

#include "../check.h"

#include "causality/team.h"

#include <ictus/error.h>
#include <pthread.h>

enum { TEAM_WORDS = 20000, TEAM_RANKS = 8 };

static struct {
    pthread_barrier_t barrier;
    pthread_mutex_t lock; /* for checks, too */
    int64_t values[TEAM_WORDS];
    int err;
} meeting;

static void meet(void)
{
    (void)pthread_barrier_wait(&meeting.barrier);
}

static int team_agree(struct team *team, int err)
{
    (void)team;
    (void)pthread_mutex_lock(&meeting.lock);
    meeting.err = err ? err : meeting.err;
    (void)pthread_mutex_unlock(&meeting.lock);
    meet();
    const int all = meeting.err;
    meet();
    return all;
}

enum team_operation { TEAM_SUM, TEAM_MAXIMUM, TEAM_MINIMUM };

static int team_reduce(struct team *team, int64_t *values, uint64_t count,
                       enum team_operation operation)
{
    REQUIRE(count <= TEAM_WORDS);
    if (team->rank == 0) {
        memcpy(meeting.values, values, count * sizeof(*values));
    }
    meet();
    (void)pthread_mutex_lock(&meeting.lock);
    for (uint64_t i = 0; i < count && team->rank > 0; i++) {
        int64_t *all = &meeting.values[i];
        if (operation == TEAM_SUM) {
            *all = (int64_t)((uint64_t)*all + (uint64_t)values[i]);
        } else if ((values[i] < *all) == (operation == TEAM_MINIMUM)) {
            *all = values[i];
        }
    }
    (void)pthread_mutex_unlock(&meeting.lock);
    meet();
    memcpy(values, meeting.values, count * sizeof(*values));
    meet();
    return ICTUS_OK;
}

static int team_sums(struct team *team, uint64_t *values, uint64_t count)
{
    return team_reduce(team, (int64_t *)values, count, TEAM_SUM);
}

static int team_maxima(struct team *team, int64_t *values, uint64_t count)
{
    return team_reduce(team, values, count, TEAM_MAXIMUM);
}

static int team_minima(struct team *team, int64_t *values, uint64_t count)
{
    return team_reduce(team, values, count, TEAM_MINIMUM);
}

/* Run a function on each rank; it gets its struct team. */
static void team_run(int ranks, void *(*run)(void *team))
{
    pthread_t threads[TEAM_RANKS];
    struct team teams[TEAM_RANKS];
    REQUIRE(ranks <= TEAM_RANKS);
    meeting.err = ICTUS_OK;
    REQUIRE(!pthread_barrier_init(&meeting.barrier, NULL, (unsigned)ranks));
    REQUIRE(!pthread_mutex_init(&meeting.lock, NULL));
    for (int r = 0; r < ranks; r++) {
        teams[r] = (struct team){.rank = r,
                                 .size = ranks,
                                 .agree = team_agree,
                                 .sums = team_sums,
                                 .maxima = team_maxima,
                                 .minima = team_minima};
        REQUIRE(!pthread_create(&threads[r], NULL, run, &teams[r]));
    }
    for (int r = 0; r < ranks; r++) {
        (void)pthread_join(threads[r], NULL);
    }
    (void)pthread_mutex_destroy(&meeting.lock);
    (void)pthread_barrier_destroy(&meeting.barrier);
}

#endif
