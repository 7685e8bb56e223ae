/* SPDX-License-Identifier: BSD-3-Clause */
/* What the messages of a trace leave open about its clocks, once they have been brought together.
 */
#ifndef ICTUS_WAITS_MESSAGE_ERRORS_H
#define ICTUS_WAITS_MESSAGE_ERRORS_H

#include "waits/histories.h"

/*
 * Draw error histories of all clocks, whose room is taken here; fitted: with how many knots (at
 * least 2) messages have brought the clocks together before; 0: they are believed as they are.
 * The source becomes SIGMA_MESSAGES, or SIGMA_UNKNOWN where messages do not go both ways between
 * all clocks. Collective over the session's team. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_message_errors(struct histories *histories, struct session *session, uint32_t fitted);

#endif
