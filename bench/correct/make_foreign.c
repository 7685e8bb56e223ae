/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write an OTF2 archive with what other tools record and make_trace does not: accelerators with
 * streams of their own, OpenMP teams, RMA windows and notifications, metrics, parameters,
 * attributes, mapping tables, clock offsets, markers, buffer flushes, I/O, cancelled and lost
 * messages. Times are true: one clock advances from event to event. For tests.
 *
 *   make_foreign OUT [cycle]
 */
#include "../../src/archive/flush.h"

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, THREADS = 3, STREAMS = 2, ROUNDS = 30, STEP = 700, START = 5000000 };
enum { CPU = RANKS, OMP = CPU + THREADS - 1, GPU = OMP + STREAMS, LOCATIONS = GPU + 1 };
enum { METRICS = GPU }; /* the location that only holds metrics */
enum { WORLD, SELF, TEAM, INTER, DEVICE, WINDOW = 0, DEVICE_WINDOW };
enum { WORK, CALL, BARRIER, KERNEL, NEIGHBORS, INEIGHBORS, REGIONS };

/* Texts, whose numbers are their places. */
static const char *const texts[] = {"",
                                    "machine",
                                    "node",
                                    "process",
                                    "thread",
                                    "stream",
                                    "metrics",
                                    "work",
                                    "MPI_x",
                                    "barrier",
                                    "kernel",
                                    "GPU",
                                    "counter",
                                    "bytes",
                                    "param",
                                    "attr",
                                    "cores",
                                    "file",
                                    "posix",
                                    "handle",
                                    "world",
                                    "team",
                                    "device",
                                    "window",
                                    "MPI_Neighbor_alltoall",
                                    "MPI_Ineighbor_alltoall"};
enum { NODE = 2, PROCESS, THREAD, STREAM, METRIC, FIRST_REGION, ACCELERATOR = 11, COUNTER, UNIT };
enum { PARAMETER = 14, ATTRIBUTE, CORES, IO_FILE, PARADIGM, HANDLE, NAME, NEIGHBOR_NAME = 24 };

struct world {
    OTF2_Archive *archive;
    OTF2_EvtWriter *writer[LOCATIONS];
    OTF2_AttributeList *attributes;
    uint64_t now, requests;
};

static uint64_t ref_of(int location)
{
    if (location < CPU) {
        return (uint64_t)location; /* as Score-P: thread << 32 | process */
    }
    if (location < OMP) {
        return (uint64_t)(location - CPU + 1) << 32;
    }
    return (uint64_t)(100 + location) << 32 | 1;
}

static uint64_t tick(struct world *w)
{
    return w->now += STEP;
}

static void enter(struct world *w, int l, uint32_t region)
{
    OTF2_AttributeList_AddUint32(w->attributes, 0, region);
    OTF2_EvtWriter_Enter(w->writer[l], w->attributes, tick(w), region);
}

static void leave(struct world *w, int l, uint32_t region)
{
    OTF2_EvtWriter_Leave(w->writer[l], NULL, tick(w), region);
}

/* A team of threads in process 0 with a barrier and a lock. */
static void parallel(struct world *w, uint32_t order)
{
    const int threads[THREADS] = {0, CPU, CPU + 1};
    OTF2_EvtWriter_ThreadFork(w->writer[0], NULL, tick(w), OTF2_PARADIGM_OPENMP, THREADS);
    for (int i = 0; i < THREADS; i++) {
        OTF2_EvtWriter_ThreadTeamBegin(w->writer[threads[i]], NULL, tick(w), TEAM);
        OTF2_EvtWriter_ThreadAcquireLock(w->writer[threads[i]], NULL, tick(w), OTF2_PARADIGM_OPENMP,
                                         5, order + 1 + (uint32_t)i);
        OTF2_EvtWriter_ThreadReleaseLock(w->writer[threads[i]], NULL, tick(w), OTF2_PARADIGM_OPENMP,
                                         5, order + 1 + (uint32_t)i);
    }
    /* A lock of another model, with the same number and as many acquisitions. */
    for (int i = THREADS - 1; i >= 0; i--) {
        const uint32_t number = order + (uint32_t)(THREADS - i);
        OTF2_EvtWriter_ThreadAcquireLock(w->writer[threads[i]], NULL, tick(w),
                                         OTF2_PARADIGM_PTHREAD, 5, number);
        OTF2_EvtWriter_ThreadReleaseLock(w->writer[threads[i]], NULL, tick(w),
                                         OTF2_PARADIGM_PTHREAD, 5, number);
    }
    for (int i = 0; i < THREADS; i++) {
        enter(w, threads[i], BARRIER);
    }
    for (int i = 0; i < THREADS; i++) {
        leave(w, threads[i], BARRIER);
    }
    for (int i = THREADS - 1; i >= 0; i--) {
        OTF2_EvtWriter_ThreadTeamEnd(w->writer[threads[i]], NULL, tick(w), TEAM);
    }
    OTF2_EvtWriter_ThreadJoin(w->writer[0], NULL, tick(w), OTF2_PARADIGM_OPENMP);
}

