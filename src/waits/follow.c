/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call is kept if an event in it is a point or belongs to a request. Otherwise it only counts as
 * time spent.
 */
#include "waits/follow.h"

#include "core/array.h"
#include "core/container.h"

#include <stdlib.h>

/*
 * Up to this many shares are searched one by one; beyond that the index is used. A loop has few
 * call paths.
 */
enum { SHARES_TRIED = 8 };

static struct follower *follow_self(struct scan_tap *tap)
{
    return container_of(tap, struct follower, tap);
}

/* Append a share of time since the last call. */
static void follow_share(struct follower *f, uint32_t path, int64_t ticks)
{
    if (array_widen((void **)&f->shares, f->share_count + 1, &f->share_room, sizeof *f->shares)) {
        f->shares[f->share_count++] = (struct share_of_time){ticks, path};
    } else {
        f->err = ICTUS_ERR_NOMEM;
    }
}

/*
 * Add time to a path since the last call, if the latest shares do not belong to that path. The
 * index is built when it is first needed; follow_keep() clears it together with the shares.
 */
static void follow_spend_indexed(struct follower *f, uint32_t path, int64_t ticks)
{
    for (uint64_t i = 0; i < f->share_count && f->slots.used < f->share_count && !f->err; i++) {
        f->err = ictusi_idmap_put(&f->slots, f->shares[i].path, 0, (int64_t)i);
    }
    const int64_t *slot = ictusi_idmap_at(&f->slots, path, 0, (int64_t)f->share_count);
    if (!slot) {
        f->err = ICTUS_ERR_NOMEM;
    } else if (*slot < (int64_t)f->share_count) {
        f->shares[*slot].ticks += ticks;
    } else {
        follow_share(f, path, ticks);
    }
}

/* Add time to a path since the last call. */
static void follow_spend(struct follower *f, uint32_t path, int64_t ticks)
{
    if (ticks == 0) {
        return;
    }
    for (uint64_t back = 1; back <= SHARES_TRIED && back <= f->share_count; back++) {
        if (f->shares[f->share_count - back].path == path) {
            f->shares[f->share_count - back].ticks += ticks;
            return;
        }
    }
    if (f->share_count < SHARES_TRIED) {
        follow_share(f, path, ticks);
    } else {
        follow_spend_indexed(f, path, ticks);
    }
}

/*
 * The instant of an event. The time up to it, outside of calls, is accounted for. Stamps that are
 * too large for a point, and stamps that go back, count as the last one. So a location's own time
 * never runs backwards, whatever its tracer wrote, and no share of time is negative.
 */
static int64_t follow_time(struct follower *f, OTF2_TimeStamp stamp)
{
    int64_t time = stamp >> STAMP_BITS ? f->last : (int64_t)stamp;
    if (!f->began) {
        f->began = true;
        f->last = time;
        f->calls->begin[f->location] = time;
    }
    time = time > f->last ? time : f->last;
    if (!f->open) {
        follow_spend(f, f->muted ? PATH_MUTED : f->path, time - f->last);
        f->last = time;
    }
    return time;
}

/*
 * Keep the open call and the shares of time before it. Only calls with a point or a request are
 * kept, so that memory grows with a program's communication and not with its function calls. The
 * time of other calls has become part of the shares.
 */
static void follow_keep(struct follower *f)
{
    struct waiting_calls *c = f->calls;
    int err = store_grow(&c->shares, SHARES_WIDE * f->share_count, f->why);
    err = err ? err : store_grow(&c->calls, 1, f->why);
    if (err || c->shares.count + SHARES_WIDE * f->share_count >= UINT32_MAX) {
        f->err = f->err ? f->err : err ? err : ICTUS_ERR_NOMEM;
        return;
    }
    for (uint64_t i = 0; i < f->share_count; i++) {
        c->shares.count += call_put_share(c, c->shares.count, f->shares[i]);
    }
    f->call.delta_end = (uint32_t)c->shares.count;
    *call_at(c, c->calls.count++) = f->call;
    c->muted += (f->call.flags & CALL_MUTED) != 0;
    c->cut += (f->call.flags & CALL_CUT) != 0;
    for (uint64_t i = 0; i < f->share_count && f->slots.used > 0; i++) {
        ictusi_idmap_remove(&f->slots, f->shares[i].path, 0);
    }
    f->share_count = 0;
}

