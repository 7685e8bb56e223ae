/* SPDX-License-Identifier: BSD-3-Clause */
/* NTP packets: codec, eras, checks, authenticators, and many damaged packets. */
#include "core/random.h"
#include "lock/keys.h"
#include "lock/packet.h"
#include "lock/refid.h"

#include "../check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t second = INT64_C(1000000000);

static struct packet sample_packet(void)
{
    const struct packet p = {.leap = 1,
                             .version = 4,
                             .mode = PACKET_SERVER,
                             .stratum = 2,
                             .poll = 6,
                             .precision = -23,
                             .root_delay_ns = 1.5e6,
                             .root_dispersion_ns = 2.5e6,
                             .reference_id = 0x47505300,
                             .reference = 0x1122334455667788,
                             .origin = 0x8877665544332211,
                             .receive = 0x0123456789abcdef,
                             .transmit = 0xfedcba9876543210};
    return p;
}

static void test_round_trip(void)
{
    uint8_t bytes[PACKET_BYTES];
    struct packet q;
    const struct packet p = sample_packet();
    ictusi_packet_encode(&p, bytes);
    CHECK(bytes[0] == (1 << 6 | 4 << 3 | 4));
    REQUIRE(ictusi_packet_decode(bytes, sizeof(bytes), &q));
    CHECK(q.leap == 1 && q.version == 4 && q.mode == 4 && q.stratum == 2);
    CHECK(q.poll == 6 && q.precision == -23 && q.reference_id == p.reference_id);
    CHECK(q.origin == p.origin && q.receive == p.receive && q.transmit == p.transmit);
    CHECK(q.reference == p.reference);
    /* Root values never decrease when they are sent, and grow by at most a unit of 2^-16 s. */
    CHECK(q.root_delay_ns >= 1.5e6 && q.root_delay_ns < 1.5e6 + 2 * 15259);
    CHECK(q.root_dispersion_ns >= 2.5e6 && q.root_dispersion_ns < 2.5e6 + 2 * 15259);
    CHECK(!ictusi_packet_decode(bytes, PACKET_BYTES - 1, &q));
}

/* In units of 2^-16 s, rounded up, as far as 32 bits reach. */
static void test_short_times(void)
{
    static const struct {
        double ns;
        uint8_t bytes[4];
    } times[] = {{0.0, {0, 0, 0, 0}},
                 {-5.0, {0, 0, 0, 0}},
                 {NAN, {0, 0, 0, 0}},
                 {1.0, {0, 0, 0, 1}},
                 {1.5e9 - 1, {0, 1, 128, 0}},
                 {1e20, {255, 255, 255, 255}},
                 {70000e9, {255, 255, 255, 255}},
                 {65535.99998e9, {255, 255, 255, 255}}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        const struct packet p = {.root_delay_ns = times[i].ns, .root_dispersion_ns = times[i].ns};
        uint8_t bytes[PACKET_BYTES];
        ictusi_packet_encode(&p, bytes);
        CHECK(memcmp(bytes + 4, times[i].bytes, 4) == 0);
        CHECK(memcmp(bytes + 8, times[i].bytes, 4) == 0);
    }
}

static void test_texts(void)
{
    char text[5];
    ictusi_packet_refid_text(0x47505300, text);
    CHECK_STR(text, "GPS");
    ictusi_packet_refid_text(0x20417e41, text);
    CHECK_STR(text, " A~A");
    ictusi_packet_refid_text(0x1f7f80ff, text);
    CHECK_STR(text, "....");
    ictusi_packet_refid_text(0, text);
    CHECK_STR(text, "");
    CHECK_STR(ictusi_packet_fault_name(PACKET_GOOD), "good");
    CHECK_STR(ictusi_packet_fault_name(PACKET_DISTANCE), "too distant");
    CHECK_STR(ictusi_packet_fault_name(PACKET_FAULTS), "unknown");
}

