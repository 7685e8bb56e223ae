/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The observer that counts violations of the clock condition (B07, equation (1)) over all pairs of
 * the graph.
 */
#include "correct/check.h"

#include "core/container.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /*
     * All sums are in one array, so that a team adds them in one reduction. From SUM_PAIRS on there
     * are two per pair of processes or nodes, followed by those of the locations.
     */
    SUM_CLASSES = 0, /* pairs, violations of each class */
    SUM_OPS = SUM_CLASSES + 2 * POINT_CLASSES,
    SUM_BINS = SUM_OPS + 2 * CHECK_OPS,
    SUM_TICKS = SUM_BINS + CHECK_BINS, /* of all violations: the lower 32 bits, and the others */
    SUM_WITHIN = SUM_TICKS + 2,
    SUM_PAIRS
};

/*
 * For each location, the number of its pairs with another location of its process, and of those
 * that contradict a common clock by more than a recorder may be late. A recorder may stamp the
 * release of a lock, for example, shortly before or after it.
 */
enum { THREAD_PAIRS, THREAD_APART, THREAD_SUMS };
static const double late_ns = 1000;

/* The number of cells in the table of processes, or of nodes if there are too many processes. */
static uint64_t pair_cells(const struct check_stats *stats)
{
    const uint64_t n = stats->processes ? stats->processes : stats->nodes;
    return n * n;
}

/* Whether two locations read the same clock, as the threads of one process do. */
static bool check_share_clock(const struct layout *layout, uint8_t class, uint32_t from,
                              uint32_t to)
{
    return class == POINT_THREAD || from == to ||
           (from != LAYOUT_NONE && layout->locations[from].process != LAYOUT_NONE &&
            layout->locations[from].process == layout->locations[to].process);
}

/*
 * Count in a cell of the pair table: all pairs, violations, the worst violation, and the least
 * delay.
 */
static void check_count_cell(struct check_stats *stats, uint64_t cell, bool bad, int64_t delay)
{
    stats->sums[SUM_PAIRS + 2 * cell]++;
    stats->sums[SUM_PAIRS + 2 * cell + 1] += bad;
    int64_t *largest = &stats->maxima[POINT_CLASSES + cell];
    int64_t *least = &stats->minima[cell];
    /*
     * The least delay of any pair, good or bad, is the best that a path achieves. A negative one is
     * a lower limit for how far two clocks are apart; a positive one is an upper limit for the
     * latency.
     */
    *largest = bad && -delay > *largest ? -delay : *largest;
    *least = delay < *least ? delay : *least;
}

static void check_count_violation(struct check_stats *stats, int64_t delay)
{
    /* Decades: below 10 ns, below 100 ns, and so on. A delay of 0 is a violation of 0 ns. */
    const double ns = (double)-delay * stats->ns_per_tick;
    int bin = 0;
    for (double edge = 10; bin < CHECK_BINS - 1 && ns >= edge; edge *= 10) {
        bin++;
    }
    stats->sums[SUM_BINS + bin]++;
    /* A single sum would overflow if clocks are days apart. */
    stats->sums[SUM_TICKS] += (uint64_t)-delay & UINT32_MAX;
    stats->sums[SUM_TICKS + 1] += (uint64_t)-delay >> 32;
}

/* The sums of a location, THREAD_SUMS each, are at the end of the array. */
static uint64_t *thread_sums(const struct check_stats *stats, uint32_t location)
{
    return &stats->sums[stats->sum_count -
                        THREAD_SUMS * (stats->history->layout->location_count - location)];
}

/*
 * Count at both ends, because a single pair does not say which of the two clocks is off. The clock
 * that is off stands out because most of its pairs are violated.
 */
static void check_count_threads(struct check_stats *stats, uint32_t from, uint32_t to,
                                int64_t delay)
{
    const bool apart = (double)-delay * stats->ns_per_tick > late_ns;
    const uint32_t ends[] = {from, to};
    for (int i = 0; i < 2; i++) {
        uint64_t *sums = thread_sums(stats, ends[i]);
        sums[THREAD_PAIRS]++;
        sums[THREAD_APART] += apart;
    }
}

