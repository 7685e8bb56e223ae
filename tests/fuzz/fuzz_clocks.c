/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What others tell the network clock, packets apart: reports of gpsd, samples in shared memory and
 * from sockets, key files, lists of networks, instants. The first letter says which.
 */
#include "fuzz.h"
#include "lock/access.h"
#include "lock/keys.h"
#include "lock/reference_gpsd.h"
#include "lock/reference_shm.h"
#include "lock/reference_sock.h"

#include <ictus/lock_daemon.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static const int64_t now_ns = INT64_C(1800000000123456789);

static struct timebase make_base(void)
{
    return (struct timebase){
        .raw = INT64_C(5000000000), .real = now_ns, .rate = 1e-6, .started = true};
}

static void check_sample(const struct sample *sample)
{
    fuzz_require(isfinite(sample->bound_ns) && sample->bound_ns > 0.0);
    fuzz_require(isfinite(sample->sigma_ns) && sample->sigma_ns > 0.0);
}

static void read_report(const char *line)
{
    const struct timebase base = make_base();
    struct sample sample;
    if (ictusi_gpsd_sample(line, &base, &sample)) {
        check_sample(&sample);
    }
}

static void read_segment(const uint8_t *bytes, size_t length)
{
    struct timebase base = make_base();
    struct shm_segment segment;
    struct sample sample;
    memset(&segment, 0, sizeof(segment));
    memcpy(&segment, bytes, length < sizeof(segment) ? length : sizeof(segment));
    if (ictusi_shm_take(&segment, &base, &sample)) {
        check_sample(&sample);
    }
}

static void read_datagram(const uint8_t *bytes, size_t length)
{
    struct timebase base = make_base();
    struct sock_message message;
    struct sample sample;
    memset(&message, 0, sizeof(message));
    memcpy(&message, bytes, length < sizeof(message) ? length : sizeof(message));
    for (int64_t utc_ns = 0; utc_ns <= now_ns; utc_ns += now_ns) {
        if (ictusi_sock_sample(&message, length, &base, utc_ns, &sample)) {
            check_sample(&sample);
        }
    }
}

static void read_keys(const uint8_t *bytes, size_t length)
{
    struct keys keys = {NULL, 0};
    struct ictus_why why;
    uint8_t packet[48 + KEY_MAC_BYTES] = {0};
    if (ictusi_keys_read(fuzz_file(bytes, length), &keys, &why) == ICTUS_OK) {
        for (size_t i = 0; i < keys.count; i++) {
            const struct key *key = ictusi_keys_find(&keys, keys.list[i].id);
            fuzz_require(key && ictusi_key_sign(key, packet, 48) == sizeof(packet));
            fuzz_require(ictusi_key_verify(key, packet, 48, KEY_MAC_BYTES - 4));
        }
        ictusi_keys_free(&keys);
    }
}

static void read_networks(const char *text)
{
    struct access access;
    struct address address;
    struct ictus_why why;
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a010203)};
    if (ictusi_access_address_of((const struct sockaddr *)(const void *)&from, &address) &&
        ictusi_access_read(&access, text, text, &why) == ICTUS_OK) {
        fuzz_require(ictusi_access_may(&access, &address) || text[0]);
    }
}

static void read_instant(const char *text)
{
    const struct ictus_time now = {now_ns};
    struct ictus_time instant = {0};
    struct ictus_why why;
    static const double aligns_s[] = {0.0, 60.0, 1e-3};
    for (size_t i = 0; i < sizeof(aligns_s) / sizeof(aligns_s[0]); i++) {
        const struct ictus_at_when when = {text, -1, aligns_s[i]};
        if (ictus_at_instant(&when, now, &instant, &why) == ICTUS_OK) {
            fuzz_require(instant.ns >= now.ns);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length == 0) {
        return 0;
    }
    char *text = fuzz_text(bytes + 1, length - 1);
    switch (bytes[0]) {
    case 'g':
        read_report(text);
        break;
    case 'm':
        read_segment(bytes + 1, length - 1);
        break;
    case 's':
        read_datagram(bytes + 1, length - 1);
        break;
    case 'k':
        read_keys(bytes + 1, length - 1);
        break;
    case 'n':
        read_networks(text);
        break;
    default:
        read_instant(text);
        break;
    }
    free(text);
    return 0;
}