static void test_stamps(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 5, 0);
    for (int i = 0; i < 20000; i++) {
        /* From 1970 to 2191, through the ends of two eras; the pivot is off by up to 60 years. */
        const int64_t t = (int64_t)ictusi_random_below(&rng, UINT64_C(7000000000) * 1000000000);
        const int64_t off = ((int64_t)ictusi_random_below(&rng, 120) - 60) * 31557600 * second;
        CHECK_NEAR((double)(ictusi_packet_unix(ictusi_packet_stamp(t), t + off) - t), 0, 1);
    }
    /* 2036-02-07T06:28:16Z, the end of era 0, is stamp 0, which must not mean "none". */
    CHECK(ictusi_packet_stamp(INT64_C(2085978496) * second) == 1);
    CHECK(ictusi_packet_stamp(0) >> 32 == 2208988800U);
    CHECK((uint32_t)ictusi_packet_stamp(2) == 9); /* 8.59 units of 2^-32 s */
    CHECK(ictusi_packet_unix(ictusi_packet_stamp(-second / 2), 0) == -second / 2);
}

static void test_checks(void)
{
    const struct packet_request request = {.transmit = 7, .receive = 9};
    struct packet p = sample_packet();
    bool interleaved = true;
    p.origin = 7;
    CHECK(ictusi_packet_check_header(&p, &request, &interleaved) == PACKET_GOOD && !interleaved);
    p.origin = 9;
    CHECK(ictusi_packet_check_header(&p, &request, &interleaved) == PACKET_GOOD && interleaved);
    p.origin = 8;
    CHECK(ictusi_packet_check_header(&p, &request, &interleaved) == PACKET_ORIGIN);
    p.origin = 0;
    const struct packet_request basic = {.transmit = 7, .receive = 0};
    CHECK(ictusi_packet_check_header(&p, &basic, &interleaved) == PACKET_ORIGIN);
    p.origin = 7;
    p.mode = PACKET_CLIENT;
    CHECK(ictusi_packet_check_header(&p, &request, &interleaved) == PACKET_NOT_SERVER);
    p.mode = PACKET_SERVER;
    p.version = 5;
    CHECK(ictusi_packet_check_header(&p, &request, &interleaved) == PACKET_VERSION);
    p.stratum = 15;
    CHECK(ictusi_packet_check_content(&p, 1e9) == PACKET_GOOD);
    p.stratum = 16;
    CHECK(ictusi_packet_check_content(&p, 1e9) == PACKET_UNSYNCHRONISED);
    p.stratum = 0;
    CHECK(ictusi_packet_check_content(&p, 1e9) == PACKET_KISS);
    p.reference_id = 0;
    CHECK(ictusi_packet_check_content(&p, 1e9) == PACKET_UNSYNCHRONISED);
    p.stratum = 1;
    p.leap = 3;
    CHECK(ictusi_packet_check_content(&p, 1e9) == PACKET_UNSYNCHRONISED);
    p.leap = 0;
    CHECK(ictusi_packet_check_content(&p, 3e6) == PACKET_DISTANCE);
    p.root_delay_ns = 2e6; /* half of it plus the dispersion: 3.5 ms */
    CHECK(ictusi_packet_check_content(&p, 3.5e6) == PACKET_GOOD);
    CHECK(ictusi_packet_check_content(&p, 3.49e6) == PACKET_DISTANCE);
    p.transmit = 0;
    CHECK(ictusi_packet_check_content(&p, 1e9) == PACKET_TIMES);
}

