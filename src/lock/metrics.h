/* SPDX-License-Identifier: BSD-3-Clause */
/* A Prometheus text endpoint: one listening socket, one short answer for each connection, one
 * thread. */
#ifndef ICTUS_LOCK_METRICS_H
#define ICTUS_LOCK_METRICS_H

#include <ictus/error.h>
#include <ictus/lock.h>
#include <stddef.h>

/* Listen on "[ADDRESS:]PORT". Without an address, listen on this machine only. */
int ictusi_lock_metrics_open(const char *where, int *fd, struct ictus_why *why);

/*
 * Answer requests in a thread of their own, so that no connection, idle or busy, delays anything
 * else. `text` fills a buffer with the body of the answer and is called in that thread. The caller
 * keeps the listener. @return ICTUS_OK, ICTUS_ERR_NOMEM or ICTUS_ERR_IO
 */
struct metrics;
int ictusi_lock_metrics_start(int listener, size_t (*text)(void *context, char *to, size_t size),
                              void *context, struct metrics **metrics);

/* Stop the thread and release its memory. NULL is allowed. */
void ictusi_lock_metrics_stop(struct metrics *metrics);

/* Write the status as metrics. @return the length, cut off at size */
size_t ictusi_lock_metrics_text(const struct ictus_lock_status *status, char *to, size_t size);

#endif
