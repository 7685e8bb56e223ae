/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts records of MPI-IO to OTF2 events. */
#include "trace/convert_files.h"

#include "trace/convert.h"

static OTF2_ErrorCode file_opened(OTF2_EvtWriter *w, OTF2_TimeStamp at, uint32_t handle,
                                  uint64_t flags)
{
    const bool reads = flags & FILE_READ;
    const bool writes = flags & FILE_WRITE;
    OTF2_IoCreationFlag creation = OTF2_IO_CREATION_FLAG_NONE;
    OTF2_IoStatusFlag status = OTF2_IO_STATUS_FLAG_NONE;
    creation |= flags & FILE_CREATE ? OTF2_IO_CREATION_FLAG_CREATE : 0U;
    creation |= flags & FILE_EXCLUSIVE ? OTF2_IO_CREATION_FLAG_EXCLUSIVE : 0U;
    status |= flags & FILE_APPEND ? OTF2_IO_STATUS_FLAG_APPEND : 0U;
    status |= flags & FILE_DELETE_ON_CLOSE ? OTF2_IO_STATUS_FLAG_DELETE_ON_CLOSE : 0U;
    const OTF2_IoAccessMode mode = reads && writes ? OTF2_IO_ACCESS_MODE_READ_WRITE
                                   : writes        ? OTF2_IO_ACCESS_MODE_WRITE_ONLY
                                                   : OTF2_IO_ACCESS_MODE_READ_ONLY;
    return OTF2_EvtWriter_IoCreateHandle(w, NULL, at, handle, mode, creation, status);
}

static OTF2_ErrorCode file_begun(OTF2_EvtWriter *w, OTF2_TimeStamp at, uint32_t handle,
                                 const uint64_t *p, OTF2_AttributeList *attributes)
{
    const unsigned small = record_small(*p);
    OTF2_IoOperationFlag flags = OTF2_IO_OPERATION_FLAG_NONE;
    flags |= small & IO_NONBLOCKING ? OTF2_IO_OPERATION_FLAG_NON_BLOCKING : 0U;
    flags |= small & IO_COLLECTIVE ? OTF2_IO_OPERATION_FLAG_COLLECTIVE : 0U;
    const OTF2_IoOperationMode mode = small & IO_READ    ? OTF2_IO_OPERATION_MODE_READ
                                      : small & IO_WRITE ? OTF2_IO_OPERATION_MODE_WRITE
                                                         : OTF2_IO_OPERATION_MODE_FLUSH;
    const bool told =
        p[3] != OFFSET_NONE &&
        OTF2_AttributeList_AddUint64(attributes, ATTRIBUTE_OFFSET, p[3]) == OTF2_SUCCESS;
    return OTF2_EvtWriter_IoOperationBegin(w, told ? attributes : NULL, at, handle, mode, flags,
                                           p[1], p[2]);
}

static OTF2_ErrorCode file_sought(OTF2_EvtWriter *w, OTF2_TimeStamp at, uint32_t handle,
                                  const uint64_t *p)
{
    static const OTF2_IoSeekOption from[] = {[SEEK_FROM_START] = OTF2_IO_SEEK_FROM_START,
                                             [SEEK_FROM_HERE] = OTF2_IO_SEEK_FROM_CURRENT,
                                             [SEEK_FROM_END] = OTF2_IO_SEEK_FROM_END};
    const unsigned whence = record_small(*p);
    return OTF2_EvtWriter_IoSeek(w, NULL, at, handle, (int64_t)p[1],
                                 from[whence <= SEEK_FROM_END ? whence : SEEK_FROM_START], p[2]);
}

bool ictusi_convert_file(OTF2_EvtWriter *w, const struct trace_map *map, const uint64_t *p,
                         OTF2_TimeStamp at, OTF2_AttributeList *attributes, OTF2_ErrorCode *code)
{
    const unsigned kind = record_kind(*p);
    const uint32_t number = record_value(*p);
    const uint32_t handle =
        ictusi_unify_map_get(map, kind == RECORD_FILE_DELETE ? MAP_DELETED : MAP_FILE, number);
    if (handle == KEYMAP_NONE) {
        return false;
    }
    switch (kind) {
    case RECORD_IO_BEGIN:
        *code = file_begun(w, at, handle, p, attributes);
        break;
    case RECORD_FILE_OPEN:
        *code = file_opened(w, at, handle, p[1]);
        break;
    case RECORD_FILE_CLOSE:
        *code = OTF2_EvtWriter_IoDestroyHandle(w, NULL, at, handle);
        break;
    case RECORD_FILE_DELETE:
        *code = OTF2_EvtWriter_IoDeleteFile(w, NULL, at, IO_PARADIGM_MPI, handle);
        break;
    case RECORD_FILE_SEEK:
        *code = file_sought(w, at, handle, p);
        break;
    case RECORD_IO_ISSUED:
        *code = OTF2_EvtWriter_IoOperationIssued(w, NULL, at, handle, p[1]);
        break;
    case RECORD_IO_DONE:
        *code = OTF2_EvtWriter_IoOperationComplete(w, NULL, at, handle, p[2], p[1]);
        break;
    default:
        *code = OTF2_EvtWriter_IoOperationTest(w, NULL, at, handle, p[1]);
        break;
    }
    return true;
}
