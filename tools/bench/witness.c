/* SPDX-License-Identifier: BSD-3-Clause */
/* Records the call stacks of a thread that waits inside MPI. */
#include "bench/witness.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unwind.h>

enum { STACKS_MAX = 512, DEPTH_MAX = 64, PERIOD_NS = 250 * 1000 };

/* The signal is ignored unless a watch is on, so that a late one does no harm. */
enum { WITNESS_SIGNAL = SIGURG };

struct stack {
    int depth;
    const void *places[DEPTH_MAX]; /* innermost first */
};

struct witness_record {
    pthread_t watched;
    pthread_t watcher;
    atomic_bool over;
    struct sigaction before;
    int count;
    struct stack stacks[STACKS_MAX];
};

/* One frame of a walk; those of the handler itself come before the interrupted function. */
struct walk {
    struct stack *stack;
    bool interrupted;
};

static _Unwind_Reason_Code witness_note_frame(struct _Unwind_Context *context, void *given)
{
    struct walk *walk = given;
    int before = 0;
    const uintptr_t place = _Unwind_GetIPInfo(context, &before);
    walk->interrupted = walk->interrupted || before;
    if (walk->interrupted && walk->stack->depth < DEPTH_MAX) {
        /* A return address may lie after the function's end: step back into the call. */
        walk->stack->places[walk->stack->depth++] = (const void *)(before ? place : place - 1);
    }
    return _URC_NO_REASON;
}

/* Unwinding takes no memory and no locks once libgcc is loaded, which witness_create() sees to. */
static void witness_note_stack(int number, siginfo_t *info, void *context)
{
    struct witness_record *record = info->si_code == SI_QUEUE ? info->si_value.sival_ptr : NULL;
    (void)number;
    (void)context;
    if (record && record->count < STACKS_MAX) {
        struct walk walk = {.stack = &record->stacks[record->count]};
        walk.stack->depth = 0;
        (void)_Unwind_Backtrace(witness_note_frame, &walk);
        record->count++;
    }
}

static void *interrupt_watched(void *given)
{
    struct witness_record *record = given;
    const struct timespec period = {0, PERIOD_NS};
    const union sigval value = {.sival_ptr = record};
    while (!atomic_load(&record->over)) {
        (void)pthread_sigqueue(record->watched, WITNESS_SIGNAL, value);
        (void)nanosleep(&period, NULL);
    }
    return NULL;
}

static int witness_watch(void *state)
{
    struct witness_record *record = state;
    struct sigaction handling;
    sigset_t all;
    sigset_t kept;
    if (!record) {
        return ICTUS_ERR_NOMEM;
    }
    memset(&handling, 0, sizeof(handling));
    handling.sa_sigaction = witness_note_stack;
    handling.sa_flags = SA_SIGINFO | SA_RESTART;
    record->count = 0;
    record->watched = pthread_self();
    atomic_store(&record->over, false);
    if (sigaction(WITNESS_SIGNAL, &handling, &record->before) != 0) {
        return ICTUS_ERR_UNSUPPORTED;
    }
    /* Signals meant for the program must not be delivered to the watching thread. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &kept);
    const int failed = pthread_create(&record->watcher, NULL, interrupt_watched, record);
    (void)pthread_sigmask(SIG_SETMASK, &kept, NULL);
    if (failed) {
        (void)sigaction(WITNESS_SIGNAL, &record->before, NULL);
        return ICTUS_ERR_UNSUPPORTED;
    }
    return ICTUS_OK;
}

static void witness_rest(void *state)
{
    struct witness_record *record = state;
    atomic_store(&record->over, true);
    (void)pthread_join(record->watcher, NULL);
    (void)sigaction(WITNESS_SIGNAL, &record->before, NULL);
}

static size_t witness_read_stack(void *state, size_t i, const void **functions, size_t room)
{
    const struct witness_record *record = state;
    if (!record || i >= (size_t)record->count) {
        return 0;
    }
    const struct stack *stack = &record->stacks[i];
    size_t count = 0;
    for (int k = stack->depth - 1; k >= 0 && count < room; k--) {
        /* the function that resolves addresses steps back by one itself */
        functions[count++] =
            _Unwind_FindEnclosingFunction((void *)((uintptr_t)stack->places[k] + 1));
    }
    return count;
}

struct ictus_witness witness_create(void)
{
    struct witness_record *record = calloc(1, sizeof(*record));
    if (record) {
        struct walk walk = {.stack = &record->stacks[0]};
        (void)_Unwind_Backtrace(witness_note_frame, &walk);
    }
    return (struct ictus_witness){record, witness_watch, witness_rest, witness_read_stack};
}

void witness_free(struct ictus_witness *witness)
{
    free(witness->state);
    witness->state = NULL;
}
