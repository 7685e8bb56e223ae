/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process of a common start. The test defines what the clock shows, what other processes report
 * and when a wait ends, and checks what the process tells them, when it leaves, and what it
 * reports. MPI's two calls are simulated here.
 */
#include "harmonize/state.h"
#include "sync/wait.h"

#include <math.h>
#include <stdbool.h>

#include "../check.h"

enum {
    RESYNC,    /* words to rank 0 */
    SHORTFALL, /* how much too short the last slack was */
    LATENESS,
    DEADLINE = 0, /* words from rank 0 */
    SLACK,
    RESYNCS,
    WORDS = 3,
    READ_NS = 10, /* a reading of the clock, which shows its end */
    SLACK_NS = 20000,
    TOLERANCE_NS = 1000,
    AHEAD_NS = 70000, /* of the global clock */
    CALLS_MAX = 16
};

static struct harmonize_state state;
static struct ictus_clock clock_here;

/* The clock, what other processes report, and what was sent to them. */
static struct {
    int64_t now;
    bool stepped;
    int64_t elapsed_ns;        /* since the last synchronisation */
    int64_t others[WORDS];     /* the largest words of the other processes */
    int64_t from_first[WORDS]; /* rank 0's answer, if this process is another one */
    int64_t overshoot_ns;      /* a wait ends this long after its deadline */
    int others_late;           /* number of repeated starts in which another process is late */
    int waits, reduces, bcasts, resyncs;
    int64_t told[CALLS_MAX][WORDS]; /* in each call */
    int64_t went[CALLS_MAX][WORDS];
    int resync_error, reduce_error, bcast_error;
    bool retrying; /* the reduction is about who was late */
} world;

static int64_t clock_read(const struct source *source)
{
    (void)source;
    world.now += READ_NS;
    return world.now;
}

static const struct source_ops clock_ops = {.name = "told", .read = clock_read};
static struct source told_source = {&clock_ops};

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
struct watch_look __wrap_ictusi_watch_look(const struct watch *watch, const struct source *source);
int64_t __wrap_ictusi_sync_wait_until(const struct source *source, int64_t deadline, bool crowded);
int __wrap_ictusi_harmonize_state(MPI_Comm comm, struct harmonize_state **out,
                                  struct ictus_why *why);
struct harmonize_state *__wrap_ictusi_harmonize_find(MPI_Comm comm);
int __wrap_ictus_clock_resync(struct ictus_clock *clock);
int __wrap_PMPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm);
int __wrap_PMPI_Bcast(void *words, int count, MPI_Datatype type, int root, MPI_Comm comm);

struct watch_look __wrap_ictusi_watch_look(const struct watch *watch, const struct source *source)
{
    CHECK(watch == &clock_here.watch && source == &told_source);
    return (struct watch_look){world.now, world.elapsed_ns, world.stepped};
}

int64_t __wrap_ictusi_sync_wait_until(const struct source *source, int64_t deadline, bool crowded)
{
    CHECK(source == &told_source && crowded == clock_here.crowded);
    world.waits++;
    world.now = deadline + world.overshoot_ns;
    return world.now;
}

int __wrap_ictusi_harmonize_state(MPI_Comm comm, struct harmonize_state **out,
                                  struct ictus_why *why)
{
    (void)why;
    *out = &state;
    return comm == MPI_COMM_NULL ? ICTUS_ERR_ARG : ICTUS_OK;
}

struct harmonize_state *__wrap_ictusi_harmonize_find(MPI_Comm comm)
{
    (void)comm;
    return &state;
}

int __wrap_ictus_clock_resync(struct ictus_clock *clock)
{
    CHECK(clock == &clock_here);
    world.resyncs++;
    world.elapsed_ns = 0;
    world.stepped = false;
    return world.resync_error;
}

