/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchange with one NTP server. */
#include "peer.h"

#include "refid.h"

#include <errno.h>
#include <ictus/text.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

/* The transmit stamp comes with the send or shortly after. Never wait longer (ns) for it. */
static const int64_t stamp_wait_ns = 2000000;

/* A reply is lost if it takes longer than this many usual round trips, but not before
 * patience_min_s. */
static const double patience_trips = 8.0;
static const double patience_min_s = 0.05;

/* If a server holds a request longer than this (ns), the frequency difference matters: 1 s at 10
 * ppm is 10 us. */
static const int64_t hold_max_ns = INT64_C(1000000000);

enum { REQUEST_BYTES = PACKET_BYTES + KEY_MAC_BYTES, NTP_VERSION = 4, POLL_LOG2 = 6 };

int ictusi_peer_name(const char *text, struct peer *peer, struct ictus_why *why)
{
    const char *host = text;
    size_t length = strlen(text);
    const char *port = NULL;
    /* One colon separates a port. Several colons make an IPv6 address without a port. */
    const char *colon = strchr(text, ':');
    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        if (!end || (end[1] && end[1] != ':')) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "'%.100s' is not an address; write [ADDRESS]:PORT", text);
        }
        host = text + 1;
        length = (size_t)(end - host);
        port = end[1] ? end + 2 : NULL;
    } else if (colon && !strchr(colon + 1, ':')) {
        length = (size_t)(colon - text);
        port = colon + 1;
    }
    int64_t number = PACKET_PORT;
    if (length == 0 || length >= sizeof(peer->host) ||
        (port && (ictus_parse_int(port, &number) || number < 1 || number > 65535))) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "'%.100s' is not a host; write HOST, HOST:PORT or [IPV6]:PORT", text);
    }
    memcpy(peer->host, host, length);
    peer->host[length] = '\0';
    (void)snprintf(peer->port, sizeof(peer->port), "%u", (unsigned)number);
    peer->socket.fd = -1;
    peer->card.fd = -1;
    return ICTUS_OK;
}

/* A connected socket receives datagrams from this server only, and reports ports on which nobody
 * listens. */
static int peer_connect_one(struct peer *peer, const struct addrinfo *info, struct ictus_why *why)
{
    peer->socket.fd = socket(info->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (peer->socket.fd < 0) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot open a socket for %s: %s", peer->host,
                             strerror(errno));
    }
    if (connect(peer->socket.fd, info->ai_addr, info->ai_addrlen) < 0) {
        const int err =
            ictus_because(why, ICTUS_ERR_IO, "cannot reach %s: %s", peer->host, strerror(errno));
        ictusi_peer_close(peer);
        return err;
    }
    (void)getnameinfo(info->ai_addr, info->ai_addrlen, peer->address, sizeof(peer->address), NULL,
                      0, NI_NUMERICHOST);
    peer->reference_id = ictusi_refid_of(info->ai_addr);
    return ICTUS_OK;
}

/* Enable hardware stamps if requested. If the card cannot, the kernel stamps instead, and `why`
 * says so. */
static void peer_enable_stamps(struct peer *peer, struct ictus_why *why)
{
    enum stamp_mode mode = peer->options.stamps;
    if (mode == STAMP_HARDWARE && ictusi_card_open(peer->socket.fd, &peer->card, why)) {
        mode = STAMP_KERNEL;
    }
    (void)ictusi_stamp_enable(&peer->socket, mode, why);
}

int ictusi_peer_connect(struct peer *peer, const struct addrinfo *info, struct ictus_why *why)
{
    ictusi_peer_close(peer);
    const int err = peer_connect_one(peer, info, why);
    if (!err) {
        peer->patience_s = 0.0;
        peer_enable_stamps(peer, why);
    }
    return err;
}

void ictusi_peer_close(struct peer *peer)
{
    if (peer->socket.fd >= 0) {
        (void)close(peer->socket.fd);
    }
    peer->socket.fd = -1;
    peer->last.valid = false;
    ictusi_card_close(&peer->card);
}

/*
 * t1, t4: raw time of this machine. t2, t3: UTC of the server (all in ns). Midpoints are computed
 * as integers, because a double has no room for an instant since 1970, and from 2116 on t2 + t3
 * would overflow an int64_t.
 */
