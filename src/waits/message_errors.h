/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the messages of a trace leave uncertain about its clocks after they have been synchronised.
 */
#ifndef ICTUS_WAITS_MESSAGE_ERRORS_H
#define ICTUS_WAITS_MESSAGE_ERRORS_H

#include "waits/histories.h"

/*
 * Draw error histories of all clocks, and allocate them. fitted is the number of knots (at least 2)
 * with which messages have synchronised the clocks before, or 0 if nothing has: the clocks are
 * then taken as they are, as they also are if the messages leave them too uncertain. The source
 * becomes SIGMA_MESSAGES, or SIGMA_UNKNOWN if messages do not go in both directions between all
 * clocks. Collective over the session's team. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_message_errors(struct histories *histories, struct session *session, uint32_t fitted);

#endif