/* A copy to the device, a kernel there, a copy back; processes 0 and 1 have one stream each. */
static void offload(struct world *w, int rank)
{
    OTF2_EvtWriter *host = w->writer[rank];
    OTF2_EvtWriter *stream = w->writer[OMP + rank];
    const uint32_t device = (uint32_t)(2 + rank);
    enter(w, rank, CALL);
    OTF2_EvtWriter_RmaPut(host, NULL, tick(w), DEVICE_WINDOW, device, 4096, w->requests);
    OTF2_EvtWriter_RmaOpCompleteBlocking(host, NULL, tick(w), DEVICE_WINDOW, w->requests++);
    leave(w, rank, CALL);
    OTF2_EvtWriter_Enter(stream, NULL, tick(w), KERNEL);
    OTF2_EvtWriter_CallingContextSample(stream, NULL, tick(w), OTF2_UNDEFINED_CALLING_CONTEXT, 0,
                                        OTF2_UNDEFINED_INTERRUPT_GENERATOR);
    OTF2_EvtWriter_Leave(stream, NULL, tick(w), KERNEL);
    enter(w, rank, CALL);
    OTF2_EvtWriter_RmaGet(host, NULL, tick(w), DEVICE_WINDOW, device, 4096, w->requests);
    OTF2_EvtWriter_RmaOpCompleteBlocking(host, NULL, tick(w), DEVICE_WINDOW, w->requests++);
    leave(w, rank, CALL);
}

/* An exchange among neighbours, of which each process is through before the next one comes. */
static void neighbors_exchange(struct world *w)
{
    for (int r = 0; r < RANKS; r++) {
        enter(w, r, NEIGHBORS);
        OTF2_EvtWriter_MpiCollectiveBegin(w->writer[r], NULL, tick(w));
        OTF2_EvtWriter_MpiCollectiveEnd(w->writer[r], NULL, tick(w), OTF2_COLLECTIVE_OP_ALLTOALL,
                                        WORLD, OTF2_COLLECTIVE_ROOT_NONE, 16, 16);
        leave(w, r, NEIGHBORS);
    }
}

static void complete_request(struct world *w, int rank, OTF2_CollectiveOp op, uint64_t bytes,
                             uint64_t q)
{
    enter(w, rank, CALL);
    OTF2_EvtWriter_NonBlockingCollectiveComplete(w->writer[rank], NULL, tick(w), op, WORLD,
                                                 OTF2_COLLECTIVE_ROOT_NONE, bytes, bytes, q);
    leave(w, rank, CALL);
}

/*
 * The same without blocking, as Score-P records it: the request within the call, the completion in
 * a later one, MPI_Wait. An allreduce of everybody begins before it and completes after it.
 */
static void neighbors_request(struct world *w)
{
    const uint64_t reduction = w->requests++;
    const uint64_t exchange = w->requests++;
    for (int r = 0; r < RANKS; r++) {
        enter(w, r, CALL);
        OTF2_EvtWriter_NonBlockingCollectiveRequest(w->writer[r], NULL, tick(w), reduction);
        leave(w, r, CALL);
    }
    for (int r = 0; r < RANKS; r++) {
        enter(w, r, INEIGHBORS);
        OTF2_EvtWriter_NonBlockingCollectiveRequest(w->writer[r], NULL, tick(w), exchange);
        leave(w, r, INEIGHBORS);
        complete_request(w, r, OTF2_COLLECTIVE_OP_ALLTOALL, 16, exchange);
    }
    for (int r = 0; r < RANKS; r++) {
        complete_request(w, r, OTF2_COLLECTIVE_OP_ALLREDUCE, 8, reduction);
    }
}

