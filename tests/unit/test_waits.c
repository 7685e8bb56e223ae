/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The analyses of waits, on calls made by hand: time by call path between any two calls, the
 * longest waits, the critical path, and sums of waits under known errors of the clocks.
 */
#include "../check.h"

#include "core/random.h"
#include "wait_scene.h"
#include "waits/critical.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Random calls, with none, one or some shares of time before each, and with few or many paths. */
static void scene_fill(struct scene *s)
{
    struct rng rng;
    ictusi_random_seed(&rng, 31, 0);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        int64_t time = 1000 + 10 * (int64_t)l;
        s->first[l] = s->a.calls.calls.count;
        s->begin[l] = time;
        for (int i = 0; i < CALLS; i++) {
            const int64_t shares = (int64_t)ictusi_random_below(&rng, SHARES_MOST);
            for (int64_t k = 0; k < shares; k++) {
                const int64_t ticks = 1 + (int64_t)ictusi_random_below(&rng, l ? 60 : 90);
                scene_share(s, (uint32_t)ictusi_random_below(&rng, l == 3 ? 2 : PATHS), ticks);
                time += ticks;
            }
            if (l == LOCATIONS - 1 && i == CALLS - 1) { /* it ends last */
                scene_share(s, 1, 50000);
                time += 50000;
            }
            const bool waits = l > 0 && i % 3 && i < CALLS - 1;
            const uint32_t cause = waits ? (uint32_t)(s->first[l - 1] + (uint64_t)i) : CALL_NONE;
            int64_t leave = time + (int64_t)ictusi_random_below(&rng, 50);
            if (waits && call_at(&s->a.calls, cause)->enter >= leave) {
                leave = call_at(&s->a.calls, cause)->enter + 1;
            }
            leave = i < CALLS - 1 ? leave : time; /* the last one is the end of the location */
            const uint32_t call =
                scene_call(s, l, time, leave, (uint32_t)ictusi_random_below(&rng, PATHS));
            time = leave;
            if (waits) {
                scene_wait(s, call, cause, WAIT_LATE_SENDER);
            }
        }
    }
    s->first[LOCATIONS] = s->a.calls.calls.count;
}

/* The same computed share by share and call by call. */
static void spent_plainly(const struct scene *s, uint32_t location, uint32_t from, uint64_t to,
                          int64_t spent[PATHS])
{
    const struct waiting_calls *c = &s->a.calls;
    const uint64_t begin = from == CALL_NONE ? s->first[location] : from;
    for (uint64_t i = begin; i <= to; i++) {
        if (i > begin || from == CALL_NONE) { /* what comes before a call does not belong to it */
            for (uint32_t k = call_delta_begin(c, i); k < call_at(c, i)->delta_end; k++) {
                const struct share_of_time share = call_share(c, k);
                spent[share.path] += share.ticks;
            }
        }
        if (i < to) {
            const struct waiting_call *one = call_at(c, i);
            spent[one->path] += one->leave - one->enter - analysis_wait(&s->a, i);
        }
    }
}

static bool map_is(const struct time_map *map, const int64_t spent[PATHS])
{
    bool good = true;
    int listed = 0;
    for (uint32_t path = 0; path < PATHS; path++) {
        good =
            good && map->ticks[path] == spent[path] && (spent[path] == 0 || map->is_listed[path]);
        listed += map->is_listed[path];
    }
    return good && listed == (int)map->count;
}

/*
 * Whether the time between two calls, or up to one from the beginning, equals the sum of its parts.
 */
static bool time_is_sum(const struct scene *s, const struct times *times, struct time_map *map,
                        uint32_t location, uint32_t from, uint64_t to)
{
    int64_t spent[PATHS] = {0};
    ictusi_time_map_clear(map);
    ictusi_times_between(times, map, location, from, to);
    spent_plainly(s, location, from, to, spent);
    return map_is(map, spent);
}

static void times_are_sums(const struct scene *s)
{
    static const uint64_t lengths[] = {0, 1, 2, 63, 64, 65, 128, 129, 130, 200, 500, CALLS - 1};
    struct times times;
    struct time_map map;
    int failures = 0;
    scene_times(s, &times);
    REQUIRE(!ictusi_time_map_init(&map, PATHS));
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        const uint64_t last = s->first[l + 1] - 1;
        for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
            for (uint64_t from = s->first[l]; from + lengths[k] <= last; from += 1 + from % 7) {
                failures += !time_is_sum(s, &times, &map, l, (uint32_t)from, from + lengths[k]);
            }
            failures += !time_is_sum(s, &times, &map, l, CALL_NONE, s->first[l] + lengths[k]);
        }
    }
    CHECK(failures == 0);
    ictusi_time_map_fini(&map);
    ictusi_times_free(&times);
}

