/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The logical clock with ramps that are nowhere steeper than requested, if such a solution exists.
 */
#ifndef ICTUS_CORRECT_EASE_H
#define ICTUS_CORRECT_EASE_H

#include "correct/session.h"

/*
 * To be called after a forward pass with this decay, and with limits. Raises the sends that would
 * make the ramps before receives steeper than the slope, and everything that follows from them,
 * until there are none. If that does not converge, everything is left as it was. Values and limits
 * are then ready for ictusi_backward(). Collective.
 */
int ictusi_ease(struct session *session, double decay, double slope);

#endif