static void follow_open(struct follower *f, int64_t time, uint32_t path, uint32_t depth)
{
    f->open = true;
    f->used = false;
    f->open_depth = depth;
    f->call = (struct waiting_call){.enter = time, .path = path, .location = f->location};
}

/* Close a call. If it has no point or request, it counts as time, like any other function. */
static void follow_close(struct follower *f, int64_t time)
{
    f->call.leave = time;
    f->open = false;
    f->last = time;
    if (f->used) {
        follow_keep(f);
    } else {
        follow_spend(f, f->call.path, time - f->call.enter);
    }
    if (f->released) {
        /* Others may wait for this instant, so it is kept as a call of no length. */
        f->released = false;
        f->call.enter = time;
        f->call.flags |= CALL_BARE;
        follow_keep(f);
    }
}

/*
 * The call that the present event lies in: the open one, or one of no length at its instant.
 * Archives without regions consist of such instants. They cannot wait, but others can wait for
 * them.
 */
static uint32_t follow_use(struct follower *f, int64_t time)
{
    const uint32_t index = (uint32_t)f->calls->calls.count;
    if (f->open) {
        f->used = true;
        return index;
    }
    follow_open(f, time, f->path, UNTIL_END);
    f->used = true;
    f->call.flags = CALL_BARE;
    follow_close(f, time);
    return index;
}

/* The call site that an enter's attributes name: its calling context plus one, or 0. */
static uint64_t follow_site(const struct follower *f, const OTF2_AttributeList *attributes)
{
    OTF2_CallingContextRef context = 0;
    if (f->site == IDMAP_NONE ||
        OTF2_AttributeList_GetCallingContextRef(attributes, (OTF2_AttributeRef)f->site, &context) !=
            OTF2_SUCCESS) {
        return 0;
    }
    return (uint64_t)context + 1;
}

/*
 * The outermost library region is the call. What the library enters inside it, such as a barrier
 * within MPI_Comm_split, is part of that call, because the program waits for all of it.
 */
static int follow_enter(struct scan_tap *tap, OTF2_TimeStamp stamp, OTF2_RegionRef ref,
                        const OTF2_AttributeList *attributes)
{
    struct follower *f = follow_self(tap);
    const int64_t time = follow_time(f, stamp);
    const uint32_t path = path_enter(f->paths, f->path, ref, follow_site(f, attributes));
    if (path == PATH_NONE) {
        return ICTUS_ERR_NOMEM;
    }
    const uint8_t kind = f->paths->list[path].kind;
    f->path = path;
    f->depth++;
    if (!f->open && kind != REGION_CODE) {
        follow_open(f, time, path, f->depth);
        f->used = kind == REGION_START;
    }
    return f->err;
}

static int follow_leave(struct scan_tap *tap, OTF2_TimeStamp stamp)
{
    struct follower *f = follow_self(tap);
    const int64_t time = follow_time(f, stamp);
    if (f->depth == 0) {
        return f->err; /* entered before recording began */
    }
    if (f->open && f->open_depth == f->depth) {
        follow_close(f, time);
    }
    f->depth--;
    f->path = f->paths->list[f->path].parent;
    return f->err;
}

/*
 * A call during which recording is switched off or on has no wait, because what happened in it is
 * unknown.
 */
static int follow_switched(struct scan_tap *tap, OTF2_TimeStamp stamp, bool off)
{
    struct follower *f = follow_self(tap);
    (void)follow_time(f, stamp);
    f->muted = off;
    f->call.flags |= f->open ? CALL_MUTED : 0;
    return f->err;
}

