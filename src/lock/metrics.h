/* SPDX-License-Identifier: BSD-3-Clause */
/* A Prometheus text endpoint: one listening socket, one short answer a connection. */
#ifndef ICTUS_LOCK_METRICS_H
#define ICTUS_LOCK_METRICS_H

#include <ictus/error.h>
#include <ictus/lock.h>
#include <stddef.h>

/* Listen on "[ADDRESS:]PORT"; without an address on this machine only. */
int ictusi_metrics_open(const char *where, int *fd, struct ictus_why *why);

/* Answer one waiting connection with a body; never waits longer than 100 ms. */
void ictusi_metrics_answer(int listener, const char *body, size_t length);

/* The status as metrics. @return the length, cut off at size */
size_t ictusi_metrics_text(const struct ictus_lock_status *status, char *to, size_t size);

#endif
