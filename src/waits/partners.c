/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Goes through all points that depend on others: messages through their links, collectives and
 * teams through their virtual nodes. A call that depends on several others waits for the latest of
 * them.
 */
#include "waits/partners.h"

#include "causality/crew.h"
#include "core/array.h"
#include "core/collective_op.h"
#include "waits/analysis.h"
#include "waits/blocking.h"
#include "waits/epochs.h"
#include "waits/message_order.h"
#include "waits/window_locks.h"

#include <stdlib.h>

/*
 * The largest number of members of a scan whose last member is searched for in each history,
 * because each search goes through the chain.
 */
enum { CHAIN_MOST = 256 };

/*
 * What a virtual node passes on: the latest enter and its call, and the latest enter of another
 * call.
 */
struct latest {
    int64_t first, second;
    uint32_t first_call, second_call;
    uint32_t members; /* points that it depends on, also through other nodes */
    bool chained;     /* it depends on points, and on at most one other node */
    bool loose;       /* its members did not wait for the others */
};

/* A call that may have been blocked, and for how long at most. */
struct possible {
    uint32_t call;
    int64_t ticks;
};

/*
 * One thread's search for the partners of the calls of some locations. Only the first one has
 * possible waits, because these are looked at when the threads have ended.
 */
struct finding {
    struct partners *partners;
    const struct analysis *analysis;
    struct location_block block;
    struct blocking blocking;
    uint64_t muted;        /* as in struct partners */
    uint32_t *overlapping; /* receives whose sends may have been blocked */
    uint64_t overlapping_count;
    struct latest *nodes;
    struct possible *possible;
    uint64_t possible_count;
    struct idmap possible_index; /* call -> its row */
    bool probes;                 /* some region of the archive is a probe */
    uint64_t *populated;         /* by location: up to this call, memory for partners is ready */
    int err;
};

/*
 * Propose that a call waited for another one. The latest cause wins, whatever the order of the
 * proposals. Of equally late causes the one with the lowest call number wins, so that the result
 * does not depend on the order in which points are visited.
 */
static void partners_propose(struct finding *f, uint32_t call, uint32_t cause,
                             enum wait_state state, uint32_t node)
{
    const struct waiting_calls *calls = &f->analysis->calls;
    if (call == CALL_NONE || cause == CALL_NONE || call == cause) {
        return;
    }
    const struct waiting_call *c = call_at(calls, call);
    const struct waiting_call *k = call_at(calls, cause);
    if ((c->flags | k->flags) & (CALL_CUT | CALL_MUTED)) {
        f->muted += ((c->flags | k->flags) & CALL_MUTED) != 0;
        return;
    }
    struct partner *p = partner_at(f->partners, call);
    const int64_t late = k->enter - c->enter;
    const int64_t most = c->leave - c->enter;
    if (p->state == WAIT_NONE || late > p->late ||
        (late == p->late && (cause < p->call || (cause == p->call && state < p->state)))) {
        *p = (struct partner){.late = late,
                              .call = cause,
                              .location = k->location,
                              .node = node,
                              .state = (uint8_t)state,
                              .until = (uint8_t)(late <= 0 || most <= 0 ? WAIT_NOT
                                                 : late < most          ? WAIT_UNTIL_CAUSE
                                                                        : WAIT_UNTIL_LEAVE)};
    }
}

/* Note a possible wait. A call that completes several sends waits for the latest receive. */
static void partners_possible_note(struct finding *f, uint32_t call, uint32_t posted)
{
    const struct waiting_call *c = call_at(&f->analysis->calls, call);
    const struct waiting_call *k = call_at(&f->analysis->calls, posted);
    const int64_t most = c->leave - c->enter;
    const int64_t x = k->enter - c->enter < most ? k->enter - c->enter : most;
    if (x <= 0 || !f->partners->aside || ((c->flags | k->flags) & (CALL_CUT | CALL_MUTED))) {
        return;
    }
    int64_t *row = ictusi_idmap_at(&f->possible_index, call, 0, (int64_t)f->possible_count);
    struct possible *p = NULL;
    if (row && *row < (int64_t)f->possible_count) {
        p = &f->possible[*row];
    } else if (row) {
        p = array_append((void **)&f->possible, &f->possible_count, sizeof *p);
    }
    if (!p) {
        f->err = ICTUS_ERR_NOMEM;
        return;
    }
    p->call = call;
    p->ticks = x > p->ticks ? x : p->ticks;
}