static bool follow_carries_data(uint8_t kind)
{
    const uint8_t class = kind & POINT_CLASS;
    return class == POINT_P2P || class == POINT_COLLECTIVE;
}

/*
 * The scan makes points one after the other, and each belongs to the call around it. For a send or
 * receive, the call that completes or posts it is the same call until a request says otherwise.
 */
static int follow_point(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t point)
{
    struct follower *f = follow_self(tap);
    struct waiting_calls *c = f->calls;
    const int64_t time = follow_time(f, stamp);
    int err = store_grow(&c->call_of, 1, f->why);
    err = err ? err : store_grow(&c->other, 1, f->why);
    if (err) {
        return err;
    }
    const uint32_t call = follow_use(f, time);
    const uint8_t kind = f->history->points.kind[point];
    ((uint32_t *)c->call_of.area)[c->call_of.count++] = call;
    ((uint32_t *)c->other.area)[c->other.count++] = call;
    if ((kind & POINT_CLASS) == POINT_THREAD) {
        f->history->points.note[point].lock = false;
    }
    /* Thread events normally lie in no library call. Messages and collectives should lie in one. */
    c->bare += follow_carries_data(kind) && !f->open;
    return f->err;
}

/* A collective outside any region is treated as a call from its beginning to its end. */
static int follow_collective_begun(struct scan_tap *tap, OTF2_TimeStamp stamp)
{
    struct follower *f = follow_self(tap);
    const int64_t time = follow_time(f, stamp);
    if (!f->open) {
        follow_open(f, time, f->path, UNTIL_END);
        f->calls->bare++;
    }
    return f->err;
}

/* Record a part in a collective. The point of its end has just been assigned to its call. */
static int follow_meet(struct follower *f, const struct collective_call *call)
{
    struct store *list = &f->calls->meetings;
    const int err = store_grow(list, 1, f->why);
    if (!err) {
        const uint32_t end = call_of_point(f->calls, call->end);
        const bool pending = call->begin != NODE_NONE;
        *meeting_at(f->calls, list->count++) =
            (struct meeting){.call = pending ? call_of_point(f->calls, call->begin) : end,
                             .end_call = end,
                             .begin = pending ? call->begin : 0,
                             .location = f->location,
                             .comm = call->comm,
                             .root = call->root,
                             .sent = call->sent,
                             .received = call->received,
                             .operands = call->operands,
                             .op = call->op};
    }
    return err;
}

static int follow_collective_ended(struct scan_tap *tap, OTF2_TimeStamp stamp,
                                   const struct collective_call *call)
{
    struct follower *f = follow_self(tap);
    const int64_t time = follow_time(f, stamp);
    if (f->open && f->open_depth == UNTIL_END) {
        follow_close(f, time);
    }
    const int err = call && call->class == POINT_COLLECTIVE ? follow_meet(f, call) : ICTUS_OK;
    return f->err ? f->err : err;
}

/*
 * Two calls matter for a nonblocking message: the one that began it, whose enter is what the
 * partner waits for, and the one that completed it, in which the program waits (docs/waits.md).
 * Requests are forgotten when they complete, because their numbers are reused.
 */
static int follow_request(struct scan_tap *tap, OTF2_TimeStamp stamp, enum tap_request what,
                          uint64_t request, uint32_t point)
{
    struct follower *f = follow_self(tap);
    const int64_t time = follow_time(f, stamp);
    uint32_t *other = f->calls->other.area;
    int64_t held = IDMAP_NONE;
    int err = ICTUS_OK;
    switch (what) {
    case TAP_SEND_BEGUN:
        other[point] = CALL_NONE; /* until it completes */
        err = ictusi_idmap_put(&f->sends, request, 0, (int64_t)point);
        break;
    case TAP_SEND_DONE:
        held = ictusi_idmap_get(&f->sends, request, 0);
        if (held != IDMAP_NONE) {
            other[held] = follow_use(f, time);
        }
        break;
    case TAP_RECEIVE_POSTED:
        err = ictusi_idmap_put(&f->receives, request, 0, (int64_t)follow_use(f, time));
        break;
    case TAP_RECEIVED:
        held = ictusi_idmap_get(&f->receives, request, 0);
        if (held != IDMAP_NONE && point != NODE_NONE) {
            other[point] = (uint32_t)held;
        }
        break;
    default:
        break;
    }
    if (what == TAP_SEND_DONE || what == TAP_CANCELLED) {
        ictusi_idmap_remove(&f->sends, request, 0);
    }
    if (what == TAP_RECEIVED || what == TAP_CANCELLED) {
        ictusi_idmap_remove(&f->receives, request, 0);
    }
    return err ? err : f->err;
}