/* Each process notifies the next one on the window, between two fences; locks that say nothing. */
static void window(struct world *w)
{
    for (int fence = 0; fence < 2; fence++) {
        for (int r = 0; r < RANKS; r++) {
            OTF2_EvtWriter_RmaCollectiveBegin(w->writer[r], NULL, tick(w));
        }
        for (int r = 0; r < RANKS; r++) {
            OTF2_EvtWriter_RmaCollectiveEnd(w->writer[r], NULL, tick(w), OTF2_COLLECTIVE_OP_BARRIER,
                                            OTF2_RMA_SYNC_LEVEL_PROCESS |
                                                OTF2_RMA_SYNC_LEVEL_MEMORY,
                                            WINDOW, OTF2_UNDEFINED_UINT32, 0, 0);
        }
        for (int r = 0; r < RANKS && fence == 0; r++) {
            const uint32_t next = (uint32_t)(r + 1) % RANKS;
            OTF2_EvtWriter_RmaRequestLock(w->writer[r], NULL, tick(w), WINDOW, next, 1,
                                          OTF2_LOCK_SHARED);
            OTF2_EvtWriter_RmaAcquireLock(w->writer[r], NULL, tick(w), WINDOW, next, 1,
                                          OTF2_LOCK_SHARED);
            OTF2_EvtWriter_RmaReleaseLock(w->writer[r], NULL, tick(w), WINDOW, next, 1);
            OTF2_EvtWriter_RmaSync(w->writer[r], NULL, tick(w), WINDOW, next,
                                   OTF2_RMA_SYNC_TYPE_NOTIFY_OUT);
            OTF2_EvtWriter_RmaGroupSync(w->writer[r], NULL, tick(w), OTF2_RMA_SYNC_LEVEL_MEMORY,
                                        WINDOW, 1);
        }
        for (int r = 0; r < RANKS && fence == 0; r++) {
            OTF2_EvtWriter_RmaSync(w->writer[r], NULL, tick(w), WINDOW,
                                   (uint32_t)(r + RANKS - 1) % RANKS, OTF2_RMA_SYNC_TYPE_NOTIFY_IN);
        }
    }
}

/* Messages: one that arrives, one that is cancelled, one of a process to itself. */
static void messages(struct world *w, int round)
{
    const int from = round % RANKS;
    const int to = (round + 1 + round % 2) % RANKS;
    const uint64_t q = w->requests += 4;
    OTF2_EvtWriter_MpiIrecvRequest(w->writer[to], NULL, tick(w), q);
    OTF2_EvtWriter_MpiIrecvRequest(w->writer[to], NULL, tick(w), q + 1);
    OTF2_EvtWriter_MpiSend(w->writer[from], NULL, tick(w), (uint32_t)to, WORLD, 3, 8);
    OTF2_EvtWriter_MpiRequestTest(w->writer[to], NULL, tick(w), q);
    OTF2_EvtWriter_MpiRequestCancelled(w->writer[to], NULL, tick(w), q + 1);
    OTF2_EvtWriter_MpiIrecv(w->writer[to], NULL, tick(w), (uint32_t)from, WORLD, 3, 8, q);
    OTF2_EvtWriter_MpiSend(w->writer[from], NULL, tick(w), 0, SELF, 3, 8);
    OTF2_EvtWriter_MpiRecv(w->writer[from], NULL, tick(w), 0, SELF, 3, 8);
    /* Between the groups of an inter-communicator: ranks of the other side. */
    OTF2_EvtWriter_MpiSend(w->writer[0], NULL, tick(w), 1, INTER, 4, 8);
    OTF2_EvtWriter_MpiRecv(w->writer[3], NULL, tick(w), 0, INTER, 4, 8);
}

