/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronises again while the program runs, at collectives of MPI_COMM_WORLD: the only place where
 * all processes are known to be. All must decide alike, without a message in every call. So the
 * root's clock is consulted (by a broadcast) only at calls whose number all know in advance from
 * the rate of calls since the last time, four times per interval.
 */
#include "tracer/collective.h"

#include "tracer/lifecycle.h"
#include "tracer/real.h"

enum { QUESTIONS = 4 };

/*
 * How many world collectives from now the root is consulted again; the root decides:
 *
 *     distance = calls * (interval / 4) / since      (calls per second times seconds)
 */
static uint64_t sweeps_next_distance(const struct tracer *t, double since_s, uint64_t calls)
{
    const double interval_s = t->settings.resync_every_s / QUESTIONS;
    if (since_s <= 0.0) {
        return calls + 1;
    }
    const double wanted = (double)calls * interval_s / since_s;
    /* A rising rate must not be extrapolated far. */
    const double most = 4.0 * (double)calls + 1.0;
    const double distance = wanted < most ? wanted : most;
    return distance < 1.0 ? 1 : (uint64_t)distance;
}

static bool sweeps_ask_root(struct tracer *t)
{
    const int64_t now = ticks_monotonic_ns();
    uint64_t answer[2] = {0, 0};
    if (t->rank == 0) {
        const double since_s = (double)(now - t->last_question_ns) * 1e-9;
        answer[0] = (double)(now - t->last_sync_ns) * 1e-9 >= t->settings.resync_every_s;
        answer[1] = sweeps_next_distance(t, since_s, t->world_calls - t->last_question_call);
    }
    t->last_question_ns = now;
    t->last_question_call = t->world_calls;
    (void)REAL(Bcast)(answer, 2, MPI_UINT64_T, 0, t->comm);
    t->next_check = t->world_calls + answer[1];
    return answer[0];
}

void ictusi_sweep(struct recorder *r, enum coll_op op)
{
    struct tracer *t = &ictusi_tracer;
    bool due = false;
    t->world_calls++;
    if (op == COLL_BARRIER && t->settings.resync_barriers > 0) {
        t->world_barriers++;
        due = t->world_barriers % (uint64_t)t->settings.resync_barriers == 0;
    }
    if (t->settings.resync_every_s > 0.0 && t->world_calls >= t->next_check) {
        due = sweeps_ask_root(t) || due;
    }
    if (due && r) {
        (void)ictusi_tracer_sync();
    }
}
