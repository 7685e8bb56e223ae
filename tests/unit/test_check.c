/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ictus check counts of a given set of pairs: by class, operation, decade, and pair of ranks
 * and nodes. Two threads of process 0 and one process share a node; process 2 is on another one.
 */
#include "../check.h"

#include "correct/check.h"

#include <math.h>

enum { LOCATIONS = 4, PROCESSES = 3, NODES = 2, TICK_NS = 2 };
enum { P2P, BARRIER, UNKNOWN, LOCK, POINTS }; /* one point of each kind; pairs refer to it */

static struct layout_location locations[LOCATIONS] = {
    {.process = 0}, {.process = 0}, {.process = 1}, {.process = 2}};
static struct layout_process processes[PROCESSES] = {{.node = 0}, {.node = 0}, {.node = 1}};
static const struct layout layout = {.resolution = 1000000000 / TICK_NS,
                                     .location_count = LOCATIONS,
                                     .process_count = PROCESSES,
                                     .node_count = NODES,
                                     .locations = locations,
                                     .processes = processes};
static uint8_t kinds[POINTS] = {POINT_P2P | POINT_IN, POINT_COLLECTIVE | POINT_IN,
                                POINT_COLLECTIVE | POINT_IN, POINT_THREAD | POINT_IN};
static union point_note notes[POINTS] = {[BARRIER] = {.op = 0}, [UNKNOWN] = {.op = -1}};
static const struct history history = {.layout = &layout,
                                       .points = {.count = POINTS, .kind = kinds, .note = notes}};

/* A pair, its delay in ticks. */
static void pair_add(struct check_stats *stats, uint32_t point, uint32_t from, uint32_t to,
                     int64_t delay)
{
    stats->observer.pair(&stats->observer, point, from, to, delay);
}

static double told(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* The row of a table for a pair of ranks or nodes. */
static const json_t *row_of(const json_t *all, const char *table, int from, int to)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(json_object_get(all, table), i, row)
    {
        if ((int)told(row, "from") == from && (int)told(row, "to") == to) {
            return row;
        }
    }
    return NULL;
}

static void row_is(const json_t *row, double pairs, double violations, double worst_ns,
                   double least_ns)
{
    REQUIRE(row);
    CHECK(told(row, "pairs") == pairs && told(row, "violations") == violations);
    CHECK_NEAR(told(row, "max_violation_ns"), worst_ns, 1e-9);
    CHECK_NEAR(told(row, "min_latency_ns"), least_ns, 1e-9);
}

/* Each decade has the violations from a tenth of its edge on; the last one has all larger ones. */
static void decades_are_counted(void)
{
    struct check_stats stats;
    json_t *all = json_object();
    REQUIRE(ictusi_check_init(&stats, &history) == 0);
    double ns = 10;
    for (int decade = 1; decade < CHECK_BINS + 4; decade++, ns *= 10) {
        pair_add(&stats, P2P, 0, 2, -(int64_t)(ns / TICK_NS));
        pair_add(&stats, P2P, 0, 2, -(int64_t)(ns / TICK_NS) + 1); /* 2 ns less: the one below */
    }
    pair_add(&stats, P2P, 0, 2, 0);
    pair_add(&stats, P2P, 0, 2, 1); /* no violation */
    ictusi_check_json(&stats, all, "", true);
    const json_t *bins = json_object_get(all, "histogram");
    REQUIRE(json_array_size(bins) == CHECK_BINS);
    double edge = 10;
    for (size_t bin = 0; bin < CHECK_BINS; bin++, edge *= 10) {
        const json_t *one = json_array_get(bins, bin);
        CHECK_NEAR(told(one, "below_ns"), edge, edge * 1e-12);
        CHECK(told(one, "violations") == (bin + 1 < CHECK_BINS ? 2 : 9));
    }
    CHECK(ictusi_check_violations(&stats, POINT_P2P) == 2 * (CHECK_BINS + 3) + 1);
    CHECK_NEAR(told(all, "max_violation_ns"), ns / 10, 1e-3);
    CHECK(json_array_size(json_object_get(all, "operations")) == 0);
    json_decref(all);
    ictusi_check_fini(&stats);
}

