/* SPDX-License-Identifier: BSD-3-Clause */
/* The causes of waits, and when two locations last synchronised, in analyses made by hand. */
#include "../check.h"

#include "core/random.h"
#include "wait_scene.h"
#include "waits/blame.h"
#include "waits/ledger.h"

#include <math.h>

/* The blame of a path on a location; zero if it is not among the causes. */
static struct blame_row blame_of(const struct blame *blame, uint32_t location, uint32_t path)
{
    for (uint64_t i = 0; i < blame->count; i++) {
        if (blame->list[i].location == location && blame->list[i].path == path) {
            return blame->list[i];
        }
    }
    return (struct blame_row){.direct = 0};
}

/* The calls of each location begin here; the remaining locations have none. */
static void scene_begin(struct scene *s, uint32_t location)
{
    for (uint32_t l = location; l <= LOCATIONS; l++) {
        s->first[l] = s->a.calls.calls.count;
    }
}

static double error_counted(int history)
{
    return history + 1.0;
}

/*
 * 1 waits 900 ns for 2 and then begins a call that 0 waits 570 ns for, and leaves it long after 0
 * has gone on. The replay must pass that call only after 0 has charged it, so that the blame for
 * 1's own wait is passed on to 2. If clock 2 is uncertain, so is what is blamed on it.
 */
static void blame_is_passed_on(int threads, bool certain)
{
    struct scene s;
    struct times times;
    struct syncs syncs;
    struct blame blame = {.list = NULL};
    uint64_t lower[LOCATIONS + 1] = {1, 1};
    uint64_t points[LOCATIONS + 1] = {0};
    scene_open(&s);
    s.a.session.threads = threads;
    s.a.partners.lower = lower;
    s.a.session.history.first = points;
    scene_begin(&s, 0);
    scene_share(&s, 4, 500);
    const uint32_t last = scene_call(&s, 0, 500, 1100, 3);
    (void)scene_call(&s, 0, 1100, 1100, 0);
    scene_begin(&s, 1);
    scene_share(&s, 4, 100);
    const uint32_t middle = scene_call(&s, 1, 100, 1020, 2);
    scene_share(&s, 4, 50);
    const uint32_t slow = scene_call(&s, 1, 1070, 3000, 3);
    (void)scene_call(&s, 1, 3000, 3000, 0);
    scene_begin(&s, 2);
    scene_share(&s, 4, 1000);
    const uint32_t cause = scene_call(&s, 2, 1000, 1010, 2);
    (void)scene_call(&s, 2, 1010, 1010, 0);
    scene_begin(&s, 3);
    scene_wait(&s, middle, cause, WAIT_LATE_SENDER);
    scene_wait(&s, last, slow, WAIT_LATE_RECEIVER);
    for (uint32_t l = 0; l < 3 && !certain; l++) {
        scene_errs(&s, l, 20, l == 2 ? error_counted : NULL);
    }
    scene_times(&s, &times);
    REQUIRE(!ictusi_syncs_begin(&syncs, &s.a, NULL));
    scene_walk(&s, &syncs.pass);
    REQUIRE(!ictusi_syncs_meet(&syncs, NULL));
    ictusi_syncs_end(&syncs);
    REQUIRE(!ictusi_blame_find(&blame, &times, &syncs, NULL));
    CHECK_NEAR(blame.total, 1470, 1e-9);
    CHECK(blame.cyclic == 0 && blame.unattributed == 0);
    /* 1 spent 20 ns more in the call than 0, besides the 900 ns that it waited. */
    CHECK_NEAR(blame_of(&blame, 1, 2).direct, 570 * 20.0 / 920, 1e-6);
    CHECK_NEAR(blame_of(&blame, 2, 4).direct, 900, 1e-6);
    CHECK_NEAR(blame_of(&blame, 2, 4).indirect, 570 * 900.0 / 920, 1e-6);
    for (int k = 0; k < LANES && !certain; k++) { /* in each, 2 came so much earlier or later */
        const double later = k < HISTORIES ? -error_counted(k) : error_counted(k - HISTORIES);
        const double off = fmin(later, 20); /* the call ends then */
        CHECK_NEAR(blame.total_lanes[k], 1470 + off, 1e-6);
        CHECK_NEAR(blame_of(&blame, 1, 2).lanes[k], 570 * 20.0 / 920, 1e-6);
        CHECK_NEAR(blame_of(&blame, 2, 4).lanes[k], 900 + off + 570 * 900.0 / 920, 1e-6);
    }
    ictusi_blame_free(&blame);
    ictusi_syncs_free(&syncs);
    ictusi_times_free(&times);
    scene_close(&s);
}

