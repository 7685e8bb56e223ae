/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether all processes of a job were given the same command line. */
#ifndef ICTUS_TOOLS_AGREEMENT_H
#define ICTUS_TOOLS_AGREEMENT_H

#include "main/command.h"

/*
 * Collective where MPI is up: refuse command lines that differ between ranks, because processes
 * that measure different things would wait for each other forever. err and why say how reading this
 * rank's own options went; a rank that could not read them speaks for all. Returns the same on all
 * ranks, with the reason in why: err, ICTUS_ERR_SPEC, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI.
 */
int agreement_reach(const struct command *command, const void *options, int count,
                    char *const *words, int err, struct ictus_why *why);

#endif
