/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchange with one NTP server (M00 figure 3): a connected socket, the request, the checks
 * of its reply, and what the interleaved mode (RFC 9769) needs from the last exchange. */
#ifndef ICTUS_LOCK_PEER_H
#define ICTUS_LOCK_PEER_H

#include "card.h"
#include "keys.h"
#include "packet.h"
#include "page/timebase.h"
#include "sample.h"
#include "stamp.h"

#include <ictus/error.h>
#include <netdb.h>

struct peer_options {
    enum stamp_mode stamps;
    bool interleaved;
    const struct key *key; /* NULL: no authentication */
    double timeout_s;
    double max_distance_ns;
};

/* The stamps of one exchange: the client's on CLOCK_MONOTONIC_RAW, the server's since 1970. */
struct peer_exchange {
    int64_t t1, t2, t3, t4;
    int64_t user1, user4; /* the application's own stamps, raw */
    uint64_t wire2;       /* t2 as in the packet */
    double root_ns;       /* the server's own distance to the truth, as stated in that reply */
    bool kernel;
    bool valid;
};

/* A request that is under way. */
struct peer_wait {
    struct packet_request request;
    struct stamps sent;
    struct stamp_datagram reply;
    uint8_t bytes[PACKET_MAX];
    bool answered, stamped, interleaved;
    int64_t deadline;   /* raw: the latest time to look again */
    unsigned disturbed; /* steps and suspends that were seen before it was sent */
};

struct peer {
    char host[256];
    char port[8];
    char address[64]; /* numeric, for display */
    uint32_t reference_id;
    struct peer_options options;
    struct stamp_socket socket;
    struct peer_wait wait;
    struct peer_exchange last;
    double patience_s;       /* time to wait for a reply; below the timeout if replies are quick */
    struct card card;        /* with hardware stamps */
    struct packet reply;     /* the last valid reply, or the kiss */
    enum packet_fault fault; /* of the last exchange that failed */
    uint64_t faults[PACKET_FAULTS];   /* refused replies by reason */
    uint64_t sent, received, missing; /* missing: exchanges without kernel stamps */
};

/* Parse "HOST", "HOST:PORT", "[V6]:PORT" or a bare IPv6 address. */
int ictusi_peer_name(const char *text, struct peer *peer, struct ictus_why *why);

/* Connect a socket with timestamps enabled to the address. An old socket is closed. */
int ictusi_peer_connect(struct peer *peer, const struct addrinfo *info, struct ictus_why *why);

void ictusi_peer_close(struct peer *peer);

/*
 * Start an exchange: send the request only. The reply is due by wait.deadline, and until then the
 * socket should be polled. @return ICTUS_OK, ICTUS_ERR_IO (unreachable), ICTUS_ERR_CLOCK (see
 * below)
 */
int ictusi_peer_ask(struct peer *peer, struct timebase *base);

/*
 * Process what has arrived, without waiting. In interleaved mode the sample belongs to the previous
 * exchange, so the first exchange gives none.
 * @return PEER_PENDING: nothing yet; ICTUS_OK: a sample; ICTUS_ERR_SAMPLES: a good reply, but no
 *         sample yet; ICTUS_ERR_TIMEOUT; ICTUS_ERR_IO: unreachable; ICTUS_ERR_FORMAT: see fault (a
 *         kiss, an unsynchronised server); ICTUS_ERR_CLOCK: the system's clock was stepped
 * meanwhile
 */
enum { PEER_PENDING = 1 };
int ictusi_peer_hear(struct peer *peer, struct timebase *base, struct sample *sample);

/* Return the fault of a datagram as the answer to a request. *reply is set as far as it could be
 * decoded. */
enum packet_fault ictusi_peer_check(const struct peer *peer, const struct stamp_datagram *datagram,
                                    const struct packet_request *request, struct packet *reply,
                                    bool *interleaved);

/* Compute the sample of four stamps. @return false if they are impossible */
bool ictusi_peer_sample(const struct peer_exchange *exchange, struct sample *sample);

#endif
