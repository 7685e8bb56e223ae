/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program's main file gives to commands, for targets that link commands without it. */
#include "main/command.h"

int command_rank(void)
{
    return 0;
}

int command_size(void)
{
    return 8;
}

bool command_launched(void)
{
    return false;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    (void)command;
    (void)why;
    return err ? EXIT_FAILED : EXIT_OK;
}
