/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of windows (MPI_Win_lock, MPI_Win_lock_all and similar): who had to wait until others
 * released one. The order in which processes held a lock is not recorded; it is taken to be that of
 * their releases.
 */
#ifndef ICTUS_WAITS_WINDOW_LOCKS_H
#define ICTUS_WAITS_WINDOW_LOCKS_H

#include "waits/epochs.h"

/* Errors: ICTUS_ERR_NOMEM. */
int ictusi_window_locks_find(const struct analysis *analysis, epoch_fn *found, void *self);

#endif
