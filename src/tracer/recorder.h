/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread's event buffer: a window of its own file, mapped and touched in advance, with a single
 * writer and no locks. When a window is nearly full, the next one is mapped after it, and the time
 * this takes becomes a flush record. What is in a window already belongs to the file, so a killed
 * process loses nothing that it has written.
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
 * What is due after each call. While any reason other than the first applies, calls are tracked as
 * usual, because communicators, requests and collective synchronisations must continue alike on all
 * processes. But their records go to a scratch area.
 */
enum recorder_after {
    AFTER_SAMPLE = 1, /* metrics are sampled */
    AFTER_MUTED = 2,  /* recording is switched off */
    AFTER_HIDDEN = 4, /* only this call: its function is filtered out */
    AFTER_FULL = 8,   /* no window was available; calls are counted as lost */
    AFTER_TALLY = 16, /* statistics instead of records, throughout */
    AFTER_DIVERTED = AFTER_MUTED | AFTER_HIDDEN | AFTER_FULL | AFTER_TALLY
};

/* Room for the records of a diverted call. */
enum { SCRATCH_WORDS = 256 };

/* The number shared by all recorders beyond TRACER_THREADS_MAX. */
enum { RECORDER_BARE = 1 << 23 };

struct recorder_setup;

struct recorder {
    uint64_t *pos;     /* where the next record goes */
    uint64_t *soft;    /* beyond this the window must be switched; a few records before its end */
    uint64_t *open;    /* the last timed record if it is an open call, else NULL */
    uint64_t *call;    /* the record of the last call */
    uint64_t prepared; /* the head of that record until the call is entered, else 0 */
    /* For statistics: known calls by place, and the entry of the present call, or NULL. */
    struct counted *counted, *counting;
    const _Atomic uint8_t *enabled; /* by function: whether its calls are tracked */
    const struct ictus_clock *clock;
    enum tick_kind kind;
    uint8_t after;                  /* enum recorder_after */
    bool muted;                     /* this thread's view of the process's switch */
    uint64_t *kept_pos, *kept_soft; /* in the window, while records are diverted */
    uint64_t next_request;
    /* The last communicator that was looked up. */
    MPI_Comm comm;
    uint64_t comm_epoch;
    struct trace_comm *comm_info;
    /* The last datatype that was looked up. */
    MPI_Datatype type;
    uint64_t type_epoch;
    int64_t type_bytes;
    /* The last datatype whose number was looked up, and the number (core/operands.h). */
    MPI_Datatype numbered;
    uint64_t numbered_epoch;
    uint8_t number;
    /* A flush to be recorded before the next timed record. */
    uint64_t flush_from, flush_ticks;
    uint64_t last_sample; /* ticks of the last metric sample */
    uint64_t lost;        /* calls and events for which there was no room */
    /* Work space for calls that complete many requests. */
    MPI_Request *handles;
    MPI_Status *statuses;
    struct trace_request *held;
    int room;
    /* The present window and its file. */
    uint64_t *window;
    size_t window_bytes;
    uint64_t file_bytes, limit_bytes;
    const struct recorder_setup *setup;
    int fd; /* -1: there is none, or it is opened when it grows */
    uint32_t thread;
    struct recorder *next_bare;   /* of the tracer's list of those without a file */
    struct metric_events *events; /* of perf, or NULL */
    /* OpenMP: the team that the thread is in, and the teams that it forked. */
    struct openmp_member *member;
    struct openmp_known *teams;
    uint64_t regions;
    uint64_t scratch[SCRATCH_WORDS];
};

/* The settings that all recorders of a process share. */
struct recorder_setup {
    char directory[3072];
    uint32_t rank;
    uint64_t table_hash;
    uint64_t limit_bytes;
    const struct ictus_clock *clock;
    enum tick_kind kind;
    bool tally; /* statistics: no event files */
};

/*
 * Create a thread's file and map its first window. If that is impossible, the recorder has no room
 * from the start (AFTER_FULL): the thread's calls are tracked and counted as lost. setup must
 * outlive it. @return NULL without memory; errno tells why there is no file
 */