static void test_trailer(void)
{
    uint8_t bytes[PACKET_MAX] = {0};
    struct packet_mac mac;
    CHECK(ictusi_packet_trailer(bytes, 48, &mac) && !mac.present);
    bytes[51] = 5;
    CHECK(ictusi_packet_trailer(bytes, 68, &mac) && mac.present && mac.key == 5 &&
          mac.offset == 48 && mac.length == 16);
    CHECK(ictusi_packet_trailer(bytes, 52, &mac) && mac.length == 0);
    CHECK(!ictusi_packet_trailer(bytes, 56, &mac));
    CHECK(!ictusi_packet_trailer(bytes, 49, &mac));
    CHECK(!ictusi_packet_trailer(bytes, 44, &mac));
    /*
     * An extension field of 28 bytes before an authenticator of 20, and then one that is too long.
     */
    memset(bytes, 0, sizeof(bytes));
    bytes[51] = 28;
    bytes[48 + 28 + 3] = 6;
    CHECK(ictusi_packet_trailer(bytes, 48 + 28 + 20, &mac) && mac.present && mac.key == 6);
    CHECK(ictusi_packet_trailer(bytes, 48 + 28, &mac) && !mac.present);
    for (int field = 52; field <= 200; field += 4) {
        bytes[51] = (uint8_t)field;
        CHECK(!ictusi_packet_trailer(bytes, 48 + 28 + 20, &mac));
    }
    bytes[50] = 1; /* 256 and 4 bytes: more than one byte can say */
    bytes[51] = 4;
    bytes[48 + 260 + 3] = 7;
    CHECK(ictusi_packet_trailer(bytes, 48 + 260 + 20, &mac) && mac.key == 7);
    CHECK(mac.offset == 48 + 260 && mac.length == 16);
    bytes[50] = 0;
    bytes[51] = 0;
    CHECK(!ictusi_packet_trailer(bytes, 48 + 28 + 20, &mac));
    /* The smallest field has 16 bytes, with its type and its length (RFC 7822). */
    bytes[51] = 16;
    bytes[48 + 16 + 3] = 8;
    CHECK(ictusi_packet_trailer(bytes, 48 + 16 + 20, &mac) && mac.key == 8);
    bytes[51] = 12;
    CHECK(!ictusi_packet_trailer(bytes, 48 + 12 + 20, &mac));
}

/* Random bytes and damaged packets of every length: no read outside, and no endless loop. */
static void test_storm(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 11, 0);
    int malformed = 0, accepted = 0;
    for (int i = 0; i < 200000; i++) {
        const size_t length = (size_t)ictusi_random_below(&rng, 160);
        uint8_t *bytes = malloc(length + 1); /* exact, so that sanitizers see an overrun */
        struct packet p = sample_packet();
        uint8_t good[PACKET_BYTES];
        struct packet_mac mac;
        bool interleaved = false;
        const struct packet_request request = {.transmit = p.origin, .receive = 3};
        REQUIRE(bytes);
        ictusi_packet_encode(&p, good);
        for (size_t b = 0; b < length; b++) {
            const bool keep = i % 2 && b < PACKET_BYTES && ictusi_random_below(&rng, 24);
            bytes[b] = keep ? good[b] : (uint8_t)ictusi_random_below(&rng, 256);
        }
        if (!ictusi_packet_decode(bytes, length, &p) ||
            !ictusi_packet_trailer(bytes, length, &mac)) {
            malformed++;
        } else if (!ictusi_packet_check_header(&p, &request, &interleaved) &&
                   !ictusi_packet_check_content(&p, 1e12)) {
            accepted++;
            CHECK(p.origin == request.transmit && p.mode == PACKET_SERVER);
            CHECK(!mac.present || mac.offset + 4 + mac.length == length);
        }
        free(bytes);
    }
    CHECK(malformed > 10000);
    CHECK(accepted > 100); /* damage outside the checked part */
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    (void)fputs(text, file);
    REQUIRE(fclose(file) == 0);
}

/* Invalid keys are refused with their line, and no key of such a file is kept. */
static void check_refused(const char *path, const char *line)
{
    char text[400];
    struct keys keys;
    struct ictus_why why;
    (void)snprintf(text, sizeof(text),
                   "1 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c\n# next\n%s\n", line);
    write_file(path, text);
    CHECK(ictusi_keys_read(path, &keys, &why) == ICTUS_ERR_FORMAT && strstr(why.text, ":3:"));
    CHECK(!keys.list && keys.count == 0);
}

