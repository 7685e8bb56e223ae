/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tracer of a process. It is the only global object in this library, because PMPI gives a tool
 * no handle to attach its state to. Everything else takes it or a recorder as an argument.
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
    bool speaks;     /* prints messages for all processes: rank 0, unless another one is the last */
    MPI_Comm comm;   /* of all processes, for the tracer's own messages */
    MPI_Group world; /* of MPI_COMM_WORLD, or of its equivalent in a program with sessions */
#ifdef MPI_SESSION_NULL
    MPI_Session session; /* the session of that group: see sessions.c */
#endif
    _Atomic bool claimed;   /* tracing has begun or is beginning, or could not begin */
    bool in_sessions;       /* tracing began without MPI_Init */
    uint32_t sessions_open; /* of the program; its MPI_Init counts as one */
    bool multiple;          /* MPI_THREAD_MULTIPLE was provided */
    bool spawned;           /* by MPI_Comm_spawn: the archive gets a directory of its own */
    int log_fd;             /* defines what the records refer to, one line each */
    /*
     * By function: whether its calls are tracked; the second table applies while recording is off.
     */
    _Atomic uint8_t enabled[TRACE_FUNCTIONS];
    _Atomic uint8_t tracked[TRACE_FUNCTIONS];
    struct table comms, requests, windows, files, counters;
    _Atomic uint64_t comm_epoch, type_epoch;
    _Atomic uint32_t next_comm, next_window, next_file, next_name, next_region, next_metric,
        next_team;
    struct sites sites;
    struct tally tally;         /* with --statistics */
    _Atomic uint64_t untracked; /* requests for which the table had no room */
    _Atomic bool muted;         /* recording is switched off */
    _Atomic bool spawns_told;   /* the user was told that spawned processes cannot be traced */
    /* Threads: all recorders ever made, and those of ended threads, which can be reused. */
    pthread_mutex_t lock;
    pthread_key_t key;
    struct recorder *recorders[TRACER_THREADS_MAX];
    uint32_t recorder_count;
    struct recorder *spare[TRACER_THREADS_MAX];
    uint32_t spare_count;
    struct recorder *bare; /* the recorders without a file, of running threads */
    uint64_t lost;         /* calls of ended threads that had no file */
    uint64_t windows_left; /* bytes left for the windows of later threads */
    /* The log: lines from before there was a file, or for which the disk had no room. */
    pthread_mutex_t log_lock;
    char *kept_log;
    size_t kept_bytes;
    uint64_t log_bytes, log_reserved; /* of its file */
    bool forked;                      /* this is a child of the traced process */
    bool ended;                       /* the recording is complete */
    struct metric_set metrics;
    struct ompt_tool openmp; /* what is passed to the OpenMP library */
    uint64_t sample_ticks;   /* between samples of a thread */
    /* When to synchronise again: see sweeps.c. */
    bool sweeps;
    uint64_t world_calls, world_barriers, next_check, last_question_call;
    int64_t last_sync_ns, last_question_ns;
    uint64_t syncs;
};

extern struct tracer ictusi_tracer;

/*
 * The calling thread's recorder, and the same pointer again while calls are to be recorded. The
 * latter is NULL within a call, so that calls that MPI makes itself are not mistaken for the
 * program's.
 */
extern __thread struct recorder *ictusi_tracer_self __attribute__((tls_model("initial-exec")));
extern __thread struct recorder *ictusi_tracer_active __attribute__((tls_model("initial-exec")));

/* The slow path of trace_begin(): register a new thread. @return its recorder or NULL */
struct recorder *ictusi_tracer_join(void);

/*
 * A thread ends, and its recorder becomes available for another one. The destructor of the tracer's
 * key.
 */
void ictusi_tracer_thread_ended(void *recorder);

/* The number of calls of all threads so far that were lost. */
uint64_t ictusi_tracer_count_lost(struct tracer *t);

/* A call of a function that is hidden, or the first call of a function. */
void ictusi_tracer_unusual(struct recorder *r, unsigned function);

/* What is due after a call: reset the scratch area, sample metrics. */
void ictusi_tracer_after(struct recorder *r);

/* The process's switch differs from what this thread last saw: apply it from here on. */
void ictusi_tracer_switched(struct recorder *r, bool muted);

/* Switch recording on or off: in this thread now, in the others at their next call. */
void ictusi_tracer_mute(bool muted);

/* Write one line to the log that the records refer to. */
void ictusi_tracer_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a message on standard error, if this process speaks for the job. */
void ictusi_tracer_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number of a place in the program given by SITE_FROM(). */
static inline uint64_t trace_site(const void *from)
{
    return sites_number(&ictusi_tracer.sites, site_address(from), from);
}

/* The number of a place in the program given by somebody else, such as OMPT. */
static inline uint64_t trace_place(const void *place)
{
    return sites_number(&ictusi_tracer.sites, (uint64_t)(uintptr_t)place, NULL);
}

/* Only its own thread may change a recorder, so each thread checks the switch. */
static inline void trace_notice_switch(struct recorder *r)
{
    const bool muted = atomic_load_explicit(&ictusi_tracer.muted, memory_order_relaxed);
    if (__builtin_expect(muted != r->muted, 0)) {
        ictusi_tracer_switched(r, muted);
    }
}

/* The calling thread's recorder if it records now, with room for more; else NULL. */
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
 * A call begins at a place in the program (SITE_FROM()), but is entered only at
 * recorder_enter_call(). NULL: the call is not tracked. All processes must decide this alike,
 * because what follows from a call may be collective.
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

/* Whether an error code means that MPI rejected the arguments, so that the call did nothing. */
bool ictusi_tracer_refused(int err);

/* Whether a call that has returned took place, possibly with an error. */
static inline bool trace_took_place(int err)
{
    return __builtin_expect(err == MPI_SUCCESS, 1) || !ictusi_tracer_refused(err);
}

/* MPI has returned. What is recorded from here on happened when the call was left. */
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
