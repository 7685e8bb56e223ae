/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write an OTF2 archive of a made-up MPI program whose times are true: ranks compute, send, receive
 * and call collectives; every event happens when its causes allow. For tests and measurements.
 *
 *   make_trace OUT [ranks=8] [events=10000] [seed=1] [nodes=2] [mix=all|p2p] [compute=N]
 */
#include "../../src/archive/flush.h"

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRINGS = 16,
    REGION_WORK = 0,
    REGION_MPI = 1,
    COMM_WORLD = 0,
    COMM_HALF = 1,
    COMM_INTER = 2
};
enum { LATENCY = 1500, JITTER = 600, GAP = 40, WORK = 900 };

struct world {
    int ranks, nodes;
    uint64_t events, written, requests;
    int compute; /* pairs of enter and leave between calls */
    bool all;
    uint64_t state;
    uint64_t *now;
    uint64_t *count;
    OTF2_Archive *archive;
    OTF2_EvtWriter **writer;
};

static uint64_t draw(struct world *w, uint64_t below)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return w->state % below;
}

static uint64_t tick(struct world *w, int r)
{
    w->now[r] += 1 + draw(w, GAP);
    w->count[r]++;
    w->written++;
    return w->now[r];
}

static uint64_t at_least(struct world *w, int r, uint64_t time)
{
    if (w->now[r] < time) {
        w->now[r] = time;
    }
    return tick(w, r);
}

static void enter(struct world *w, int r, uint32_t region)
{
    OTF2_EvtWriter_Enter(w->writer[r], NULL, tick(w, r), region);
}

static void leave(struct world *w, int r, uint32_t region)
{
    OTF2_EvtWriter_Leave(w->writer[r], NULL, tick(w, r), region);
}

static void compute(struct world *w, int r)
{
    for (int i = 0; i < w->compute; i++) {
        enter(w, r, REGION_WORK);
        w->now[r] += draw(w, WORK);
        leave(w, r, REGION_WORK);
    }
}

static uint64_t delay(struct world *w)
{
    return LATENCY + draw(w, JITTER) + (draw(w, 50) == 0 ? draw(w, 50 * JITTER) : 0);
}

/* Each rank sends to the one above and receives from the one below. */
static void ring(struct world *w, int distance)
{
    uint64_t *sent = calloc((uint32_t)w->ranks + 1UL, sizeof *sent);
    for (int r = 0; r < w->ranks; r++) {
        enter(w, r, REGION_MPI);
        sent[r] = tick(w, r);
        OTF2_EvtWriter_MpiSend(w->writer[r], NULL, sent[r], (uint32_t)((r + distance) % w->ranks),
                               COMM_WORLD, 7, 1024);
        leave(w, r, REGION_MPI);
    }
    for (int r = 0; r < w->ranks; r++) {
        const int from = (r + w->ranks - distance) % w->ranks;
        enter(w, r, REGION_MPI);
        const uint64_t time = at_least(w, r, sent[from] + delay(w));
        OTF2_EvtWriter_MpiRecv(w->writer[r], NULL, time, (uint32_t)from, COMM_WORLD, 7, 1024);
        leave(w, r, REGION_MPI);
    }
    free(sent);
}

/* Two receives posted, two messages of one tag sent, completed in the other order. */
static void nonblocking(struct world *w)
{
    for (int a = 0; a + 1 < w->ranks; a += 2) {
        const int b = a + 1;
        const uint64_t q = w->requests += 4;
        enter(w, b, REGION_MPI);
        OTF2_EvtWriter_MpiIrecvRequest(w->writer[b], NULL, tick(w, b), q);
        OTF2_EvtWriter_MpiIrecvRequest(w->writer[b], NULL, tick(w, b), q + 1);
        enter(w, a, REGION_MPI);
        const uint64_t first = tick(w, a);
        OTF2_EvtWriter_MpiIsend(w->writer[a], NULL, first, (uint32_t)b, COMM_WORLD, 9, 8, q + 2);
        w->now[a] += 20 * LATENCY; /* a wrong match would show as a violation */
        const uint64_t second = tick(w, a);
        OTF2_EvtWriter_MpiIsend(w->writer[a], NULL, second, (uint32_t)b, COMM_WORLD, 9, 8, q + 3);
        OTF2_EvtWriter_MpiIsendComplete(w->writer[a], NULL, tick(w, a), q + 2);
        OTF2_EvtWriter_MpiIsendComplete(w->writer[a], NULL, tick(w, a), q + 3);
        leave(w, a, REGION_MPI);
        const bool swap = draw(w, 2);
        const uint64_t one = swap ? second : first;
        uint64_t time = at_least(w, b, one + delay(w));
        OTF2_EvtWriter_MpiIrecv(w->writer[b], NULL, time, (uint32_t)a, COMM_WORLD, 9, 8, q + swap);
        time = at_least(w, b, (swap ? first : second) + delay(w));
        OTF2_EvtWriter_MpiIrecv(w->writer[b], NULL, time, (uint32_t)a, COMM_WORLD, 9, 8, q + !swap);
        leave(w, b, REGION_MPI);
    }
}

