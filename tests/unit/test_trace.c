/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the tracer that need no MPI: tables, timelines, logs and their unification. */
#include "../check.h"

#include "trace/keymap.h"
#include "trace/rawlog.h"
#include "trace/timeline.h"
#include "trace/unify.h"
#include "tracer/table.h"

#include <pthread.h>
#include <stdint.h>

static void test_table(void)
{
    enum { KEYS = 5000 };
    struct table table;
    REQUIRE(ictusi_table_init(&table, (size_t)2 * KEYS, sizeof(uint64_t)) == 0);
    for (uint64_t key = 1; key <= KEYS; key++) {
        uint64_t *value = ictusi_table_put(&table, key * 16);
        REQUIRE(value);
        *value = key;
    }
    for (uint64_t key = 1; key <= KEYS; key += 2) {
        uint64_t copy = 0;
        CHECK(ictusi_table_take(&table, key * 16, &copy));
        CHECK(copy == key);
    }
    for (uint64_t key = 1; key <= KEYS; key++) {
        const uint64_t *value = ictusi_table_find(&table, key * 16);
        CHECK((value != NULL) == (key % 2 == 0));
        CHECK(!value || *value == key);
    }
    CHECK(!ictusi_table_take(&table, 16, NULL));
    ictusi_table_fini(&table);
}

static void test_table_of_bytes(void)
{
    enum { MOST = 1 << 20, VALUE = 48 };
    struct table table;
    const size_t slots = ictusi_table_slots(MOST, VALUE);
    REQUIRE(ictusi_table_init(&table, slots, VALUE) == 0);
    CHECK(table.mapped_bytes <= MOST && 2 * table.mapped_bytes > MOST);
    CHECK(ictusi_table_put(&table, 7) != NULL);
    ictusi_table_clear(&table);
    CHECK(ictusi_table_find(&table, 7) == NULL);
    ictusi_table_fini(&table);
    CHECK(ictusi_table_slots(0, VALUE) == 7);
}

static void test_full_table(void)
{
    struct table table;
    int held = 0;
    REQUIRE(ictusi_table_init(&table, 7, sizeof(int)) == 0);
    while (held < 100 && ictusi_table_put(&table, (uint64_t)held + 1)) {
        held++;
    }
    CHECK(held == 7);
    CHECK(ictusi_table_take(&table, 3, NULL));
    CHECK(ictusi_table_put(&table, 1000) != NULL);
    CHECK(ictusi_table_put(&table, 1001) == NULL);
    ictusi_table_fini(&table);
}

/* Threads with keys that all belong to one bucket: none gets the value of another. */
enum { WORKERS = 4, TURNS = 4000 };

struct worker {
    struct table *table;
    uint64_t key;
    long wrong;
};

static void *worker_main(void *argument)
{
    struct worker *w = argument;
    for (uint64_t i = 0; i < TURNS; i++) {
        uint64_t *value = ictusi_table_put(w->table, w->key);
        uint64_t taken = 0;
        if (!value) {
            w->wrong++;
            continue;
        }
        *value = w->key * TURNS + i;
        const uint64_t *found = ictusi_table_find(w->table, w->key);
        w->wrong += found != value || *found != w->key * TURNS + i;
        w->wrong += !ictusi_table_take(w->table, w->key, &taken) || taken != w->key * TURNS + i;
        w->wrong += ictusi_table_find(w->table, w->key) != NULL;
    }
    return NULL;
}

static void test_table_of_threads(void)
{
    pthread_t threads[WORKERS];
    struct worker workers[WORKERS];
    struct table table;
    REQUIRE(ictusi_table_init(&table, 7, sizeof(uint64_t)) == 0);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){&table, (uint64_t)i + 1, 0};
        REQUIRE(!pthread_create(&threads[i], NULL, worker_main, &workers[i]));
    }
    for (int i = 0; i < WORKERS; i++) {
        (void)pthread_join(threads[i], NULL);
        CHECK(workers[i].wrong == 0);
    }
    ictusi_table_fini(&table);
}

