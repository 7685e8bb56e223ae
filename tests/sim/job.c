/* SPDX-License-Identifier: BSD-3-Clause */
/* Fibres in virtual time, and oscillators. */
#include "job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 1 << 20 };

static const int64_t second = 1000000000;
static const double grid_s = 1e-2; /* a drift changes in steps this long */

enum fibre_state { FIBRE_READY, FIBRE_BLOCKED, FIBRE_DONE };

struct fibre {
    ucontext_t context;
    void *stack;
    enum fibre_state state;
    int64_t now;
    int64_t away_at; /* when it is off its core next */
    double rest;     /* of a nanosecond */
    int looks;       /* at memory, on end */
    int64_t read_at; /* when it read a clock last */
    int64_t beside;  /* node 0's clock when this rank read its own last */
    const char *call;
    int peer;
};

/* An oscillator: raw time less true time is linear within a segment, whose rate walks. */
struct oscillator {
    int64_t origin, at;
    double phase_ns, rate; /* ns, ns/s */
};

static struct {
    struct job_options options;
    struct rng rng;
    struct fibre fibres[JOB_RANKS];
    struct oscillator clocks[JOB_RANKS];
    ucontext_t outside;
    int current; /* -1: none */
    enum job_end end;
    void (*rank_main)(int rank, void *context);
    void *context;
} job = {.current = -1};

int job_rank(void)
{
    return job.current;
}

const struct job_options *job_options(void)
{
    return &job.options;
}

int job_node(int rank)
{
    return (int)((int64_t)rank * job.options.nodes / job.options.ranks);
}

int64_t job_now(void)
{
    return job.fibres[job.current].now;
}

double job_uniform(void)
{
    return ictusi_random_uniform(&job.rng);
}

double job_exponential(double mean)
{
    return mean > 0.0 ? mean * ictusi_random_exponential(&job.rng) : 0.0;
}

/* Who is next; -1: nobody can go on. */
static int job_earliest(void)
{
    int first = -1;
    for (int i = 0; i < job.options.ranks; i++) {
        if (job.fibres[i].state == FIBRE_READY &&
            (first < 0 || job.fibres[i].now < job.fibres[first].now)) {
            first = i;
        }
    }
    return first;
}

static bool job_all_done(void)
{
    bool done = true;
    for (int i = 0; i < job.options.ranks; i++) {
        done = done && job.fibres[i].state == FIBRE_DONE;
    }
    return done;
}

/* Let the earliest go on. */
static void job_switch(void)
{
    const int from = job.current;
    const int to = job_earliest();
    if (to == from) {
        return;
    }
    if (to < 0) {
        job.end = job_all_done() ? JOB_DONE : JOB_HANGS;
    }
    job.current = to;
    (void)swapcontext(from < 0 ? &job.outside : &job.fibres[from].context,
                      to < 0 ? &job.outside : &job.fibres[to].context);
}

/* An hour is too long for anything that is tried here. */
static void job_pass(struct fibre *f)
{
    if (f->now > 3600 * second) {
        const int from = job.current;
        job.end = JOB_LASTS;
        job.current = -1;
        (void)swapcontext(&job.fibres[from].context, &job.outside);
    }
    job_switch();
}

void job_spend(double ns)
{
    struct fibre *f = &job.fibres[job.current];
    const struct job_options *o = &job.options;
    f->looks = 0;
    f->rest += job.current == o->slow ? ns * o->slow_factor : ns;
    const double whole = floor(f->rest);
    f->rest -= whole;
    f->now += (int64_t)whole;
    while (o->away_every_s > 0.0 && f->now >= f->away_at) {
        f->now += (int64_t)job_exponential(o->away_ns);
        f->away_at = f->now + (int64_t)job_exponential(o->away_every_s * 1e9);
    }
    job_pass(f);
}

/* Few turns of a long spin stand for all of them. */
void job_look(void)
{
    enum { LOOKS_EXACT = 256 };
    struct fibre *f = &job.fibres[job.current];
    const int looks = f->looks + 1;
    job_spend(looks > LOOKS_EXACT ? 5000.0 : 200.0);
    f->looks = looks;
}

void job_arrive(int64_t at)
{
    struct fibre *f = &job.fibres[job.current];
    f->now = at > f->now ? at : f->now;
    job_pass(f);
}

void job_sleep(int64_t ns)
{
    job_arrive(job_now() + ns + (int64_t)job_exponential(5e4));
}