/* Report how long calls may have waited beyond their certain wait. */
static void partners_possible_tell(const struct finding *f)
{
    for (uint64_t i = 0; i < f->possible_count; i++) {
        const struct possible *p = &f->possible[i];
        const int64_t more = p->ticks - analysis_wait(f->analysis, p->call);
        if (more > 0) {
            f->partners->aside(f->partners->self, WAIT_POSSIBLE, p->call, more);
        }
    }
}

static bool call_has(const struct finding *f, uint32_t call, enum region_trait trait)
{
    const struct analysis *a = f->analysis;
    return (ictusi_paths_traits(&a->paths, call_at(&a->calls, call)->path) & trait) != 0;
}

/*
 * A process that probes for a message waits in the probe, not in the receive that follows. The
 * archive does not record which message a probe saw. A message that was sent after the probe
 * returned was not the one.
 */
static void partners_propose_probe(struct finding *f, uint32_t receive, uint32_t posted,
                                   uint32_t sent)
{
    const struct analysis *a = f->analysis;
    if (!f->probes || posted != call_of_point(&a->calls, receive)) {
        return;
    }
    const uint32_t location = analysis_location(a, posted);
    if (posted > a->calls.first[location] && call_has(f, posted - 1, TRAIT_PROBE)) {
        const struct waiting_call *probe = call_at(&a->calls, posted - 1);
        const struct waiting_call *k = call_at(&a->calls, sent);
        const double sigma = ictusi_histories_sigma(&a->histories, probe->location, probe->leave,
                                                    k->location, k->enter);
        if ((double)(k->enter - probe->leave) <= 2 * sigma) {
            partners_propose(f, posted - 1, sent, WAIT_LATE_SENDER, NODE_NONE);
        }
    }
}

/*
 * Propose that the receive waited for its send. Whether the send waited for its receive is judged
 * when all messages are known.
 */
static void partners_propose_message(struct finding *f, uint32_t receive)
{
    const struct analysis *a = f->analysis;
    const uint32_t send = a->session.history.points.link[receive];
    const uint32_t waiter = call_of_point(&a->calls, receive);
    partners_propose(f, waiter, call_of_point(&a->calls, send), WAIT_LATE_SENDER, NODE_NONE);
    const uint32_t posted = call_of_other(&a->calls, receive);
    if (posted != CALL_NONE) {
        partners_propose_probe(f, receive, posted, call_of_point(&a->calls, send));
    }
    if (ictusi_blocking_learn(&f->blocking, send, receive)) {
        uint32_t *row = array_append((void **)&f->overlapping, &f->overlapping_count, sizeof *row);
        if (row) {
            *row = receive;
        } else {
            f->err = ICTUS_ERR_NOMEM;
        }
    }
}

/* Propose that a send waited for its receive, if it was blocked. */
static void partners_propose_receiver(struct finding *f, uint32_t receive)
{
    const struct analysis *a = f->analysis;
    const uint32_t send = a->session.history.points.link[receive];
    const uint32_t completes = call_of_other(&a->calls, send);
    const uint32_t posted = call_of_other(&a->calls, receive);
    switch (ictusi_blocking_judge(&f->blocking, send, receive)) {
    case BLOCK_CERTAIN:
        partners_propose(f, completes, posted, WAIT_LATE_RECEIVER, NODE_NONE);
        break;
    case BLOCK_POSSIBLE:
        partners_possible_note(f, completes, posted);
        break;
    default:
        break;
    }
}

/* The wait state for another thread or window, which the scan does not distinguish. */
static enum wait_state pair_state(const struct finding *f, uint32_t point)
{
    const struct points *points = &f->analysis->session.history.points;
    if ((points->kind[point] & POINT_CLASS) == POINT_RMA) {
        return WAIT_RMA_SYNC;
    }
    return points->note[point].lock ? WAIT_LOCK : WAIT_JOIN;
}

/*
 * Waits for epochs and locks of windows are found elsewhere, and compete with all others for the
 * call.
 */
static void partners_propose_epoch(void *self, uint32_t call, uint32_t cause, enum wait_state state)
{
    partners_propose(self, call, cause, state, NODE_NONE);
}

/*
 * The wait state of a collective, by what the operation waits for: all members, the root, or the
 * preceding members. Files and windows synchronise in calls that archives record as collectives.
 */
