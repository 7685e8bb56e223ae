/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a single server: "HOST[:PORT]/key=3/tmin=64s/basic". Pure. */
#ifndef ICTUS_LOCK_SERVER_OPTIONS_H
#define ICTUS_LOCK_SERVER_OPTIONS_H

#include "keys.h"

#include <ictus/lock_daemon.h>

struct server_options {
    char host[256]; /* with the port, as given */
    const struct key *key;
    bool interleaved;
    int64_t exchanges;
    double tmin_s, tmax_s, spacing_s;
};

/* Parse a server's text. Its options override those for all servers. "key=" refers to `keys`.
 * @return ICTUS_OK, or ICTUS_ERR_SPEC with the wrong option and the possible ones */
int ictusi_server_options(const char *text, const struct ictus_lock_options *all,
                          const struct key *key, const struct keys *keys,
                          struct server_options *out, struct ictus_why *why);

#endif