static void totals_are_sums(const struct scene *s)
{
    struct times times;
    int64_t totals[PATHS] = {0};
    scene_times(s, &times);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        const uint64_t last = s->first[l + 1] - 1;
        const struct waiting_call *end = call_at(&s->a.calls, last);
        spent_plainly(s, l, CALL_NONE, last, totals);
        totals[end->path] += end->leave - end->enter - analysis_wait(&s->a, last);
    }
    CHECK(map_is(&times.totals, totals));
    ictusi_times_free(&times);
}

static const struct scene *sorted_scene;

static int by_wait(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    const int64_t more = analysis_wait(&sorted_scene->a, y) - analysis_wait(&sorted_scene->a, x);
    return more != 0 ? (more > 0 ? 1 : -1) : (x > y) - (x < y);
}

/* The thousand longest waits, in descending order; the first ones among equal waits. */
static void longest_waits_are_kept(const struct scene *s)
{
    static struct wait_instances w;
    static uint32_t order[ALL];
    for (uint32_t i = 0; i < ALL; i++) {
        order[i] = i;
    }
    sorted_scene = s;
    qsort(order, ALL, sizeof(*order), by_wait);
    REQUIRE(analysis_wait(&s->a, order[INSTANCES]) > 0); /* there are more than are kept */
    ictusi_instances_begin(&w, &s->a);
    scene_walk(s, &w.pass);
    ictusi_instances_end(&w);
    CHECK(w.count == INSTANCES);
    for (uint32_t i = 0; i < INSTANCES; i++) {
        CHECK(w.list[i].call == order[i] && w.list[i].ticks == analysis_wait(&s->a, order[i]));
    }
}

/* The path goes back from wait to wait without a gap, and is as long as the program. */
static void path_is_unbroken(const struct scene *s)
{
    struct times times;
    struct critical c;
    int64_t located[LOCATIONS] = {0};
    int64_t by_path = 0;
    scene_times(s, &times);
    REQUIRE(!ictusi_critical_find(&c, &times, NULL));
    const struct critical_segment *segments = c.segments.area;
    const uint64_t n = c.segments.count;
    REQUIRE(n > LOCATIONS - 1);
    int64_t end = 0;
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        const int64_t leave = call_at(&s->a.calls, s->first[l + 1] - 1)->leave;
        end = leave > end ? leave : end;
    }
    CHECK(segments[0].to == end && segments[n - 1].from == s->begin[segments[n - 1].location]);
    CHECK(c.length == end - segments[n - 1].from);
    for (uint64_t i = 0; i < n; i++) {
        located[segments[i].location] += segments[i].to - segments[i].from;
        CHECK(i == 0 || segments[i].to == segments[i - 1].from);
        /* The location that is waited for. */
        CHECK(i == 0 || segments[i].location == segments[i - 1].location - 1);
    }
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        CHECK(c.by_location[l] == located[l]);
        CHECK_NEAR(c.low[l], (double)located[l] / (double)c.length, 1e-12);
        CHECK_NEAR(c.high[l], c.low[l], 0);
    }
    for (uint32_t path = 0; path < PATHS; path++) {
        by_path += c.by_path.ticks[path];
    }
    CHECK(by_path == c.length);
    ictusi_critical_free(&c);
    ictusi_times_free(&times);
}

static double error_drawn(int history)
{
    struct rng rng;
    ictusi_random_seed(&rng, 77, (uint64_t)history);
    return 60 * ictusi_random_normal(&rng);
}

static double error_of_other(int history)
{
    return 2 * error_drawn(history + 1000);
}

static double within(double x, double most)
{
    return fmin(fmax(x, 0), most);
}

