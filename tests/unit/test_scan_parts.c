/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * However many threads read an archive, the results are the same: points, messages, collectives,
 * calls, call paths, complaints about damage, violations and least delays. Usage: test_scan_parts
 * [ARCHIVE...]; without an argument, an archive is made here.
 */
#include "../check.h"
#include "written_archive.h"

#include "archive/trace_open.h"
#include "core/random.h"
#include "correct/session.h"
#include "waits/follow.h"

#include <ftw.h>
#include <ictus/text.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS = 5, THREADED = 2, LOCATIONS = RANKS + 1, STEPS = 60 }; /* rank 2 has two threads */
enum { MOST = 8 }; /* threads, and locations of which nothing but their events matters */
enum { WORLD, ODD, TEAM, COMMS };
enum { MAIN, SEND, RECV, WAIT, COLL, BARRIER, LOCK, REGIONS };
static const uint64_t location_of[RANKS] = {0, 1, 2, 4, 5};

static char root[CHECK_PATH];

struct made {
    OTF2_Archive *archive;
    OTF2_EvtWriter *writer[LOCATIONS];
    uint64_t time[LOCATIONS], requests, count[LOCATIONS];
    uint32_t locks;
};

/* The writer of a location, with time advanced to its next event. */
static OTF2_EvtWriter *made_next(struct made *m, uint64_t location, uint64_t *time)
{
    *time = m->time[location] += 3 + (m->time[location] * 7 + location) % 11;
    m->count[location]++;
    return m->writer[location];
}

static void made_written(OTF2_ErrorCode code)
{
    CHECK(code == OTF2_SUCCESS);
}

#define PUT(location, name, ...)                                                                   \
    do {                                                                                           \
        uint64_t time;                                                                             \
        OTF2_EvtWriter *w = made_next(m, location, &time);                                         \
        made_written(OTF2_EvtWriter_##name(w, NULL, time, __VA_ARGS__));                           \
    } while (0)
#define PUT_BARE(location, name)                                                                   \
    do {                                                                                           \
        uint64_t time;                                                                             \
        OTF2_EvtWriter *w = made_next(m, location, &time);                                         \
        made_written(OTF2_EvtWriter_##name(w, NULL, time));                                        \
    } while (0)

/* Each rank sends to another one: blocking, or with requests, of which some are cancelled. */
static void put_messages(struct made *m, uint32_t step)
{
    const uint32_t far = 1 + step % (RANKS - 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        const uint64_t l = location_of[r];
        const uint64_t request = ++m->requests;
        const bool cancelled = step % 7 == 3 && r == 1;
        PUT(l, Enter, SEND);
        PUT(l, MpiIsend, (r + far) % RANKS, WORLD, step % 3, 8 + step, request);
        PUT(l, Leave, SEND);
        PUT(l, Enter, RECV);
        PUT(l, MpiIrecvRequest, request + 1000000);
        PUT(l, Leave, RECV);
        PUT(l, Enter, WAIT);
        if (cancelled) {
            PUT(l, MpiRequestCancelled, request);
        } else {
            PUT(l, MpiIsendComplete, request);
        }
        PUT(l, MpiIrecv, (r + RANKS - far) % RANKS, WORLD, step % 3, 8 + step, request + 1000000);
        PUT(l, Leave, WAIT);
    }
}

static void put_collective(struct made *m, uint32_t step)
{
    const bool odd = step % 2;
    for (uint32_t r = odd; r < RANKS; r += 1 + odd) {
        PUT(location_of[r], Enter, COLL);
        PUT_BARE(location_of[r], MpiCollectiveBegin);
        PUT(location_of[r], MpiCollectiveEnd,
            step % 3 ? OTF2_COLLECTIVE_OP_ALLREDUCE : OTF2_COLLECTIVE_OP_BCAST, odd ? ODD : WORLD,
            step % 3 ? OTF2_UNDEFINED_UINT32 : 1, 8, 8);
        PUT(location_of[r], Leave, COLL);
    }
}

/* All begin a collective and complete it in another call. */
static void put_nonblocking(struct made *m)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        PUT(location_of[r], Enter, COLL);
        PUT(location_of[r], NonBlockingCollectiveRequest, ++m->requests);
        PUT(location_of[r], Leave, COLL);
        PUT(location_of[r], Enter, WAIT);
        PUT(location_of[r], NonBlockingCollectiveComplete, OTF2_COLLECTIVE_OP_ALLGATHER, WORLD,
            OTF2_UNDEFINED_UINT32, 8, 8, m->requests);
        PUT(location_of[r], Leave, WAIT);
    }
}