/* Who must have entered before member i of n may leave: members [0, n) as a predicate. */
static bool depends(int op, int root, int i, int k, const uint64_t *sent, const uint64_t *received)
{
    switch (op) {
    case OTF2_COLLECTIVE_OP_BARRIER:
        return true;
    case OTF2_COLLECTIVE_OP_BCAST:
    case OTF2_COLLECTIVE_OP_SCATTER:
        return k == root;
    case OTF2_COLLECTIVE_OP_SCATTERV:
        return k == root && received[i];
    case OTF2_COLLECTIVE_OP_GATHER:
    case OTF2_COLLECTIVE_OP_REDUCE:
        return i == root;
    case OTF2_COLLECTIVE_OP_GATHERV:
        return i == root && sent[k];
    case OTF2_COLLECTIVE_OP_SCAN:
        return k <= i;
    case OTF2_COLLECTIVE_OP_EXSCAN:
        return k < i;
    default:
        return sent[k] && received[i];
    }
}

static bool rooted(int op)
{
    return op == OTF2_COLLECTIVE_OP_BCAST || op == OTF2_COLLECTIVE_OP_SCATTER ||
           op == OTF2_COLLECTIVE_OP_SCATTERV || op == OTF2_COLLECTIVE_OP_GATHER ||
           op == OTF2_COLLECTIVE_OP_GATHERV || op == OTF2_COLLECTIVE_OP_REDUCE;
}

/* A collective under way: of the ranks 0, stride, 2 stride, ... */
struct call {
    uint32_t comm;
    int n, stride, op, root;
    bool blocking;
    uint64_t request;
    uint64_t *begin, *sent, *received;
};

static void begin_call(struct world *w, const struct call *c, int i)
{
    const int r = i * c->stride;
    const bool sized =
        c->op == OTF2_COLLECTIVE_OP_GATHERV || c->op == OTF2_COLLECTIVE_OP_SCATTERV ||
        c->op == OTF2_COLLECTIVE_OP_ALLGATHERV || c->op == OTF2_COLLECTIVE_OP_ALLTOALLV;
    const uint64_t bytes = c->op == OTF2_COLLECTIVE_OP_BARRIER ? 0 : 64;
    c->sent[i] = sized && draw(w, 3) == 0 ? 0 : bytes;
    c->received[i] = sized && draw(w, 3) == 0 ? 0 : bytes;
    w->now[r] += draw(w, 10 * LATENCY);
    enter(w, r, REGION_MPI);
    c->begin[i] = tick(w, r);
    if (c->blocking) {
        OTF2_EvtWriter_MpiCollectiveBegin(w->writer[r], NULL, c->begin[i]);
    } else {
        OTF2_EvtWriter_NonBlockingCollectiveRequest(w->writer[r], NULL, c->begin[i], c->request);
    }
}

static void end_call(struct world *w, const struct call *c, int i)
{
    const int r = i * c->stride;
    uint64_t least = 0;
    for (int k = 0; k < c->n; k++) {
        if (depends(c->op, c->root, i, k, c->sent, c->received) && c->begin[k] > least) {
            least = c->begin[k];
        }
    }
    const uint64_t time = at_least(w, r, least ? least + delay(w) : 0);
    const uint32_t named = rooted(c->op) ? (uint32_t)c->root : OTF2_COLLECTIVE_ROOT_NONE;
    const OTF2_CollectiveOp op = (OTF2_CollectiveOp)c->op;
    if (c->blocking) {
        OTF2_EvtWriter_MpiCollectiveEnd(w->writer[r], NULL, time, op, c->comm, named, c->sent[i],
                                        c->received[i]);
    } else {
        OTF2_EvtWriter_NonBlockingCollectiveComplete(w->writer[r], NULL, time, op, c->comm, named,
                                                     c->sent[i], c->received[i], c->request);
    }
    OTF2_EvtWriter_Leave(w->writer[r], NULL, time, REGION_MPI); /* as Score-P: the same stamp */
    w->count[r]++;
    w->written++;
}