static void test_timeline(void)
{
    struct timeline_point *points = calloc(4, sizeof(*points));
    REQUIRE(points);
    /*
     * 1000 ns gained in one second and 3000 in the next; a point that does not advance is left out.
     */
    points[0] = (struct timeline_point){.local = 0, .global = 500, .slope = 2e-6, .sigma_ns = 5};
    points[1] = (struct timeline_point){.local = 1000000000, .global = 1000001500};
    points[2] = (struct timeline_point){.local = 1000000000, .global = 1000001500};
    points[3] = (struct timeline_point){
        .local = 2000000000, .global = 2000004500, .slope = -1e-6, .sigma_ns = 9};
    struct timeline t = ictusi_timeline_make(points, 4);
    CHECK(t.count == 3);
    CHECK(ictusi_timeline_map(&t, 0) == 500);
    CHECK(ictusi_timeline_map(&t, 500000000) == 500001000);
    CHECK(ictusi_timeline_map(&t, 1500000000) == 1500003000);
    CHECK(ictusi_timeline_map(&t, 2000000000) == 2000004500);
    CHECK(ictusi_timeline_map(&t, 3000000000) == 3000003500);
    CHECK(ictusi_timeline_map(&t, -1000000000) == -1000001500);
    double sigma = 0.0;
    double bound = 0.0;
    ictusi_timeline_error(&t, 0, 2000000000, &sigma, &bound);
    CHECK_NEAR(sigma, 9.0, 1e-12);
    CHECK(bound >= 100000.0); /* 200 ppm during half a second */
    ictusi_timeline_free(&t);
}

/*
 * A process that reads the reference's own source cannot drift from it, so there is no bound at
 * all.
 */
static void test_timeline_exact(void)
{
    struct timeline_point *points = calloc(2, sizeof(*points));
    REQUIRE(points);
    points[0] = (struct timeline_point){.local = 0, .global = 7};
    points[1] = (struct timeline_point){.local = 1000000000, .global = 1000000007};
    struct timeline t = ictusi_timeline_make(points, 2);
    double sigma = 1.0;
    double bound = 1.0;
    ictusi_timeline_error(&t, -1000000000, 3000000000, &sigma, &bound);
    CHECK_NEAR(sigma, 0.0, 1e-12);
    CHECK_NEAR(bound, 0.0, 1e-12);
    ictusi_timeline_free(&t);
}

/*
 * Before the first and after the last synchronisation, errors grow as its fit says, and bounds by
 * the possible drift of oscillators: 200 ppm.
 */
static void test_timeline_ends(void)
{
    static const int64_t s = 1000000000;
    static const double sigma_ns[2] = {5, 9}, later_ns[2] = {20, 30}, bound_ns[2] = {100, 700};
    struct timeline_point *points = calloc(2, sizeof(*points));
    REQUIRE(points);
    for (int i = 0; i < 2; i++) {
        points[i] = (struct timeline_point){.local = i * s,
                                            .global = i * s,
                                            .sigma_ns = sigma_ns[i],
                                            .bound_ns = bound_ns[i],
                                            .later_sigma_ns = later_ns[i]};
    }
    struct timeline t = ictusi_timeline_make(points, 2);
    for (int end = 0; end < 2; end++) {
        for (int64_t away = 4 * s; away <= 10 * s; away += 3 * s) {
            double sigma = 0.0;
            double bound = 0.0;
            const int64_t at = end ? s + away : -away;
            const double away_s = (double)away * 1e-9;
            const double wanted = hypot(sigma_ns[end], later_ns[end] * away_s);
            CHECK_NEAR(ictusi_timeline_sigma(&t, at), wanted, 1e-9);
            ictusi_timeline_error(&t, end ? 0 : at, end ? at : s, &sigma, &bound);
            CHECK_NEAR(sigma, wanted, 1e-9);
            CHECK_NEAR(bound, bound_ns[end] + 2e5 * away_s, 1e-6);
        }
    }
    /* Each end has its own error; half way it is half of each, combined as one error or as two. */
    CHECK_NEAR(ictusi_timeline_sigma(&t, 0), 5, 1e-9);
    CHECK_NEAR(ictusi_timeline_sigma(&t, s), 9, 1e-9);
    CHECK_NEAR(ictusi_timeline_sigma(&t, s / 2), sqrt((7.0 * 7 + 2.5 * 2.5 + 4.5 * 4.5) / 2), 1e-9);
    ictusi_timeline_free(&t);
}