static void other_records(struct world *w, int round)
{
    const OTF2_Type type = OTF2_TYPE_UINT64;
    const OTF2_MetricValue value = {.unsigned_int = (uint64_t)round * 1000};
    const int l = round % RANKS;
    OTF2_EvtWriter_Metric(w->writer[METRICS], NULL, tick(w), 0, 1, &type, &value);
    OTF2_EvtWriter_ParameterUnsignedInt(w->writer[l], NULL, tick(w), 0, value.unsigned_int);
    const uint64_t flush = tick(w);
    OTF2_EvtWriter_BufferFlush(w->writer[l], NULL, flush, flush + STEP / 2);
    OTF2_EvtWriter_IoCreateHandle(w->writer[l], NULL, tick(w), 0, OTF2_IO_ACCESS_MODE_READ_WRITE,
                                  OTF2_IO_CREATION_FLAG_CREATE, OTF2_IO_STATUS_FLAG_NONE);
    OTF2_EvtWriter_IoOperationBegin(w->writer[l], NULL, tick(w), 0, OTF2_IO_OPERATION_MODE_WRITE,
                                    OTF2_IO_OPERATION_FLAG_NONE, 512, (uint64_t)round);
    OTF2_EvtWriter_IoOperationComplete(w->writer[l], NULL, tick(w), 0, 512, (uint64_t)round);
    OTF2_EvtWriter_IoDestroyHandle(w->writer[l], NULL, tick(w), 0);
}

/* Each waits for the other's message before it sends its own: no program does this. */
static void cycle(struct world *w)
{
    OTF2_EvtWriter_MpiRecv(w->writer[0], NULL, tick(w), 1, WORLD, 66, 8);
    OTF2_EvtWriter_MpiRecv(w->writer[1], NULL, tick(w), 0, WORLD, 66, 8);
    OTF2_EvtWriter_MpiSend(w->writer[0], NULL, tick(w), 1, WORLD, 66, 8);
    OTF2_EvtWriter_MpiSend(w->writer[1], NULL, tick(w), 0, WORLD, 66, 8);
}

static void write_events(struct world *w, bool cyclic)
{
    for (int r = 0; r < RANKS; r++) {
        OTF2_EvtWriter_ProgramBegin(w->writer[r], NULL, tick(w), 3, 0, NULL);
        OTF2_EvtWriter_RmaWinCreate(w->writer[r], NULL, tick(w), WINDOW);
    }
    /* Begun before recording, and waiting for nobody. */
    OTF2_EvtWriter_RmaCollectiveEnd(w->writer[0], NULL, tick(w), OTF2_COLLECTIVE_OP_BARRIER,
                                    OTF2_RMA_SYNC_LEVEL_NONE, WINDOW, OTF2_UNDEFINED_UINT32, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        messages(w, i);
        parallel(w, (uint32_t)(i * THREADS));
        offload(w, i % 2);
        window(w);
        neighbors_exchange(w);
        neighbors_request(w);
        other_records(w, i);
    }
    if (cyclic) {
        cycle(w);
    }
    for (int r = 1; r < RANKS; r++) {
        /* The receiver's end was not recorded. */
        OTF2_EvtWriter_MpiSend(w->writer[r], NULL, tick(w), 0, WORLD, 99, 8);
        OTF2_EvtWriter_MpiCollectiveBegin(w->writer[r], NULL, tick(w));
        OTF2_EvtWriter_MpiCollectiveEnd(w->writer[r], NULL, tick(w), OTF2_COLLECTIVE_OP_ALLREDUCE,
                                        WORLD, OTF2_COLLECTIVE_ROOT_NONE, 8, 8);
        OTF2_EvtWriter_RmaWinDestroy(w->writer[r], NULL, tick(w), WINDOW);
        OTF2_EvtWriter_ProgramEnd(w->writer[r], NULL, tick(w), 0);
    }
}

static void group(OTF2_GlobalDefWriter *d, uint32_t self, OTF2_GroupType type,
                  OTF2_Paradigm paradigm, uint32_t n, const uint64_t *members)
{
    OTF2_GlobalDefWriter_WriteGroup(d, self, 0, type, paradigm, OTF2_GROUP_FLAG_NONE, n, members);
}

