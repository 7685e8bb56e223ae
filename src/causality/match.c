/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the events of channels and instances while the archive is scanned. */
#include "causality/match.h"

#include <ictus/error.h>
#include <stdlib.h>
#include <string.h>

static const struct chain empty_chain = {NODE_NONE, NODE_NONE, 0};

/*
 * The last location of each process with several locations; LAYOUT_NONE for one with a single
 * location or none.
 */
static uint32_t *match_last_locations(const struct layout *layout)
{
    uint32_t *last = malloc((layout->process_count + 1) * sizeof *last);
    bool *several = calloc(layout->process_count + 1, sizeof *several);
    if (!last || !several) {
        free(last);
        free(several);
        return NULL;
    }
    for (uint64_t p = 0; p < layout->process_count; p++) {
        last[p] = LAYOUT_NONE;
    }
    for (uint32_t l = 0; l < layout->location_count; l++) {
        const uint32_t process = layout->locations[l].process;
        if (process != LAYOUT_NONE) {
            several[process] = last[process] != LAYOUT_NONE;
            last[process] = l;
        }
    }
    for (uint64_t p = 0; p < layout->process_count; p++) {
        last[p] = several[p] ? last[p] : LAYOUT_NONE;
    }
    free(several);
    return last;
}

int ictusi_matching_init(struct matching *matching, const struct layout *layout,
                         struct points *points)
{
    *matching = (struct matching){.layout = layout, .points = points, .seen_comm = LAYOUT_NONE};
    matching->last_location = match_last_locations(layout);
    return matching->last_location ? ictusi_stretches_init(&matching->stretches, layout)
                                   : ICTUS_ERR_NOMEM;
}

void ictusi_matching_fini(struct matching *matching)
{
    ictusi_idmap_fini(&matching->channel_index);
    ictusi_idmap_fini(&matching->instance_index);
    ictusi_idmap_fini(&matching->sequences);
    ictusi_stretches_fini(&matching->stretches);
    free(matching->channels);
    free(matching->instances);
    free(matching->last_location);
    free(matching->waiting);
    memset(matching, 0, sizeof(*matching));
}

/*
 * Append a point to a chain. Chains are threaded through points->link, which later holds a point's
 * partner. It is free while events are read, so chains take no memory of their own.
 */
static void chain_add(struct points *points, struct chain *chain, uint32_t point)
{
    points->link[point] = NODE_NONE;
    if (chain->tail == NODE_NONE) {
        chain->head = point;
    } else {
        points->link[chain->tail] = point;
    }
    chain->tail = point;
    chain->count++;
}

/* Append a chain to another one. Its links refer to the new places of its points already. */
static void chain_append(struct points *points, struct chain *chain, const struct chain *other,
                         uint64_t point)
{
    if (other->count == 0) {
        return;
    }
    const uint32_t head = other->head + (uint32_t)point;
    if (chain->tail == NODE_NONE) {
        chain->head = head;
    } else {
        points->link[chain->tail] = head;
    }
    chain->tail = other->tail + (uint32_t)point;
    chain->count += other->count;
}

/*
 * Make room for one more element of an array that doubles. It is full if the count is a power of
 * two, so its capacity need not be stored.
 */
static int match_reserve(void **array, uint64_t count, size_t size)
{
    if ((count & (count - 1)) != 0) {
        return ICTUS_OK;
    }
    void *wide = realloc(*array, (count ? count * 2 : 1) * size);
    if (!wide) {
        return ICTUS_ERR_NOMEM;
    }
    *array = wide;
    return ICTUS_OK;
}

/*
 * Messages with the same sender, receiver, tag and communicator do not overtake each other (MPI
 * 4.1, 3.5), so the n-th send of a channel belongs to its n-th receive. A channel is looked up by
 * these four in constant time, and made when it is first seen. The pointer is valid until the next
 * channel is made.
 */
