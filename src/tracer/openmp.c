/* SPDX-License-Identifier: BSD-3-Clause */
/* Records what the OpenMP library reports through OMPT. */
#include "tracer/openmp.h"

#include "tracer/ompt_abi.h"
#include "tracer/tracer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of a member whose recorder has no file. */
#define NO_THREAD UINT32_MAX

/*
 * A thread in a team. For the team's first member, the region ends when it leaves its last barrier.
 */
struct openmp_member {
    struct openmp_team *team;
    struct openmp_member *outer; /* enclosing region of the same thread */
    uint32_t size;               /* of the team */
    unsigned waiting;            /* the barrier that it is in, as recorded; 0: none */
    bool open;                   /* its beginning is recorded, its end is not yet */
    _Atomic bool closed;
};

struct openmp_team {
    uint32_t forked_by; /* number of a recorder */
    uint32_t size;
    uint32_t room, requested;
    uint64_t number, forked, site;
    bool fork_recorded;
    _Atomic uint64_t ended; /* ticks; 0: not yet */
    _Atomic uint32_t users;
    struct openmp_member *members;
    uint32_t threads[]; /* numbers of recorders */
};

/* The members of the last team of some size that a thread has forked. */
struct openmp_known {
    struct openmp_known *next;
    uint32_t size;
    uint32_t threads[];
};

/* This thread's recorder, if events are recorded now and there is room; else NULL. */
static struct recorder *openmp_recorder(void)
{
    return atomic_load_explicit(&ictusi_tracer.state, memory_order_acquire) == TRACER_RUNNING
               ? trace_recorder()
               : NULL;
}

/*
 * The recorder for the end of something. No window is mapped for it, since that time would be
 * attributed after an end that may be long past. There is room, because it was made at the
 * beginning.
 */
static struct recorder *openmp_ending(void)
{
    struct recorder *r = ictusi_tracer_self;
    if (!r || atomic_load_explicit(&ictusi_tracer.state, memory_order_acquire) != TRACER_RUNNING) {
        return NULL;
    }
    trace_notice_switch(r);
    return r->after & AFTER_DIVERTED ? NULL : r;
}

/*
 * Like openmp_recorder(), but NULL if the function, which stands for a kind of event, is filtered
 * out.
 */
static struct recorder *openmp_wanted(unsigned function)
{
    struct recorder *r = openmp_recorder();
    const uint8_t wanted = r ? atomic_load(&ictusi_tracer.enabled[function]) : FILTER_OFF;
    if (wanted == FILTER_FRESH) {
        ictusi_tracer_unusual(r, function);
    }
    return wanted == FILTER_OFF ? NULL : r;
}

/*
 * Record an enter. r->open is the position of the record (3 words back), where the leave can be
 * written if no other record follows.
 */
static void openmp_enter(struct recorder *r, unsigned function, uint64_t site)
{
    recorder_timed_words(r, RECORD_OPEN, function, recorder_ticks(r), &site, 1);
    r->open = r->pos - 3;
}

/*
 * A thread begins or ends in a team of several threads. The pair (forking thread, its number of
 * regions) identifies a team without communication. The size is the member's own view, because the
 * first member may not have set the team's size yet.
 */
static void openmp_place(struct recorder *r, enum record_kind kind,
                         const struct openmp_member *member, uint64_t ticks)
{
    const struct openmp_team *team = member->team;
    const uint64_t words[] = {(uint64_t)team->forked_by << 32 | member->size, team->number};
    if (member->size > 1) {
        recorder_timed_words(r, kind, 0, ticks, words, 2);
    }
}

/*
 * Everything is allocated when the region is forked, so members allocate nothing. users starts at
 * 1, for the forking thread.
 */
static struct openmp_team *openmp_team_make(struct recorder *r, uint32_t requested)
{
    const uint32_t room = requested < TRACER_THREADS_MAX ? requested : TRACER_THREADS_MAX;
    struct openmp_team *team = calloc(1, sizeof(*team) + room * sizeof(team->threads[0]));
    struct openmp_member *members = calloc((size_t)room + 1, sizeof(*members));
    if (!team || !members) {
        free(team);
        free(members);
        return NULL;
    }
    team->members = members;
    team->room = room;
    team->requested = requested;
    team->forked_by = r->thread;
    team->number = ++r->regions;
    atomic_store(&team->users, 1);
    return team;
}

/*
 * Members may be notified of the end of a region after the forking thread, so whoever comes last
 * frees the team.
 */
