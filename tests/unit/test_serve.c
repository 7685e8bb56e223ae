/* SPDX-License-Identifier: BSD-3-Clause */
/* The NTP server without sockets: modes, keys, limits, lists, and random requests. */
#include "core/random.h"
#include "lock/server.h"

#include "../check.h"

#include <arpa/inet.h>

static const int64_t noon = INT64_C(1800000000000000000);

static struct server server; /* large; each test resets it */

static void start(void)
{
    memset(&server, 0, sizeof(server));
    ictusi_limiter_init(&server.limiter, 0.0, 1.0, 42);
    server.clock = (struct server_clock){.stratum = 2,
                                         .root_delay_ns = 1e5,
                                         .root_dispersion_ns = 2e5,
                                         .reference_id = 0x0a000001,
                                         .reference_ns = noon - 5000000000};
}

static struct sockaddr_in v4(const char *text)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    REQUIRE(inet_pton(AF_INET, text, &a.sin_addr) == 1);
    return a;
}

static void ask_bytes(const uint8_t *bytes, size_t length, const char *from, int64_t now,
                      struct server_answer *answer)
{
    const struct sockaddr_in a = v4(from);
    const struct server_request request = {.bytes = bytes,
                                           .length = length,
                                           .from = (const struct sockaddr *)(const void *)&a,
                                           .received_ns = now,
                                           .raw_ns = now - noon};
    ictusi_server_answer(&server, &request, answer);
    ictusi_server_finish(answer, now + 1000);
}

static bool ask(const struct packet *packet, int64_t now, struct packet *reply)
{
    uint8_t bytes[PACKET_BYTES];
    struct server_answer answer;
    ictusi_packet_encode(packet, bytes);
    ask_bytes(bytes, sizeof(bytes), "10.0.0.9", now, &answer);
    return answer.length == PACKET_BYTES &&
           ictusi_packet_decode(answer.bytes, answer.length, reply);
}

static void test_basic(void)
{
    struct packet reply;
    const struct packet request = {
        .version = 4, .mode = PACKET_CLIENT, .poll = 3, .transmit = 0x1234};
    start();
    REQUIRE(ask(&request, noon, &reply));
    CHECK(reply.mode == PACKET_SERVER && reply.version == 4 && reply.stratum == 2);
    CHECK(reply.origin == 0x1234 && reply.poll == 3 && reply.leap == 0);
    CHECK_NEAR((double)(ictusi_packet_unix(reply.receive, noon) - noon), 0, 1);
    CHECK_NEAR((double)(ictusi_packet_unix(reply.transmit, noon) - noon), 1000, 1);
    CHECK(reply.root_delay_ns / 2 + reply.root_dispersion_ns >= 2.5e5);
    server.clock.stratum = 16;
    REQUIRE(ask(&request, noon, &reply));
    CHECK(reply.stratum == 0 && reply.leap == PACKET_LEAP_UNSYNCHRONISED);
    CHECK(reply.reference_id == 0); /* unsynchronised is not a kiss code */
}

static void test_interleaved(void)
{
    struct packet first, second, third;
    struct packet request = {.version = 4, .mode = PACKET_CLIENT, .transmit = 1};
    start();
    REQUIRE(ask(&request, noon, &first));
    request.origin = first.receive;
    request.receive = 77;
    request.transmit = 2;
    /* While the time at which the first reply left is unknown, the answer is basic. */
    REQUIRE(ask(&request, noon + 1000000, &second));
    CHECK(second.origin == 2);
    ictusi_server_sent(&server, second.receive, noon + 1004321);
    request.origin = second.receive;
    request.transmit = 3;
    REQUIRE(ask(&request, noon + 2000000, &third));
    CHECK(third.origin == 77);
    CHECK_NEAR((double)(ictusi_packet_unix(third.transmit, noon) - noon), 1004321, 1);
    CHECK_NEAR((double)(ictusi_packet_unix(third.receive, noon) - noon), 2000000, 1);
    CHECK(server.counts.interleaved == 1);
    /* Two requests in the same nanosecond get different stamps. */
    REQUIRE(ask(&request, noon + 3000000, &first) && ask(&request, noon + 3000000, &second));
    CHECK(first.receive != second.receive);
}