static struct channel *match_find_channel(struct matching *m, uint32_t comm, uint32_t sender,
                                          uint32_t receiver, uint32_t tag)
{
    int64_t *slot = ictusi_idmap_at(&m->channel_index, (uint64_t)comm << 32 | tag,
                                    (uint64_t)sender << 32 | receiver, (int64_t)m->channel_count);
    if (!slot) {
        return NULL;
    }
    const uint64_t index = (uint64_t)*slot;
    if (index == m->channel_count) {
        if (match_reserve((void **)&m->channels, m->channel_count, sizeof *m->channels)) {
            return NULL;
        }
        m->channels[index] = (struct channel){.sends = empty_chain,
                                              .receives = empty_chain,
                                              .sender = sender,
                                              .receiver = receiver,
                                              .comm = comm,
                                              .tag = tag,
                                              .send_location = LAYOUT_NONE,
                                              .receive_location = LAYOUT_NONE};
        m->channel_count++;
    }
    return &m->channels[index];
}

/* The location that represents a location's process in a communicator. */
static uint32_t match_find_representative(const struct layout *layout, uint32_t comm,
                                          uint32_t location)
{
    const uint32_t rank = ictusi_layout_rank(layout, comm, location);
    if (rank == LAYOUT_NONE || layout->comms[comm].self) {
        return location;
    }
    return layout->comms[comm].members[rank];
}

/* The same, cached: mostly the location is that of the previous message. */
static uint32_t representative_match(struct matching *m, uint32_t comm, uint32_t location)
{
    if (m->seen_comm != comm || m->seen_location != location) {
        m->seen_comm = comm;
        m->seen_location = location;
        m->seen_own = match_find_representative(m->layout, comm, location);
    }
    return m->seen_own;
}

int ictusi_match_message(struct matching *m, uint32_t point, uint32_t location, uint32_t comm,
                         uint32_t peer, uint32_t tag, bool send)
{
    const uint32_t own = representative_match(m, comm & ~MATCH_NOTIFICATION, location);
    struct channel *channel = send ? match_find_channel(m, comm, own, peer, tag)
                                   : match_find_channel(m, comm, peer, own, tag);
    if (!channel) {
        return ICTUS_ERR_NOMEM;
    }
    uint32_t *seen = send ? &channel->send_location : &channel->receive_location;
    /*
     * If several threads of a process use the channel, their order in the archive is not the order
     * of posting. Then their times decide.
     */
    channel->mixed = channel->mixed || (*seen != LAYOUT_NONE && *seen != location);
    *seen = location;
    stretches_add(send ? &channel->sent : &channel->received, m->gap);
    chain_add(m->points, send ? &channel->sends : &channel->receives, point);
    return ICTUS_OK;
}

/*
 * Remove cancelled sends. They have no receive, and would shift all later pairs of the channel by
 * one.
 */
static void match_drop_cancelled(struct points *points, struct chain *chain)
{
    uint32_t p = chain->head;
    *chain = empty_chain;
    while (p != NODE_NONE) {
        const uint32_t next = points->link[p];
        points->link[p] = NODE_NONE;
        if (!(points->kind[p] & POINT_CANCELLED)) {
            chain_add(points, chain, p);
        }
        p = next;
    }
}

void ictusi_match_drop_cancelled(struct matching *m)
{
    for (uint64_t i = 0; i < m->channel_count; i++) {
        match_drop_cancelled(m->points, &m->channels[i].sends);
    }
}

/* The counter of this member's calls of this kind on the communicator; NULL: out of memory. */
int64_t *ictusi_match_sequence(struct matching *m, uint32_t kind, uint32_t comm, uint32_t location)
{
    return ictusi_idmap_at(&m->sequences, (uint64_t)kind << 32 | comm, location, 0);
}

/*
 * Take over the sides of a channel that another matching has seen. Each side has all its events in
 * one process, so only one of the two matchings knows it.
 */
