/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators and windows: keys that need no communication. The first process of each group logs
 * its members.
 */
#include "tracer/comms.h"

#include "tracer/real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_WORLD = 1, KEY_SELF = 2 };

/*
 * Mix two numbers into a key. All members of a communicator compute its key from what they all
 * know, so nothing is sent. The steps spread each bit of both numbers over the whole result. Two
 * communicators with the same key would be merged in the archive. The last line leaves 2^63 keys:
 * among 10^4 communicators, the probability of a collision is 5e-12 (n^2 / 2 divided by the number
 * of keys).
 */
static uint64_t key_mix(uint64_t a, uint64_t b)
{
    uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0x632be59bd9b4e019));
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 32;
    return h | 4; /* never equal to one of the fixed keys */
}

/*
 * The world ranks of the first count members of a group, -1 for a process of another world. All
 * members are translated in one call, because a call per member would be quadratic in some
 * libraries. The group of MPI_COMM_WORLD (or the session's) numbers the archive's processes.
 */
static void world_ranks(MPI_Group group, int count, int *ranks)
{
    int *own = malloc((size_t)(count + 1) * sizeof(*own));
    if (!own) {
        count = 0;
    }
    for (int i = 0; i < count; i++) {
        own[i] = i;
    }
    if (count > 0) {
        (void)REAL(Group_translate_ranks)(group, count, own, ictusi_tracer.world, ranks);
    }
    for (int i = 0; i < count; i++) {
        ranks[i] = ranks[i] == MPI_UNDEFINED ? -1 : ranks[i];
    }
    free(own);
}

static int leader_of(MPI_Group group)
{
    int leader = -1;
    world_ranks(group, 1, &leader);
    return leader;
}

/* The world ranks of all members of a group. NULL: no memory. The caller frees them. */
static int *members_of(MPI_Group group, int *size)
{
    *size = 0;
    (void)REAL(Group_size)(group, size);
    int *ranks = calloc((size_t)*size + 1, sizeof(*ranks));
    if (ranks) {
        world_ranks(group, *size, ranks);
    }
    return ranks;
}

/*
 * A key for the members of a group in their order, because communicators of the same processes in a
 * different order are different.
 */
static uint64_t key_of_members(uint64_t key, MPI_Group group)
{
    int size = 0;
    int *ranks = members_of(group, &size);
    for (int i = 0; ranks && i < size; i++) {
        key = key_mix(key, (uint64_t)(int64_t)ranks[i]);
    }
    free(ranks);
    return key;
}

/*
 * How often this process has asked for the same key before. Members make their common communicators
 * in the same order, so all of them count alike.
 */
static uint64_t key_occurrence(uint64_t key)
{
    _Atomic uint64_t *count = ictusi_table_put(&ictusi_tracer.counters, key);
    return count ? atomic_fetch_add(count, 1) : 0;
}

/*
 * Text such as "0-15,32": the members in order, with runs joined. Each member has room for two
 * numbers of up to 11 characters, a dash and a comma, which is more than runs need.
 */
static char *members_text(const int *ranks, int count)
{
    const size_t room = (size_t)count * 24 + 2;
    char *text = malloc(room);
    size_t used = 0;
    for (int i = 0; text && i < count;) {
        int last = i;
        while (last + 1 < count && ranks[last + 1] == ranks[last] + 1) {
            last++;
        }
        used += (size_t)snprintf(text + used, room - used, last > i ? "%s%d-%d" : "%s%d",
                                 i ? "," : "", ranks[i], ranks[last]);
        i = last + 1;
    }
    if (text && count == 0) {
        (void)snprintf(text, room, "-");
    }
    return text;
}

/*
 * Log one group of a communicator, and tell whether all its members are of this world. Only the
 * first process of the group writes, since every member would write the same. A group with members
 * of another world is not logged at all, because their ranks mean nothing here.
 */
