/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tracer records of parallel regions. An OpenMP library is made up, whose threads are run
 * one after another: what it reports of them, and when, is written down here, and so is what the
 * threads' records must say.
 */
#include "../check.h"

#include "tracer/ticks.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

static uint64_t present;

/* NOLINTBEGIN(bugprone-suspicious-include,readability-identifier-naming): its static functions are
 * what is looked at, with the time and the places of this test */
#define ticks_read(kind, clock) ((void)(kind), (void)(clock), present)
#include "tracer/tracer.h"
#define trace_place(place) ((uint64_t)(uintptr_t)(place))
#include "tracer/openmp.c"
/* NOLINTEND(bugprone-suspicious-include,readability-identifier-naming) */

enum { THREADS = 4, WORDS = 400 };

struct tracer ictusi_tracer;
__thread struct recorder *ictusi_tracer_self __attribute__((tls_model("initial-exec")));
__thread struct recorder *ictusi_tracer_active __attribute__((tls_model("initial-exec")));

static char logged[10][80];
static int log_count;

void ictusi_tracer_log(const char *format, ...)
{
    va_list list;
    REQUIRE(log_count < 10);
    va_start(list, format);
    (void)vsnprintf(logged[log_count++], sizeof(logged[0]), format, list);
    va_end(list);
}

static int unusual;

void ictusi_tracer_unusual(struct recorder *r, unsigned function)
{
    (void)r;
    unusual += function == FUNCTION_OMP_parallel;
}

struct recorder *ictusi_tracer_join(void)
{
    return NULL;
}

void ictusi_tracer_switched(struct recorder *r, bool muted)
{
    (void)r;
    (void)muted;
    CHECK_ABORT();
}

void ictusi_recorder_switch(struct recorder *r)
{
    (void)r;
    CHECK_ABORT();
}

void ictusi_recorder_flush(struct recorder *r)
{
    (void)r;
    CHECK_ABORT();
}

/* The threads of the library, each with a word of its own in its task. */
static struct recorder threads[THREADS];
static uint64_t windows[THREADS][WORDS];
static union ompt_word tasks[THREADS][2]; /* by depth of nesting */

/* What the library was told to call. */
static ompt_function callbacks[32];

static int model_set(int callback, ompt_function function)
{
    REQUIRE(callback > 0 && callback < 32);
    callbacks[callback] = function;
    return 1;
}

static ompt_function model_lookup(const char *name)
{
    return strcmp(name, "ompt_set_callback") == 0 ? (ompt_function)model_set : NULL;
}

static ompt_function model_lookup_nothing(const char *name)
{
    (void)name;
    return NULL;
}

typedef void (*begin_call)(union ompt_word *, const void *, union ompt_word *, unsigned, int,
                           const void *);
typedef void (*end_call)(union ompt_word *, union ompt_word *, int, const void *);
typedef void (*task_call)(int, union ompt_word *, union ompt_word *, unsigned, unsigned, int);
typedef void (*sync_call)(int, int, union ompt_word *, union ompt_word *, const void *);

enum { TEAM_FLAGS = (int)OMPT_PARALLEL_TEAM };

static void at(uint64_t ticks, int thread)
{
    present = ticks;
    ictusi_tracer_self = &threads[thread];
}

static void forks(uint64_t ticks, int thread, union ompt_word *region, unsigned requested,
                  uintptr_t site)
{
    at(ticks, thread);
    ((begin_call)callbacks[OMPT_PARALLEL_BEGIN])(NULL, NULL, region, requested, TEAM_FLAGS,
                                                 (const void *)site);
}

static void joins(uint64_t ticks, int thread, union ompt_word *region)
{
    at(ticks, thread);
    ((end_call)callbacks[OMPT_PARALLEL_END])(region, NULL, TEAM_FLAGS, NULL);
}

static void begins(uint64_t ticks, int thread, int depth, union ompt_word *region, unsigned size,
                   unsigned index)
{
    at(ticks, thread);
    ((task_call)callbacks[OMPT_IMPLICIT_TASK])(OMPT_SCOPE_BEGIN, region, &tasks[thread][depth],
                                               size, index, 0);
}