static void write_groups(OTF2_GlobalDefWriter *d)
{
    const uint64_t ranks[] = {0, 1, 2, 3};
    const uint64_t threads[] = {ref_of(0), ref_of(CPU), ref_of(CPU + 1)};
    const uint64_t device[] = {ref_of(0), ref_of(1), ref_of(OMP), ref_of(OMP + 1)};
    group(d, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, RANKS, ranks);
    group(d, 1, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, RANKS, ranks);
    group(d, 2, OTF2_GROUP_TYPE_COMM_SELF, OTF2_PARADIGM_MPI, 0, NULL);
    group(d, 3, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP, THREADS, threads);
    group(d, 4, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP, THREADS, ranks);
    group(d, 5, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 2, ranks);
    group(d, 6, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 2, ranks + 2);
    group(d, 7, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_CUDA, 4, device);
    group(d, 8, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_CUDA, 4, ranks);
    OTF2_GlobalDefWriter_WriteComm(d, WORLD, NAME, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(d, SELF, 0, 2, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(d, TEAM, 21, 4, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteInterComm(d, INTER, 0, 5, 6, WORLD, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(d, DEVICE, 22, 8, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteRmaWin(d, WINDOW, 23, WORLD, OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS);
    OTF2_GlobalDefWriter_WriteRmaWin(d, DEVICE_WINDOW, 23, DEVICE, OTF2_RMA_WIN_FLAG_NONE);
}

static void write_location(struct world *w, OTF2_GlobalDefWriter *d, int l)
{
    uint64_t events = 0;
    const OTF2_LocationType type = l < OMP   ? OTF2_LOCATION_TYPE_CPU_THREAD
                                   : l < GPU ? OTF2_LOCATION_TYPE_ACCELERATOR_STREAM
                                             : OTF2_LOCATION_TYPE_METRIC;
    const uint32_t process = l < CPU   ? (uint32_t)l
                             : l < OMP ? 0
                             : l < GPU ? (uint32_t)(RANKS + l - OMP)
                                       : 1;
    OTF2_EvtWriter_GetNumberOfEvents(w->writer[l], &events);
    OTF2_GlobalDefWriter_WriteLocation(d, ref_of(l), THREAD, type, events, process);
}

static void write_machine(struct world *w, OTF2_GlobalDefWriter *d)
{
    const OTF2_AttributeValue cores = {.uint32 = 64};
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 1, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t i = 1; i <= 2; i++) {
        OTF2_GlobalDefWriter_WriteSystemTreeNode(d, i, 0, NODE, 0);
        OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(d, i, CORES, OTF2_TYPE_UINT32, cores);
        OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(d, i, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, r, PROCESS, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                1 + r % 2, OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (uint32_t s = 0; s < STREAMS; s++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, RANKS + s, ACCELERATOR,
                                                OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, 1 + s, s);
    }
    for (int l = 0; l < LOCATIONS; l++) {
        write_location(w, d, l);
    }
    OTF2_GlobalDefWriter_WriteLocationProperty(d, ref_of(OMP), CORES, OTF2_TYPE_UINT32, cores);
}

static void write_definitions(struct world *w)
{
    static const OTF2_RegionRole roles[REGIONS] = {
        OTF2_REGION_ROLE_FUNCTION, OTF2_REGION_ROLE_FUNCTION,     OTF2_REGION_ROLE_BARRIER,
        OTF2_REGION_ROLE_FUNCTION, OTF2_REGION_ROLE_COLL_ALL2ALL, OTF2_REGION_ROLE_COLL_ALL2ALL};
    static const OTF2_Paradigm paradigms[REGIONS] = {OTF2_PARADIGM_USER,   OTF2_PARADIGM_MPI,
                                                     OTF2_PARADIGM_OPENMP, OTF2_PARADIGM_CUDA,
                                                     OTF2_PARADIGM_MPI,    OTF2_PARADIGM_MPI};
    const uint32_t member = 0;
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(w->archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, START, w->now - START + 1,
                                              UINT64_C(1700000000000000000));
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        OTF2_GlobalDefWriter_WriteString(d, i, texts[i]);
    }
    for (uint32_t i = 0; i < REGIONS; i++) {
        const uint32_t name = i < NEIGHBORS ? FIRST_REGION + i : NEIGHBOR_NAME + (i - NEIGHBORS);
        OTF2_GlobalDefWriter_WriteRegion(d, i, name, name, 0, roles[i], paradigms[i],
                                         OTF2_REGION_FLAG_NONE, IO_FILE, 1, 2);
    }
    write_machine(w, d);
    write_groups(d);
    OTF2_GlobalDefWriter_WriteMetricMember(d, 0, COUNTER, 0, OTF2_METRIC_TYPE_OTHER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64,
                                           OTF2_BASE_DECIMAL, 0, UNIT);
    OTF2_GlobalDefWriter_WriteMetricClass(d, 0, 1, &member, OTF2_METRIC_ASYNCHRONOUS,
                                          OTF2_RECORDER_KIND_ABSTRACT);
    OTF2_GlobalDefWriter_WriteAttribute(d, 0, ATTRIBUTE, 0, OTF2_TYPE_UINT32);
    OTF2_GlobalDefWriter_WriteParameter(d, 0, PARAMETER, OTF2_PARAMETER_TYPE_UINT64);
    OTF2_GlobalDefWriter_WriteIoParadigm(d, 0, PARADIGM, PARADIGM, OTF2_IO_PARADIGM_CLASS_SERIAL,
                                         OTF2_IO_PARADIGM_FLAG_NONE, 0, NULL, NULL, NULL);
    OTF2_GlobalDefWriter_WriteIoRegularFile(d, 0, IO_FILE, 1);
    OTF2_GlobalDefWriter_WriteIoHandle(d, 0, HANDLE, 0, 0, OTF2_IO_HANDLE_FLAG_NONE, WORLD,
                                       OTF2_UNDEFINED_IO_HANDLE);
    OTF2_Archive_CloseGlobalDefWriter(w->archive, d);
}

/* Mapping tables that map nothing elsewhere, and clock offsets of 0: both must come through. */
static void write_local(struct world *w)
{
    const uint32_t ids[] = {WORK, CALL, BARRIER, KERNEL, NEIGHBORS, INEIGHBORS};
    OTF2_Archive_OpenDefFiles(w->archive);
    for (int l = 0; l < LOCATIONS; l++) {
        OTF2_DefWriter *d = OTF2_Archive_GetDefWriter(w->archive, ref_of(l));
        OTF2_IdMap *map = OTF2_IdMap_CreateFromUint32Array(REGIONS, ids, false);
        OTF2_DefWriter_WriteMappingTable(d, OTF2_MAPPING_REGION, map);
        OTF2_DefWriter_WriteClockOffset(d, START, 0, 0);
        OTF2_DefWriter_WriteClockOffset(d, w->now, 0, 0);
        OTF2_IdMap_Free(map);
        OTF2_Archive_CloseDefWriter(w->archive, d);
    }
    OTF2_Archive_CloseDefFiles(w->archive);
}

static void write_markers(struct world *w)
{
    OTF2_MarkerWriter *m = OTF2_Archive_GetMarkerWriter(w->archive);
    OTF2_MarkerWriter_WriteDefMarker(m, 0, "group", "category", OTF2_SEVERITY_HIGH);
    OTF2_MarkerWriter_WriteMarker(m, START + STEP, STEP, 0, OTF2_MARKER_SCOPE_GLOBAL, 0, "here");
    OTF2_Archive_CloseMarkerWriter(w->archive, m);
}

int main(int argc, char **argv)
{
    struct world w = {.now = START, .attributes = OTF2_AttributeList_New()};
    if (argc < 2) {
        (void)fprintf(stderr, "usage: make_foreign OUT [cycle]\n");
        return 2;
    }
    w.archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                  OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!w.archive) {
        return 1;
    }
    OTF2_Archive_SetFlushCallbacks(w.archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(w.archive);
    OTF2_Archive_OpenEvtFiles(w.archive);
    for (int l = 0; l < LOCATIONS; l++) {
        w.writer[l] = OTF2_Archive_GetEvtWriter(w.archive, ref_of(l));
    }
    write_events(&w, argc > 2 && strcmp(argv[2], "cycle") == 0);
    write_definitions(&w);
    write_local(&w);
    write_markers(&w);
    for (int l = 0; l < LOCATIONS; l++) {
        OTF2_Archive_CloseEvtWriter(w.archive, w.writer[l]);
    }
    OTF2_Archive_CloseEvtFiles(w.archive);
    OTF2_Archive_Close(w.archive);
    OTF2_AttributeList_Delete(w.attributes);
    return 0;
}
