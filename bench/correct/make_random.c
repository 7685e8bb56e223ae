/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write an OTF2 archive of a made-up MPI program whose happened-before graph is drawn at random:
 * messages of two threads a process, posted and completed in any order, cancelled or never
 * completed; blocking and nonblocking collectives, many at a time, on communicators of any order
 * and size and between two groups. Times are true. For tests, against tests/traces/oracle.py.
 *
 *   make_random OUT [SEED [bare|beyond|own]]
 *
 * bare: locations of no process, and without definitions of their own; beyond: stamps from 2^62 on.
 */
#include "../../src/archive/flush.h"

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 9, ROUNDS = 60, PENDING = 64, MESSAGES = 12, LATENCY = 900, START = 1000 };
enum { WORLD, REVERSED, EVEN, LONE, SELF, INTER, COMMS };
enum { NONE = -1 };

/* Something that was begun, and ends no earlier than `least`. */
struct pending {
    bool collective;
    int op;
    uint32_t comm, root, from;
    uint64_t sent, received, request, least;
};

struct process {
    OTF2_EvtWriter *writer[2]; /* two threads; the first one calls collectives */
    uint64_t now, zero;        /* time that all share, and where its own clock begins */
    struct pending pending[PENDING];
    int count;
};

struct world {
    OTF2_Archive *archive;
    int ranks;
    bool bare, own;
    uint64_t start, state, requests;
    struct process process[RANKS_MAX];
};

/* A communicator: members in order; the second group of an inter-communicator from `half` on. */
struct comm {
    int member[RANKS_MAX];
    int size, half;
};

/* A collective under way. */
struct call {
    struct comm comm;
    uint32_t ref;
    int op, root; /* root: position, or NONE */
    uint64_t enter[RANKS_MAX], sent[RANKS_MAX], received[RANKS_MAX], request;
};

static uint64_t draw(struct world *w, uint64_t below)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return below > 0 ? w->state % below : 0;
}

/* Who calls: without processes nothing would tie a second thread to its rank. */
static uint64_t thread(struct world *w)
{
    return w->bare ? 0 : draw(w, 2);
}

/* A stamp of the process's own clock, after an instant of the time that all share. */
static uint64_t later(struct world *w, int r, uint64_t least)
{
    struct process *p = &w->process[r];
    p->now = p->now > least ? p->now : least;
    p->now += 1 + draw(w, 50);
    return p->now - p->zero;
}

static uint64_t tick(struct world *w, int r)
{
    return later(w, r, 0);
}

/* Local events, some of them at one instant. */
static void work(struct world *w, int r)
{
    OTF2_EvtWriter *writer = w->process[r].writer[draw(w, 2)];
    w->process[r].now += draw(w, 3000);
    const uint64_t time = tick(w, r);
    OTF2_EvtWriter_Enter(writer, NULL, time, 0);
    OTF2_EvtWriter_Leave(writer, NULL, draw(w, 2) ? time : tick(w, r), 0);
}

static void complete(struct world *w, int r, int i)
{
    struct process *p = &w->process[r];
    const struct pending done = p->pending[i];
    p->pending[i] = p->pending[--p->count];
    const uint64_t time = later(w, r, done.least);
    if (done.collective) {
        OTF2_EvtWriter_NonBlockingCollectiveComplete(
            p->writer[0], NULL, time, (OTF2_CollectiveOp)done.op, done.comm, done.root, done.sent,
            done.received, done.request);
    } else {
        OTF2_EvtWriter_MpiIrecv(p->writer[0], NULL, time, done.from, done.comm, 1, 8, done.request);
    }
}

static void complete_some(struct world *w, bool all)
{
    for (int r = 0; r < w->ranks; r++) {
        while (w->process[r].count > 0 && (all || draw(w, 4))) {
            complete(w, r, (int)draw(w, (uint64_t)w->process[r].count));
        }
    }
}