static bool comms_log_group(uint64_t key, char side, MPI_Group group, bool write)
{
    int size = 0;
    int *ranks = members_of(group, &size);
    if (!ranks) {
        return true;
    }
    bool ours = true;
    for (int i = 0; i < size; i++) {
        ours = ours && ranks[i] >= 0;
    }
    if (write && ours) {
        char *text = members_text(ranks, size);
        ictusi_tracer_log("G\t%llx\t%c\t%s", (unsigned long long)key, side, text ? text : "-");
        free(text);
    }
    free(ranks);
    return ours;
}

/*
 * Which side of an inter-communicator the local group is: the side whose leader has the lower rank
 * is 'a'. If both leaders are of another world, the first differing members decide. Both groups
 * must reach the same answer from their own point of view without a message, for which any
 * antisymmetric order is suitable.
 */
static bool comms_is_side_a(MPI_Group local, MPI_Group remote)
{
    int size = 0;
    int other = 0;
    int *mine = members_of(local, &size);
    int *theirs = members_of(remote, &other);
    int i = 0;
    while (mine && theirs && i < size && i < other && mine[i] == theirs[i]) {
        i++;
    }
    const bool longer = i < size && i >= other;
    const bool a = !mine || !theirs || (i < size && i < other ? mine[i] < theirs[i] : !longer);
    free(mine);
    free(theirs);
    return a;
}

static void comms_describe_inter(MPI_Comm comm, struct trace_comm *info, MPI_Group local)
{
    MPI_Group remote = MPI_GROUP_NULL;
    (void)REAL(Comm_remote_group)(comm, &remote);
    (void)REAL(Comm_remote_size)(comm, &info->remote);
    const bool a = comms_is_side_a(local, remote);
    info->foreign = !comms_log_group(info->key, 'r', remote, false) ||
                    !comms_log_group(info->key, a ? 'a' : 'b', local, info->rank == 0);
    (void)REAL(Group_free)(&remote);
}

/*
 * Describe a new communicator, whose key is set. ours: all its processes are of this world, so only
 * the first one needs to look at the members. Asking for all members takes time and memory in
 * proportion to their number in every process, so among processes of one world only rank 0 does it.
 */
static void comm_describe(MPI_Comm comm, struct trace_comm *info, bool ours)
{
    int inter = 0;
    MPI_Group group = MPI_GROUP_NULL;
    if (!info) {
        return;
    }
    (void)REAL(Comm_test_inter)(comm, &inter);
    (void)REAL(Comm_rank)(comm, &info->rank);
    (void)REAL(Comm_size)(comm, &info->size);
    (void)REAL(Comm_group)(comm, &group);
    info->remote = -1;
    if (inter) {
        comms_describe_inter(comm, info, group);
    } else if (info->rank == 0 || !ours) {
        info->foreign = !comms_log_group(info->key, 'a', group, info->rank == 0);
    }
    (void)REAL(Group_free)(&group);
}

static struct trace_comm *comm_make(uint64_t key)
{
    struct trace_comm *info = calloc(1, sizeof(*info));
    if (info) {
        info->key = key;
        info->id = atomic_fetch_add(&ictusi_tracer.next_comm, 1);
    }
    return info;
}

/*
 * Insert a communicator. Recorders cache their last lookup, and the epoch makes them look again,
 * because MPI may reuse the handle of a freed communicator for a new one. The slot is filled before
 * the epoch is raised. A thread that sees the new epoch finds the new description; a thread that
 * still sees the old one cannot have been given the handle yet.
 */
static struct trace_comm *comm_insert(MPI_Comm comm, uint64_t key)
{
    struct trace_comm **slot = ictusi_table_put(&ictusi_tracer.comms, HANDLE_KEY(comm));
    struct trace_comm *info = slot ? comm_make(key) : NULL;
    if (!info) {
        return NULL;
    }
    *slot = info;
    atomic_fetch_add(&ictusi_tracer.comm_epoch, 1);
    return info;
}