static void collective(struct world *w, uint32_t comm, int n, int stride, int op, bool blocking)
{
    uint64_t *memory = calloc(3 * ((uint32_t)n + 1UL), sizeof *memory);
    const struct call c = {.comm = comm,
                           .n = n,
                           .stride = stride,
                           .op = op,
                           .root = (int)draw(w, (uint64_t)n),
                           .blocking = blocking,
                           .request = w->requests += 1,
                           .begin = memory,
                           .sent = memory + n,
                           .received = memory + 2L * n};
    if (!memory) {
        exit(1);
    }
    for (int i = 0; i < n; i++) {
        begin_call(w, &c, i);
    }
    for (int i = 0; i < n; i++) {
        end_call(w, &c, i);
    }
    free(memory);
}

/* A broadcast from a rank of the lower half to the upper half of an inter-communicator. */
static void intercomm(struct world *w)
{
    const int half = w->ranks / 2;
    const int root = (int)draw(w, (uint64_t)half);
    uint64_t from = 0;
    for (int r = 0; r < 2 * half; r++) {
        const uint64_t time = tick(w, r);
        OTF2_EvtWriter_MpiCollectiveBegin(w->writer[r], NULL, time);
        from = r == root ? time : from;
    }
    for (int r = 0; r < 2 * half; r++) {
        const uint32_t named = r == root  ? OTF2_COLLECTIVE_ROOT_SELF
                               : r < half ? OTF2_COLLECTIVE_ROOT_THIS_GROUP
                                          : (uint32_t)root;
        const uint64_t time = r < half ? tick(w, r) : at_least(w, r, from + delay(w));
        OTF2_EvtWriter_MpiCollectiveEnd(w->writer[r], NULL, time, OTF2_COLLECTIVE_OP_BCAST,
                                        COMM_INTER, named, r == root ? 64 : 0, r < half ? 0 : 64);
    }
}

static void step(struct world *w)
{
    const uint64_t kind = w->all ? draw(w, 6) : draw(w, 20) ? 0 : 2;
    for (int r = 0; r < w->ranks; r++) {
        compute(w, r);
    }
    if (kind <= 1) {
        ring(w, 1 + (int)draw(w, (uint64_t)(w->ranks > 2 ? w->ranks - 1 : 1)));
    } else if (kind == 2 && !w->all) {
        collective(w, COMM_WORLD, w->ranks, 1, OTF2_COLLECTIVE_OP_ALLREDUCE, true);
    } else if (kind == 2) {
        nonblocking(w);
    } else if (kind == 3) {
        collective(w, COMM_HALF, (w->ranks + 1) / 2, 2, (int)draw(w, 17), true);
    } else if (kind == 4 && w->ranks > 1) {
        intercomm(w);
    } else {
        collective(w, COMM_WORLD, w->ranks, 1, (int)draw(w, 17), draw(w, 3));
    }
}

static void write_comms(struct world *w, OTF2_GlobalDefWriter *d)
{
    const uint32_t n = (uint32_t)w->ranks;
    uint64_t *list = calloc(n + 1UL, sizeof *list);
    uint64_t *even = calloc(n + 1UL, sizeof *even);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = i;
    }
    OTF2_GlobalDefWriter_WriteGroup(d, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, n, list);
    OTF2_GlobalDefWriter_WriteGroup(d, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, n, list);
    for (uint32_t i = 0; i < (n + 1) / 2; i++) {
        even[i] = 2UL * i;
    }
    OTF2_GlobalDefWriter_WriteGroup(d, 2, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, (n + 1) / 2, even);
    OTF2_GlobalDefWriter_WriteGroup(d, 3, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, n / 2, list);
    OTF2_GlobalDefWriter_WriteGroup(d, 4, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, n / 2, list + n / 2);
    OTF2_GlobalDefWriter_WriteComm(d, COMM_WORLD, 0, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(d, COMM_HALF, 0, 2, COMM_WORLD, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteInterComm(d, COMM_INTER, 0, 3, 4, COMM_WORLD, OTF2_COMM_FLAG_NONE);
    free(list);
    free(even);
}

static void write_definitions(struct world *w, uint64_t last)
{
    static const char *const texts[] = {"", "machine", "node", "work", "MPI_call", "rank"};
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(w->archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, 1000000, last - 1000000 + 1,
                                              OTF2_UNDEFINED_TIMESTAMP);
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        OTF2_GlobalDefWriter_WriteString(d, i, texts[i]);
    }
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 1, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (int i = 0; i < w->nodes; i++) {
        OTF2_GlobalDefWriter_WriteSystemTreeNode(d, (uint32_t)i + 1, 0, 2, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        OTF2_GlobalDefWriter_WriteRegion(d, i, 3 + i, 3 + i, 0, OTF2_REGION_ROLE_FUNCTION,
                                         i ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER,
                                         OTF2_REGION_FLAG_NONE, 0, 0, 0);
    }
    for (int r = 0; r < w->ranks; r++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, (uint32_t)r, 5, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                (uint32_t)(1 + r * w->nodes / w->ranks),
                                                OTF2_UNDEFINED_LOCATION_GROUP);
        uint64_t count = 0;
        OTF2_EvtWriter_GetNumberOfEvents(w->writer[r], &count);
        OTF2_GlobalDefWriter_WriteLocation(d, (uint64_t)r, 5, OTF2_LOCATION_TYPE_CPU_THREAD, count,
                                           (uint32_t)r);
    }
    write_comms(w, d);
    OTF2_Archive_CloseGlobalDefWriter(w->archive, d);
}

