/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write the OTF2 archive that a text on standard input describes, a line a definition or an event:
 * programs whose waits are known can then be written down, or simulated, in any language.
 *
 *   write_archive OUT < text
 *
 * Definitions come first, and are numbered from 0 in their order, by kind:
 *   node NAME | process NODE | location PROCESS | region NAME ROLE PARADIGM
 *   comm PROCESS... | team LOCATION... | window COMM | offset LOCATION TIME OFFSET SD
 *   inter COMM COMM: a communicator between the groups of two others
 *
 * Events: LOCATION TIME KIND NUMBERS...; `events` below lists the kinds. Times are nanoseconds.
 */
#include "../../src/archive/flush.h"

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1 << 16, COUNT_MAX = 4096, ARGUMENTS = 8, NAME = 64 };

struct region {
    char name[NAME];
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
};

struct group {
    uint64_t members[COUNT_MAX];
    uint32_t count;
    bool team, inter; /* inter: members are two communicators */
};

struct offset {
    uint32_t location;
    uint64_t time;
    int64_t offset;
    double sd;
};

struct text {
    OTF2_Archive *archive;
    OTF2_EvtWriter *writer[COUNT_MAX];
    char node[COUNT_MAX][NAME];
    uint32_t process_node[COUNT_MAX], location_process[COUNT_MAX], window_comm[COUNT_MAX];
    struct region region[COUNT_MAX];
    struct group *comm[COUNT_MAX];
    struct offset *offsets;
    uint32_t nodes, processes, locations, regions, comms, windows, offset_count;
    uint64_t first, last;
    bool open;
};

typedef OTF2_ErrorCode event_fn(OTF2_EvtWriter *w, uint64_t time, const uint64_t *a);

#define EVENT(name, ...)                                                                           \
    static OTF2_ErrorCode name(OTF2_EvtWriter *w, uint64_t time, const uint64_t *a)                \
    {                                                                                              \
        (void)a;                                                                                   \
        return __VA_ARGS__;                                                                        \
    }
#define U32(i) ((uint32_t)a[i])
#define U8(i) ((uint8_t)a[i])

EVENT(put_enter, OTF2_EvtWriter_Enter(w, NULL, time, U32(0)))
EVENT(put_leave, OTF2_EvtWriter_Leave(w, NULL, time, U32(0)))
EVENT(put_off, OTF2_EvtWriter_MeasurementOnOff(w, NULL, time, U8(0)))
EVENT(put_send, OTF2_EvtWriter_MpiSend(w, NULL, time, U32(0), U32(1), U32(2), a[3]))
EVENT(put_recv, OTF2_EvtWriter_MpiRecv(w, NULL, time, U32(0), U32(1), U32(2), a[3]))
EVENT(put_isend, OTF2_EvtWriter_MpiIsend(w, NULL, time, U32(0), U32(1), U32(2), a[3], a[4]))
EVENT(put_isend_done, OTF2_EvtWriter_MpiIsendComplete(w, NULL, time, a[0]))
EVENT(put_irecv_post, OTF2_EvtWriter_MpiIrecvRequest(w, NULL, time, a[0]))
EVENT(put_irecv, OTF2_EvtWriter_MpiIrecv(w, NULL, time, U32(0), U32(1), U32(2), a[3], a[4]))
EVENT(put_test, OTF2_EvtWriter_MpiRequestTest(w, NULL, time, a[0]))
EVENT(put_cancelled, OTF2_EvtWriter_MpiRequestCancelled(w, NULL, time, a[0]))
EVENT(put_begin, OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, time))
EVENT(put_end, OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, time, U8(0), U32(1), U32(2), a[3], a[4]))
EVENT(put_request, OTF2_EvtWriter_NonBlockingCollectiveRequest(w, NULL, time, a[0]))
EVENT(put_complete, OTF2_EvtWriter_NonBlockingCollectiveComplete(w, NULL, time, U8(0), U32(1),
                                                                 U32(2), a[3], a[4], a[5]))
EVENT(put_fork, OTF2_EvtWriter_ThreadFork(w, NULL, time, OTF2_PARADIGM_OPENMP, U32(0)))
EVENT(put_join, OTF2_EvtWriter_ThreadJoin(w, NULL, time, OTF2_PARADIGM_OPENMP))
EVENT(put_team_begin, OTF2_EvtWriter_ThreadTeamBegin(w, NULL, time, U32(0)))
EVENT(put_team_end, OTF2_EvtWriter_ThreadTeamEnd(w, NULL, time, U32(0)))
EVENT(put_acquire,
      OTF2_EvtWriter_ThreadAcquireLock(w, NULL, time, OTF2_PARADIGM_OPENMP, U32(0), U32(1)))
EVENT(put_release,
      OTF2_EvtWriter_ThreadReleaseLock(w, NULL, time, OTF2_PARADIGM_OPENMP, U32(0), U32(1)))
