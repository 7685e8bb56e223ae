/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The errors that the mesh reports if the noise belongs to processes, bursts or paths, against
 * known truth: 95 % intervals cover 95 %, whichever part is noisy.
 */
#include "../sim/world.h"
#include "core/laplacian.h"
#include "core/mesh_plan.h"
#include "core/pairing.h"
#include "core/random.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>

#include "../check.h"

enum { PROCESSES_MAX = 64, EXCHANGES = 12 };

enum { LONG_BURST = 400 };

/* One synchronisation of a world: the lines and errors of all its processes. */
struct outcome {
    struct line lines[PROCESSES_MAX];
    struct line_error errors[PROCESSES_MAX];
    struct mesh_quality quality;
};

static void add_sweep(struct world *w, struct mesh *mesh, uint64_t seed, double start_s)
{
    const int n = w->options.size;
    const size_t most = (size_t)n * (size_t)n / 2 + 1;
    struct mesh_edge *edges = calloc(most, sizeof(*edges));
    struct stamp stamps[EXCHANGES];
    struct pairing m;
    size_t count = 0;
    REQUIRE(edges && !ictusi_pairing_create(n, 20, seed, &m));
    world_wait(w, start_s);
    for (int r = 0; r < m.rounds; r++) {
        for (int i = 0; i < n; i++) {
            if (ictusi_pairing_asks(&m, r, i)) {
                struct mesh_edge *edge = &edges[count++];
                edge->client = i;
                edge->server = ictusi_pairing_partner(&m, r, i);
                world_burst(w, i, edge->server, EXCHANGES, stamps);
                REQUIRE(!ictusi_mesh_burst(stamps, EXCHANGES, MESH_PAIR_AUTO, NULL, edge));
            }
        }
    }
    REQUIRE(!ictusi_mesh_add(mesh, edges, count));
    ictusi_pairing_free(&m);
    free(edges);
}

static void synchronise(struct world *w, int sweeps, double window_s, struct outcome *out)
{
    struct mesh *mesh = NULL;
    REQUIRE(!ictusi_mesh_create(w->options.size, 1e-9, &mesh));
    for (int k = 0; k < sweeps; k++) {
        add_sweep(w, mesh, 1, window_s * k / (sweeps - 1));
    }
    REQUIRE(!ictusi_mesh_solve(mesh, out->lines, out->errors, 10.0, &out->quality));
    ictusi_mesh_free(mesh);
}

/* How many 95 % intervals cover the truth, and the mean square of errors in standard deviations. */
struct coverage {
    double inside, count, square;
};

/* Errors of the processes first to last, now and 10 s later. */
static void cover(struct world *w, const struct outcome *out, int first, int last,
                  struct coverage *c)
{
    const double now = world_now(w);
    /* The time of the world never goes back. */
    for (int later = 0; later <= 10; later += 10) {
        for (int i = first; i <= last; i++) {
            const double e = world_error(w, i, &out->lines[i], now + later);
            const double sigma = ictusi_line_error_sigma(&out->errors[i], later);
            c->inside += fabs(e) <= 1.96 * sigma;
            c->square += e * e / (sigma * sigma);
            c->count += 1.0;
        }
    }
}

/* Synchronise once in each of several worlds that differ in their seeds. */
static struct coverage cover_worlds(struct world_options o, int worlds, int sweeps, double window_s)
{
    struct coverage c = {0.0, 0.0, 0.0};
    for (int t = 1; t <= worlds; t++) {
        struct outcome out;
        o.seed = (uint64_t)t;
        struct world *w = world_create(&o);
        synchronise(w, sweeps, window_s, &out);
        cover(w, &out, 1, o.size - 1, &c);
        world_free(w);
    }
    return c;
}

/* Three noisy nodes report larger errors, and the others are as good as without them. */
static void noisy_nodes_know_it(void)
{
    enum { SIZE = 24, TRIALS = CHECK_TRIALS(60) };
    struct coverage quiet = {0.0, 0.0, 0.0};
    struct coverage noisy = {0.0, 0.0, 0.0};
    for (int t = 0; t < TRIALS; t++) {
        struct world_options o = world_defaults(SIZE, (uint64_t)t + 1);
        o.noisy = 3;
        o.noise_ns = 50e3;
        o.walk = 0.0;
        struct world *w = world_create(&o);
        struct outcome out;
        synchronise(w, 2, 0.3, &out);
        CHECK(ictusi_line_error_sigma(&out.errors[SIZE - 1], 0.0) >
              10.0 * ictusi_line_error_sigma(&out.errors[1], 0.0));
        cover(w, &out, 1, SIZE - 4, &quiet);
        cover(w, &out, SIZE - 3, SIZE - 1, &noisy);
        world_free(w);
    }
    CHECK_OF_TRIALS(quiet.inside > 0.88 * quiet.count);
    CHECK_OF_TRIALS(noisy.inside > 0.85 * noisy.count);
    CHECK_OF_TRIALS(noisy.square < 2.5 * noisy.count && noisy.square > 0.2 * noisy.count);
}

