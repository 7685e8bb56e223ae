/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts of timestamped request-reply pairs between two ranks of a communicator: what every
 * synchronisation is made of (H08 listing 4, H18 algorithm 7). The client stamps with its bare
 * source, the server with the clock it already has. Nothing is allocated while stamps are taken.
 */
#ifndef ICTUS_EXCHANGE_EXCHANGE_H
#define ICTUS_EXCHANGE_EXCHANGE_H

#include "clock/source.h"
#include "core/estimator.h"
#include "core/line.h"
#include "core/stamp.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exchange {
    MPI_Comm comm;
    const struct source *source;
    bool crowded;      /* more processes than cores: give the core away while waiting */
    bool synchronous;  /* synchronous sends, as H18 algorithm 8 asks */
    uint64_t started;  /* request-reply pairs begun as client */
    uint64_t messages; /* sent by this process, either role */
};

/* Client: n pairs with peer. Errors: ICTUS_ERR_MPI. */
int ictusi_exchange_ping(struct exchange *x, int peer, size_t n, struct stamp *stamps);

/* Server: answer n requests of peer with readings mapped by line. Errors: ICTUS_ERR_MPI. */
int ictusi_exchange_pong(struct exchange *x, int peer, size_t n, const struct line *line);

/* Client: pairs until the rule is content or max were made; each stamp goes to the rule only. */
int ictusi_exchange_ping_until(struct exchange *x, int peer, size_t max, struct netgauge *rule);

/* Server: answer until the client says that it is over. */
int ictusi_exchange_pong_until(struct exchange *x, int peer, const struct line *line);

/* One message of plain bytes from one rank to another, outside any timing. Errors: ICTUS_ERR_MPI.
 */
int ictusi_exchange_tell(struct exchange *x, int peer, const void *bytes, size_t size);
int ictusi_exchange_hear(struct exchange *x, int peer, void *bytes, size_t size);

#endif
