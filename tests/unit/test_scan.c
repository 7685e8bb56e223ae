/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which events of an archive must come before which: three processes, of which the first has two
 * threads, with every kind of event that orders others. With clocks that disagree, violations of
 * this order are counted and corrected.
 */
#include "../check.h"

#include "archive/flush.h"
#include "archive/trace_open.h"
#include "correct/session.h"

#include <ftw.h>
#include <ictus/correct.h>
#include <ictus/text.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS = 3, THREAD = RANKS, LOCATIONS, PAIRS_MAX = 100 };
enum { WORLD, TURNED, TEAM, COMMS }; /* TURNED: ranks 2 and 0 */
enum { BARRIER, OTHER, REGIONS };
enum { LATENCY_NS = 2 }; /* between processes */

struct made {
    OTF2_Archive *archive;
    OTF2_EvtWriter *writer[LOCATIONS];
    uint64_t count[LOCATIONS];
    const uint64_t *ahead; /* of each location's clock */
};

#define PUT(location, time, name, ...)                                                             \
    CHECK(OTF2_EvtWriter_##name(m->writer[location], NULL, time + m->ahead[location],              \
                                __VA_ARGS__) == OTF2_SUCCESS);                                     \
    m->count[location]++
#define PUT_BARE(location, time, name)                                                             \
    CHECK(OTF2_EvtWriter_##name(m->writer[location], NULL, time + m->ahead[location]) ==           \
          OTF2_SUCCESS);                                                                           \
    m->count[location]++

/* What must come before what: an event of a location, and one of another. */
struct pair {
    uint32_t from;
    int64_t sent;
    uint32_t to;
    int64_t got;
};

/* Two receives complete in the other order than they were posted in; sends and receives are
 * cancelled, or not in time; a rank is undefined. */
static void put_messages(struct made *m)
{
    PUT(0, 100, MpiSend, 1, WORLD, 7, 8);
    PUT(0, 110, MpiSend, 1, WORLD, 7, 8);
    PUT(0, 120, MpiSend, 1, WORLD, 8, 8);
    PUT(1, 130, MpiIrecvRequest, 1);
    PUT(1, 135, MpiIrecvRequest, 2);
    PUT(1, 140, MpiIrecv, 0, WORLD, 7, 8, 2);
    PUT(1, 150, MpiIrecv, 0, WORLD, 7, 8, 1);
    PUT(1, 160, MpiRecv, 0, WORLD, 8, 8);
    PUT(0, 170, MpiSend, 0, TURNED, 7, 8);
    PUT(2, 180, MpiRecv, 1, TURNED, 7, 8);
    PUT(1, 190, MpiIsend, 2, WORLD, 9, 8, 5);
    PUT(1, 191, MpiRequestCancelled, 5);
    PUT(1, 195, MpiIsend, 2, WORLD, 9, 8, 6);
    PUT(1, 196, MpiIsendComplete, 6);
    PUT(1, 197, MpiRequestCancelled, 6);
    PUT(2, 200, MpiRecv, 1, WORLD, 9, 8);
    PUT(1, 204, MpiSend, 2, WORLD, 10, 8);
    PUT(2, 205, MpiIrecvRequest, 11);
    PUT(2, 206, MpiIrecvRequest, 12);
    PUT(2, 207, MpiRequestCancelled, 11);
    PUT(2, 208, MpiIrecv, 1, WORLD, 10, 8, 12);
    PUT(2, 209, MpiRecv, 9, WORLD, 7, 8);
    PUT(0, 210, RmaSync, 0, 2, OTF2_RMA_SYNC_TYPE_NOTIFY_OUT);
    PUT(0, 211, RmaSync, 0, 2, OTF2_RMA_SYNC_TYPE_MEMORY);
    PUT(2, 220, RmaSync, 0, 0, OTF2_RMA_SYNC_TYPE_NOTIFY_IN);
    PUT(1, 230, RmaSync, 0, 9, OTF2_RMA_SYNC_TYPE_NOTIFY_IN);
}

