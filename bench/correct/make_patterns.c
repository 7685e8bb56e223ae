/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write an OTF2 archive of a made-up MPI program of one communication pattern, with true times that
 * span seconds or minutes. One rank a node. For bench/correct/truth.
 *
 *   make_patterns OUT PATTERN [ranks=8] [rounds=500] [seconds=30] [seed=1] [asymmetry=0]
 *
 * master: workers ask the first rank, which is busy and answers; halo: neighbours in a line
 * exchange; pairs: each rank sends to one drawn at random; collectives: allreduce and barrier;
 * pipeline: each rank passes on to the next, never back; burst: exchanges with seconds of silence
 * between; wavefront: sweeps through a grid and back; tree: up and down a binary tree; bridge: two
 * halves that are joined by seldom messages of two ranks; silence: pairs, but for the time between
 * the first and the last tenth; threads: pairs, and each rank has a second thread, which works in
 * parallel regions; onesided: puts between fences, or between notifications that go round; mixed:
 * one of the first five each round. Each pair's latency is longer one way by up to the given part
 * of it, and shorter the other.
 */
#include "../../src/archive/flush.h"

#include <inttypes.h>
#include <math.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATENCY = 1000, JITTER = 500, START = 1000000000 }; /* ns */

struct world {
    OTF2_Archive *archive;
    OTF2_EvtWriter **writer;
    uint64_t *now;
    uint64_t state, seed;
    int ranks, rounds, threads; /* locations: the ranks, then their other threads */
    double seconds, asymmetry;
};

typedef void (*pattern_fn)(struct world *w);

static double draw_uniform(struct world *w)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return ((double)(w->state >> 11) + 0.5) * 0x1p-53;
}

static uint64_t draw_exponential(struct world *w, double mean)
{
    return (uint64_t)(-mean * log(draw_uniform(w)));
}

static uint64_t draw_delay(struct world *w)
{
    return LATENCY + draw_exponential(w, JITTER);
}

/*
 * How much longer than LATENCY the way from one rank to another is: the same each time, but another
 * one for each seed.
 */
static double path_excess(const struct world *w, int from, int to)
{
    const uint64_t low = (uint64_t)(from < to ? from : to);
    const uint64_t high = (uint64_t)(from < to ? to : from);
    uint64_t x = (w->seed << 40 | low << 20 | high) * 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9U;
    x ^= x >> 29;
    const double uniform = (double)(x >> 11) * 0x1p-52 - 1;
    return LATENCY * w->asymmetry * (from < to ? uniform : -uniform);
}

static uint64_t next_tick(struct world *w, int r)
{
    w->now[r] += 20 + (uint64_t)(draw_uniform(w) * 60);
    return w->now[r];
}

static void wait_until(struct world *w, int r, uint64_t time)
{
    w->now[r] = w->now[r] > time ? w->now[r] : time;
}

/* Enter and leave around some work of this mean. */
static void do_work(struct world *w, int r, double mean_ns)
{
    (void)OTF2_EvtWriter_Enter(w->writer[r], NULL, next_tick(w, r), 0);
    w->now[r] += draw_exponential(w, mean_ns);
    (void)OTF2_EvtWriter_Leave(w->writer[r], NULL, next_tick(w, r), 0);
}

static uint64_t do_send(struct world *w, int from, int to)
{
    const uint64_t time = next_tick(w, from);
    (void)OTF2_EvtWriter_MpiSend(w->writer[from], NULL, time, (uint32_t)to, 0, 1, 8);
    return time;
}

static void do_receive(struct world *w, int from, int to, uint64_t sent)
{
    wait_until(w, to, sent + (uint64_t)((double)draw_delay(w) + path_excess(w, from, to)));
    (void)OTF2_EvtWriter_MpiRecv(w->writer[to], NULL, next_tick(w, to), (uint32_t)from, 0, 1, 8);
}

static void pattern_master(struct world *w)
{
    for (int r = 1; r < w->ranks; r++) {
        do_receive(w, r, 0, do_send(w, r, 0));
        do_work(w, 0, 5000);
        do_receive(w, 0, r, do_send(w, 0, r));
    }
}

