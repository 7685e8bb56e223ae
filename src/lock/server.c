/* SPDX-License-Identifier: BSD-3-Clause */
/* Answering NTP requests. */
#include "server.h"

#include <string.h>

/* 2^-25 s: reading the clock takes about 30 ns. */
enum { PRECISION = -25, STRATUM_NONE = 16 };

static const uint32_t kiss_rate = UINT32_C(0x52415445); /* "RATE" */

/*
 * The memory is direct mapped, without chains: a new answer replaces the one that had its slot.
 * There is no state for each client, so forged addresses cannot fill anything up. An interleaved
 * client whose slot was taken gets an answer in basic mode, which is also valid.
 */
static struct server_sent *server_slot_of(struct server *server, uint64_t receive)
{
    /* The low bits of a stamp are the fraction of a second, which is practically random. */
    const uint64_t hash = (receive ^ receive >> 17) * UINT64_C(0x9e3779b97f4a7c15);
    /* Multiplicative hashing (Knuth, volume 3, 6.4): the upper 12 bits select one of 4096 slots. */
    return &server->memory[hash >> 52];
}

/* Store an answer. Its stamp must identify one answer only, so it is increased by 0.23 ns if it
 * is taken. */
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

/* Record when the answer with this receive stamp really left. If another answer has taken the
 * slot since, nothing is changed. */
void ictusi_server_sent(struct server *server, uint64_t receive, int64_t transmit_ns)
{
    struct server_sent *slot = server_slot_of(server, receive);
    if (slot->receive == receive) {
        slot->transmit = ictusi_packet_stamp(transmit_ns);
    }
}

/*
 * Check the authenticator of a request and set *key to the key that signs the answer. A wrong
 * digest is answered by silence and not by a crypto-NAK, which would tell a forger about keys and
 * reflect packets to third parties. @return false if there must be no answer
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
    /* Version 1 has no modes, and symmetric peers get no answer. */
    return packet->mode == PACKET_CLIENT && packet->version >= 2 && packet->version <= 4;
}

/* Fill the header of an answer except for the stamps: RFC 5905, 7.3. */
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
        reply->stratum = 0; /* 16 is 0 in the packet */
        return;
    }
    reply->leap = clock->leap;
    reply->stratum = clock->stratum;
    reply->reference_id = clock->reference_id;
    reply->reference = ictusi_packet_stamp(clock->reference_ns);
}

/* Return the transmit stamp of the previous answer in interleaved mode, where the origin
 * identifies that answer by its receive stamp. Return 0 in basic mode. */
static uint64_t server_earlier_transmit(struct server *server, const struct packet *request)
{
    /*
     * RFC 9769: in interleaved mode the receive and transmit stamps of a request differ, and its
     * origin is the receive stamp of an earlier answer. In basic mode the origin is 0 or the
     * transmit stamp of that answer, which is not stored here.
     */
    if (!request->origin || request->receive == request->transmit) {
        return 0;
    }
    const struct server_sent *slot = server_slot_of(server, request->origin);
    return slot->receive == request->origin ? slot->transmit : 0;
}

/* RFC 5905, 7.4. All stamps are the request's own, so that the time cannot be taken from the
 * kiss. */
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

/* The rate limit is checked before the digest, because checking a digest costs more than forging
 * a request. */
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
 * Refusals are checked from the cheapest to the most expensive one. A length of 0 means no answer.
 * The earlier answer is looked up before the new receive stamp is stored, because that may take the
 * same slot.
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

/* Called as late as possible: sets the transmit stamp, in network order at byte 40 of the
 * packet, and then computes the digest over the whole packet. */
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
