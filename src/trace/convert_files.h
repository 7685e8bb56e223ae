/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts records of MPI-IO to OTF2 events. */
#ifndef ICTUS_TRACE_CONVERT_FILES_H
#define ICTUS_TRACE_CONVERT_FILES_H

#include "trace/unify.h"
#include "tracer/record.h"

#include <otf2/otf2.h>
#include <stdbool.h>

/* The number of MPI-IO among the archive's I/O paradigms. */
enum { IO_PARADIGM_MPI = 0 };

static inline bool record_is_file(unsigned kind)
{
    return kind == RECORD_IO_BEGIN || (kind >= RECORD_FILE_OPEN && kind <= RECORD_IO_TESTED);
}

/*
 * Write the event of a record. attributes: an empty list, which the event may fill. @return whether
 * the record has an event; *code is the result of writing it
 */
bool ictusi_convert_file(OTF2_EvtWriter *writer, const struct trace_map *map, const uint64_t *p,
                         OTF2_TimeStamp at, OTF2_AttributeList *attributes, OTF2_ErrorCode *code);

#endif