static void pattern_halo(struct world *w)
{
    uint64_t *sent = calloc(2UL * (unsigned)w->ranks, sizeof *sent);
    for (int r = 0; sent && r < w->ranks; r++) {
        do_work(w, r, 100000.0 * (1 + (double)r / w->ranks));
        sent[2 * r] = r > 0 ? do_send(w, r, r - 1) : 0;
        sent[2 * r + 1] = r + 1 < w->ranks ? do_send(w, r, r + 1) : 0;
    }
    for (int r = 0; sent && r < w->ranks; r++) {
        if (r > 0) {
            do_receive(w, r - 1, r, sent[2 * (r - 1) + 1]);
        }
        if (r + 1 < w->ranks) {
            do_receive(w, r + 1, r, sent[2 * (r + 1)]);
        }
    }
    free(sent);
}

static void pattern_pairs(struct world *w)
{
    for (int i = 0; i < w->ranks; i++) {
        const int a = (int)(draw_uniform(w) * w->ranks);
        const int b = (a + 1 + (int)(draw_uniform(w) * (w->ranks - 1))) % w->ranks;
        do_work(w, a, 10000);
        do_receive(w, a, b, do_send(w, a, b));
    }
}

static void pattern_collectives(struct world *w)
{
    uint64_t last = 0;
    const bool barrier = draw_uniform(w) < 0.3;
    const uint64_t bytes = barrier ? 0 : 8;
    for (int r = 0; r < w->ranks; r++) {
        do_work(w, r, 50000);
        const uint64_t time = next_tick(w, r);
        (void)OTF2_EvtWriter_MpiCollectiveBegin(w->writer[r], NULL, time);
        last = time > last ? time : last;
    }
    for (int r = 0; r < w->ranks; r++) {
        w->now[r] = last + 2 * draw_delay(w);
        (void)OTF2_EvtWriter_MpiCollectiveEnd(w->writer[r], NULL, next_tick(w, r),
                                              barrier ? OTF2_COLLECTIVE_OP_BARRIER
                                                      : OTF2_COLLECTIVE_OP_ALLREDUCE,
                                              0, OTF2_COLLECTIVE_ROOT_NONE, bytes, bytes);
    }
}

static void pattern_pipeline(struct world *w)
{
    for (int r = 0; r + 1 < w->ranks; r++) {
        do_receive(w, r, r + 1, do_send(w, r, r + 1));
        do_work(w, r + 1, 20000);
    }
}

/* Sweeps through a grid, from its first corner to its last and back. */
static void pattern_wavefront(struct world *w)
{
    const int width = (int)ceil(sqrt(w->ranks));
    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < w->ranks; i++) {
            const int r = way ? w->ranks - 1 - i : i;
            const int hop = way ? -1 : 1;
            const bool inside = way ? r % width > 0 : r % width + 1 < width;
            do_work(w, r, 20000);
            if (inside && r + hop < w->ranks) {
                do_receive(w, r, r + hop, do_send(w, r, r + hop));
            }
            if (r + hop * width >= 0 && r + hop * width < w->ranks) {
                do_receive(w, r, r + hop * width, do_send(w, r, r + hop * width));
            }
        }
    }
}

/* Up a binary tree, and down again. */
static void pattern_tree(struct world *w)
{
    for (int r = w->ranks - 1; r > 0; r--) {
        do_work(w, r, 20000);
        do_receive(w, r, (r - 1) / 2, do_send(w, r, (r - 1) / 2));
    }
    for (int r = 1; r < w->ranks; r++) {
        do_receive(w, (r - 1) / 2, r, do_send(w, (r - 1) / 2, r));
    }
}

/* Two halves, each of which talks to itself; now and then their first ranks talk. */
static void pattern_bridge(struct world *w)
{
    const int half = w->ranks / 2;
    for (int i = 0; i < w->ranks; i++) {
        const int first = i < half ? 0 : half;
        const int count = i < half ? half : w->ranks - half;
        const int to = first + (i - first + 1) % count;
        do_work(w, i, 10000);
        if (to != i) {
            do_receive(w, i, to, do_send(w, i, to));
            do_receive(w, to, i, do_send(w, to, i));
        }
    }
    if (draw_uniform(w) < 0.1) {
        do_receive(w, 0, half, do_send(w, 0, half));
        do_receive(w, half, 0, do_send(w, half, 0));
    }
}

