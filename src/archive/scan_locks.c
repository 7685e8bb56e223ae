/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader's callbacks for window locks and for operations under them. OTF2 does not record the
 * order in which processes held a lock, so these events make no points; only a tap receives them.
 */
#include "archive/scan_state.h"

static OTF2_CallbackCode lock_tell(struct reading *r, OTF2_TimeStamp time,
                                   const struct tap_window_lock *lock)
{
    struct scan_tap *tap = r->scan->tap;
    return ictusi_scan_verdict(r, tap->ops->window_lock(tap, time, lock));
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode lock_requested(OTF2_LocationRef location, OTF2_TimeStamp time,
                                        uint64_t position, void *data,
                                        OTF2_AttributeList *attributes, OTF2_RmaWinRef window,
                                        uint32_t target, uint64_t id, OTF2_LockType type)
{
    const struct tap_window_lock lock = {TAP_LOCK_REQUESTED, window, target, id,
                                         type == OTF2_LOCK_EXCLUSIVE};
    (void)location;
    (void)position;
    (void)attributes;
    return lock_tell(data, time, &lock);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode lock_acquired(OTF2_LocationRef location, OTF2_TimeStamp time,
                                       uint64_t position, void *data,
                                       OTF2_AttributeList *attributes, OTF2_RmaWinRef window,
                                       uint32_t target, uint64_t id, OTF2_LockType type)
{
    const struct tap_window_lock lock = {TAP_LOCK_ACQUIRED, window, target, id,
                                         type == OTF2_LOCK_EXCLUSIVE};
    (void)location;
    (void)position;
    (void)attributes;
    return lock_tell(data, time, &lock);
}

static OTF2_CallbackCode lock_released(OTF2_LocationRef location, OTF2_TimeStamp time,
                                       uint64_t position, void *data,
                                       OTF2_AttributeList *attributes, OTF2_RmaWinRef window,
                                       uint32_t target, uint64_t id)
{
    const struct tap_window_lock lock = {TAP_LOCK_RELEASED, window, target, id, false};
    (void)location;
    (void)position;
    (void)attributes;
    return lock_tell(data, time, &lock);
}

static OTF2_CallbackCode window_access(struct reading *r, OTF2_TimeStamp time,
                                       OTF2_RmaWinRef window)
{
    const struct tap_window_lock lock = {TAP_LOCK_ACCESS, window, 0, 0, false};
    return lock_tell(r, time, &lock);
}

/* RmaPut and RmaGet. */
/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_locks_on_moved(OTF2_LocationRef location, OTF2_TimeStamp time,
                                             uint64_t position, void *data,
                                             OTF2_AttributeList *attributes, OTF2_RmaWinRef window,
                                             uint32_t target, uint64_t bytes, uint64_t match)
{
    (void)location;
    (void)position;
    (void)attributes;
    (void)target;
    (void)bytes;
    (void)match;
    return window_access(data, time, window);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_locks_on_atomic(OTF2_LocationRef location, OTF2_TimeStamp time,
                                              uint64_t position, void *data,
                                              OTF2_AttributeList *attributes, OTF2_RmaWinRef window,
                                              uint32_t target, OTF2_RmaAtomicType type,
                                              uint64_t sent, uint64_t received, uint64_t match)
{
    (void)location;
    (void)position;
    (void)attributes;
    (void)target;
    (void)type;
    (void)sent;
    (void)received;
    (void)match;
    return window_access(data, time, window);
}

/* RmaOpCompleteBlocking, RmaOpCompleteNonBlocking and RmaOpCompleteRemote. */
static OTF2_CallbackCode scan_locks_on_completed(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                 uint64_t position, void *data,
                                                 OTF2_AttributeList *attributes,
                                                 OTF2_RmaWinRef window, uint64_t match)
{
    (void)location;
    (void)position;
    (void)attributes;
    (void)match;
    return window_access(data, time, window);
}

void ictusi_scan_register_locks(OTF2_EvtReaderCallbacks *set)
{
    OTF2_EvtReaderCallbacks_SetRmaRequestLockCallback(set, lock_requested);
    OTF2_EvtReaderCallbacks_SetRmaAcquireLockCallback(set, lock_acquired);
    OTF2_EvtReaderCallbacks_SetRmaReleaseLockCallback(set, lock_released);
    OTF2_EvtReaderCallbacks_SetRmaPutCallback(set, scan_locks_on_moved);
    OTF2_EvtReaderCallbacks_SetRmaGetCallback(set, scan_locks_on_moved);
    OTF2_EvtReaderCallbacks_SetRmaAtomicCallback(set, scan_locks_on_atomic);
    OTF2_EvtReaderCallbacks_SetRmaOpCompleteBlockingCallback(set, scan_locks_on_completed);
    OTF2_EvtReaderCallbacks_SetRmaOpCompleteNonBlockingCallback(set, scan_locks_on_completed);
    OTF2_EvtReaderCallbacks_SetRmaOpCompleteRemoteCallback(set, scan_locks_on_completed);
}
