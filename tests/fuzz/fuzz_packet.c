/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that reads packets: the reply's checks and the server's answer. */
#include "fuzz.h"
#include "lock/packet.h"
#include "lock/server.h"

#include <netinet/in.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct server server;
    const struct sockaddr_in from = {.sin_family = AF_INET};
    const struct server_request request = {.bytes = bytes,
                                           .length = length,
                                           .from = (const struct sockaddr *)(const void *)&from,
                                           .received_ns = INT64_C(1800000000000000000)};
    struct server_answer answer;
    struct packet packet;
    struct packet_mac mac;
    server.clock.stratum = 2;
    ictusi_server_answer(&server, &request, &answer);
    ictusi_server_finish(&answer, request.received_ns);
    fuzz_require(answer.length <= length);
    if (ictusi_packet_decode(bytes, length, &packet) &&
        ictusi_packet_trailer(bytes, length, &mac)) {
        const struct packet_request asked = {.transmit = packet.origin, .receive = 0};
        bool interleaved = false;
        (void)ictusi_packet_check_header(&packet, &asked, &interleaved);
        (void)ictusi_packet_check_content(&packet, 1e9);
        fuzz_require(!mac.present || mac.offset + 4 + mac.length == length);
    }
    return 0;
}