static int follow_note(struct follower *f, uint32_t call, uint32_t peer, uint32_t window,
                       enum notice_kind kind)
{
    struct store *list = &f->calls->notices;
    const int err = store_grow(list, 1, f->why);
    if (!err) {
        *call_notice_at(f->calls, list->count++) = (struct notice){.call = call,
                                                                   .location = f->location,
                                                                   .peer = peer,
                                                                   .window = window,
                                                                   .kind = (uint8_t)kind};
    }
    return err;
}

static int follow_notified(struct scan_tap *tap, uint32_t point, uint32_t peer, uint32_t window)
{
    struct follower *f = follow_self(tap);
    const bool out = (f->history->points.kind[point] & POINT_OUT) != 0;
    return follow_note(f, call_of_point(f->calls, point), peer, window,
                       out ? NOTICE_GIVEN : NOTICE_GOT);
}

/* Exposing memory outside MPI_Win_post begins no exposure epoch. */
static int follow_exposed(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t peer,
                          uint32_t window)
{
    struct follower *f = follow_self(tap);
    if (!f->open) {
        return 0;
    }
    const uint32_t call = follow_use(f, follow_time(f, stamp));
    return f->err ? f->err : follow_note(f, call, peer, window, NOTICE_POSTED);
}

/* The wait for a lock ends when it is acquired, although its region continues. */
static int follow_acquired(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t point)
{
    struct follower *f = follow_self(tap);
    const int64_t time = follow_time(f, stamp);
    if (point != NODE_NONE) {
        f->history->points.note[point].lock = true;
    }
    const bool in_lock =
        f->open && f->open_depth == f->depth && f->paths->list[f->path].kind == REGION_LOCK;
    if (in_lock) {
        follow_close(f, time);
    }
    return f->err;
}

/* The wait for the lock of a window may lie in any call up to its release. */
static int follow_window_lock(struct scan_tap *tap, OTF2_TimeStamp stamp,
                              const struct tap_window_lock *lock)
{
    struct follower *f = follow_self(tap);
    struct store *list = &f->calls->locks;
    const int64_t time = follow_time(f, stamp);
    f->locks |= lock->what != TAP_LOCK_ACCESS;
    const int err = f->locks ? store_grow(list, 1, f->why) : ICTUS_OK;
    if (err || !f->locks) {
        return err ? err : f->err;
    }
    const uint32_t call = follow_use(f, time);
    f->released |= f->open && lock->what == TAP_LOCK_RELEASED;
    *lock_note_at(f->calls, list->count++) =
        (struct lock_note){.lock = *lock, .call = call, .location = f->location};
    return f->err;
}

/* A location begins with nothing open. */
static int follow_begin(struct scan_tap *tap, uint32_t location, const struct history *history)
{
    struct follower *f = follow_self(tap);
    f->history = history;
    f->location = location;
    f->calls->first[location] = f->calls->calls.count;
    f->calls->begin[location] = NO_EVENTS;
    f->depth = 0;
    f->path = PATH_PROGRAM;
    f->last = 0;
    f->open = f->used = f->muted = f->began = f->locks = f->released = false;
    f->call = (struct waiting_call){.enter = 0};
    return ICTUS_OK;
}