/* Exits of a known operation are counted by operation; those of an unknown one by class alone. */
static void operations_are_counted(void)
{
    struct check_stats stats;
    json_t *all = json_object();
    REQUIRE(ictusi_check_init(&stats, &history) == 0);
    notes[UNKNOWN].op = -1;
    pair_add(&stats, BARRIER, 0, 2, -1);
    pair_add(&stats, BARRIER, 2, 0, 1);
    pair_add(&stats, UNKNOWN, 0, 2, -1);
    notes[UNKNOWN].op = CHECK_OPS;
    pair_add(&stats, UNKNOWN, 0, 2, -1);
    ictusi_check_json(&stats, all, "", true);
    const json_t *operations = json_object_get(all, "operations");
    REQUIRE(json_array_size(operations) == 1);
    CHECK(told(json_array_get(operations, 0), "exits") == 2);
    CHECK(told(json_array_get(operations, 0), "violations") == 1);
    CHECK(told(all, "pairs_collective") == 4 && told(all, "violations_collective") == 3);
    CHECK(told(all, "pairs_p2p") == 0 && told(all, "violations_p2p") == 0);
    CHECK(told(json_array_get(json_object_get(all, "histogram"), 0), "violations") == 3);
    json_decref(all);
    ictusi_check_fini(&stats);
}

/* Each operation has counts of its own, beside those of all others. */
static void each_operation_is_counted(void)
{
    struct check_stats stats;
    json_t *all = json_object();
    REQUIRE(ictusi_check_init(&stats, &history) == 0);
    for (int op = 0; op < COLLECTIVE_OPS; op++) {
        notes[UNKNOWN].op = op;
        for (int i = 0; i <= op; i++) {
            pair_add(&stats, UNKNOWN, 0, 2, i % 3 ? 1 : -1);
        }
    }
    ictusi_check_json(&stats, all, "", true);
    const json_t *operations = json_object_get(all, "operations");
    REQUIRE(json_array_size(operations) == COLLECTIVE_OPS);
    for (int op = 0; op < COLLECTIVE_OPS; op++) {
        const json_t *one = json_array_get(operations, (size_t)op);
        CHECK_STR(json_string_value(json_object_get(one, "op")),
                  ictusi_collective_op_name((enum collective_op)op));
        CHECK(told(one, "exits") == op + 1 && told(one, "violations") == op / 3 + 1);
    }
    json_decref(all);
    ictusi_check_fini(&stats);
}

/*
 * Pairs by ranks and by nodes, with the worst violation and the least delay. Threads of one process
 * read one clock, on which two events may have the same tick. Counts of two threads add up.
 */
static void pairs_are_counted(void)
{
    struct check_stats stats;
    json_t *all = json_object();
    REQUIRE(ictusi_check_init(&stats, &history) == 0);
    struct observer *other = stats.observer.split(&stats.observer);
    REQUIRE(other);
    struct check_stats *second = (struct check_stats *)other;
    pair_add(&stats, P2P, 0, 1, 0); /* one clock: fine */
    pair_add(&stats, P2P, 0, 2, 0); /* two processes: not fine */
    pair_add(second, P2P, 1, 2, -8);
    pair_add(&stats, P2P, 0, 2, 7);
    pair_add(&stats, P2P, 3, 0, 5);
    pair_add(second, P2P, 3, 2, 3);
    pair_add(&stats, LOCK, 0, 1, -4);
    pair_add(&stats, P2P, LAYOUT_NONE, 0, -100); /* an unknown sender: in no table */
    REQUIRE(stats.observer.join(&stats.observer, other) == 0);
    ictusi_check_json(&stats, all, "", true);
    CHECK(json_array_size(json_object_get(all, "rank_pairs")) == 4);
    row_is(row_of(all, "rank_pairs", 0, 0), 1, 0, 0, 0);
    row_is(row_of(all, "rank_pairs", 0, 1), 3, 2, 16, -16);
    row_is(row_of(all, "rank_pairs", 2, 0), 1, 0, 0, 10);
    row_is(row_of(all, "rank_pairs", 2, 1), 1, 0, 0, 6);
    CHECK(json_array_size(json_object_get(all, "node_pairs")) == 2);
    row_is(row_of(all, "node_pairs", 0, 0), 4, 2, 16, -16);
    row_is(row_of(all, "node_pairs", 1, 0), 2, 0, 0, 6);
    CHECK(ictusi_check_within_nodes(&stats) == 2);
    CHECK(ictusi_check_all_violations(&stats) == 4);
    CHECK(ictusi_check_largest(&stats) == 100);
    CHECK(ictusi_check_violated_ticks(&stats) == 8 + 4 + 100);
    CHECK(told(all, "max_violation_openmp_ns") == 8 && told(all, "max_violation_rma_ns") == 0);
    json_decref(all);
    all = json_object();
    ictusi_check_json(&stats, all, "then_", false); /* in short */
    CHECK(json_object_size(all) == POINT_CLASSES + 1);
    CHECK(told(all, "then_violations_p2p") == 3 && told(all, "then_max_violation_ns") == 200);
    CHECK(told(all, "then_violations_openmp") == 1);
    json_decref(all);
    ictusi_check_fini(&stats);
}