/* A wait under one history: both ends move by the errors of their clocks. */
static double wait_in_lane(const struct scene *s, uint64_t call, int lane)
{
    const struct waiting_call *c = call_at(&s->a.calls, call);
    const struct partner *p = partner_at(&s->a.partners, call);
    const double sign = lane < HISTORIES ? 1 : -1;
    const double own = sign * s->clocks[c->location].history[lane % HISTORIES];
    const double other = sign * s->clocks[p->location].history[lane % HISTORIES];
    const double most = (double)(c->leave - c->enter);
    return within((double)p->late + own - other, most) - within((double)p->late, most);
}

/* Each wait by itself: its lanes, and what it adds to the sum. */
static void wait_add(const struct scene *s, uint64_t call, struct wait_sum *sum)
{
    const struct waiting_call *c = call_at(&s->a.calls, call);
    const struct partner *p = partner_at(&s->a.partners, call);
    double lanes[LANES];
    if (p->state == WAIT_NONE) {
        return;
    }
    const bool apart = s->clock_of[c->location] != s->clock_of[p->location];
    CHECK(ictusi_wait_lanes(&s->a, call, (struct history_range){0, HISTORIES}, lanes) == apart);
    for (int k = 0; k < LANES && apart; k++) {
        CHECK_NEAR(lanes[k], wait_in_lane(s, call, k), 1e-9);
        sum->lanes[k] += lanes[k];
    }
    const double a = s->clocks[s->clock_of[c->location]].sigma[0];
    const double b = s->clocks[s->clock_of[p->location]].sigma[0];
    const double sigma = apart ? sqrt(a * a + b * b) : 0;
    const int64_t most = c->leave - c->enter;
    const int64_t wait = p->late < 0 ? 0 : p->late < most ? p->late : most;
    sum->ticks += wait;
    sum->n += wait > 0;
    sum->sigma += wait > 0 ? sigma : 0;
    sum->decidable += (double)p->late >= 1.96 * sigma ? (double)wait : 0;
}

/* No two rows are for the same pair; returns their sum. */
static struct wait_sum rows_together(const struct wait_rows *rows)
{
    struct wait_sum sum = {.ticks = 0};
    for (uint64_t i = 0; i < rows->count; i++) {
        const struct wait_row *row = &rows->list[i];
        CHECK(row->state == WAIT_LATE_SENDER && row->path < PATHS);
        for (uint64_t k = 0; k < i; k++) {
            CHECK(rows->list[k].path != row->path || rows->list[k].location != row->location);
        }
        ictusi_sum_add(&sum, &row->sum);
    }
    return sum;
}

/* All rows of waits between pairs, added one by one. */
static void sums_follow_histories(struct scene *s)
{
    struct wait_rows rows = {.list = NULL};
    struct wait_sum plain = {.ticks = 0};
    struct wait_sum pairs = {.ticks = 0};
    scene_errs(s, 0, 60, error_drawn);
    scene_errs(s, 1, 120, error_of_other);
    scene_errs(s, 2, 0, NULL);
    s->clock_of[3] = 2; /* the two share a clock */
    scene_rows(s, &rows);
    for (uint64_t i = 0; i < s->a.calls.calls.count; i++) {
        wait_add(s, i, &plain);
    }
    const struct wait_sum sum = rows_together(&rows);
    CHECK(sum.ticks == plain.ticks && sum.n == plain.n);
    CHECK_NEAR(sum.sigma, plain.sigma, 1e-6);
    CHECK_NEAR(sum.decidable, plain.decidable, 1e-6);
    CHECK(sum.decidable > 0 && sum.decidable < (double)sum.ticks);
    for (int k = 0; k < LANES; k++) {
        CHECK_NEAR(sum.lanes[k], plain.lanes[k], 1e-6);
    }
    CHECK(rows.pair_count == LOCATIONS - 1);
    for (uint64_t i = 0; i < rows.pair_count; i++) {
        CHECK(rows.pairs[i].waiter == rows.pairs[i].causer + 1);
        pairs.ticks += rows.pairs[i].ticks;
        pairs.n += rows.pairs[i].n;
    }
    CHECK(pairs.ticks == plain.ticks && pairs.n == plain.n);
    ictusi_rows_free(&rows);
}

/*
 * For a wait within one clock, only the rate of the clock is uncertain: some parts per million
 * here.
 */