static void send(struct world *w, int from, int to, uint32_t tag, uint64_t *sent)
{
    struct process *p = &w->process[from];
    const uint64_t kind = draw(w, 4);
    const uint64_t time = tick(w, from);
    *sent = p->now;
    if (tag == 2 || kind == 0) {
        OTF2_EvtWriter_MpiSend(p->writer[tag == 2 ? thread(w) : 0], NULL, time, (uint32_t)to, WORLD,
                               tag, 8);
        return;
    }
    const uint64_t request = ++w->requests;
    OTF2_EvtWriter_MpiIsend(p->writer[0], NULL, time, (uint32_t)to, WORLD, tag, 8, request);
    if (kind != 1) { /* else it is freed, and never completes */
        OTF2_EvtWriter_MpiIsendComplete(p->writer[0], NULL, tick(w, from), request);
    }
}

static void receive(struct world *w, int from, int to, uint32_t tag, uint64_t least)
{
    struct process *p = &w->process[to];
    if (tag == 2 || p->count == PENDING || draw(w, 3) == 0) {
        OTF2_EvtWriter_MpiRecv(p->writer[tag == 2 ? thread(w) : 0], NULL, later(w, to, least),
                               (uint32_t)from, WORLD, tag, 8);
        return;
    }
    const uint64_t request = ++w->requests;
    OTF2_EvtWriter_MpiIrecvRequest(p->writer[0], NULL, tick(w, to), request);
    if (draw(w, 3) == 0) {
        OTF2_EvtWriter_MpiRequestTest(p->writer[0], NULL, tick(w, to), request);
    }
    p->pending[p->count++] =
        (struct pending){.comm = WORLD, .from = (uint32_t)from, .request = request, .least = least};
}

/* A receive and a send that are cancelled: nobody meets them. */
static void cancelled(struct world *w, int r, int to)
{
    OTF2_EvtWriter *writer = w->process[r].writer[0];
    const uint64_t request = w->requests += 2;
    OTF2_EvtWriter_MpiIrecvRequest(writer, NULL, tick(w, r), request);
    OTF2_EvtWriter_MpiIsend(writer, NULL, tick(w, r), (uint32_t)to, WORLD, 1, 8, request - 1);
    OTF2_EvtWriter_MpiRequestCancelled(writer, NULL, tick(w, r), request);
    OTF2_EvtWriter_MpiRequestCancelled(writer, NULL, tick(w, r), request - 1);
}

/* Messages are received in the order they were sent: of tag 1 posted so, of tag 2 in time. */
static void messages(struct world *w)
{
    struct {
        int from, to;
        uint32_t tag;
        uint64_t sent;
    } list[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        list[i].from = (int)draw(w, (uint64_t)w->ranks);
        list[i].to = (int)draw(w, (uint64_t)w->ranks);
        list[i].tag = 1 + (uint32_t)draw(w, 2);
        send(w, list[i].from, list[i].to, list[i].tag, &list[i].sent);
    }
    for (int i = 0; i < MESSAGES; i++) {
        const uint64_t least = list[i].sent + LATENCY + draw(w, LATENCY);
        receive(w, list[i].from, list[i].to, list[i].tag, least);
    }
    cancelled(w, (int)draw(w, (uint64_t)w->ranks), (int)draw(w, (uint64_t)w->ranks));
}

static struct comm comm_of(const struct world *w, uint32_t ref)
{
    struct comm c = {.size = 0};
    const int n = ref == LONE ? 1 : w->ranks;
    for (int i = 0; i < n; i += ref == EVEN ? 2 : 1) {
        c.member[c.size++] = ref == REVERSED ? w->ranks - 1 - i : i;
    }
    c.half = ref == INTER ? c.size / 2 : c.size;
    return c;
}

static bool root_sends(int op)
{
    return op == OTF2_COLLECTIVE_OP_BCAST || op == OTF2_COLLECTIVE_OP_SCATTER ||
           op == OTF2_COLLECTIVE_OP_SCATTERV;
}

