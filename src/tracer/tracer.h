/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tracer of a process: the one thing in the house that is global, because PMPI gives a tool no
 * handle to hang its state off. Everything else takes it or a recorder as an argument.
 */
#ifndef ICTUS_TRACER_TRACER_H
#define ICTUS_TRACER_TRACER_H

#include "tracer/filter.h"
#include "tracer/functions.h"
#include "tracer/metrics.h"
#include "tracer/ompt_abi.h"
#include "tracer/recorder.h"
#include "tracer/settings.h"
#include "tracer/sites.h"
#include "tracer/table.h"
#include "tracer/tally.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum tracer_state {
    TRACER_IDLE,    /* before MPI_Init, or switched off for good */
    TRACER_RUNNING, /* threads may join */
    TRACER_DONE     /* MPI_Finalize was called */
};

enum { TRACER_THREADS_MAX = 4096 };

struct tracer {
    _Atomic int state;
    struct trace_settings settings;
    struct recorder_setup setup;
    struct ictus_clock *clock;
    struct tick_scale scale;
    int rank, size;
    bool speaks;     /* for all processes: rank 0, unless another one is the last */
    MPI_Comm comm;   /* of all processes, for the tracer's own messages */
    MPI_Group world; /* of MPI_COMM_WORLD, or of its like in a program of sessions */
#ifdef MPI_SESSION_NULL
    MPI_Session session; /* which that group is from: see sessions.c */
#endif
    _Atomic bool claimed;   /* tracing begins or has begun, or could not */
    bool in_sessions;       /* it began without MPI_Init */
    uint32_t sessions_open; /* of the program; its MPI_Init counts as one */
    bool multiple;          /* MPI_THREAD_MULTIPLE was given */
    bool spawned;           /* by MPI_Comm_spawn: the archive gets a directory of its own */
    int log_fd;             /* what the records refer to, one line each */
    /* By function: whether calls are looked at; the second table while recording is off. */
    _Atomic uint8_t enabled[TRACE_FUNCTIONS];
    _Atomic uint8_t tracked[TRACE_FUNCTIONS];
    struct table comms, requests, windows, files, counters;
    _Atomic uint64_t comm_epoch, type_epoch;
    _Atomic uint32_t next_comm, next_window, next_file, next_name, next_region, next_metric,
        next_team;
    struct sites sites;
    struct tally tally;         /* with --statistics */
    _Atomic uint64_t untracked; /* requests that found the table full */
    _Atomic bool muted;         /* recording is switched off */
    _Atomic bool spawns_told;   /* that spawned processes cannot be traced */
    /* Threads: recorders ever made, and those whose threads have ended and that can be reused. */
    pthread_mutex_t lock;
    pthread_key_t key;
    struct recorder *recorders[TRACER_THREADS_MAX];
    uint32_t recorder_count;
    struct recorder *spare[TRACER_THREADS_MAX];
    uint32_t spare_count;
    struct recorder *bare; /* the recorders without a file, of living threads */
    uint64_t lost;         /* calls of threads that had no file and have ended */
    uint64_t windows_left; /* bytes for windows of threads to come */
    /* The log: lines from before there was a file, or for which its disk had no room. */
    pthread_mutex_t log_lock;
    char *kept_log;
    size_t kept_bytes;
    uint64_t log_bytes, log_reserved; /* of its file */
    bool forked;                      /* this is a child of the traced process */
    bool ended;                       /* the recording is whole */
    struct metric_set metrics;
    struct ompt_tool openmp; /* what OpenMP's library is told of us */
    uint64_t sample_ticks;   /* between samples of a thread */
    /* When to synchronise again; see sweeps.c. */
    bool sweeps;
    uint64_t world_calls, world_barriers, next_check, last_question_call;
    int64_t last_sync_ns, last_question_ns;
    uint64_t syncs;
};

extern struct tracer ictusi_tracer;

/*
 * Of the calling thread: its recorder, and the same pointer again while calls are to be recorded
 * (NULL inside of a call, so that what MPI calls itself is not taken for the program's).
 */
extern __thread struct recorder *ictusi_tracer_self __attribute__((tls_model("initial-exec")));
extern __thread struct recorder *ictusi_tracer_active __attribute__((tls_model("initial-exec")));

/* The slow path of trace_begin(): let a new thread join. @return its recorder or NULL */
struct recorder *ictusi_tracer_join(void);

