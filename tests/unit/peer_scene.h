/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One server whose clock, path and misbehaviour are known: the linker gives the peer the clocks,
 * the packets and the stamps of this file (--wrap).
 */
#ifndef ICTUS_TESTS_PEER_SCENE_H
#define ICTUS_TESTS_PEER_SCENE_H

#include "lock/peer.h"

#include "../check.h"

#include <sys/random.h>

static const int64_t second = 1000000000;
static const int64_t ms = 1000000;

/* CLOCK_REALTIME minus raw time, and the server's clock minus CLOCK_REALTIME. */
static const int64_t real_minus_raw = INT64_C(1800000000000000000);
static const int64_t ahead_ns = 7654321;

/* The request takes so long to leave after its user stamp, and the reply to be read. */
enum { SEND_NS = 4000, RECEIVE_NS = 9000, QUEUE = 8 };

static struct peer peer;
static struct timebase base;
static int64_t now; /* raw */
static int steps;   /* of CLOCK_REALTIME, as the timebase sees them */

static struct {
    uint8_t bytes[PACKET_MAX];
    size_t length;
    int count, code;
    int64_t at;
} sent;

/* What the socket has for the peer. */
static struct arrival {
    uint8_t bytes[PACKET_BYTES + KEY_MAC_BYTES];
    size_t length;
    struct stamps stamps;
} inbox[QUEUE];
static int inbox_count;
static int receive_code; /* once the inbox is empty */

static struct {
    uint32_t id;
    struct stamps stamps;
} left[QUEUE];
static int left_count;

static struct {
    int fails; /* so many comparisons fail */
    int64_t device_minus_raw;
    bool missing;
    int opened, closed;
} card;
static int enabled; /* the mode in which stamps were switched on, or -1 */
static bool digest_fits;
static int random_calls;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int64_t __wrap_ictusi_timebase_raw_now(void);
int64_t __wrap_ictusi_timebase_real_now(void);
unsigned __wrap_ictusi_timebase_read(struct timebase *read);
int __wrap_ictusi_stamp_send(struct stamp_socket *socket, const void *bytes, size_t length,
                             const struct stamp_datagram *answer, int64_t *user);
int __wrap_ictusi_stamp_sent(const struct stamp_socket *socket, uint32_t *id,
                             struct stamps *stamps);
int __wrap_ictusi_stamp_receive(const struct stamp_socket *socket, struct stamp_datagram *datagram);
int __wrap_ictusi_card_compare(const struct device_calls *calls, struct card *of,
                               struct timebase *with);
enum stamp_mode __wrap_ictusi_stamp_enable(struct stamp_socket *socket, enum stamp_mode wanted,
                                           struct ictus_why *why);
int __wrap_ictusi_card_open(int socket_fd, struct card *of, struct ictus_why *why);
void __wrap_ictusi_card_close(struct card *of);
size_t __wrap_ictusi_key_sign(const struct key *key, uint8_t *bytes, size_t length);
bool __wrap_ictusi_key_verify(const struct key *key, const uint8_t *bytes, size_t mac_offset,
                              size_t digest_length);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);

int64_t __wrap_ictusi_timebase_raw_now(void)
{
    return now;
}

int64_t __wrap_ictusi_timebase_real_now(void)
{
    return now + real_minus_raw;
}

unsigned __wrap_ictusi_timebase_read(struct timebase *read)
{
    read->raw = now;
    read->real = now + real_minus_raw;
    read->stepped = (unsigned)steps;
    return 0;
}

int __wrap_ictusi_stamp_send(struct stamp_socket *socket, const void *bytes, size_t length,
                             const struct stamp_datagram *answer, int64_t *user)
{
    CHECK(!answer && length <= sizeof(sent.bytes));
    memcpy(sent.bytes, bytes, length);
    sent.length = length;
    sent.count++;
    sent.at = now;
    socket->sent += !sent.code;
    *user = now + real_minus_raw;
    return sent.code;
}

int __wrap_ictusi_stamp_sent(const struct stamp_socket *socket, uint32_t *id, struct stamps *stamps)
{
    CHECK(socket == &peer.socket);
    if (left_count == 0) {
        return ICTUS_ERR_SAMPLES;
    }
    *id = left[0].id;
    *stamps = left[0].stamps;
    memmove(left, left + 1, (QUEUE - 1) * sizeof(left[0]));
    left_count--;
    return ICTUS_OK;
}

int __wrap_ictusi_stamp_receive(const struct stamp_socket *socket, struct stamp_datagram *datagram)
{
    CHECK(socket == &peer.socket && datagram->size == PACKET_MAX);
    if (inbox_count == 0) {
        return receive_code;
    }
    memcpy(datagram->bytes, inbox[0].bytes, sizeof(inbox[0].bytes));
    datagram->length = inbox[0].length;
    datagram->stamps = inbox[0].stamps;
    memmove(inbox, inbox + 1, (QUEUE - 1) * sizeof(inbox[0]));
    inbox_count--;
    return ICTUS_OK;
}