/* A distance that a drift of 200 ppm and both bounds explain is not a jump: up to 400.5 us after
 * two seconds. */
static void test_timeline_drift_is_no_step(void)
{
    for (int k = 0; k < 4; k++) {
        const int64_t off = (k % 2 ? 400600 : 400400) * (k / 2 ? -1 : 1);
        struct timeline_point *points = calloc(2, sizeof(*points));
        REQUIRE(points);
        points[0] = (struct timeline_point){.local = 0, .global = 0, .bound_ns = 300};
        points[1] = (struct timeline_point){
            .local = 2000000000, .global = 2000000000 + off, .bound_ns = 200};
        struct timeline t = ictusi_timeline_make(points, 2);
        CHECK_NEAR(t.jump_ns, k % 2 ? 400600.0 : 0.0, 1e-3);
        ictusi_timeline_free(&t);
    }
}

/* A clock that jumps between two synchronisations: its times show it. */
static void test_timeline_step(void)
{
    struct timeline_point *points = calloc(3, sizeof(*points));
    REQUIRE(points);
    points[0] = (struct timeline_point){.local = 0, .global = 500, .slope = 1e-6, .bound_ns = 300};
    points[1] = (struct timeline_point){.local = 2000000000, .global = 1999000000};
    points[2] = (struct timeline_point){.local = 3000000000, .global = 2999000000, .sigma_ns = 7};
    struct timeline t = ictusi_timeline_make(points, 3);
    CHECK(t.count == 3);
    CHECK_NEAR(t.jump_ns, 1002500.0, 1.0);
    CHECK(ictusi_timeline_map(&t, 1000000000) == 1000001500); /* the earlier line applies */
    CHECK(ictusi_timeline_map(&t, 2500000000) == 2499000000);
    double sigma = 0.0;
    double bound = 0.0;
    ictusi_timeline_error(&t, 0, 3000000000, &sigma, &bound);
    CHECK_NEAR(sigma, 1002500.0, 1.0);
    CHECK(bound >= sigma);
    ictusi_timeline_free(&t);
}

enum { MANY = 20 };

/* A drift that grows steadily, as while a machine warms up: 10 ns per s in each second. */
static int64_t warming(int64_t local)
{
    const double s = (double)local * 1e-9;
    return local + (int64_t)llround(5.0 * s * s + 1000.0 * s);
}

static struct timeline warming_timeline(double bound_ns, int bad)
{
    struct timeline_point *points = calloc(MANY, sizeof(*points));
    REQUIRE(points);
    for (int i = 0; i < MANY; i++) {
        const int64_t local = INT64_C(10000000000) * i;
        points[i] = (struct timeline_point){.local = local,
                                            .global = warming(local) + (i == bad ? 5000 : 0),
                                            .sigma_ns = 3,
                                            .bound_ns = bound_ns};
    }
    return ictusi_timeline_make(points, MANY);
}

/* The largest error between two points. */
static double off_between(struct timeline *t, int from, int to)
{
    double most = 0.0;
    for (int i = 10 * from; i <= 10 * to; i++) {
        const int64_t local = INT64_C(1000000000) * i;
        most = fmax(most, fabs((double)(ictusi_timeline_map(t, local) - warming(local))));
    }
    return most;
}

