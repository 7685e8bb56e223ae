/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may ask, and how often: lists of networks, and a token bucket for each client. */
#ifndef ICTUS_LOCK_ACCESS_H
#define ICTUS_LOCK_ACCESS_H

#include <ictus/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ACCESS_NETWORKS = 64, ACCESS_CLIENTS = 4096 };

/* An address as 16 bytes. IPv4 addresses are mapped into IPv6. */
struct address {
    uint8_t bytes[16];
};

struct network {
    struct address address;
    int bits; /* of the 128 bits */
};

struct access {
    struct network deny[ACCESS_NETWORKS], allow[ACCESS_NETWORKS];
    int deny_count, allow_count;
};

/* Read "10.0.0.0/8,fd00::/8"; NULL is an empty list. @return ICTUS_OK or ICTUS_ERR_SPEC */
int ictusi_access_read(struct access *access, const char *deny, const char *allow,
                       struct ictus_why *why);

/* Return whether an address may ask. Denied networks are checked first. An empty list of allowed
 * networks then admits everybody. */
bool ictusi_access_may(const struct access *access, const struct address *address);

/* Convert a socket address. @return false for families other than IPv4 and IPv6 */
bool ictusi_access_address_of(const struct sockaddr *from, struct address *address);

/* Recently seen clients, in a table of fixed size. A new client replaces an old one. */
struct bucket {
    uint64_t who; /* hash of the client's network: its /32 or /64 */
    int64_t at;
    double tokens;
    uint32_t refused; /* refused requests in a row */
    uint64_t chance;  /* random state: decides which refused requests are answered */
};

struct limiter {
    double rate, burst; /* answers per second; 0: no limit */
    uint64_t secret;    /* so that nobody can choose a client's slot */
    struct bucket table[ACCESS_CLIENTS];
};

enum verdict { LIMIT_ANSWER, LIMIT_LEAK, LIMIT_KISS, LIMIT_DROP };

void ictusi_limiter_init(struct limiter *limiter, double rate, double burst, uint64_t secret);

/*
 * Count one request at an instant (ns), and decide whether to answer it, to tell the client to slow
 * down, or to be silent. Above the rate, one request in four is still answered at random, so that
 * an attacker who sends in a client's name cannot silence it.
 */
enum verdict ictusi_limiter_count(struct limiter *limiter, const struct address *address,
                                  int64_t now);

#endif