static void waits_have_their_clocks_rate(void)
{
    struct wait_rows rows = {.list = NULL};
    struct scene s;
    scene_open(&s);
    const uint32_t cause = scene_call(&s, 0, 400000, 400010, 2);
    s.first[1] = 1;
    const uint32_t call = scene_call(&s, 1, 100000, 500000, 3);
    s.first[2] = s.first[3] = s.first[4] = 2;
    scene_wait(&s, call, cause, WAIT_LATE_SENDER);
    struct clock_errors *c = &s.clocks[0];
    REQUIRE(!ictusi_clock_errors_init(c, 2));
    c->times[1] = 1000000;
    for (int k = 0; k < HISTORIES; k++) {
        c->history[k] = 5;
        c->history[HISTORIES + k] = 5 + k;
    }
    s.a.histories.source = SIGMA_ARCHIVE;
    s.a.histories.reach = 5 + HISTORIES;
    scene_rows(&s, &rows);
    REQUIRE(rows.count == 1 && rows.list[0].sum.ticks == 300000);
    for (int k = 0; k < HISTORIES; k++) {
        CHECK_NEAR(rows.list[0].sum.lanes[k], -0.3 * k, 1e-9);
        CHECK_NEAR(rows.list[0].sum.lanes[HISTORIES + k], 0.3 * k, 1e-9);
    }
    ictusi_rows_free(&rows);
    scene_close(&s);
}

/* A recorded wait of zero counts if any single history has a wait, with that history's length. */
static void each_history_is_heard(void)
{
    struct scene s;
    scene_open(&s);
    const uint32_t call = scene_call(&s, 0, 1005, 2000, 3);
    s.first[1] = 1;
    const uint32_t cause = scene_call(&s, 1, 1000, 1010, 2); /* 5 ns earlier */
    s.first[2] = s.first[3] = s.first[4] = 2;
    scene_wait(&s, call, cause, WAIT_LATE_SENDER);
    scene_errs(&s, 0, 10, NULL);
    scene_errs(&s, 1, 0, NULL);
    s.a.histories.reach = 30;
    for (int heard = 0; heard < LANES; heard++) {
        struct wait_rows rows = {.list = NULL};
        double *off = &s.clocks[0].history[heard % HISTORIES];
        *off = heard < HISTORIES ? 30 : -30; /* by how much the recorded enter was too late */
        scene_rows(&s, &rows);
        REQUIRE(rows.count == 1 && rows.list[0].sum.ticks == 0 && rows.pair_count == 0);
        for (int k = 0; k < LANES; k++) {
            CHECK_NEAR(rows.list[0].sum.lanes[k], k == heard ? 25 : 0, 1e-9);
        }
        ictusi_rows_free(&rows);
        *off = 0;
        scene_rows(&s, &rows);
        CHECK(rows.count == 0);
        ictusi_rows_free(&rows);
    }
    scene_close(&s);
}

/*
 * In each history, the last member of a collective may be another one, for which all others wait.
 */
static void members_wait_for_the_last(void)
{
    enum { MEMBERS = 3, NODE = 0 };
    static const int64_t enters[MEMBERS] = {1000, 1050, 1080};
    uint32_t edges[2 * MEMBERS];
    uint32_t call_of[2 * MEMBERS];
    struct vnode node = {
        .edges = 0, .in_count = MEMBERS, .out_count = MEMBERS, .class = POINT_COLLECTIVE};
    struct wait_rows rows = {.list = NULL};
    struct scene s;
    scene_open(&s);
    for (uint32_t l = 0; l < MEMBERS; l++) {
        s.first[l] = scene_call(&s, l, enters[l], 1180, l);
        edges[l] = l;
        edges[MEMBERS + l] = MEMBERS + l;
        call_of[l] = call_of[MEMBERS + l] = l;
    }
    s.first[3] = s.first[4] = MEMBERS;
    s.a.calls.call_of.area = call_of;
    s.a.session.graph = (struct graph){.vnodes = &node, .vnode_count = 1, .edges = edges};
    for (uint32_t l = 0; l < MEMBERS; l++) {
        scene_wait(&s, l, l == 2 ? 1 : 2, WAIT_BARRIER);
        partner_at(&s.a.partners, l)->node = NODE_VIRTUAL | NODE;
    }
    scene_errs(&s, 0, 60, error_drawn);
    scene_errs(&s, 1, 120, error_of_other);
    scene_errs(&s, 2, 0, NULL);
    scene_rows(&s, &rows);
    REQUIRE(rows.count == MEMBERS);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        const struct wait_row *row = &rows.list[i];
        const uint32_t own = row->location;
        const int64_t wait = 1080 - enters[own];
        CHECK(row->state == WAIT_BARRIER && row->path == own && row->sum.ticks == wait);
        CHECK(row->sum.n == (wait > 0));
        for (int k = 0; k < LANES; k++) {
            double came[MEMBERS];
            double last = -INFINITY;
            for (uint32_t l = 0; l < MEMBERS; l++) {
                const double error = s.clocks[l].history[k % HISTORIES];
                came[l] = (double)enters[l] - (k < HISTORIES ? error : -error);
                last = fmax(last, came[l]);
            }
            const double waits = within(last - came[own], (double)(1180 - enters[own]));
            CHECK_NEAR(row->sum.lanes[k], waits - (double)wait, 1e-9);
        }
    }
    ictusi_rows_free(&rows);
    scene_close(&s);
}