static void channel_take(struct matching *m, struct channel *c, const struct channel *other,
                         uint64_t point)
{
    if (other->sends.count > 0) {
        c->sent = other->sent;
        c->send_location = other->send_location;
    }
    if (other->receives.count > 0) {
        c->received = other->received;
        c->receive_location = other->receive_location;
    }
    c->mixed = c->mixed || other->mixed;
    chain_append(m->points, &c->sends, &other->sends, point);
    chain_append(m->points, &c->receives, &other->receives, point);
}

/*
 * An instance is one collective call of all members. Archives do not number the calls, but all
 * members call the collectives of a communicator in the same order (MPI 4.1, chapter 6), so the
 * n-th call of each member belongs to instance n. The pointer is valid until the next instance is
 * made.
 */
static struct instance *match_instance(struct matching *m, uint64_t a, uint64_t b)
{
    int64_t *slot = ictusi_idmap_at(&m->instance_index, a, b, (int64_t)m->instance_count);
    if (!slot) {
        return NULL;
    }
    const uint64_t index = (uint64_t)*slot;
    if (index == m->instance_count) {
        if (match_reserve((void **)&m->instances, m->instance_count, sizeof *m->instances)) {
            return NULL;
        }
        m->instances[index] = (struct instance){
            .out = empty_chain, .in = empty_chain, .root = LAYOUT_NONE, .op = UINT8_MAX};
        m->instance_count++;
    }
    return &m->instances[index];
}

/* The position of the root among a communicator's members, as given by this call. */
static uint32_t root_position(const struct layout *layout, const struct collective_call *call,
                              uint32_t own)
{
    const struct layout_comm *comm = &layout->comms[call->comm];
    if (call->root == COLLECTIVE_ROOT_SELF) {
        return own;
    }
    if (call->root == COLLECTIVE_ROOT_NONE || call->root == COLLECTIVE_ROOT_THIS_GROUP) {
        return LAYOUT_NONE;
    }
    return comm->inter && own < comm->size_a ? comm->size_a + call->root : call->root;
}

/* In the v-variants, the amount of data decides who contributes and who receives (B07 4.1). */
static bool match_sized_by_member(uint8_t op)
{
    return op == COLLECTIVE_GATHERV || op == COLLECTIVE_SCATTERV || op == COLLECTIVE_ALLGATHERV ||
           op == COLLECTIVE_ALLTOALLV || op == COLLECTIVE_ALLTOALLW ||
           op == COLLECTIVE_REDUCE_SCATTER;
}

/*
 * Mark the points of a call that move data, and count them. In an inter-communicator data may go
 * one way only, whatever the operation.
 */
static void match_mark_live(struct matching *m, const struct collective_call *call, uint32_t rank,
                            struct instance *instance)
{
    const struct layout_comm *comm = &m->layout->comms[call->comm];
    const bool in_b = comm->inter && rank >= comm->size_a;
    uint8_t *kind = m->points->kind;
    const bool any = call->sent || call->received;
    const bool apart = match_sized_by_member(call->op) || comm->inter;
    if (apart ? call->sent > 0 : any) {
        kind[call->begin] |= POINT_LIVE;
        instance->sums[collective_side(in_b, false)]++;
    }
    if (apart ? call->received > 0 : any) {
        kind[call->end] |= POINT_LIVE;
        instance->sums[collective_side(in_b, true)]++;
    }
    instance->sums[COLLECTIVE_PAIRS + in_b] += call->senders;
    instance->sums[COLLECTIVE_BOTH] +=
        (kind[call->begin] & POINT_LIVE) && (kind[call->end] & POINT_LIVE);
    instance->sums[COLLECTIVE_TOLD] += call->told;
    m->sizes_known = m->sizes_known || any;
}

/*
 * Count this call on its communicator and add both its points to the instance with that number. The
 * count is kept for the location that represents the process, because its threads may take turns.
 */
