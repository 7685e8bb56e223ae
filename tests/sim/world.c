/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual clocks and messages. */
#include "world.h"

#include <math.h>
#include <stdlib.h>

/* A drift changes in steps this long, always, so that a clock's way depends on its seed alone:
 * algorithms that measure at other instants are compared on the same clocks. */
static const double grid_s = 5e-3;

struct world_options world_defaults(int size, uint64_t seed)
{
    return (struct world_options){.size = size,
                                  .seed = seed,
                                  .latency_ns = 1500.0,
                                  .jitter_ns = 300.0,
                                  .asymmetry_ns = 0.0,
                                  .tail = 0.01,
                                  .drift = 10e-6,
                                  .walk = 1e-9,
                                  .origin = 1700000000000000000,
                                  .apart_s = 3.0};
}

struct world *world_create(const struct world_options *options)
{
    const size_t n = (size_t)options->size;
    struct world *w = calloc(1, sizeof(*w));
    if (!w) {
        abort();
    }
    w->options = *options;
    w->clocks = calloc(n, sizeof(*w->clocks));
    w->busy_until = calloc(n, sizeof(*w->busy_until));
    w->started = calloc(n, sizeof(*w->started));
    if (!w->clocks || !w->busy_until || !w->started) {
        abort();
    }
    ictusi_random_seed(&w->rng, options->seed, 0);
    for (size_t i = 0; i < n; i++) {
        const double apart =
            i ? options->apart_s * (2.0 * ictusi_random_uniform(&w->rng) - 1.0) : 0.0;
        w->clocks[i].origin = options->origin + (int64_t)(apart * 1e9);
        w->clocks[i].rate = options->drift * 1e9 * ictusi_random_normal(&w->rng);
        ictusi_random_seed(&w->clocks[i].rng, options->seed, 1 + i);
    }
    return w;
}

void world_free(struct world *world)
{
    free(world->clocks);
    free(world->busy_until);
    free(world->started);
    free(world);
}

static struct world_clock *clock_of(const struct world *w, int process)
{
    const int sharing = w->options.sharing;
    return &w->clocks[sharing ? process - process % sharing : process];
}

const struct world_clock *world_clock(const struct world *world, int process)
{
    return clock_of(world, process);
}

static void step(const struct world *w, struct world_clock *c, double dt)
{
    const double walk = w->options.walk * 1e9;
    if (walk > 0.0) {
        const double a = ictusi_random_normal(&c->rng);
        const double b = ictusi_random_normal(&c->rng);
        c->phase_ns += c->rate * dt + walk * dt * sqrt(dt) * (a / 2.0 + b / sqrt(12.0));
        c->rate += walk * sqrt(dt) * a;
    } else {
        c->phase_ns += c->rate * dt;
    }
    c->t += dt;
}

/* Phase at t in ns; the clock's state stays at the last grid point. */
static double phase_at(struct world *w, int process, double t)
{
    struct world_clock *c = clock_of(w, process);
    while (t - c->t >= grid_s) {
        step(w, c, grid_s);
    }
    return c->phase_ns + c->rate * (t - c->t);
}

int64_t world_read(struct world *world, int process, double t_s)
{
    const double phase = phase_at(world, process, t_s);
    return clock_of(world, process)->origin + (int64_t)floor(t_s * 1e9 + phase);
}

static double jitter(struct world *w)
{
    const double mean = w->options.jitter_ns;
    switch (w->options.shape) {
    case WORLD_ERLANG:
        return mean / 3.0 *
               (ictusi_random_exponential(&w->rng) + ictusi_random_exponential(&w->rng) +
                ictusi_random_exponential(&w->rng));
    case WORLD_GAUSSIAN:
        return fmax(mean * (4.0 + ictusi_random_normal(&w->rng)), 0.0);
    case WORLD_LOGNORMAL:
        return mean * exp(ictusi_random_normal(&w->rng) - 0.5);
    case WORLD_EXPONENTIAL:
    default:
        return mean * ictusi_random_exponential(&w->rng);
    }
}

