/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread's event buffer: a window of a file of its own, mapped and touched beforehand, with
 * a single writer and no locks. When a window is nearly full the next one is mapped behind it;
 * how long that took becomes a flush record. What is in a window belongs to the file already, so
 * a killed process loses nothing that it had written.
 */
#ifndef ICTUS_TRACER_RECORDER_H
#define ICTUS_TRACER_RECORDER_H

#include "tracer/record.h"
#include "tracer/ticks.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metric_events;
struct trace_comm;
struct trace_request;

enum recorder_after {
    AFTER_MUTED = 1,  /* calls are tracked but leave no records */
    AFTER_SAMPLE = 2, /* metrics are sampled */
    AFTER_HIDDEN = 4  /* this call alone is as if muted: its function was filtered out */
};

struct recorder {
    uint64_t *pos;  /* where the next record goes */
    uint64_t *soft; /* behind this the window is to be switched; RECORD_WORDS_MAX before its end */
    uint64_t *open; /* the last timed record, if it is an open call */
    const uint8_t *enabled; /* by function: whether calls are looked at */
    const struct ictus_clock *clock;
    enum tick_kind kind;
    uint8_t after;  /* enum recorder_after: what is due after each call */
    bool shut;      /* no window could be had: nothing is recorded any more */
    uint64_t *mark; /* where a muted call's records began */
    uint64_t next_request;
    /* The communicator seen last. */
    MPI_Comm comm;
    uint64_t comm_epoch;
    const struct trace_comm *comm_info;
    /* The datatype seen last. */
    MPI_Datatype type;
    uint64_t type_epoch;
    int64_t type_bytes;
    /* A flush to be recorded before the next timed record. */
    uint64_t flush_from, flush_ticks;
    uint64_t last_sample; /* ticks of the last metric sample */
    uint64_t lost;        /* calls and events that found no room */
    /* Room for handles and statuses of calls that complete many requests. */
    MPI_Request *handles;
    MPI_Status *statuses;
    struct trace_request *held;
    int room;
    /* Where the windows are. */
    uint64_t *window;
    size_t window_bytes;
    uint64_t file_bytes, limit_bytes;
    int fd;
    uint32_t thread;
    struct metric_events *events; /* of perf, or NULL */
};

/* What all recorders of a process have in common. */
struct recorder_setup {
    char directory[3072];
    uint32_t rank;
    uint64_t table_hash;
    uint64_t limit_bytes;
    const struct ictus_clock *clock;
    enum tick_kind kind;
};

/* Make a thread's file and first window. @return NULL with errno set */
struct recorder *ictusi_recorder_create(const struct recorder_setup *setup, uint32_t thread,
                                        size_t window_bytes);

/*
 * Let go of the window's memory: the file has what is in it. Whoever writes there all the same, a
 * thread behind MPI_Finalize, gets it back.
 */
void ictusi_recorder_rest(struct recorder *recorder);

/* Unmap the window; the file stays. NULL is legal. */
void ictusi_recorder_free(struct recorder *recorder);

/* Map the next window. @return whether there is room to write now */
bool ictusi_recorder_switch(struct recorder *recorder);

/* Room for count requests in handles and statuses. @return false: no memory */
bool ictusi_recorder_room(struct recorder *recorder, int count);

/* Free that room; by the recorder's own thread. */
void ictusi_recorder_leave_room(struct recorder *recorder);

/* Write a flush that is due. */
void ictusi_recorder_flush(struct recorder *recorder);

static inline uint64_t recorder_ticks(const struct recorder *r)
{
    return ticks_read(r->kind, r->clock);
}

/* A number for a new request of this thread; 0: recording is off, so it shall leave no record. */
static inline uint64_t recorder_request(struct recorder *r)
{
    return r->after & (AFTER_MUTED | AFTER_HIDDEN) ? 0 : r->next_request++;
}

/* Store a head last, so that a record is there whole or not at all. */
static inline void recorder_publish(uint64_t *record, uint64_t head)
{
    __atomic_store_n(record, head, __ATOMIC_RELEASE);
}

/* Whether a record fits; may map the next window. */
static inline bool recorder_ready(struct recorder *r)
{
    return __builtin_expect(r->pos <= r->soft, 1) || ictusi_recorder_switch(r);
}

static inline void recorder_timed(struct recorder *r, enum record_kind kind, unsigned small,
                                  uint64_t ticks)
{
    if (__builtin_expect(r->flush_ticks != 0, 0)) {
        ictusi_recorder_flush(r);
    }
    uint64_t *p = r->pos;
    p[1] = ticks;
    recorder_publish(p, record_head(kind, 2, small, 0));
    r->open = NULL;
    r->pos = p + 2;
}

/* A payload record; the caller made sure that it fits. */
static inline void recorder_put1(struct recorder *r, enum record_kind kind, unsigned small,
                                 uint32_t value, uint64_t w1)
{
    uint64_t *p = r->pos;
    p[1] = w1;
    recorder_publish(p, record_head(kind, 2, small, value));
    r->pos = p + 2;
}

static inline void recorder_put2(struct recorder *r, enum record_kind kind, unsigned small,
                                 uint32_t value, uint64_t w1, uint64_t w2)
{
    uint64_t *p = r->pos;
    p[1] = w1;
    p[2] = w2;
    recorder_publish(p, record_head(kind, 3, small, value));
    r->pos = p + 3;
}

static inline void recorder_put3(struct recorder *r, enum record_kind kind, unsigned small,
                                 uint32_t value, uint64_t w1, uint64_t w2, uint64_t w3)
{
    uint64_t *p = r->pos;
    p[1] = w1;
    p[2] = w2;
    p[3] = w3;
    recorder_publish(p, record_head(kind, 4, small, value));
    r->pos = p + 4;
}

static inline void recorder_put4(struct recorder *r, enum record_kind kind, unsigned small,
                                 uint32_t value, uint64_t w1, uint64_t w2, uint64_t w3, uint64_t w4)
{
    uint64_t *p = r->pos;
    p[1] = w1;
    p[2] = w2;
    p[3] = w3;
    p[4] = w4;
    recorder_publish(p, record_head(kind, 5, small, value));
    r->pos = p + 5;
}

/* A region was entered. The caller made sure of room. */
static inline void recorder_enter(struct recorder *r, unsigned region)
{
    if (__builtin_expect(r->flush_ticks != 0, 0)) {
        ictusi_recorder_flush(r);
    }
    uint64_t *p = r->pos;
    p[1] = recorder_ticks(r);
    recorder_publish(p, record_head(RECORD_OPEN, 2, region, 0));
    r->open = p;
    r->pos = p + 2;
}

/* The region was left: close its record in place, or write that it was left. */
static inline void recorder_leave(struct recorder *r, unsigned region, uint64_t ticks)
{
    uint64_t *open = r->open;
    if (__builtin_expect(open != NULL, 1)) {
        const uint64_t lasted = ticks - open[1];
        if (__builtin_expect(record_small(*open) == region && lasted <= UINT32_MAX, 1)) {
            recorder_publish(open, record_head(RECORD_CALL, 2, region, (uint32_t)lasted));
            r->open = NULL;
            return;
        }
    }
    recorder_timed(r, RECORD_LEAVE, region, ticks);
}

#endif