EVENT(put_create, OTF2_EvtWriter_ThreadCreate(w, NULL, time, U32(0), a[1]))
EVENT(put_thread_begin, OTF2_EvtWriter_ThreadBegin(w, NULL, time, U32(0), a[1]))
EVENT(put_thread_end, OTF2_EvtWriter_ThreadEnd(w, NULL, time, U32(0), a[1]))
EVENT(put_thread_wait, OTF2_EvtWriter_ThreadWait(w, NULL, time, U32(0), a[1]))
EVENT(put_rma_begin, OTF2_EvtWriter_RmaCollectiveBegin(w, NULL, time))
EVENT(put_rma_end,
      OTF2_EvtWriter_RmaCollectiveEnd(w, NULL, time, U8(0),
                                      OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY,
                                      U32(1), U32(2), a[3], a[4]))
EVENT(put_rma_sync, OTF2_EvtWriter_RmaSync(w, NULL, time, U32(0), U32(1), (OTF2_RmaSyncType)a[2]))
EVENT(put_rma_group,
      OTF2_EvtWriter_RmaGroupSync(w, NULL, time, OTF2_RMA_SYNC_LEVEL_MEMORY, U32(0), U32(1)))
EVENT(put_rma_put, OTF2_EvtWriter_RmaPut(w, NULL, time, U32(0), U32(1), a[2], a[3]))
EVENT(put_rma_done, OTF2_EvtWriter_RmaOpCompleteBlocking(w, NULL, time, U32(0), a[1]))
EVENT(put_rma_request, OTF2_EvtWriter_RmaRequestLock(w, NULL, time, U32(0), U32(1), a[2], U8(3)))
EVENT(put_rma_acquire, OTF2_EvtWriter_RmaAcquireLock(w, NULL, time, U32(0), U32(1), a[2], U8(3)))
EVENT(put_rma_release, OTF2_EvtWriter_RmaReleaseLock(w, NULL, time, U32(0), U32(1), a[2]))

static const struct {
    const char *name;
    event_fn *put;
    int arguments;
} events[] = {
    {"enter", put_enter, 1},          /* region */
    {"leave", put_leave, 1},          /* region */
    {"onoff", put_off, 1},            /* 1: on, 2: off */
    {"send", put_send, 4},            /* peer, comm, tag, bytes */
    {"recv", put_recv, 4},            /* peer, comm, tag, bytes */
    {"isend", put_isend, 5},          /* peer, comm, tag, bytes, request */
    {"isenddone", put_isend_done, 1}, /* request */
    {"irecvpost", put_irecv_post, 1}, /* request */
    {"irecv", put_irecv, 5},          /* peer, comm, tag, bytes, request */
    {"test", put_test, 1},            /* request */
    {"cancelled", put_cancelled, 1},  /* request */
    {"begin", put_begin, 0},
    {"end", put_end, 5},           /* operation, comm, root, sent, received */
    {"request", put_request, 1},   /* request */
    {"complete", put_complete, 6}, /* operation, comm, root, sent, received, request */
    {"fork", put_fork, 1},         /* threads */
    {"join", put_join, 0},
    {"teambegin", put_team_begin, 1}, /* team */
    {"teamend", put_team_end, 1},     /* team */
    {"acquire", put_acquire, 2},      /* lock, order */
    {"release", put_release, 2},      /* lock, order */
    {"create", put_create, 2},        /* team, sequence */
    {"threadbegin", put_thread_begin, 2},
    {"threadend", put_thread_end, 2},
    {"threadwait", put_thread_wait, 2},
    {"rmabegin", put_rma_begin, 0},
    {"rmaend", put_rma_end, 5},         /* operation, window, root, sent, received */
    {"rmasync", put_rma_sync, 3},       /* window, rank, 0: memory, 1: in, 2: out */
    {"rmagroup", put_rma_group, 2},     /* window, group */
    {"rmaput", put_rma_put, 4},         /* window, rank, bytes, matching */
    {"rmadone", put_rma_done, 2},       /* window, matching */
    {"rmarequest", put_rma_request, 4}, /* window, rank, lock, type */
    {"rmaacquire", put_rma_acquire, 4}, /* window, rank, lock, type */
    {"rmarelease", put_rma_release, 3}, /* window, rank, lock */
};

static void fail(const char *what, const char *line)
{
    (void)fprintf(stderr, "write_archive: %s: %s\n", what, line);
    exit(1);
}

/* Every number in the text, at most so many. */
static int numbers(char *text, uint64_t *list, int most)
{
    int n = 0;
    for (char *save = NULL, *word = strtok_r(text, " \n", &save); word && n < most;
         word = strtok_r(NULL, " \n", &save)) {
        list[n++] = (uint64_t)strtoll(word, NULL, 10);
    }
    return n;
}