/*
 * Each of two locations waits first, for what the other does afterwards: at most one of these waits
 * can be the cause of the other. What is charged and what is left over are all the waiting.
 */
static void circles_leave_blame(void)
{
    struct scene s;
    struct times times;
    struct syncs syncs;
    struct blame blame = {.list = NULL};
    uint64_t lower[LOCATIONS + 1] = {2}; /* waits by the lower of the two */
    uint64_t points[LOCATIONS + 1] = {0};
    uint32_t waiter[2];
    uint32_t cause[2];
    double charged = 0;
    scene_open(&s);
    s.a.session.threads = 1;
    s.a.partners.lower = lower;
    s.a.session.history.first = points;
    for (uint32_t l = 0; l < 2; l++) {
        scene_begin(&s, l);
        scene_share(&s, 4, 100);
        waiter[l] = scene_call(&s, l, 100, 200, 2);
        scene_share(&s, 5, 100);
        cause[l] = scene_call(&s, l, 300, 310 + l, 3);
        (void)scene_call(&s, l, 310 + l, 310 + l, 0);
    }
    scene_begin(&s, 2);
    scene_wait(&s, waiter[0], cause[1], WAIT_LATE_SENDER);
    scene_wait(&s, waiter[1], cause[0], WAIT_LATE_SENDER);
    scene_times(&s, &times);
    REQUIRE(!ictusi_syncs_begin(&syncs, &s.a, NULL));
    scene_walk(&s, &syncs.pass);
    REQUIRE(!ictusi_syncs_meet(&syncs, NULL));
    ictusi_syncs_end(&syncs);
    REQUIRE(!ictusi_blame_find(&blame, &times, &syncs, NULL));
    CHECK(blame.cyclic == 1);
    CHECK_NEAR(blame.total, 200, 1e-9);
    for (uint64_t i = 0; i < blame.count; i++) {
        charged += blame.list[i].direct + blame.list[i].indirect;
    }
    CHECK(blame.unattributed > 0);
    CHECK_NEAR(charged + blame.unattributed, 200, 1e-9);
    ictusi_blame_free(&blame);
    ictusi_syncs_free(&syncs);
    ictusi_times_free(&times);
    scene_close(&s);
}

/* Random steps: meetings, waits for each other, and calls without effect. */
enum { STEPS = 120, STEP_PLAIN, STEP_WAIT, STEP_MEET, STEP_SCAN, STEP_ROOTED };

struct history_step {
    int kind;
    bool member[LOCATIONS]; /* for a wait, exactly two */
    uint32_t waiter;
    uint32_t call[LOCATIONS]; /* by member */
};

static void steps_draw(struct history_step *steps, struct rng *rng)
{
    for (int i = 0; i < STEPS; i++) {
        struct history_step *step = &steps[i];
        *step = (struct history_step){.kind = STEP_PLAIN + (int)ictusi_random_below(rng, 5)};
        const uint32_t one = (uint32_t)ictusi_random_below(rng, LOCATIONS);
        const uint32_t other =
            (one + 1 + (uint32_t)ictusi_random_below(rng, LOCATIONS - 1)) % LOCATIONS;
        step->waiter = one;
        step->member[one] = step->member[other] = true;
        for (uint32_t l = 0; l < LOCATIONS; l++) {
            const bool more = ictusi_random_below(rng, 3) == 0;
            step->member[l] = step->member[l] || (more && step->kind > STEP_WAIT);
        }
    }
}

/*
 * The calls of each location in order, waits, and, for collective steps, the points at which
 * members enter and leave a node. The node of a scan depends on another node, and a rooted
 * operation has one exit.
 */
struct step_graph {
    uint32_t call_of[2 * LOCATIONS * STEPS], link[2 * LOCATIONS * STEPS];
    uint8_t kind[2 * LOCATIONS * STEPS];
    uint32_t edges[2 * LOCATIONS * STEPS];
    uint64_t first[LOCATIONS + 1], lower[LOCATIONS + 1];
    struct vnode nodes[STEPS];
};