static void test_refusals(void)
{
    struct packet reply;
    struct packet request = {.version = 4, .mode = PACKET_SERVER, .transmit = 1};
    start();
    CHECK(!ask(&request, noon, &reply));
    request.mode = PACKET_CLIENT;
    request.version = 5;
    CHECK(!ask(&request, noon, &reply));
    request.version = 1;
    CHECK(!ask(&request, noon, &reply));
    CHECK(server.counts.malformed == 3);
    for (request.version = 2; request.version <= 4; request.version++) {
        CHECK(ask(&request, noon, &reply) && reply.version == request.version);
    }
}

static void test_lists(void)
{
    struct access access;
    struct ictus_why why;
    struct address address;
    const struct sockaddr_in inside = v4("10.1.2.3"), denied = v4("10.9.1.1"),
                             outside = v4("192.0.2.1");
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    REQUIRE(inet_pton(AF_INET6, "fd00::5", &six.sin6_addr) == 1);
    REQUIRE(ictusi_access_read(&access, "10.9.0.0/16", "10.0.0.0/8,fd00::/8", &why) == ICTUS_OK);
    REQUIRE(ictusi_access_address_of((const struct sockaddr *)(const void *)&inside, &address));
    CHECK(ictusi_access_may(&access, &address));
    REQUIRE(ictusi_access_address_of((const struct sockaddr *)(const void *)&denied, &address));
    CHECK(!ictusi_access_may(&access, &address));
    REQUIRE(ictusi_access_address_of((const struct sockaddr *)(const void *)&outside, &address));
    CHECK(!ictusi_access_may(&access, &address));
    REQUIRE(ictusi_access_address_of((const struct sockaddr *)(const void *)&six, &address));
    CHECK(ictusi_access_may(&access, &address));
    struct server_answer answer;
    uint8_t bytes[PACKET_BYTES];
    const struct packet request = {.version = 4, .mode = PACKET_CLIENT, .transmit = 1};
    ictusi_packet_encode(&request, bytes);
    start();
    server.access = access;
    ask_bytes(bytes, sizeof(bytes), "10.9.1.1", noon, &answer);
    CHECK(answer.length == 0);
    ask_bytes(bytes, sizeof(bytes), "10.1.2.3", noon, &answer);
    CHECK(answer.length == PACKET_BYTES);
    CHECK(server.counts.requests == 2 && server.counts.denied == 1 && server.counts.answered == 1);
    static const char *const wrong[] = {"10.0.0.0/33",  "10.0.0/8", "x",
                                        "10.0.0.0/8,,", "::/129",   "10.0.0.0/-1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK(ictusi_access_read(&access, NULL, wrong[i], &why) == ICTUS_ERR_SPEC);
    }
    REQUIRE(ictusi_access_read(&access, NULL, NULL, &why) == ICTUS_OK);
    CHECK(ictusi_access_may(&access, &address));
}

