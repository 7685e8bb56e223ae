/* SPDX-License-Identifier: BSD-3-Clause */
/* Numeric addresses are found, with their port, without asking anybody; others may fail. */
#include "lock/lookup.h"

#include "../check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <time.h>

/* Wait for the end of a lookup. */
static enum lookup_state state_of(struct lookup *lookup, const struct addrinfo **found, int *code)
{
    enum lookup_state state = ictusi_lookup_check(lookup, found, code);
    for (int i = 0; i < 60000 && state == LOOKUP_PENDING; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        state = ictusi_lookup_check(lookup, found, code);
    }
    return state;
}

static void addresses_are_found(void)
{
    const struct addrinfo *found = NULL;
    struct in6_addr loopback;
    int code = 0;
    struct lookup *lookup = ictusi_lookup_start("127.0.0.1", "123");
    REQUIRE(lookup && state_of(lookup, &found, &code) == LOOKUP_FOUND && found);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)found->ai_addr;
    CHECK(found->ai_family == AF_INET && found->ai_socktype == SOCK_DGRAM);
    CHECK(v4->sin_port == htons(123) && v4->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
    ictusi_lookup_end(lookup);
    lookup = ictusi_lookup_start("::1", "11123");
    REQUIRE(lookup && state_of(lookup, &found, &code) == LOOKUP_FOUND && found);
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)found->ai_addr;
    REQUIRE(inet_pton(AF_INET6, "::1", &loopback) == 1);
    CHECK(found->ai_family == AF_INET6 && v6->sin6_port == htons(11123));
    CHECK(memcmp(&v6->sin6_addr, &loopback, sizeof loopback) == 0);
    ictusi_lookup_end(lookup);
}

/* An empty port or host leads nowhere, and says why. */
static void nonsense_fails(void)
{
    const struct addrinfo *found = NULL;
    int code = 0;
    struct lookup *lookup = ictusi_lookup_start("127.0.0.1", "no such service");
    REQUIRE(lookup && state_of(lookup, &found, &code) == LOOKUP_FAILED);
    CHECK(code != 0);
    ictusi_lookup_end(lookup);
    ictusi_lookup_end(ictusi_lookup_start("127.0.0.1", "123")); /* whether finished or not */
    ictusi_lookup_end(NULL);
}

static void numbers_are_told_from_names(void)
{
    CHECK(ictusi_lookup_numeric("127.0.0.1") && ictusi_lookup_numeric("fe80::1"));
    CHECK(!ictusi_lookup_numeric("localhost") && !ictusi_lookup_numeric("127.0.0"));
    CHECK(!ictusi_lookup_numeric("fe80::1%eth0") && !ictusi_lookup_numeric(""));
}

int main(void)
{
    addresses_are_found();
    nonsense_fails();
    numbers_are_told_from_names();
    return check_result();
}
