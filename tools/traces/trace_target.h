/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a program can be traced: found, executable, not static, linked with the same MPI. */
#ifndef ICTUS_TOOLS_TRACE_TARGET_H
#define ICTUS_TOOLS_TRACE_TARGET_H

#include <ictus/error.h>

/*
 * Errors: ICTUS_ERR_ARG with what is wrong. A script, or a program that may load MPI itself,
 * passes; doubt is put into why then, which is empty otherwise.
 */
int trace_target_check(const char *program, struct ictus_why *why);

/* Find libictus-trace.so beside this program. Errors: ICTUS_ERR_IO. */
int trace_target_library(char *path, unsigned long size, struct ictus_why *why);

#endif
