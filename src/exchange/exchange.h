/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts of timestamped request-reply pairs between two ranks of a communicator. Every
 * synchronisation is made of them (H08 listing 4, H18 algorithm 7). The client stamps with its bare
 * source. The server stamps with the clock that it already has. No memory is allocated while stamps
 * are taken.
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
    bool crowded;      /* more processes than cores: yield the core while waiting */
    bool synchronous;  /* use synchronous sends, as H18 algorithm 8 requires */
    uint64_t started;  /* request-reply pairs begun as client */
    uint64_t messages; /* messages that this process sent, in either role */
};

/* Client: exchange n request-reply pairs with peer. Errors: ICTUS_ERR_MPI. */
int ictusi_exchange_ping(struct exchange *x, int peer, size_t n, struct stamp *stamps);

/* Server: answer n requests of peer with readings that `line` maps. Errors: ICTUS_ERR_MPI. */
int ictusi_exchange_pong(struct exchange *x, int peer, size_t n, const struct line *line);

/* Client: exchange pairs until the rule is satisfied or `max` pairs have been made. The stamps
 * are passed to the rule and not kept. */
int ictusi_exchange_ping_until(struct exchange *x, int peer, size_t max, struct netgauge *rule);

/* Server: answer requests until the client ends the burst. */
int ictusi_exchange_pong_until(struct exchange *x, int peer, const struct line *line);

/* Send or receive one message of plain bytes, outside of any timing. Errors: ICTUS_ERR_MPI. */
int ictusi_exchange_tell(struct exchange *x, int peer, const void *bytes, size_t size);
int ictusi_exchange_hear(struct exchange *x, int peer, void *bytes, size_t size);

#endif