static void steps_enter(struct scene *s, struct step_graph *g, struct history_step *steps)
{
    uint32_t points = 0;
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        scene_begin(s, l);
        g->first[l] = points;
        for (int i = 0; i < STEPS; i++) {
            struct history_step *step = &steps[i];
            struct vnode *node = &g->nodes[i];
            if (!step->member[l]) {
                continue;
            }
            const bool leaves = step->kind != STEP_ROOTED || l == step->waiter;
            step->call[l] = scene_call(s, l, 10L * i, 10L * i + 8, 0);
            for (int in = 0; in < 2 && step->kind > STEP_WAIT; in++) {
                g->call_of[points] = step->call[l];
                g->kind[points] = in ? POINT_IN : POINT_OUT;
                g->link[points] = NODE_VIRTUAL | (uint32_t)i;
                node->in_count += !in;
                node->out_count += in && leaves;
                points += !in || leaves;
            }
        }
    }
    g->first[LOCATIONS] = points;
    scene_begin(s, LOCATIONS);
}

static void steps_connect(struct scene *s, struct step_graph *g, const struct history_step *steps)
{
    uint32_t edges = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        struct vnode *node = &g->nodes[i];
        node->class = POINT_COLLECTIVE;
        node->edges = edges;
        for (int in = 0; in < 2; in++) {
            for (uint32_t p = 0; p < g->first[LOCATIONS]; p++) {
                const bool own = g->link[p] == (NODE_VIRTUAL | i);
                if (own && g->kind[p] == (in ? POINT_IN : POINT_OUT)) {
                    g->edges[edges++] = p;
                }
            }
        }
        if (steps[i].kind == STEP_SCAN) {
            g->edges[node->edges] = NODE_VIRTUAL | i;
        }
    }
    s->a.session.graph = (struct graph){
        .vnodes = g->nodes, .vnode_count = STEPS, .edges = g->edges, .edge_count = edges};
    s->a.session.history.first = g->first;
    s->a.session.history.points.kind = g->kind;
    s->a.session.history.points.link = g->link;
    s->a.calls.call_of.area = g->call_of;
    s->a.partners.lower = g->lower;
}

static uint32_t step_other(const struct history_step *step)
{
    uint32_t l = 0;
    while (!step->member[l] || l == step->waiter) {
        l++;
    }
    return l;
}

/* The call that the waiter of a step waits for. */
static uint32_t step_cause(const struct scene *s, const struct history_step *step)
{
    return partner_at(&s->a.partners, step->call[step->waiter])->call;
}

/* Whether two calls come before two others, each in its own location. */
static bool point_is_before(struct sync_point a, struct sync_point b)
{
    return a.own < b.own && a.other < b.other;
}

/* The calls of the wait of a step between two locations; CALL_NONE twice if there is none. */
static struct sync_point step_wait(const struct scene *s, const struct history_step *step,
                                   uint32_t own, uint32_t other)
{
    if (step->kind != STEP_WAIT || !step->member[own] || !step->member[other]) {
        return (struct sync_point){CALL_NONE, CALL_NONE};
    }
    const uint32_t waiter = step->call[step->waiter];
    const uint32_t cause = step_cause(s, step);
    return step->waiter == own ? (struct sync_point){waiter, cause}
                               : (struct sync_point){cause, waiter};
}

/*
 * Found by trying all steps: the last wait of the pair before both calls, or the last meeting
 * before them if the waiter was there later.
 */
static struct sync_point step_before(const struct scene *s, const struct history_step *steps, int i)
{
    const uint32_t own = steps[i].waiter;
    const uint32_t other = step_other(&steps[i]);
    const struct sync_point calls = {steps[i].call[own], step_cause(s, &steps[i])};
    struct sync_point best = {CALL_NONE, CALL_NONE};
    for (int k = 0; k < STEPS; k++) {
        const struct sync_point at = step_wait(s, &steps[k], own, other);
        const bool later = own < other ? at.own >= best.own : at.other >= best.other;
        if (point_is_before(at, calls) && (best.own == CALL_NONE || later)) {
            best = at;
        }
    }
    for (int k = 0; k < STEPS; k++) {
        const struct history_step *step = &steps[k];
        const struct sync_point at = {step->call[own], step->call[other]};
        const bool met = step->kind == STEP_MEET && step->member[own] && step->member[other];
        if (met && point_is_before(at, calls) && (best.own == CALL_NONE || at.own > best.own)) {
            best = at;
        }
    }
    return best;
}

