/* SPDX-License-Identifier: BSD-3-Clause */
/* A Prometheus text endpoint: one listening socket, one short answer a connection, a thread. */
#ifndef ICTUS_LOCK_METRICS_H
#define ICTUS_LOCK_METRICS_H

#include <ictus/error.h>
#include <ictus/lock.h>
#include <stddef.h>

/* Listen on "[ADDRESS:]PORT"; without an address on this machine only. */
int ictusi_lock_metrics_open(const char *where, int *fd, struct ictus_why *why);

/*
 * Answer whoever asks, in a thread of its own, so that no connection, idle or busy, delays anything
 * else. text fills a buffer with the answer's body in that thread. The listener stays the caller's.
 * @return ICTUS_OK, ICTUS_ERR_NOMEM or ICTUS_ERR_IO
 */
struct metrics;
int ictusi_lock_metrics_start(int listener, size_t (*text)(void *context, char *to, size_t size),
                              void *context, struct metrics **metrics);

/* NULL is legal. */
void ictusi_lock_metrics_stop(struct metrics *metrics);

/* The status as metrics. @return the length, cut off at size */
size_t ictusi_lock_metrics_text(const struct ictus_lock_status *status, char *to, size_t size);

#endif
