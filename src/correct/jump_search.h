/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the clocks of a session that jumped, before they are fitted. */
#ifndef ICTUS_CORRECT_JUMP_SEARCH_H
#define ICTUS_CORRECT_JUMP_SEARCH_H

#include "correct/fitting.h"

/* Find the jumps of the clocks. Leaves phi 0. Collective. Errors: ICTUS_ERR_NOMEM, the team's. */
int ictusi_jump_search_run(struct fitting *fitting);

/* Add what is not known of the jumps to the model's errors. */
void ictusi_jump_search_add_errors(struct fitting *fitting);

/* Give the jumps up. The errors grow by them. */
void ictusi_jump_search_decline(struct fitting *fitting);

#endif