static void ends(uint64_t ticks, int thread, int depth)
{
    at(ticks, thread);
    ((task_call)callbacks[OMPT_IMPLICIT_TASK])(OMPT_SCOPE_END, NULL, &tasks[thread][depth], 0, 0,
                                               0);
}

/* The last barrier of a region ends without it: region is NULL. */
static void waits(uint64_t ticks, int thread, int depth, int kind, int scope,
                  union ompt_word *region, uintptr_t site)
{
    at(ticks, thread);
    ((sync_call)callbacks[OMPT_SYNC_REGION])(kind, scope, region, &tasks[thread][depth],
                                             (const void *)site);
}

static void run_begins(void)
{
    struct tracer *t = &ictusi_tracer;
    memset(t, 0, sizeof(*t));
    memset(threads, 0, sizeof(threads));
    memset(windows, 0, sizeof(windows));
    memset(tasks, 0, sizeof(tasks));
    atomic_store(&t->state, TRACER_RUNNING);
    for (int f = 0; f < TRACE_FUNCTIONS; f++) {
        atomic_store(&t->enabled[f], FILTER_ON);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct recorder){
            .pos = windows[i], .soft = windows[i] + WORDS - 20, .window = windows[i], .thread = i};
        t->recorders[i] = &threads[i];
    }
    t->recorder_count = THREADS;
    log_count = unusual = 0;
    CHECK(openmp_begin(model_lookup, 0, NULL) == 1);
}

static void run_ends(void)
{
    for (int i = 0; i < THREADS; i++) {
        ictusi_openmp_forget(&threads[i]);
        CHECK(threads[i].teams == NULL);
    }
}

static const char *record_name(uint64_t head)
{
    static const struct {
        unsigned kind, region;
        const char *name;
    } names[] = {{RECORD_FORK, 0, "fork"},
                 {RECORD_JOIN, 0, "join"},
                 {RECORD_TEAM_BEGIN, 0, "begin"},
                 {RECORD_TEAM_END, 0, "end"},
                 {0, FUNCTION_OMP_parallel, "region"},
                 {0, FUNCTION_OMP_barrier, "barrier"},
                 {0, FUNCTION_OMP_implicit_barrier, "implicit"}};
    size_t i = 0;
    while (names[i].kind ? names[i].kind != record_kind(head) || record_small(head) != 0
                         : names[i].region != record_small(head)) {
        i++;
        REQUIRE(i < sizeof(names) / sizeof(names[0]));
    }
    return names[i].name;
}

/* The records of a thread as text: kind and ticks, of calls from which to which. */
static void thread_said(int thread, const char *wanted)
{
    char text[800] = "";
    int used = 0;
    for (const uint64_t *p = windows[thread]; p < threads[thread].pos; p += record_words(*p)) {
        char *end = text + used;
        const size_t room = sizeof(text) - (size_t)used;
        const char *comma = used ? ", " : "", *name = record_name(*p);
        const int ticks = (int)p[1], until = (int)(p[1] + record_value(*p)), word = (int)p[2];
        switch (record_kind(*p)) {
        case RECORD_OPEN:
            used += snprintf(end, room, "%s%s[%d (%d)", comma, name, ticks, word);
            break;
        case RECORD_LEAVE:
            used += snprintf(end, room, "%s%s]%d", comma, name, ticks);
            break;
        case RECORD_CALL:
            used += snprintf(end, room, "%s%s %d-%d (%d)", comma, name, ticks, until, word);
            break;
        case RECORD_FORK:
            used += snprintf(end, room, "%s%s %d (%d)", comma, name, ticks, word);
            break;
        case RECORD_JOIN:
            used += snprintf(end, room, "%s%s %d", comma, name, ticks);
            break;
        default:
            used += snprintf(end, room, "%s%s %d (%d of %d, %d)", comma, name, ticks,
                             (int)(p[2] >> 32), (int)(uint32_t)p[2], (int)p[3]);
        }
    }
    CHECK_STR(text, wanted);
}

/* A region of two threads with a barrier, from this instant on, which takes 100. The second thread
 * hears of its end only when it is needed again. */
