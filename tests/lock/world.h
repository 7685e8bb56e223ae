/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world in virtual time around the real daemon. `ictus lock` runs whole and unchanged in this
 * process; the system calls that it makes for time, packets and names are answered here
 * (world_calls.c), and its servers are the real code of `ictus serve` behind a simulated network.
 * Time passes only where the daemon waits. The truth is known and never reaches the daemon.
 */
#ifndef ICTUS_TESTS_LOCK_WORLD_H
#define ICTUS_TESTS_LOCK_WORLD_H

#include "core/random.h"
#include "lock/server.h"

#include <ictus/lock.h>
#include <ictus/lock_daemon.h>
#include <stdbool.h>
#include <stdint.h>

enum { WORLD_SERVERS = 8, WORLD_SOCKETS = 64, WORLD_FLIGHTS = 512, WORLD_CLIENT = 0x0a000063 };

/* One direction of a path: base, plus exponential waits, plus Pareto ones of that shape. */
struct way {
    double base_ns, wait_ns;
    double pareto_ns, shape; /* scale and shape; 0: none */
};

/* A server: its clock's error is the truth that nobody sees. */
struct world_server {
    struct server code; /* the real one */
    double error_ns;    /* at `at`; grows by rate */
    double rate;        /* ns/s */
    int64_t at;
    double root_ns; /* dispersion that it states, beside |error| if it is honest */
    bool honest;    /* states its own error, as RFC 5905 asks */
    bool dead, mute_leap;
    double smear_s; /* spreads leap seconds over so long, centred, and shows no flag */
    double loss;    /* each way */
    struct way there, back;
    double hold_ns;
    uint64_t asked;
};

/* A packet on its way. server < 0: to the daemon's socket fd. */
struct flight {
    int64_t at;
    int server, fd, from;
    size_t length;
    uint8_t bytes[PACKET_MAX];
};

/* What the daemon's descriptors stand for. */
struct world_socket {
    bool open, stamps;
    uint32_t peer; /* IPv4, host order */
    uint16_t port;
    uint32_t sent;
    int inbox_count, stamp_count;
    struct flight inbox[8];
    struct {
        uint32_t id;
        int64_t at; /* truth */
    } stamped[8];
};

struct world {
    struct rng rng;
    int64_t now;     /* true ns since the start */
    int64_t epoch;   /* true UTC at the start, ns since 1970 */
    int64_t leap_at; /* UTC instant before which a second is inserted or deleted; 0: none */
    int leap;        /* +1 inserted, -1 deleted */
    /* The oscillator: raw time is linear within a segment, whose frequency walks. */
    int64_t segment;
    double raw, frequency, walk; /* ns at the segment's start; ns/s; ns/s per root second */
    double warm, warm_period_s;  /* a sine in the frequency, ns/s */
    /* CLOCK_REALTIME as the kernel would keep it. */
    double real, kernel_frequency, slew_left; /* ns minus raw; ns/s; ns, at 500 ppm */
    double real_steps;                        /* what CLOCK_MONOTONIC did not follow */
    int64_t real_at;
    bool may_adjust;
    long adjusted; /* calls that set something */
    struct world_server servers[WORLD_SERVERS];
    int server_count;
    bool names_fail;
    struct world_socket sockets[WORLD_SOCKETS];
    struct flight flights[WORLD_FLIGHTS];
    int flight_count;
    /* Called each simulated second before everything else, and at the end of each. */
    void (*script)(struct world *w, double t_s);
    void *context;
    /* The judge: reads the page each second as any program would. */
    const char *directory;
    struct ictus_lock *reader;
    struct world_verdict {
        long seconds, locked, outside, unlocked, holdover;
        double squares, sigma_squares, worst_ns, worst_share, widest_ns;
        double real_squares, real_worst_ns;
        int64_t first_locked;
        uint32_t epoch;
        long jumps; /* of the page's epoch while locked */
    } verdict;
    double judge_from_s;
    double last_error_ns, last_bound_ns;
    enum ictus_lock_state last_state;
    char said[4096];
    double until_s;
};

/* The one world that the calls of this process are answered from. */
extern struct world *world_here;

void world_init(struct world *w, uint64_t seed, const char *directory);

/* A server of the usual kind at 10.0.0.1, 10.0.0.2, ... */
struct world_server *world_add(struct world *w);

/* Set a server's error and its rate from now on. */
void world_set_error(struct world *w, struct world_server *s, double error_ns, double rate);
double world_error(const struct world *w, const struct world_server *s);

/* True UTC now. */
int64_t world_utc(const struct world *w);
double world_raw(const struct world *w);
double world_real(const struct world *w);

/* Let time pass to an instant, with all that happens meanwhile. */
void world_advance(struct world *w, int64_t to);

/* Run the daemon for a time. @return what it returned; the verdict is in the world */
int world_run(struct world *w, const struct ictus_lock_options *options, double seconds);
struct ictus_lock_options world_options(struct world *w, double tmin_s);
double world_rms(const struct world *w);
double world_real_rms(const struct world *w);

/* A packet of the daemon's leaves. */
void world_send(struct world *w, int fd, const uint8_t *bytes, size_t length);
int64_t world_next(const struct world *w);

#endif
