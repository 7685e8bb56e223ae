/* SPDX-License-Identifier: BSD-3-Clause */
/* Following one location through its events: regions, the open call, time by call path. */
#ifndef ICTUS_WAITS_FOLLOW_H
#define ICTUS_WAITS_FOLLOW_H

#include "waits/calls.h"

struct frame {
    uint32_t path;
    uint32_t region;
};

/* Until when an open call lasts: the end of its region, or of the collective without one. */
#define UNTIL_END UINT32_MAX

struct follower {
    struct waiting_calls *calls;
    struct paths *paths;
    struct trace *trace;
    struct history *history;
    const struct instants *instants;
    uint32_t location;
    uint64_t point, point_end; /* the next point */
    uint64_t position;         /* of the point before */
    struct frame *stack;
    uint32_t depth, room;
    uint32_t path;     /* the present one */
    int64_t last;      /* time is accounted for up to here */
    bool open, used;   /* a call is; it has a point or a request */
    bool muted, began; /* recording is off; there has been an event */
    uint32_t open_depth;
    struct waiting_call call;
    struct idmap slots;           /* path -> its place among the shares since the last call */
    struct idmap sends, receives; /* request -> point of the send, call that posted */
    struct share_of_time *shares;
    uint64_t share_count, share_room;
    int err;
};

/* Keep the first error; what the reader's callback returns. */
OTF2_CallbackCode ictusi_follow_verdict(struct follower *f, int err);

/* The instant of an event; time up to it is accounted for outside of calls. */
int64_t ictusi_follow_time(struct follower *f, OTF2_TimeStamp stamp);

/* A call begins, and ends. */
void ictusi_follow_open(struct follower *f, int64_t time, uint32_t path, uint32_t depth);
void ictusi_follow_close(struct follower *f, int64_t time);

/* The call that the present event lies in: an open one, or an instant of its own. */
uint32_t ictusi_follow_use(struct follower *f, int64_t time);

/* If the event at this position is the next point, put it into its call. */
bool ictusi_follow_point(struct follower *f, int64_t time, uint64_t position);

/* Remember what was entered; false: no memory. */
bool ictusi_follow_push(struct follower *f, struct frame frame);

/* After the last event: what is open, and the time after the last call. */
void ictusi_follow_finish(struct follower *f);

#endif