/* As many networks as there is room for, each with the longest possible text. */
static void test_long_lists(void)
{
    struct access access;
    struct ictus_why why;
    struct address address, mapped;
    char list[8 * (ACCESS_NETWORKS + 1)] = "";
    char text[100];
    memset(text, '1', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    CHECK(ictusi_access_read(&access, NULL, text, &why) == ICTUS_ERR_SPEC);
    for (int length = 79; length <= 80; length++) { /* one more than there is room for */
        memset(text, '0', sizeof(text));
        memcpy(text, "::1/", 4);
        memcpy(text + length - 3, "128", 4);
        CHECK((ictusi_access_read(&access, NULL, text, &why) == ICTUS_OK) == (length == 79));
    }
    for (int i = 0; i < ACCESS_NETWORKS; i++) {
        (void)strncat(list, i ? ",::1" : "::7", sizeof(list) - strlen(list) - 1);
    }
    REQUIRE(ictusi_access_read(&access, NULL, list, &why) == ICTUS_OK);
    CHECK(ictusi_access_read(&access, list, list, &why) == ICTUS_OK);
    (void)strncat(list, ",::1", sizeof(list) - strlen(list) - 1);
    CHECK(ictusi_access_read(&access, NULL, list, &why) == ICTUS_ERR_SPEC);
    /* An IPv4 address equals the IPv6 address that is mapped from it. */
    const struct sockaddr_in from = v4("192.0.2.7");
    memset(&address, 0x55, sizeof(address));
    REQUIRE(ictusi_access_address_of((const struct sockaddr *)(const void *)&from, &address));
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    REQUIRE(inet_pton(AF_INET6, "::ffff:192.0.2.7", &six.sin6_addr) == 1);
    REQUIRE(ictusi_access_address_of((const struct sockaddr *)(const void *)&six, &mapped));
    CHECK(memcmp(address.bytes, mapped.bytes, 16) == 0);
}

/* Whether the first bits of two addresses agree, compared bit by bit. */
static bool same_bits(const uint8_t *a, const uint8_t *b, int bits)
{
    for (int i = 0; i < bits; i++) {
        if (((a[i / 8] ^ b[i / 8]) >> (7 - i % 8)) & 1) {
            return false;
        }
    }
    return true;
}

/* Prefixes of all lengths, against addresses that share some of their bits. */
static void test_prefixes(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 77, 0);
    for (int i = 0; i < 20000; i++) {
        struct access access;
        struct ictus_why why;
        struct address from;
        struct sockaddr_in a = {.sin_family = AF_INET}, b = {.sin_family = AF_INET};
        struct sockaddr_in6 a6 = {.sin6_family = AF_INET6}, b6 = {.sin6_family = AF_INET6};
        const bool six = i % 2;
        const int size = six ? 16 : 4;
        uint8_t *network = six ? a6.sin6_addr.s6_addr : (uint8_t *)&a.sin_addr;
        uint8_t *asking = six ? b6.sin6_addr.s6_addr : (uint8_t *)&b.sin_addr;
        char text[INET6_ADDRSTRLEN], list[INET6_ADDRSTRLEN + 8];
        const int bits = (int)ictusi_random_below(&rng, (uint64_t)size * 8 + 1);
        const int shared = (int)ictusi_random_below(&rng, (uint64_t)size * 8 + 1);
        for (int byte = 0; byte < size; byte++) {
            const int left = shared - 8 * byte;
            const uint8_t mask = (uint8_t)(left >= 8 ? 0 : left <= 0 ? 0xff : 0xff >> left);
            network[byte] = (uint8_t)ictusi_random_next(&rng);
            asking[byte] = (uint8_t)(network[byte] ^ (ictusi_random_next(&rng) & mask));
        }
        if (six) {
            network[0] = asking[0] = (uint8_t)(asking[0] | 0x20); /* not a mapped address */
        }
        REQUIRE(inet_ntop(six ? AF_INET6 : AF_INET, network, text, sizeof(text)) != NULL);
        (void)snprintf(list, sizeof(list), "%s/%d", text, bits);
        REQUIRE(ictusi_access_read(&access, NULL, list, &why) == ICTUS_OK);
        REQUIRE(ictusi_access_address_of(six ? (const struct sockaddr *)(const void *)&b6
                                             : (const struct sockaddr *)(const void *)&b,
                                         &from));
        CHECK(ictusi_access_may(&access, &from) == same_bits(network, asking, bits));
        REQUIRE(ictusi_access_read(&access, list, NULL, &why) == ICTUS_OK);
        CHECK(ictusi_access_may(&access, &from) == !same_bits(network, asking, bits));
    }
}