static void region_of_two(uint64_t from, int second)
{
    union ompt_word region = {0};
    forks(from + 10, 0, &region, 3, 500);
    begins(from + 11, 0, 0, &region, 2, 0);
    begins(from + 12, second, 0, &region, 2, 1);
    waits(from + 20, 0, 0, OMPT_BARRIER_EXPLICIT, OMPT_SCOPE_BEGIN, &region, 501);
    waits(from + 21, second, 0, OMPT_BARRIER_EXPLICIT, OMPT_SCOPE_BEGIN, &region, 0);
    waits(from + 25, 0, 0, OMPT_BARRIER_EXPLICIT, OMPT_SCOPE_END, &region, 0);
    waits(from + 26, second, 0, OMPT_BARRIER_EXPLICIT, OMPT_SCOPE_END, &region, 0);
    waits(from + 30, 0, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_BEGIN, &region, 0);
    waits(from + 31, second, 0, OMPT_BARRIER_IMPLICIT, OMPT_SCOPE_BEGIN, &region, 0);
    waits(from + 35, 0, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_END, NULL, 0);
    ends(from + 36, 0, 0);
    joins(from + 40, 0, &region);
    CHECK(region.ptr == NULL);
    waits(from + 50, second, 0, OMPT_BARRIER_IMPLICIT, OMPT_SCOPE_END, NULL, 0);
    ends(from + 51, second, 0);
    CHECK(tasks[0][0].ptr == NULL && tasks[second][0].ptr == NULL);
    CHECK(threads[0].member == NULL && threads[second].member == NULL);
}

static void regions_are_told(void)
{
    run_begins();
    region_of_two(0, 1);
    thread_said(0, "fork 10 (3), begin 11 (0 of 2, 1), region[11 (500), barrier 20-25 (501), "
                   "implicit 30-35 (500), region]35, end 35 (0 of 2, 1), join 40");
    thread_said(1, "begin 12 (0 of 2, 1), region[12 (500), barrier 21-26 (500), "
                   "implicit 31-35 (500), region]35, end 35 (0 of 2, 1)");
    CHECK(log_count == 1 && unusual == 0);
    CHECK_STR(logged[0], "J\t0\t2\t1\t0,1");
    region_of_two(100, 1); /* of the same threads: nothing new */
    CHECK(log_count == 1);
    region_of_two(200, 3);
    CHECK(log_count == 2);
    CHECK_STR(logged[1], "J\t1\t2\t3\t0,3");
    thread_said(3, "begin 212 (0 of 2, 3), region[212 (500), barrier 221-226 (500), "
                   "implicit 231-235 (500), region]235, end 235 (0 of 2, 3)");
    run_ends();
}

/* A thread without a file is unknown to readers, and so are the members of its team. */
static void unknown_members_are_told(void)
{
    run_begins();
    threads[1].window = NULL;
    region_of_two(0, 1);
    CHECK(log_count == 1);
    CHECK_STR(logged[0], "J\t0\t2\t1\t-");
    run_ends();
}

/* A single thread forks nobody and waits for nobody; regions of leagues are no teams. */
static void single_threads_are_no_team(void)
{
    union ompt_word region = {0};
    run_begins();
    forks(10, 0, &region, 1, 500);
    begins(11, 0, 0, &region, 1, 0);
    waits(12, 0, 0, OMPT_BARRIER, OMPT_SCOPE_BEGIN, &region, 0);
    waits(13, 0, 0, OMPT_BARRIER, OMPT_SCOPE_END, &region, 0);
    ends(20, 0, 0);
    joins(21, 0, &region);
    thread_said(0, "region 11-20 (500)");
    at(30, 0);
    ((begin_call)callbacks[OMPT_PARALLEL_BEGIN])(NULL, NULL, &region, 2, 0, NULL);
    CHECK(region.ptr == NULL);
    begins(31, 0, 0, &region, 2, 0);
    CHECK(tasks[0][0].ptr == NULL);
    waits(32, 0, 0, OMPT_BARRIER, OMPT_SCOPE_BEGIN, &region, 0);
    ends(33, 0, 0);
    joins(34, 0, &region);
    ((task_call)callbacks[OMPT_IMPLICIT_TASK])(OMPT_SCOPE_BEGIN, &region, &tasks[0][0], 1, 1,
                                               OMPT_TASK_INITIAL);
    thread_said(0, "region 11-20 (500)");
    CHECK(log_count == 0);
    run_ends();
}