/* A noisy reference affects everybody's error, below and above the limit of exact solutions. */
static void a_noisy_reference_is_seen(void)
{
    for (int size = 16; size <= 64; size += 48) {
        struct world_options o = world_defaults(size, 1);
        o.noisy_first = true;
        o.noise_ns = 20e3;
        o.walk = 0.0;
        const struct coverage c = cover_worlds(o, CHECK_TRIALS(40), 2, 0.3);
        CHECK_OF_TRIALS(c.inside > 0.8 * c.count);
        CHECK_OF_TRIALS(c.square < 2.5 * c.count && c.square > 0.2 * c.count);
    }
}

/*
 * Clocks that wander 30 times as much as usual: the claimed errors follow, although the noise of an
 * edge hides what the offsets of many processes with many edges show.
 */
static void wandering_clocks_are_noticed(void)
{
    enum { SIZE = 12, TRIALS = CHECK_TRIALS(30) };
    struct world_options o = world_defaults(SIZE, 1);
    o.walk = 3e-8;
    const struct coverage c = cover_worlds(o, TRIALS, 8, 1.5);
    CHECK_OF_TRIALS(c.inside > 0.8 * c.count);
    CHECK_OF_TRIALS(c.square < 4.0 * c.count && c.square > 0.4 * c.count);
}

/* Many sweeps show the noise of a process neither too large nor too small. */
static void many_sweeps_show_the_noise(void)
{
    enum { SIZE = 12, TRIALS = CHECK_TRIALS(30) };
    struct coverage c = {0.0, 0.0, 0.0};
    for (int t = 0; t < TRIALS; t++) {
        struct world_options o = world_defaults(SIZE, (uint64_t)t + 1);
        o.walk = 0.0;
        o.tail = 0.0;
        struct world *w = world_create(&o);
        struct outcome out;
        synchronise(w, 12, 1.5, &out);
        const double now = world_now(w);
        for (int i = 1; i < SIZE; i++) {
            const double e = world_error(w, i, &out.lines[i], now);
            const double sigma = ictusi_line_error_sigma(&out.errors[i], 0.0);
            c.square += e * e / (sigma * sigma);
            c.count += 1.0;
        }
        world_free(w);
    }
    CHECK_OF_TRIALS(c.square < 1.4 * c.count && c.square > 0.75 * c.count);
}

/* One of sixteen bursts is congested. Between two processes no loop shows it, but the line does. */
static void a_congested_burst_counts_less(void)
{
    for (uint64_t seed = 1; seed <= CHECK_TRIALS(40); seed++) {
        struct world_options o = world_defaults(2, seed);
        o.congested = 0.15;
        o.walk = 0.0;
        struct world *w = world_create(&o);
        struct outcome out;
        synchronise(w, 16, 1.5, &out);
        const double now = world_now(w);
        const double sigma = ictusi_line_error_sigma(&out.errors[1], 10.0);
        CHECK(fabs(world_error(w, 1, &out.lines[1], now)) < 200.0);
        CHECK(fabs(world_error(w, 1, &out.lines[1], now + 10.0)) < 4.0 * sigma);
        CHECK(sigma < 20e3);
        world_free(w);
    }
}

/*
 * Nearly every pair of four processes has a congested burst in one of sixteen sweeps; its other
 * bursts show which.
 */
static void congested_bursts_of_most_pairs_count_less(void)
{
    for (uint64_t seed = 1; seed <= CHECK_TRIALS(10); seed++) {
        struct world_options o = world_defaults(4, seed);
        o.congested = 0.1;
        o.walk = 0.0;
        struct world *w = world_create(&o);
        struct outcome out;
        synchronise(w, 16, 1.5, &out);
        const double now = world_now(w);
        for (int i = 1; i < 4; i++) {
            CHECK(fabs(world_error(w, i, &out.lines[i], now)) < 60.0);
        }
        world_free(w);
    }
}

/*
 * Bursts with the usual scatter are left as they are, although six of some pair look better by
 * chance. Moving them would straighten clocks that wander and claim too little error.
 */
