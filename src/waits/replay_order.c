/* SPDX-License-Identifier: BSD-3-Clause */
#include "waits/replay_order.h"

#include <stdlib.h>

/* Set for calls that others waited for; the bits below count those that have not been passed. */
#define AWAITED (UINT32_C(1) << 31)

static uint32_t *order_dependents(const struct replay_order *o, uint64_t call)
{
    return (uint32_t *)o->dependents.area + call;
}

/* When the next call of a location to pass was left. */
static int64_t walker_time(const struct replay_order *o, uint32_t location)
{
    const uint64_t cursor = o->walkers[location].cursor;
    return cursor > o->analysis->calls.first[location]
               ? call_at(&o->analysis->calls, cursor - 1)->leave
               : INT64_MIN;
}

static void ready_push(struct replay_order *o, uint32_t location)
{
    struct replay_walker *w = &o->walkers[location];
    if (w->queued || w->cursor == o->analysis->calls.first[location]) {
        return;
    }
    const struct replay_ready one = {walker_time(o, location), location};
    w->queued = true;
    uint32_t at = o->ready_count++;
    while (at > 0 && one.time > o->ready[(at - 1) / 2].time) {
        o->ready[at] = o->ready[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    o->ready[at] = one;
}

/*
 * The latest call comes first. Any order in which waiters precede their causers finds the same
 * rates. With this one, all locations go back through time together, so that only part of the trace
 * has to be in memory.
 */
static uint32_t ready_pop(struct replay_order *o)
{
    const uint32_t top = o->ready[0].location;
    const struct replay_ready last = o->ready[--o->ready_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < o->ready_count; child = 2 * at + 1) {
        if (child + 1 < o->ready_count && o->ready[child + 1].time > o->ready[child].time) {
            child++;
        }
        if (o->ready[child].time <= last.time) {
            break;
        }
        o->ready[at] = o->ready[child];
        at = child;
    }
    o->ready[at] = last;
    o->walkers[top].queued = false;
    return top;
}

/*
 * Release memory from time to time. Passed calls are not needed again, and the earlier ones are
 * elsewhere in memory.
 */
static void order_rest(struct replay_order *o)
{
    const uint64_t before = o->passed;
    analysis_pass(o->analysis, &o->passed, 1);
    if (o->passed < before) {
        ictusi_store_relax(&o->dependents);
    }
}

/* The last wait for a call makes its location ready again, if that has reached the call. */
static void order_release(struct replay_order *o, const struct partner *p)
{
    uint32_t *dependents = order_dependents(o, p->call);
    if ((*dependents & ~AWAITED) > 0 && (--*dependents & ~AWAITED) == 0 &&
        o->walkers[p->location].cursor == p->call + 1ULL) {
        ready_push(o, p->location);
    }
}

/*
 * Pass the call before the cursor, unless a wait for it has not been passed yet. Returns whether it
 * is a step, which is then set.
 */
static bool order_walk(struct replay_order *o, uint32_t location, struct replay_step *step)
{
    const uint64_t call = o->walkers[location].cursor - 1;
    const uint32_t dependents = *order_dependents(o, call);
    if ((dependents & ~AWAITED) > 0) {
        return false; /* the last of them pushes it again */
    }
    order_rest(o);
    const bool waited = analysis_waits(o->analysis, call);
    if (waited) {
        order_release(o, partner_at(&o->analysis->partners, call));
    }
    o->walkers[location].cursor = call;
    ready_push(o, location);
    *step = (struct replay_step){location, (uint32_t)call};
    return waited || dependents > 0;
}

/*
 * No location can advance: in a broken trace, waits form a circle. The latest call is passed
 * anyway, before the waits for it.
 */
static bool order_break_circle(struct replay_order *o)
{
    const uint64_t locations = o->analysis->session.trace->layout.location_count;
    uint32_t latest = UINT32_MAX;
    for (uint32_t l = 0; l < locations; l++) {
        if (o->walkers[l].cursor > o->analysis->calls.first[l] &&
            (latest == UINT32_MAX || walker_time(o, l) > walker_time(o, latest))) {
            latest = l;
        }
    }
    if (latest == UINT32_MAX) {
        return false;
    }
    uint32_t *dependents = order_dependents(o, o->walkers[latest].cursor - 1);
    o->cyclic += *dependents & ~AWAITED;
    *dependents &= AWAITED;
    ready_push(o, latest);
    return true;
}

/* Count the waits for each call, and place each location at its last call. */
int ictusi_replay_order_init(struct replay_order *o, const struct analysis *a,
                             struct ictus_why *why)
{
    const uint64_t locations = a->session.trace->layout.location_count;
    const uint64_t calls = a->calls.calls.count;
    *o = (struct replay_order){.analysis = a};
    o->walkers = calloc(locations + 1, sizeof *o->walkers);
    o->ready = calloc(locations + 1, sizeof *o->ready);
    int err = o->walkers && o->ready ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err
              : ictusi_store_init(&o->dependents, sizeof(uint32_t), calls,
                                  CALLS_IN_MEMORY * sizeof(uint32_t), why);
    err = err ? err : ictusi_store_grow(&o->dependents, calls, why);
    ictusi_store_populate(&o->dependents, 0, err ? 0 : calls);
    for (uint64_t i = 0; i < calls && !err; i++) {
        if (analysis_waits(a, i)) {
            uint32_t *dependents = order_dependents(o, partner_at(&a->partners, i)->call);
            *dependents = (*dependents + 1) | AWAITED;
        }
        order_rest(o);
    }
    for (uint32_t l = 0; l < locations && !err; l++) {
        o->walkers[l].cursor = a->calls.first[l + 1];
        ready_push(o, l);
    }
    return err;
}

void ictusi_replay_order_free(struct replay_order *o)
{
    free(o->walkers);
    free(o->ready);
    ictusi_store_fini(&o->dependents);
    *o = (struct replay_order){.walkers = NULL};
}

uint64_t ictusi_replay_order_pass(struct replay_order *o, struct replay_step *steps, uint64_t most)
{
    uint64_t count = 0;
    while (count < most && (o->ready_count || order_break_circle(o))) {
        if (o->ready_count) {
            count += order_walk(o, ready_pop(o), &steps[count]);
        }
    }
    return count;
}