/* A region within a region is one of the inner thread's own. */
static void nested_regions_are_apart(void)
{
    union ompt_word outer = {0}, inner = {0};
    run_begins();
    forks(10, 0, &outer, 2, 500);
    begins(11, 0, 0, &outer, 2, 0);
    begins(12, 1, 0, &outer, 2, 1);
    forks(20, 1, &inner, 2, 600);
    begins(21, 1, 1, &inner, 2, 0);
    begins(22, 2, 1, &inner, 2, 1);
    waits(30, 2, 1, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_BEGIN, &inner, 0);
    waits(31, 1, 1, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_BEGIN, &inner, 0);
    waits(32, 1, 1, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_END, NULL, 0);
    ends(33, 1, 1);
    joins(34, 1, &inner);
    CHECK(threads[1].member == tasks[1][0].ptr);
    ends(40, 1, 0); /* without a barrier: it read its clock before the first one ended */
    ends(41, 0, 0);
    joins(42, 0, &outer);
    waits(50, 2, 1, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_END, NULL, 0);
    ends(51, 2, 1);
    thread_said(0, "fork 10 (2), begin 11 (0 of 2, 1), region 11-41 (500), end 41 (0 of 2, 1), "
                   "join 42");
    thread_said(1, "begin 12 (0 of 2, 1), region[12 (500), fork 20 (2), begin 21 (1 of 2, 1), "
                   "region[21 (600), implicit 31-32 (600), region]32, end 32 (1 of 2, 1), join 34, "
                   "region]40, end 40 (0 of 2, 1)");
    thread_said(2, "begin 22 (1 of 2, 1), region[22 (600), implicit 30-32 (600), region]32, "
                   "end 32 (1 of 2, 1)");
    CHECK(log_count == 2);
    CHECK_STR(logged[0], "J\t0\t100000002\t1\t1,2");
    CHECK_STR(logged[1], "J\t1\t2\t1\t0,1");
    run_ends();
}

/* Threads that sleep in the last barrier when recording ends left it with the first member. Where
 * that one has not left either, the region goes on. */
static void sleepers_are_closed(void)
{
    for (int left = 0; left < 2; left++) {
        union ompt_word region = {0};
        run_begins();
        forks(10, 0, &region, 2, 500);
        begins(11, 0, 0, &region, 2, 0);
        begins(12, 1, 0, &region, 2, 1);
        waits(30, 0, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_BEGIN, &region, 0);
        waits(31, 1, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_BEGIN, &region, 0);
        if (left) {
            waits(35, 0, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_END, NULL, 0);
            ends(36, 0, 0);
            joins(40, 0, &region);
        }
        present = 90;
        ictusi_openmp_finish();
        thread_said(1, left ? "begin 12 (0 of 2, 1), region[12 (500), implicit 31-35 (500), "
                              "region]35, end 35 (0 of 2, 1)"
                            : "begin 12 (0 of 2, 1), region[12 (500), implicit[31 (500)");
        waits(91, 1, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_END, NULL, 0);
        ends(92, 1, 0);
        if (left) { /* its end is told once */
            thread_said(1, "begin 12 (0 of 2, 1), region[12 (500), implicit 31-35 (500), "
                           "region]35, end 35 (0 of 2, 1)");
        } else {
            waits(93, 0, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_END, NULL, 0);
            ends(94, 0, 0);
            joins(95, 0, &region);
        }
        run_ends();
    }
}

/* Who is switched off leaves what it has entered, from the inside out, but not what it waits in. */
static void muted_threads_leave(void)
{
    union ompt_word outer = {0}, inner = {0};
    run_begins();
    forks(10, 0, &outer, 1, 500);
    begins(11, 0, 0, &outer, 1, 0);
    forks(20, 0, &inner, 2, 600);
    begins(21, 0, 1, &inner, 2, 0);
    begins(22, 1, 1, &inner, 2, 1);
    waits(25, 1, 1, OMPT_BARRIER, OMPT_SCOPE_BEGIN, &inner, 0);
    at(30, 0);
    ictusi_openmp_muted(&threads[0]);
    thread_said(0, "region[11 (500), fork 20 (2), begin 21 (0 of 2, 2), region 21-30 (600), "
                   "end 30 (0 of 2, 2), region]30");
    at(31, 1);
    ictusi_openmp_muted(&threads[1]);
    thread_said(1, "begin 22 (0 of 2, 2), region[22 (600), barrier[25 (600)");
    threads[0].after = AFTER_MUTED;
    waits(40, 1, 1, OMPT_BARRIER, OMPT_SCOPE_END, &inner, 0);
    ends(50, 0, 1);
    joins(51, 0, &inner);
    ends(52, 0, 0);
    joins(53, 0, &outer);
    ends(60, 1, 1); /* as all know when the first one left */
    thread_said(0, "region[11 (500), fork 20 (2), begin 21 (0 of 2, 2), region 21-30 (600), "
                   "end 30 (0 of 2, 2), region]30");
    run_ends();
}