/* A team of two threads synchronises, and shares a lock. */
static void put_team(struct made *m)
{
    const uint64_t l = location_of[THREADED];
    PUT(l, ThreadFork, OTF2_PARADIGM_OPENMP, 2);
    m->time[l + 1] = m->time[l] > m->time[l + 1] ? m->time[l] : m->time[l + 1];
    for (uint64_t t = l; t <= l + 1; t++) {
        PUT(t, ThreadTeamBegin, TEAM);
        PUT(t, Enter, LOCK);
        PUT(t, ThreadAcquireLock, OTF2_PARADIGM_OPENMP, 0, ++m->locks);
        PUT(t, ThreadReleaseLock, OTF2_PARADIGM_OPENMP, 0, m->locks);
        PUT(t, Leave, LOCK);
        PUT(t, Enter, BARRIER);
        PUT(t, Leave, BARRIER);
        PUT(t, ThreadTeamEnd, TEAM);
    }
    PUT(l, ThreadJoin, OTF2_PARADIGM_OPENMP);
}

static void put_events(struct made *m)
{
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        m->writer[l] = OTF2_Archive_GetEvtWriter(m->archive, l);
        m->time[l] = 1000 + 10 * l;
        PUT(l, Enter, MAIN);
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        put_messages(m, step);
        if (step % 2) {
            put_collective(m, step);
        } else {
            put_team(m);
        }
        if (step == STEPS / 2) {
            PUT(location_of[RANKS - 1], MeasurementOnOff, OTF2_MEASUREMENT_OFF);
            PUT(location_of[RANKS - 1], MeasurementOnOff, OTF2_MEASUREMENT_ON);
        }
    }
    put_nonblocking(m);
}

static void write_group(OTF2_GlobalDefWriter *d, uint32_t self, OTF2_GroupType type,
                        OTF2_Paradigm paradigm, uint32_t count, const uint64_t *members)
{
    OTF2_GlobalDefWriter_WriteGroup(d, self, 0, type, paradigm, OTF2_GROUP_FLAG_NONE, count,
                                    members);
}