static void usual_bursts_stay(void)
{
    enum { SIZE = 16, TRIALS = CHECK_TRIALS(40) };
    struct world_options o = world_defaults(SIZE, 1);
    o.walk = 3e-8;
    const struct coverage c = cover_worlds(o, TRIALS, 6, 1.5);
    CHECK_OF_TRIALS(c.inside >= 0.9 * c.count);
    CHECK_OF_TRIALS(c.square < 2.0 * c.count);
}

/* Between two processes nothing shows the asymmetry, so all of the claimed one is included. */
static void two_processes_admit_an_asymmetry(void)
{
    struct world_options o = world_defaults(2, 1);
    struct world *w = world_create(&o);
    struct outcome out;
    synchronise(w, 8, 0.5, &out);
    const double path = sqrt(out.errors[1].path_var_ns2);
    CHECK(path > 0.025 * 2.0 * o.latency_ns && path < 0.06 * 2.0 * o.latency_ns);
    CHECK(ictusi_line_error_sigma(&out.errors[1], 0.0) >= path);
    world_free(w);
}

/*
 * Three processes have a single loop, and two sweeps show little more, neither of the noise nor of
 * the asymmetry; Student's quantile accounts for that.
 */
static void one_loop_is_little(double asymmetry_ns)
{
    struct world_options o = world_defaults(3, 1);
    o.asymmetry_ns = asymmetry_ns;
    o.walk = 0.0;
    const struct coverage c = cover_worlds(o, CHECK_TRIALS(200), 2, 0.3);
    CHECK_OF_TRIALS(c.inside > 0.94 * c.count);
}

/*
 * The reference's own variance is part of everybody's error. With few edges at node 0, a graph of
 * 60 nodes with estimated resistances must give the same as exact solutions.
 */
static void the_reference_counts_above_exact_sizes(void)
{
    enum { NODES = 60, DEGREE = 3 };
    struct graph_edge edges[NODES * NODES];
    double resistance[NODES];
    struct laplacian l;
    size_t count = 0;
    for (int i = 1; i < NODES; i++) {
        for (int j = i + 1; j < NODES; j++) {
            edges[count++] = (struct graph_edge){i, j, 1.0, 0.0};
        }
    }
    for (int j = 1; j <= DEGREE; j++) {
        edges[count++] = (struct graph_edge){0, j, 1.0, 0.0};
    }
    double between = 0.0;
    REQUIRE(!ictusi_laplacian_create(NODES, &l));
    REQUIRE(!ictusi_laplacian_resistance(&l, edges, count, resistance, &between));
    for (int i = DEGREE + 1; i < NODES; i++) {
        CHECK_NEAR(resistance[i], 1.0 / DEGREE + 1.0 / (NODES - 2.0), 0.25 / DEGREE);
    }
    CHECK_NEAR(between, 2.0 / NODES, 0.2 / NODES);
    ictusi_laplacian_free(&l);
}

/*
 * However weakly node 0 is tied to the others, the mean resistance between these is that of a
 * complete graph of 59, also where it is estimated.
 */
static void a_weak_reference_changes_no_others(void)
{
    enum { NODES = 60 };
    static const double weights[] = {1.0, 1e-2, 1e-4};
    struct graph_edge edges[NODES * NODES];
    double resistance[NODES];
    double between[3] = {0.0, 0.0, 0.0};
    struct laplacian l;
    size_t count = 0;
    for (int i = 1; i < NODES; i++) {
        for (int j = i + 1; j < NODES; j++) {
            edges[count++] = (struct graph_edge){i, j, 1.0, 0.0};
        }
    }
    REQUIRE(!ictusi_laplacian_create(NODES, &l));
    for (int w = 0; w < 3; w++) {
        edges[count] = (struct graph_edge){0, 1, weights[w], 0.0};
        REQUIRE(!ictusi_laplacian_resistance(&l, edges, count + 1, resistance, &between[w]));
        CHECK_NEAR(between[w], 2.0 / (NODES - 1), 0.2 / (NODES - 1));
        CHECK_NEAR(between[w], between[0], 1e-4 * between[0]);
    }
    ictusi_laplacian_free(&l);
}

/*
 * The resistance between any two nodes of a complete graph of 20 is 2 / 20. On a path of 4 nodes
 * that begins with node 0, there are three of 1, two of 2 and one of 3.
 */