static int call_match_in_order(struct matching *m, const struct collective_call *call,
                               uint32_t rank)
{
    const uint32_t own = m->layout->comms[call->comm].members[rank];
    int64_t *sequence = ictusi_match_sequence(m, call->class, call->comm, own);
    if (!sequence) {
        return ICTUS_ERR_NOMEM;
    }
    const uint64_t number = (uint64_t)(*sequence)++;
    struct instance *instance = match_instance(m, (uint64_t)call->class << 32 | call->comm, number);
    if (!instance) {
        return ICTUS_ERR_NOMEM;
    }
    const uint32_t root = root_position(m->layout, call, rank);
    if (instance->op == UINT8_MAX) {
        instance->op = call->op;
        instance->class = call->class;
        instance->comm = call->comm;
        instance->sequence = (uint32_t)number;
    }
    if (instance->root == LAYOUT_NONE) {
        instance->root = root;
    }
    /*
     * If members disagree on the operation or root, no dependencies can be derived from the
     * instance.
     */
    instance->broken = instance->broken || instance->op != call->op ||
                       (root != LAYOUT_NONE && root != instance->root);
    m->points->note[call->end].op = call->op;
    m->points->peer[call->begin] = rank;
    m->points->peer[call->end] = rank;
    match_mark_live(m, call, rank, instance);
    chain_add(m->points, &instance->out, call->begin);
    chain_add(m->points, &instance->in, call->end);
    return ICTUS_OK;
}

/* The last location of a call's process if it has several, else LAYOUT_NONE. */
static uint32_t match_last_of(const struct matching *m, uint32_t location)
{
    const uint32_t process = m->layout->locations[location].process;
    return process == LAYOUT_NONE ? LAYOUT_NONE : m->last_location[process];
}

/*
 * Calls of a process with several threads wait until all its locations have been read. Only then is
 * their order known.
 */
int ictusi_match_collective(struct matching *m, const struct collective_call *call)
{
    const uint32_t rank = ictusi_layout_rank(m->layout, call->comm, call->location);
    if (rank == LAYOUT_NONE || m->layout->comms[call->comm].self) {
        return ICTUS_OK;
    }
    const uint32_t last = match_last_of(m, call->location);
    if (last == LAYOUT_NONE) {
        return call_match_in_order(m, call, rank);
    }
    if (match_reserve((void **)&m->waiting, m->waiting_count, sizeof *m->waiting)) {
        return ICTUS_ERR_NOMEM;
    }
    m->waiting[m->waiting_count++] = *call;
    m->waiting_until = last > m->waiting_until ? last : m->waiting_until;
    return ICTUS_OK;
}

/* The process of a waiting call, when it was made, and its place in the list. */
struct waiting_turn {
    uint32_t process;
    int64_t time;
    uint64_t at;
};

static int match_by_turn(const void *a, const void *b)
{
    const struct waiting_turn *x = a;
    const struct waiting_turn *y = b;
    if (x->process != y->process) {
        return x->process < y->process ? -1 : 1;
    }
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->at > y->at) - (x->at < y->at);
}

/* The threads of a process share a clock, so the stamps give the order of their calls. */
int ictusi_match_location_end(struct matching *m, uint32_t location)
{
    if (m->waiting_count == 0 || location < m->waiting_until) {
        return ICTUS_OK;
    }
    struct waiting_turn *turns = malloc(m->waiting_count * sizeof *turns);
    if (!turns) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < m->waiting_count; i++) {
        const struct collective_call *call = &m->waiting[i];
        turns[i] = (struct waiting_turn){m->layout->locations[call->location].process,
                                         m->points->time[call->begin], i};
    }
    qsort(turns, m->waiting_count, sizeof *turns, match_by_turn);
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < m->waiting_count && !err; i++) {
        const struct collective_call *call = &m->waiting[turns[i].at];
        err =
            call_match_in_order(m, call, ictusi_layout_rank(m->layout, call->comm, call->location));
    }
    m->waiting_count = 0;
    m->waiting_until = 0;
    free(turns);
    return err;
}

/*
 * Instances of threads have keys of their own, in which a and b identify the team or lock. Bit 63
 * keeps them apart from collectives.
 */
