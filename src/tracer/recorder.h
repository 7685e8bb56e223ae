/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread's event buffer: a window of a file of its own, mapped and touched beforehand, with
 * a single writer and no locks. When a window is nearly full the next one is mapped after it;
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

struct counted;
struct metric_events;
struct openmp_known;
struct openmp_member;
struct trace_comm;
struct trace_request;

/*
 * What is due after each call. While one of the others than the first holds, calls are followed as
 * before (communicators, requests and collective synchronisations must go on alike on all
 * processes) but their records go to a scratch area.
 */
enum recorder_after {
    AFTER_SAMPLE = 1, /* metrics are sampled */
    AFTER_MUTED = 2,  /* recording is switched off */
    AFTER_HIDDEN = 4, /* this call alone: its function was filtered out */
    AFTER_FULL = 8,   /* no window could be had; calls are counted as lost */
    AFTER_TALLY = 16, /* statistics are kept instead of records, always */
    AFTER_DIVERTED = AFTER_MUTED | AFTER_HIDDEN | AFTER_FULL | AFTER_TALLY
};

/* Room for the records of a diverted call, or their last ones. */
enum { SCRATCH_WORDS = 256 };

/* The number of all recorders that cannot have one of their own: see TRACER_THREADS_MAX. */
enum { RECORDER_BARE = 1 << 23 };

struct recorder_setup;

struct recorder {
    uint64_t *pos;     /* where the next record goes */
    uint64_t *soft;    /* beyond this the window is to be switched; some records before its end */
    uint64_t *open;    /* the last timed record, if it is an open call */
    uint64_t *call;    /* the last call's */
    uint64_t prepared; /* its head, while it is not entered; else 0 */
    /* Of statistics: the collectives of places, and the one that this call is, or NULL. */
    struct counted *counted, *counting;
    const _Atomic uint8_t *enabled; /* by function: whether calls are looked at */
    const struct ictus_clock *clock;
    enum tick_kind kind;
    uint8_t after;                  /* enum recorder_after */
    bool muted;                     /* the process's switch, as this thread has noticed it */
    uint64_t *kept_pos, *kept_soft; /* of the window, while records are diverted */
    uint64_t next_request;
    /* The communicator seen last. */
    MPI_Comm comm;
    uint64_t comm_epoch;
    struct trace_comm *comm_info;
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
    const struct recorder_setup *setup;
    int fd; /* -1: there is none, or it is opened when it grows */
    uint32_t thread;
    struct recorder *next_bare;   /* of the tracer's list of those without a file */
    struct metric_events *events; /* of perf, or NULL */
    /* Of OpenMP: in which team the thread is, and what it forked before. */
    struct openmp_member *member;
    struct openmp_known *teams;
    uint64_t regions;
    uint64_t scratch[SCRATCH_WORDS];
};

/* What all recorders of a process have in common. */
struct recorder_setup {
    char directory[3072];
    uint32_t rank;
    uint64_t table_hash;
    uint64_t limit_bytes;
    const struct ictus_clock *clock;
    enum tick_kind kind;
    bool tally; /* no files of events: statistics */
};

/*
 * Make a thread's file and first window. Where they cannot be had the recorder has no room from the
 * start (AFTER_FULL): the thread's calls are followed and counted as lost. setup must outlive it.
 * @return NULL without memory; errno says why there is no file
 */
struct recorder *ictusi_recorder_create(const struct recorder_setup *setup, uint32_t thread,
                                        size_t window_bytes);

/* One that never has a file, for more threads than have numbers. @return NULL without memory */
struct recorder *ictusi_recorder_create_bare(const struct recorder_setup *setup);

/* Send records to the scratch area from here on, for a reason that did not hold before. */
void ictusi_recorder_divert(struct recorder *recorder, enum recorder_after reason);

/* The reason holds no longer; if none does, go on in the window. */
void ictusi_recorder_resume(struct recorder *recorder, enum recorder_after reason);

/*
 * Let go of the window's memory: the file has what is in it. Whoever writes there all the same, a
 * thread after MPI_Finalize, gets it back.
 */
void ictusi_recorder_rest(struct recorder *recorder);

/* Unmap the window; the file stays. NULL is legal. */
void ictusi_recorder_free(struct recorder *recorder);