static void put_collectives(struct made *m)
{
    const uint32_t none = OTF2_UNDEFINED_UINT32;
    for (uint32_t r = 0; r < RANKS; r++) {
        PUT_BARE(r, 300 + r, MpiCollectiveBegin);
        PUT(r, 310 + r, MpiCollectiveEnd, OTF2_COLLECTIVE_OP_BARRIER, WORLD, none, 0, 0);
        if (r != 1) {
            PUT_BARE(r, 320 + r, MpiCollectiveBegin);
            PUT(r, 330 + r, MpiCollectiveEnd, OTF2_COLLECTIVE_OP_BCAST, TURNED, 1, 8, 8);
            PUT_BARE(r, 340 + r, MpiCollectiveBegin);
            PUT(r, 350 + r, MpiCollectiveEnd, OTF2_COLLECTIVE_OP_REDUCE, TURNED, 0, 8, 8);
        } else {
            PUT(1, 355, MpiCollectiveEnd, OTF2_COLLECTIVE_OP_BARRIER, WORLD, none, 0, 0);
        }
        PUT(r, 360 + r, NonBlockingCollectiveRequest, 21 + r);
        PUT(r, 370 + r, NonBlockingCollectiveComplete, OTF2_COLLECTIVE_OP_ALLREDUCE, WORLD, none, 8,
            8, 21 + r);
        PUT_BARE(r, 380 + r, RmaCollectiveBegin);
        PUT(r, 385 + r, RmaCollectiveEnd, OTF2_COLLECTIVE_OP_BARRIER,
            OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY, 0, none, 0, 0);
        PUT_BARE(r, 390 + r, RmaCollectiveBegin); /* which orders memory only */
        PUT(r, 395 + r, RmaCollectiveEnd, OTF2_COLLECTIVE_OP_BARRIER, OTF2_RMA_SYNC_LEVEL_MEMORY, 0,
            none, 0, 0);
    }
    PUT_BARE(2, 460, MpiCollectiveBegin);
    PUT(2, 470, MpiIrecvRequest, 31);
}

static void put_barrier(struct made *m, uint32_t location, uint64_t time)
{
    PUT(location, time, Enter, BARRIER);
    PUT(location, time + 1, Enter, OTHER);
    PUT(location, time + 1, Enter, BARRIER); /* a barrier is made of others */
    PUT(location, time + 2, Leave, BARRIER);
    PUT(location, time + 2, Leave, OTHER);
    PUT(location, time + 4, Leave, BARRIER);
}

static void put_threads(struct made *m)
{
    const OTF2_Paradigm openmp = OTF2_PARADIGM_OPENMP;
    PUT(0, 400, ThreadFork, openmp, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t l = i * THREAD;
        PUT(l, 401 + i, ThreadTeamBegin, TEAM);
        put_barrier(m, l, 410 + i);
        PUT(l, 418 + i, ThreadTeamBegin, 77); /* an undefined team within a defined one */
        PUT(l, 419 + i, ThreadTeamEnd, 77);
        put_barrier(m, l, 420 + i);
        PUT(l, 426 + i, ThreadTeamEnd, TEAM);
    }
    PUT(0, 430, ThreadJoin, openmp);
    put_barrier(m, 0, 431); /* outside of any team */
    PUT(0, 440, ThreadAcquireLock, openmp, 5, 0);
    PUT(0, 441, ThreadReleaseLock, openmp, 5, 0);
    PUT(THREAD, 442, ThreadAcquireLock, openmp, 5, 1);
    PUT(THREAD, 443, ThreadReleaseLock, openmp, 5, 1);
    PUT(0, 444, ThreadAcquireLock, openmp, 5, 2);
    PUT(0, 445, ThreadReleaseLock, openmp, 5, 2);
    PUT(THREAD, 446, ThreadAcquireLock, openmp, 6, 1); /* another lock */
    PUT(0, 450, ThreadCreate, TEAM, 1);
    PUT(THREAD, 451, ThreadBegin, TEAM, 1);
    PUT(THREAD, 455, ThreadEnd, TEAM, 1);
    PUT(0, 456, ThreadWait, TEAM, 1);
    PUT(0, 460, ThreadTaskCreate, TEAM, 0, 1);
    PUT(THREAD, 461, ThreadTaskSwitch, TEAM, 0, 1);
}