/* If there are too many nodes or processes, no table of pairs is kept. */
static void many_pairs_have_no_table(void)
{
    struct layout_process many[CHECK_PAIRS_MAX + 1] = {{.node = 0}, {.node = 0}, {.node = 1}};
    for (uint64_t more = 0; more < 2; more++) {
        struct check_stats stats;
        json_t *all = json_object();
        struct layout wide = layout;
        struct history far = history;
        wide.processes = many;
        wide.node_count = wide.process_count = CHECK_PAIRS_MAX + more;
        far.layout = &wide;
        REQUIRE(ictusi_check_init(&stats, &far) == 0);
        pair_add(&stats, P2P, 0, 2, -4);
        pair_add(&stats, P2P, 0, 3, -4);
        ictusi_check_json(&stats, all, "", true);
        CHECK(json_array_size(json_object_get(all, "node_pairs")) == (more ? 0 : 2));
        CHECK(json_array_size(json_object_get(all, "rank_pairs")) == (more ? 0 : 2));
        CHECK(ictusi_check_all_violations(&stats) == 2);
        json_decref(all);
        ictusi_check_fini(&stats);
    }
}

/* The sum of violations of years is exact to a part of 2^53, and does not overflow. */
static void violations_add_up(void)
{
    struct check_stats stats;
    REQUIRE(ictusi_check_init(&stats, &history) == 0);
    CHECK(ictusi_check_violated_ticks(&stats) == 0);
    pair_add(&stats, P2P, 0, 2, 5);
    pair_add(&stats, P2P, 0, 2, -3);
    pair_add(&stats, P2P, 0, 2, 0);
    CHECK(ictusi_check_violated_ticks(&stats) == 3);
    for (int i = 0; i < 9; i++) {
        pair_add(&stats, P2P, 0, 2, -((int64_t)1 << 61) - 1);
    }
    CHECK(ictusi_check_violated_ticks(&stats) == 9 * 0x1p61);
    ictusi_check_fini(&stats);
}

/* A thread is apart if more than one in a hundred of its pairs is off by more than 1 us. */
static void threads_apart_are_found(void)
{
    for (int off = 1; off <= 2; off++) {
        struct check_stats stats;
        REQUIRE(ictusi_check_init(&stats, &history) == 0);
        for (int i = 0; i < 100; i++) {
            pair_add(&stats, LOCK, 0, 1, i < off ? -501 : -500); /* of 2 ns */
        }
        CHECK(ictusi_check_thread_apart(&stats, 0) == (off > 1));
        CHECK(ictusi_check_thread_apart(&stats, 1) == (off > 1));
        CHECK(!ictusi_check_thread_apart(&stats, 2) && !ictusi_check_thread_apart(&stats, 3));
        ictusi_check_fini(&stats);
    }
}

int main(void)
{
    decades_are_counted();
    operations_are_counted();
    each_operation_is_counted();
    pairs_are_counted();
    many_pairs_have_no_table();
    violations_add_up();
    threads_apart_are_found();
    return check_result();
}
