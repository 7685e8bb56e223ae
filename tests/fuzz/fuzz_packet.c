/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that reads packets: the server's answer and the client's check of it, with and without
 * keys. An input is taken as it is, and once more with an authenticator that is right.
 */
#include "fuzz.h"
#include "lock/packet.h"
#include "lock/peer.h"
#include "lock/server.h"

#include <netinet/in.h>
#include <string.h>

enum { ROOM = PACKET_MAX + KEY_MAC_BYTES };

static const int64_t noon = INT64_C(1800000000000000000);

static struct key key = {.id = 3, .length = 16, .bytes = {1, 2, 3, 4}};

/* @return how long the answer is */
static size_t ask_server(const uint8_t *bytes, size_t length, bool keyed)
{
    static struct server server;
    const struct sockaddr_in from = {.sin_family = AF_INET};
    const struct server_request request = {.bytes = bytes,
                                           .length = length,
                                           .from = (const struct sockaddr *)(const void *)&from,
                                           .received_ns = noon};
    struct server_answer answer;
    server.clock.stratum = 2;
    server.keys.list = &key;
    server.keys.count = 1;
    server.require_key = keyed;
    ictusi_server_answer(&server, &request, &answer);
    ictusi_server_finish(&answer, request.received_ns);
    fuzz_require(answer.length <= length);
    return answer.length;
}

/* The client, to whom the input is an answer to the very request that it names. */
static enum packet_fault ask_client(const uint8_t *bytes, size_t length, bool keyed)
{
    static struct peer peer;
    uint8_t copy[ROOM];
    struct packet reply, seen;
    struct packet_request asked = {.transmit = 1};
    bool interleaved = false;
    peer.options.key = keyed ? &key : NULL;
    peer.options.max_distance_ns = 1e9;
    memcpy(copy, bytes, length);
    if (ictusi_packet_decode(bytes, length, &seen)) {
        asked.transmit = seen.origin;
    }
    const struct stamp_datagram datagram = {.bytes = copy, .size = sizeof(copy), .length = length};
    const enum packet_fault fault =
        ictusi_peer_check(&peer, &datagram, &asked, &reply, &interleaved);
    fuzz_require(fault != PACKET_ORIGIN);
    return fault;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    uint8_t copy[ROOM];
    struct packet_mac mac;
    length = length < PACKET_MAX ? length : PACKET_MAX;
    (void)ask_server(bytes, length, false);
    (void)ask_server(bytes, length, true);
    (void)ask_client(bytes, length, false);
    (void)ask_client(bytes, length, true);
    if (ictusi_packet_trailer(bytes, length, &mac)) {
        fuzz_require(!mac.present || mac.offset + 4 + mac.length == length);
    }
    memset(copy, 0, sizeof(copy));
    memcpy(copy, bytes, length < PACKET_BYTES ? length : PACKET_BYTES);
    (void)ictusi_key_sign(&key, copy, PACKET_BYTES);
    const size_t whole = PACKET_BYTES + KEY_MAC_BYTES;
    if (!ictusi_key_verify(&key, copy, PACKET_BYTES, KEY_MAC_BYTES - 4)) {
        return 0; /* built without libnettle */
    }
    fuzz_require(ask_client(copy, whole, true) != PACKET_AUTHENTICATION);
    const size_t answered = ask_server(copy, whole, true);
    fuzz_require(answered == 0 || answered == whole || answered == PACKET_BYTES);
    copy[whole - 1] ^= 1;
    const enum packet_fault fault = ask_client(copy, whole, true);
    fuzz_require(fault != PACKET_GOOD && fault != PACKET_KISS);
    fuzz_require(ask_server(copy, whole, true) == 0);
    return 0;
}
