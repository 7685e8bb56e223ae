/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ending a measurement early without losing it: the first SIGINT, SIGTERM or SIGHUP is
 * remembered, and the command stops at its next pause; the second one ends the process as usual.
 */
#ifndef ICTUS_TOOLS_INTERRUPT_H
#define ICTUS_TOOLS_INTERRUPT_H

#include <ictus/error.h>
#include <stdbool.h>

enum { EXIT_INTERRUPTED = 130 };

/* From now on remember signals. */
void interrupt_watch(void);

/* Collective over MPI_COMM_WORLD where MPI is up: whether any rank was told to stop. */
bool interrupt_came(void);

/*
 * The exit code of a measuring command: of its failure, which is told, of an interruption, or the
 * one given. Collective as interrupt_came(); err is the same on all ranks.
 */
int interrupt_end(const char *command, int err, const struct ictus_why *why, int otherwise);

/* Like interrupt_came(), but for this rank alone and not collective: to leave a sleep. */
bool interrupt_here(void);

#endif