static void resistances_between_nodes_have_a_mean(void)
{
    enum { NODES = 20 };
    const struct graph_edge path[] = {{0, 1, 1.0, 0.0}, {1, 2, 1.0, 0.0}, {2, 3, 1.0, 0.0}};
    struct graph_edge edges[NODES * NODES];
    double resistance[NODES];
    double between = 0.0;
    struct laplacian l;
    size_t count = 0;
    for (int i = 0; i < NODES; i++) {
        for (int j = i + 1; j < NODES; j++) {
            edges[count++] = (struct graph_edge){i, j, 1.0, 0.0};
        }
    }
    REQUIRE(!ictusi_laplacian_create(NODES, &l));
    REQUIRE(!ictusi_laplacian_resistance(&l, edges, count, resistance, &between));
    CHECK_NEAR(between, 2.0 / NODES, 1e-9);
    ictusi_laplacian_free(&l);
    REQUIRE(!ictusi_laplacian_create(4, &l));
    REQUIRE(!ictusi_laplacian_resistance(&l, path, 3, resistance, &between));
    CHECK_NEAR(between, 10.0 / 6.0, 1e-9);
    CHECK_NEAR(resistance[3], 3.0, 1e-9);
    ictusi_laplacian_free(&l);
}

/* A later sweep moves the lines, and their movement is part of the bound that survives. */
static void a_resync_adds_its_movement_to_the_bound(void)
{
    struct world_options o = world_defaults(2, 3);
    struct world *w = world_create(&o);
    struct mesh *mesh = NULL;
    struct outcome out;
    REQUIRE(!ictusi_mesh_create(2, 1e-9, &mesh));
    add_sweep(w, mesh, 1, 0.0);
    add_sweep(w, mesh, 1, 0.3);
    REQUIRE(!ictusi_mesh_solve(mesh, out.lines, out.errors, 10.0, &out.quality));
    const double before = world_now(w);
    const struct line old = out.lines[1];
    const double bound = out.errors[1].bound_ns;
    /* A bad sweep: wide bounds, and middles that are far off. */
    w->options.stall = 1.0;
    w->options.stall_ns = 1e6;
    add_sweep(w, mesh, 2, before);
    REQUIRE(!ictusi_mesh_solve(mesh, out.lines, out.errors, 10.0, &out.quality));
    const double now = world_now(w);
    const double moved = fabs(world_error(w, 1, &out.lines[1], now) - world_error(w, 1, &old, now));
    const double grown = (now - before) * 2e5;
    CHECK(out.errors[1].bound_ns >= fmin(bound + moved, bound + grown) - 2.0);
    CHECK(fabs(world_error(w, 1, &out.lines[1], now)) <= out.errors[1].bound_ns);
    ictusi_mesh_free(mesh);
    world_free(w);
}

/*
 * In a small job each process meets all others in each sweep, so the asymmetries of the paths are
 * the same each time. If they were taken for new ones, clocks would be followed with a lag of 20
 * ns.
 */
static void the_same_paths_stay_the_same(void)
{
    enum { FIRST = 8, LATER = 20 };
    struct world_options o = world_defaults(2, 11);
    struct outcome out;
    struct mesh *mesh = NULL;
    double first = 0.0;
    double sum = 0.0;
    o.asymmetry_ns = 100.0;
    struct world *w = world_create(&o);
    REQUIRE(!ictusi_mesh_create(2, 1e-9, &mesh));
    for (int k = 0; k < FIRST + LATER; k++) {
        struct stamp stamps[LONG_BURST];
        struct mesh_edge edge = {.client = 1};
        world_wait(w, k < FIRST ? 0.2 * k : 10.0 * (k - FIRST + 1));
        world_burst(w, 1, 0, LONG_BURST, stamps);
        REQUIRE(!ictusi_mesh_burst(stamps, LONG_BURST, MESH_PAIR_AUTO, NULL, &edge));
        REQUIRE(!ictusi_mesh_add(mesh, &edge, 1));
        if (k >= FIRST - 1) {
            REQUIRE(!ictusi_mesh_solve(mesh, out.lines, out.errors, 10.0, &out.quality));
            const double off = world_error(w, 1, &out.lines[1], world_now(w));
            first = k == FIRST - 1 ? off : first;
            sum += (off - first) * (off - first);
        }
    }
    CHECK(sqrt(sum / LATER) < 14.0);
    CHECK(out.errors[1].path_var_ns2 > 0.9 * out.errors[1].offset_var_ns2);
    ictusi_mesh_free(mesh);
    world_free(w);
}

/* One exchange of a client whose server is ahead by an offset, and fast by some ns per s. */
static struct stamp drifting_exchange(int64_t sent, int64_t there_ns, int64_t back_ns,
                                      double ahead_ns, double ns_per_s)
{
    const int64_t arrived = sent + there_ns;
    return (struct stamp){sent, arrived + llrint(ahead_ns + ns_per_s * (double)arrived * 1e-9),
                          arrived + back_ns};
}