static enum wait_state collective_state(const struct finding *f, uint32_t point)
{
    const struct analysis *a = f->analysis;
    const struct points *points = &a->session.history.points;
    const uint32_t call = call_of_point(&a->calls, point);
    switch (points->kind[point] & POINT_CLASS) {
    case POINT_THREAD:
        return WAIT_TEAM_BARRIER;
    case POINT_RMA:
        return call_has(f, call, TRAIT_FENCE) ? WAIT_FENCE : WAIT_NXN;
    default:
        break;
    }
    if (call_has(f, call, TRAIT_FILE)) {
        return WAIT_FILE;
    }
    switch (points->note[point].op) {
    case COLLECTIVE_BARRIER:
        return WAIT_BARRIER;
    case COLLECTIVE_BCAST:
    case COLLECTIVE_SCATTER:
    case COLLECTIVE_SCATTERV:
        return WAIT_LATE_BROADCAST;
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_GATHERV:
        return WAIT_EARLY_REDUCE;
    case COLLECTIVE_SCAN:
    case COLLECTIVE_EXSCAN:
        return WAIT_EARLY_SCAN;
    default:
        return WAIT_NXN;
    }
}

/*
 * Of equal instants the call with the lower number wins, so that the order of visits does not
 * matter.
 */
static void latest_merge(struct latest *l, int64_t time, uint32_t call)
{
    if (call == CALL_NONE || call == l->first_call) {
        return;
    }
    if (l->first_call == CALL_NONE || time > l->first ||
        (time == l->first && call < l->first_call)) {
        l->second = l->first;
        l->second_call = l->first_call;
        l->first = time;
        l->first_call = call;
    } else if (l->second_call == CALL_NONE || time > l->second) {
        l->second = time;
        l->second_call = call;
    }
}

/*
 * Gather what arrives at a node; nodes are numbered after those that they depend on. The two latest
 * enters are enough for every member: it waits for the last one, or, if it is that one itself, for
 * the last of the others. So time and memory are linear in the members, where comparing all pairs
 * would be quadratic.
 */
static void node_gather(struct finding *f, uint32_t index)
{
    const struct analysis *a = f->analysis;
    const uint32_t node = NODE_VIRTUAL | index;
    const struct vnode *v = graph_vnode(&a->session.graph, node);
    struct latest *l = &f->nodes[index];
    *l = (struct latest){.first_call = CALL_NONE, .second_call = CALL_NONE, .chained = true};
    uint32_t others = 0;
    for (uint32_t i = 0; i < v->in_count; i++) {
        const uint32_t in = analysis_ins(a, node)[i];
        if (in & NODE_VIRTUAL) {
            const struct latest other = f->nodes[in & NODE_INDEX];
            latest_merge(l, other.first, other.first_call);
            latest_merge(l, other.second, other.second_call);
            l->members += other.members;
            l->chained = l->chained && other.chained && others++ == 0;
        } else {
            const uint32_t call = call_of_point(&a->calls, in);
            latest_merge(l, call_at(&a->calls, call)->enter, call);
            l->members++;
        }
    }
    l->chained = l->chained && (others == 0 || l->members <= CHAIN_MOST);
}

/*
 * Whether members wait for all others at all. They do not if one left before the last one arrived.
 */
static bool node_synchronises(const struct finding *f, uint32_t node, enum wait_state state)
{
    const struct analysis *a = f->analysis;
    const struct vnode *v = graph_vnode(&a->session.graph, node);
    if (state != WAIT_FENCE && state != WAIT_FILE) {
        return true;
    }
    for (uint32_t i = 0; i < v->out_count; i++) {
        const uint32_t out = analysis_outs(a, node)[i];
        if (!(out & NODE_VIRTUAL) && call_at(&a->calls, call_of_point(&a->calls, out))->leave <=
                                         f->nodes[node & NODE_INDEX].first) {
            return false;
        }
    }
    return true;
}

/* The time after all members have entered and the first has left is completion, not waiting. */
static void node_complete(struct finding *f, uint32_t node, enum wait_state state)
{
    const struct analysis *a = f->analysis;
    const struct vnode *v = graph_vnode(&a->session.graph, node);
    int64_t begin = INT64_MAX;
    if ((state != WAIT_BARRIER && state != WAIT_NXN) || !f->partners->aside) {
        return;
    }
    for (uint32_t i = 0; i < v->out_count; i++) {
        const uint32_t out = analysis_outs(a, node)[i];
        const int64_t leave = call_at(&a->calls, call_of_point(&a->calls, out))->leave;
        begin = leave < begin ? leave : begin;
    }
    const int64_t last = f->nodes[node & NODE_INDEX].first;
    begin = begin > last ? begin : last;
    for (uint32_t i = 0; i < v->out_count; i++) {
        const uint32_t out = analysis_outs(a, node)[i];
        const uint32_t call = call_of_point(&a->calls, out);
        const int64_t rest = call_at(&a->calls, call)->leave - begin;
        if (rest > 0) {
            f->partners->aside(
                f->partners->self,
                state == WAIT_BARRIER ? WAIT_BARRIER_COMPLETION : WAIT_NXN_COMPLETION, call, rest);
        }
    }
}