int __wrap_ictusi_card_compare(const struct device_calls *calls, struct card *of,
                               struct timebase *with)
{
    CHECK(calls && calls->ioctl && with == &base);
    of->device_minus_raw = card.device_minus_raw;
    return card.fails-- > 0 ? ICTUS_ERR_IO : ICTUS_OK;
}

enum stamp_mode __wrap_ictusi_stamp_enable(struct stamp_socket *socket, enum stamp_mode wanted,
                                           struct ictus_why *why)
{
    CHECK(socket == &peer.socket && socket->fd >= 0 && why);
    enabled = (int)wanted;
    return wanted;
}

int __wrap_ictusi_card_open(int socket_fd, struct card *of, struct ictus_why *why)
{
    CHECK(socket_fd == peer.socket.fd && of == &peer.card && why);
    card.opened++;
    return card.missing ? ICTUS_ERR_UNSUPPORTED : ICTUS_OK;
}

void __wrap_ictusi_card_close(struct card *of)
{
    CHECK(of == &peer.card);
    card.closed++;
}

size_t __wrap_ictusi_key_sign(const struct key *key, uint8_t *bytes, size_t length)
{
    CHECK(key->id == 77 && length == PACKET_BYTES);
    memset(bytes + length, 0x5a, KEY_MAC_BYTES);
    return length + KEY_MAC_BYTES;
}

bool __wrap_ictusi_key_verify(const struct key *key, const uint8_t *bytes, size_t mac_offset,
                              size_t digest_length)
{
    CHECK(key->id == 77 && bytes && mac_offset == PACKET_BYTES);
    CHECK(digest_length == KEY_MAC_BYTES - 4);
    return digest_fits;
}

/* The kernel may have nothing yet, or too few bytes; and a stamp must not be 0. */
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags)
{
    static uint64_t last = 1000;
    CHECK(size == sizeof(last) && flags == 0);
    const int call = random_calls++ % 4;
    memset(to, call == 1 ? 0xee : 0, size);
    if (call < 2) {
        return call == 0 ? -1 : 5;
    }
    last += call == 3 ? 1 : 0;
    memcpy(to, call == 3 ? &last : &(uint64_t){0}, size);
    return (ssize_t)size;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void peer_begin(enum stamp_mode mode, bool interleaved)
{
    memset(&peer, 0, sizeof(peer));
    memset(&base, 0, sizeof(base));
    memset(&sent, 0, sizeof(sent));
    memset(&card, 0, sizeof(card));
    inbox_count = left_count = steps = 0;
    receive_code = ICTUS_ERR_SAMPLES;
    now = 5000 * second;
    peer.socket.mode = mode;
    peer.card.fd = -1;
    peer.options = (struct peer_options){
        .stamps = mode, .interleaved = interleaved, .timeout_s = 1.0, .max_distance_ns = 1e9};
}

/* The kernel's stamp of a request, once it has left the machine. */
static void stamp_leaves(uint32_t id, int64_t kernel, int64_t hardware)
{
    left[left_count].id = id;
    left[left_count++].stamps = (struct stamps){.kernel = kernel, .hardware = hardware};
}

static struct packet request_sent(void)
{
    struct packet request;
    REQUIRE(ictusi_packet_decode(sent.bytes, sent.length, &request));
    return request;
}

/* What the server's clock shows at a raw instant, as a packet has it. */
static uint64_t shown_at(int64_t raw)
{
    return ictusi_packet_stamp(raw + real_minus_raw + ahead_ns);
}

/*
 * The server's answer to the last request: it came at `t2` and was sent at `t3` (raw). An
 * interleaved one says with t3 when the answer before it left.
 */
static struct packet reply_made(int64_t t2, int64_t t3, bool interleaved)
{
    const struct packet request = request_sent();
    return (struct packet){.version = 4,
                           .mode = PACKET_SERVER,
                           .stratum = 2,
                           .root_delay_ns = 2e6,
                           .root_dispersion_ns = 3e6,
                           .origin = interleaved ? request.receive : request.transmit,
                           .receive = shown_at(t2),
                           .transmit = shown_at(t3)};
}

/* A reply reaches the machine at `t4` (raw), and the program later. */
static struct arrival *reply_arrives(const struct packet *reply, int64_t t4)
{
    struct arrival *a = &inbox[inbox_count++];
    memset(a, 0, sizeof(*a));
    ictusi_packet_encode(reply, a->bytes);
    a->length = PACKET_BYTES;
    a->stamps =
        (struct stamps){.user = t4 + RECEIVE_NS + real_minus_raw, .kernel = t4 + real_minus_raw};
    return a;
}

/* A whole exchange without incidents: there, hold and back in ns. @return what the peer says */
static int exchange(int64_t there, int64_t hold, int64_t back, struct sample *sample)
{
    REQUIRE(ictusi_peer_ask(&peer, &base) == ICTUS_OK);
    const int64_t t1 = sent.at + SEND_NS;
    const int64_t t4 = t1 + there + hold + back;
    const struct packet reply = reply_made(t1 + there, t1 + there + hold, false);
    stamp_leaves(peer.socket.sent - 1, t1 + real_minus_raw, 0);
    (void)reply_arrives(&reply, t4);
    now = t4 + RECEIVE_NS;
    return ictusi_peer_hear(&peer, &base, sample);
}

#endif