int __wrap_PMPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm)
{
    const int64_t *mine = send;
    int64_t *all = recv;
    CHECK(count == WORDS && type == MPI_INT64_T && op == MPI_MAX && root == 0);
    CHECK(comm == MPI_COMM_SELF && world.reduces < CALLS_MAX);
    memcpy(world.told[world.reduces++], mine, sizeof(world.told[0]));
    const bool asks = world.retrying && world.reduces % 2 == 0;
    for (int i = 0; i < WORDS && state.rank == 0; i++) {
        const int64_t other =
            asks && i == RESYNC ? world.reduces / 2 <= world.others_late : world.others[i];
        all[i] = mine[i] > other ? mine[i] : other;
    }
    return world.reduce_error;
}

int __wrap_PMPI_Bcast(void *words, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    CHECK(count == WORDS && type == MPI_INT64_T && root == 0);
    CHECK(comm == MPI_COMM_SELF && world.bcasts < CALLS_MAX);
    if (state.rank != 0) {
        memcpy(words, world.from_first, sizeof(world.from_first));
    }
    memcpy(world.went[world.bcasts++], words, sizeof(world.went[0]));
    return world.bcast_error;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/*
 * A process that has not started yet. sigma_ns is that of its clock, which was 100 just after its
 * synchronisation.
 */
static void begin(int rank, double sigma_ns, double slack_s)
{
    const struct slack_options options = {
        .late = 1e-3, .tolerance_ns = TOLERANCE_NS, .reach = 32, .min_ns = 200, .max_ns = 1e8};
    memset(&world, 0, sizeof(world));
    world.now = 1000000000;
    world.others[SHORTFALL] = world.others[LATENESS] = INT64_MIN;
    clock_here = (struct ictus_clock){
        .source = &told_source,
        .line = ictusi_line_make(0, AHEAD_NS, 0.0, 0.0),
        .error = {.offset_var_ns2 = sigma_ns * sigma_ns, .bound_ns = 5e5},
        .crowded = true,
        .comm = MPI_COMM_SELF,
        .stats = {.duration_s = 0.01, .sigma_ns = 100.0},
    };
    state = (struct harmonize_state){
        .clock = &clock_here,
        .rank = rank,
        .options = {.tolerance_s = 1e-9 * TOLERANCE_NS,
                    .slack_s = slack_s,
                    .rehearse = REHEARSE_NO,
                    .max_slack_s = 0.1},
        .tolerance_ns = TOLERANCE_NS,
    };
    for (int gap = 0; gap < GAPS; gap++) {
        ictusi_slack_init(&state.slack[gap], &options, 1000.0 * (gap + 1));
        state.next_slack_ns[gap] = SLACK_NS + gap;
    }
}

static struct ictus_harmony start(void)
{
    struct ictus_harmony harmony;
    world.reduces = world.bcasts = world.waits = 0;
    CHECK(!ictus_harmonize(MPI_COMM_SELF, &harmony));
    return harmony;
}

/* Whether the next start synchronises first. */
static bool resyncs(void)
{
    const int before = world.resyncs;
    (void)start();
    const bool did = world.resyncs > before;
    CHECK(world.reduces == (did ? 2 : 1) && world.told[0][RESYNC] == did);
    return did;
}

static void the_instant_is_a_slack_ahead(void)
{
    begin(0, 100.0, 1e-9 * SLACK_NS);
    const struct ictus_harmony harmony = start();
    CHECK(world.reduces == 1 && world.bcasts == 1 && world.waits == 1);
    CHECK(world.told[0][SHORTFALL] == INT64_MIN && world.told[0][LATENESS] == INT64_MIN);
    const int64_t slack = state.next_slack_ns[GAPS - 1]; /* the first start for a long time */
    CHECK(world.went[0][SLACK] == slack && !world.went[0][RESYNCS]);
    CHECK(harmony.deadline.ns == world.went[0][DEADLINE] && harmony.attempts == 1);
    CHECK(harmony.deadline.ns == 1000000000 + 2 * READ_NS + AHEAD_NS + slack);
    CHECK_NEAR(harmony.slack_ns, slack, 0);
    CHECK_NEAR(harmony.margin_ns, slack - READ_NS, 0);
    CHECK(harmony.flag && harmony.lateness_ns == 0.0);
    CHECK_NEAR(harmony.sigma_ns, 100.0, 1e-9);
    CHECK_NEAR(harmony.bound_ns, 5e5, 1e-9);
}

/* The answer that another process gets applies to it. */
static void others_follow_the_first(void)
{
    begin(1, 100.0, 0.0);
    const int64_t deadline = world.now + 3000;
    world.from_first[DEADLINE] = deadline + AHEAD_NS;
    world.from_first[SLACK] = 5000;
    world.overshoot_ns = TOLERANCE_NS;
    struct ictus_harmony harmony = start();
    CHECK(world.waits == 1 && world.now == deadline + TOLERANCE_NS);
    CHECK_NEAR(harmony.margin_ns, 3000 - READ_NS, 0);
    CHECK_NEAR(harmony.lateness_ns, TOLERANCE_NS, 0);
    CHECK(harmony.flag);
    /* It reports by how much the slack was too short, and how late it was. */
    world.from_first[DEADLINE] = world.now + AHEAD_NS + 500;
    world.overshoot_ns = TOLERANCE_NS + 1;
    harmony = start();
    CHECK(world.told[0][SHORTFALL] == -(3000 - READ_NS) && world.told[0][LATENESS] == TOLERANCE_NS);
    CHECK(!harmony.flag && world.waits == 1);
    /* A process does not wait for a deadline that has passed. */
    world.from_first[DEADLINE] = world.now + AHEAD_NS - 300;
    harmony = start();
    CHECK(!world.waits);
    CHECK_NEAR(harmony.margin_ns, -300 - READ_NS, 0);
    CHECK_NEAR(harmony.lateness_ns, 300 + READ_NS, 0);
    CHECK(harmony.flag);
    CHECK(state.stats.calls == 3 && state.stats.late == 1);
    world.from_first[DEADLINE] = world.now + AHEAD_NS + READ_NS;
    harmony = start();
    CHECK(!world.waits && harmony.margin_ns == 0.0 && harmony.flag);
    CHECK(world.told[0][SHORTFALL] == 300 + READ_NS);
}

static void clocks_are_mended_in_time(void)
{
    const double tolerance = TOLERANCE_NS;
    static const struct {
        double sigma, then; /* of the clock now, and just after its synchronisation */
        double elapsed_s;   /* since then; it took 10 ms */
        bool wanted;
    } cases[] = {{1.01, 0.1, 0.11, true}, {1.01, 0.1, 0.09, false}, {0.99, 0.1, 10, false},
                 {1.51, 1.0, 0.11, true}, {1.49, 1.0, 10, false},   {1.0, 0.1, 10, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int policy = RESYNC_AUTO; policy <= RESYNC_ALWAYS; policy++) {
            begin(0, cases[i].sigma * tolerance, 1e-5);
            clock_here.stats.sigma_ns = cases[i].then * tolerance;
            state.options.resync = policy;
            world.elapsed_ns = (int64_t)(cases[i].elapsed_s * 1e9);
            CHECK(!resyncs()); /* the clock is as young as the state */
            CHECK(resyncs() ==
                  (policy == RESYNC_ALWAYS || (policy == RESYNC_AUTO && cases[i].wanted)));
        }
    }
    for (int policy = RESYNC_AUTO; policy <= RESYNC_ALWAYS; policy++) {
        begin(0, 100.0, 1e-5);
        state.options.resync = policy;
        world.stepped = true;
        CHECK(resyncs() == (policy != RESYNC_NEVER));
        CHECK(state.stats.resyncs == (policy != RESYNC_NEVER));
    }
}

/*
 * After work the words are exchanged twice; nobody waits the first time, and only the second one is
 * a start.
 */
static void work_is_followed_by_a_rehearsal(void)
{
    enum { WORK_NS = 2000000 };
    begin(0, 100.0, 0.0);
    state.options.rehearse = REHEARSE_AUTO;
    (void)start();
    CHECK(world.reduces == 2 && world.bcasts == 2 && state.rehearsals == 1);
    CHECK(state.stats.calls == 1 && world.went[0][RESYNCS] != 0 && world.went[1][RESYNCS] == 0);
    const int64_t needed = state.last_slack_ns - state.last_margin_ns;
    world.now += WORK_NS;
    const struct ictus_harmony harmony = start();
    CHECK(world.reduces == 2 && state.rehearsals == 2 && state.stats.calls == 2);
    CHECK(!world.resyncs && state.stats.late == 0 && harmony.flag);
    CHECK(harmony.deadline.ns == world.went[1][DEADLINE]);
    /* What the previous start needed is reported and learned once. */
    CHECK(world.told[0][SHORTFALL] != INT64_MIN && world.told[1][SHORTFALL] == INT64_MIN);
    CHECK(state.slack[GAPS - 1].count == 1 && state.slack[GAPS - 1].recent[0] == (double)needed);
    (void)start(); /* immediately afterwards */
    CHECK(world.reduces == 1 && state.rehearsals == 2);
    begin(1, 100.0, 0.0);
    world.from_first[RESYNCS] = 1;
    (void)start();
    CHECK(world.reduces == 2 && state.rehearsals == 1 && !world.resyncs);
}

/*
 * If any process wants it, all synchronise, once; what the previous start needed is not repeated.
 */
static void one_process_is_enough(void)
{
    begin(0, 100.0, 1e-5);
    (void)start();
    world.others[RESYNC] = 1;
    (void)start();
    CHECK(world.resyncs == 1 && world.reduces == 2 && world.bcasts == 2);
    CHECK(!world.told[0][RESYNC] && world.told[0][SHORTFALL] != INT64_MIN);
    CHECK(!world.told[1][RESYNC] && world.told[1][SHORTFALL] == INT64_MIN);
    begin(1, 100.0, 1e-5);
    world.from_first[RESYNCS] = 2; /* 1 is a rehearsal */
    (void)start();
    CHECK(world.resyncs == 1 && world.reduces == 2 && state.stats.resyncs == 1);
}

/* A deadline beyond any slack, or a wait that ends before its deadline, cannot be right. */
static void mistrust_leads_to_a_sync(void)
{
    const int64_t longest = 100000000 + SLACK_NS;
    begin(1, 100.0, 0.0);
    world.from_first[SLACK] = SLACK_NS;
    world.from_first[DEADLINE] = world.now + READ_NS + AHEAD_NS + longest;
    struct ictus_harmony harmony = start();
    CHECK(world.waits == 1 && harmony.flag && !state.suspicious);
    world.from_first[DEADLINE] = world.now + READ_NS + AHEAD_NS + longest + 1;
    harmony = start();
    CHECK(!world.waits && !harmony.flag && state.stats.late == 1);
    world.from_first[DEADLINE] = world.now + AHEAD_NS + 5000;
    world.overshoot_ns = -1;
    harmony = start();
    CHECK(world.told[0][RESYNC] == 1 && world.told[0][SHORTFALL] == 0);
    CHECK(world.waits == 1 && !harmony.flag && state.stats.late == 2);
    world.from_first[DEADLINE] = world.now + AHEAD_NS + 5000;
    world.overshoot_ns = 0;
    harmony = start();
    CHECK(world.told[0][RESYNC] == 1 && harmony.flag && state.stats.late == 2);
    (void)start();
    CHECK(!world.told[0][RESYNC]);
}

/* Rank 0 learns what each start needed when the next one begins, by the time since the last. */
static void slacks_are_learned(void)
{
    static const struct {
        int64_t since_ns, shortfall_ns;
        int gap;
    } calls[] = {{50000, 700, 0},      {50001, 100, 1},   {500000, -50, 1}, {500001, 9000, 2},
                 {5000000, -90000, 2}, {5000001, 300, 3}, {1000, 20, 0},    {40000, 5, 0}};
    struct slack expected[GAPS];
    begin(0, 100.0, 0.0);
    memcpy(expected, state.slack, sizeof(expected));
    int64_t next[GAPS];
    memcpy(next, state.next_slack_ns, sizeof(next));
    (void)start();
    int64_t last_slack = world.went[0][SLACK], needed = -1;
    int last_gap = GAPS - 1, gap = 0;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const int64_t margin = last_slack - READ_NS;
        world.now = state.left_ns + calls[i].since_ns - READ_NS;
        world.others[SHORTFALL] = calls[i].shortfall_ns;
        (void)start();
        if (needed >= 0) {
            ictusi_slack_learn(&expected[gap], (double)needed);
            next[gap] = (int64_t)ictusi_slack_next(&expected[gap]);
        }
        CHECK(state.last_gap == calls[i].gap && world.went[0][SLACK] == next[calls[i].gap]);
        /* That of the process that was least ready. */
        needed = last_slack + (calls[i].shortfall_ns > -margin ? calls[i].shortfall_ns : -margin);
        gap = last_gap;
        last_slack = world.went[0][SLACK];
        last_gap = calls[i].gap;
    }
    CHECK(memcmp(state.next_slack_ns, next, sizeof(next)) == 0);
    begin(0, 100.0, 1e-9 * SLACK_NS); /* fixed: nothing is learned */
    for (int i = 0; i < 3; i++) {
        world.others[SHORTFALL] = i ? 900 : INT64_MIN;
        (void)start();
    }
    CHECK(state.slack[0].count == 0 && state.slack[GAPS - 1].count == 0);
}