static const struct pair wanted[] = {
    {0, 100, 1, 150}, {0, 110, 1, 140}, {0, 120, 1, 160}, {0, 170, 2, 180}, {1, 195, 2, 200},
    {1, 204, 2, 208}, {0, 210, 2, 220}, /* messages and a notification */
    {0, 300, 1, 311}, {0, 300, 2, 312}, {1, 301, 0, 310}, {1, 301, 2, 312}, {2, 302, 0, 310},
    {2, 302, 1, 311}, {0, 320, 2, 332}, {0, 340, 2, 352}, /* barrier, bcast, reduce */
    {0, 360, 1, 371}, {0, 360, 2, 372}, {1, 361, 0, 370}, {1, 361, 2, 372}, {2, 362, 0, 370},
    {2, 362, 1, 371}, /* a nonblocking allreduce */
    {0, 380, 1, 386}, {0, 380, 2, 387}, {1, 381, 0, 385}, {1, 381, 2, 387}, {2, 382, 0, 385},
    {2, 382, 1, 386}, /* a fence */
    {0, 400, 3, 402}, {0, 410, 3, 415}, {3, 411, 0, 414}, {0, 420, 3, 425}, {3, 421, 0, 424},
    {3, 427, 0, 430}, {0, 441, 3, 442}, {3, 443, 0, 444}, {0, 450, 3, 451}, {3, 455, 0, 456},
    {0, 460, 3, 461},
};
enum { WANTED = sizeof(wanted) / sizeof(wanted[0]) };

static void put_everything(struct made *m)
{
    put_messages(m);
    put_collectives(m);
    put_threads(m);
}

/* Rank 0 is recorded late: of what it was sent before, it received two messages out of view. */
static void put_late(struct made *m)
{
    PUT(0, 90, MeasurementOnOff, OTF2_MEASUREMENT_OFF);
    for (uint64_t i = 0; i < 4; i++) {
        PUT(2, 100 + i, MpiSend, 0, WORLD, 1, 8);
    }
    PUT(0, 110, MeasurementOnOff, OTF2_MEASUREMENT_ON);
    PUT(0, 112, MpiRecv, 2, WORLD, 1, 8);
    PUT(0, 113, MpiRecv, 2, WORLD, 1, 8);
}

static const struct pair late_pairs[] = {{2, 102, 0, 112}, {2, 103, 0, 113}};

/* Rank 1 is not recorded for a while, twice, and meanwhile receives a message. */
static void put_gaps(struct made *m)
{
    for (uint64_t i = 0; i < 6; i++) {
        PUT(0, 200 + 10 * i, MpiSend, 1, WORLD, 2, 8);
    }
    PUT(1, 205, MpiRecv, 0, WORLD, 2, 8);
    PUT(1, 206, MeasurementOnOff, OTF2_MEASUREMENT_OFF);
    PUT(1, 224, MeasurementOnOff, OTF2_MEASUREMENT_ON);
    PUT(1, 225, MpiRecv, 0, WORLD, 2, 8);
    PUT(1, 226, MeasurementOnOff, OTF2_MEASUREMENT_OFF);
    PUT(1, 244, MeasurementOnOff, OTF2_MEASUREMENT_ON);
    PUT(1, 245, MpiRecv, 0, WORLD, 2, 8);
    PUT(1, 255, MpiRecv, 0, WORLD, 2, 8);
}

static const struct pair gap_pairs[] = {{0, 200, 1, 205}, {0, 240, 1, 245}, {0, 250, 1, 255}};

/* Rank 2 is switched off before it ends, and a thread of rank 0 in a team, which may have ended
 * when it is switched on again: its barrier and its join may be those of another team. */
