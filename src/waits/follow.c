/* SPDX-License-Identifier: BSD-3-Clause */
/* A call is kept if an event in it is a point or belongs to a request; else it is time spent. */
#include "waits/follow.h"

#include <stdlib.h>
#include <string.h>

OTF2_CallbackCode ictusi_follow_verdict(struct follower *f, int err)
{
    f->err = f->err ? f->err : err;
    return f->err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/* Add time to a path since the last call. */
static void follow_spend(struct follower *f, uint32_t path, int64_t ticks)
{
    if (ticks == 0) {
        return;
    }
    if (f->share_count && f->shares[f->share_count - 1].path == path) {
        f->shares[f->share_count - 1].ticks += ticks;
        return;
    }
    int64_t *slot = ictusi_idmap_at(&f->slots, path, 0, (int64_t)f->share_count);
    if (!slot) {
        f->err = ICTUS_ERR_NOMEM;
        return;
    }
    if (*slot < (int64_t)f->share_count) {
        f->shares[*slot].ticks += ticks;
        return;
    }
    if (f->share_count == f->share_room) {
        const uint64_t room = f->share_room ? 2 * f->share_room : 64;
        struct share_of_time *wide = realloc(f->shares, room * sizeof *wide);
        if (!wide) {
            f->err = ICTUS_ERR_NOMEM;
            return;
        }
        f->shares = wide;
        f->share_room = room;
    }
    f->shares[f->share_count++] = (struct share_of_time){ticks, path};
}

/* The instant of an event; time up to it is accounted for outside of calls. */
int64_t ictusi_follow_time(struct follower *f, OTF2_TimeStamp stamp)
{
    int64_t time = f->instants->map(f->instants->self, f->location, (int64_t)stamp);
    if (!f->began) {
        f->began = true;
        f->last = time;
        f->calls->from = time < f->calls->from ? time : f->calls->from;
    }
    time = time > f->last ? time : f->last;
    if (!f->open) {
        follow_spend(f, f->muted ? PATH_MUTED : f->path, time - f->last);
        f->last = time;
    }
    return time;
}

/* Keep the open call and the shares of time before it. */
static void follow_keep(struct follower *f)
{
    struct waiting_calls *c = f->calls;
    int err = ictusi_store_grow(&c->shares, f->share_count, f->trace->why);
    err = err ? err : ictusi_store_grow(&c->calls, 1, f->trace->why);
    if (err || c->shares.count + f->share_count >= UINT32_MAX) {
        f->err = f->err ? f->err : err ? err : ICTUS_ERR_NOMEM;
        return;
    }
    memcpy((struct share_of_time *)c->shares.area + c->shares.count, f->shares,
           f->share_count * sizeof *f->shares);
    c->shares.count += f->share_count;
    f->call.delta_end = (uint32_t)c->shares.count;
    *call_at(c, c->calls.count++) = f->call;
    c->muted += (f->call.flags & CALL_MUTED) != 0;
    c->cut += (f->call.flags & CALL_CUT) != 0;
    for (uint64_t i = 0; i < f->share_count; i++) {
        ictusi_idmap_remove(&f->slots, f->shares[i].path, 0);
    }
    f->share_count = 0;
}

void ictusi_follow_open(struct follower *f, int64_t time, uint32_t path, uint32_t depth)
{
    f->open = true;
    f->used = false;
    f->open_depth = depth;
    f->call = (struct waiting_call){.enter = time, .path = path};
}

void ictusi_follow_close(struct follower *f, int64_t time)
{
    f->call.leave = time;
    f->open = false;
    f->last = time;
    if (f->used) {
        follow_keep(f);
    } else {
        follow_spend(f, f->call.path, time - f->call.enter);
    }
}

/* The call that the present event lies in: an open one, or an instant of its own. */
uint32_t ictusi_follow_use(struct follower *f, int64_t time)
{
    const uint32_t index = (uint32_t)f->calls->calls.count;
    if (f->open) {
        f->used = true;
        return index;
    }
    ictusi_follow_open(f, time, f->path, UNTIL_END);
    f->used = true;
    f->call.flags = CALL_BARE;
    ictusi_follow_close(f, time);
    return index;
}

/* If the event at this position is the next point, put it into its call. */
bool ictusi_follow_point(struct follower *f, int64_t time, uint64_t position)
{
    const struct points *points = &f->history->points;
    if (f->point == f->point_end || f->position + points->gap[f->point] != position) {
        return false;
    }
    f->position = position;
    const uint32_t call = ictusi_follow_use(f, time);
    ((uint32_t *)f->calls->call_of.area)[f->point] = call;
    ((uint32_t *)f->calls->other.area)[f->point] = call;
    if ((points->kind[f->point] & POINT_CLASS) == POINT_THREAD) {
        points->note[f->point].lock = false;
    }
    f->point++;
    return true;
}

bool ictusi_follow_push(struct follower *f, struct frame frame)
{
    if (f->depth == f->room) {
        const uint32_t room = f->room ? 2 * f->room : 64;
        struct frame *wide = realloc(f->stack, room * sizeof *wide);
        if (!wide) {
            f->err = ICTUS_ERR_NOMEM;
            return false;
        }
        f->stack = wide;
        f->room = room;
    }
    f->stack[f->depth++] = frame;
    return true;
}

/* What is open when the events end, and the time after the last call. */
void ictusi_follow_finish(struct follower *f)
{
    if (f->open) {
        f->call.flags |= CALL_CUT;
        ictusi_follow_close(f, f->last > f->call.enter ? f->last : f->call.enter);
    }
    ictusi_follow_open(f, f->last, PATH_PROGRAM, UNTIL_END);
    f->used = true;
    f->call.flags = CALL_END;
    ictusi_follow_close(f, f->last);
    if (f->began) {
        f->calls->to = f->last > f->calls->to ? f->last : f->calls->to;
    }
}
