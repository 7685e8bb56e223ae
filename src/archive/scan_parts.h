/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading several blocks of locations at a time, each by a thread. */
#ifndef ICTUS_ARCHIVE_SCAN_PARTS_H
#define ICTUS_ARCHIVE_SCAN_PARTS_H

#include "archive/scan_state.h"

/*
 * Read all locations by so many threads, the caller's included. What is found, and what is said of
 * damage, is the same as one thread alone finds and says. Errors: those of ictusi_scan_read().
 */
int ictusi_scan_parts(struct scan *scan, int threads);

#endif
