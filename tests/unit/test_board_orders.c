/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The notice board under every interleaving of three processes, and under many interleavings of
 * six, which form a tree with two levels. The board's own code runs. Each process is a fibre that
 * is switched at each of its atomic operations.
 *
 * The words of the board are plain memory. That they may be read and written where they are follows
 * from what the flags make known, by the clocks of a race detector (Lamport 1978, Mattern 1989).
 * Memory without races shows no other orders than these interleavings (C11, 5.1.2.4).
 */
#include "../check.h"

#include "core/random.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

static long long model_load(const atomic_llong *place, memory_order order);
static void model_store(atomic_llong *place, long long value, memory_order order);
static void model_write(int64_t *words, const int64_t *from);
static void *copy_or_write(void *to, const void *from, size_t bytes);

#undef atomic_load_explicit
#undef atomic_store_explicit
/* NOLINTBEGIN(readability-identifier-naming): the libraries' names */
#define atomic_load_explicit(place, order) model_load(place, order)
#define atomic_store_explicit(place, value, order) model_store(place, value, order)
#define memcpy(to, from, bytes) copy_or_write(to, from, bytes)
/* NOLINTEND(readability-identifier-naming) */

/* NOLINTBEGIN(bugprone-suspicious-include): its static functions are what is looked at */
#include "harmonize/board.c"
/* NOLINTEND(bugprone-suspicious-include) */
#undef memcpy

enum { RANKS = 6, NOTICES = 2 * RANKS, CALLS = 3, STACK = 1 << 16, CHOICES = 4096 };

/* What a process knows of the others: the last step of each that happened before it. */
struct known {
    uint32_t steps[RANKS];
};

struct process {
    ucontext_t context;
    struct board board;
    struct known known;
    const atomic_llong *awaits; /* it continues once its current call is shown there */
    int reads;                  /* index of the notice whose words it is reading, or -1 */
    bool done;
};

/*
 * For a notice: who wrote its words last, when each process read them, and what its flag makes
 * known.
 */
struct history {
    int writer;
    uint32_t written, read[RANKS];
    struct known given;
};

enum weakness { WHOLE, NO_RELEASE, NO_ACQUIRE, NO_ANSWERS };

static struct {
    struct process processes[RANKS];
    struct cell cells[RANKS];
    struct history histories[NOTICES];
    ucontext_t outside;
    int size, calls, current;
    enum weakness weakness;
    long races, wrong;
    int choice[CHOICES], choices[CHOICES]; /* the choice taken, and the number of choices */
    int depth, chosen;
    struct rng *random; /* for random choices; NULL: all choices are tried */
} model;

static char stacks[RANKS][STACK];

/* 2 * rank for a notice that goes up, one more for one that goes down; -1: not a notice. */
static int notice_of(const void *address)
{
    const uintptr_t at = (uintptr_t)address - (uintptr_t)model.cells;
    return at < sizeof(model.cells) ? (int)(at / sizeof(struct notice)) : -1;
}

static bool process_ready(const struct process *p)
{
    return !p->done && (!p->awaits || *(const volatile long long *)p->awaits == p->board.call);
}

static int model_choose(int count)
{
    if (count == 1 || model.random) {
        return count == 1 ? 0 : (int)ictusi_random_below(model.random, (uint64_t)count);
    }
    REQUIRE(model.depth < CHOICES);
    if (model.depth == model.chosen) {
        model.choice[model.chosen] = 0;
        model.choices[model.chosen++] = count;
    }
    return model.choice[model.depth++];
}

/* Who is next; -1: no process can continue. */
static int model_next_process(void)
{
    int ready[RANKS];
    int count = 0;
    for (int i = 0; i < model.size; i++) {
        if (process_ready(&model.processes[i])) {
            ready[count++] = i;
        }
    }
    return count ? ready[model_choose(count)] : -1;
}

/* Another process may run before the next step of this one. */
static void model_switch(void)
{
    const int from = model.current;
    const int to = model_next_process();
    if (to == from) {
        return;
    }
    model.current = to;
    (void)swapcontext(from < 0 ? &model.outside : &model.processes[from].context,
                      to < 0 ? &model.outside : &model.processes[to].context);
}

/* The words that this process has read since its last step. */
static void note_read(struct process *p)
{
    if (p->reads >= 0) {
        struct history *h = &model.histories[p->reads];
        model.races += h->written > p->known.steps[h->writer];
        h->read[model.current] = p->known.steps[model.current];
        p->reads = -1;
    }
}

/* A load that does not find the expected value has no effect: the process waits until it does. */
static long long model_load(const atomic_llong *place, memory_order order)
{
    struct process *p = &model.processes[model.current];
    note_read(p);
    p->awaits = place;
    model_switch();
    p->awaits = NULL;
    const int notice = notice_of(place);
    const long long value = *(const volatile long long *)place;
    if (order == memory_order_acquire && model.weakness != NO_ACQUIRE) {
        for (int i = 0; i < model.size; i++) {
            const uint32_t given = model.histories[notice].given.steps[i];
            p->known.steps[i] = given > p->known.steps[i] ? given : p->known.steps[i];
        }
    }
    p->reads = notice;
    return value;
}

