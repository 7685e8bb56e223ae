/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs of windows formed by post, start, complete and wait. The n-th time that a target exposes a
 * window to an origin matches the n-th time that this origin accesses it there.
 */
#ifndef ICTUS_WAITS_EPOCHS_H
#define ICTUS_WAITS_EPOCHS_H

#include "waits/partners.h"

/* Called for each call that another one may have delayed. */
typedef void epoch_fn(void *self, uint32_t call, uint32_t cause, enum wait_state state);

/* Whether a call waits for the end of an epoch. Its waits are found here, not through links. */
bool ictusi_epochs_ends(const struct analysis *analysis, uint32_t call);

/* Errors: ICTUS_ERR_NOMEM. */
int ictusi_epochs_find(const struct analysis *analysis, epoch_fn *found, void *self);

#endif