static void openmp_team_release(struct openmp_team *team)
{
    if (atomic_fetch_sub(&team->users, 1) == 1) {
        free(team->members);
        free(team);
    }
}

/* The parameters are in OMPT's order. frame belongs to the forking thread. */
static void openmp_parallel_begin(union ompt_word *task, const void *frame,
                                  union ompt_word *parallel, unsigned requested, int flags,
                                  const void *from)
{
    struct recorder *r = openmp_wanted(FUNCTION_OMP_parallel);
    (void)task;
    (void)frame;
    if (!r || !((unsigned)flags & OMPT_PARALLEL_TEAM)) {
        return;
    }
    struct openmp_team *team = openmp_team_make(r, requested);
    if (team) {
        team->site = trace_place(from);
        team->forked = recorder_ticks(r);
        parallel->ptr = team;
    }
}

/*
 * Log the members of teams of this size from this region on. DIGITS: a comma, the number of a
 * recorder and the end of the text.
 */
static void openmp_log_team(const struct openmp_team *team)
{
    enum { DIGITS = 8 };
    char *text = malloc((size_t)team->size * DIGITS + 2);
    size_t used = 0;
    if (!text) {
        return;
    }
    for (uint32_t i = 0; i < team->size; i++) {
        if (i >= team->room || team->threads[i] == NO_THREAD) {
            (void)snprintf(text, 2, "-"); /* a member is unknown */
            break;
        }
        used += (size_t)snprintf(text + used, DIGITS, "%s%u", i ? "," : "", team->threads[i]);
    }
    ictusi_tracer_log("J\t%u\t%llx\t%llu\t%s", atomic_fetch_add(&ictusi_tracer.next_team, 1),
                      (unsigned long long)team->forked_by << 32 | team->size,
                      (unsigned long long)team->number, text);
    free(text);
}

/*
 * All members have taken part: log them if they differ from those of the last team of this size.
 * Teams of one size mostly have the same members in each region, so a line is written only when
 * they change. Called by the forking thread after the last barrier, when all members have written
 * their numbers.
 */
static void openmp_learn_team(struct recorder *r, const struct openmp_team *team)
{
    const uint32_t size = team->size < team->room ? team->size : team->room;
    struct openmp_known *known = r->teams;
    while (known && known->size != team->size) {
        known = known->next;
    }
    if (known && memcmp(known->threads, team->threads, size * sizeof(team->threads[0])) == 0) {
        return;
    }
    if (!known) {
        known = calloc(1, sizeof(*known) + size * sizeof(known->threads[0]));
        if (!known) {
            return;
        }
        known->size = team->size;
        known->next = r->teams;
        r->teams = known;
    }
    memcpy(known->threads, team->threads, size * sizeof(team->threads[0]));
    openmp_log_team(team);
}

/*
 * The members wrote threads[] before the region's last barrier, which this thread has left. The
 * barrier of the OpenMP library orders those writes before the reads here.
 */
static void openmp_parallel_end(union ompt_word *parallel, union ompt_word *task, int flags,
                                const void *from)
{
    struct openmp_team *team = parallel->ptr;
    struct recorder *r = team ? openmp_ending() : NULL;
    (void)task;
    (void)flags;
    (void)from;
    if (!team) {
        return;
    }
    if (team->size > 1 && ictusi_tracer_self) {
        openmp_learn_team(ictusi_tracer_self, team);
    }
    if (r && team->fork_recorded) {
        recorder_timed(r, RECORD_JOIN, 0, recorder_ticks(r));
    }
    parallel->ptr = NULL;
    openmp_team_release(team);
}

/*
 * Record the leave of what a member has entered. This happens once, in its own thread or in the one
 * that ends all. An open barrier lies within the region, so it ends first, at the same instant.
 */
static void openmp_close(struct recorder *r, struct openmp_member *member, uint64_t ticks)
{
    if (member->waiting) {
        recorder_leave(r, member->waiting, ticks);
        member->waiting = 0;
    }
    recorder_leave(r, FUNCTION_OMP_parallel, ticks);
    openmp_place(r, RECORD_TEAM_END, member, ticks);
    member->open = false;
}

static bool openmp_is_first(const struct openmp_member *member)
{
    return member == member->team->members;
}

