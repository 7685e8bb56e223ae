/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cluster in one process, in virtual time and with known truth: clocks that drift and wander,
 * messages with jitter, heavy tails and asymmetric paths. For tests and benchmarks of the core.
 */
#ifndef ICTUS_TESTS_WORLD_H
#define ICTUS_TESTS_WORLD_H

#include "core/line.h"
#include "core/random.h"
#include "core/stamp.h"

#include <stdbool.h>
#include <stdint.h>

enum world_jitter { WORLD_EXPONENTIAL, WORLD_ERLANG, WORLD_GAUSSIAN, WORLD_LOGNORMAL };

struct world_options {
    int size;
    uint64_t seed;
    double latency_ns;        /* of a message, at least */
    double jitter_ns;         /* mean of what comes on top */
    double asymmetry_ns;      /* a pair's ways differ by up to twice this, on each path anew */
    double node_asymmetry_ns; /* what a process's ways out and in differ by, likewise */
    double tail;              /* share of messages in the heavy tail */
    double stall;             /* share of messages whose receiver is off its core for a while */
    double stall_ns;          /* mean of these whiles */
    int noisy;                /* so many of the last processes add noise_ns to their messages */
    bool noisy_first;         /* process 0 does, too */
    double noise_ns;          /* mean, exponential, each way */
    double slow;              /* share of messages that take slow_ns longer */
    double slow_ns;           /* mean, exponential */
    double congested; /* share of bursts on a congested path: ten times the jitter, 2 us aside */
    double drift;     /* standard deviation */
    double walk;      /* per square root of a second */
    enum world_jitter shape;
    int64_t origin; /* process 0's clock at t = 0 */
    double apart_s; /* the others begin within +- this of it */
    int sharing;    /* so many successive processes share a clock; 0: each has its own */
};

struct world_clock {
    int64_t origin;
    double t, phase_ns, rate; /* phase since the start, ns; rate in ns per s */
    struct rng rng;           /* its own: it wanders alike whoever reads it when */
};

struct world {
    struct world_options options;
    struct rng rng;
    struct world_clock *clocks;
    double *busy_until; /* s: when each process is free again */
    uint64_t *started;  /* exchanges that each process started */
    int path;           /* that bursts go by from now on: another rail or transport */
};

/* A cluster like the issue's: 1.5 us, exponential 300 ns, heavy tail 1 %, 10 ppm, 1e-9. */
struct world_options world_defaults(int size, uint64_t seed);

struct world *world_create(const struct world_options *options);
void world_free(struct world *world);

/* What a process's clock shows at true time t; t must not decrease for a process. */
int64_t world_read(struct world *world, int process, double t_s);

/* A burst of exchanges: begins when both are free, keeps both busy until its end. */
void world_burst(struct world *world, int client, int server, int count, struct stamp *stamps);

/* Everybody idles until t. */
void world_wait(struct world *world, double t_s);

/* The clock that a process reads. */
const struct world_clock *world_clock(const struct world *world, int process);

/* When the last process is free. */
double world_now(const struct world *world);

/*
 * The error of a process's line at true time t: its global reading less the reference's, in ns.
 * Advances the clocks.
 */
double world_error(struct world *world, int process, const struct line *line, double t_s);

#endif
