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
    atomic_int holders; /* the caller, and the C library's thread until it has reported the end */
};

/*
 * A lookup has two holders, and either may be the last: the caller may give up first, or the
 * resolver's thread may finish first. The counter's default memory order (sequentially consistent)
 * makes what the thread wrote into the request visible to the one that frees it.
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

/* Called in a thread of the C library, which may write to the request until then. */
static void lookup_told(union sigval lookup)
{
    lookup_release(lookup.sival_ptr);
}

bool ictusi_lookup_numeric(const char *host)
{
    struct in6_addr v6;
    struct in_addr v4;
    /* A scope after the address, as in fe80::1%eth0, is left to the resolver. */
    return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1;
}

/*
 * getaddrinfo() may block for a minute if a name server does not answer. Meanwhile a daemon with
 * one thread could neither poll nor correct its clock. AI_ADDRCONFIG leaves out address families
 * that the machine does not use. It must not be applied to numeric addresses, because it ignores
 * loopback addresses.
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
        lookup_release(l); /* out of memory: if the request was started nevertheless, its end is
                              reported, or it leaks */
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

/* The end of a request that could be cancelled is not reported, so both holds are released here.
 * Otherwise the resolver's thread releases its own. */
void ictusi_lookup_end(struct lookup *lookup)
{
    if (!lookup) {
        return;
    }
    if (gai_cancel(&lookup->request) == EAI_CANCELED) {
        lookup_release(lookup); /* the end of a request that never began is not reported */
    }
    lookup_release(lookup);
}
