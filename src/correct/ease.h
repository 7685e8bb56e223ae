/* SPDX-License-Identifier: BSD-3-Clause */
/* The logical clock with ramps that are nowhere steeper than asked, where such a one exists. */
#ifndef ICTUS_CORRECT_EASE_H
#define ICTUS_CORRECT_EASE_H

#include "correct/session.h"

/*
 * After a forward pass with this decay, and limits: raise sends that would keep the ramps before
 * receives steeper than the slope, and all that follows from them, until none does; or leave all
 * as it is where that finds no end. Values and limits are ready for ictusi_backward(). Collective.
 */
int ictusi_ease(struct session *session, double decay, double slope);

#endif