/* Determine what a node means for all its members. */
static void node_judge(struct finding *f, uint32_t node)
{
    const struct analysis *a = f->analysis;
    const uint32_t *outs = analysis_outs(a, node);
    const uint32_t count = graph_vnode(&a->session.graph, node)->out_count;
    struct latest *l = &f->nodes[node & NODE_INDEX];
    uint32_t i = 0;
    while (i < count && (outs[i] & NODE_VIRTUAL)) { /* find a member among the node's outputs */
        i++;
    }
    if (i == count || l->first_call == CALL_NONE) {
        return; /* nobody asks */
    }
    const enum wait_state state = collective_state(f, outs[i]);
    l->loose = !node_synchronises(f, node, state);
    if (!l->loose) {
        node_complete(f, node, state);
    }
}

/*
 * Propose that a member of a collective waited for the last of the others. The node is kept with it
 * if the last member can be searched for anew in each history (sums.c).
 */
static void partners_propose_member(struct finding *f, uint32_t point, uint32_t node)
{
    const struct analysis *a = f->analysis;
    const struct latest *l = &f->nodes[node & NODE_INDEX];
    if (l->first_call == CALL_NONE) {
        return;
    }
    if (!l->loose) {
        /* For a nonblocking collective, the member's own part was begun in another call. */
        const uint32_t call = call_of_point(&a->calls, point);
        const bool own = analysis_location(a, l->first_call) == analysis_location(a, call);
        partners_propose(f, call, own ? l->second_call : l->first_call, collective_state(f, point),
                         l->chained ? node : NODE_NONE);
    }
}

/* Have memory ready for the partners of the location's next calls. */
static void partners_populate(struct finding *f, uint32_t call)
{
    enum { AHEAD = 1 << 19, AHEAD_LEAST = 1 << 8, AHEAD_MOST = 1 << 13 }; /* calls */
    const struct analysis *a = f->analysis;
    const uint32_t location = analysis_location(a, call);
    if (call < f->populated[location]) {
        return;
    }
    const uint64_t share = AHEAD / (a->session.trace->layout.location_count + 1);
    const uint64_t ahead = share < AHEAD_LEAST  ? AHEAD_LEAST
                           : share > AHEAD_MOST ? AHEAD_MOST
                                                : share;
    const uint64_t last = a->calls.first[location + 1];
    f->populated[location] = call + ahead < last ? call + ahead : last;
    ictusi_store_populate_file(&f->partners->list, call, f->populated[location]);
}

/* Examine a point that depends on another: a node, a send, or a notification. */
static void partners_propose_point(void *self, uint32_t point)
{
    struct finding *f = self;
    const struct analysis *a = f->analysis;
    const struct points *points = &a->session.history.points;
    const uint32_t link = points->link[point];
    if (!(points->kind[point] & POINT_IN) || link == NODE_NONE) {
        return;
    }
    partners_populate(f, call_of_point(&a->calls, point));
    if (link & NODE_VIRTUAL) {
        partners_propose_member(f, point, link);
    } else if ((points->kind[point] & POINT_CLASS) == POINT_P2P) {
        partners_propose_message(f, point);
    } else if ((points->kind[point] & POINT_CLASS) != POINT_RMA ||
               !ictusi_epochs_ends(a, call_of_point(&a->calls, point))) {
        partners_propose(f, call_of_point(&a->calls, point), call_of_point(&a->calls, link),
                         pair_state(f, point), NODE_NONE);
    }
}

static void partners_gather_nodes(struct finding *f)
{
    const struct graph *graph = &f->analysis->session.graph;
    uint64_t passed = 0;
    for (uint32_t i = 0; i < graph->vnode_count; i++) {
        node_gather(f, i);
        node_judge(f, NODE_VIRTUAL | i);
        analysis_pass(f->analysis, &passed, CALLS_APART * (uint64_t)graph->vnodes[i].in_count);
    }
}

static void partners_search_block(void *self, uint32_t number)
{
    struct finding *f = (struct finding *)self + number;
    const uint64_t *first = f->analysis->calls.first;
    ictusi_store_populate(&f->partners->list, first[f->block.from], first[f->block.to]);
    const int err = ictusi_analysis_visit(f->analysis, f->block, partners_propose_point, f);
    f->err = f->err ? f->err : err;
}

