/* SPDX-License-Identifier: BSD-3-Clause */
/* Answering NTP requests. */
#include "server.h"

#include <string.h>

/* 2^-25 s: a reading of the clock takes some 30 ns. */
enum { PRECISION = -25, STRATUM_NONE = 16 };

static const uint32_t kiss_rate = UINT32_C(0x52415445); /* "RATE" */

/*
 * Direct mapped, without chains: an answer forgets whichever had its slot before. Per client there
 * is no state at all, so that nothing can be filled up by forged addresses; an interleaved client
 * whose slot was taken gets an answer in basic mode, which is valid as well.
 */
static struct server_sent *server_slot_of(struct server *server, uint64_t receive)
{
    /* The low bits of a stamp are the fraction of a second: as good as random. */
    const uint64_t hash = (receive ^ receive >> 17) * UINT64_C(0x9e3779b97f4a7c15);
    /* Multiplicative hashing (Knuth, volume 3, 6.4): the upper 12 bits, one of 4096 slots. */
    return &server->memory[hash >> 52];
}

/* The stamp must name one answer only: move on by 0.23 ns where it is taken. */
static uint64_t server_remember(struct server *server, uint64_t receive)
{
    while (receive == 0 || server_slot_of(server, receive)->receive == receive) {
        receive++;
    }
    struct server_sent *slot = server_slot_of(server, receive);
    slot->receive = receive;
    slot->transmit = 0;
    return receive;
}

/*
 * When the answer of that receive stamp really left. A slot that another answer has taken since is
 * left alone.
 */
void ictusi_server_sent(struct server *server, uint64_t receive, int64_t transmit_ns)
{
    struct server_sent *slot = server_slot_of(server, receive);
    if (slot->receive == receive) {
        slot->transmit = ictusi_packet_stamp(transmit_ns);
    }
}

/*
 * A digest that does not verify is answered with silence and not with a crypto-NAK, which would
 * tell a forger about keys and reflect packets at third parties. @return false when there is to be
 * no answer; key is what signs it
 */
static bool server_authenticate(struct server *server, const struct server_request *request,
                                const struct key **key)
{
    struct packet_mac mac;
    *key = NULL;
    if (!ictusi_packet_trailer(request->bytes, request->length, &mac)) {
        server->counts.malformed++;
        return false;
    }
    if (mac.present && mac.length) {
        const struct key *found = ictusi_keys_find(&server->keys, mac.key);
        if (found && ictusi_key_verify(found, request->bytes, mac.offset, mac.length)) {
            *key = found;
            return true;
        }
        server->counts.unauthentic++;
        return false;
    }
    if (server->require_key) {
        server->counts.unauthentic++;
        return false;
    }
    return true;
}

static bool server_is_request(const struct packet *packet)
{
    /* Version 1 knew no modes; symmetric peers get no answer. */
    return packet->mode == PACKET_CLIENT && packet->version >= 2 && packet->version <= 4;
}

/* The header of an answer, without stamps: RFC 5905, 7.3. */
static void server_fill(const struct server *server, const struct packet *request,
                        struct packet *reply)
{
    const struct server_clock *clock = &server->clock;
    memset(reply, 0, sizeof(*reply));
    reply->version = request->version;
    reply->mode = PACKET_SERVER;
    reply->poll = request->poll;
    reply->precision = PRECISION;
    reply->origin = request->transmit;
    reply->root_delay_ns = clock->root_delay_ns;
    reply->root_dispersion_ns = clock->root_dispersion_ns;
    if (clock->stratum == 0 || clock->stratum >= STRATUM_NONE) {
        reply->leap = PACKET_LEAP_UNSYNCHRONISED;
        reply->stratum = 0; /* 16 is 0 on the wire */
        return;
    }
    reply->leap = clock->leap;
    reply->stratum = clock->stratum;
    reply->reference_id = clock->reference_id;
    reply->reference = ictusi_packet_stamp(clock->reference_ns);
}