/* Half the difference between a process's ways out and in: fixed for a process and path. */
static double node_asymmetry(const struct world *w, int process)
{
    struct rng rng;
    ictusi_random_seed(&rng, w->options.seed + 2, (uint64_t)w->path << 32 | (uint64_t)process);
    return w->options.node_asymmetry_ns * (2.0 * ictusi_random_uniform(&rng) - 1.0);
}

/* Half the difference between the ways from a to b and back: fixed for a pair and path. */
static double asymmetry(const struct world *w, int a, int b)
{
    struct rng rng;
    const uint64_t low = (uint64_t)(a < b ? a : b);
    const uint64_t high = (uint64_t)(a < b ? b : a);
    ictusi_random_seed(&rng, w->options.seed + 1, low << 32 | (uint64_t)w->path << 24 | high);
    const double r = w->options.asymmetry_ns * (2.0 * ictusi_random_uniform(&rng) - 1.0);
    return (a < b ? r : -r) + node_asymmetry(w, a) - node_asymmetry(w, b);
}

/* What the two ends add to a message. */
static double noise(struct world *w, int process)
{
    const bool first = process == 0 && w->options.noisy_first;
    const bool last = process >= w->options.size - w->options.noisy && process > 0;
    return first || last ? w->options.noise_ns * ictusi_random_exponential(&w->rng) : 0.0;
}

/* A burst between two processes: what its messages share. */
struct burst {
    int client, server;
    double bias;    /* of a request; a reply's is the opposite */
    double stretch; /* of the jitter */
};

static double message(struct world *w, const struct burst *b, double sign)
{
    double ns = w->options.latency_ns + sign * b->bias + b->stretch * jitter(w);
    if (w->options.noise_ns > 0.0) {
        ns += noise(w, b->client) + noise(w, b->server);
    }
    if (w->options.slow > 0.0 && ictusi_random_uniform(&w->rng) < w->options.slow) {
        ns += w->options.slow_ns * ictusi_random_exponential(&w->rng);
    }
    if (ictusi_random_uniform(&w->rng) < w->options.tail) {
        ns += 2000.0 / pow(ictusi_random_uniform(&w->rng), 0.7);
    }
    if (w->options.stall > 0.0 && ictusi_random_uniform(&w->rng) < w->options.stall) {
        ns += w->options.stall_ns * ictusi_random_exponential(&w->rng);
    }
    return fmax(ns, 0.0) * 1e-9;
}

static struct burst begin(struct world *w, int client, int server)
{
    struct burst b = {client, server, asymmetry(w, client, server), 1.0};
    if (w->options.congested > 0.0 && ictusi_random_uniform(&w->rng) < w->options.congested) {
        b.stretch = 10.0;
        b.bias += fmin(2000.0, w->options.latency_ns) * ictusi_random_normal(&w->rng);
    }
    return b;
}

void world_burst(struct world *world, int client, int server, int count, struct stamp *stamps)
{
    double t = fmax(world->busy_until[client], world->busy_until[server]);
    const struct burst b = begin(world, client, server);
    for (int i = 0; i < count; i++) {
        stamps[i].sent = world_read(world, client, t);
        t += message(world, &b, 1.0);
        stamps[i].remote = world_read(world, server, t);
        t += message(world, &b, -1.0);
        stamps[i].received = world_read(world, client, t);
    }
    world->busy_until[client] = t;
    world->busy_until[server] = t;
    world->started[client] += (uint64_t)count;
}

void world_wait(struct world *world, double t_s)
{
    for (int i = 0; i < world->options.size; i++) {
        world->busy_until[i] = fmax(world->busy_until[i], t_s);
    }
}

double world_now(const struct world *world)
{
    double last = 0.0;
    for (int i = 0; i < world->options.size; i++) {
        last = fmax(last, world->busy_until[i]);
    }
    return last;
}

double world_error(struct world *world, int process, const struct line *line, double t_s)
{
    /* Sub-nanosecond truth: the line's value at the exact local instant. */
    const double phase = phase_at(world, process, t_s);
    const double reference = phase_at(world, 0, t_s);
    const struct world_clock *c = clock_of(world, process);
    const int64_t apart = c->origin - world->clocks[0].origin;
    const double since = (double)(c->origin - line->anchor) + t_s * 1e9 + phase;
    return (double)(line->offset + apart) + line->frac + line->slope * since + phase - reference;
}