static void put_ends(struct made *m)
{
    PUT(2, 300, MpiSend, 1, WORLD, 3, 8);
    PUT(1, 301, MpiRecv, 2, WORLD, 3, 8);
    PUT(2, 305, MeasurementOnOff, OTF2_MEASUREMENT_OFF);
    PUT(1, 310, MpiRecv, 2, WORLD, 3, 8);
    PUT(1, 311, MpiRecv, 2, WORLD, 3, 8);
    PUT(0, 400, ThreadFork, OTF2_PARADIGM_OPENMP, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t l = i * THREAD;
        PUT(l, 401 + i, ThreadTeamBegin, TEAM);
        if (i == 0) {
            PUT(l, 410, MeasurementOnOff, OTF2_MEASUREMENT_OFF);
            PUT(l, 420, MeasurementOnOff, OTF2_MEASUREMENT_ON);
        }
        put_barrier(m, l, 421 + i);
    }
    PUT(THREAD, 428, ThreadTeamEnd, TEAM);
    PUT(0, 430, ThreadJoin, OTF2_PARADIGM_OPENMP);
}

static const struct pair end_pairs[] = {{2, 300, 1, 301}, {0, 400, 3, 402}};

static void write_group(OTF2_GlobalDefWriter *d, uint32_t self, OTF2_GroupType type,
                        OTF2_Paradigm paradigm, uint32_t count, const uint64_t *members)
{
    OTF2_GlobalDefWriter_WriteGroup(d, self, 0, type, paradigm, OTF2_GROUP_FLAG_NONE, count,
                                    members);
}

static void write_definitions(const struct made *m)
{
    static const uint64_t ranks[] = {0, 1, 2}, turned[] = {2, 0}, threads[] = {0, 3};
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(m->archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, 0, 1000, OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteString(d, 0, "");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t r = 0; r < RANKS; r++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, r, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocation(d, l, 0, OTF2_LOCATION_TYPE_CPU_THREAD, m->count[l],
                                           l % THREAD);
    }
    for (uint32_t i = 0; i < REGIONS; i++) {
        OTF2_GlobalDefWriter_WriteRegion(
            d, i, 0, 0, 0, i == BARRIER ? OTF2_REGION_ROLE_BARRIER : OTF2_REGION_ROLE_FUNCTION,
            OTF2_PARADIGM_OPENMP, OTF2_REGION_FLAG_NONE, 0, 0, 0);
    }
    write_group(d, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, RANKS, ranks);
    write_group(d, 1, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP, 2, threads);
    write_group(d, 2, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, RANKS, ranks);
    write_group(d, 3, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 2, turned);
    write_group(d, 4, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP, 2, ranks);
    for (uint32_t c = 0; c < COMMS; c++) {
        OTF2_GlobalDefWriter_WriteComm(d, c, 0, 2 + c, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    }
    OTF2_GlobalDefWriter_WriteRmaWin(d, 0, 0, WORLD, OTF2_RMA_WIN_FLAG_NONE);
    OTF2_Archive_CloseGlobalDefWriter(m->archive, d);
}

static void write_archive(const char *path, const uint64_t *ahead, void (*put)(struct made *))
{
    struct made m = {.ahead = ahead,
                     .archive =
                         OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, 1 << 18, 4 << 20,
                                           OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE)};
    REQUIRE(m.archive);
    OTF2_Archive_SetFlushCallbacks(m.archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(m.archive);
    OTF2_Archive_OpenEvtFiles(m.archive);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        m.writer[l] = OTF2_Archive_GetEvtWriter(m.archive, l);
    }
    put(&m);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        OTF2_Archive_CloseEvtWriter(m.archive, m.writer[l]);
    }
    OTF2_Archive_CloseEvtFiles(m.archive);
    write_definitions(&m);
    OTF2_Archive_OpenDefFiles(m.archive);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        OTF2_Archive_CloseDefWriter(m.archive, OTF2_Archive_GetDefWriter(m.archive, l));
    }
    OTF2_Archive_CloseDefFiles(m.archive);
    OTF2_Archive_Close(m.archive);
}

