/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process acquires a lock at some time between the beginning of the call that requests it and the
 * end of the call that releases it. MPI_Win_lock may return at once, and the lock be acquired by
 * the first operation that needs it, or even by MPI_Win_unlock. Two processes that exclude each
 * other hold it one after the other. So the one that releases it first held it first, and the other
 * one cannot have acquired it before that release. The wait is assigned to the call that spent the
 * longest time before the release.
 */
#include "waits/window_locks.h"

#include "waits/analysis.h"

#include <math.h>
#include <stdlib.h>

/*
 * By how many standard deviations a call must have returned before a release to be certain not to
 * have waited for it. A missed wait is missing entirely, whereas a false one ends with its call and
 * is right within the error. So errors as rare as one in 30000 matter here.
 */
static const double certainly_before = 4;

/* One process's lock of one target, or of all, from the request to the release. */
struct tenure {
    struct tap_window_lock lock;
    uint64_t from, to; /* index of its first note and of its release */
    uint32_t unlock;   /* the call that releases it */
    uint32_t release;  /* the call whose enter is the instant of the release */
    int64_t end;       /* that instant */
};

/* The last releases of a lock; NULL: none. */
struct last_releases {
    const struct tenure *any, *exclusive;
};

struct tenures {
    const struct analysis *analysis;
    struct tenure *list;
    uint64_t count;
};

static bool lock_same(const struct tap_window_lock *p, const struct tap_window_lock *q)
{
    return p->window == q->window && p->target == q->target && p->id == q->id;
}

/* A release is an instant of its own, which follows the call that it lies in. */
static uint32_t window_locks_release_call(const struct analysis *a, uint32_t call)
{
    return call_at(&a->calls, call)->flags & CALL_BARE ? call : call + 1;
}

/*
 * Collect the tenures of one location from its notes. Those that are open are kept at the end of
 * the list, after those that have ended.
 */
static void tenures_of_location(struct tenures *t, uint64_t from, uint64_t to)
{
    const struct analysis *a = t->analysis;
    uint64_t open = t->count; /* one past the last open one */
    for (uint64_t i = from; i < to; i++) {
        const struct lock_note *note = lock_note_at(&a->calls, i);
        uint64_t k = open;
        while (k > t->count && !lock_same(&t->list[k - 1].lock, &note->lock)) {
            k--;
        }
        const bool held = k > t->count;
        struct tenure *known = held ? &t->list[k - 1] : NULL;
        switch (note->lock.what) {
        case TAP_LOCK_REQUESTED:
            t->list[open++] = (struct tenure){.lock = note->lock, .from = i};
            break;
        case TAP_LOCK_ACQUIRED:
            if (held && known->lock.what == TAP_LOCK_REQUESTED) {
                known->lock = note->lock;
            } else {
                t->list[open++] = (struct tenure){.lock = note->lock, .from = i};
            }
            break;
        case TAP_LOCK_RELEASED:
            if (held) {
                struct tenure ended = *known;
                ended.to = i;
                ended.unlock = note->call;
                ended.release = window_locks_release_call(a, note->call);
                ended.end = call_at(&a->calls, ended.release)->enter;
                *known = t->list[t->count];
                t->list[t->count++] = ended;
            }
            break;
        default:
            break;
        }
    }
}

#define TENURE_COMPARE(field)                                                                      \
    if (p->field != q->field) {                                                                    \
        return p->field < q->field ? -1 : 1;                                                       \
    }

/* Sort the locks of each window together, in the order of their releases. */
static int window_locks_by_release(const void *a, const void *b)
{
    const struct tenure *p = a;
    const struct tenure *q = b;
    TENURE_COMPARE(lock.window)
    TENURE_COMPARE(lock.id)
    TENURE_COMPARE(end)
    return (p->release > q->release) - (p->release < q->release);
}

/*
 * By how much an instant of another location must appear to be later than the return of a call to
 * be certainly later.
 */
static double lock_doubt(const struct analysis *a, const struct waiting_call *c, uint32_t other,
                         int64_t instant)
{
    const double sigma =
        ictusi_histories_sigma(&a->histories, c->location, c->leave, other, instant);
    return isfinite(sigma) ? certainly_before * sigma : 0;
}