static bool option(const char *text, const char *name, const char **value)
{
    const size_t n = strlen(name);
    *value = strncmp(text, name, n) == 0 && text[n] == '=' ? text + n + 1 : NULL;
    return *value != NULL;
}

static void read_options(struct world *w, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        const char *v = NULL;
        if (option(argv[i], "ranks", &v)) {
            w->ranks = atoi(v);
        } else if (option(argv[i], "events", &v)) {
            w->events = strtoull(v, NULL, 10);
        } else if (option(argv[i], "seed", &v)) {
            w->state = strtoull(v, NULL, 10) * 2654435761U + 88172645463325252U;
        } else if (option(argv[i], "nodes", &v)) {
            w->nodes = atoi(v);
        } else if (option(argv[i], "compute", &v)) {
            w->compute = atoi(v);
        } else if (option(argv[i], "mix", &v)) {
            w->all = strcmp(v, "all") == 0;
        } else {
            (void)fprintf(stderr, "make_trace: what is '%s'?\n", argv[i]);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    struct world w = {.ranks = 8,
                      .nodes = 2,
                      .events = 10000,
                      .compute = 4,
                      .all = true,
                      .state = 88172645463325252U};
    if (argc < 2) {
        (void)fprintf(stderr, "usage: make_trace OUT [ranks=N] [events=N] [seed=N] [nodes=N] "
                              "[mix=all|p2p] [compute=N]\n");
        return 2;
    }
    read_options(&w, argc, argv);
    if (w.ranks < 2 || w.ranks > 1000000 || w.nodes < 1) {
        (void)fprintf(stderr, "make_trace: from 2 to 1000000 ranks, at least one node\n");
        return 2;
    }
    w.now = calloc((uint32_t)w.ranks + 1UL, sizeof *w.now);
    w.count = calloc((uint32_t)w.ranks + 1UL, sizeof *w.count);
    w.writer = calloc((uint32_t)w.ranks + 1UL, sizeof(OTF2_EvtWriter *));
    w.archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                  OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!w.now || !w.count || !w.writer || !w.archive) {
        return 1;
    }
    OTF2_Archive_SetFlushCallbacks(w.archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(w.archive);
    OTF2_Archive_OpenEvtFiles(w.archive);
    for (int r = 0; r < w.ranks; r++) {
        w.writer[r] = OTF2_Archive_GetEvtWriter(w.archive, (uint64_t)r);
        w.now[r] = 1000000 + draw(&w, 1000);
    }
    while (w.written < w.events) {
        step(&w);
    }
    uint64_t last = 0;
    for (int r = 0; r < w.ranks; r++) {
        last = w.now[r] > last ? w.now[r] : last;
    }
    write_definitions(&w, last);
    OTF2_Archive_OpenDefFiles(w.archive);
    for (int r = 0; r < w.ranks; r++) {
        OTF2_DefWriter *d = OTF2_Archive_GetDefWriter(w.archive, (uint64_t)r);
        OTF2_Archive_CloseDefWriter(w.archive, d);
        OTF2_Archive_CloseEvtWriter(w.archive, w.writer[r]);
    }
    OTF2_Archive_CloseDefFiles(w.archive);
    OTF2_Archive_CloseEvtFiles(w.archive);
    free(w.now);
    free(w.count);
    free(w.writer);
    return OTF2_Archive_Close(w.archive) == OTF2_SUCCESS ? 0 : 1;
}