struct recorder *ictusi_recorder_create(const struct recorder_setup *setup, uint32_t thread,
                                        size_t window_bytes);

/*
 * Create a recorder that never has a file, for threads beyond the limit. @return NULL without
 * memory
 */
struct recorder *ictusi_recorder_create_bare(const struct recorder_setup *setup);

/* Divert records to the scratch area, for a reason that did not apply before. */
void ictusi_recorder_divert(struct recorder *recorder, enum recorder_after reason);

/* The reason no longer applies. If no other does, continue in the window. */
void ictusi_recorder_resume(struct recorder *recorder, enum recorder_after reason);

/*
 * Release the memory of the window; the file has its contents. A thread that still writes to it,
 * after MPI_Finalize, gets it back.
 */
void ictusi_recorder_rest(struct recorder *recorder);

/* Unmap the window; the file remains. NULL is allowed. */
void ictusi_recorder_free(struct recorder *recorder);

/* Start again at the beginning of the scratch area, whose contents nobody reads. */
static inline void recorder_scratch(struct recorder *r)
{
    r->pos = r->scratch;
    r->soft = r->scratch + SCRATCH_WORDS - (size_t)2 * RECORD_WORDS_MAX;
    r->open = NULL;
}

/* Map the next window; if that fails, continue in the scratch area. */
void ictusi_recorder_switch(struct recorder *recorder);

/* Make room for count requests in handles and statuses. @return false: no memory */
bool ictusi_recorder_room(struct recorder *recorder, int count);

/* Free that room; called by the recorder's own thread. */
void ictusi_recorder_leave_room(struct recorder *recorder);

/* Write a pending flush record. */
void ictusi_recorder_flush(struct recorder *recorder);

static inline uint64_t recorder_ticks(const struct recorder *r)
{
    return ticks_read(r->kind, r->clock);
}

/* The number of a new request of this thread; 0: recording is off, so it is not recorded. */
static inline uint64_t recorder_request(struct recorder *r)
{
    return r->after & AFTER_DIVERTED ? 0 : r->next_request++;
}

/* The first of count consecutive request numbers. */
static inline uint64_t recorder_requests(struct recorder *r, uint64_t count)
{
    const uint64_t first = recorder_request(r);
    r->next_request += first ? count - 1 : 0;
    return first;
}

/* Store the head last, so that a record is either complete or not there. */
static inline void recorder_publish(uint64_t *record, uint64_t head)
{
    __atomic_store_n(record, head, __ATOMIC_RELEASE);
}

/* Make room for records of RECORD_WORDS_MAX words; this may map the next window. */
static inline void recorder_make_room(struct recorder *r)
{
    if (__builtin_expect(r->pos > r->soft, 0)) {
        ictusi_recorder_switch(r);
    }
}

/* Write a timed record with further words. The caller has made room for it. */
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

/* Write a payload record. The caller has made sure that it fits. */
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

/* A region was entered. The caller has made room. */
static inline void recorder_enter(struct recorder *r, unsigned region)
{
    recorder_timed(r, RECORD_OPEN, region, recorder_ticks(r));
    r->open = r->pos - 2;
}

/*
 * Prepare the record of a call, from a place in the program with a number from sites_number(). What
 * is recorded between the two halves belongs to the call, but its time does not count: MPI is
 * called directly after the second half.
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

/* The second half, unless the record already had to be completed. */
static inline void recorder_enter_call(struct recorder *r)
{
    uint64_t *const call = r->call;
    if (__builtin_expect(r->prepared != 0, 1)) {
        call[1] = recorder_ticks(r);
        recorder_publish(call, r->prepared);
        r->prepared = 0;
    }
}

/* A region was left: close its record in place, or write a separate record. */
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

/* Mark the call at this record as refused if it was closed in place: none of it took place. */
static inline void recorder_refuse(uint64_t *call)
{
    if (call && record_kind(*call) == RECORD_CALL) {
        recorder_publish(call, (*call & ~UINT64_C(0xff)) | RECORD_REFUSED);
    }
}

#endif