/* Likewise for a scan: the members before this one are known through a chain of nodes. */
static void scans_wait_for_the_last_before(void)
{
    static const int64_t enters[] = {1000, 1050, 950};
    uint32_t edges[] = {0, 1, NODE_VIRTUAL | 0, NODE_VIRTUAL | 1, 3};
    uint32_t call_of[] = {0, 1, 2, 2};
    struct vnode nodes[] = {{.edges = 0, .in_count = 1},
                            {.edges = 1, .in_count = 2},
                            {.edges = 3, .in_count = 1, .out_count = 1}};
    struct wait_rows rows = {.list = NULL};
    struct scene s;
    scene_open(&s);
    for (uint32_t l = 0; l < 3; l++) {
        s.first[l] = scene_call(&s, l, enters[l], 1180, l);
    }
    s.first[3] = s.first[4] = 3;
    s.a.calls.call_of.area = call_of;
    s.a.session.graph = (struct graph){.vnodes = nodes, .vnode_count = 3, .edges = edges};
    scene_wait(&s, 2, 1, WAIT_EARLY_SCAN);
    partner_at(&s.a.partners, 2)->node = NODE_VIRTUAL | 2;
    scene_errs(&s, 0, 60, error_drawn);
    scene_errs(&s, 1, 120, error_of_other);
    scene_errs(&s, 2, 0, NULL);
    scene_rows(&s, &rows);
    REQUIRE(rows.count == 1 && rows.list[0].sum.ticks == 100);
    for (int k = 0; k < LANES; k++) {
        const double sign = k < HISTORIES ? 1 : -1;
        const double first = 1000 - sign * s.clocks[0].history[k % HISTORIES];
        const double second = 1050 - sign * s.clocks[1].history[k % HISTORIES];
        CHECK_NEAR(rows.list[0].sum.lanes[k], within(fmax(first, second) - 950, 230) - 100, 1e-9);
    }
    ictusi_rows_free(&rows);
    scene_close(&s);
}

/* Shares of any length keep their path and their ticks, whatever they are stored in. */
static void shares_keep_their_ticks(void)
{
    const int64_t edge = INT64_C(1) << SHARE_TICKS;
    const int64_t lengths[] = {1, edge - 1, edge, edge + 1, 5 * edge + 7, (INT64_C(1) << 62) - 1};
    const uint32_t paths[] = {0, 1, (UINT32_C(1) << PATH_BITS) - 1};
    struct scene s;
    scene_open(&s);
    const struct waiting_calls *c = &s.a.calls;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
            const uint64_t before = c->shares.count;
            int64_t sum = 0;
            scene_share(&s, paths[p], lengths[i]);
            CHECK(c->shares.count - before == (lengths[i] < edge ? 1 : SHARES_WIDE));
            for (uint64_t k = before; k < c->shares.count; k++) {
                CHECK(call_share(c, k).path == paths[p]);
                sum += call_share(c, k).ticks;
            }
            CHECK(sum == lengths[i]);
        }
    }
    scene_close(&s);
}

int main(void)
{
    shares_keep_their_ticks();
    static struct scene s;
    scene_open(&s);
    scene_fill(&s);
    times_are_sums(&s);
    totals_are_sums(&s);
    longest_waits_are_kept(&s);
    path_is_unbroken(&s);
    sums_follow_histories(&s);
    scene_close(&s);
    waits_have_their_clocks_rate();
    each_history_is_heard();
    scans_wait_for_the_last_before();
    members_wait_for_the_last();
    return check_result();
}