static void test_limit(void)
{
    struct packet reply;
    const struct packet request = {.version = 4, .mode = PACKET_CLIENT, .transmit = 9};
    int answered = 0, kissed = 0;
    start();
    ictusi_limiter_init(&server.limiter, 2.0, 8.0, 42);
    for (int i = 0; i < 1000; i++) { /* one second's allowance */
        if (ask(&request, noon + i * INT64_C(1000000), &reply)) {
            answered += reply.stratum > 0;
            kissed += reply.stratum == 0;
            CHECK(reply.origin == 9);
        }
    }
    /*
     * Ten by the rate, and one in four of the others, so that a flood in a client's name cannot
     * silence the client.
     */
    CHECK(answered >= 200 && answered <= 320);
    CHECK(server.counts.leaked + 9 <= (uint64_t)answered &&
          (uint64_t)answered <= server.counts.leaked + 11);
    CHECK(kissed > 10 && kissed < 100);
    /* Half a second later, one more answer is due. */
    CHECK(ask(&request, noon + INT64_C(1600000000), &reply) && reply.stratum == 2);
}

static void test_keys(void)
{
    uint8_t bytes[PACKET_BYTES + KEY_MAC_BYTES];
    struct server_answer answer;
    const struct packet request = {.version = 4, .mode = PACKET_CLIENT, .transmit = 9};
    struct key key = {.id = 3, .length = 16, .bytes = {1, 2, 3}};
    start();
    ictusi_packet_encode(&request, bytes);
    REQUIRE(ictusi_key_sign(&key, bytes, PACKET_BYTES) == sizeof(bytes));
    server.keys.list = &key;
    server.keys.count = 1;
    server.require_key = true;
    if (!ictusi_key_verify(&key, bytes, PACKET_BYTES, 16)) {
        return; /* built without libnettle */
    }
    ask_bytes(bytes, sizeof(bytes), "10.0.0.9", noon, &answer);
    CHECK(answer.length == sizeof(bytes));
    CHECK(ictusi_key_verify(&key, answer.bytes, PACKET_BYTES, 16));
    ask_bytes(bytes, PACKET_BYTES, "10.0.0.9", noon, &answer);
    CHECK(answer.length == 0);
    bytes[60] ^= 1;
    ask_bytes(bytes, sizeof(bytes), "10.0.0.9", noon, &answer);
    CHECK(answer.length == 0 && server.counts.unauthentic == 2);
    server.require_key = false;
    ask_bytes(bytes, sizeof(bytes), "10.0.0.9", noon, &answer);
    CHECK(answer.length == 0); /* a wrong authenticator is not a missing one */
    ask_bytes(bytes, PACKET_BYTES, "10.0.0.9", noon, &answer);
    CHECK(answer.length == PACKET_BYTES);
}

/* Noise, and requests with all kinds of damage: no answer is longer than its request. */
static void test_storm(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 31, 0);
    start();
    for (int i = 0; i < 200000; i++) {
        const size_t length = (size_t)ictusi_random_below(&rng, 140);
        uint8_t *bytes = malloc(length + 1);
        struct server_answer answer;
        REQUIRE(bytes);
        for (size_t b = 0; b < length; b++) {
            bytes[b] = (uint8_t)ictusi_random_next(&rng);
        }
        if (length && i % 2) {
            bytes[0] = 4 << 3 | PACKET_CLIENT;
        }
        ask_bytes(bytes, length, "10.0.0.9", noon + i, &answer);
        CHECK(answer.length <= length);
        free(bytes);
    }
    CHECK(server.counts.answered > 100 && server.counts.malformed > 100000);
}

int main(void)
{
    test_basic();
    test_interleaved();
    test_refusals();
    test_lists();
    test_long_lists();
    test_prefixes();
    test_limit();
    test_keys();
    test_storm();
    return check_result();
}