/* In interleaved mode the origin names the answer before, by its receive stamp. */
static uint64_t server_earlier_transmit(struct server *server, const struct packet *request)
{
    /*
     * RFC 9769: a request in interleaved mode has different receive and transmit stamps, and its
     * origin is the receive stamp of an earlier answer. In basic mode the origin is 0 or that
     * answer's transmit stamp, which is not remembered here.
     */
    if (!request->origin || request->receive == request->transmit) {
        return 0;
    }
    const struct server_sent *slot = server_slot_of(server, request->origin);
    return slot->receive == request->origin ? slot->transmit : 0;
}

/* RFC 5905, 7.4. All stamps are the request's own, so that nobody can take the time from it. */
static void server_answer_kiss(const struct packet *request, struct server_answer *answer)
{
    const struct packet kiss = {.leap = PACKET_LEAP_UNSYNCHRONISED,
                                .version = request->version,
                                .mode = PACKET_SERVER,
                                .poll = request->poll,
                                .precision = PRECISION,
                                .reference_id = kiss_rate,
                                .origin = request->transmit,
                                .receive = request->transmit,
                                .transmit = request->transmit};
    ictusi_packet_encode(&kiss, answer->bytes);
    answer->length = PACKET_BYTES;
}

/* The limit comes before the digest, whose check costs more than it costs to forge a request. */
static bool server_limited(struct server *server, const struct server_request *request,
                           const struct address *address, const struct packet *packet,
                           struct server_answer *answer)
{
    const enum verdict verdict = ictusi_limiter_count(&server->limiter, address, request->raw_ns);
    if (verdict == LIMIT_ANSWER) {
        return false;
    }
    server->counts.limited++;
    if (verdict == LIMIT_LEAK) {
        server->counts.leaked++;
        return false;
    }
    if (verdict == LIMIT_KISS) {
        server->counts.kissed++;
        server_answer_kiss(packet, answer);
    }
    return true;
}

/*
 * From the cheapest refusal to the most expensive one; length 0 stands for no answer. The slot is
 * looked up (earlier) before the new receive stamp is remembered, since that may take the very
 * slot.
 */
void ictusi_server_answer(struct server *server, const struct server_request *request,
                          struct server_answer *answer)
{
    struct packet packet, reply;
    struct address address;
    memset(answer, 0, sizeof(*answer));
    server->counts.requests++;
    if (!ictusi_access_address_of(request->from, &address) ||
        !ictusi_access_may(&server->access, &address)) {
        server->counts.denied++;
        return;
    }
    if (!ictusi_packet_decode(request->bytes, request->length, &packet) ||
        !server_is_request(&packet)) {
        server->counts.malformed++;
        return;
    }
    if (server_limited(server, request, &address, &packet, answer) ||
        !server_authenticate(server, request, &answer->key)) {
        return;
    }
    server_fill(server, &packet, &reply);
    const uint64_t earlier = server_earlier_transmit(server, &packet);
    answer->receive = server_remember(server, ictusi_packet_stamp(request->received_ns));
    reply.receive = answer->receive;
    if (earlier) {
        reply.origin = packet.receive;
        reply.transmit = earlier;
        server->counts.interleaved++;
    }
    answer->basic = !earlier;
    answer->length = PACKET_BYTES;
    server->counts.answered++;
    ictusi_packet_encode(&reply, answer->bytes);
}

/*
 * As late as can be: the transmit stamp, then the digest over all of it. Big-endian, at byte 40 of
 * the packet.
 */
void ictusi_server_finish(struct server_answer *answer, int64_t transmit_ns)
{
    enum { TRANSMIT_AT = 40 };
    if (answer->basic) {
        const uint64_t stamp = ictusi_packet_stamp(transmit_ns);
        for (size_t i = 0; i < 8; i++) {
            answer->bytes[TRANSMIT_AT + i] = (uint8_t)(stamp >> (56 - 8 * i));
        }
    }
    if (answer->key && answer->length == PACKET_BYTES) {
        answer->length = ictusi_key_sign(answer->key, answer->bytes, answer->length);
    }
}
