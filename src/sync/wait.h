/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for an instant: sleep while it is far, give the core away when it is near, then spin. */
#ifndef ICTUS_SYNC_WAIT_H
#define ICTUS_SYNC_WAIT_H

#include "clock/source.h"

#include <stdbool.h>

/*
 * Wait until the source shows `deadline`; returns its first reading that is not before it, or the
 * first that ran backwards.
 */
int64_t ictusi_sync_wait_until(const struct source *source, int64_t deadline, bool crowded);

#endif
