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
    /* The 32.32 numbers as in the packet, because echoes must match bit by bit. */
    uint64_t reference;
    uint64_t origin;
    uint64_t receive;
    uint64_t transmit;
};

/* The place of a packet's authenticator, if it has one. */
struct packet_mac {
    bool present;
    uint32_t key;
    size_t offset; /* of the key id; everything before it is authenticated */
    size_t length; /* of the digest after the key id */
};

/* The fault of a reply, or 0. The order is that of the checks. */
enum packet_fault {
    PACKET_GOOD = 0,
    PACKET_SHORT,          /* truncated, or a malformed extension field */
    PACKET_VERSION,        /* not version 3 or 4 */
    PACKET_NOT_SERVER,     /* not a reply */
    PACKET_ORIGIN,         /* does not echo what we sent: spoofed, late or a duplicate */
    PACKET_AUTHENTICATION, /* the authenticator is missing or wrong */
    PACKET_KISS,           /* kiss-o'-death; the reference id gives the code */
    PACKET_UNSYNCHRONISED, /* leap indicator 3, or stratum 0 or above 15 */
    PACKET_TIMES,          /* stamps are missing or in an impossible order */
    PACKET_DISTANCE,       /* the server states too large a distance to its root */
    PACKET_FAULTS
};

/* Decode the first 48 bytes. @return false if there are fewer */
bool ictusi_packet_decode(const uint8_t *bytes, size_t length, struct packet *packet);

/* Encode 48 bytes. */
void ictusi_packet_encode(const struct packet *packet, uint8_t bytes[PACKET_BYTES]);

/* Skip the extension fields (RFC 7822) and find the authenticator. @return false if they are
 * malformed */
bool ictusi_packet_trailer(const uint8_t *bytes, size_t length, struct packet_mac *mac);

/* Convert an instant since 1970 to a stamp of the packet. The result is never 0, which means
 * "none". */
uint64_t ictusi_packet_stamp(int64_t unix_ns);

/* Convert a stamp of the packet to the instant nearest to pivot_ns, whatever its era (of 136
 * years). */
int64_t ictusi_packet_unix(uint64_t stamp, int64_t pivot_ns);

/* The request that a reply must answer. */
struct packet_request {
    uint64_t transmit; /* random; echoed by a basic reply */
    uint64_t receive;  /* random; echoed by an interleaved reply; 0: not requested */
};

/*
 * Check the header of a decoded reply against its request. *interleaved is set to the mode of the
 * reply. The caller checks the authentication after check_header() and before check_content().
 */
enum packet_fault ictusi_packet_check_header(const struct packet *reply,
                                             const struct packet_request *request,
                                             bool *interleaved);
enum packet_fault ictusi_packet_check_content(const struct packet *reply, double max_distance_ns);

/* Write a kiss code or a stratum-1 reference id as four printable letters, terminated. */
void ictusi_packet_refid_text(uint32_t reference_id, char text[5]);

/* Return a word for a fault: "origin", "kiss-o'-death", ... */
const char *ictusi_packet_fault_name(enum packet_fault fault);

#endif