static void test_bad_keys(const char *path)
{
    static const char *const lines[] = {
        "7",
        "7 AES128",
        "0 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c",
        "x AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c",
        "4294967296 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c",
        "7 AES192 HEX:2b7e151628aed2a6abf7158809cf4f3c",
        "7 AES192 HEX:603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "7 AES192 HEX:",
        "7 AES128 HEX:603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "7 AES256 HEX:2b7e151628aed2a6abf7158809cf4f3c",
        "7 AES128 ASC:2b7e151628aed2a6abf7158809cf4f3c",
        "7 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c more",
        "7 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c2",
        "7 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3",
        "7 AES128 HEX:gb7e151628aed2a6abf7158809cf4f3c",
        "7 AES128 HEX:2g7e151628aed2a6abf7158809cf4f3c",
        "7 AES128 HEX:2b/e151628aed2a6abf7158809cf4f3c",
        "7 AES128 HEX:2b:e151628aed2a6abf7158809cf4f3c",
        "7 AES128 HEX:2b`e151628aed2a6abf7158809cf4f3c",
        "7 AES128 HEX:2b@e151628aed2a6abf7158809cf4f3c"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        check_refused(path, lines[i]);
    }
}

/* Whoever can read a key can forge time, and so can whoever can write it; the group may read. */
static void test_key_modes(const char *path)
{
    static const mode_t refused[] = {0604, 0602, 0620, 0606, 0666};
    struct keys keys;
    struct ictus_why why;
    write_file(path, "7 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c\n");
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        REQUIRE(chmod(path, refused[i]) == 0);
        CHECK(ictusi_keys_read(path, &keys, &why) == ICTUS_ERR_PERMISSION);
        CHECK(!keys.list && keys.count == 0);
    }
    REQUIRE(chmod(path, 0640) == 0);
    CHECK(ictusi_keys_read(path, &keys, &why) == ICTUS_OK && keys.count == 1);
    ictusi_keys_free(&keys);
    CHECK(!keys.list && keys.count == 0);
    REQUIRE(chmod(path, 0600) == 0);
}

/*
 * NIST SP 800-38B, D.3: the message of 40 bytes with a key of 256 bits; and a file with many keys.
 */
static void test_long_keys(const char *path, const uint8_t *message, size_t length)
{
    static const uint8_t wanted[20] = {0xff, 0xfe, 0xfd, 0xfc, 0xaa, 0xf3, 0xd8, 0xf1, 0xde, 0x56,
                                       0x40, 0xc2, 0x32, 0xf5, 0xb1, 0x69, 0xb9, 0xc9, 0x11, 0xe6};
    char text[8000] =
        "4294901244\tAES256 HEX:603DEB1015CA71BE2B73AEF0857D7781"
        "1F352C073B6108D72D9810A30914DFF4\r\n4294967295 AES128 "
        "HEX:2b7e151628aed2a6abf7158809cf4f3c\n1 AES128 HEX:00000000000000000000000000000000\n";
    uint8_t bytes[80] = {0};
    struct keys keys;
    struct ictus_why why;
    for (int id = 2; id < 100; id++) {
        const size_t at = strlen(text);
        (void)snprintf(text + at, sizeof(text) - at,
                       "%d AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c\n", id);
    }
    text[strlen(text) - 1] = '\0'; /* the last line may lack its newline */
    write_file(path, text);
    REQUIRE(ictusi_keys_read(path, &keys, &why) == ICTUS_OK && keys.count == 101);
    CHECK(ictusi_keys_find(&keys, 1) && ictusi_keys_find(&keys, 99));
    CHECK(ictusi_keys_find(&keys, UINT32_MAX) == &keys.list[1]);
    const struct key *key = ictusi_keys_find(&keys, UINT32_C(0xfffefdfc));
    REQUIRE(key && key->length == 32);
    memcpy(bytes, message, length);
    CHECK(ictusi_key_sign(key, bytes, length) == length + 20);
    CHECK(memcmp(bytes + length, wanted, sizeof(wanted)) == 0 && bytes[length + 20] == 0);
    CHECK(ictusi_key_verify(key, bytes, length, 16));
    CHECK(!ictusi_key_verify(&keys.list[1], bytes, length, 16));
    bytes[length + 19] ^= 1;
    CHECK(!ictusi_key_verify(key, bytes, length, 16));
    ictusi_keys_free(&keys);
}