bool ictusi_peer_sample(const struct peer_exchange *exchange, struct sample *sample)
{
    const int64_t trip = exchange->t4 - exchange->t1;
    const int64_t hold = exchange->t3 - exchange->t2;
    /* The hold is by the server's clock and the trip by ours. Allow for 500 ppm and the stamps'
     * resolution. */
    const double slack = 50.0 + 5e-4 * fabs((double)hold);
    if (trip <= 0 || hold < 0 || hold > hold_max_ns || (double)(trip - hold) < -slack) {
        return false;
    }
    memset(sample, 0, sizeof(*sample));
    /*
     * RFC 5905, section 8: offset = ((t2 - t1) + (t3 - t4)) / 2 and delay = (t4 - t1) - (t3 - t2).
     * The true offset differs from it by at most half the delay, however long the two directions
     * took.
     */
    sample->local = exchange->t1 + trip / 2;
    sample->offset_ns = exchange->t2 + hold / 2 - sample->local;
    sample->delay_ns = fmax(0.0, (double)(trip - hold));
    sample->bound_ns = sample->delay_ns / 2 + slack;
    sample->root_ns = exchange->root_ns;
    sample->network_ns = sample->delay_ns;
    sample->kernel = exchange->kernel;
    if (exchange->kernel) {
        sample->send_ns = (double)(exchange->t1 - exchange->user1);
        sample->receive_ns = (double)(exchange->user4 - exchange->t4);
    }
    return true;
}

/* The result is never 0, which means "no time stamp". */
static uint64_t peer_random_stamp(void)
{
    uint64_t value = 0;
    while (value == 0) {
        if (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value)) {
            value = 0;
        }
    }
    return value;
}

/*
 * The request reveals nothing about the client or its clock. RFC 9769 allows random stamps. The
 * transmit stamp is random, which also keeps an answer from being prepared in advance, and a
 * precision of 32 means "unknown". In interleaved mode the origin is the server's last receive
 * stamp, by which the server finds the time at which its last answer really left.
 */
static int peer_send_request(struct peer *peer, struct packet_request *request, int64_t *user)
{
    uint8_t bytes[REQUEST_BYTES];
    size_t length = PACKET_BYTES;
    struct packet packet = {.version = NTP_VERSION,
                            .mode = PACKET_CLIENT,
                            .leap = 0,
                            .poll = POLL_LOG2,
                            .precision = 32};
    request->transmit = peer_random_stamp();
    request->receive = 0;
    packet.transmit = request->transmit;
    if (peer->options.interleaved && peer->last.valid) {
        request->receive = peer_random_stamp();
        packet.receive = request->receive;
        packet.origin = peer->last.wire2;
    }
    ictusi_packet_encode(&packet, bytes);
    if (peer->options.key) {
        length = ictusi_key_sign(peer->options.key, bytes, length);
    }
    peer->sent++;
    return ictusi_stamp_send(&peer->socket, bytes, length, NULL, user);
}

/* If a key is required, a reply without an authenticator or with another key is treated as
 * forged. */
static bool peer_reply_authentic(const struct peer *peer, const uint8_t *bytes,
                                 const struct packet_mac *mac)
{
    const struct key *key = peer->options.key;
    return !key || (mac->present && mac->key == key->id &&
                    ictusi_key_verify(key, bytes, mac->offset, mac->length));
}

/*
 * The order of the checks: first those that cost nothing; then the header with its origin, before
 * the digest, so that a flood of forgeries costs no AES; and what the server says about itself only
 * after it is known to be the server.
 */
enum packet_fault ictusi_peer_check(const struct peer *peer, const struct stamp_datagram *datagram,
                                    const struct packet_request *request, struct packet *reply,
                                    bool *interleaved)
{
    struct packet_mac mac;
    if (datagram->length > datagram->size ||
        !ictusi_packet_decode(datagram->bytes, datagram->length, reply) ||
        !ictusi_packet_trailer(datagram->bytes, datagram->length, &mac)) {
        return PACKET_SHORT;
    }
    const enum packet_fault fault = ictusi_packet_check_header(reply, request, interleaved);
    if (fault) {
        return fault;
    }
    if (!peer_reply_authentic(peer, datagram->bytes, &mac)) {
        return PACKET_AUTHENTICATION;
    }
    return ictusi_packet_check_content(reply, peer->options.max_distance_ns);
}

/* Return whether a refused reply ends the exchange, because it is the server's own statement. */
static bool final_fault(enum packet_fault fault)
{
    return fault >= PACKET_KISS;
}

/* Read all datagrams until one answers. Others are duplicates, late or forged, and are counted
 * by fault. */
