/* SPDX-License-Identifier: BSD-3-Clause */
/* Name lookups in the background. */
#include "lookup.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

struct lookup {
    char host[256], port[8];
    struct addrinfo hints;
    struct gaicb request;
};

bool ictusi_lookup_numeric(const char *host)
{
    struct in6_addr v6;
    struct in_addr v4;
    /* A scope after the address, fe80::1%eth0, is for the resolver. */
    return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1;
}

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
    struct gaicb *list[1] = {&l->request};
    if (getaddrinfo_a(GAI_NOWAIT, list, 1, NULL)) {
        free(l);
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

void ictusi_lookup_end(struct lookup *lookup)
{
    if (!lookup || gai_cancel(&lookup->request) == EAI_NOTCANCELED) {
        return; /* a thread of the C library still writes there: it is lost */
    }
    if (lookup->request.ar_result) {
        freeaddrinfo(lookup->request.ar_result);
    }
    free(lookup);
}