/*
 * When a member left its team. Threads other than the first may be notified of the end of the last
 * barrier only when they are needed again, but for them it also ended when the first one left it. A
 * thread that finds no such instant reads its clock before the first one ends the region. The ticks
 * of all threads of a process are of the same clock, so the first thread's instant can be used for
 * another. It must not be later than the thread's own present time, because its records must
 * ascend.
 */
static uint64_t openmp_end(struct recorder *r, const struct openmp_member *member)
{
    const uint64_t now = recorder_ticks(r);
    const uint64_t ended = atomic_load(&member->team->ended);
    return ended && ended < now ? ended : now;
}

/*
 * The index determines a member's place, not the thread. The fork is recorded by the first member,
 * with the instant of the fork (team->forked), because only here is the number of members known.
 */
static void openmp_member_begin(struct openmp_team *team, union ompt_word *task, unsigned size,
                                unsigned index)
{
    struct recorder *r = openmp_recorder();
    struct recorder *self = ictusi_tracer_self;
    struct openmp_member *member = &team->members[index];
    atomic_fetch_add(&team->users, 1);
    *member =
        (struct openmp_member){.team = team, .outer = self ? self->member : NULL, .size = size};
    team->threads[index] = self && self->window ? self->thread : NO_THREAD;
    task->ptr = member;
    if (self) {
        __atomic_store_n(&self->member, member, __ATOMIC_RELEASE);
    }
    if (index == 0) {
        team->size = size;
    }
    if (!r) {
        return;
    }
    if (index == 0 && size > 1) {
        const uint64_t requested = team->requested;
        recorder_timed_words(r, RECORD_FORK, 0, team->forked, &requested, 1);
        team->fork_recorded = true;
    }
    openmp_place(r, RECORD_TEAM_BEGIN, member, recorder_ticks(r));
    openmp_enter(r, FUNCTION_OMP_parallel, team->site);
    member->open = true;
}

/*
 * closed is exchanged, because the thread that ends all (ictusi_openmp_finish) may come at the same
 * time. Only one of them records the end.
 */
static void openmp_member_end(struct openmp_member *member)
{
    struct openmp_team *team = member->team;
    struct recorder *r = openmp_ending();
    struct recorder *self = ictusi_tracer_self;
    if (openmp_is_first(member) && self && atomic_load(&team->ended) == 0) {
        atomic_store(&team->ended, recorder_ticks(self));
    }
    if (!atomic_exchange(&member->closed, true) && r && member->open) {
        openmp_close(r, member, openmp_end(r, member));
    }
    if (self) {
        __atomic_store_n(&self->member, member->outer, __ATOMIC_RELEASE);
    }
    openmp_team_release(team);
}

static void openmp_implicit_task(int scope, union ompt_word *parallel, union ompt_word *task,
                                 unsigned size, unsigned index, int flags)
{
    if (flags & OMPT_TASK_INITIAL) {
        return;
    }
    if (scope == OMPT_SCOPE_BEGIN) {
        struct openmp_team *team = parallel ? parallel->ptr : NULL;
        task->ptr = NULL;
        if (team && index < team->room) {
            openmp_member_begin(team, task, size, index);
        }
    } else if (task->ptr) {
        openmp_member_end(task->ptr);
        task->ptr = NULL;
    }
}

/* The function that stands for a kind of barrier; 0: the kind is not recorded. */
static unsigned openmp_barrier(int kind)
{
    switch (kind) {
    case OMPT_BARRIER:
    case OMPT_BARRIER_EXPLICIT:
        return FUNCTION_OMP_barrier;
    case OMPT_BARRIER_IMPLICIT:
    case OMPT_BARRIER_IMPLEMENTATION:
    case OMPT_BARRIER_WORKSHARE:
    case OMPT_BARRIER_PARALLEL:
        return FUNCTION_OMP_implicit_barrier;
    default:
        return 0;
    }
}

static void openmp_barrier_begin(struct openmp_member *member, unsigned function, const void *from)
{
    /* A single thread waits for nobody. */
    struct recorder *r = member->open && member->size > 1 ? openmp_wanted(function) : NULL;
    if (r) {
        openmp_enter(r, function, from ? trace_place(from) : member->team->site);
        member->waiting = function;
    }
}

/*
 * The last barrier of a region ends without the region: parallel is NULL. The first member's
 * instant is stored even if that member records nothing, because others, which may sleep until the
 * next region, use it as their own.
 */