static uint32_t location_of(const struct history *h, uint32_t point)
{
    uint32_t l = 0;
    while (h->first[l + 1] <= point) {
        l++;
    }
    return l;
}

/* The pairs that must be found, and how often they were. */
struct expected {
    const struct pair *pairs;
    int count;
    int found[PAIRS_MAX];
};

/* Counts a pair that was found, unless its events are of one location, which are in order anyway.
 */
static void pair_found(const struct history *h, uint32_t send, uint32_t receive, struct expected *e)
{
    const struct pair pair = {location_of(h, send), h->points.time[send], location_of(h, receive),
                              h->points.time[receive]};
    int at = 0;
    while (at < e->count && (e->pairs[at].from != pair.from || e->pairs[at].sent != pair.sent ||
                             e->pairs[at].to != pair.to || e->pairs[at].got != pair.got)) {
        at++;
    }
    if (at < e->count) {
        e->found[at]++;
    } else if (pair.from != pair.to) {
        (void)fprintf(stderr, "%u at %d before %u at %d\n", pair.from, (int)pair.sent, pair.to,
                      (int)pair.got);
        CHECK(at < e->count);
    }
}

static void pairs_are_found(struct session *s, const struct pair *pairs, int count)
{
    const struct history *h = &s->history;
    struct expected e = {pairs, count, {0}};
    for (uint32_t p = 0; p < h->points.count; p++) {
        const uint32_t link = h->points.link[p];
        if ((h->points.kind[p] & POINT_OUT) && link != NODE_NONE && !(link & NODE_VIRTUAL)) {
            pair_found(h, p, link, &e);
        }
    }
    for (uint64_t v = 0; v < s->graph.vnode_count; v++) {
        const uint32_t node = (uint32_t)v | NODE_VIRTUAL;
        const struct vnode *vnode = graph_vnode(&s->graph, node);
        for (uint32_t i = 0; i < vnode->in_count * vnode->out_count; i++) {
            pair_found(h, ictusi_graph_in(&s->graph, node)[i / vnode->out_count],
                       ictusi_graph_out(&s->graph, node)[i % vnode->out_count], &e);
        }
    }
    for (int i = 0; i < count; i++) {
        if (e.found[i] != 1) {
            (void)fprintf(stderr, "%u at %d before %u at %d: %d times\n", pairs[i].from,
                          (int)pairs[i].sent, pairs[i].to, (int)pairs[i].got, e.found[i]);
        }
        CHECK(e.found[i] == 1);
    }
}

static void archives_are_ordered(const char *path)
{
    static const uint64_t even[LOCATIONS] = {0};
    struct session s;
    struct ictus_why why = {""};
    write_archive(path, even, put_everything);
    REQUIRE(!ictusi_session_open(&s, path, NULL, &why));
    REQUIRE(!ictusi_session_read(&s, NULL));
    pairs_are_found(&s, wanted, WANTED);
    /* A rank twice, and a team twice. */
    CHECK(s.counts.foreign == 4 && s.counts.cancelled == 1 && s.counts.decreasing == 0);
    CHECK(s.counts.lone_ends == 1 && s.counts.lone_begins == 1 && s.counts.open_calls == 1);
    CHECK(s.graph.unmatched_sends == 0 && s.graph.unmatched_receives == 0);
    ictusi_session_close(&s);
}

/* Of what was recorded in part, messages are paired from the front up to the first gap, and from
 * the end back to the last one. Nothing else is paired, and nothing is called unmatched. */