static void open_events(struct text *t)
{
    OTF2_Archive_OpenEvtFiles(t->archive);
    for (uint32_t l = 0; l < t->locations; l++) {
        t->writer[l] = OTF2_Archive_GetEvtWriter(t->archive, l);
    }
    t->open = true;
}

static void event_line(struct text *t, char *line)
{
    uint64_t a[ARGUMENTS] = {0};
    char kind[NAME] = "";
    unsigned location = 0;
    unsigned long long time = 0;
    int used = 0;
    if (!t->open) {
        open_events(t);
    }
    if (sscanf(line, "%u %llu %63s%n", &location, &time, kind, &used) != 3 ||
        location >= t->locations) {
        fail("no event", line);
    }
    const int given = numbers(line + used, a, ARGUMENTS);
    t->first = time < t->first ? time : t->first;
    t->last = time > t->last ? time : t->last;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].name, kind) == 0) {
            if (given != events[i].arguments ||
                events[i].put(t->writer[location], time, a) != OTF2_SUCCESS) {
                fail("refused", kind);
            }
            return;
        }
    }
    fail("no such event", kind);
}

static void group_line(struct text *t, char *words, char kind)
{
    struct group *g = calloc(1, sizeof *g);
    if (!g) {
        fail("no memory", words);
    }
    g->team = kind == 't';
    g->inter = kind == 'i';
    g->count = (uint32_t)numbers(words, g->members, COUNT_MAX);
    t->comm[t->comms++] = g;
}

static void offset_line(struct text *t, const char *words)
{
    struct offset *o = realloc(t->offsets, (t->offset_count + 1) * sizeof *o);
    unsigned long long time = 0;
    long long offset = 0;
    if (!o) {
        fail("no memory", words);
    }
    t->offsets = o;
    o += t->offset_count++;
    if (sscanf(words, "%u %llu %lld %lf", &o->location, &time, &offset, &o->sd) != 4) {
        fail("no offset", words);
    }
    o->time = time;
    o->offset = offset;
}

static void definition_line(struct text *t, char *line)
{
    char kind[NAME] = "";
    int used = 0;
    unsigned a = 0;
    unsigned b = 0;
    (void)sscanf(line, "%63s%n", kind, &used);
    char *words = line + used;
    if (strcmp(kind, "node") == 0) {
        (void)sscanf(words, "%63s", t->node[t->nodes++]);
    } else if (strcmp(kind, "process") == 0) {
        (void)sscanf(words, "%u", &t->process_node[t->processes++]);
    } else if (strcmp(kind, "location") == 0) {
        (void)sscanf(words, "%u", &t->location_process[t->locations++]);
    } else if (strcmp(kind, "region") == 0) {
        struct region *r = &t->region[t->regions++];
        (void)sscanf(words, "%63s %u %u", r->name, &a, &b);
        r->role = (OTF2_RegionRole)a;
        r->paradigm = (OTF2_Paradigm)b;
    } else if (strcmp(kind, "comm") == 0 || strcmp(kind, "inter") == 0 ||
               strcmp(kind, "team") == 0) {
        group_line(t, words, kind[0]);
    } else if (strcmp(kind, "window") == 0) {
        (void)sscanf(words, "%u", &t->window_comm[t->windows++]);
    } else if (strcmp(kind, "offset") == 0) {
        offset_line(t, words);
    } else {
        fail("no such definition", line);
    }
}

/* A new string; its reference. */
static uint32_t string(OTF2_GlobalDefWriter *d, uint32_t *next, const char *text)
{
    OTF2_GlobalDefWriter_WriteString(d, *next, text);
    return (*next)++;
}