/* Two clocks at opposite limits of 200 ppm: their drift is found from two bursts all the same. */
static void clocks_at_both_limits_are_followed(void)
{
    enum { COUNT = 50 };
    static const double drifts[] = {-390e3, -210e3, -1e3, 150e3, 250e3, 390e3};
    for (size_t d = 0; d < sizeof(drifts) / sizeof(drifts[0]); d++) {
        struct stamp stamps[2][COUNT];
        struct adaptive_slope slope;
        for (int i = 0; i < COUNT; i++) {
            for (int b = 0; b < 2; b++) {
                const int64_t sent = 1000000 + 2000 * (int64_t)i + 1500000000 * (int64_t)b;
                stamps[b][i] = drifting_exchange(sent, 500, 500, 7e12, drifts[d]);
            }
        }
        REQUIRE(ictusi_mesh_slope(stamps[0], stamps[1], COUNT, &slope));
        CHECK_NEAR(slope.ns_per_s, drifts[d], 100.0);
    }
}

/*
 * A few exchanges 10 ms apart: the fastest one decides, not the first and the last, whose bounds
 * look the tightest because of the drift.
 */
static void drift_does_not_choose_the_exchange(void)
{
    enum { COUNT = 6, QUICK = 2 };
    static const double ahead_ns = 7e12;
    for (double drift = -300e3; drift <= 300e3; drift += 100e3) {
        const struct adaptive_slope slope = {.ns_per_s = drift + 50.0, .variance = 100.0};
        struct stamp stamps[COUNT];
        struct mesh_edge edge = {.server = 1};
        for (int i = 0; i < COUNT; i++) {
            const int64_t slow_ns = i == QUICK ? 0 : i < QUICK ? 4000 : 1000;
            stamps[i] = drifting_exchange(10000000 * (int64_t)i, 500 + slow_ns,
                                          500 + (i == QUICK ? 0 : 5000) - slow_ns, ahead_ns, drift);
        }
        REQUIRE(!ictusi_mesh_burst(stamps, COUNT, MESH_PAIR_AUTO, &slope, &edge));
        const double truth = drift * (double)edge.at * 1e-9;
        CHECK_NEAR((double)(edge.offset - (int64_t)ahead_ns) + edge.frac, truth, 20.0);
    }
}

/*
 * The first request waits until the server comes from an earlier round, for longer than all other
 * exchanges take together. Clocks that drift do so in the meantime, too: the reply's bound is one
 * of the end of the wait.
 */
static void a_wait_for_the_server_moves_no_offset(void)
{
    enum { MOST = 300 };
    static const double ahead_ns = 7e12;
    for (int i = 0; i < 7 * 4; i++) {
        const double drift = 100e3 * (i % 7 - 3);
        const int count = i / 7 % 2 ? MOST : 100; /* with and without the adaptive estimator */
        const bool to_server = i / 14;
        const struct adaptive_slope slope = {.ns_per_s = drift, .variance = 100.0};
        struct stamp stamps[MOST];
        struct mesh_edge edge = {.server = 1};
        int64_t sent = 1000000;
        for (int k = 0; k < count; k++) {
            const int64_t wait_ns = k == 3 ? 40000000 : 0;
            const int64_t there_ns = 60000 + k % 7 + (to_server ? wait_ns : 0);
            const int64_t back_ns = 60000 + k % 5 + (to_server ? 0 : wait_ns);
            stamps[k] = drifting_exchange(sent, there_ns, back_ns, ahead_ns, drift);
            sent = stamps[k].received + 100;
        }
        REQUIRE(!ictusi_mesh_burst(stamps, (size_t)count, MESH_PAIR_AUTO, &slope, &edge));
        const double truth = drift * (double)edge.at * 1e-9;
        CHECK_NEAR((double)(edge.offset - (int64_t)ahead_ns) + edge.frac, truth, 10.0);
    }
}

int main(void)
{
    a_wait_for_the_server_moves_no_offset();
    clocks_at_both_limits_are_followed();
    drift_does_not_choose_the_exchange();
    noisy_nodes_know_it();
    a_noisy_reference_is_seen();
    wandering_clocks_are_noticed();
    many_sweeps_show_the_noise();
    a_congested_burst_counts_less();
    congested_bursts_of_most_pairs_count_less();
    usual_bursts_stay();
    two_processes_admit_an_asymmetry();
    one_loop_is_little(100.0);
    one_loop_is_little(400.0);
    the_reference_counts_above_exact_sizes();
    a_weak_reference_changes_no_others();
    resistances_between_nodes_have_a_mean();
    a_resync_adds_its_movement_to_the_bound();
    the_same_paths_stay_the_same();
    return check_result();
}