/*
 * Close what is open when the events end. The time after the last call belongs to a final call of
 * no length, so that all time of a location lies before some call.
 */
static int follow_finish(struct scan_tap *tap)
{
    struct follower *f = follow_self(tap);
    if (f->open) {
        f->call.flags |= CALL_CUT;
        follow_close(f, f->last > f->call.enter ? f->last : f->call.enter);
    }
    follow_open(f, f->last, PATH_PROGRAM, UNTIL_END);
    f->used = true;
    f->call.flags = CALL_END;
    follow_close(f, f->last);
    f->calls->first[f->location + 1] = f->calls->calls.count;
    ictusi_idmap_fini(&f->sends);
    ictusi_idmap_fini(&f->receives);
    ictusi_waiting_calls_relax(f->calls);
    return f->err;
}

/* A follower that fills calls and paths of its own, for one thread. */
struct follow_part {
    struct follower follower; /* first member */
    struct waiting_calls calls;
    struct paths paths;
};

static struct follow_part *follow_part_of(struct scan_tap *tap)
{
    return container_of(follow_self(tap), struct follow_part, follower);
}

static void follow_release(struct scan_tap *other)
{
    struct follow_part *part = follow_part_of(other);
    ictusi_follow_fini(&part->follower);
    ictusi_waiting_calls_free(&part->calls);
    ictusi_paths_fini(&part->paths);
    free(part);
}

/*
 * Threads read blocks of locations separately, each into calls and paths of its own. NULL: no
 * memory.
 */
static struct scan_tap *follow_split(struct scan_tap *tap)
{
    const struct follower *f = follow_self(tap);
    const struct trace *trace = f->paths->trace;
    struct follow_part *part = calloc(1, sizeof *part);
    if (!part) {
        return NULL;
    }
    ictusi_follow_init(&part->follower, &part->calls, &part->paths, trace);
    part->follower.why = NULL;
    if (ictusi_paths_init(&part->paths, trace) ||
        ictusi_waiting_calls_init(&part->calls, &trace->layout, NULL)) {
        follow_release(&part->follower.tap);
        return NULL;
    }
    return &part->follower.tap;
}

/* Renumber the paths of the part to match those here, and append its calls. */
static int follow_join(struct scan_tap *tap, struct scan_tap *other, const struct tap_part *part)
{
    struct follower *f = follow_self(tap);
    struct follow_part *known = follow_part_of(other);
    uint32_t *which = calloc(known->paths.count + 1, sizeof *which);
    int err = which ? ictusi_paths_append(f->paths, &known->paths, which) : ICTUS_ERR_NOMEM;
    err = err ? err : ictusi_waiting_calls_append(f->calls, &known->calls, part, which, f->why);
    free(which);
    return err;
}

void ictusi_follow_init(struct follower *f, struct waiting_calls *calls, struct paths *paths,
                        const struct trace *trace)
{
    static const struct scan_tap_ops ops = {.begin = follow_begin,
                                            .finish = follow_finish,
                                            .enter = follow_enter,
                                            .leave = follow_leave,
                                            .switched = follow_switched,
                                            .point = follow_point,
                                            .collective_begun = follow_collective_begun,
                                            .collective_ended = follow_collective_ended,
                                            .request = follow_request,
                                            .notified = follow_notified,
                                            .exposed = follow_exposed,
                                            .acquired = follow_acquired,
                                            .window_lock = follow_window_lock,
                                            .split = follow_split,
                                            .join = follow_join,
                                            .release = follow_release};
    *f = (struct follower){.tap = {&ops}, .calls = calls, .paths = paths, .why = trace->why};
    f->site = ictusi_idmap_get(&trace->places.attribute, 0, 0);
}

void ictusi_follow_fini(struct follower *f)
{
    free(f->shares);
    ictusi_idmap_fini(&f->slots);
    ictusi_idmap_fini(&f->sends);
    ictusi_idmap_fini(&f->receives);
}