static void check_count_op(struct check_stats *stats, int64_t op, bool bad)
{
    if (op >= 0 && op < CHECK_OPS) {
        stats->sums[SUM_OPS + 2 * op]++;
        stats->sums[SUM_OPS + 2 * op + 1] += bad;
    }
}

/*
 * delay: how much later than the first event the second one is stamped, ticks; <= 0 is a violation.
 */
static void check_on_pair(struct observer *observer, uint32_t point, uint32_t from, uint32_t to,
                          int64_t delay)
{
    struct check_stats *stats = container_of(observer, struct check_stats, observer);
    const struct layout *layout = stats->history->layout;
    const uint8_t class = stats->history->points.kind[point] & POINT_CLASS;
    /* The second event must be later than the first. On one clock, both may have the same tick. */
    const bool bad = check_share_clock(layout, class, from, to) ? delay < 0 : delay <= 0;
    stats->sums[SUM_CLASSES + 2 * class]++;
    stats->sums[SUM_CLASSES + 2 * class + 1] += bad;
    if (bad) {
        check_count_violation(stats, delay);
        stats->maxima[class] = -delay > stats->maxima[class] ? -delay : stats->maxima[class];
    }
    if (class == POINT_COLLECTIVE) {
        check_count_op(stats, stats->history->points.note[point].op, bad);
    }
    if (from == LAYOUT_NONE || layout->locations[from].process == LAYOUT_NONE ||
        layout->locations[to].process == LAYOUT_NONE) {
        return;
    }
    const uint32_t a = layout->locations[from].process;
    const uint32_t b = layout->locations[to].process;
    if (a == b && from != to) {
        check_count_threads(stats, from, to, delay);
    }
    if (class == POINT_THREAD) {
        return;
    }
    const uint64_t node_a = layout->processes[a].node;
    const uint64_t node_b = layout->processes[b].node;
    stats->sums[SUM_WITHIN] += bad && a != b && node_a == node_b;
    if (stats->processes) {
        check_count_cell(stats, a * stats->processes + b, bad, delay);
    } else if (stats->nodes) {
        check_count_cell(stats, node_a * stats->nodes + node_b, bad, delay);
    }
}

/*
 * Counts and extremes of pairs do not depend on their order, so threads count separately and are
 * then joined.
 */
static struct observer *stats_split(struct observer *observer)
{
    const struct check_stats *stats = container_of(observer, struct check_stats, observer);
    struct check_stats *other = malloc(sizeof *other);
    if (other && ictusi_check_init(other, stats->history)) {
        free(other);
        return NULL;
    }
    return other ? &other->observer : NULL;
}

static int stats_join(struct observer *observer, struct observer *its)
{
    struct check_stats *stats = container_of(observer, struct check_stats, observer);
    struct check_stats *other = container_of(its, struct check_stats, observer);
    for (uint64_t i = 0; i < stats->sum_count; i++) {
        stats->sums[i] += other->sums[i];
    }
    for (uint64_t i = 0; i < stats->maximum_count; i++) {
        const int64_t value = other->maxima[i];
        stats->maxima[i] = value > stats->maxima[i] ? value : stats->maxima[i];
    }
    for (uint64_t i = 0; i < stats->minimum_count; i++) {
        const int64_t value = other->minima[i];
        stats->minima[i] = value < stats->minima[i] ? value : stats->minima[i];
    }
    ictusi_check_fini(other);
    free(other);
    return ICTUS_OK;
}