static void write_comms(OTF2_GlobalDefWriter *d)
{
    static const uint64_t ranks[] = {0, 1, 2, 3, 4};
    static const uint64_t odd[] = {1, 3};
    static const uint64_t threads[] = {2, 3};
    static const uint64_t members[] = {0, 1};
    write_group(d, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, RANKS, location_of);
    write_group(d, 1, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP, 2, threads);
    write_group(d, 2, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, RANKS, ranks);
    write_group(d, 3, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 2, odd);
    write_group(d, 4, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP, 2, members);
    for (uint32_t c = 0; c < COMMS; c++) {
        OTF2_GlobalDefWriter_WriteComm(d, c, 0, 2 + c, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    }
}

static void write_definitions(const struct made *m)
{
    static const char *const names[REGIONS] = {"main",        "MPI_Isend",     "MPI_Irecv",
                                               "MPI_Waitall", "MPI_Allreduce", "omp barrier",
                                               "omp critical"};
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(m->archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, 0, 1000000, OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteString(d, 0, "");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t r = 0; r < RANKS; r++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, r, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        const uint32_t process = l <= THREADED ? l : l - 1;
        OTF2_GlobalDefWriter_WriteLocation(d, l, 0, OTF2_LOCATION_TYPE_CPU_THREAD, m->count[l],
                                           process);
    }
    for (uint32_t i = 0; i < REGIONS; i++) {
        const bool thread = i >= BARRIER;
        OTF2_GlobalDefWriter_WriteString(d, 1 + i, names[i]);
        OTF2_GlobalDefWriter_WriteRegion(d, i, 1 + i, 1 + i, 0,
                                         i == BARRIER ? OTF2_REGION_ROLE_BARRIER
                                         : i == LOCK  ? OTF2_REGION_ROLE_CRITICAL
                                                      : OTF2_REGION_ROLE_FUNCTION,
                                         i == MAIN ? OTF2_PARADIGM_USER
                                         : thread  ? OTF2_PARADIGM_OPENMP
                                                   : OTF2_PARADIGM_MPI,
                                         OTF2_REGION_FLAG_NONE, 0, 0, 0);
    }
    write_comms(d);
    OTF2_Archive_CloseGlobalDefWriter(m->archive, d);
}

static void write_archive(const char *path)
{
    struct made m = {.locks = 0};
    m.archive = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, 1 << 18, 4 << 20,
                                  OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    REQUIRE(m.archive);
    OTF2_Archive_SetFlushCallbacks(m.archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(m.archive);
    OTF2_Archive_OpenEvtFiles(m.archive);
    put_events(&m);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        OTF2_Archive_CloseEvtWriter(m.archive, m.writer[l]);
    }
    OTF2_Archive_CloseEvtFiles(m.archive);
    write_definitions(&m);
    OTF2_Archive_OpenDefFiles(m.archive);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(m.archive, l);
        OTF2_Archive_CloseDefWriter(m.archive, writer);
    }
    OTF2_Archive_CloseDefFiles(m.archive);
    OTF2_Archive_Close(m.archive);
}

/* What the tap is told, besides what it makes of it. */
static struct {
    const struct scan_tap_ops *ops;
    uint64_t nonblocking; /* collectives that ended */
    int blocks;
    uint32_t from[MOST];
} told;

static int told_collective(struct scan_tap *tap, OTF2_TimeStamp stamp,
                           const struct collective_call *call)
{
    told.nonblocking += call && call->op == OTF2_COLLECTIVE_OP_ALLGATHER;
    return told.ops->collective_ended(tap, stamp, call);
}

static int told_block(struct scan_tap *tap, struct scan_tap *other, const struct tap_part *part)
{
    REQUIRE(told.blocks < MOST);
    told.from[told.blocks++] = part->from;
    return told.ops->join(tap, other, part);
}

/* The results of reading an archive. */
struct reading_of {
    struct session session;
    struct waiting_calls calls;
    struct paths paths;
    struct ictus_why why;
    int err;
};

static struct reading_of *read_by(const char *path, int threads)
{
    struct reading_of *r = calloc(1, sizeof *r);
    struct follower follower;
    struct scan_tap_ops ops;
    REQUIRE(r);
    REQUIRE(!ictusi_session_open(&r->session, path, NULL, &r->why));
    r->session.threads = threads;
    r->session.flow.threads = threads;
    ictusi_follow_init(&follower, &r->calls, &r->paths, r->session.trace);
    told.ops = follower.tap.ops;
    told.nonblocking = 0;
    told.blocks = 0;
    ops = *told.ops;
    ops.collective_ended = told_collective;
    ops.join = told_block;
    follower.tap.ops = &ops;
    REQUIRE(!ictusi_paths_init(&r->paths, r->session.trace));
    REQUIRE(!ictusi_waiting_calls_init(&r->calls, &r->session.trace->layout, &r->why));
    r->err = ictusi_session_read(&r->session, &follower.tap);
    ictusi_follow_fini(&follower);
    return r;
}