/*
 * The waits of the steps. For every third one, the cause is an earlier call, so that waits cross.
 */
static void steps_wait(struct scene *s, struct step_graph *g, const struct history_step *steps,
                       struct rng *rng)
{
    for (int i = 0; i < STEPS; i++) {
        if (steps[i].kind == STEP_WAIT) {
            const uint32_t waiter = steps[i].waiter;
            const uint32_t other = step_other(&steps[i]);
            const uint32_t early =
                ictusi_random_below(rng, 3) ? 0 : 1 + (uint32_t)ictusi_random_below(rng, 8);
            const uint32_t at = steps[i].call[other];
            const uint32_t first = (uint32_t)s->first[other];
            scene_wait(s, steps[i].call[waiter], at - first > early ? at - early : at,
                       WAIT_LATE_SENDER);
            scene_wait_for(s, steps[i].call[waiter], 1);
            g->lower[waiter < other ? waiter : other]++;
        }
    }
}

/* Two locations synchronise when one waits for the other, and when both leave a meeting. */
static void waits_know_the_last_step(void)
{
    static struct step_graph g;
    static struct history_step steps[STEPS];
    struct scene s;
    struct syncs syncs;
    struct sync_search search;
    struct rng rng;
    for (uint64_t trial = 0; trial < 20; trial++) {
        memset(&g, 0, sizeof g);
        scene_open(&s);
        ictusi_random_seed(&rng, 7, trial);
        steps_draw(steps, &rng);
        steps_enter(&s, &g, steps);
        steps_connect(&s, &g, steps);
        steps_wait(&s, &g, steps, &rng);
        REQUIRE(!ictusi_syncs_begin(&syncs, &s.a, NULL));
        scene_walk(&s, &syncs.pass);
        REQUIRE(!ictusi_syncs_meet(&syncs, NULL));
        ictusi_syncs_end(&syncs);
        REQUIRE(!ictusi_sync_search_init(&search, &syncs));
        for (int k = 0; k < STEPS; k++) {
            const int i = trial % 2 ? k : STEPS - 1 - k; /* forwards or backwards */
            if (steps[i].kind == STEP_WAIT) {
                const struct sync_point right = step_before(&s, steps, i);
                const struct sync_point found =
                    ictusi_syncs_before(&syncs, &search, steps[i].call[steps[i].waiter]);
                CHECK(found.own == right.own && found.other == right.other);
            }
        }
        ictusi_sync_search_free(&search);
        ictusi_syncs_free(&syncs);
        scene_close(&s);
    }
}

/*
 * Each call waits for the one before it in a ring of locations. Each location computes in one path
 * before a call, for a time that is drawn.
 */
static void chain_enter(struct scene *s, uint64_t lower[LOCATIONS + 1])
{
    struct rng rng;
    ictusi_random_seed(&rng, 5, 0);
    int64_t time[LOCATIONS] = {0};
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        scene_begin(s, l);
        for (int i = 0; i < CALLS; i++) {
            const int64_t ticks = 1 + (int64_t)ictusi_random_below(&rng, 1000);
            scene_share(s, 1 + l, ticks);
            time[l] += ticks;
            (void)scene_call(s, l, time[l], time[l] + (i < CALLS - 1 ? 1000 : 0), 6);
            time[l] += 1000;
        }
    }
    scene_begin(s, LOCATIONS);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        for (uint32_t i = 1; i < CALLS - 1; i++) {
            const uint32_t from = (l + 1) % LOCATIONS;
            const uint32_t call = (uint32_t)s->first[l] + i;
            scene_wait(s, call, (uint32_t)s->first[from] + i - 1, WAIT_LATE_SENDER);
            scene_wait_for(s, call, 1 + (int64_t)ictusi_random_below(&rng, 900));
            lower[l < from ? l : from]++;
        }
    }
}

