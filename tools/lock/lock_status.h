/* SPDX-License-Identifier: BSD-3-Clause */
/* Printing what a running `ictus lock` says of itself. */
#ifndef ICTUS_TOOLS_LOCK_STATUS_H
#define ICTUS_TOOLS_LOCK_STATUS_H

#include <ictus/result.h>

/* Print as text or, for any other format, as one JSON object. @return an exit code */
int lock_status(const char *name, const char *directory, enum ictus_format format);

#endif