/* A first and a last tenth in which pairs talk, and silence between. */
static void pattern_silence(struct world *w)
{
    const double part = (double)(w->now[0] - START) / (w->seconds * 1e9);
    if (part < 0.1 || part > 0.9) {
        pattern_pairs(w);
    }
}

/* Each rank's second thread works beside it, and is waited for; then pairs talk. */
static void pattern_threads(struct world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        const int other = w->ranks + r;
        const uint32_t team = (uint32_t)r + 1;
        const uint64_t forked = next_tick(w, r);
        (void)OTF2_EvtWriter_ThreadFork(w->writer[r], NULL, forked, OTF2_PARADIGM_OPENMP, 2);
        wait_until(w, other, forked + draw_exponential(w, JITTER));
        (void)OTF2_EvtWriter_ThreadTeamBegin(w->writer[r], NULL, next_tick(w, r), team);
        (void)OTF2_EvtWriter_ThreadTeamBegin(w->writer[other], NULL, next_tick(w, other), team);
        do_work(w, r, 10000);
        do_work(w, other, 10000);
        const uint64_t ended = next_tick(w, other);
        (void)OTF2_EvtWriter_ThreadTeamEnd(w->writer[other], NULL, ended, team);
        wait_until(w, r, ended + draw_exponential(w, JITTER));
        (void)OTF2_EvtWriter_ThreadTeamEnd(w->writer[r], NULL, next_tick(w, r), team);
        (void)OTF2_EvtWriter_ThreadJoin(w->writer[r], NULL, next_tick(w, r), OTF2_PARADIGM_OPENMP);
    }
    pattern_pairs(w);
}

static void do_put(struct world *w, int from, int to)
{
    OTF2_EvtWriter *writer = w->writer[from];
    (void)OTF2_EvtWriter_RmaPut(writer, NULL, next_tick(w, from), 0, (uint32_t)to, 8, 0);
    (void)OTF2_EvtWriter_RmaOpCompleteBlocking(writer, NULL, next_tick(w, from), 0, 0);
}

/* Everybody puts something into the next one's window and calls the fence. */
static void do_fence(struct world *w)
{
    uint64_t last = 0;
    for (int r = 0; r < w->ranks; r++) {
        do_work(w, r, 50000);
        do_put(w, r, (r + 1) % w->ranks);
        const uint64_t time = next_tick(w, r);
        (void)OTF2_EvtWriter_RmaCollectiveBegin(w->writer[r], NULL, time);
        last = time > last ? time : last;
    }
    for (int r = 0; r < w->ranks; r++) {
        w->now[r] = last + 2 * draw_delay(w);
        (void)OTF2_EvtWriter_RmaCollectiveEnd(
            w->writer[r], NULL, next_tick(w, r), OTF2_COLLECTIVE_OP_BARRIER,
            OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY, 0, OTF2_UNDEFINED_UINT32, 0,
            0);
    }
}

static void do_notify(struct world *w, int from, int to)
{
    do_put(w, from, to);
    const uint64_t sent = next_tick(w, from);
    (void)OTF2_EvtWriter_RmaSync(w->writer[from], NULL, sent, 0, (uint32_t)to,
                                 OTF2_RMA_SYNC_TYPE_NOTIFY_OUT);
    wait_until(w, to, sent + (uint64_t)((double)draw_delay(w) + path_excess(w, from, to)));
    (void)OTF2_EvtWriter_RmaSync(w->writer[to], NULL, next_tick(w, to), 0, (uint32_t)from,
                                 OTF2_RMA_SYNC_TYPE_NOTIFY_IN);
}

/* Fences, or notifications once round and back. */
static void pattern_onesided(struct world *w)
{
    if (draw_uniform(w) < 0.5) {
        do_fence(w);
        return;
    }
    for (int r = 0; r + 1 < w->ranks; r++) {
        do_work(w, r, 10000);
        do_notify(w, r, r + 1);
    }
    for (int r = w->ranks - 1; r > 0; r--) {
        do_notify(w, r, r - 1);
    }
}