int ictusi_check_init(struct check_stats *stats, const struct history *history)
{
    const struct layout *layout = history->layout;
    *stats = (struct check_stats){.observer = {check_on_pair, stats_split, stats_join},
                                  .history = history};
    stats->ns_per_tick = 1e9 / (double)layout->resolution;
    /* A table has n^2 cells. 0 means that there are too many processes or nodes for one. */
    stats->nodes = layout->node_count <= CHECK_PAIRS_MAX ? layout->node_count : 0;
    stats->processes = layout->process_count <= CHECK_PAIRS_MAX ? layout->process_count : 0;
    stats->sum_count = SUM_PAIRS + 2 * pair_cells(stats) + THREAD_SUMS * layout->location_count;
    stats->maximum_count = POINT_CLASSES + pair_cells(stats);
    stats->minimum_count = pair_cells(stats);
    stats->sums = calloc(stats->sum_count, sizeof *stats->sums);
    stats->maxima = calloc(stats->maximum_count, sizeof *stats->maxima);
    stats->minima = malloc((stats->minimum_count + 1) * sizeof *stats->minima);
    if (!stats->sums || !stats->maxima || !stats->minima) {
        ictusi_check_fini(stats);
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < stats->minimum_count; i++) {
        stats->minima[i] = INT64_MAX;
    }
    return ICTUS_OK;
}

void ictusi_check_fini(struct check_stats *stats)
{
    free(stats->sums);
    free(stats->maxima);
    free(stats->minima);
    stats->sums = NULL;
    stats->maxima = NULL;
    stats->minima = NULL;
}

uint64_t ictusi_check_violations(const struct check_stats *stats, enum point_class class)
{
    return stats->sums[SUM_CLASSES + 2 * class + 1];
}

uint64_t ictusi_check_all_violations(const struct check_stats *stats)
{
    uint64_t sum = 0;
    for (int c = 0; c < POINT_CLASSES; c++) {
        sum += ictusi_check_violations(stats, (enum point_class)c);
    }
    return sum;
}

uint64_t ictusi_check_within_nodes(const struct check_stats *stats)
{
    return stats->sums[SUM_WITHIN];
}

/*
 * Whether a thread's stamps contradict those of its process so often that it must read another
 * clock.
 */
bool ictusi_check_thread_apart(const struct check_stats *stats, uint32_t location)
{
    const uint64_t *sums = thread_sums(stats, location);
    const uint64_t one_in = 100; /* fewer come from threads that were interrupted while recording */
    return sums[THREAD_APART] > sums[THREAD_PAIRS] / one_in;
}

/* The largest violation of all classes, ticks; 0 if there is none. */
int64_t ictusi_check_largest(const struct check_stats *stats)
{
    int64_t largest = 0;
    for (int c = 0; c < POINT_CLASSES; c++) {
        largest = stats->maxima[c] > largest ? stats->maxima[c] : largest;
    }
    return largest;
}

double ictusi_check_violated_ticks(const struct check_stats *stats)
{
    return (double)stats->sums[SUM_TICKS] + (double)stats->sums[SUM_TICKS + 1] * 0x1p32;
}

static const char *const class_names[POINT_CLASSES] = {"p2p", "collective", "openmp", "rma"};

/* Set a member of the report, whose name is for example "raw_" "max_violation_" "p2p" "_ns". */
static void json_set(json_t *object, const char *prefix, const char *key, int class,
                     const char *unit, json_t *value)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s%s%s%s", prefix, key, class < 0 ? "" : class_names[class],
                   unit);
    (void)json_object_set_new(object, name, value);
}

static json_t *ops_json(const struct check_stats *stats)
{
    json_t *list = json_array();
    for (size_t op = 0; op < COLLECTIVE_OPS; op++) {
        const uint64_t pairs = stats->sums[SUM_OPS + 2 * op];
        if (pairs) {
            (void)json_array_append_new(list,
                                        json_pack("{s:s, s:I, s:I}", "op",
                                                  ictusi_collective_op_name((enum collective_op)op),
                                                  "exits", (json_int_t)pairs, "violations",
                                                  (json_int_t)stats->sums[SUM_OPS + 2 * op + 1]));
        }
    }
    return list;
}

/* One cell of a table. */
struct pair_cell {
    uint64_t pairs, violations;
    int64_t largest, least;
};

static struct pair_cell cell_at(const struct check_stats *stats, uint64_t cell)
{
    return (struct pair_cell){stats->sums[SUM_PAIRS + 2 * cell],
                              stats->sums[SUM_PAIRS + 2 * cell + 1],
                              stats->maxima[POINT_CLASSES + cell], stats->minima[cell]};
}