/* A thread ends: its recorder waits for another one. The destructor of the tracer's key. */
void ictusi_tracer_thread_ended(void *recorder);

/* The calls so far that found no room, of all threads. */
uint64_t ictusi_tracer_count_lost(struct tracer *t);

/* A call of a function that is hidden or whose first call this is. */
void ictusi_tracer_unusual(struct recorder *r, unsigned function);

/* What is due after a call: begin the scratch area again, sample metrics. */
void ictusi_tracer_after(struct recorder *r);

/* The process's switch is not what this thread last saw: from here on it is. */
void ictusi_tracer_switched(struct recorder *r, bool muted);

/* Switch recording on or off: in this thread now, in the others at their next call. */
void ictusi_tracer_mute(bool muted);

/* Write one line to the log that the records refer to. */
void ictusi_tracer_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Say something on standard error, if this process speaks for the job. */
void ictusi_tracer_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number of a place in the program, which SITE_FROM() told. */
static inline uint64_t trace_site(const void *from)
{
    return sites_number(&ictusi_tracer.sites, site_address(from), from);
}

/* The number of a place in the program that somebody else names, as OMPT does. */
static inline uint64_t trace_place(const void *place)
{
    return sites_number(&ictusi_tracer.sites, (uint64_t)(uintptr_t)place, NULL);
}

/* Only its own thread may change a recorder: so each looks at the switch. */
static inline void trace_notice_switch(struct recorder *r)
{
    const bool muted = atomic_load_explicit(&ictusi_tracer.muted, memory_order_relaxed);
    if (__builtin_expect(muted != r->muted, 0)) {
        ictusi_tracer_switched(r, muted);
    }
}

/* The calling thread's recorder if it records now, with room for more; NULL otherwise. */
static inline struct recorder *trace_recorder(void)
{
    struct recorder *r = ictusi_tracer_self;
    if (__builtin_expect(r == NULL, 0)) {
        r = ictusi_tracer_join();
        if (!r) {
            return NULL;
        }
    }
    trace_notice_switch(r);
    if (__builtin_expect(r->after & AFTER_DIVERTED, 0)) {
        r->lost += (r->after & AFTER_DIVERTED) == AFTER_FULL;
        return NULL;
    }
    recorder_make_room(r);
    return r;
}

/*
 * A call from a place in the program (SITE_FROM()) begins, but is not entered before
 * recorder_enter_call(); NULL: it is not to be looked at. That must be decided alike on all
 * processes: what follows from a call may be collective.
 */
static inline struct recorder *trace_begin(unsigned function, const void *from)
{
    struct recorder *r = ictusi_tracer_active;
    if (__builtin_expect(r == NULL, 0)) {
        r = ictusi_tracer_join();
        if (!r) {
            return NULL;
        }
    }
    trace_notice_switch(r);
    const uint8_t wanted = atomic_load_explicit(&r->enabled[function], memory_order_relaxed);
    if (__builtin_expect(wanted != FILTER_ON, 0)) {
        if (wanted == FILTER_OFF) {
            return NULL;
        }
        ictusi_tracer_unusual(r, function);
    }
    ictusi_tracer_active = NULL;
    recorder_make_room(r);
    recorder_prepare_call(r, function, trace_site(from));
    return r;
}

/* Whether an error code says that MPI did not like the arguments, and so did nothing at all. */
bool ictusi_tracer_refused(int err);

/* Whether a call that has returned took place, perhaps with a fault. */
static inline bool trace_took_place(int err)
{
    return __builtin_expect(err == MPI_SUCCESS, 1) || !ictusi_tracer_refused(err);
}

/* MPI has returned; what is noted from here on happened when the call was left. */
static inline void trace_left(struct recorder *r, unsigned function, int err)
{
    uint64_t *const call = r->open;
    recorder_leave(r, function, recorder_ticks(r));
    if (__builtin_expect(err != MPI_SUCCESS, 0) && ictusi_tracer_refused(err)) {
        recorder_refuse(call);
    }
}

static inline void trace_end(struct recorder *r)
{
    if (__builtin_expect(r->after == AFTER_TALLY, 0)) {
        recorder_scratch(r);
    } else if (__builtin_expect(r->after, 0)) {
        ictusi_tracer_after(r);
    }
    ictusi_tracer_active = r;
}

#endif
