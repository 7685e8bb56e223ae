/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking a name up without waiting for it: a name server may take half a minute to say no. */
#ifndef ICTUS_LOCK_LOOKUP_H
#define ICTUS_LOCK_LOOKUP_H

#include <netdb.h>
#include <stdbool.h>

struct lookup;

enum lookup_state { LOOKUP_PENDING, LOOKUP_FOUND, LOOKUP_FAILED };

/* Begin; host and port are copied. @return NULL without memory */
struct lookup *ictusi_lookup_start(const char *host, const char *port);

/* How it stands. addresses is set when found and lives until the end; code tells why it failed. */
enum lookup_state ictusi_lookup_check(struct lookup *lookup, const struct addrinfo **addresses,
                                      int *code);

/* Give it up, or away. NULL is legal. */
void ictusi_lookup_end(struct lookup *lookup);

/* Whether a host is an address already. */
bool ictusi_lookup_numeric(const char *host);

#endif
