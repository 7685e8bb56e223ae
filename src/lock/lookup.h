/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks up a name in the background, because a name server may take half a minute to fail. */
#ifndef ICTUS_LOCK_LOOKUP_H
#define ICTUS_LOCK_LOOKUP_H

#include <netdb.h>
#include <stdbool.h>

struct lookup;

enum lookup_state { LOOKUP_PENDING, LOOKUP_FOUND, LOOKUP_FAILED };

/* Start a lookup. Host and port are copied. @return NULL if memory runs out */
struct lookup *ictusi_lookup_start(const char *host, const char *port);

/* Return the state. *addresses is set when found and stays valid until ictusi_lookup_end().
 * *code is the reason of a failure. */
enum lookup_state ictusi_lookup_check(struct lookup *lookup, const struct addrinfo **addresses,
                                      int *code);

/* End a lookup, whether finished or not. NULL is allowed. */
void ictusi_lookup_end(struct lookup *lookup);

/* Return whether a host is already a numeric address. */
bool ictusi_lookup_numeric(const char *host);

#endif