void job_block(const char *call, int peer)
{
    struct fibre *f = &job.fibres[job.current];
    f->state = FIBRE_BLOCKED;
    f->call = call;
    f->peer = peer;
    job_switch();
}

void job_wake(int rank)
{
    struct fibre *f = &job.fibres[rank];
    if (f->state == FIBRE_BLOCKED) {
        f->state = FIBRE_READY;
        f->now = f->now > job_now() ? f->now : job_now();
    }
}

/* Readings come in the order of true time: an oscillator only goes on. */
static int64_t clock_show(struct oscillator *c, int64_t now)
{
    const double most = job.options.drift * 1e9;
    while (now - c->at >= (int64_t)(grid_s * 1e9)) {
        c->at += (int64_t)(grid_s * 1e9);
        c->phase_ns += c->rate * grid_s;
        c->rate += job.options.walk * 1e9 * sqrt(grid_s) * ictusi_random_normal(&job.rng);
        c->rate = fmax(-most, fmin(most, c->rate));
    }
    return c->origin + now + (int64_t)floor(c->phase_ns + c->rate * 1e-9 * (double)(now - c->at));
}

static int64_t node_clock(int node, clockid_t id, int64_t now)
{
    int64_t shown = clock_show(&job.clocks[node], now);
    for (int i = 0; id == CLOCK_REALTIME && i < job.options.step_count; i++) {
        const struct job_step *step = &job.options.steps[i];
        shown += step->node == node && step->at_ns <= now ? step->by_ns : 0;
    }
    return shown;
}

int64_t job_clock(clockid_t id)
{
    struct fibre *f = &job.fibres[job.current];
    f->read_at = f->now;
    f->beside = node_clock(0, id, f->now);
    return node_clock(job_node(job.current), id, f->now);
}

int64_t job_beside(void)
{
    return job.fibres[job.current].beside;
}

int64_t job_oldest_reading(void)
{
    int64_t oldest = INT64_MAX;
    for (int i = 0; i < job.options.ranks; i++) {
        oldest = job.fibres[i].read_at < oldest ? job.fibres[i].read_at : oldest;
    }
    return oldest;
}

bool job_stepped(int64_t from, int64_t to)
{
    bool any = false;
    for (int i = 0; i < job.options.step_count; i++) {
        any = any || (job.options.steps[i].at_ns >= from && job.options.steps[i].at_ns <= to);
    }
    return any;
}

static void fibre_main(void)
{
    job.rank_main(job.current, job.context);
    job.fibres[job.current].state = FIBRE_DONE;
    job_switch();
}

static void fibre_create(int rank)
{
    struct fibre *f = &job.fibres[rank];
    memset(f, 0, sizeof(*f));
    f->now = (int64_t)(1e6 * job_uniform());
    f->away_at = (int64_t)job_exponential(job.options.away_every_s * 1e9);
    f->stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (f->stack == MAP_FAILED || getcontext(&f->context)) {
        abort();
    }
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = NULL;
    makecontext(&f->context, fibre_main, 0);
}

static void job_tell(char *said, size_t size)
{
    size_t at = 0;
    said[0] = '\0';
    for (int i = 0; i < job.options.ranks && at < size; i++) {
        const struct fibre *f = &job.fibres[i];
        if (f->state == FIBRE_BLOCKED) {
            at +=
                (size_t)snprintf(said + at, size - at, " rank %d waits in %s for %d since %.9f s;",
                                 i, f->call, f->peer, (double)f->now * 1e-9);
        }
    }
}

enum job_end job_run(const struct job_options *options, void (*rank_main)(int rank, void *context),
                     void *context, char *said, size_t size)
{
    job.options = *options;
    job.rank_main = rank_main;
    job.context = context;
    job.end = JOB_DONE;
    ictusi_random_seed(&job.rng, options->seed, 7);
    for (int i = 0; i < options->nodes; i++) {
        const double apart_s = 2.0 * job_uniform() - 1.0;
        job.clocks[i] = (struct oscillator){
            .origin = 1700000000 * second + (int64_t)(apart_s * 1e9),
            .rate = options->drift * 1e9 * (2.0 * job_uniform() - 1.0),
        };
    }
    for (int i = 0; i < options->ranks; i++) {
        fibre_create(i);
    }
    job_mpi_start();
    job_switch();
    job_tell(said, size);
    job_mpi_end();
    for (int i = 0; i < options->ranks; i++) {
        (void)munmap(job.fibres[i].stack, STACK);
    }
    return job.end;
}