static int peer_take_replies(struct peer *peer, struct peer_wait *wait)
{
    struct stamp_datagram datagram = {.bytes = wait->bytes, .size = sizeof(wait->bytes)};
    int err = 0;
    while (!wait->answered && !(err = ictusi_stamp_receive(&peer->socket, &datagram))) {
        struct packet reply;
        const enum packet_fault fault =
            ictusi_peer_check(peer, &datagram, &wait->request, &reply, &wait->interleaved);
        peer->faults[fault]++;
        if (fault == PACKET_GOOD || final_fault(fault)) {
            peer->reply = reply;
        }
        if (fault && (peer->fault = fault, final_fault(fault))) {
            return ICTUS_ERR_FORMAT;
        }
        if (!fault) {
            wait->reply = datagram;
            wait->answered = true;
        }
    }
    return err == ICTUS_ERR_IO ? ICTUS_ERR_IO : ICTUS_OK;
}

/* Read the transmit stamp of the last request. Stamps of earlier requests came too late to be
 * used. */
static void peer_take_sent(struct peer *peer, struct peer_wait *wait)
{
    struct stamps stamps;
    uint32_t id = 0;
    while (ictusi_stamp_sent(&peer->socket, &id, &stamps) == ICTUS_OK) {
        if (id != peer->socket.sent - 1) {
            continue;
        }
        wait->sent.kernel = stamps.kernel ? stamps.kernel : wait->sent.kernel;
        wait->sent.hardware = stamps.hardware ? stamps.hardware : wait->sent.hardware;
        wait->stamped = wait->sent.hardware || peer->socket.mode != STAMP_HARDWARE;
    }
}

/* @return PEER_PENDING, or the result */
static int peer_look_for_reply(struct peer *peer, struct peer_wait *wait)
{
    const bool stamps = peer->socket.mode != STAMP_USER;
    const bool was = wait->answered;
    if (stamps) {
        peer_take_sent(peer, wait);
    }
    const int err = peer_take_replies(peer, wait);
    if (err || (wait->answered && (wait->stamped || !stamps))) {
        return err;
    }
    const int64_t now = ictusi_timebase_raw_now();
    /* The reply came before the transmit stamp of its request, so wait a little longer, but not
     * more. */
    if (wait->answered && !was && wait->deadline - now > stamp_wait_ns) {
        wait->deadline = now + stamp_wait_ns;
    }
    if (now < wait->deadline) {
        return PEER_PENDING;
    }
    return wait->answered ? ICTUS_OK : ICTUS_ERR_TIMEOUT;
}

static int peer_call_ioctl(int fd, unsigned long request, void *argument)
{
    return ioctl(fd, request, argument);
}

/* Use the card's stamps if both are available. */
static bool peer_take_hardware(struct peer *peer, struct timebase *base,
                               const struct peer_wait *wait, struct peer_exchange *exchange)
{
    static const struct device_calls calls = {.ioctl = peer_call_ioctl};
    if (peer->card.fd < 0 || !wait->sent.hardware || !wait->reply.stamps.hardware ||
        ictusi_card_compare(&calls, &peer->card, base)) {
        return false;
    }
    exchange->t1 = ictusi_card_raw(&peer->card, wait->sent.hardware);
    exchange->t4 = ictusi_card_raw(&peer->card, wait->reply.stamps.hardware);
    exchange->kernel = true;
    return true;
}

/* Both of the client's stamps are of one kind. Mixed ones would shift the offset by half the
 * overhead. */
static void peer_fill_exchange(struct peer *peer, struct timebase *base,
                               const struct peer_wait *wait, struct peer_exchange *exchange)
{
    const struct stamps *got = &wait->reply.stamps;
    const int64_t now = ictusi_timebase_real_now();
    exchange->kernel = wait->sent.kernel && got->kernel;
    exchange->user1 = ictusi_timebase_raw(base, wait->sent.user);
    exchange->user4 = ictusi_timebase_raw(base, got->user);
    exchange->t1 =
        exchange->kernel ? ictusi_timebase_raw(base, wait->sent.kernel) : exchange->user1;
    exchange->t4 = exchange->kernel ? ictusi_timebase_raw(base, got->kernel) : exchange->user4;
    (void)peer_take_hardware(peer, base, wait, exchange);
    exchange->wire2 = peer->reply.receive;
    exchange->root_ns = peer->reply.root_delay_ns / 2 + peer->reply.root_dispersion_ns;
    exchange->t2 = ictusi_packet_unix(peer->reply.receive, now);
    exchange->t3 = ictusi_packet_unix(peer->reply.transmit, now);
    exchange->valid = true;
    if (!exchange->kernel && peer->socket.mode != STAMP_USER) {
        peer->missing++;
    }
}

