/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts records of RMA windows to OTF2 events. */
#include "trace/convert_windows.h"

#include "tracer/record.h"

static OTF2_ErrorCode window_atomic(OTF2_EvtWriter *w, uint32_t window, const uint64_t *p,
                                    OTF2_TimeStamp at)
{
    static const OTF2_RmaAtomicType types[] = {OTF2_RMA_ATOMIC_TYPE_ACCUMULATE,
                                               OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE,
                                               OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP};
    const uint64_t type = p[1] >> 32;
    return OTF2_EvtWriter_RmaAtomic(w, NULL, at, window, record_value(*p),
                                    types[type < 3 ? type : 0], p[2], p[3], p[4]);
}

/* An event that synchronises the process with another one. target is that process, or all. */
static OTF2_ErrorCode window_synchronised(OTF2_EvtWriter *w, uint32_t window, const uint64_t *p,
                                          OTF2_TimeStamp at)
{
    static const OTF2_RmaSyncType types[] = {
        [SYNC_GOT] = OTF2_RMA_SYNC_TYPE_NOTIFY_IN, [SYNC_POSTED] = OTF2_RMA_SYNC_TYPE_MEMORY};
    const uint32_t target = record_value(*p);
    switch (record_kind(*p)) {
    case RECORD_RMA_GIVEN:
        return OTF2_EvtWriter_RmaSync(w, NULL, at, window, target, OTF2_RMA_SYNC_TYPE_NOTIFY_OUT);
    case RECORD_RMA_LOCK:
        return OTF2_EvtWriter_RmaAcquireLock(w, NULL, at, window, target, 0,
                                             p[1] ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED);
    case RECORD_RMA_UNLOCK:
        return OTF2_EvtWriter_RmaReleaseLock(w, NULL, at, window, target, 0);
    default:
        return OTF2_EvtWriter_RmaSync(w, NULL, at, window, target,
                                      types[p[1] < RECORD_SYNCS ? p[1] : SYNC_POSTED]);
    }
}

void ictusi_convert_window(OTF2_EvtWriter *writer, uint32_t window, const uint64_t *p,
                           OTF2_TimeStamp at, OTF2_ErrorCode *code)
{
    const uint32_t target = record_value(*p);
    switch (record_kind(*p)) {
    case RECORD_RMA_PUT:
        *code = OTF2_EvtWriter_RmaPut(writer, NULL, at, window, target, p[1], p[2]);
        break;
    case RECORD_RMA_GET:
        *code = OTF2_EvtWriter_RmaGet(writer, NULL, at, window, target, p[1], p[2]);
        break;
    case RECORD_RMA_ATOMIC:
        *code = window_atomic(writer, window, p, at);
        break;
    case RECORD_RMA_DONE:
        *code = OTF2_EvtWriter_RmaOpCompleteBlocking(writer, NULL, at, window, p[1]);
        break;
    case RECORD_RMA_CREATE:
        *code = OTF2_EvtWriter_RmaWinCreate(writer, NULL, at, window);
        break;
    case RECORD_RMA_FREE:
        *code = OTF2_EvtWriter_RmaWinDestroy(writer, NULL, at, window);
        break;
    default:
        *code = window_synchronised(writer, window, p, at);
        break;
    }
}
