/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader's callbacks for threads: fork and join, team barriers, locks, thread creation, tasks.
 */
#include "archive/scan_state.h"

#include <ictus/error.h>

/*
 * The kinds of keys, besides communicators, under which thread events are matched. Two events of
 * which one must follow the other (release and acquire, create and begin) are matched under a key
 * of two words: the kind with its scope, and a number that both records contain.
 */
enum pair_kind { PAIR_LOCK = 1, PAIR_CREATE, PAIR_WAIT, PAIR_TASK };
/*
 * The kind of sequence number for the teams that a location has begun. Smaller values are point
 * classes.
 */
enum { SEQUENCE_TEAM = 16 };
enum { BARRIER_BITS = 32 };

/* out: other events depend on this point; otherwise it depends on others. */
static uint32_t thread_point(struct reading *r, OTF2_TimeStamp time, uint64_t position, bool out)
{
    return ictusi_scan_point(r, time, position, POINT_THREAD | (out ? POINT_OUT : POINT_IN));
}

/*
 * Make a point and match it under a key. Whichever of the two events is read first waits under the
 * key, because locations are read one after another and not in the order of time.
 */
static OTF2_CallbackCode thread_pair(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                                     uint64_t a, uint64_t b, bool out)
{
    const uint32_t point = thread_point(r, time, position, out);
    if (point == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    return ictusi_scan_verdict(r, ictusi_match_thread(&r->scan->history->matching, OP_PAIR,
                                                      LAYOUT_NONE, a, b, point, out));
}

/* The scope is a communicator or a process, in 32 bits below the kind. */
static uint64_t thread_key(enum pair_kind kind, uint32_t scope)
{
    return (uint64_t)kind << 40 | scope;
}

/*
 * A fork. Its team is not known yet: it is the next one that this location begins. Forks that are
 * nested too deeply are only counted, so that joins still find their forks.
 */
static OTF2_CallbackCode threads_forked(OTF2_LocationRef location, OTF2_TimeStamp time,
                                        uint64_t position, void *data,
                                        OTF2_AttributeList *attributes, OTF2_Paradigm model,
                                        uint32_t threads)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    (void)model;
    (void)threads;
    const uint32_t point = thread_point(r, time, position, true);
    if (point == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    if (r->fork_count < STACK_MAX) {
        r->forks[r->fork_count] = (struct fork_state){point, LAYOUT_NONE, 0};
    }
    r->fork_count++;
    return OTF2_CALLBACK_SUCCESS;
}

/*
 * A join comes after the ends of all members. A fork that never got a team, because nobody's begin
 * was recorded, orders nothing.
 */
static OTF2_CallbackCode threads_joined(OTF2_LocationRef location, OTF2_TimeStamp time,
                                        uint64_t position, void *data,
                                        OTF2_AttributeList *attributes, OTF2_Paradigm model)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    (void)model;
    const uint32_t point = thread_point(r, time, position, false);
    if (point == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    if (r->fork_count == 0 || r->fork_count-- > STACK_MAX) {
        return OTF2_CALLBACK_SUCCESS;
    }
    const struct fork_state *fork = &r->forks[r->fork_count];
    if (fork->comm == LAYOUT_NONE) {
        return OTF2_CALLBACK_SUCCESS;
    }
    return ictusi_scan_verdict(r,
                               ictusi_match_thread(&r->scan->history->matching, OP_JOIN, fork->comm,
                                                   fork->comm, fork->sequence, point, false));
}

/*
 * Which region of its team a location begins. If the archive does not record it, regions are
 * counted. Counting is right only if every thread of the team was recorded in every region, which
 * is not the case if recording was switched off for a thread. Hence the attribute that ictus
 * writes.
 */
static int team_region(struct reading *r, uint32_t comm, OTF2_AttributeList *attributes,
                       uint64_t *sequence)
{
    const int64_t attribute = ictusi_idmap_get(&r->scan->trace->team_region, 0, 0);
    if (attribute != IDMAP_NONE &&
        OTF2_AttributeList_GetUint64(attributes, (OTF2_AttributeRef)attribute, sequence) ==
            OTF2_SUCCESS) {
        return ICTUS_OK;
    }
    int64_t *next =
        ictusi_match_sequence(&r->scan->history->matching, SEQUENCE_TEAM, comm, r->location);
    *sequence = next ? (uint64_t)(*next)++ : 0;
    return next ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * A location begins a team. A fork comes before all members of the team: OP_FORK with the fork as
 * the outgoing point, and each member's begin as an incoming one. The forking thread is itself a
 * member, and connects its fork, which is the innermost one without a team.
 */
static int scan_threads_enter_team(struct reading *r, uint32_t comm, uint32_t point,
                                   OTF2_AttributeList *attributes)
{
    uint64_t sequence = 0;
    int err = team_region(r, comm, attributes, &sequence);
    if (err) {
        return err;
    }
    if (r->fork_count && r->fork_count <= STACK_MAX &&
        r->forks[r->fork_count - 1].comm == LAYOUT_NONE) {
        struct fork_state *fork = &r->forks[r->fork_count - 1];
        fork->comm = comm;
        fork->sequence = sequence;
        err = ictusi_match_thread(&r->scan->history->matching, OP_FORK, comm, comm, sequence,
                                  fork->point, true);
    }
    if (r->team_count < STACK_MAX) {
        r->teams[r->team_count] = (struct team_state){comm, sequence, 0, 0};
    }
    r->team_count++;
    return err ? err
               : ictusi_match_thread(&r->scan->history->matching, OP_FORK, comm, comm, sequence,
                                     point, false);
}

/* An undefined team is pushed as well, so that its end finds it on the stack. */
static OTF2_CallbackCode scan_threads_on_team_begin(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                    uint64_t position, void *data,
                                                    OTF2_AttributeList *attributes,
                                                    OTF2_CommRef team)
{
    struct reading *r = data;
    (void)location;
    const uint32_t comm = ictusi_archive_comm(r->scan->trace, team);
    const uint32_t point = thread_point(r, time, position, false);
    if (point == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    if (comm == LAYOUT_NONE) {
        r->scan->counts->foreign++;
        r->team_count += 1;
        return OTF2_CALLBACK_SUCCESS;
    }
    return ictusi_scan_verdict(r, scan_threads_enter_team(r, comm, point, attributes));
}

/*
 * The teams of a location end in the reverse order of their begins. An end that does not match the
 * innermost team is damaged and takes no part.
 */
static OTF2_CallbackCode scan_threads_on_team_end(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                  uint64_t position, void *data,
                                                  OTF2_AttributeList *attributes, OTF2_CommRef team)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    const uint32_t comm = ictusi_archive_comm(r->scan->trace, team);
    const uint32_t point = thread_point(r, time, position, true);
    if (point == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    if (r->team_count == 0 || r->team_count-- > STACK_MAX) {
        return OTF2_CALLBACK_SUCCESS;
    }
    const struct team_state *state = &r->teams[r->team_count];
    if (comm == LAYOUT_NONE || state->comm != comm) {
        return OTF2_CALLBACK_SUCCESS;
    }
    return ictusi_scan_verdict(r, ictusi_match_thread(&r->scan->history->matching, OP_JOIN, comm,
                                                      comm, state->sequence, point, true));
}

/*
 * The team whose barrier a region is, or NULL. The roles of regions in the definitions tell which
 * ones are barriers.
 */
static struct team_state *barrier_team(struct reading *r, OTF2_RegionRef region)
{
    if (r->team_count == 0 || r->team_count > STACK_MAX ||
        ictusi_idmap_get(&r->scan->trace->region_barrier, region, 0) == IDMAP_NONE) {
        return NULL;
    }
    return &r->teams[r->team_count - 1];
}

/*
 * A point of a team barrier. It is identified by the number of the team's region and that of the
 * barrier within it, which are counted from 0 in every region. Nobody leaves before all have
 * entered, so entering points are outgoing and leaving ones are incoming (OP_TEAM_BARRIER). The
 * lower 32 bits count barriers within a region; the upper ones hold the region's number.
 */
static OTF2_CallbackCode team_barrier(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                                      const struct team_state *team, bool out)
{
    const uint32_t point = thread_point(r, time, position, out);
    if (point == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    return ictusi_scan_verdict(
        r, ictusi_match_thread(&r->scan->history->matching, OP_TEAM_BARRIER, team->comm, team->comm,
                               team->sequence << BARRIER_BITS | team->barriers, point, out));
}

/* Whether a region is an MPI neighbourhood collective. */
static bool region_has_neighbors(const struct reading *r, OTF2_RegionRef region)
{
    const struct idmap *regions = &r->scan->trace->region_neighbors;
    return regions->used && ictusi_idmap_get(regions, region, 0) != IDMAP_NONE;
}

/* neighbors counts the open neighbourhood collectives, for collective_meant(). */
static OTF2_CallbackCode scan_threads_on_enter(OTF2_LocationRef location, OTF2_TimeStamp time,
                                               uint64_t position, void *data,
                                               OTF2_AttributeList *attributes,
                                               OTF2_RegionRef region)
{
    struct reading *r = data;
    struct scan_tap *tap = r->scan->tap;
    (void)location;
    if (tap && ictusi_scan_verdict(r, tap->ops->enter(tap, time, region, attributes))) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    r->neighbors += region_has_neighbors(r, region);
    struct team_state *team = barrier_team(r, region);
    if (!team || team->barrier_depth++ > 0) {
        return OTF2_CALLBACK_SUCCESS;
    }
    return team_barrier(r, time, position, team, true);
}

/*
 * Of nested barrier regions, the outermost one counts. barriers is incremented after the leave,
 * because both points of a barrier have the same number.
 */
static OTF2_CallbackCode scan_threads_leave_barrier(struct reading *r, OTF2_TimeStamp time,
                                                    uint64_t position, OTF2_RegionRef region)
{
    struct team_state *team = barrier_team(r, region);
    if (!team || team->barrier_depth == 0 || --team->barrier_depth > 0) {
        return OTF2_CALLBACK_SUCCESS;
    }
    const OTF2_CallbackCode code = team_barrier(r, time, position, team, false);
    team->barriers++;
    return code;
}

/*
 * The tap is notified of the leave after the barrier's point, which belongs to the region being
 * left.
 */
static OTF2_CallbackCode scan_threads_on_leave(OTF2_LocationRef location, OTF2_TimeStamp time,
                                               uint64_t position, void *data,
                                               OTF2_AttributeList *attributes,
                                               OTF2_RegionRef region)
{
    struct reading *r = data;
    struct scan_tap *tap = r->scan->tap;
    (void)location;
    (void)attributes;
    r->neighbors -= r->neighbors > 0 && region_has_neighbors(r, region);
    const OTF2_CallbackCode code = scan_threads_leave_barrier(r, time, position, region);
    return code || !tap ? code : ictusi_scan_verdict(r, tap->ops->leave(tap, time));
}

/*
 * Locks are numbered separately for each threading model and each process:
 *
 *     model << 32 | kind << 40 | process
 *
 * The model's number has 8 bits, so it does not overlap the kind.
 */
static uint64_t lock_key(const struct reading *r, OTF2_Paradigm model)
{
    return (uint64_t)model << 32 |
           thread_key(PAIR_LOCK, r->scan->trace->layout.locations[r->location].process);
}

/*
 * B07 does not cover locks: acquisition k + 1 happens after release k. order counts the
 * acquisitions of one lock, and the release that ends acquisition k has the same number. Number 0
 * has no release before it. So release k and acquisition k + 1 are a pair.
 */
static OTF2_CallbackCode scan_threads_on_acquire(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                 uint64_t position, void *data,
                                                 OTF2_AttributeList *attributes,
                                                 OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    struct reading *r = data;
    struct scan_tap *tap = r->scan->tap;
    (void)location;
    (void)attributes;
    const OTF2_CallbackCode code = order == 0
                                       ? OTF2_CALLBACK_SUCCESS
                                       : thread_pair(r, time, position, lock_key(r, model),
                                                     (uint64_t)lock << 32 | (order - 1), false);
    const uint32_t point = order == 0 ? NODE_NONE : (uint32_t)r->scan->history->points.count - 1;
    return code || !tap ? code : ictusi_scan_verdict(r, tap->ops->acquired(tap, time, point));
}

/* A release orders nothing by itself; the next acquisition depends on it. */
static OTF2_CallbackCode scan_threads_on_release(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                 uint64_t position, void *data,
                                                 OTF2_AttributeList *attributes,
                                                 OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    return thread_pair(r, time, position, lock_key(r, model), (uint64_t)lock << 32 | order, true);
}

#define ON_THREAD(name, kind, out)                                                                 \
    static OTF2_CallbackCode name(OTF2_LocationRef location, OTF2_TimeStamp time,                  \
                                  uint64_t position, void *data, OTF2_AttributeList *attributes,   \
                                  OTF2_CommRef contingent, uint64_t sequence)                      \
    {                                                                                              \
        (void)location;                                                                            \
        (void)attributes;                                                                          \
        return thread_pair(data, time, position, thread_key(kind, contingent), sequence, out);     \
    }

ON_THREAD(on_create, PAIR_CREATE, true)
ON_THREAD(on_thread_begin, PAIR_CREATE, false)
ON_THREAD(on_thread_end, PAIR_WAIT, true)
ON_THREAD(on_wait, PAIR_WAIT, false)

#define ON_TASK(name, out)                                                                         \
    static OTF2_CallbackCode name(OTF2_LocationRef location, OTF2_TimeStamp time,                  \
                                  uint64_t position, void *data, OTF2_AttributeList *attributes,   \
                                  OTF2_CommRef team, uint32_t creator, uint32_t generation)        \
    {                                                                                              \
        (void)location;                                                                            \
        (void)attributes;                                                                          \
        return thread_pair(data, time, position, thread_key(PAIR_TASK, team),                      \
                           (uint64_t)creator << 32 | generation, out);                             \
    }

ON_TASK(on_task_create, true)
ON_TASK(on_task_switch, false)

/* regions: whether to register enter and leave, which are most of the events of an archive. */
void ictusi_scan_register_threads(OTF2_EvtReaderCallbacks *set, bool regions)
{
    OTF2_EvtReaderCallbacks_SetThreadForkCallback(set, threads_forked);
    OTF2_EvtReaderCallbacks_SetThreadJoinCallback(set, threads_joined);
    OTF2_EvtReaderCallbacks_SetThreadTeamBeginCallback(set, scan_threads_on_team_begin);
    OTF2_EvtReaderCallbacks_SetThreadTeamEndCallback(set, scan_threads_on_team_end);
    OTF2_EvtReaderCallbacks_SetThreadAcquireLockCallback(set, scan_threads_on_acquire);
    OTF2_EvtReaderCallbacks_SetThreadReleaseLockCallback(set, scan_threads_on_release);
    OTF2_EvtReaderCallbacks_SetThreadCreateCallback(set, on_create);
    OTF2_EvtReaderCallbacks_SetThreadBeginCallback(set, on_thread_begin);
    OTF2_EvtReaderCallbacks_SetThreadEndCallback(set, on_thread_end);
    OTF2_EvtReaderCallbacks_SetThreadWaitCallback(set, on_wait);
    OTF2_EvtReaderCallbacks_SetThreadTaskCreateCallback(set, on_task_create);
    OTF2_EvtReaderCallbacks_SetThreadTaskSwitchCallback(set, on_task_switch);
    if (regions) {
        OTF2_EvtReaderCallbacks_SetEnterCallback(set, scan_threads_on_enter);
        OTF2_EvtReaderCallbacks_SetLeaveCallback(set, scan_threads_on_leave);
    }
}
