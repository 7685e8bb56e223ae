/* SPDX-License-Identifier: BSD-3-Clause */
/* Access lists and rate limits. */
#include "access.h"

#include <arpa/inet.h>
#include <ictus/text.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>

/* One refused request in KISS_EVERY is answered by a kiss-o'-death. The others get no answer. */
enum { KISS_EVERY = 16, LEAK_ONE_IN = 4, MAPPED_BITS = 96, TEXT_BYTES = 80 };

/* IPv4 as ::ffff:a.b.c.d, so that one comparison serves both families. */
static void access_map_v4(const struct in_addr *v4, struct address *address)
{
    memset(address->bytes, 0, 10);
    memset(address->bytes + 10, 0xff, 2);
    memcpy(address->bytes + 12, v4, 4);
}

bool ictusi_access_address_of(const struct sockaddr *from, struct address *address)
{
    if (from->sa_family == AF_INET) {
        access_map_v4(&((const struct sockaddr_in *)(const void *)from)->sin_addr, address);
        return true;
    }
    if (from->sa_family == AF_INET6) {
        memcpy(address->bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
        return true;
    }
    return false;
}

/*
 * Read A.B.C.D[/BITS] or an IPv6 network. A prefix of IPv4 is counted from the mapped address, so
 * that 10.0.0.0/8 becomes 104 bits. Without a prefix, a network is a single host. The range of an
 * IPv4 prefix is checked before 96 is added. Otherwise /33 would pass as 129 of 128 bits and be
 * read beyond its end.
 */
static bool access_read_network(char *text, struct network *network)
{
    struct in_addr v4;
    struct in6_addr v6;
    char *slash = strchr(text, '/');
    int64_t bits = -1;
    if (slash) {
        *slash = '\0';
        if (ictus_parse_int(slash + 1, &bits) || bits < 0) {
            return false;
        }
    }
    if (inet_pton(AF_INET, text, &v4) == 1) {
        access_map_v4(&v4, &network->address);
        network->bits = (int)(bits < 0 ? 32 : bits) + MAPPED_BITS;
        return bits <= 32;
    }
    if (inet_pton(AF_INET6, text, &v6) == 1) {
        memcpy(network->address.bytes, &v6, 16);
        network->bits = (int)(bits < 0 ? 128 : bits);
        return bits <= 128;
    }
    return false;
}

static int access_read_list(const char *list, struct network *networks, int *count,
                            struct ictus_why *why)
{
    while (list && *list) {
        char text[TEXT_BYTES];
        const size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof(text) || *count == ACCESS_NETWORKS) {
            return ictus_because(
                why, ICTUS_ERR_SPEC,
                "'%.60s': must be a list of up to %d networks, such as 10.0.0.0/8,fd00::/8", list,
                ACCESS_NETWORKS);
        }
        memcpy(text, list, length);
        text[length] = '\0';
        if (!access_read_network(text, &networks[(*count)++])) {
            return ictus_because(
                why, ICTUS_ERR_SPEC,
                "'%.*s' is not a network; write an address and the number of its leading "
                "bits that count, such as 10.0.0.0/8",
                (int)length, list);
        }
        list += length + (list[length] == ',' ? 1 : 0);
    }
    return ICTUS_OK;
}

int ictusi_access_read(struct access *access, const char *deny, const char *allow,
                       struct ictus_why *why)
{
    memset(access, 0, sizeof(*access));
    const int err = access_read_list(deny, access->deny, &access->deny_count, why);
    return err ? err : access_read_list(allow, access->allow, &access->allow_count, why);
}

/* Compare the whole bytes first, and then the bits of the byte in which the prefix ends. */
static bool network_holds(const struct network *network, const struct address *address)
{
    const size_t whole = (size_t)network->bits / 8;
    const int rest = network->bits % 8;
    if (memcmp(network->address.bytes, address->bytes, whole) != 0) {
        return false;
    }
    /* The first `rest` bits of the byte after the whole ones. If rest is 0, that byte is not
     * read, because after 128 bits there is none. */
    const uint8_t mask = (uint8_t)(0xff00 >> rest);
    return rest == 0 || ((network->address.bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

/* A denied address stays denied even if it is also allowed. Without a list of allowed networks,
 * all others are allowed. */
bool ictusi_access_may(const struct access *access, const struct address *address)
{
    for (int i = 0; i < access->deny_count; i++) {
        if (network_holds(&access->deny[i], address)) {
            return false;
        }
    }
    for (int i = 0; i < access->allow_count; i++) {
        if (network_holds(&access->allow[i], address)) {
            return true;
        }
    }
    return access->allow_count == 0;
}

void ictusi_limiter_init(struct limiter *limiter, double rate, double burst, uint64_t secret)
{
    memset(limiter, 0, sizeof(*limiter));
    limiter->rate = rate;
    limiter->burst = fmax(1.0, burst);
    limiter->secret = secret;
}

/* The finaliser of splitmix64, applied to both halves. Without the secret, collisions cannot be
 * chosen. */
static uint64_t access_hash_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Hash the IPv4 address, or the /64 of an IPv6 address, because a single host may use any
 * address of its /64. The result is never 0, which marks an empty slot. */
static uint64_t limiter_hash(const struct limiter *limiter, const struct address *address)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    uint64_t high = 0, low = 0;
    memcpy(&high, address->bytes, 8);
    if (memcmp(address->bytes, mapped, sizeof(mapped)) == 0) {
        memcpy(&low, address->bytes + 8, 8);
    }
    const uint64_t hash =
        access_hash_mix(access_hash_mix(high ^ limiter->secret) ^ low ^ (limiter->secret << 1 | 1));
    return hash ? hash : 1;
}

enum verdict ictusi_limiter_count(struct limiter *limiter, const struct address *address,
                                  int64_t now)
{
    if (limiter->rate <= 0.0) {
        return LIMIT_ANSWER;
    }
    /*
     * The table has no chains and is not searched. Two clients of one slot evict each other, and
     * each finds a full bucket when it returns. This errs towards answering, costs one access for
     * each packet, and cannot grow under a flood of forged addresses. The secret keeps an attacker
     * from choosing a client's slot.
     */
    const uint64_t who = limiter_hash(limiter, address);
    struct bucket *bucket = &limiter->table[who % ACCESS_CLIENTS];
    if (bucket->who != who) {
        bucket->who = who;
        bucket->at = now;
        bucket->tokens = limiter->burst;
        bucket->refused = 0;
        bucket->chance = who;
    }
    /* A token bucket. It fills at `rate` per second up to `burst`, and each answer takes one
     * token. A client that is new in this slot starts with a full bucket. */
    const double since = fmax(0.0, (double)(now - bucket->at) / 1e9);
    bucket->tokens = fmin(limiter->burst, bucket->tokens + since * limiter->rate);
    bucket->at = now;
    if (bucket->tokens >= 1.0) {
        bucket->tokens -= 1.0;
        bucket->refused = 0;
        return LIMIT_ANSWER;
    }
    bucket->chance = access_hash_mix(bucket->chance + UINT64_C(0x9e3779b97f4a7c15));
    /* One refused request in four is answered. An attacker who sends in a client's name can then
     * use up that client's tokens but cannot cut it off from the time. */
    if (bucket->chance % LEAK_ONE_IN == 0) {
        return LIMIT_LEAK;
    }
    return bucket->refused++ % KISS_EVERY == 0 ? LIMIT_KISS : LIMIT_DROP;
}