static struct ictus_harmony retry(int retries, int others_late, int64_t overshoot_ns)
{
    struct ictus_harmony harmony;
    begin(0, 100.0, 1e-5);
    world.retrying = true;
    world.others_late = others_late;
    world.overshoot_ns = overshoot_ns;
    CHECK(!ictus_harmonize_retry(MPI_COMM_SELF, retries, &harmony));
    return harmony;
}

/* Repeated while any process is late, up to a limit; the start that counts is four slacks later. */
static void late_starts_are_repeated(void)
{
    static const struct {
        int retries, late, attempts;
    } cases[] = {{0, 0, 1}, {0, 9, 1}, {1, 0, 1}, {1, 1, 2},
                 {1, 9, 2}, {3, 2, 3}, {3, 3, 4}, {3, 9, 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int attempts = cases[i].attempts;
        const struct ictus_harmony harmony = retry(cases[i].retries, cases[i].late, 0);
        CHECK(harmony.attempts == attempts && state.stats.calls == (uint64_t)attempts);
        CHECK(world.reduces == (cases[i].retries ? 2 * attempts : 1));
        CHECK(world.waits == (cases[i].retries ? attempts + 1 : 1) && harmony.flag);
        if (cases[i].retries) {
            const int64_t *const first = world.went[2 * attempts - 2];
            const int64_t *const last = world.went[2 * attempts - 1];
            CHECK(last[DEADLINE] == first[DEADLINE] + READ_NS + 4 * first[SLACK]);
            CHECK(harmony.deadline.ns == last[DEADLINE]);
            CHECK_NEAR(harmony.margin_ns, 4.0 * (double)first[SLACK] - READ_NS, 0);
            CHECK(harmony.lateness_ns == 0.0);
        }
    }
    /* This process is late itself, or leaves before the instant, in the last start too. */
    CHECK(!retry(1, 0, TOLERANCE_NS + 1).flag);
    CHECK(state.stats.calls == 2 && world.told[1][RESYNC] == 1);
    CHECK(!retry(1, 0, -1).flag);
    const struct ictus_harmony late = retry(1, 0, TOLERANCE_NS);
    CHECK(late.flag && state.stats.calls == 1 && world.told[1][RESYNC] == 0);
    CHECK_NEAR(late.lateness_ns, TOLERANCE_NS, 0);
    CHECK(ictus_harmonize_retry(MPI_COMM_SELF, -1, NULL) == ICTUS_ERR_ARG);
    begin(1, 100.0, 0.0);
    struct ictus_harmony harmony;
    world.from_first[DEADLINE] = world.now + AHEAD_NS;
    CHECK(!ictus_harmonize_retry(MPI_COMM_SELF, 1, &harmony));
    CHECK(!world.waits && harmony.attempts == 1);
    CHECK_NEAR(harmony.margin_ns, -2 * READ_NS, 0);
    CHECK_NEAR(harmony.lateness_ns, 2 * READ_NS, 0);
}

static void statistics_are_kept(void)
{
    struct ictus_harmonize_stats stats;
    struct ictus_clock *clock = NULL;
    begin(1, 300.0, 0.0);
    CHECK(ictus_harmonize_stats(MPI_COMM_SELF, &stats) == ICTUS_ERR_SAMPLES);
    static const int64_t slacks[] = {1000, 5000};
    for (int i = 0; i < 2; i++) {
        world.from_first[SLACK] = slacks[i];
        world.from_first[DEADLINE] = world.now + AHEAD_NS + 1000;
        world.overshoot_ns = 800;
        (void)start();
    }
    CHECK(!ictus_harmonize_stats(MPI_COMM_SELF, &stats));
    CHECK(stats.calls == 2 && stats.late == 0 && stats.resyncs == 0);
    CHECK_NEAR(stats.slack_ns, 5000, 0);
    CHECK_NEAR(stats.mean_slack_ns, 3000, 1e-9);
    CHECK_NEAR(stats.tolerance_ns, TOLERANCE_NS, 1e-9);
    CHECK_NEAR(stats.skew_ns, 1000, 1e-9); /* two sigma of 300 ns, and 800 ns late */
    world.from_first[DEADLINE] = world.now + AHEAD_NS + 1000;
    world.overshoot_ns = -800;
    (void)start();
    CHECK(!ictus_harmonize_stats(MPI_COMM_SELF, &stats));
    CHECK_NEAR(stats.skew_ns, 600, 1e-9); /* early does not count as late */
    CHECK(ictus_harmonize_stats(MPI_COMM_NULL, &stats) == ICTUS_ERR_ARG);
    CHECK(ictus_harmonize_stats(MPI_COMM_SELF, NULL) == ICTUS_ERR_ARG);
    CHECK(!ictus_harmonize_clock(MPI_COMM_SELF, &clock) && clock == &clock_here);
    CHECK(ictus_harmonize_clock(MPI_COMM_SELF, NULL) == ICTUS_ERR_ARG);
}

static void errors_end_the_start(void)
{
    begin(0, 100.0, 1e-5);
    world.reduce_error = MPI_ERR_OTHER;
    CHECK(ictus_harmonize(MPI_COMM_SELF, NULL) == ICTUS_ERR_MPI && !world.bcasts);
    CHECK(ictus_harmonize_retry(MPI_COMM_SELF, 2, NULL) == ICTUS_ERR_MPI && world.reduces == 2);
    world.reduce_error = MPI_SUCCESS;
    world.bcast_error = MPI_ERR_OTHER;
    CHECK(ictus_harmonize(MPI_COMM_SELF, NULL) == ICTUS_ERR_MPI);
    world.bcast_error = MPI_SUCCESS;
    CHECK(!ictus_harmonize(MPI_COMM_SELF, NULL) && state.stats.calls == 1);
    world.stepped = true;
    world.resync_error = ICTUS_ERR_CLOCK;
    CHECK(ictus_harmonize(MPI_COMM_SELF, NULL) == ICTUS_ERR_CLOCK);
    CHECK(state.stats.calls == 1 && state.stats.resyncs == 0);
    CHECK(ictus_harmonize(MPI_COMM_NULL, NULL) == ICTUS_ERR_ARG);
}

int main(void)
{
    the_instant_is_a_slack_ahead();
    others_follow_the_first();
    clocks_are_mended_in_time();
    one_process_is_enough();
    work_is_followed_by_a_rehearsal();
    mistrust_leads_to_a_sync();
    slacks_are_learned();
    late_starts_are_repeated();
    statistics_are_kept();
    errors_end_the_start();
    return check_result();
}
