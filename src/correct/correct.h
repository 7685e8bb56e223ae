/* SPDX-License-Identifier: BSD-3-Clause */
/* The correction, by one process alone or by a rank of a team. */
#ifndef ICTUS_CORRECT_CORRECT_H
#define ICTUS_CORRECT_CORRECT_H

#include "correct/session.h"

/* Like ictus_correct(); collective over the team. */
int ictusi_correct_team(const struct ictus_correct_options *options, struct team *team,
                        json_t **report, struct ictus_why *why);

#endif
