/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for an instant: sleeps while it is far away, yields the core while it is near, and then
 * spins. */
#ifndef ICTUS_SYNC_WAIT_H
#define ICTUS_SYNC_WAIT_H

#include "clock/source.h"

#include <stdbool.h>

/* Wait until the source shows `deadline`. Return its first reading that is not before the
 * deadline, or the first reading that ran backwards. */
int64_t ictusi_sync_wait_until(const struct source *source, int64_t deadline, bool crowded);

#endif