/* Ten at once, so that most of the time nobody speaks. */
static void pattern_burst(struct world *w)
{
    for (int i = 0; i < 10; i++) {
        pattern_pairs(w);
    }
    for (int r = 0; r < w->ranks; r++) {
        w->now[r] += (uint64_t)(9e9 * w->seconds / w->rounds);
    }
}

static void pattern_mixed(struct world *w)
{
    static const pattern_fn all[] = {pattern_master, pattern_halo, pattern_pairs,
                                     pattern_collectives, pattern_pipeline};
    all[(int)(draw_uniform(w) * 5)](w);
}

static const struct {
    const char *name;
    pattern_fn run;
} patterns[] = {{"master", pattern_master},       {"halo", pattern_halo},
                {"pairs", pattern_pairs},         {"collectives", pattern_collectives},
                {"pipeline", pattern_pipeline},   {"burst", pattern_burst},
                {"wavefront", pattern_wavefront}, {"tree", pattern_tree},
                {"bridge", pattern_bridge},       {"silence", pattern_silence},
                {"threads", pattern_threads},     {"onesided", pattern_onesided},
                {"mixed", pattern_mixed}};

/* A team of threads for each rank. */
static void write_teams(const struct world *w, OTF2_GlobalDefWriter *d, const uint64_t *all)
{
    const uint32_t ranks = (uint32_t)w->ranks;
    (void)OTF2_GlobalDefWriter_WriteGroup(d, 2, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                          OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, 2 * ranks,
                                          all);
    for (uint32_t r = 0; r < ranks; r++) {
        const uint64_t team[] = {r, ranks + r};
        (void)OTF2_GlobalDefWriter_WriteGroup(d, 3 + r, 0, OTF2_GROUP_TYPE_COMM_GROUP,
                                              OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, 2, team);
        (void)OTF2_GlobalDefWriter_WriteComm(d, 1 + r, 0, 3 + r, OTF2_UNDEFINED_COMM,
                                             OTF2_COMM_FLAG_NONE);
    }
}

static void write_location(const struct world *w, OTF2_GlobalDefWriter *d, int location)
{
    uint64_t count = 0;
    (void)OTF2_EvtWriter_GetNumberOfEvents(w->writer[location], &count);
    (void)OTF2_GlobalDefWriter_WriteLocation(d, (uint64_t)location, 0,
                                             OTF2_LOCATION_TYPE_CPU_THREAD, count,
                                             (uint32_t)(location % w->ranks));
}

