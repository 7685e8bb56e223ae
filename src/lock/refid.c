/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference identifiers. */
#include "refid.h"

#include <netinet/in.h>

enum { ADDRESS_BYTES = 16 };

#ifdef ICTUS_HAVE_NETTLE
#include <nettle/md5.h>

/* MD5 only shortens the address here. Nothing is kept secret or authenticated by it. */
static uint32_t refid_hash(const uint8_t bytes[ADDRESS_BYTES])
{
    struct md5_ctx context;
    uint8_t digest[4];
    md5_init(&context);
    md5_update(&context, ADDRESS_BYTES, bytes);
    md5_digest(&context, sizeof(digest), digest);
    return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 |
           (uint32_t)digest[3];
}
#else
/*
 * FNV-1a, 32 bits. Without libnettle there is no MD5. The number still distinguishes servers, but
 * other implementations do not recognise themselves by it. A loop over IPv6 is then detected only
 * by its growing stratum.
 */
static uint32_t refid_hash(const uint8_t bytes[ADDRESS_BYTES])
{
    uint32_t hash = UINT32_C(2166136261);
    for (int i = 0; i < ADDRESS_BYTES; i++) {
        hash = (hash ^ bytes[i]) * UINT32_C(16777619);
    }
    return hash;
}
#endif

uint32_t ictusi_refid_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);
    }
    return refid_hash(((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
}