/* A filter that leaves regions out, and a team that is larger than was asked for.
 */
static void some_are_left_out(void)
{
    union ompt_word region = {0};
    run_begins();
    atomic_store(&ictusi_tracer.enabled[FUNCTION_OMP_parallel], FILTER_OFF);
    forks(10, 0, &region, 2, 500);
    CHECK(region.ptr == NULL && threads[0].pos == windows[0]);
    atomic_store(&ictusi_tracer.enabled[FUNCTION_OMP_parallel], FILTER_FRESH);
    forks(20, 0, &region, 2, 500);
    CHECK(region.ptr != NULL && unusual == 1);
    begins(21, 0, 0, &region, 3, 0);
    begins(22, 1, 0, &region, 3, 1);
    begins(23, 2, 0, &region, 3, 2); /* for which there is no room */
    CHECK(tasks[2][0].ptr == NULL && threads[2].pos == windows[2]);
    ends(30, 1, 0);
    ends(31, 0, 0);
    joins(32, 0, &region);
    CHECK(log_count == 1);
    CHECK_STR(logged[0], "J\t0\t3\t1\t-");
    run_ends();
}

/* When recording is over, regions go on, and nothing more is said of them. */
static void nothing_is_said_at_the_end(void)
{
    union ompt_word region = {0}, other = {0};
    run_begins();
    forks(10, 0, &region, 2, 500);
    begins(11, 0, 0, &region, 2, 0);
    begins(12, 1, 0, &region, 2, 1);
    atomic_store(&ictusi_tracer.state, TRACER_DONE);
    waits(30, 1, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_BEGIN, &region, 0);
    waits(35, 0, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_END, NULL, 0);
    ends(36, 0, 0);
    joins(37, 0, &region);
    waits(40, 1, 0, OMPT_BARRIER_PARALLEL, OMPT_SCOPE_END, NULL, 0);
    ends(41, 1, 0);
    thread_said(0, "fork 10 (2), begin 11 (0 of 2, 1), region[11 (500)");
    thread_said(1, "begin 12 (0 of 2, 1), region[12 (500)");
    forks(50, 0, &other, 2, 500);
    CHECK(other.ptr == NULL);
    run_ends();
}

/* The library is told that nobody listens where a tool of the program's, statistics or nothing is
 * wanted, or where it has no callbacks. */
static void tools_are_chosen(void)
{
    static const struct {
        const char *output, *statistics, *libraries;
        bool wanted;
    } cases[] = {{NULL, NULL, NULL, false}, {"", NULL, NULL, false},
                 {"t", NULL, NULL, true},   {"t", "0", "", true},
                 {"t", "1", NULL, false},   {"t", NULL, "other.so", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const names[] = {"ICTUS_TRACE_OUTPUT", "ICTUS_TRACE_STATISTICS",
                                     "OMP_TOOL_LIBRARIES"};
        const char *const values[] = {cases[i].output, cases[i].statistics, cases[i].libraries};
        for (int k = 0; k < 3; k++) {
            CHECK((values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k])) == 0);
        }
        const struct ompt_tool *tool = ompt_start_tool(5, "made up");
        CHECK((tool != NULL) == cases[i].wanted);
        CHECK(!tool || (tool->initialize == openmp_begin && tool->finalize));
    }
    CHECK(openmp_begin(model_lookup_nothing, 0, NULL) == 0);
}

int main(void)
{
    regions_are_told();
    unknown_members_are_told();
    single_threads_are_no_team();
    nested_regions_are_apart();
    sleepers_are_closed();
    muted_threads_leave();
    some_are_left_out();
    nothing_is_said_at_the_end();
    tools_are_chosen();
    return check_result();
}