static void check_add_row(const struct check_stats *stats, json_t *list, uint64_t from, uint64_t to,
                          const struct pair_cell *cell)
{
    if (cell->pairs) {
        (void)json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:I, s:f, s:f}", "from", (json_int_t)from, "to",
                            (json_int_t)to, "pairs", (json_int_t)cell->pairs, "violations",
                            (json_int_t)cell->violations, "max_violation_ns",
                            (double)cell->largest * stats->ns_per_tick, "min_latency_ns",
                            (double)cell->least * stats->ns_per_tick));
    }
}

/* The table as counted, of n processes or nodes. */
static json_t *check_counted_json(const struct check_stats *stats, uint64_t n)
{
    json_t *list = json_array();
    for (uint64_t i = 0; i < n * n; i++) {
        const struct pair_cell cell = cell_at(stats, i);
        check_add_row(stats, list, i / n, i % n, &cell);
    }
    return list;
}

/* The sum of all cells of processes on two nodes. */
static struct pair_cell node_cell(const struct check_stats *stats, uint64_t from, uint64_t to)
{
    const struct layout_process *processes = stats->history->layout->processes;
    struct pair_cell sum = {0, 0, 0, INT64_MAX};
    for (uint64_t a = 0; a < stats->processes; a++) {
        for (uint64_t b = 0; b < stats->processes && processes[a].node == from; b++) {
            if (processes[b].node == to) {
                const struct pair_cell one = cell_at(stats, a * stats->processes + b);
                sum.pairs += one.pairs;
                sum.violations += one.violations;
                sum.largest = one.largest > sum.largest ? one.largest : sum.largest;
                sum.least = one.least < sum.least ? one.least : sum.least;
            }
        }
    }
    return sum;
}

static json_t *nodes_json(const struct check_stats *stats)
{
    if (!stats->processes) {
        return check_counted_json(stats, stats->nodes);
    }
    json_t *list = json_array();
    for (uint64_t i = 0; i < stats->nodes * stats->nodes; i++) {
        const struct pair_cell cell = node_cell(stats, i / stats->nodes, i % stats->nodes);
        check_add_row(stats, list, i / stats->nodes, i % stats->nodes, &cell);
    }
    return list;
}

static json_t *check_bins_json(const struct check_stats *stats)
{
    json_t *list = json_array();
    double edge = 10;
    for (int i = 0; i < CHECK_BINS; i++, edge *= 10) {
        (void)json_array_append_new(list, json_pack("{s:f, s:I}", "below_ns", edge, "violations",
                                                    (json_int_t)stats->sums[SUM_BINS + i]));
    }
    return list;
}

/*
 * Ticks are converted to ns here. Without `full`, only the few members are written that each step
 * of a correction reports under its own prefix.
 */
void ictusi_check_json(const struct check_stats *stats, json_t *object, const char *prefix,
                       bool full)
{
    enum { ALL = -1 };
    for (int c = 0; c < POINT_CLASSES; c++) {
        json_set(object, prefix, "violations_", c, "",
                 json_integer((json_int_t)ictusi_check_violations(stats, (enum point_class)c)));
    }
    json_set(object, prefix, "max_violation", ALL, "_ns",
             json_real((double)ictusi_check_largest(stats) * stats->ns_per_tick));
    if (!full) {
        return;
    }
    for (int c = 0; c < POINT_CLASSES; c++) {
        json_set(object, prefix, "max_violation_", c, "_ns",
                 json_real((double)stats->maxima[c] * stats->ns_per_tick));
        json_set(object, prefix, "pairs_", c, "",
                 json_integer((json_int_t)stats->sums[SUM_CLASSES + 2 * c]));
    }
    json_set(object, prefix, "operations", ALL, "", ops_json(stats));
    json_set(object, prefix, "histogram", ALL, "", check_bins_json(stats));
    json_set(object, prefix, "node_pairs", ALL, "", nodes_json(stats));
    json_set(object, prefix, "rank_pairs", ALL, "", check_counted_json(stats, stats->processes));
}