/*
 * Search all blocks of locations in several threads. A thread makes proposals for the calls of its
 * own locations only. Late receivers are the exception, and are proposed when the threads have
 * ended.
 */
static int partners_search(struct finding *blocks, uint32_t count)
{
    struct finding *f = &blocks[0];
    uint64_t passed = 0;
    int err = ICTUS_OK;
    ictusi_crew_run((int)count, count, partners_search_block, blocks);
    for (uint32_t i = 0; i < count; i++) {
        err = err ? err : blocks[i].err;
        f->muted += i ? blocks[i].muted : 0;
        if (i > 0) {
            ictusi_blocking_join(&f->blocking, &blocks[i].blocking);
        }
    }
    ictusi_blocking_end(&f->blocking);
    for (uint32_t i = 0; i < count && !err; i++) {
        for (uint64_t k = 0; k < blocks[i].overlapping_count; k++) {
            partners_propose_receiver(f, blocks[i].overlapping[k]);
            analysis_pass(f->analysis, &passed, CALLS_APART);
        }
    }
    return err ? err : f->err;
}

/* Make the searches of the threads like the first one. Returns how many there are. */
static int partners_divide(struct finding *blocks, uint32_t *count)
{
    const struct analysis *a = blocks[0].analysis;
    struct location_block parts[BLOCKS_MOST];
    int err = ICTUS_OK;
    *count = ictusi_analysis_divide(a, parts);
    for (uint32_t i = 0; i < *count && !err; i++) {
        blocks[i] = blocks[0];
        blocks[i].block = parts[i];
        err = ictusi_blocking_init(&blocks[i].blocking, a);
    }
    return err;
}

static void partners_end_search(struct finding *blocks)
{
    for (int i = 0; i < BLOCKS_MOST; i++) {
        ictusi_blocking_free(&blocks[i].blocking);
        free(blocks[i].overlapping);
    }
    ictusi_idmap_fini(&blocks[0].possible_index);
    free(blocks[0].possible);
    free(blocks[0].populated);
    free(blocks[0].nodes);
}

/* Make room for the partners of all calls, and for what the search needs. */
static int partners_make(struct finding *f, struct ictus_why *why)
{
    struct partners *partners = f->partners;
    const struct analysis *a = f->analysis;
    const uint64_t calls = a->calls.calls.count;
    const uint64_t locations = a->session.trace->layout.location_count;
    int err = ictusi_store_init(&partners->list, sizeof(struct partner), calls,
                                CALLS_IN_MEMORY * sizeof(struct partner), why);
    err = err ? err : ictusi_store_grow(&partners->list, calls, why);
    err =
        err ? err
            : ictusi_store_init(&partners->wrong_order, sizeof(bool), calls, STORE_IN_MEMORY, why);
    err = err ? err : ictusi_store_grow(&partners->wrong_order, calls, why);
    f->nodes = calloc(a->session.graph.vnode_count + 1, sizeof *f->nodes);
    f->populated = calloc(locations + 1, sizeof *f->populated);
    partners->lower = calloc(locations + 1, sizeof *partners->lower);
    return !err && (!f->nodes || !f->populated || !partners->lower) ? ICTUS_ERR_NOMEM : err;
}

/*
 * Nodes come first, since members ask them. The order of messages and the possible waits come last,
 * since both need the final partner.
 */
int ictusi_partners_find(struct partners *partners, const struct analysis *a, struct ictus_why *why)
{
    struct finding blocks[BLOCKS_MOST] = {{.partners = partners, .analysis = a}};
    struct finding *f = &blocks[0];
    uint32_t count = 0;
    int err = partners_make(f, why);
    for (uint64_t i = 0; i < a->session.trace->regions.count; i++) {
        f->probes = f->probes || (a->paths.traits[i] & TRAIT_PROBE);
    }
    if (!err) {
        partners->list.count = a->calls.calls.count;
        partners_gather_nodes(f);
        err = partners_divide(blocks, &count);
        err = err ? err : partners_search(blocks, count);
        err = err ? err : ictusi_epochs_find(a, partners_propose_epoch, f);
        err = err ? err : ictusi_window_locks_find(a, partners_propose_epoch, f);
        err = err ? err : ictusi_message_order_find(partners, a);
        partners_possible_tell(f);
    }
    partners->muted = f->muted;
    partners_end_search(blocks);
    return err ? err : f->err;
}

void ictusi_partners_free(struct partners *partners)
{
    ictusi_store_fini(&partners->list);
    ictusi_store_fini(&partners->wrong_order);
    free(partners->lower);
    partners->lower = NULL;
}