static void model_store(atomic_llong *place, long long value, memory_order order)
{
    struct process *p = &model.processes[model.current];
    note_read(p);
    model_switch();
    struct history *h = &model.histories[notice_of(place)];
    if (order == memory_order_release && model.weakness != NO_RELEASE) {
        h->given = p->known;
    }
    p->known.steps[model.current]++;
    *(volatile long long *)place = value;
}

/* No process may still be reading the old words, or have written them without this one knowing. */
static void model_write(int64_t *words, const int64_t *from)
{
    const int notice = notice_of(words);
    struct process *p = &model.processes[model.current];
    struct history *h = &model.histories[notice];
    note_read(p);
    for (int i = 0; i < model.size; i++) {
        model.races += i != model.current && h->read[i] > p->known.steps[i];
        model.races += model.processes[i].reads == notice;
    }
    h->writer = model.current;
    h->written = p->known.steps[model.current];
    for (int i = 0; i < BOARD_WORDS; i++) {
        words[i] = from[i];
    }
}

static void *copy_or_write(void *to, const void *from, size_t bytes)
{
    if (notice_of(to) < 0) {
        return memmove(to, from, bytes);
    }
    CHECK(bytes == BOARD_WORDS * sizeof(int64_t));
    model_write(to, from);
    return to;
}

/* Each call has words of its own; each process has the largest one in turn. */
static void process_call(struct process *p, int call)
{
    int64_t mine[BOARD_WORDS];
    int64_t all[BOARD_WORDS] = {0};
    for (int i = 0; i < BOARD_WORDS; i++) {
        mine[i] = 100 * call + (model.current + call + i) % model.size;
    }
    CHECK(!ictusi_board_max(&p->board, mine, all));
    for (int i = 0; i < BOARD_WORDS; i++) {
        model.wrong += model.current == 0 && all[i] != 100 * call + model.size - 1;
        all[i] = model.current == 0 ? 1000 * call + i : -1;
    }
    if (model.weakness == NO_ANSWERS) {
        return; /* the board is misused: no process knows that its line was read */
    }
    CHECK(!ictusi_board_tell(&p->board, all));
    for (int i = 0; i < BOARD_WORDS; i++) {
        model.wrong += all[i] != 1000 * call + i;
    }
}

static void process_main(void)
{
    struct process *p = &model.processes[model.current];
    for (int call = 1; call <= model.calls; call++) {
        process_call(p, call);
    }
    note_read(p);
    p->done = true;
    model_switch();
}

static void model_run(void)
{
    memset(model.cells, 0, sizeof(model.cells));
    memset(model.histories, 0, sizeof(model.histories));
    model.depth = 0;
    model.current = -1;
    for (int i = 0; i < model.size; i++) {
        struct process *p = &model.processes[i];
        memset(p, 0, sizeof(*p));
        p->board = (struct board){.cells = model.cells,
                                  .rank = i,
                                  .size = model.size,
                                  .comm = MPI_COMM_NULL,
                                  .leaders = MPI_COMM_NULL};
        p->reads = -1;
        p->known.steps[i] = 1;
        REQUIRE(getcontext(&p->context) == 0);
        p->context.uc_stack.ss_sp = stacks[i];
        p->context.uc_stack.ss_size = STACK;
        makecontext(&p->context, process_main, 0);
    }
    model_switch();
    for (int i = 0; i < model.size; i++) {
        CHECK(model.processes[i].done); /* no process waits forever */
    }
}

/* @return false: all ways have been gone */
static bool model_next_way(void)
{
    while (model.chosen > 0 &&
           model.choice[model.chosen - 1] + 1 == model.choices[model.chosen - 1]) {
        model.chosen--;
    }
    if (model.chosen > 0) {
        model.choice[model.chosen - 1]++;
    }
    return model.chosen > 0;
}

/* Try all runs with this many processes and calls, until one fails. @return the number of runs */
static long go_all_ways(int size, int calls, enum weakness weakness)
{
    long ways = 0;
    memset(&model, 0, sizeof(model));
    model.size = size;
    model.calls = calls;
    model.weakness = weakness;
    do {
        model_run();
        ways++;
    } while (!model.races && !model.wrong && !check_failures && model_next_way());
    return ways;
}

static void go_random_ways(int size, int calls, int ways)
{
    struct rng rng;
    memset(&model, 0, sizeof(model));
    ictusi_random_seed(&rng, 5, 3);
    model.size = size;
    model.calls = calls;
    model.random = &rng;
    for (int i = 0; i < ways && !model.races && !model.wrong; i++) {
        model_run();
    }
}

int main(void)
{
    const long ways = go_all_ways(3, CALLS, WHOLE);
    printf("%ld interleavings\n", ways);
    CHECK(model.races == 0 && model.wrong == 0 && ways > 100);
    (void)go_all_ways(2, CALLS, WHOLE);
    CHECK(model.races == 0 && model.wrong == 0);
    go_random_ways(RANKS, CALLS, 2000);
    CHECK(model.races == 0 && model.wrong == 0);
    /* Each part is needed; otherwise this test could not fail. */
    (void)go_all_ways(3, 2, NO_RELEASE);
    CHECK(model.races > 0);
    (void)go_all_ways(3, 2, NO_ACQUIRE);
    CHECK(model.races > 0);
    (void)go_all_ways(3, 2, NO_ANSWERS);
    CHECK(model.races > 0 || model.wrong > 0);
    return check_result();
}