static bool root_receives(int op)
{
    return op == OTF2_COLLECTIVE_OP_GATHER || op == OTF2_COLLECTIVE_OP_GATHERV ||
           op == OTF2_COLLECTIVE_OP_REDUCE;
}

static bool by_member(int op)
{
    return op == OTF2_COLLECTIVE_OP_GATHERV || op == OTF2_COLLECTIVE_OP_SCATTERV ||
           op == OTF2_COLLECTIVE_OP_ALLGATHERV || op == OTF2_COLLECTIVE_OP_ALLTOALLV ||
           op == OTF2_COLLECTIVE_OP_ALLTOALLW || op == OTF2_COLLECTIVE_OP_REDUCE_SCATTER;
}

/* Whether member i must wait for member k. */
static bool waits(const struct call *c, int i, int k)
{
    const bool inter = c->comm.half < c->comm.size;
    const bool same_group = (i < c->comm.half) == (k < c->comm.half);
    if (i == k || (inter && same_group)) {
        return false;
    }
    if (c->op == OTF2_COLLECTIVE_OP_BARRIER) {
        return true;
    }
    if (c->op == OTF2_COLLECTIVE_OP_SCAN || c->op == OTF2_COLLECTIVE_OP_EXSCAN) {
        return k < i;
    }
    if ((root_sends(c->op) && k != c->root) || (root_receives(c->op) && i != c->root)) {
        return false;
    }
    return c->sent[k] > 0 && c->received[i] > 0;
}

static uint64_t least_exit(struct world *w, const struct call *c, int i)
{
    uint64_t least = 0;
    for (int k = 0; k < c->comm.size; k++) {
        if (waits(c, i, k) && c->enter[k] >= least) {
            least = c->enter[k] + 1 + draw(w, LATENCY);
        }
    }
    return least;
}

/* The root as member i names it. */
static uint32_t root_name(const struct call *c, int i)
{
    const bool inter = c->comm.half < c->comm.size;
    if (c->root == NONE) {
        return OTF2_COLLECTIVE_ROOT_NONE;
    }
    if (!inter) {
        return (uint32_t)c->root;
    }
    if (i == c->root) {
        return OTF2_COLLECTIVE_ROOT_SELF;
    }
    const bool root_in_a = c->root < c->comm.half;
    const uint32_t place = (uint32_t)(root_in_a ? c->root : c->root - c->comm.half);
    return (i < c->comm.half) == root_in_a ? OTF2_COLLECTIVE_ROOT_THIS_GROUP : place;
}

static void draw_call(struct world *w, struct call *c)
{
    c->ref = (uint32_t)draw(w, COMMS);
    c->comm = comm_of(w, c->ref);
    do {
        c->op = (int)draw(w, 17);
    } while (c->ref == INTER &&
             (c->op == OTF2_COLLECTIVE_OP_SCAN || c->op == OTF2_COLLECTIVE_OP_EXSCAN));
    c->root = root_sends(c->op) || root_receives(c->op)
                  ? (int)draw(w, (uint64_t)(c->ref == SELF ? 1 : c->comm.size))
                  : NONE;
    for (int i = 0; i < c->comm.size; i++) {
        const bool none = c->op == OTF2_COLLECTIVE_OP_BARRIER;
        c->sent[i] = none || (by_member(c->op) && draw(w, 3) == 0) ? 0 : 16;
        c->received[i] = none || (by_member(c->op) && draw(w, 3) == 0) ? 0 : 16;
    }
    if (c->root != NONE) { /* it has what the others get, and gets what they have */
        c->sent[c->root] = 16;
        c->received[c->root] = 16;
    }
}