static void reading_free(struct reading_of *r)
{
    ictusi_waiting_calls_free(&r->calls);
    ictusi_paths_fini(&r->paths);
    ictusi_session_close(&r->session);
    free(r);
}

static bool same_store(const struct store *a, const struct store *b)
{
    return a->count == b->count && memcmp(a->area, b->area, a->count * a->size) == 0;
}

static bool same_points(const struct points *a, const struct points *b)
{
    const uint64_t n = a->count;
    return n == b->count && memcmp(a->time, b->time, n * sizeof *a->time) == 0 &&
           memcmp(a->link, b->link, n * sizeof *a->link) == 0 &&
           memcmp(a->gap, b->gap, n * sizeof *a->gap) == 0 &&
           memcmp(a->peer, b->peer, n * sizeof *a->peer) == 0 && memcmp(a->kind, b->kind, n) == 0 &&
           memcmp(a->note, b->note, n * sizeof *a->note) == 0;
}

static bool same_paths(const struct paths *a, const struct paths *b)
{
    bool same = a->count == b->count;
    for (uint64_t i = 0; i < a->count && same; i++) {
        same = a->list[i].parent == b->list[i].parent && a->list[i].region == b->list[i].region &&
               a->list[i].site == b->list[i].site;
    }
    return same;
}

/* The counts of an observation of all pairs. */
static void check_same_counts(struct session *a, struct session *b)
{
    struct check_stats x;
    struct check_stats y;
    REQUIRE(!ictusi_session_check(a, a->history.points.time, &x));
    REQUIRE(!ictusi_session_check(b, b->history.points.time, &y));
    CHECK(ictusi_check_all_violations(&x) > 0);
    CHECK(memcmp(x.sums, y.sums, x.sum_count * sizeof *x.sums) == 0);
    CHECK(memcmp(x.maxima, y.maxima, x.maximum_count * sizeof *x.maxima) == 0);
    CHECK(memcmp(x.minima, y.minima, x.minimum_count * sizeof *x.minima) == 0);
    ictusi_check_fini(&x);
    ictusi_check_fini(&y);
}

/* The least delays between locations, as if each had a clock of its own. */
static void look_at(struct session *s, const uint32_t *clock_of, struct least_delays *delays)
{
    const uint32_t clocks = (uint32_t)s->trace->layout.location_count;
    enum { CELLS = 12 };
    REQUIRE(!ictusi_delays_init(delays, clock_of, clocks, CELLS));
    REQUIRE(!ictusi_session_span(s));
    ictusi_delays_begin(delays, s->history.points.time, s->from, s->to);
    s->flow.observer = &delays->observer;
    s->flow.known = s->history.points.time;
    REQUIRE(!ictusi_flow_run(&s->flow, FLOW_CHECK) && !ictusi_delays_finish(delays, NULL));
}

static bool same_row(const struct least_delays *a, uint64_t row, const struct least_delays *b,
                     uint64_t its)
{
    if (row == DELAY_NO_ROW || its == DELAY_NO_ROW) {
        return row == its;
    }
    const size_t bytes = a->cells * sizeof *a->delay;
    return memcmp(a->delay + row * a->cells, b->delay + its * b->cells, bytes) == 0 &&
           memcmp(a->instant + row * a->cells, b->instant + its * b->cells, bytes) == 0;
}

static void check_same_delays(struct session *a, struct session *b)
{
    const uint32_t n = (uint32_t)a->trace->layout.location_count;
    uint32_t *clock_of = calloc(n + 1UL, sizeof *clock_of);
    struct least_delays x;
    struct least_delays y;
    REQUIRE(clock_of);
    for (uint32_t i = 0; i < n; i++) {
        clock_of[i] = i;
    }
    look_at(a, clock_of, &x);
    look_at(b, clock_of, &y);
    CHECK(x.pair_count > 0 && x.pair_count == y.pair_count && x.cells == y.cells);
    for (uint64_t i = 0; i < x.pair_count && x.pair_count == y.pair_count; i++) {
        const struct delay_pair *p = &x.pairs[i];
        const struct delay_pair *q = &y.pairs[i];
        CHECK(p->a == q->a && p->b == q->b);
        CHECK(same_row(&x, p->row[0], &y, q->row[0]) && same_row(&x, p->row[1], &y, q->row[1]));
    }
    ictusi_delays_fini(&x);
    ictusi_delays_fini(&y);
    free(clock_of);
}