/* Begin the scratch area again: nobody reads what was there. */
static inline void recorder_scratch(struct recorder *r)
{
    r->pos = r->scratch;
    r->soft = r->scratch + SCRATCH_WORDS - (size_t)2 * RECORD_WORDS_MAX;
    r->open = NULL;
}

/* Map the next window; without one, go on in the scratch area. */
void ictusi_recorder_switch(struct recorder *recorder);

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
    return r->after & AFTER_DIVERTED ? 0 : r->next_request++;
}

/* The first of so many successive ones. */
static inline uint64_t recorder_requests(struct recorder *r, uint64_t count)
{
    const uint64_t first = recorder_request(r);
    r->next_request += first ? count - 1 : 0;
    return first;
}

/* Store a head last, so that a record is there whole or not at all. */
static inline void recorder_publish(uint64_t *record, uint64_t head)
{
    __atomic_store_n(record, head, __ATOMIC_RELEASE);
}

/* Make room for records of RECORD_WORDS_MAX words; may map the next window. */
static inline void recorder_make_room(struct recorder *r)
{
    if (__builtin_expect(r->pos > r->soft, 0)) {
        ictusi_recorder_switch(r);
    }
}

/* A timed record with further words. The caller made room for it. */
static inline void recorder_timed_words(struct recorder *r, enum record_kind kind, unsigned small,
                                        uint64_t ticks, const uint64_t *words, unsigned count)
{
    if (__builtin_expect(r->flush_ticks != 0, 0)) {
        ictusi_recorder_flush(r);
    }
    uint64_t *p = r->pos;
    p[1] = ticks;
    for (unsigned i = 0; i < count; i++) {
        p[2 + i] = words[i];
    }
    recorder_publish(p, record_head(kind, 2 + count, small, 0));
    r->open = NULL;
    r->pos = p + 2 + count;
}

static inline void recorder_timed(struct recorder *r, enum record_kind kind, unsigned small,
                                  uint64_t ticks)
{
    recorder_timed_words(r, kind, small, ticks, NULL, 0);
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

/* A region was entered. The caller made room. */
static inline void recorder_enter(struct recorder *r, unsigned region)
{
    recorder_timed(r, RECORD_OPEN, region, recorder_ticks(r));
    r->open = r->pos - 2;
}

/*
 * Likewise a call, from a place in the program that ictusi_site numbered. What is noted between the
 * two halves belongs to it, but takes time outside of it: MPI is called directly after the second.
 */
static inline void recorder_prepare_call(struct recorder *r, unsigned function, uint64_t site)
{
    if (__builtin_expect(r->flush_ticks != 0, 0)) {
        ictusi_recorder_flush(r);
    }
    r->prepared = record_head(RECORD_OPEN, 3, function, 0);
    r->open = r->pos;
    r->call = r->pos;
    r->pos[2] = site;
    r->pos += 3;
}

/* The second half, unless the record had to be whole before. */
static inline void recorder_enter_call(struct recorder *r)
{
    uint64_t *const call = r->call;
    if (__builtin_expect(r->prepared != 0, 1)) {
        call[1] = recorder_ticks(r);
        recorder_publish(call, r->prepared);
        r->prepared = 0;
    }
}

/* The region was left: close its record in place, or write that it was left. */
static inline void recorder_leave(struct recorder *r, unsigned region, uint64_t ticks)
{
    uint64_t *open = r->open;
    if (__builtin_expect(open != NULL, 1)) {
        const uint64_t head = *open;
        const uint64_t lasted = ticks - open[1];
        if (__builtin_expect(record_small(head) == region && lasted <= UINT32_MAX, 1)) {
            recorder_publish(
                open, record_head(RECORD_CALL, record_words(head), region, (uint32_t)lasted));
            r->open = NULL;
            return;
        }
    }
    recorder_timed(r, RECORD_LEAVE, region, ticks);
}

/* The call at this record, if it was closed in place, was refused: nothing of it took place. */
static inline void recorder_refuse(uint64_t *call)
{
    if (call && record_kind(*call) == RECORD_CALL) {
        recorder_publish(call, (*call & ~UINT64_C(0xff)) | RECORD_REFUSED);
    }
}

#endif