static void write_system(const struct text *t, OTF2_GlobalDefWriter *d, uint32_t *next)
{
    const uint32_t machine = string(d, next, "machine");
    const uint32_t node = string(d, next, "node");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, machine, machine,
                                             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t i = 0; i < t->nodes; i++) {
        OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 1 + i, string(d, next, t->node[i]), node, 0);
    }
    for (uint32_t i = 0; i < t->processes; i++) {
        char name[NAME];
        (void)snprintf(name, sizeof name, "MPI Rank %u", i);
        OTF2_GlobalDefWriter_WriteLocationGroup(
            d, i, string(d, next, name), OTF2_LOCATION_GROUP_TYPE_PROCESS, 1 + t->process_node[i],
            OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (uint32_t i = 0; i < t->locations; i++) {
        uint64_t count = 0;
        if (t->writer[i]) {
            OTF2_EvtWriter_GetNumberOfEvents(t->writer[i], &count);
        }
        OTF2_GlobalDefWriter_WriteLocation(d, i, string(d, next, "thread"),
                                           OTF2_LOCATION_TYPE_CPU_THREAD, count,
                                           t->location_process[i]);
    }
}

static void write_group(OTF2_GlobalDefWriter *d, uint32_t self, OTF2_GroupType type,
                        OTF2_Paradigm paradigm, const struct group *g)
{
    OTF2_GlobalDefWriter_WriteGroup(d, self, 0, type, paradigm, OTF2_GROUP_FLAG_NONE, g->count,
                                    g->members);
}

/* The first location of every process for MPI, all locations for threads: members of groups. */
static void write_comms(const struct text *t, OTF2_GlobalDefWriter *d)
{
    struct group *mpi = calloc(1, sizeof *mpi);
    struct group *threads = calloc(1, sizeof *threads);
    if (!mpi || !threads) {
        fail("no memory", "groups");
    }
    for (uint32_t i = 0; i < t->locations; i++) {
        threads->members[threads->count++] = i;
        const uint32_t process = t->location_process[i];
        if (process == mpi->count) {
            mpi->members[mpi->count++] = i;
        }
    }
    write_group(d, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, mpi);
    write_group(d, 1, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP, threads);
    for (uint32_t i = 0; i < t->comms; i++) {
        const uint64_t *halves = t->comm[i]->members;
        if (t->comm[i]->inter) {
            OTF2_GlobalDefWriter_WriteInterComm(d, i, 0, (OTF2_GroupRef)(2 + halves[0]),
                                                (OTF2_GroupRef)(2 + halves[1]), OTF2_UNDEFINED_COMM,
                                                OTF2_COMM_FLAG_NONE);
            continue;
        }
        write_group(d, 2 + i, OTF2_GROUP_TYPE_COMM_GROUP,
                    t->comm[i]->team ? OTF2_PARADIGM_OPENMP : OTF2_PARADIGM_MPI, t->comm[i]);
        OTF2_GlobalDefWriter_WriteComm(d, i, 0, 2 + i, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    }
    for (uint32_t i = 0; i < t->windows; i++) {
        OTF2_GlobalDefWriter_WriteRmaWin(d, i, 0, t->window_comm[i], OTF2_RMA_WIN_FLAG_NONE);
    }
    free(mpi);
    free(threads);
}

static void write_definitions(const struct text *t)
{
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(t->archive);
    uint32_t next = 0;
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, t->first, t->last - t->first + 1,
                                              OTF2_UNDEFINED_TIMESTAMP);
    (void)string(d, &next, "");
    write_system(t, d, &next);
    for (uint32_t i = 0; i < t->regions; i++) {
        const uint32_t name = string(d, &next, t->region[i].name);
        OTF2_GlobalDefWriter_WriteRegion(d, i, name, name, 0, t->region[i].role,
                                         t->region[i].paradigm, OTF2_REGION_FLAG_NONE, 0, 0, 0);
    }
    write_comms(t, d);
    OTF2_Archive_CloseGlobalDefWriter(t->archive, d);
}

static void write_local(const struct text *t)
{
    OTF2_Archive_OpenDefFiles(t->archive);
    for (uint32_t l = 0; l < t->locations; l++) {
        OTF2_DefWriter *d = OTF2_Archive_GetDefWriter(t->archive, l);
        for (uint32_t i = 0; i < t->offset_count; i++) {
            const struct offset *o = &t->offsets[i];
            if (o->location == l) {
                OTF2_DefWriter_WriteClockOffset(d, o->time, o->offset, o->sd);
            }
        }
        OTF2_Archive_CloseDefWriter(t->archive, d);
    }
    OTF2_Archive_CloseDefFiles(t->archive);
}

int main(int argc, char **argv)
{
    struct text *t = calloc(1, sizeof *t);
    char *line = malloc(LINE);
    if (argc != 2 || !t || !line) {
        (void)fprintf(stderr, "usage: write_archive OUT < text\n");
        return 2;
    }
    t->first = UINT64_MAX;
    t->archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!t->archive) {
        return 1;
    }
    OTF2_Archive_SetFlushCallbacks(t->archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(t->archive);
    while (fgets(line, LINE, stdin)) {
        if (line[0] >= '0' && line[0] <= '9') {
            event_line(t, line);
        } else if (line[0] != '#' && line[0] != '\n') {
            definition_line(t, line);
        }
    }
    t->first = t->first == UINT64_MAX ? 0 : t->first;
    write_definitions(t);
    write_local(t);
    for (uint32_t l = 0; l < t->locations && t->open; l++) {
        OTF2_Archive_CloseEvtWriter(t->archive, t->writer[l]);
    }
    if (t->open) {
        OTF2_Archive_CloseEvtFiles(t->archive);
    }
    OTF2_Archive_Close(t->archive);
    for (uint32_t i = 0; i < t->comms; i++) {
        free(t->comm[i]);
    }
    free(t->offsets);
    free(line);
    free(t);
    return 0;
}