static void gaps_are_left_out(const char *root)
{
    static const uint64_t even[LOCATIONS] = {0};
    static const struct {
        void (*put)(struct made *);
        const struct pair *pairs;
        int count;
    } scenes[] = {{put_late, late_pairs, 2}, {put_gaps, gap_pairs, 3}, {put_ends, end_pairs, 2}};
    for (int i = 0; i < 3; i++) {
        char path[CHECK_PATH + 16];
        struct session s;
        struct ictus_why why = {""};
        (void)snprintf(path, sizeof(path), "%s/gaps%d", root, i);
        write_archive(path, even, scenes[i].put);
        REQUIRE(!ictusi_session_open(&s, path, NULL, &why));
        REQUIRE(!ictusi_session_read(&s, NULL));
        pairs_are_found(&s, scenes[i].pairs, scenes[i].count);
        CHECK(s.graph.unmatched_sends == 0 && s.graph.unmatched_receives == 0);
        CHECK(s.graph.left_out > 0);
        ictusi_session_close(&s);
    }
}

/* What each pair of `wanted` belongs to. */
static const char *class_of(int pair)
{
    return pair < 6    ? "p2p"
           : pair < 7  ? "rma"
           : pair < 21 ? "collective"
           : pair < 27 ? "rma"
                       : "openmp";
}

/* How long after the first event of a pair the second one is, by clocks that are ahead; of all
 * pairs that end with the same event, the shortest. */
static int64_t exit_delay(int pair, const uint64_t *ahead)
{
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < WANTED; i++) {
        const struct pair *w = &wanted[i];
        const int64_t delay = w->got + (int64_t)ahead[w->to] - w->sent - (int64_t)ahead[w->from];
        if (w->to == wanted[pair].to && w->got == wanted[pair].got && delay < shortest) {
            shortest = delay;
        }
    }
    return shortest;
}

/* Threads of a process share a clock, which may stand still; no message takes no time. */
static int64_t exit_least(int pair)
{
    return wanted[pair].from % THREAD == wanted[pair].to % THREAD ? 0 : 1;
}

static double report_number(const json_t *report, const char *format, const char *class)
{
    char name[64];
    (void)snprintf(name, sizeof(name), format, class);
    CHECK(json_is_number(json_object_get(report, name)));
    return json_number_value(json_object_get(report, name));
}

/* Each exit counts once, and is violated if any of its pairs is. */
static void violations_are_counted(const json_t *report, const uint64_t *ahead)
{
    static const char *const classes[] = {"p2p", "collective", "openmp", "rma"};
    double worst = 0.0;
    for (int c = 0; c < 4; c++) {
        int exits = 0, violated = 0;
        for (int i = 0; i < WANTED; i++) {
            bool first = strcmp(class_of(i), classes[c]) == 0;
            for (int k = 0; k < i; k++) {
                first = first && (wanted[k].to != wanted[i].to || wanted[k].got != wanted[i].got);
            }
            exits += first;
            violated += first && exit_delay(i, ahead) < exit_least(i);
            worst = first ? fmax(worst, -(double)exit_delay(i, ahead)) : worst;
        }
        CHECK(report_number(report, "raw_pairs_%s", classes[c]) == exits);
        CHECK(report_number(report, "pairs_%s", classes[c]) == exits);
        CHECK(report_number(report, "raw_violations_%s", classes[c]) == violated);
        CHECK(report_number(report, "violations_%s", classes[c]) == violated);
    }
    CHECK(report_number(report, "raw_max_violation_%s", "ns") == worst);
    CHECK(report_number(report, "messages%s", "") == 7 &&
          report_number(report, "collectives%s", "") == 5);
    CHECK(report_number(report, "locations%s", "") == LOCATIONS);
}

/* The point of an event, by its true time. */
static uint64_t point_at(const struct history *h, uint32_t location, int64_t time,
                         const uint64_t *ahead)
{
    uint64_t p = h->first[location];
    while (p < h->first[location + 1] && h->points.time[p] != time + (int64_t)ahead[location]) {
        p++;
    }
    REQUIRE(p < h->first[location + 1]);
    return p;
}

/* Afterwards every second event comes late enough after its first one, events of a location are in
 * order, and, without a model of the clocks, none is earlier than it was. */