static void finish(struct world *w, const struct call *c, int i, bool blocking)
{
    struct process *p = &w->process[c->comm.member[i]];
    const uint64_t least = c->ref == SELF ? 0 : least_exit(w, c, i);
    if (blocking) {
        const uint64_t time = later(w, c->comm.member[i], least);
        OTF2_EvtWriter_MpiCollectiveEnd(p->writer[0], NULL, time, (OTF2_CollectiveOp)c->op, c->ref,
                                        root_name(c, i), c->sent[i], c->received[i]);
        OTF2_EvtWriter_Leave(p->writer[0], NULL, time, 1);
        return;
    }
    p->pending[p->count++] = (struct pending){.collective = true,
                                              .op = c->op,
                                              .comm = c->ref,
                                              .root = root_name(c, i),
                                              .sent = c->sent[i],
                                              .received = c->received[i],
                                              .request = c->request,
                                              .least = least};
}

static void collective(struct world *w)
{
    struct call c = {.request = ++w->requests};
    draw_call(w, &c);
    bool blocking = draw(w, 2);
    for (int i = 0; i < c.comm.size; i++) {
        blocking = blocking || w->process[c.comm.member[i]].count == PENDING;
    }
    for (int i = 0; i < c.comm.size; i++) {
        struct process *p = &w->process[c.comm.member[i]];
        if (blocking) {
            OTF2_EvtWriter_Enter(p->writer[0], NULL, tick(w, c.comm.member[i]), 1);
        }
        const uint64_t time = tick(w, c.comm.member[i]);
        c.enter[i] = p->now;
        if (blocking) {
            OTF2_EvtWriter_MpiCollectiveBegin(p->writer[0], NULL, time);
        } else {
            OTF2_EvtWriter_NonBlockingCollectiveRequest(p->writer[0], NULL, time, c.request);
        }
    }
    for (int i = 0; i < c.comm.size; i++) {
        finish(w, &c, i, blocking);
    }
}

static void write_events(struct world *w)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int r = 0; r < w->ranks; r++) {
            work(w, r);
        }
        if (draw(w, 2)) {
            messages(w);
        } else {
            collective(w);
        }
        complete_some(w, false);
    }
    complete_some(w, true);
}

static void write_group(OTF2_GlobalDefWriter *d, uint32_t self, OTF2_GroupType type,
                        const struct comm *c)
{
    uint64_t members[RANKS_MAX];
    for (int i = 0; i < c->size; i++) {
        members[i] = (uint64_t)c->member[i];
    }
    OTF2_GlobalDefWriter_WriteGroup(d, self, 0, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                    (uint32_t)c->size, members);
}