/* Find the causes in a chain of waits. scene_errs() gives each clock errors of its own. */
static void chain_blame(int threads, double (*const errors[LOCATIONS])(int), struct blame *blame)
{
    static uint64_t points[LOCATIONS + 1];
    uint64_t lower[LOCATIONS + 1] = {0};
    struct scene s;
    struct times times;
    struct syncs syncs;
    *blame = (struct blame){.list = NULL};
    scene_open(&s);
    s.a.session.threads = threads;
    s.a.partners.lower = lower;
    s.a.session.history.first = points;
    chain_enter(&s, lower);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        scene_errs(&s, l, 1, errors[l]);
    }
    scene_times(&s, &times);
    REQUIRE(!ictusi_syncs_begin(&syncs, &s.a, NULL));
    scene_walk(&s, &syncs.pass);
    REQUIRE(!ictusi_syncs_meet(&syncs, NULL));
    ictusi_syncs_end(&syncs);
    REQUIRE(!ictusi_blame_find(blame, &times, &syncs, NULL));
    ictusi_syncs_free(&syncs);
    ictusi_times_free(&times);
    scene_close(&s);
}

static double chain_error(int history)
{
    return history * 3.25 - 60;
}

static bool same_lanes(const double a[LANES], const double b[LANES])
{
    bool same = true;
    for (int k = 0; k < LANES; k++) {
        same = same && a[k] == b[k];
    }
    return same;
}

static void blame_is_same(const struct blame *a, const struct blame *b)
{
    CHECK(a->total == b->total && a->unattributed == b->unattributed);
    CHECK(same_lanes(a->total_lanes, b->total_lanes));
    REQUIRE(a->count == b->count);
    for (uint64_t i = 0; i < a->count; i++) {
        const struct blame_row *x = &a->list[i];
        const struct blame_row *y = &b->list[i];
        CHECK(x->location == y->location && x->path == y->path);
        CHECK(x->direct == y->direct && x->indirect == y->indirect);
        CHECK(same_lanes(x->lanes, y->lanes));
    }
}

/*
 * The waits fill several pages of the ledger. All of their time is attributed, and any number of
 * threads finds the same as one, in each history.
 */
static void threads_share_a_ledger(void)
{
    static const int threads[] = {2, 3, 8};
    double (*const errors[LOCATIONS])(int) = {NULL, chain_error, NULL, chain_error};
    struct blame one;
    struct blame many;
    double sum = 0;
    chain_blame(1, errors, &one);
    for (uint64_t i = 0; i < one.count; i++) {
        sum += one.list[i].direct + one.list[i].indirect;
    }
    CHECK(one.total > 900.0 * CALLS && one.count >= LOCATIONS);
    CHECK_NEAR(sum + one.unattributed, one.total, 1e-6 * one.total);
    CHECK(one.total_lanes[0] != one.total);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        chain_blame(threads[i], errors, &many);
        blame_is_same(&one, &many);
        ictusi_blame_free(&many);
    }
    ictusi_blame_free(&one);
}

/* A row begins empty and keeps what is in it, however many more there will be. */
static void rows_begin_empty(void)
{
    enum { WIDTH = 3, SLOTS = 2 + 2 * WIDTH, ROWS = 200 };
    struct ledger l = {.range = {0, WIDTH}};
    for (uint64_t rows = 1; rows <= ROWS; rows += rows % 3 + 1) {
        const uint64_t before = l.row_count;
        REQUIRE(!ictusi_ledger_make(&l, 1, rows));
        REQUIRE(!ictusi_ledger_make(&l, 1, rows / 2)); /* nobody takes a row away */
        CHECK(l.row_count == rows);
        for (uint64_t i = 0; i < rows * SLOTS; i++) {
            const double wanted = i < before * SLOTS ? (double)i : 0;
            CHECK(l.rows[i] == wanted);
            l.rows[i] = (double)i;
        }
    }
    ictusi_ledger_free(&l);
}

int main(void)
{
    blame_is_passed_on(1, true);
    blame_is_passed_on(1, false);
    blame_is_passed_on(2, true);
    blame_is_passed_on(2, false);
    threads_share_a_ledger();
    waits_know_the_last_step();
    rows_begin_empty();
    circles_leave_blame();
    return check_result();
}