/*
 * Log the number and key of a communicator when a record first refers to it. The exchange ensures
 * that of several threads only one writes the line.
 */
static void comm_log_use(struct trace_comm *info)
{
    if (!atomic_exchange(&info->logged, true)) {
        ictusi_tracer_log("C\t%u\t%llx\t%d\t%d\t%d", info->id, (unsigned long long)info->key,
                          info->rank, info->size, info->remote);
    }
}

static struct trace_comm *comm_lookup(MPI_Comm comm)
{
    struct trace_comm **slot = ictusi_table_find(&ictusi_tracer.comms, HANDLE_KEY(comm));
    return slot ? *slot : NULL;
}

/* What the members of a communicator agreed on when they made it, besides its members. */
enum agreed {
    AGREED_NOTHING = 3, /* no wrapper saw how it was made */
    AGREED_TAG = 5,
    AGREED_PORT,
    AGREED_TEXT
};

/*
 * Describe a communicator that is known only to its members, and not counted by a parent. All
 * members must get the same key without a message. It is made from what they agreed on, who they
 * are, and how often such a communicator was made before. The last part is only valid because MPI
 * requires collective calls in the same order on all members. In an inter-communicator, both sides
 * first put the groups into the same order (side a first).
 */
static struct trace_comm *comm_of_members(MPI_Comm made, uint64_t agreed)
{
    int inter = 0;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group remote = MPI_GROUP_NULL;
    if (made == MPI_COMM_NULL || REAL(Comm_test_inter)(made, &inter) != MPI_SUCCESS ||
        REAL(Comm_group)(made, &group) != MPI_SUCCESS) {
        return NULL;
    }
    uint64_t key = agreed;
    if (inter) {
        (void)REAL(Comm_remote_group)(made, &remote);
        const bool a = comms_is_side_a(group, remote);
        key = key_of_members(key_of_members(key, a ? group : remote), a ? remote : group);
        (void)REAL(Group_free)(&remote);
    } else {
        key = key_of_members(key, group);
    }
    (void)REAL(Group_free)(&group);
    struct trace_comm *info = comm_insert(made, key_mix(key, key_occurrence(key)));
    comm_describe(made, info, false);
    return info;
}

/*
 * The description of a communicator, whether or not a wrapper saw how it was made. NULL: there is
 * none.
 */
static struct trace_comm *comm_known(MPI_Comm comm)
{
    struct trace_comm *info = comm_lookup(comm);
    return info ? info : comm_of_members(comm, key_mix(AGREED_NOTHING, 0));
}

/*
 * The slow path of trace_comm(). A recorder caches one communicator. Programs that alternate
 * between two come here in each call, which costs a table lookup.
 */
struct trace_comm *ictusi_comm_find(struct recorder *r, MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        return NULL;
    }
    struct trace_comm *info = comm_known(comm);
    if (info) {
        comm_log_use(info);
        r->comm = comm;
        r->comm_info = info;
        r->comm_epoch = atomic_load(&ictusi_tracer.comm_epoch);
    }
    return info;
}

static int comm_insert_fixed(MPI_Comm comm, uint64_t key, const char *name)
{
    struct trace_comm *info = comm_insert(comm, key);
    if (!info) {
        return -1;
    }
    info->world = key == KEY_WORLD;
    if (key == KEY_WORLD) {
        comm_describe(comm, info, true);
    } else {
        info->size = 1;
        info->remote = -1;
    }
    ictusi_tracer_log("N\t%u\t%s", info->id, name);
    return 0;
}

int ictusi_comms_start(void)
{
    /* These get the numbers 0 and 1. */
    return comm_insert_fixed(MPI_COMM_WORLD, KEY_WORLD, "MPI_COMM_WORLD") ||
           comm_insert_fixed(MPI_COMM_SELF, KEY_SELF, "MPI_COMM_SELF");
}