static void write_comms(const struct world *w, OTF2_GlobalDefWriter *d)
{
    const struct comm world = comm_of(w, WORLD);
    const struct comm none = {.size = 0};
    write_group(d, 100, OTF2_GROUP_TYPE_COMM_LOCATIONS, &world);
    for (uint32_t ref = WORLD; ref <= LONE; ref++) {
        const struct comm c = comm_of(w, ref);
        write_group(d, ref, OTF2_GROUP_TYPE_COMM_GROUP, &c);
        OTF2_GlobalDefWriter_WriteComm(d, ref, 0, ref, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    }
    write_group(d, SELF, OTF2_GROUP_TYPE_COMM_SELF, &none);
    OTF2_GlobalDefWriter_WriteComm(d, SELF, 0, SELF, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    struct comm a = comm_of(w, INTER);
    struct comm b = {.size = 0};
    for (int i = a.half; i < a.size; i++) {
        b.member[b.size++] = a.member[i];
    }
    a.size = a.half;
    write_group(d, 10, OTF2_GROUP_TYPE_COMM_GROUP, &a);
    write_group(d, 11, OTF2_GROUP_TYPE_COMM_GROUP, &b);
    OTF2_GlobalDefWriter_WriteInterComm(d, INTER, 0, 10, 11, WORLD, OTF2_COMM_FLAG_NONE);
}

static uint64_t location_of(const struct world *w, int r, int thread)
{
    return (uint64_t)thread * (uint64_t)w->ranks + (uint64_t)r;
}

static void write_definitions(const struct world *w)
{
    static const char *const texts[] = {"", "machine", "node", "work", "MPI_call", "rank"};
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(w->archive);
    const uint64_t first = w->own ? 0 : w->start;
    uint64_t last = first;
    for (int r = 0; r < w->ranks; r++) {
        const uint64_t end = w->process[r].now - w->process[r].zero;
        last = end > last ? end : last;
    }
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, first, last - first + 1,
                                              OTF2_UNDEFINED_TIMESTAMP);
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        OTF2_GlobalDefWriter_WriteString(d, i, texts[i]);
    }
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 1, 1, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 1, 2, 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        OTF2_GlobalDefWriter_WriteRegion(d, i, 3 + i, 3 + i, 0, OTF2_REGION_ROLE_FUNCTION,
                                         OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 0, 0, 0);
    }
    for (int r = 0; r < w->ranks; r++) {
        if (!w->bare) {
            OTF2_GlobalDefWriter_WriteLocationGroup(d, (uint32_t)r, 5,
                                                    OTF2_LOCATION_GROUP_TYPE_PROCESS, 1,
                                                    OTF2_UNDEFINED_LOCATION_GROUP);
        }
        for (int t = 0; t < 2; t++) {
            uint64_t events = 0;
            OTF2_EvtWriter_GetNumberOfEvents(w->process[r].writer[t], &events);
            OTF2_GlobalDefWriter_WriteLocation(d, location_of(w, r, t), 5,
                                               OTF2_LOCATION_TYPE_CPU_THREAD, events, (uint32_t)r);
        }
    }
    write_comms(w, d);
    OTF2_Archive_CloseGlobalDefWriter(w->archive, d);
}

static void write_local(const struct world *w)
{
    OTF2_Archive_OpenDefFiles(w->archive);
    for (uint64_t l = 0; l < 2 * (uint64_t)w->ranks; l++) {
        OTF2_Archive_CloseDefWriter(w->archive, OTF2_Archive_GetDefWriter(w->archive, l));
    }
    OTF2_Archive_CloseDefFiles(w->archive);
}

static void for_all_writers(struct world *w, bool open)
{
    for (int r = 0; r < w->ranks; r++) {
        for (int t = 0; t < 2; t++) {
            OTF2_EvtWriter **writer = &w->process[r].writer[t];
            if (open) {
                *writer = OTF2_Archive_GetEvtWriter(w->archive, location_of(w, r, t));
            } else {
                OTF2_Archive_CloseEvtWriter(w->archive, *writer);
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct world *w = calloc(1, sizeof *w);
    if (argc < 2 || !w) {
        (void)fprintf(stderr, "usage: make_random OUT [SEED [bare|beyond|own]]\n");
        free(w);
        return 2;
    }
    w->state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 2654435761U + 88172645463325252U;
    w->bare = argc > 3 && strcmp(argv[3], "bare") == 0;
    w->own = argc > 3 && strcmp(argv[3], "own") == 0; /* clocks that begin with their process */
    w->start = argc > 3 && strcmp(argv[3], "beyond") == 0 ? UINT64_C(1) << 62 : START;
    w->ranks = 2 + (int)draw(w, RANKS_MAX - 1);
    w->archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!w->archive) {
        free(w);
        return 1;
    }
    OTF2_Archive_SetFlushCallbacks(w->archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(w->archive);
    OTF2_Archive_OpenEvtFiles(w->archive);
    for_all_writers(w, true);
    for (int r = 0; r < w->ranks; r++) {
        w->process[r].now = w->start + draw(w, w->own ? 100000 : 100);
        w->process[r].zero = w->own ? w->process[r].now : 0;
    }
    write_events(w);
    write_definitions(w);
    if (!w->bare) {
        write_local(w);
    }
    for_all_writers(w, false);
    OTF2_Archive_CloseEvtFiles(w->archive);
    OTF2_Archive_Close(w->archive);
    free(w);
    return 0;
}
