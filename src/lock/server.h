/* SPDX-License-Identifier: BSD-3-Clause */
/* The server's side of the exchange: turns one request into one answer, basic or interleaved
 * (RFC 9769). There are no sockets and no clocks here: bytes and instants in, bytes out. */
#ifndef ICTUS_LOCK_SERVER_H
#define ICTUS_LOCK_SERVER_H

#include "access.h"
#include "keys.h"
#include "packet.h"

enum { SERVER_MEMORY = 4096, SERVER_ANSWER_MAX = PACKET_BYTES + KEY_MAC_BYTES };

/* What the served clock states about itself. */
struct server_clock {
    uint8_t leap;
    uint8_t stratum; /* 16: unsynchronised */
    double root_delay_ns, root_dispersion_ns;
    uint32_t reference_id;
    int64_t reference_ns; /* when it was last set */
};

/* An answer whose real transmit stamp is kept until the client asks for it. */
struct server_sent {
    uint64_t receive;  /* the stamp in the answer, which is the key */
    uint64_t transmit; /* from the kernel, or 0 until it is known */
};

struct server_counts {
    uint64_t requests, answered, interleaved, denied, limited, leaked, kissed, malformed,
        unauthentic;
};

struct server {
    struct access access;
    struct limiter limiter;
    struct keys keys;
    bool require_key;
    struct server_clock clock;
    struct server_sent memory[SERVER_MEMORY];
    struct server_counts counts;
};

/* A request and the instants that belong to it. */
struct server_request {
    const uint8_t *bytes;
    size_t length;
    const struct sockaddr *from;
    int64_t received_ns; /* on the served clock */
    int64_t raw_ns;      /* for the rate limit */
};

struct server_answer {
    uint8_t bytes[SERVER_ANSWER_MAX];
    size_t length;         /* 0: no answer */
    uint64_t receive;      /* its receive stamp, which identifies the answer later */
    const struct key *key; /* to sign it with, or NULL */
    bool basic;            /* the transmit stamp is not set yet */
};

/* Check a request and make its answer, which is never longer than the request. Afterwards call
 * ictusi_server_finish() as late as possible. */
void ictusi_server_answer(struct server *server, const struct server_request *request,
                          struct server_answer *answer);

/* Set the transmit stamp of a basic answer, and sign the answer. */
void ictusi_server_finish(struct server_answer *answer, int64_t transmit_ns);

/* Record the time at which an answer left, as reported by the kernel. */
void ictusi_server_sent(struct server *server, uint64_t receive, int64_t transmit_ns);

#endif