int ictusi_match_thread(struct matching *m, enum thread_op op, uint32_t comm, uint64_t a,
                        uint64_t b, uint32_t point, bool out)
{
    struct instance *instance = match_instance(m, UINT64_C(1) << 63 | (uint64_t)op << 48 | a, b);
    if (!instance) {
        return ICTUS_ERR_NOMEM;
    }
    instance->op = (uint8_t)op;
    instance->class = POINT_THREAD;
    instance->comm = comm;
    m->points->kind[point] |= POINT_LIVE;
    chain_add(m->points, out ? &instance->out : &instance->in, point);
    return ICTUS_OK;
}

/* Merge an instance as if the other matching's members had called after those already known. */
static void instance_take(struct matching *m, struct instance *instance,
                          const struct instance *other, uint64_t point)
{
    if (instance->op == UINT8_MAX) {
        *instance = *other;
        instance->out = instance->in = empty_chain;
    } else {
        const bool rooted = instance->root != LAYOUT_NONE && other->root != LAYOUT_NONE;
        instance->broken = instance->broken || other->broken || instance->op != other->op ||
                           (rooted && instance->root != other->root);
        instance->root = instance->root == LAYOUT_NONE ? other->root : instance->root;
        for (int i = 0; i < COLLECTIVE_SUMS; i++) {
            instance->sums[i] += other->sums[i];
        }
    }
    chain_append(m->points, &instance->out, &other->out, point);
    chain_append(m->points, &instance->in, &other->in, point);
}

/*
 * Append instances in the order in which they were made, each under its key. The map returns its
 * slots in no particular order, so they are sorted by number first. The numbers then do not depend
 * on how many threads read the archive.
 */
static int instances_append(struct matching *m, const struct matching *other, uint64_t point)
{
    struct idmap_slot *keys = calloc(other->instance_count + 1, sizeof *keys);
    int err = keys ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; i < other->instance_index.capacity && !err; i++) {
        const struct idmap_slot *slot = &other->instance_index.slots[i];
        if (slot->value != IDMAP_NONE) {
            keys[slot->value] = *slot;
        }
    }
    for (uint64_t i = 0; i < other->instance_count && !err; i++) {
        struct instance *instance = match_instance(m, keys[i].a, keys[i].b);
        err = instance ? ICTUS_OK : ICTUS_ERR_NOMEM;
        if (instance) {
            instance_take(m, instance, &other->instances[i], point);
        }
    }
    free(keys);
    return err;
}

/*
 * A process is read by a single thread, so no sequence is known to both, and those of the other
 * matching are taken over unchanged.
 */
int ictusi_matching_append(struct matching *m, const struct matching *other, uint64_t point)
{
    for (uint64_t i = 0; i < other->channel_count; i++) {
        const struct channel *c = &other->channels[i];
        struct channel *own = match_find_channel(m, c->comm, c->sender, c->receiver, c->tag);
        if (!own) {
            return ICTUS_ERR_NOMEM;
        }
        channel_take(m, own, c, point);
    }
    for (uint64_t i = 0; i < other->sequences.capacity; i++) {
        const struct idmap_slot *slot = &other->sequences.slots[i];
        if (slot->value != IDMAP_NONE &&
            ictusi_idmap_put(&m->sequences, slot->a, slot->b, slot->value)) {
            return ICTUS_ERR_NOMEM;
        }
    }
    m->sizes_known = m->sizes_known || other->sizes_known;
    m->left_out += other->left_out;
    return instances_append(m, other, point);
}

/*
 * The location of a point, by binary search. The points of a location are consecutive and first[l]
 * is ascending; first[low] <= point < first[high] always holds. A location without points begins
 * where the next one does. The search finds the last of these, which has the point.
 */
uint32_t ictusi_match_location(const struct matching *m, uint32_t point)
{
    uint64_t low = 0;
    uint64_t high = m->layout->location_count;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (m->first[middle] <= point) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (uint32_t)low;
}
