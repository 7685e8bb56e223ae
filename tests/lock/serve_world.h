/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world in virtual time around `ictus serve`, which runs whole and unchanged in this process. The
 * system calls that it makes for time, packets and random numbers are answered here; the page that
 * it reads is a real one. Time passes only where the server waits or reads a clock. The truth is
 * known and never reaches the server.
 */
#ifndef ICTUS_TESTS_LOCK_SERVE_WORLD_H
#define ICTUS_TESTS_LOCK_SERVE_WORLD_H

#include "core/random.h"
#include "lock/packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { SCENE_SOCKETS = 2, SCENE_FLIGHTS = 1024, SCENE_DESCRIPTORS = 64, SCENE_BYTES = 1200 };

/* A datagram on its way to the server. */
struct scene_flight {
    int64_t at;          /* true ns */
    int socket;          /* 0: IPv4, 1: IPv6 */
    int client, address; /* who sent it, to which of the server's addresses */
    int64_t real;        /* what the kernel stamped when it came; 0: nothing */
    size_t length;
    uint8_t bytes[SCENE_BYTES];
};

/* A transmit stamp on its way to the server's error queue. */
struct scene_stamp {
    int64_t at, real; /* when it gets there, and what it says */
    uint32_t id;
};

struct scene_socket {
    bool open;
    int family;
    uint32_t sent;
    int stamp_count, inbox_count;
    struct scene_stamp stamps[256];
    struct scene_flight inbox[64];
};

struct scene {
    struct rng rng;
    int64_t now, epoch, end; /* true ns since the start; UTC at the start */
    double raw_rate;         /* of CLOCK_MONOTONIC_RAW, ns per ns, minus 1 */
    double real_rate;        /* of CLOCK_REALTIME, likewise */
    double real_offset;      /* CLOCK_REALTIME minus UTC at real_at */
    double real_steps;       /* what CLOCK_MONOTONIC did not follow */
    int64_t real_at;
    /* Faults of the machine, as shares. */
    double stampless, stamp_loss, stamp_late, send_fails;
    struct scene_socket sockets[SCENE_SOCKETS];
    int socket_of[SCENE_DESCRIPTORS]; /* which one a descriptor is, plus 1 */
    int signals;                      /* the descriptor that signals come from */
    struct scene_flight flights[SCENE_FLIGHTS];
    int flight_count;
    int64_t next_event;
    /* What happens by itself, at next_event, which it moves on. */
    void (*happen)(struct scene *s);
    /* The judge's: the server took a datagram, or looked for one; it sends an answer, which leaves
     * at an instant. */
    void (*taken)(struct scene *s, const struct scene_flight *flight);
    void (*answered)(struct scene *s, int socket, const struct sockaddr *to, int address,
                     const uint8_t *bytes, size_t length, int64_t leaves);
    bool *send_failed; /* set when an answer cannot leave */
};

/* The one world that the calls of this process are answered from. */
extern struct scene *scene_here;

void scene_init(struct scene *s, uint64_t seed);
double scene_chance(struct scene *s); /* 0 to 1 */
int64_t scene_utc(const struct scene *s, int64_t at);
int64_t scene_raw(const struct scene *s, int64_t at);
int64_t scene_real(const struct scene *s, int64_t at);

/* Somebody sets CLOCK_REALTIME. */
void scene_step(struct scene *s, double by_ns);

/* A datagram leaves for the server. */
void scene_launch(struct scene *s, const struct scene_flight *flight);

/* The addresses of client i, of either family. */
void scene_client(int family, int client, struct sockaddr_storage *to, socklen_t *length);

#endif
