/* SPDX-License-Identifier: BSD-3-Clause */
/* Name lookups in the background. */
#include "lookup.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct lookup {
    char host[256], port[8];
    struct addrinfo hints;
    struct gaicb request;
    atomic_int holders; /* who asked, and the C library's thread until it has told the end */
};

/*
 * Two hold a lookup, and either may be the last: who asked can give up first, the resolver's thread
 * can finish first. The counter's default order (sequentially consistent) makes what the thread
 * wrote into the request visible to whoever frees it.
 */
static void lookup_release(struct lookup *l)
{
    if (atomic_fetch_sub(&l->holders, 1) == 1) {
        if (l->request.ar_result) {
            freeaddrinfo(l->request.ar_result);
        }
        free(l);
    }
}

/* In a thread of the C library, which writes to the request until then. */
static void lookup_told(union sigval lookup)
{
    lookup_release(lookup.sival_ptr);
}

bool ictusi_lookup_numeric(const char *host)
{
    struct in6_addr v6;
    struct in_addr v4;
    /* A scope after the address, fe80::1%eth0, is for the resolver. */
    return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1;
}

/*
 * getaddrinfo() may block for a minute where a name server does not answer, during which a daemon
 * of one thread would neither poll nor correct its clock. AI_ADDRCONFIG leaves out families that
 * the machine has no address of; a numeric address must not be judged by that, as loopback does not
 * count.
 */
struct lookup *ictusi_lookup_start(const char *host, const char *port)
{
    struct lookup *l = calloc(1, sizeof(*l));
    if (!l) {
        return NULL;
    }
    (void)strncpy(l->host, host, sizeof(l->host) - 1);
    (void)strncpy(l->port, port, sizeof(l->port) - 1);
    l->hints.ai_socktype = SOCK_DGRAM;
    l->hints.ai_flags = ictusi_lookup_numeric(host) ? AI_NUMERICHOST : AI_ADDRCONFIG;
    l->request.ar_name = l->host;
    l->request.ar_service = l->port;
    l->request.ar_request = &l->hints;
    atomic_init(&l->holders, 2);
    struct gaicb *list[1] = {&l->request};
    struct sigevent told = {.sigev_notify = SIGEV_THREAD,
                            .sigev_notify_function = lookup_told,
                            .sigev_value.sival_ptr = l};
    if (getaddrinfo_a(GAI_NOWAIT, list, 1, &told)) {
        lookup_release(l); /* without memory: what was begun all the same is told, or lost */
        return NULL;
    }
    return l;
}

enum lookup_state ictusi_lookup_check(struct lookup *lookup, const struct addrinfo **addresses,
                                      int *code)
{
    *code = gai_error(&lookup->request);
    if (*code == EAI_INPROGRESS) {
        return LOOKUP_PENDING;
    }
    *addresses = *code ? NULL : lookup->request.ar_result;
    return *addresses ? LOOKUP_FOUND : LOOKUP_FAILED;
}

/*
 * Of a request that could be cancelled no end is told, so both holds are given up here; otherwise
 * the resolver's thread gives up its own.
 */
void ictusi_lookup_end(struct lookup *lookup)
{
    if (!lookup) {
        return;
    }
    if (gai_cancel(&lookup->request) == EAI_CANCELED) {
        lookup_release(lookup); /* the end of what was never begun is not told */
    }
    lookup_release(lookup);
}