static void comms_log_name(char kind, uint32_t id, const char *name)
{
    char clean[MPI_MAX_OBJECT_NAME + 1];
    size_t used = 0;
    for (; used < MPI_MAX_OBJECT_NAME && name[used]; used++) {
        clean[used] = name[used];
        if (name[used] == '\n' || name[used] == '\t') {
            clean[used] = ' ';
        }
    }
    clean[used] = '\0';
    ictusi_tracer_log("%c\t%u\t%s", kind, id, clean);
}

void ictusi_comm_name(MPI_Comm comm, const char *name)
{
    struct trace_comm *info = comm_lookup(comm);
    if (info) {
        comm_log_use(info);
        comms_log_name('N', info->id, name);
    }
}

/*
 * A child was made of a communicator. All members make such calls in the same order, so nth is the
 * same for them. One call may make several children, whose first members distinguish them.
 * Processes that get no child also count the call.
 */
void ictusi_comm_child(MPI_Comm parent, MPI_Comm made)
{
    struct trace_comm *above = comm_known(parent);
    const uint32_t nth = above ? atomic_fetch_add(&above->children, 1) : 0;
    if (made == MPI_COMM_NULL || !above) {
        return;
    }
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group remote = MPI_GROUP_NULL;
    int inter = 0;
    (void)REAL(Comm_group)(made, &group);
    (void)REAL(Comm_test_inter)(made, &inter);
    int leader = leader_of(group);
    if (inter) {
        (void)REAL(Comm_remote_group)(made, &remote);
        leader = comms_is_side_a(group, remote) ? leader : leader_of(remote);
        (void)REAL(Group_free)(&remote);
    }
    (void)REAL(Group_free)(&group);
    struct trace_comm *info =
        comm_insert(made, key_mix(key_mix(above->key, nth), (uint64_t)(int64_t)leader));
    comm_describe(made, info, !above->foreign);
}

/*
 * MPI_Comm_create_group is collective only over the group. The parent's counter of children cannot
 * be used, because its other processes do not advance it. The tag is what the members agreed on.
 */
void ictusi_comm_group(MPI_Comm parent, int tag, MPI_Comm made)
{
    const struct trace_comm *above = comm_lookup(parent);
    const uint64_t from = above ? above->key : AGREED_NOTHING;
    (void)comm_of_members(made, key_mix(from, (uint64_t)(int64_t)tag));
}

void ictusi_comm_inter(MPI_Comm made, int tag)
{
    (void)comm_of_members(made, key_mix(AGREED_TAG, (uint64_t)(int64_t)tag));
}

static uint64_t key_of_text(uint64_t key, const char *text)
{
    for (; *text; text++) {
        key = key_mix(key, (unsigned char)*text);
    }
    return key;
}

void ictusi_comm_text(MPI_Comm made, const char *text)
{
    (void)comm_of_members(made, key_of_text(AGREED_TEXT, text));
}

void ictusi_comm_port(MPI_Comm made, const char *port)
{
    int size = 0;
    int remote = 0;
    if (made == MPI_COMM_NULL) {
        return;
    }
    (void)REAL(Comm_size)(made, &size);
    (void)REAL(Comm_remote_size)(made, &remote);
    /* Only the roots know the port's name. If there are no other processes, all of them do. */
    (void)comm_of_members(made, key_of_text(AGREED_PORT, size == 1 && remote == 1 ? port : ""));
}

/*
 * Describe a communicator with the processes of another one, without using its handle; made may be
 * NULL. After MPI_Comm_idup the handle must not be used before its request is complete, and a
 * persistent collective has no handle at all. The archive takes the members from the model's log
 * line.
 */