static void times_are_in_order(const struct history *in, const struct history *out,
                               const uint64_t *ahead, bool raised)
{
    for (int i = 0; i < WANTED; i++) {
        const struct pair *w = &wanted[i];
        const int64_t delay = out->points.time[point_at(in, w->to, w->got, ahead)] -
                              out->points.time[point_at(in, w->from, w->sent, ahead)];
        CHECK(delay >= (w->from % THREAD == w->to % THREAD ? 0 : LATENCY_NS));
    }
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        for (uint64_t p = in->first[l]; p < in->first[l + 1]; p++) {
            CHECK(p == in->first[l] || out->points.time[p] >= out->points.time[p - 1]);
            CHECK(!raised || out->points.time[p] >= in->points.time[p]);
        }
    }
}

/* Times that are true already stay as they are. */
static void true_times_stay(const struct history *in, const struct history *out,
                            const json_t *report)
{
    CHECK(memcmp(in->points.time, out->points.time, in->points.count * sizeof(*in->points.time)) ==
          0);
    CHECK(report_number(report, "moved_events%s", "") == 0 &&
          report_number(report, "raised_%s", "ns") == 0);
}

static void skewed_archive_is_corrected(const char *root, const uint64_t *ahead,
                                        enum ictus_presync presync, bool even)
{
    static const char *const classes[] = {"p2p", "collective", "openmp", "rma"};
    static int made;
    char in[CHECK_PATH + 16], out[CHECK_PATH + 16];
    struct ictus_correct_options o;
    struct ictus_why why = {""};
    struct session before, after;
    json_t *report = NULL;
    (void)snprintf(in, sizeof(in), "%s/in%d", root, made);
    (void)snprintf(out, sizeof(out), "%s/out%d", root, made++);
    write_archive(in, ahead, put_everything);
    REQUIRE(!ictus_check(in, &report, &why));
    violations_are_counted(report, ahead);
    json_decref(report);
    ictus_correct_defaults(&o);
    o.in = in;
    o.out = out;
    o.presync = presync;
    o.latency_s = 1e-9 * LATENCY_NS;
    REQUIRE(!ictus_correct(&o, &report, &why));
    for (int c = 0; c < 4; c++) {
        CHECK(report_number(report, "violations_%s", classes[c]) == 0);
    }
    REQUIRE(!ictusi_session_open(&before, in, NULL, &why) && !ictusi_session_read(&before, NULL));
    REQUIRE(!ictusi_session_open(&after, out, NULL, &why) && !ictusi_session_read(&after, NULL));
    REQUIRE(before.history.points.count == after.history.points.count);
    times_are_in_order(&before.history, &after.history, ahead, presync == ICTUS_PRESYNC_NONE);
    if (even) {
        true_times_stay(&before.history, &after.history, report);
    }
    json_decref(report);
    ictusi_session_close(&before);
    ictusi_session_close(&after);
}

/* Clocks that are ahead of others: of a process, and of one of its threads alone. */
static void skewed_archives_are_corrected(const char *root)
{
    static const uint64_t aheads[][LOCATIONS] = {
        {0, 0, 0, 0}, {0, 60, 30, 0}, {80, 0, 40, 80}, {0, 0, 90, 25}, {30, 0, 0, 0}};
    for (int trial = 0; trial < 5; trial++) {
        skewed_archive_is_corrected(root, aheads[trial], ICTUS_PRESYNC_NONE, trial == 0);
        skewed_archive_is_corrected(root, aheads[trial], ICTUS_PRESYNC_AUTO, trial == 0);
    }
}

static int entry_remove(const char *name, const struct stat *what, int type, struct FTW *at)
{
    (void)what;
    (void)type;
    (void)at;
    return remove(name);
}

int main(void)
{
    char root[CHECK_PATH];
    char path[CHECK_PATH + 16];
    REQUIRE(mkdtemp(check_scratch(root, "scan")));
    (void)snprintf(path, sizeof(path), "%s/archive", root);
    archives_are_ordered(path);
    gaps_are_left_out(root);
    skewed_archives_are_corrected(root);
    CHECK(nftw(root, entry_remove, 16, FTW_DEPTH | FTW_PHYS) == 0);
    return check_result();
}