/* The call of a tenure that waited longest for the end of another one, or CALL_NONE. */
static uint32_t tenure_blocked(const struct analysis *a, const struct tenure *t,
                               const struct tenure *before)
{
    /*
     * The lock is released at some time between `begun` and `before->end`. A call that ended
     * between the two may have waited for it, if it had been entered when the release began. A
     * waiting call leaves so soon after the release that uncertain clocks may show it leaving
     * before.
     */
    const int64_t begun = call_at(&a->calls, before->unlock)->enter;
    const uint32_t other = analysis_location(a, before->unlock);
    uint32_t best = CALL_NONE;
    int64_t longest = 0;
    for (uint64_t i = t->from; i <= t->to; i++) {
        const struct lock_note *note = lock_note_at(&a->calls, i);
        const struct waiting_call *c = call_at(&a->calls, note->call);
        const int64_t x = (c->leave < before->end ? c->leave : before->end) - c->enter;
        const bool own = note->lock.what == TAP_LOCK_ACCESS ? note->lock.window == t->lock.window
                                                            : lock_same(&note->lock, &t->lock);
        const bool late = (c->enter < begun && c->leave > begun) ||
                          (double)(before->end - c->leave) <= lock_doubt(a, c, other, before->end);
        if (own && late && x > longest) {
            best = note->call;
            longest = x;
        }
    }
    return best;
}

static const struct tenure *tenure_later(const struct tenure *p, const struct tenure *q)
{
    return !p || (q && q->end > p->end) ? q : p;
}

/* The latest releases of each target of a window, and of locks on all targets. */
struct window_releases {
    struct idmap target; /* -> place in the list */
    struct last_releases *list, all, each;
    uint64_t count;
};

/* The list has room for all tenures, so it never moves. */
static struct last_releases *releases_at(struct window_releases *w, uint32_t target)
{
    const int64_t *slot = ictusi_idmap_at(&w->target, target, 0, (int64_t)w->count);
    if (!slot) {
        return NULL;
    }
    if (*slot == (int64_t)w->count) {
        w->list[w->count++] = (struct last_releases){NULL, NULL};
    }
    return &w->list[*slot];
}

/*
 * Find the release that a tenure had to wait for, and record its own release for later ones. A lock
 * on one target excludes others on that target and those on all targets. A lock on all targets
 * excludes any. A shared lock waits only for exclusive ones.
 */
static int window_locks_release_pass(struct window_releases *w, const struct analysis *a,
                                     const struct tenure *t, epoch_fn *found, void *self)
{
    const bool all = t->lock.target == TAP_LOCK_ALL;
    struct last_releases *own = all ? &w->all : releases_at(w, t->lock.target);
    if (!own) {
        return ICTUS_ERR_NOMEM;
    }
    const struct last_releases *other = all ? &w->each : &w->all;
    const struct tenure *before = t->lock.exclusive
                                      ? tenure_later(own->any, other->any)
                                      : tenure_later(own->exclusive, other->exclusive);
    const uint32_t call = before ? tenure_blocked(a, t, before) : CALL_NONE;
    if (call != CALL_NONE) {
        found(self, call, before->release, WAIT_RMA_LOCK);
    }
    struct last_releases *const told[] = {own, all ? own : &w->each};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        told[i]->any = t;
        told[i]->exclusive = t->lock.exclusive ? t : told[i]->exclusive;
    }
    return ICTUS_OK;
}

/*
 * Tenures come in the order of their releases, so whoever is known when one comes held the lock
 * before it.
 */
static int tenures_pass(const struct tenures *t, epoch_fn *found, void *self)
{
    struct window_releases w = {.list = calloc(t->count + 1, sizeof *w.list)};
    int err = w.list ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; i < t->count && !err; i++) {
        const struct tap_window_lock *lock = &t->list[i].lock;
        const struct tap_window_lock *before = i ? &t->list[i - 1].lock : NULL;
        if (!before || before->window != lock->window || before->id != lock->id) {
            ictusi_idmap_fini(&w.target);
            w.count = 0;
            w.all = w.each = (struct last_releases){NULL, NULL};
        }
        err = window_locks_release_pass(&w, t->analysis, &t->list[i], found, self);
    }
    ictusi_idmap_fini(&w.target);
    free(w.list);
    return err;
}

int ictusi_window_locks_find(const struct analysis *a, epoch_fn *found, void *self)
{
    const uint64_t n = a->calls.locks.count;
    struct tenures t = {.analysis = a, .list = calloc(n + 1, sizeof *t.list)};
    if (!t.list) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t from = 0, to = 0; from < n; from = to) {
        const uint32_t location = lock_note_at(&a->calls, from)->location;
        while (to < n && lock_note_at(&a->calls, to)->location == location) {
            to++;
        }
        tenures_of_location(&t, from, to);
    }
    qsort(t.list, t.count, sizeof *t.list, window_locks_by_release);
    const int err = tenures_pass(&t, found, self);
    free(t.list);
    return err;
}