static void comm_describe_like(const struct trace_comm *model, struct trace_comm *made)
{
    if (!made) {
        return;
    }
    made->rank = model->rank;
    made->size = model->size;
    made->remote = model->remote;
    made->foreign = model->foreign;
    if (model->rank == 0) {
        ictusi_tracer_log("D\t%llx\t%llx", (unsigned long long)made->key,
                          (unsigned long long)model->key);
    }
}

/*
 * All kinds of children share one counter. A constant for each kind keeps their keys apart, here
 * and below.
 */
void ictusi_comm_idup(MPI_Comm parent, MPI_Comm made)
{
    struct trace_comm *above = comm_known(parent);
    if (!above) {
        return;
    }
    const uint32_t nth = atomic_fetch_add(&above->children, 1);
    comm_describe_like(above,
                       comm_insert(made, key_mix(key_mix(above->key, nth), UINT64_C(0x1d0))));
}

const struct trace_comm *ictusi_comm_persistent(MPI_Comm comm)
{
    struct trace_comm *above = comm_lookup(comm);
    if (!above || above->foreign) {
        return above;
    }
    const uint32_t nth = atomic_fetch_add(&above->children, 1);
    struct trace_comm *info = comm_make(key_mix(key_mix(above->key, nth), UINT64_C(0x9e5)));
    if (info) {
        comm_describe_like(above, info);
        comm_log_use(info);
        comms_log_name('N', info->id, "persistent collective");
    }
    return info;
}

void ictusi_comm_gone(MPI_Comm comm)
{
    /* The description stays, because pending requests may refer to it. */
    (void)ictusi_table_take(&ictusi_tracer.comms, HANDLE_KEY(comm), NULL);
    atomic_fetch_add(&ictusi_tracer.comm_epoch, 1);
}

/*
 * The key of a file. Opening a file is collective and counts among the communicator's children.
 * MPI_COMM_SELF has the same key in all processes although their files differ, so the rank is mixed
 * in.
 */
uint64_t ictusi_comm_file_key(struct trace_comm *comm)
{
    const uint64_t key = key_mix(key_mix(comm->key, atomic_fetch_add(&comm->children, 1)), 0xf11e);
    return comm->key == KEY_SELF ? key_mix(key, (uint64_t)ictusi_tracer.rank) : key;
}

/*
 * The operations of a window refer to ranks of its communicator. So the communicator is looked up
 * first, which also logs it.
 */
struct trace_window *ictusi_tracer_window_new(struct recorder *r, MPI_Comm comm, MPI_Win win)
{
    (void)trace_comm(r, comm);
    struct trace_comm *above = comm_lookup(comm);
    if (above && above->foreign) {
        return NULL; /* its operations are not recorded either */
    }
    struct trace_window **slot = ictusi_table_put(&ictusi_tracer.windows, HANDLE_KEY(win));
    struct trace_window *window = calloc(1, sizeof(*window));
    if (!above || !slot || !window) {
        free(window);
        return NULL;
    }
    /* Windows are made collectively, so they count among the communicator's children. */
    const uint64_t key = key_mix(key_mix(above->key, atomic_fetch_add(&above->children, 1)), 0x717);
    window->id = atomic_fetch_add(&ictusi_tracer.next_window, 1);
    window->comm = above;
    *slot = window;
    ictusi_tracer_log("W\t%u\t%llx\t%u", window->id, (unsigned long long)key, above->id);
    return window;
}

struct trace_window *ictusi_tracer_window_find(MPI_Win win)
{
    struct trace_window **slot = ictusi_table_find(&ictusi_tracer.windows, HANDLE_KEY(win));
    return slot ? *slot : NULL;
}

void ictusi_tracer_window_name(MPI_Win win, const char *name)
{
    const struct trace_window *window = ictusi_tracer_window_find(win);
    if (window) {
        comms_log_name('V', window->id, name);
    }
}

void ictusi_tracer_window_gone(MPI_Win win)
{
    (void)ictusi_table_take(&ictusi_tracer.windows, HANDLE_KEY(win), NULL);
}
