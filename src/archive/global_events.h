/* SPDX-License-Identifier: BSD-3-Clause */
/* All events of an archive in order of time, as OTF2's readers show them. */
#ifndef ICTUS_ARCHIVE_GLOBAL_EVENTS_H
#define ICTUS_ARCHIVE_GLOBAL_EVENTS_H

#include "archive/trace.h"

/* Read the events once with these callbacks. Errors: ICTUS_ERR_CORRUPT. */
int ictusi_global_events_read(struct trace *trace, const OTF2_GlobalEvtReaderCallbacks *callbacks,
                              void *user);

#endif