/* Learn how long to wait for the next reply (s): 8 of the latest round trips, at least 50 ms and
 * at most --timeout. A lost packet should not cost a second if replies take a millisecond. */
static void peer_learn_patience(struct peer *peer, const struct peer_exchange *exchange)
{
    const double trip_s = (double)(exchange->user4 - exchange->user1) / 1e9;
    const double wanted = fmax(patience_min_s, patience_trips * trip_s);
    /* Decrease slowly, so that one quick reply does not make the next one seem late. Increase at
     * once. */
    peer->patience_s = fmin(peer->options.timeout_s, fmax(wanted, 0.8 * peer->patience_s));
}

/* Return how often the clock was set or the machine suspended. An exchange during which this
 * changes is useless. */
static unsigned timebase_disturbances(const struct timebase *base)
{
    return base->stepped + base->suspended;
}

/* Send a request. The timebase is read first, because an exchange is worthless if the clock was
 * set since. */
int ictusi_peer_ask(struct peer *peer, struct timebase *base)
{
    struct peer_wait *wait = &peer->wait;
    memset(wait, 0, sizeof(*wait));
    peer->fault = PACKET_GOOD;
    wait->disturbed = timebase_disturbances(base);
    (void)ictusi_timebase_read(base);
    if (timebase_disturbances(base) != wait->disturbed) {
        peer->last.valid = false;
        return ICTUS_ERR_CLOCK;
    }
    if (peer->patience_s <= 0.0) {
        peer->patience_s = peer->options.timeout_s;
    }
    const int err = peer_send_request(peer, &wait->request, &wait->sent.user);
    wait->deadline = ictusi_timebase_raw_now() + (int64_t)(peer->patience_s * 1e9);
    peer->last.valid = peer->last.valid && !err;
    return err;
}

/*
 * Compute the sample of the exchange, or in interleaved mode that of the previous exchange:
 *     interleaved: t1, t2, t4 of the previous exchange, t3 of this reply
 * The root distances of the two replies may differ, and the larger one counts. If an exchange was
 * lost in between, before->valid is false and there is no sample.
 */
static int exchange_conclude(struct peer *peer, const struct peer_exchange *before,
                             struct sample *sample)
{
    const struct peer_exchange *now = &peer->last;
    if (peer->wait.interleaved) {
        /* The reply contains the time at which the previous one really left. */
        struct peer_exchange whole = *before;
        /*
         * The transmit stamp of a basic reply was taken before the packet left. The next reply
         * contains the stamp of the kernel or the card (RFC 9769). t1, t2 and t4 are therefore
         * those of the previous exchange.
         */
        whole.t3 = now->t3;
        whole.root_ns = fmax(before->root_ns, now->root_ns);
        if (before->valid && ictusi_peer_sample(&whole, sample)) {
            sample->interleaved = true;
            return ICTUS_OK;
        }
    } else if (ictusi_peer_sample(now, sample)) {
        return peer->options.interleaved && !before->valid ? ICTUS_ERR_SAMPLES : ICTUS_OK;
    }
    peer->fault = PACKET_TIMES;
    peer->faults[PACKET_TIMES]++;
    return ICTUS_ERR_FORMAT;
}

/* Drop the exchange if CLOCK_REALTIME was set or the machine suspended during it. The kernel's
 * stamps of its two ends are then on different scales, and the difference is unknown. */
int ictusi_peer_hear(struct peer *peer, struct timebase *base, struct sample *sample)
{
    struct peer_exchange now = {0};
    const struct peer_exchange before = peer->last;
    int err = peer_look_for_reply(peer, &peer->wait);
    if (err == PEER_PENDING) {
        return err;
    }
    (void)ictusi_timebase_read(base);
    if (timebase_disturbances(base) != peer->wait.disturbed) {
        err = ICTUS_ERR_CLOCK;
    }
    if (err) {
        peer->last.valid = false;
        /* The path may have become slower than the learned patience. */
        if (err == ICTUS_ERR_TIMEOUT) {
            peer->patience_s = fmin(peer->options.timeout_s, 2.0 * peer->patience_s);
        }
        return err;
    }
    peer->received++;
    peer_fill_exchange(peer, base, &peer->wait, &now);
    peer->last = now;
    peer_learn_patience(peer, &now);
    return exchange_conclude(peer, &before, sample);
}
