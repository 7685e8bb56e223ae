/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NTP packet (RFC 5905, 7.3) as a structure, its timestamps as nanoseconds, and the checks that
 * a reply must pass (RFC 5905, 8; RFC 9769 for the interleaved mode). Pure: bytes in, values out.
 */
#ifndef ICTUS_LOCK_PACKET_H
#define ICTUS_LOCK_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PACKET_BYTES = 48, PACKET_MAX = 1024, PACKET_PORT = 123 };

enum packet_mode { PACKET_CLIENT = 3, PACKET_SERVER = 4 };

enum { PACKET_LEAP_UNSYNCHRONISED = 3, PACKET_STRATUM_MAX = 15 };

struct packet {
    uint8_t leap;    /* 0 none, 1 insert, 2 delete, 3 unsynchronised */
    uint8_t version; /* 1..4 */
    uint8_t mode;
    uint8_t stratum;
    int8_t poll;
    int8_t precision;
    double root_delay_ns;
    double root_dispersion_ns;
    uint32_t reference_id;
    /* The wire's own 32.32 numbers: echoes must match bit by bit. */
    uint64_t reference;
    uint64_t origin;
    uint64_t receive;
    uint64_t transmit;
};

/* Where a packet's authenticator is, if it has one. */
struct packet_mac {
    bool present;
    uint32_t key;
    size_t offset; /* of the key id: what comes before is authenticated */
    size_t length; /* of the digest after the key id */
};

/* What is wrong with a reply; 0 is a good one. The order is that of the checks. */
enum packet_fault {
    PACKET_GOOD = 0,
    PACKET_SHORT,          /* truncated, or a malformed extension field */
    PACKET_VERSION,        /* not version 3 or 4 */
    PACKET_NOT_SERVER,     /* not a reply */
    PACKET_ORIGIN,         /* echoes nothing that we sent: spoofed, late or a duplicate */
    PACKET_AUTHENTICATION, /* the authenticator is missing or wrong */
    PACKET_KISS,           /* kiss-o'-death: the reference id says which */
    PACKET_UNSYNCHRONISED, /* leap indicator 3, or stratum 0 or above 15 */
    PACKET_TIMES,          /* stamps missing or in an impossible order */
    PACKET_DISTANCE,       /* the server itself is too far from its root */
    PACKET_FAULTS
};

/* Read the first 48 bytes. @return false when there are fewer */
bool ictusi_packet_decode(const uint8_t *bytes, size_t length, struct packet *packet);

/* Write 48 bytes. */
void ictusi_packet_encode(const struct packet *packet, uint8_t bytes[PACKET_BYTES]);

/*
 * Walk the extension fields (RFC 7822) to the authenticator. @return false when they are malformed
 */
bool ictusi_packet_trailer(const uint8_t *bytes, size_t length, struct packet_mac *mac);

/* An instant since 1970 as a wire stamp; 0, which means "none" there, is never made. */
uint64_t ictusi_packet_stamp(int64_t unix_ns);

/* A wire stamp as the instant nearest to pivot_ns, whatever the era (they are 136 years long). */
int64_t ictusi_packet_unix(uint64_t stamp, int64_t pivot_ns);

/* The request a reply must answer. */
struct packet_request {
    uint64_t transmit; /* random: what a basic reply echoes */
    uint64_t receive;  /* random: what an interleaved reply echoes; 0: not asked for */
};

/*
 * Check a decoded reply's header against its request. *interleaved tells in which mode it came.
 * Authentication is checked by the caller, between ORIGIN and KISS: see check_header and
 * check_content.
 */
enum packet_fault ictusi_packet_check_header(const struct packet *reply,
                                             const struct packet_request *request,
                                             bool *interleaved);
enum packet_fault ictusi_packet_check_content(const struct packet *reply, double max_distance_ns);

/* Four letters of a kiss code or a stratum-1 reference id, printable, terminated. */
void ictusi_packet_refid_text(uint32_t reference_id, char text[5]);

/* A word for a fault: "origin", "kiss", ... */
const char *ictusi_packet_fault_name(enum packet_fault fault);

#endif
