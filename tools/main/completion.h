/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion of command lines in bash, from the tables of commands and options. */
#ifndef ICTUS_TOOLS_COMPLETION_H
#define ICTUS_TOOLS_COMPLETION_H

#include "main/command.h"

/* Print a bash script on standard output. The list of commands ends with NULL. */
void completion_print(const struct command *const *list);

#endif
