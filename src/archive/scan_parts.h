/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads several blocks of locations in parallel, one per thread. */
#ifndef ICTUS_ARCHIVE_SCAN_PARTS_H
#define ICTUS_ARCHIVE_SCAN_PARTS_H

#include "archive/scan_state.h"

/*
 * Read all locations with this many threads, including the caller's. The results and error messages
 * are the same as with one thread. Errors: those of ictusi_scan_read().
 */
int ictusi_scan_parts(struct scan *scan, int threads);

#endif
