/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs of windows by post, start, complete and wait: the n-th time that a target exposes a window
 * to an origin is the n-th time that this origin has access to it there.
 */
#ifndef ICTUS_WAITS_EPOCHS_H
#define ICTUS_WAITS_EPOCHS_H

#include "waits/partners.h"

/* Told of each call that another one may have kept waiting. */
typedef void epoch_fn(void *self, uint32_t call, uint32_t cause, enum wait_state state);

/* Whether a call waits for an epoch to end: its waits are found here, not by links. */
bool ictusi_epochs_ends(const struct analysis *analysis, uint32_t call);

/* Errors: ICTUS_ERR_NOMEM. */
int ictusi_epochs_find(const struct analysis *analysis, epoch_fn *found, void *self);

#endif
