/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion for the shells bash, zsh and fish. */
#ifndef ICTUS_TOOLS_COMPLETION_H
#define ICTUS_TOOLS_COMPLETION_H

#include "main/command.h"

#include <stdbool.h>

/* Write the script of a shell; list ends with NULL. False, told, where the shell is unknown. */
bool completion_print(const char *shell, const struct command *const *list);

#endif
