/* SPDX-License-Identifier: BSD-3-Clause */
#include "waits/backward.h"

#include <stdlib.h>

/* Set for calls that others waited for; the bits below count those that have not been passed. */
#define AWAITED (UINT32_C(1) << 31)

static uint32_t *backward_dependents(const struct backward *b, uint64_t call)
{
    return (uint32_t *)b->dependents.area + call;
}

/* When the next call of a location to pass was left. */
static int64_t walker_time(const struct backward *b, uint32_t location)
{
    const uint64_t cursor = b->walkers[location].cursor;
    return cursor > b->analysis->calls.first[location]
               ? call_at(&b->analysis->calls, cursor - 1)->leave
               : INT64_MIN;
}

static void ready_push(struct backward *b, uint32_t location)
{
    struct backward_walker *w = &b->walkers[location];
    if (w->queued || w->cursor == b->analysis->calls.first[location]) {
        return;
    }
    const struct backward_ready one = {walker_time(b, location), location};
    w->queued = true;
    uint32_t at = b->ready_count++;
    while (at > 0 && one.time > b->ready[(at - 1) / 2].time) {
        b->ready[at] = b->ready[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    b->ready[at] = one;
}

/*
 * The latest call comes first. Any order in which waiters precede their causers finds the same
 * rates. With this one, all locations go back through time together, so that only part of the trace
 * has to be in memory.
 */
static uint32_t ready_pop(struct backward *b)
{
    const uint32_t top = b->ready[0].location;
    const struct backward_ready last = b->ready[--b->ready_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < b->ready_count; child = 2 * at + 1) {
        if (child + 1 < b->ready_count && b->ready[child + 1].time > b->ready[child].time) {
            child++;
        }
        if (b->ready[child].time <= last.time) {
            break;
        }
        b->ready[at] = b->ready[child];
        at = child;
    }
    b->ready[at] = last;
    b->walkers[top].queued = false;
    return top;
}

/*
 * Release memory from time to time. Passed calls are not needed again, and the earlier ones are
 * elsewhere in memory.
 */
static void backward_rest(struct backward *b)
{
    const uint64_t before = b->passed;
    analysis_pass(b->analysis, &b->passed, 1);
    if (b->passed < before) {
        ictusi_store_relax(&b->dependents);
    }
}

/* The last wait for a call makes its location ready again, if that has reached the call. */
static void backward_release(struct backward *b, const struct partner *p)
{
    uint32_t *dependents = backward_dependents(b, p->call);
    if ((*dependents & ~AWAITED) > 0 && (--*dependents & ~AWAITED) == 0 &&
        b->walkers[p->location].cursor == p->call + 1ULL) {
        ready_push(b, p->location);
    }
}

/*
 * Pass the call before the cursor, unless a wait for it has not been passed yet. Returns whether it
 * is a step, which is then set.
 */
static bool backward_walk(struct backward *b, uint32_t location, struct backward_step *step)
{
    const uint64_t call = b->walkers[location].cursor - 1;
    const uint32_t dependents = *backward_dependents(b, call);
    if ((dependents & ~AWAITED) > 0) {
        return false; /* the last of them pushes it again */
    }
    backward_rest(b);
    const bool waited = analysis_wait(b->analysis, call) > 0;
    if (waited) {
        backward_release(b, partner_at(&b->analysis->partners, call));
    }
    b->walkers[location].cursor = call;
    ready_push(b, location);
    *step = (struct backward_step){location, (uint32_t)call};
    return waited || dependents > 0;
}

/*
 * No location can advance: in a broken trace, waits form a circle. The latest call is passed
 * anyway, before the waits for it.
 */
static bool backward_break_circle(struct backward *b)
{
    const uint64_t locations = b->analysis->session.trace->layout.location_count;
    uint32_t latest = UINT32_MAX;
    for (uint32_t l = 0; l < locations; l++) {
        if (b->walkers[l].cursor > b->analysis->calls.first[l] &&
            (latest == UINT32_MAX || walker_time(b, l) > walker_time(b, latest))) {
            latest = l;
        }
    }
    if (latest == UINT32_MAX) {
        return false;
    }
    uint32_t *dependents = backward_dependents(b, b->walkers[latest].cursor - 1);
    b->cyclic += *dependents & ~AWAITED;
    *dependents &= AWAITED;
    ready_push(b, latest);
    return true;
}

/* Count the waits for each call, and place each location at its last call. */
int ictusi_backward_init(struct backward *b, const struct analysis *a, struct ictus_why *why)
{
    const uint64_t locations = a->session.trace->layout.location_count;
    const uint64_t calls = a->calls.calls.count;
    *b = (struct backward){.analysis = a};
    b->walkers = calloc(locations + 1, sizeof *b->walkers);
    b->ready = calloc(locations + 1, sizeof *b->ready);
    int err = b->walkers && b->ready ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err
              : ictusi_store_init(&b->dependents, sizeof(uint32_t), calls,
                                  CALLS_IN_MEMORY * sizeof(uint32_t), why);
    err = err ? err : ictusi_store_grow(&b->dependents, calls, why);
    ictusi_store_populate(&b->dependents, 0, err ? 0 : calls);
    for (uint64_t i = 0; i < calls && !err; i++) {
        if (analysis_wait(a, i) > 0) {
            uint32_t *dependents = backward_dependents(b, partner_at(&a->partners, i)->call);
            *dependents = (*dependents + 1) | AWAITED;
        }
        backward_rest(b);
    }
    for (uint32_t l = 0; l < locations && !err; l++) {
        b->walkers[l].cursor = a->calls.first[l + 1];
        ready_push(b, l);
    }
    return err;
}

void ictusi_backward_free(struct backward *b)
{
    free(b->walkers);
    free(b->ready);
    ictusi_store_fini(&b->dependents);
    *b = (struct backward){.walkers = NULL};
}

uint64_t ictusi_backward_pass(struct backward *b, struct backward_step *steps, uint64_t most)
{
    uint64_t count = 0;
    while (count < most && (b->ready_count || backward_break_circle(b))) {
        if (b->ready_count) {
            count += backward_walk(b, ready_pop(b), &steps[count]);
        }
    }
    return count;
}
