/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs of a tracer's processes, for the targets that read them. */
#ifndef ICTUS_TESTS_FUZZ_LOG_H
#define ICTUS_TESTS_FUZZ_LOG_H

#include "fuzz.h"

/*
 * Write directory/raw/PROCESS.log, with the number that ties logs to this version in place of what
 * is there, so that seeds live on.
 */
void fuzz_put_log(const char *directory, int process, const struct fuzz_part *part);

#endif