static void openmp_barrier_end(struct openmp_member *member, bool last)
{
    struct recorder *r = openmp_ending();
    uint64_t ticks = ictusi_tracer_self ? recorder_ticks(ictusi_tracer_self) : 0;
    if (last && openmp_is_first(member)) {
        atomic_store(&member->team->ended, ticks);
    } else if (last && r) {
        ticks = openmp_end(r, member);
    }
    if (r && member->waiting && !atomic_load(&member->closed)) {
        recorder_leave(r, member->waiting, ticks);
        member->waiting = 0;
    }
}

/*
 * The region's own last barrier has the kind PARALLEL (IMPLICIT in older libraries), and its end
 * comes without a region.
 */
static void openmp_sync_region(int kind, int scope, union ompt_word *parallel,
                               union ompt_word *task, const void *from)
{
    struct openmp_member *member = task ? task->ptr : NULL;
    const unsigned function = openmp_barrier(kind);
    if (!member || !function) {
        return;
    }
    if (scope == OMPT_SCOPE_BEGIN) {
        openmp_barrier_begin(member, function, from);
    } else if (scope == OMPT_SCOPE_END) {
        openmp_barrier_end(member, !parallel);
    }
}

/*
 * Close regions from the innermost outwards. One that waits in a barrier of a region that has not
 * ended stays open, because it continues.
 */
void ictusi_openmp_muted(struct recorder *r)
{
    struct openmp_member *m = r->member;
    while (m && m->open && (!m->waiting || atomic_load(&m->team->ended))) {
        openmp_close(r, m, openmp_end(r, m));
        m = m->outer;
    }
}

/*
 * Threads that sleep in the last barrier of their last region are never notified of its end. The
 * finalizing thread closes them here, at the instant when the first member left.
 */
void ictusi_openmp_finish(void)
{
    struct tracer *t = &ictusi_tracer;
    for (uint32_t i = 0; i < t->recorder_count; i++) {
        struct recorder *r = t->recorders[i];
        struct openmp_member *m = __atomic_load_n(&r->member, __ATOMIC_ACQUIRE);
        if (m && !(r->after & AFTER_DIVERTED) && atomic_load(&m->team->ended) &&
            !atomic_exchange(&m->closed, true) && m->open) {
            openmp_close(r, m, openmp_end(r, m));
        }
    }
}

void ictusi_openmp_forget(struct recorder *r)
{
    while (r->teams) {
        struct openmp_known *next = r->teams->next;
        free(r->teams);
        r->teams = next;
    }
}

static int openmp_begin(ompt_lookup lookup, int device, union ompt_word *tool)
{
    static const struct {
        int callback;
        ompt_function function;
    } callbacks[] = {{OMPT_PARALLEL_BEGIN, (ompt_function)openmp_parallel_begin},
                     {OMPT_PARALLEL_END, (ompt_function)openmp_parallel_end},
                     {OMPT_IMPLICIT_TASK, (ompt_function)openmp_implicit_task},
                     {OMPT_SYNC_REGION, (ompt_function)openmp_sync_region}};
    const ompt_set set = (ompt_set)lookup("ompt_set_callback");
    (void)device;
    (void)tool;
    for (size_t i = 0; set && i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
        (void)set(callbacks[i].callback, callbacks[i].function);
    }
    return set != NULL; /* 0: the library need not call the tool any more */
}

static void openmp_end_of_tool(union ompt_word *tool)
{
    (void)tool;
}

/* Whether the program has a tool of its own: one that it names, or ThreadSanitizer's. */
static bool openmp_is_taken(void)
{
    const char *libraries = getenv("OMP_TOOL_LIBRARIES");
    return (libraries && libraries[0]) || dlsym(RTLD_DEFAULT, "__tsan_init");
}

/* Another tool that is loaded after this one takes precedence, because it was chosen for OpenMP. */
struct ompt_tool *ompt_start_tool(unsigned version, const char *runtime)
{
    struct tracer *t = &ictusi_tracer;
    struct ompt_tool *(*next)(unsigned, const char *) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "ompt_start_tool");
    const char *output = getenv("ICTUS_TRACE_OUTPUT");
    const char *statistics = getenv("ICTUS_TRACE_STATISTICS");
    memcpy(&next, &symbol, sizeof(next));
    struct ompt_tool *theirs = next ? next(version, runtime) : NULL;
    if (theirs || !output || !output[0] || (statistics && statistics[0] == '1') ||
        openmp_is_taken()) {
        return theirs;
    }
    t->openmp = (struct ompt_tool){.initialize = openmp_begin, .finalize = openmp_end_of_tool};
    return &t->openmp;
}
