/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts records of one-sided communication windows to OTF2 events. */
#ifndef ICTUS_TRACE_CONVERT_WINDOWS_H
#define ICTUS_TRACE_CONVERT_WINDOWS_H

#include <otf2/otf2.h>
#include <stdint.h>

/*
 * Write the event of the record at p. It may be any record of a window except a fence, which is a
 * collective. window: its number in the archive.
 */
void ictusi_convert_window(OTF2_EvtWriter *writer, uint32_t window, const uint64_t *p,
                           OTF2_TimeStamp at, OTF2_ErrorCode *code);

#endif
