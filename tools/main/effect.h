/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that have an effect only beside another one, or only without it. */
#ifndef ICTUS_TOOLS_EFFECT_H
#define ICTUS_TOOLS_EFFECT_H

#include "main/options.h"

#include <ictus/error.h>

/*
 * Refuse an option that would silently do nothing: who set it expects another run than the one that
 * would be made. Options as they are by default are never refused. Local. Errors: ICTUS_ERR_SPEC.
 */
int effect_check(const char *command, const struct option_row *rows, const void *options,
                 struct ictus_why *why);

#endif