static void check_same(struct reading_of *a, struct reading_of *b)
{
    const uint64_t n = a->session.trace->layout.location_count;
    const struct graph *g = &a->session.graph;
    const struct graph *h = &b->session.graph;
    CHECK(a->err == b->err);
    CHECK_STR(a->why.text, b->why.text);
    if (a->err || b->err) {
        return;
    }
    CHECK(memcmp(&a->session.counts, &b->session.counts, sizeof a->session.counts) == 0);
    CHECK(memcmp(a->session.history.first, b->session.history.first, (n + 1) * 8) == 0);
    CHECK(same_points(&a->session.history.points, &b->session.history.points));
    CHECK(g->vnode_count == h->vnode_count && g->edge_count == h->edge_count);
    CHECK(memcmp(g->edges, h->edges, g->edge_count * sizeof *g->edges) == 0);
    CHECK(g->messages == h->messages && g->collectives == h->collectives &&
          g->thread_pairs == h->thread_pairs && g->unmatched_sends == h->unmatched_sends &&
          g->unmatched_receives == h->unmatched_receives && g->left_out == h->left_out);
    CHECK(memcmp(a->calls.first, b->calls.first, (n + 1) * 8) == 0);
    CHECK(memcmp(a->calls.begin, b->calls.begin, n * 8) == 0);
    CHECK(same_store(&a->calls.calls, &b->calls.calls));
    CHECK(same_store(&a->calls.shares, &b->calls.shares));
    CHECK(same_store(&a->calls.call_of, &b->calls.call_of));
    CHECK(same_store(&a->calls.other, &b->calls.other));
    CHECK(a->calls.meetings.count == b->calls.meetings.count);
    CHECK(a->calls.notices.count == b->calls.notices.count);
    CHECK(a->calls.locks.count == b->calls.locks.count);
    CHECK(same_paths(&a->paths, &b->paths));
    check_same_counts(&a->session, &b->session);
    check_same_delays(&a->session, &b->session);
}

static void any_number_of_threads_reads_the_same(const char *path)
{
    struct reading_of *alone = read_by(path, 1);
    for (int threads = 2; threads <= 7; threads++) {
        struct reading_of *together = read_by(path, threads);
        check_same(alone, together);
        reading_free(together);
    }
    reading_free(alone);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Locations with so many events each, which belong to these processes. */
static void write_shares(const char *path, uint32_t count, const uint64_t *events,
                         const uint32_t *process_of)
{
    OTF2_Archive *archive = written_archive_open(path, 1 << 18);
    for (uint32_t l = 0; l < count; l++) {
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, l);
        for (uint64_t i = 0; i < events[l]; i++) {
            made_written(OTF2_EvtWriter_Enter(writer, NULL, 1000 + i, 0));
        }
        OTF2_Archive_CloseEvtWriter(archive, writer);
    }
    OTF2_GlobalDefWriter *d = written_archive_define(archive, 100000);
    for (uint32_t l = 0; l < count; l++) {
        if (process_of[l] == l) {
            OTF2_GlobalDefWriter_WriteLocationGroup(d, l, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                    OTF2_UNDEFINED_LOCATION_GROUP);
        }
        OTF2_GlobalDefWriter_WriteLocation(d, l, 0, OTF2_LOCATION_TYPE_CPU_THREAD, events[l],
                                           process_of[l]);
    }
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    OTF2_Archive_Close(archive);
}