static void write_definitions(struct world *w)
{
    static const char *const texts[] = {"", "machine", "node", "work"};
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(w->archive);
    const int locations = w->ranks * w->threads;
    uint64_t *list = calloc((unsigned)locations + 1UL, sizeof *list);
    uint64_t last = START;
    for (int r = 0; list && r < locations; r++) {
        list[r] = (uint64_t)r;
        last = w->now[r] > last ? w->now[r] : last;
    }
    (void)OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, START, last - START + 1,
                                                    OTF2_UNDEFINED_TIMESTAMP);
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        (void)OTF2_GlobalDefWriter_WriteString(d, i, texts[i]);
    }
    (void)OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 1, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    (void)OTF2_GlobalDefWriter_WriteRegion(d, 0, 3, 3, 0, OTF2_REGION_ROLE_FUNCTION,
                                           OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 0, 0, 0);
    for (int r = 0; r < w->ranks; r++) {
        const uint32_t n = (uint32_t)r;
        (void)OTF2_GlobalDefWriter_WriteSystemTreeNode(d, n + 1, 0, 2, 0);
        (void)OTF2_GlobalDefWriter_WriteLocationGroup(d, n, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                      n + 1, OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (int l = 0; l < locations; l++) {
        write_location(w, d, l);
    }
    (void)OTF2_GlobalDefWriter_WriteGroup(d, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                          (uint32_t)w->ranks, list);
    (void)OTF2_GlobalDefWriter_WriteGroup(d, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, (uint32_t)w->ranks, list);
    (void)OTF2_GlobalDefWriter_WriteComm(d, 0, 0, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    (void)OTF2_GlobalDefWriter_WriteRmaWin(d, 0, 0, 0, OTF2_RMA_WIN_FLAG_NONE);
    if (w->threads > 1) {
        write_teams(w, d, list);
    }
    (void)OTF2_Archive_CloseGlobalDefWriter(w->archive, d);
    free(list);
}

static bool read_options(struct world *w, int argc, char **argv)
{
    for (int i = 3; i < argc; i++) {
        if (sscanf(argv[i], "seed=%" SCNu64, &w->seed) == 1) {
            w->state += w->seed * 2654435761U;
        } else if (sscanf(argv[i], "ranks=%d", &w->ranks) != 1 &&
                   sscanf(argv[i], "rounds=%d", &w->rounds) != 1 &&
                   sscanf(argv[i], "asymmetry=%lf", &w->asymmetry) != 1 &&
                   sscanf(argv[i], "seconds=%lf", &w->seconds) != 1) {
            return false;
        }
    }
    return w->ranks > 1 && w->rounds > 0 && w->seconds > 0 && w->asymmetry >= 0 && w->asymmetry < 1;
}

static void write_events(struct world *w, pattern_fn run)
{
    const double span_ns = w->seconds * 1e9;
    for (int r = 0; r < w->ranks * w->threads; r++) {
        w->now[r] = START + (uint64_t)(draw_uniform(w) * 1000);
    }
    for (int round = 0; round < w->rounds; round++) {
        const double begins = START + span_ns * round / w->rounds;
        for (int r = 0; r < w->ranks; r++) {
            const uint64_t at = (uint64_t)begins + draw_exponential(w, 100000);
            w->now[r] = w->now[r] > at ? w->now[r] : at;
        }
        if (run != pattern_burst || round % 10 == 0) {
            run(w);
        }
    }
}

int main(int argc, char **argv)
{
    struct world w = {.ranks = 8, .rounds = 500, .seconds = 30, .state = 88172645463325252U};
    pattern_fn run = NULL;
    for (size_t i = 0; argc > 2 && i < sizeof patterns / sizeof *patterns; i++) {
        run = strcmp(argv[2], patterns[i].name) == 0 ? patterns[i].run : run;
    }
    if (!run || !read_options(&w, argc, argv)) {
        (void)fprintf(stderr,
                      "usage: make_patterns OUT master|halo|pairs|collectives|pipeline|burst|"
                      "wavefront|tree|bridge|silence|threads|onesided|mixed [ranks=N] "
                      "[rounds=N] [seconds=X] [seed=N] [asymmetry=X]\n");
        return 2;
    }
    w.threads = run == pattern_threads ? 2 : 1;
    const int locations = w.ranks * w.threads;
    w.now = calloc((unsigned)locations + 1UL, sizeof *w.now);
    w.writer = calloc((unsigned)locations + 1UL, sizeof(OTF2_EvtWriter *));
    w.archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, 1 << 18, 1 << 18,
                                  OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!w.now || !w.writer || !w.archive) {
        return 1;
    }
    (void)OTF2_Archive_SetFlushCallbacks(w.archive, &archive_flush_callbacks, NULL);
    (void)OTF2_Archive_SetSerialCollectiveCallbacks(w.archive);
    (void)OTF2_Archive_OpenEvtFiles(w.archive);
    for (int r = 0; r < locations; r++) {
        w.writer[r] = OTF2_Archive_GetEvtWriter(w.archive, (uint64_t)r);
    }
    write_events(&w, run);
    write_definitions(&w);
    (void)OTF2_Archive_OpenDefFiles(w.archive);
    for (int r = 0; r < locations; r++) {
        OTF2_DefWriter *d = OTF2_Archive_GetDefWriter(w.archive, (uint64_t)r);
        (void)OTF2_Archive_CloseDefWriter(w.archive, d);
        (void)OTF2_Archive_CloseEvtWriter(w.archive, w.writer[r]);
    }
    (void)OTF2_Archive_CloseDefFiles(w.archive);
    (void)OTF2_Archive_CloseEvtFiles(w.archive);
    const OTF2_ErrorCode code = OTF2_Archive_Close(w.archive);
    free(w.now);
    free(w.writer);
    return code == OTF2_SUCCESS ? 0 : 1;
}