/* Many synchronisations are smoothed; straight lines between them would be off by 125 ns. */
static void test_timeline_smooth(void)
{
    struct timeline t = warming_timeline(1000, -1);
    CHECK(off_between(&t, 2, MANY - 3) <= 5.0);
    CHECK(off_between(&t, 0, MANY - 1) <= 60.0);
    CHECK(ictusi_timeline_sigma(&t, 55000000000) > ictusi_timeline_sigma(&t, 50000000000));
    double sigma = 0.0;
    double bound = 0.0;
    ictusi_timeline_error(&t, 50000000000, 60000000000, &sigma, &bound);
    CHECK(sigma >= ictusi_timeline_sigma(&t, 55000000000));
    ictusi_timeline_free(&t);
    /* If no point has room to move within its bound, lines are used. */
    t = warming_timeline(0, -1);
    CHECK(off_between(&t, 2, MANY - 3) > 100.0);
    ictusi_timeline_free(&t);
    /* A bad synchronisation stays where it is, and affects only its neighbours. */
    t = warming_timeline(10000, 2);
    CHECK_NEAR((double)ictusi_timeline_map(&t, 20000000000), (double)warming(20000000000) + 5000,
               0.5);
    CHECK(off_between(&t, 7, MANY - 3) <= 6.0);
    ictusi_timeline_free(&t);
}

static void test_scale(void)
{
    /* A third of a nanosecond per tick, at a count like that after months of uptime. */
    const struct tick_scale scale = {TICKS_TSC, UINT64_C(70000000000000000), 1000,
                                     (UINT64_C(1) << TICK_SHIFT) / 3};
    CHECK_NEAR(ticks_to_ns(&scale, UINT64_C(70000000000000000) + 3000000000), 1000001000.0, 1.0);
    CHECK_NEAR(ticks_to_ns(&scale, UINT64_C(70000000000000000) - 3000), 0.0, 1.0);
}

static const char log_0[] =
    "H\t1\t7\t0\t2\t10\nK\t0\t0\t0\t0\nI\t2000000000\nS\t1\t2000000001\t0\t0\t0\t0\n"
    "F\t4\nR\t2048\tours\nG\t1\ta\t0-1\nG\tabc\ta\t0-1\nN\t0\tMPI_COMM_WORLD\n"
    "C\t0\t1\t0\t2\t-1\nC\t5\tabc\t0\t2\t-1\nN\t5\tlater\n";
static const char log_1[] =
    "H\t1\t7\t1\t2\t11\nK\t0\t0\t0\t0\nI\t2000000000\nS\t1\t2000000001\t0\t0\t0\t0\n"
    "R\t2048\tother\nR\t2049\tours\nF\t4\nF\t6\nC\t2\tabc\t1\t2\t-1\nE\t3\t0\ncut off";

static void test_unify(void)
{
    struct rawlog logs[2];
    struct trace_map maps[2] = {{NULL, 0}, {NULL, 0}};
    struct unified u;
    struct ictus_why why = {""};
    REQUIRE(ictusi_rawlog_parse(log_0, strlen(log_0), &logs[0], &why) == ICTUS_OK);
    REQUIRE(ictusi_rawlog_parse(log_1, strlen(log_1), &logs[1], &why) == ICTUS_OK);
    CHECK(!logs[0].ended && logs[1].ended && logs[1].lost == 3);
    REQUIRE(ictusi_unify(logs, 2, false, &u, maps) == ICTUS_OK);
    CHECK(ictusi_unify_map_get(&maps[0], MAP_COMM, 0) == 0);
    const uint32_t comm = ictusi_unify_map_get(&maps[0], MAP_COMM, 5);
    REQUIRE(comm != KEYMAP_NONE);
    CHECK(ictusi_unify_map_get(&maps[1], MAP_COMM, 2) == comm);
    CHECK(ictusi_unify_map_get(&maps[1], MAP_COMM, 0) == KEYMAP_NONE);
    CHECK_STR(u.comms[comm].name, "later");
    REQUIRE(u.comms[comm].group != KEYMAP_NONE);
    CHECK(u.groups[u.comms[comm].group].count == 2);
    CHECK(ictusi_unify_map_get(&maps[0], MAP_REGION, 0) ==
          ictusi_unify_map_get(&maps[1], MAP_REGION, 1));
    CHECK(ictusi_unify_map_get(&maps[0], MAP_REGION, 0) !=
          ictusi_unify_map_get(&maps[1], MAP_REGION, 0));
    CHECK(ictusi_unify_map_get(&maps[0], MAP_FUNCTION, 4) ==
          ictusi_unify_map_get(&maps[1], MAP_FUNCTION, 4));
    CHECK(u.region_keys.count == 4);
    ictusi_unify_free(&u);
    for (int i = 0; i < 2; i++) {
        free(maps[i].flat);
        ictusi_rawlog_free(&logs[i]);
    }
}

