/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages as arrows: an even selection, and their total number. */
#ifndef ICTUS_VIEW_ARROWS_H
#define ICTUS_VIEW_ARROWS_H

#include "correct/session.h"

#include <jansson.h>

/* Converts instants of the trace to nanoseconds of the picture. */
struct picture_clock {
    const struct trace *trace;
    int64_t origin; /* ticks */
};

int64_t ictusi_arrows_picture_ns(const struct picture_clock *clock, int64_t stamp);

/* The receive of the message that a point sends, or NODE_NONE. */
uint32_t ictusi_arrow_end(const struct points *points, uint64_t i);

/*
 * Set "messages", "message_count" and "backward_count" of an object. The points' values are the
 * times. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_arrows_json(const struct session *session, const struct picture_clock *clock,
                       json_t *object);

#endif