/* RFC 4493, section 4: test vectors of AES-CMAC with this key; example 3 has 40 bytes. */
static void test_keys(void)
{
    static const uint8_t message[40] = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d,
                                        0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a, 0xae, 0x2d, 0x8a, 0x57,
                                        0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf,
                                        0x8e, 0x51, 0x30, 0xc8, 0x1c, 0x46, 0xa3, 0x5c, 0xe4, 0x11};
    static const uint8_t wanted[16] = {0xdf, 0xa6, 0x67, 0x47, 0xde, 0x9a, 0xe6, 0x30,
                                       0x30, 0xca, 0x32, 0x61, 0x14, 0x97, 0xc8, 0x27};
    uint8_t bytes[sizeof(message) + KEY_MAC_BYTES];
    char path[CHECK_PATH];
    struct keys keys;
    struct ictus_why why;
    REQUIRE(close(mkstemp(check_scratch(path, "keys"))) == 0);
    write_file(path, "# keys\n\n7 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c # one\n");
    const int err = ictusi_keys_read(path, &keys, &why);
    if (err == ICTUS_ERR_UNSUPPORTED) {
        (void)unlink(path);
        return;
    }
    REQUIRE(err == ICTUS_OK && keys.count == 1);
    const struct key *key = ictusi_keys_find(&keys, 7);
    REQUIRE(key);
    CHECK(!ictusi_keys_find(&keys, 8));
    memcpy(bytes, message, sizeof(message));
    CHECK(ictusi_key_sign(key, bytes, sizeof(message)) == sizeof(bytes));
    CHECK(memcmp(bytes + sizeof(message) + 4, wanted, sizeof(wanted)) == 0);
    CHECK(ictusi_key_verify(key, bytes, sizeof(message), 16));
    CHECK(!ictusi_key_verify(key, bytes, sizeof(message), 12));
    bytes[3] ^= 1;
    CHECK(!ictusi_key_verify(key, bytes, sizeof(message), 16));
    ictusi_keys_free(&keys);
    write_file(path, "7 AES128 HEX:2b7e\n");
    CHECK(ictusi_keys_read(path, &keys, &why) == ICTUS_ERR_FORMAT);
    CHECK(strstr(why.text, ":1:") != NULL);
    test_bad_keys(path);
    test_key_modes(path);
    test_long_keys(path, message, sizeof(message));
    (void)unlink(path);
    CHECK(ictusi_keys_read(path, &keys, &why) == ICTUS_ERR_ARG);
}

static uint32_t refid_v6(const char *text)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    REQUIRE(inet_pton(AF_INET6, text, &address.sin6_addr) == 1);
    return ictusi_refid_of((const struct sockaddr *)&address);
}

/* The first octets of MD5, as "printf ADDRESS | md5sum" shows them for the 16 bytes. */
static void test_refids(void)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    REQUIRE(inet_pton(AF_INET, "192.0.2.7", &v4.sin_addr) == 1);
    CHECK(ictusi_refid_of((const struct sockaddr *)&v4) == UINT32_C(0xc0000207));
#ifdef ICTUS_HAVE_NETTLE
    CHECK(refid_v6("2001:db8::1") == UINT32_C(0x39ab9b37));
    CHECK(refid_v6("fe80::1") == UINT32_C(0x89e5301f));
    CHECK(refid_v6("2001:db8:1234:5678:9abc:def0:1234:5678") == UINT32_C(0x6172e0a5));
#endif
    CHECK(refid_v6("2001:db8::1") != refid_v6("2001:db8::2"));
}

int main(void)
{
    test_round_trip();
    test_short_times();
    test_texts();
    test_stamps();
    test_checks();
    test_trailer();
    test_storm();
    test_keys();
    test_refids();
    return check_result();
}