/* The members of a point, in the order in which the tracer writes them. */
static void test_point(void)
{
    static const char text[] = "H\t1\t7\t0\t2\t10\nS\t11\t22\t0.25\t3.5\t44\t5e-3\n";
    struct rawlog log;
    struct ictus_why why = {""};
    REQUIRE(ictusi_rawlog_parse(text, strlen(text), &log, &why) == ICTUS_OK);
    REQUIRE(log.timeline.count == 1);
    const struct timeline_point *p = log.timeline.points;
    CHECK(p->local == 11 && p->global == 22 && p->slope == 0.25);
    CHECK(p->sigma_ns == 3.5 && p->bound_ns == 44.0 && p->later_sigma_ns == 5e-3);
    ictusi_rawlog_free(&log);
}

/* Whether a process with this host, anchor of its counter and line to the global clock reads the
 * clock of a process on host a whose line runs through (1000, 2000) with a drift of 1e-6. */
static bool clock_is_shared(const char *host, int kind, int anchor, const char *line)
{
    char text[2][160];
    struct rawlog logs[2];
    struct ictus_why why = {""};
    (void)snprintf(text[0], sizeof text[0], "H\t1\t7\t0\t2\t10\nK\t0\t5\t0\t0\nO\ta\nS\t%s\n",
                   "1000\t2000\t1e-6\t1\t9\t1");
    (void)snprintf(text[1], sizeof text[1], "H\t1\t7\t1\t2\t11\nK\t%d\t%d\t0\t0\nO\t%s\nS\t%s\n",
                   kind, anchor, host, line);
    for (int i = 0; i < 2; i++) {
        CHECK(ictusi_rawlog_parse(text[i], strlen(text[i]), &logs[i], &why) == ICTUS_OK);
    }
    const bool both = ictusi_rawlog_share_clock(&logs[0], &logs[1]);
    CHECK(ictusi_rawlog_share_clock(&logs[1], &logs[0]) == both);
    ictusi_rawlog_free(&logs[0]);
    ictusi_rawlog_free(&logs[1]);
    return both;
}

/* Processes that read one clock were synchronised at other instants of it, on the same line. */
static void test_shared_clock(void)
{
    CHECK(clock_is_shared("a", 0, 5, "1000\t2000\t1e-6\t1\t9\t1"));
    CHECK(clock_is_shared("a", 0, 5, "2001000\t2002002\t1e-6\t2\t9\t1"));
    CHECK(!clock_is_shared("a", 0, 5, "2001000\t2002000\t1e-6\t2\t9\t1"));
    CHECK(!clock_is_shared("a", 0, 5, "2001000\t2002004\t1e-6\t2\t9\t1"));
    CHECK(!clock_is_shared("b", 0, 5, "1000\t2000\t1e-6\t1\t9\t1"));
    CHECK(!clock_is_shared("a", 0, 6, "1000\t2000\t1e-6\t1\t9\t1"));
    CHECK(!clock_is_shared("a", 1, 5, "1000\t2000\t1e-6\t1\t9\t1"));
}

static void test_bad_logs(void)
{
    static const char *const texts[] = {"",
                                        "garbage",
                                        "H\n",
                                        "H\t1\t7\t0\t2\t10\n",
                                        "S\n\t\t\n\n",
                                        "H\t1\t7\t5\t2\t10\nS\t1\t1\t0\t0\t0\t0\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct rawlog log;
        struct ictus_why why = {""};
        CHECK(ictusi_rawlog_parse(texts[i], strlen(texts[i]), &log, &why) == ICTUS_ERR_FORMAT);
        CHECK(why.text[0]);
    }
}

int main(void)
{
    test_table();
    test_table_of_bytes();
    test_full_table();
    test_table_of_threads();
    test_timeline();
    test_timeline_exact();
    test_timeline_ends();
    test_timeline_drift_is_no_step();
    test_timeline_step();
    test_timeline_smooth();
    test_scale();
    test_unify();
    test_point();
    test_shared_clock();
    test_bad_logs();
    return check_result();
}
