/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target records which origins it exposes a window to. An origin notifies each target when it has
 * completed, and the target records that notification. Each kind of event is counted from 0 per
 * window, origin and target, in the calls that it belongs to.
 */
#include "waits/epochs.h"

#include "waits/analysis.h"

#include <stdlib.h>
#include <string.h>

enum epoch_side { EPOCH_POST, EPOCH_COMPLETE, EPOCH_WAIT, EPOCH_SIDES };

/* One side of an epoch between two locations. */
struct epoch {
    uint32_t window, origin, target, number;
    uint32_t call;
    uint8_t side;
};

static bool epoch_call_named(const struct analysis *a, uint32_t call, const char *part)
{
    return strstr(ictusi_paths_leaf(&a->paths, call_at(&a->calls, call)->path), part) != NULL;
}

bool ictusi_epochs_ends(const struct analysis *a, uint32_t call)
{
    return epoch_call_named(a, call, "Win_wait") || epoch_call_named(a, call, "Win_test");
}

/* The side of an epoch that a notice belongs to, or EPOCH_SIDES if there is none. */
static enum epoch_side epoch_side_of_notice(const struct analysis *a, const struct notice *n)
{
    switch (n->kind) {
    case NOTICE_GOT:
        return ictusi_epochs_ends(a, n->call) ? EPOCH_WAIT : EPOCH_SIDES;
    case NOTICE_GIVEN:
        return epoch_call_named(a, n->call, "Win_complete") ? EPOCH_COMPLETE : EPOCH_SIDES;
    default:
        return epoch_call_named(a, n->call, "Win_post") ? EPOCH_POST : EPOCH_SIDES;
    }
}

#define EPOCH_COMPARE(field)                                                                       \
    if (p->field != q->field) {                                                                    \
        return p->field < q->field ? -1 : 1;                                                       \
    }

/* Sort the sides of one kind in the order of their calls, so that they can be numbered. */
static int epochs_by_side(const void *a, const void *b)
{
    const struct epoch *p = a;
    const struct epoch *q = b;
    EPOCH_COMPARE(window)
    EPOCH_COMPARE(origin)
    EPOCH_COMPARE(target)
    EPOCH_COMPARE(side)
    return (p->call > q->call) - (p->call < q->call); /* both are calls of one location */
}

/* Sort so that the sides of one epoch are neighbours. */
static int epochs_by_number(const void *a, const void *b)
{
    const struct epoch *p = a;
    const struct epoch *q = b;
    EPOCH_COMPARE(window)
    EPOCH_COMPARE(origin)
    EPOCH_COMPARE(target)
    EPOCH_COMPARE(number)
    return (p->side > q->side) - (p->side < q->side);
}

static bool epoch_same(const struct epoch *p, const struct epoch *q)
{
    return p->window == q->window && p->origin == q->origin && p->target == q->target;
}

/*
 * The call that began the origin's access: the nearest start before it completes. MPI allows one
 * access epoch of a window at a time, so no other start can lie in between. If another
 * MPI_Win_complete is found first, the start was not recorded.
 */
static uint32_t epoch_start(const struct analysis *a, const struct epoch *complete)
{
    for (uint64_t i = complete->call; i-- > a->calls.first[complete->origin];) {
        if (epoch_call_named(a, (uint32_t)i, "Win_start")) {
            return (uint32_t)i;
        }
        if (epoch_call_named(a, (uint32_t)i, "Win_complete")) {
            break;
        }
    }
    return CALL_NONE;
}

/*
 * A late post makes its origin wait in the call that contains it: start or complete. A start that
 * returned before the post did not wait for it.
 */
static void epoch_post(const struct analysis *a, const struct epoch *post,
                       const struct epoch *complete, epoch_fn *found, void *self)
{
    const int64_t posted = call_at(&a->calls, post->call)->enter;
    const uint32_t start = epoch_start(a, complete);
    const bool later = start == CALL_NONE || call_at(&a->calls, start)->leave <= posted;
    found(self, later ? complete->call : start, post->call, WAIT_LATE_POST);
}

/*
 * The sides of one epoch are neighbours in the list. If one side is missing because recording was
 * off, the other two are used as far as they are sufficient.
 */
static void epochs_pair(const struct analysis *a, const struct epoch *list, uint64_t count,
                        epoch_fn *found, void *self)
{
    for (uint64_t i = 0; i < count;) {
        const struct epoch *sides[EPOCH_SIDES] = {NULL};
        const uint64_t begin = i;
        for (; i < count && epoch_same(&list[i], &list[begin]) &&
               list[i].number == list[begin].number;
             i++) {
            sides[list[i].side] = &list[i];
        }
        const struct epoch *complete = sides[EPOCH_COMPLETE];
        if (complete && sides[EPOCH_POST]) {
            epoch_post(a, sides[EPOCH_POST], complete, found, self);
        }
        if (complete && sides[EPOCH_WAIT]) {
            found(self, sides[EPOCH_WAIT]->call, complete->call, WAIT_EARLY_WAIT);
        }
    }
}

/*
 * The list is sorted twice: by kind, so that neighbours can be numbered, and then by number, so
 * that the sides of an epoch become neighbours.
 */
int ictusi_epochs_find(const struct analysis *a, epoch_fn *found, void *self)
{
    const uint64_t n = a->calls.notices.count;
    struct epoch *list = calloc(n + 1, sizeof *list);
    uint64_t count = 0;
    if (!list) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < n; i++) {
        const struct notice *one = call_notice_at(&a->calls, i);
        const enum epoch_side side = epoch_side_of_notice(a, one);
        const bool at_origin = side == EPOCH_COMPLETE;
        if (side != EPOCH_SIDES) {
            list[count++] = (struct epoch){.window = one->window,
                                           .origin = at_origin ? one->location : one->peer,
                                           .target = at_origin ? one->peer : one->location,
                                           .call = one->call,
                                           .side = (uint8_t)side};
        }
    }
    qsort(list, count, sizeof *list, epochs_by_side);
    for (uint64_t i = 1; i < count; i++) {
        const bool next = epoch_same(&list[i], &list[i - 1]) && list[i].side == list[i - 1].side;
        list[i].number = next ? list[i - 1].number + 1 : 0;
    }
    qsort(list, count, sizeof *list, epochs_by_number);
    epochs_pair(a, list, count, found, self);
    free(list);
    return ICTUS_OK;
}