/* Each block begins at the border that is nearest to an equal share, if any is left. */
static void blocks_are_even(const struct layout *layout, int threads)
{
    const uint32_t n = (uint32_t)layout->location_count;
    uint64_t before[MOST + 1] = {0};
    for (uint32_t l = 0; l < n; l++) {
        before[l + 1] = before[l] + layout->locations[l].events;
    }
    CHECK(told.blocks < threads);
    for (int k = 0; k < threads - 1; k++) {
        const uint64_t share = before[n] / (uint64_t)threads * (uint64_t)(k + 1);
        const uint32_t from = k < told.blocks ? told.from[k] : n;
        CHECK(k >= told.blocks || from < n);
        for (uint32_t l = k > 0 ? told.from[k - 1] + 1 : 1; l < n; l++) {
            const bool divides = layout->locations[l].process != layout->locations[l - 1].process;
            CHECK(!divides || distance(before[l], share) >= distance(before[from], share));
            CHECK(divides || from != l);
        }
        if (from == n) {
            break;
        }
        CHECK(k == 0 || from > told.from[k - 1]);
    }
}

/* Threads read equal shares of the events, as far as processes cannot be divided. */
static void shares_are_even(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 5, 0);
    for (int i = 0; i < CHECK_TRIALS(20); i++) {
        char path[200];
        const uint32_t count = 2 + (uint32_t)ictusi_random_below(&rng, MOST - 1);
        uint64_t events[MOST];
        uint32_t process_of[MOST];
        for (uint32_t l = 0; l < count; l++) {
            const bool joins = l > 0 && ictusi_random_below(&rng, 3) == 0;
            events[l] = i % 3 == 0 ? 20 : 1 + ictusi_random_below(&rng, i % 3 == 1 ? 60 : 400);
            process_of[l] = joins ? process_of[l - 1] : l;
        }
        (void)snprintf(path, sizeof path, "%s/shares%d", root, i);
        write_shares(path, count, events, process_of);
        (void)snprintf(path, sizeof path, "%s/shares%d/traces.otf2", root, i);
        for (int threads = 2; threads <= MOST / 2; threads++) {
            struct reading_of *r = read_by(path, threads);
            CHECK(!r->err);
            blocks_are_even(&r->session.trace->layout, threads);
            reading_free(r);
        }
    }
}

/* The last bytes of a location's events are missing. */
static void damage_is_said_alike(const char *path)
{
    for (int location = 1; location < LOCATIONS; location += 2) {
        char file[200];
        struct stat st;
        (void)snprintf(file, sizeof file, "%s/traces/%d.evt", root, location);
        REQUIRE(!stat(file, &st) && !truncate(file, st.st_size / 2));
        struct reading_of *alone = read_by(path, 1);
        CHECK(alone->err == ICTUS_ERR_CORRUPT && *alone->why.text);
        reading_free(alone);
        any_number_of_threads_reads_the_same(path);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

int main(int argc, char **argv)
{
    char path[200];
    for (int i = 1; i < argc; i++) {
        any_number_of_threads_reads_the_same(argv[i]);
    }
    if (argc > 1) {
        return check_result();
    }
    REQUIRE(mkdtemp(check_scratch(root, "parts")));
    write_archive(root);
    (void)snprintf(path, sizeof path, "%s/traces.otf2", root);
    struct reading_of *alone = read_by(path, 1);
    CHECK(!alone->err && alone->session.graph.messages > RANKS && alone->session.counts.cancelled);
    CHECK(alone->session.graph.collectives > 10 && alone->session.graph.thread_pairs > 100);
    CHECK(told.nonblocking == RANKS);
    /* Recording was off once, at the last rank, after its first point. */
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        const struct gaps *gaps = &alone->session.history.matching.stretches.gaps[l];
        CHECK(gaps->count == (l == location_of[RANKS - 1]) && !gaps->late);
    }
    reading_free(alone);
    any_number_of_threads_reads_the_same(path);
    shares_are_even();
    damage_is_said_alike(path);
    (void)nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}
