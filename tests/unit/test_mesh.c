/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mesh against known truth: exact lines, claimed errors, history, clocks that step, bad input.
 */
#include "../sim/world.h"
#include "core/estimator.h"
#include "core/mesh.h"
#include "core/mesh_state.h"
#include "core/pairing.h"

#include <ictus/error.h>

#include "../check.h"

enum { SIZE_MAX_TESTED = 64, BURST = 40 };

/* A mesh, the world it measures, and its last result. */
struct bed {
    struct world *world;
    struct mesh *mesh;
    struct line lines[SIZE_MAX_TESTED];
    struct line_error errors[SIZE_MAX_TESTED];
    struct mesh_quality quality;
    double pause_s; /* of all, in the middle of a sweep */
};

static void open_bed(struct bed *b, const struct world_options *options)
{
    b->world = world_create(options);
    b->pause_s = 0.0;
    REQUIRE(!ictusi_mesh_create(options->size, 1e-9, &b->mesh));
}

static void close_bed(struct bed *b)
{
    ictusi_mesh_free(b->mesh);
    world_free(b->world);
}

static void sweep(struct bed *b, int rounds, uint64_t seed, double start_s)
{
    const int n = b->world->options.size;
    struct mesh_edge edges[SIZE_MAX_TESTED * SIZE_MAX_TESTED / 2];
    struct stamp stamps[BURST];
    struct pairing m;
    size_t count = 0;
    REQUIRE(!ictusi_pairing_create(n, rounds, seed, &m));
    world_wait(b->world, start_s);
    for (int r = 0; r < m.rounds; r++) {
        if (r == m.rounds / 2) {
            world_wait(b->world, world_now(b->world) + b->pause_s);
        }
        for (int i = 0; i < n; i++) {
            if (ictusi_pairing_asks(&m, r, i)) {
                const int j = ictusi_pairing_partner(&m, r, i);
                struct offset o;
                world_burst(b->world, i, j, BURST, stamps);
                REQUIRE(!ictusi_estimator_offset_skampi(stamps, BURST, &o));
                edges[count++] = (struct mesh_edge){
                    i, j, o.at, o.offset, o.frac, o.half_width_ns, 0.0, o.rtt_min_ns, 0.0};
            }
        }
    }
    REQUIRE(!ictusi_mesh_add(b->mesh, edges, count));
    ictusi_pairing_free(&m);
}

static int solve(struct bed *b)
{
    return ictusi_mesh_solve(b->mesh, b->lines, b->errors, 10.0, &b->quality);
}

static double worst(struct bed *b, double later_s)
{
    const double t = world_now(b->world) + later_s;
    double most = 0.0;
    for (int i = 0; i < b->world->options.size; i++) {
        most = fmax(most, fabs(world_error(b->world, i, &b->lines[i], t)));
    }
    return most;
}

static void exact_without_jitter(void)
{
    static const int64_t origins[] = {0, -5000000000, 1700000000000000000, -1700000000000000000};
    for (int n = 1; n <= 17; n++) {
        struct world_options o = world_defaults(n, (uint64_t)n);
        struct bed b;
        o.jitter_ns = o.tail = o.walk = 0.0;
        o.origin = origins[n % 4];
        open_bed(&b, &o);
        sweep(&b, 16, 1, 0.0);
        sweep(&b, 16, 1, 0.3);
        b.quality.suspect = n;
        REQUIRE(!solve(&b));
        CHECK(b.quality.suspect == -1); /* of one process, too, which has nothing to solve */
        CHECK_NEAR(worst(&b, 0.0), 0.0, 1.0);
        CHECK_NEAR(worst(&b, 10.0), 0.0, 50.0); /* stamps are whole nanoseconds 0.3 s apart */
        for (int i = 1; i < n; i++) {
            CHECK(b.errors[i].bound_ns >= 1500.0 && b.errors[i].bound_ns < 20000.0);
        }
        close_bed(&b);
    }
}

/* Times are the reference's, whoever asks: a client with 200 ppm is off by 40 ns per second. */
static void who_asks_does_not_matter(void)
{
    enum { SWEEPS = 5 };
    for (int client = 0; client < 2; client++) {
        const double drift = -200e-6;
        struct mesh *mesh = NULL;
        struct line lines[2];
        struct line_error errors[2];
        REQUIRE(!ictusi_mesh_create(2, 1e-9, &mesh));
        for (int k = 0; k < SWEEPS; k++) {
            const int64_t here = INT64_C(1000000000) + INT64_C(400000000) * k;
            const int64_t there = (int64_t)llrint((double)here * (1.0 + drift));
            const struct mesh_edge edge = {.client = client,
                                           .server = 1 - client,
                                           .at = client ? there : here,
                                           .offset = client ? here - there : there - here,
                                           .half_width_ns = 300.0,
                                           .sigma_ns = 1.0,
                                           .rtt_ns = 600.0};
            REQUIRE(!ictusi_mesh_add(mesh, &edge, 1));
        }
        REQUIRE(!ictusi_mesh_solve(mesh, lines, errors, 10.0, NULL));
        const int64_t later = INT64_C(12000000000);
        const int64_t local = (int64_t)llrint((double)later * (1.0 + drift));
        CHECK_NEAR((double)(ictusi_line_map(&lines[1], local) - later), 0.0, 20.0);
        ictusi_mesh_free(mesh);
    }
}

static void knows_how_good_it_is(void)
{
    enum { TRIALS = CHECK_SANITIZED ? 6 : 200, SIZE = 24 };
    static const double asymmetries[] = {0.0, 100.0};
    for (int a = 0; a < 2; a++) {
        double covered = 0.0;
        for (int t = 0; t < TRIALS; t++) {
            struct world_options o = world_defaults(SIZE, (uint64_t)t + 1);
            struct bed b;
            o.asymmetry_ns = asymmetries[a];
            open_bed(&b, &o);
            sweep(&b, 20, 1, 0.0);
            sweep(&b, 20, 1, 0.3);
            REQUIRE(!solve(&b));
            const double now = world_now(b.world);
            for (int i = 1; i < SIZE; i++) {
                const double e = fabs(world_error(b.world, i, &b.lines[i], now));
                covered += e <= 1.96 * ictusi_line_error_sigma(&b.errors[i], 0.0);
                CHECK(e <= b.errors[i].bound_ns);
            }
            close_bed(&b);
        }
        CHECK_NEAR(covered / (TRIALS * (SIZE - 1)), 0.95, CHECK_SANITIZED ? 0.05 : 0.02);
    }
}

/*
 * A few pairs say little about their noise, and the errors claimed from two sweeps over them must
 * allow for that.
 */
static void few_pairs_claim_little(void)
{
    enum { TRIALS = CHECK_SANITIZED ? 25 : 120, LEAST = 5, MOST = 7 };
    double covered = 0.0;
    double claims = 0.0;
    for (int t = 0; t < TRIALS; t++) {
        for (int size = LEAST; size <= MOST; size++) {
            struct world_options o = world_defaults(size, (uint64_t)t + 1);
            struct bed b;
            o.asymmetry_ns = 0.0;
            open_bed(&b, &o);
            sweep(&b, size, 1, 0.0);
            sweep(&b, size, 1, 0.3);
            REQUIRE(!solve(&b));
            const double now = world_now(b.world);
            for (int i = 1; i < size; i++) {
                const double e = fabs(world_error(b.world, i, &b.lines[i], now));
                covered += e <= 1.96 * ictusi_line_error_sigma(&b.errors[i], 0.0);
                claims++;
            }
            close_bed(&b);
        }
    }
    CHECK(covered / claims >= (CHECK_SANITIZED ? 0.92 : 0.94));
}

/* A sweep over pairs with given noise, as seen by process 0 and by the others. */
static void add_noisy_sweep(struct mesh *mesh, int size, uint64_t seed, double noise_ns)
{
    struct mesh_edge edges[SIZE_MAX_TESTED];
    struct rng rng;
    size_t count = 0;
    ictusi_random_seed(&rng, seed, 0);
    for (int i = 0; i < size; i++) {
        for (int j = i + 1; j < size; j++) {
            edges[count++] = (struct mesh_edge){
                .client = i,
                .server = j,
                .at = 1000000,
                .frac = 100.0 * (i - j % 3) + noise_ns * ictusi_random_normal(&rng),
                .half_width_ns = 1500.0,
                .sigma_ns = noise_ns * (0.5 + ictusi_random_uniform(&rng)),
                .rtt_ns = 3000.0};
        }
    }
    REQUIRE(!ictusi_mesh_add(mesh, edges, count));
    memset(mesh->pending[mesh->pending_count - 1].x, 0, (size_t)size * sizeof(double));
}

/*
 * Sweeps over the same pairs are solved together. A sweep in the opposite order gets the same
 * offsets and the same noise, and so does another one like it: from loops of pairs, and from their
 * own residuals where there are no loops.
 */
static void order_of_sweeps_does_not_matter(void)
{
    enum { SWEEPS = 4 };
    static const double noise_ns[SWEEPS] = {60.0, 5.0, 10.0, 30.0};
    for (int size = 2; size <= 8; size += 3) {
        struct mesh *mesh[2];
        struct mesh_spread spread[2] = {{.noise = 0.0}, {.noise = 0.0}};
        for (int turned = 0; turned < 2; turned++) {
            REQUIRE(!ictusi_mesh_create(size, 1e-9, &mesh[turned]));
            for (int k = 0; k < SWEEPS; k++) {
                const int which = turned ? SWEEPS - 1 - k : k;
                add_noisy_sweep(mesh[turned], size, (uint64_t)which, noise_ns[which]);
            }
            REQUIRE(!ictusi_mesh_group_solve(mesh[turned], &spread[turned]));
            REQUIRE(!ictusi_mesh_group_solve(mesh[turned], &spread[turned]));
        }
        CHECK_NEAR(spread[1].noise, spread[0].noise, 1e-6 * spread[0].noise);
        CHECK_NEAR(spread[1].bias, spread[0].bias, 1e-6 * spread[0].bias);
        for (int k = 0; k < SWEEPS; k++) {
            const struct mesh_sweep *a = &mesh[0]->pending[k];
            const struct mesh_sweep *b = &mesh[1]->pending[SWEEPS - 1 - k];
            CHECK_NEAR(b->noise, a->noise, 1e-6 * a->noise);
            for (int i = 0; i < size; i++) {
                CHECK_NEAR(b->x[i], a->x[i], 1e-4);
            }
        }
        ictusi_mesh_free(mesh[0]);
        ictusi_mesh_free(mesh[1]);
    }
}

/* A sweep of all pairs but some, or of those of process 0 alone, which has no loops. */
static void add_other_sweep(struct mesh *mesh, int size, int k, bool loops)
{
    add_noisy_sweep(mesh, size, (uint64_t)k, 10.0 * (k + 1));
    struct mesh_sweep *s = &mesh->pending[mesh->pending_count - 1];
    const struct mesh_edge moved = s->edges[0];
    s->count = loops ? s->count - (size_t)k : (size_t)size - 1;
    s->edges[0] = s->edges[k];
    s->edges[k] = moved;
}

/*
 * Sweeps over different pairs share nothing, so each has the offsets and the noise that it has
 * alone. What they say of errors is the mean of what each says, by the degrees of freedom of all.
 */
static void other_pairs_are_other_groups(bool loops)
{
    enum { SIZE = 7, SWEEPS = 3 };
    struct mesh *mesh[SWEEPS + 1]; /* of each sweep alone; of all */
    struct mesh_spread spread[SWEEPS + 1];
    struct mesh_spread sum = {.noise = 0.0};
    for (int m = 0; m <= SWEEPS; m++) {
        REQUIRE(!ictusi_mesh_create(SIZE, 1e-9, &mesh[m]));
        for (int k = 0; k < SWEEPS; k++) {
            if (m == k || m == SWEEPS) {
                add_other_sweep(mesh[m], SIZE, k, loops);
            }
        }
        spread[m] = (struct mesh_spread){.noise = 0.0};
        REQUIRE(!ictusi_mesh_group_solve(mesh[m], &spread[m]));
    }
    for (int k = 0; k < SWEEPS; k++) {
        const struct mesh_sweep *own = &mesh[k]->pending[0];
        const struct mesh_sweep *one = &mesh[SWEEPS]->pending[k];
        CHECK_NEAR(one->noise, own->noise, 1e-9 * own->noise);
        for (int i = 0; i < SIZE; i++) {
            CHECK_NEAR(one->x[i], own->x[i], 1e-6);
        }
        sum.noise += spread[k].noise / SWEEPS;
        sum.bias += spread[k].bias / SWEEPS;
        sum.freedom += spread[k].freedom;
        sum.noise_freedom += spread[k].noise_freedom;
        sum.bias_freedom += spread[k].bias_freedom;
    }
    const struct mesh_spread *all = &spread[SWEEPS];
    CHECK(all->sweeps == 1 && sum.noise > 0.0);
    CHECK(loops ? sum.freedom > 0.0 && sum.noise_freedom > 0.0 : sum.bias > 0.0);
    CHECK_NEAR(all->noise, sum.noise, 1e-9 * sum.noise);
    CHECK_NEAR(all->bias, sum.bias, 1e-9 * sum.noise);
    CHECK_NEAR(all->freedom, sum.freedom, 1e-9);
    CHECK_NEAR(all->noise_freedom, sum.noise_freedom, 1e-9);
    CHECK_NEAR(all->bias_freedom, sum.bias_freedom, 1e-9);
    for (int m = 0; m <= SWEEPS; m++) {
        ictusi_mesh_free(mesh[m]);
    }
}

/*
 * Offsets and their errors in units a thousand times smaller are the same, a thousand times as
 * large: how much a pair counts that stands off depends on no unit.
 */
static void sweeps_have_no_unit(void)
{
    enum { SIZE = 8, SWEEPS = 3 };
    static const double units[2] = {1.0, 1000.0};
    struct mesh *mesh[2];
    struct mesh_spread spread[2] = {{.noise = 0.0}, {.noise = 0.0}};
    for (int u = 0; u < 2; u++) {
        REQUIRE(!ictusi_mesh_create(SIZE, 1e-9, &mesh[u]));
        mesh[u]->calibrated = true; /* by a counter, whose rounding is far below all noise */
        for (int k = 0; k < SWEEPS; k++) {
            add_noisy_sweep(mesh[u], SIZE, (uint64_t)k, 0.8);
            for (size_t e = 0; e < mesh[u]->pending[k].count; e++) {
                struct mesh_edge *edge = &mesh[u]->pending[k].edges[e];
                edge->frac -= 100.0 * (edge->client - edge->server % 3); /* all of it noise */
                edge->frac = units[u] * (edge->frac + (e % 9 == 0 ? 10.0 : 0.0));
                edge->half_width_ns *= units[u];
                edge->sigma_ns *= units[u];
                edge->rtt_ns *= units[u];
                edge->path_ns = 4.0 * units[u];
            }
        }
        REQUIRE(!ictusi_mesh_group_solve(mesh[u], &spread[u]));
    }
    CHECK_NEAR(spread[1].noise * 1e-6, spread[0].noise, 1e-6 * spread[0].noise);
    CHECK_NEAR(spread[1].bias * 1e-6, spread[0].bias, 1e-6 * spread[0].bias);
    for (int k = 0; k < SWEEPS; k++) {
        for (int i = 0; i < SIZE; i++) {
            CHECK_NEAR(mesh[1]->pending[k].x[i] * 1e-3, mesh[0]->pending[k].x[i], 1e-5);
        }
    }
    ictusi_mesh_free(mesh[0]);
    ictusi_mesh_free(mesh[1]);
}

static void history_helps_and_shows_the_walk(void)
{
    enum { SIZE = CHECK_SANITIZED ? 12 : 32, SWEEPS = CHECK_SANITIZED ? 12 : 30 };
    for (int k = 0; k < 3; k++) {
        struct world_options o = world_defaults(SIZE, 5);
        struct bed b;
        o.walk = k == 0 ? 0.0 : k == 1 ? 1e-9 : 2e-8;
        open_bed(&b, &o);
        sweep(&b, 16, 1, 0.0);
        sweep(&b, 16, 1, 0.3);
        REQUIRE(!solve(&b));
        const double first = ictusi_line_error_sigma(&b.errors[SIZE - 1], 10.0);
        for (int s = 1; s <= SWEEPS; s++) {
            sweep(&b, 16, (uint64_t)s + 1, s);
            REQUIRE(!solve(&b));
        }
        if (k < 2) {
            CHECK(ictusi_line_error_sigma(&b.errors[SIZE - 1], 10.0) < 0.8 * first);
        }
        if (k == 0) {
            CHECK(b.quality.walk < 1e-9);
            CHECK_NEAR(worst(&b, 10.0), 0.0, 30.0);
        } else {
            /* Relative to the reference: the walks of two clocks. */
            CHECK(b.quality.walk > 0.5 * o.walk && b.quality.walk < 4.0 * o.walk);
        }
        close_bed(&b);
    }
}

static void a_step_is_told(void)
{
    for (int when = 0; when < 4; when++) {
        struct world_options o = world_defaults(12, 3);
        struct bed b;
        open_bed(&b, &o);
        if (when == 0) { /* between the sweeps of the first synchronisation */
            sweep(&b, 11, 1, 0.0);
            b.world->clocks[7].origin += 10000000;
            sweep(&b, 11, 1, 0.3);
        } else if (when == 1) { /* between synchronisations */
            sweep(&b, 11, 1, 0.0);
            sweep(&b, 11, 1, 0.3);
            REQUIRE(!solve(&b));
            b.world->clocks[7].origin -= 1000000;
            sweep(&b, 11, 2, 1.0);
        } else { /* in the middle of a sweep: its second half shows another clock */
            /* with an earlier sweep over the same pairs, or over others, which proves nothing */
            sweep(&b, when == 2 ? 11 : 5, when == 2 ? 1 : 4, 0.0);
            struct stamp stamps[BURST];
            struct mesh_edge edges[66];
            struct pairing m;
            size_t count = 0;
            REQUIRE(!ictusi_pairing_create(12, 11, 1, &m));
            for (int r = 0; r < m.rounds; r++) {
                b.world->clocks[7].origin += r == 5 ? 50000 : 0;
                for (int i = 0; i < 12; i++) {
                    if (ictusi_pairing_asks(&m, r, i)) {
                        const int j = ictusi_pairing_partner(&m, r, i);
                        struct offset f;
                        world_burst(b.world, i, j, BURST, stamps);
                        REQUIRE(!ictusi_estimator_offset_skampi(stamps, BURST, &f));
                        edges[count++] = (struct mesh_edge){
                            i, j, f.at, f.offset, f.frac, f.half_width_ns, 0.0, f.rtt_min_ns, 0.0};
                    }
                }
            }
            REQUIRE(!ictusi_mesh_add(b.mesh, edges, count));
            ictusi_pairing_free(&m);
        }
        CHECK(solve(&b) == ICTUS_ERR_CLOCK);
        CHECK(b.quality.suspect == 7);
        /* It has forgotten its history and begins again. */
        CHECK(solve(&b) == ICTUS_ERR_SAMPLES);
        const double now = world_now(b.world);
        sweep(&b, 11, 3, now);
        sweep(&b, 11, 3, now + 0.3);
        CHECK(!solve(&b));
        CHECK_NEAR(worst(&b, 0.0), 0.0, 60.0);
        close_bed(&b);
    }
}

/*
 * With more processes than cores, every second message waits for a time slice, and some bursts have
 * no good exchange at all. Nothing has stepped, and no step may be reported, neither within a call
 * nor over a history.
 */
static void a_stall_is_no_step(void)
{
    for (uint64_t seed = 1; seed <= (CHECK_SANITIZED ? 6 : 40); seed++) {
        const int size = 2 + (int)(seed % 7);
        struct world_options o = world_defaults(size, seed);
        struct bed b;
        o.drift = 20e-6; /* two clocks diverge by at most 200 ppm */
        o.stall = seed % 2 ? 0.5 : 0.98;
        o.stall_ns = 8e6;
        open_bed(&b, &o);
        for (int k = 0; k < 4; k++) {
            sweep(&b, size, 1, 0.1 * k);
        }
        for (int k = 0; k < 5; k++) {
            const int err = solve(&b);
            CHECK(!err && b.quality.suspect == -1);
            const double now = world_now(b.world);
            for (int i = 1; i < size && !err; i++) {
                const double error = fabs(world_error(b.world, i, &b.lines[i], now));
                const int64_t local = world_read(b.world, i, now);
                const double since_s = (double)(local - b.lines[i].anchor) * 1e-9;
                CHECK(error <= ictusi_line_error_bound(&b.errors[i], since_s) + 2.0);
                CHECK(fabs(b.lines[i].slope) < 500e-6);
            }
            sweep(&b, size, (uint64_t)k + 2, now);
        }
        close_bed(&b);
    }
}

/*
 * One message takes so long that a sweep lasts many times the time between two of them. How its
 * edges are brought to one instant then depends on drifts that it determines itself.
 */
static void long_sweeps_settle(void)
{
    const int size = 12;
    static const double pauses_s[] = {0.5, 2.0, 10.0, 30.0};
    for (int p = 0; p < 8; p++) {
        struct world_options o = world_defaults(size, 7);
        struct bed b;
        o.jitter_ns = 10.0;
        o.tail = 0.0;
        o.walk = 0.0;
        open_bed(&b, &o);
        for (int k = 0; k < 2; k++) {
            b.pause_s = k == p % 2 ? pauses_s[p / 2] : 0.0;
            sweep(&b, size, 1, world_now(b.world) + 0.5);
        }
        REQUIRE(!solve(&b));
        CHECK_NEAR(worst(&b, 0.0), 0.0, 10.0);
        CHECK_NEAR(worst(&b, 10.0), 0.0, 100.0);
        close_bed(&b);
    }
}

/*
 * Steps within the limit of drift: if each pair has several sweeps, one line has to fit them all.
 */
static void a_small_step_is_told(void)
{
    for (int size = 2; size <= 12; size += 5) {
        struct world_options o = world_defaults(size, 3);
        struct bed b;
        open_bed(&b, &o);
        for (int k = 0; k < 5; k++) {
            b.world->clocks[size - 1].origin += k == 2 ? 20000 : 0;
            sweep(&b, size, 1, 0.1 * k);
        }
        CHECK(solve(&b) == ICTUS_ERR_CLOCK);
        CHECK(b.quality.suspect == size - 1);
        close_bed(&b);
    }
}

/* A job of several hours: old sweeps fade, anchors move, and nothing is taken for a step. */
static void hours_pass(void)
{
    enum { SIZE = 8 };
    struct world_options o = world_defaults(SIZE, 9);
    struct bed b;
    open_bed(&b, &o);
    sweep(&b, 7, 1, 0.0);
    sweep(&b, 7, 1, 0.3);
    REQUIRE(!solve(&b));
    for (int hour = 1; hour <= 12; hour++) {
        sweep(&b, 7, (uint64_t)hour + 1, 3600.0 * hour);
        REQUIRE(!solve(&b));
        CHECK_NEAR(worst(&b, 0.0), 0.0, 200.0);
        const int64_t local = world_read(b.world, 1, world_now(b.world));
        CHECK(llabs(local - b.lines[1].anchor) < 100000000);
    }
    close_bed(&b);
}

/* If there are more sweeps than are kept, the oldest are dropped, however they arrive. */
static void old_sweeps_go(void)
{
    enum { SIZE = 2, PORTION = TRACK_MAX / 2 - 1 };
    struct world_options o = world_defaults(SIZE, 9);
    struct bed b;
    o.jitter_ns = o.tail = o.walk = 0.0;
    open_bed(&b, &o);
    for (int portion = 0; portion < 3; portion++) {
        for (int k = 0; k < PORTION; k++) {
            sweep(&b, 1, 1, 60.0 * (portion * PORTION + k));
        }
        REQUIRE(!solve(&b));
        CHECK_NEAR(worst(&b, 0.0), 0.0, 5.0);
    }
    close_bed(&b);
}

static void bad_input_is_told(void)
{
    struct mesh *mesh = NULL;
    struct line lines[4];
    struct line_error errors[4];
    REQUIRE(!ictusi_mesh_create(4, 1e-9, &mesh));
    CHECK(ictusi_mesh_solve(mesh, lines, errors, 1.0, NULL) == ICTUS_ERR_SAMPLES);
    const struct mesh_edge wrong[] = {{0, 4, 0, 0, 0.0, 1.0, 0.0, 1.0, 0.0},
                                      {2, 2, 0, 0, 0.0, 1.0, 0.0, 1.0, 0.0}};
    CHECK(ictusi_mesh_add(mesh, &wrong[0], 1) == ICTUS_ERR_ARG);
    CHECK(ictusi_mesh_add(mesh, &wrong[1], 1) == ICTUS_ERR_ARG);
    const struct mesh_edge split[] = {{0, 1, 0, 5, 0.0, 9.0, 0.0, 9.0, 0.0},
                                      {2, 3, 0, 5, 0.0, 9.0, 0.0, 9.0, 0.0}};
    REQUIRE(!ictusi_mesh_add(mesh, split, 2));
    CHECK(ictusi_mesh_solve(mesh, lines, errors, 1.0, NULL) == ICTUS_ERR_SAMPLES);
    REQUIRE(!ictusi_mesh_add(mesh, split, 0));
    CHECK(ictusi_mesh_solve(mesh, lines, errors, 1.0, NULL) == ICTUS_ERR_SAMPLES);
    ictusi_mesh_free(mesh);
    ictusi_mesh_free(NULL);
}

int main(void)
{
    exact_without_jitter();
    who_asks_does_not_matter();
    knows_how_good_it_is();
    few_pairs_claim_little();
    order_of_sweeps_does_not_matter();
    other_pairs_are_other_groups(true);
    other_pairs_are_other_groups(false);
    sweeps_have_no_unit();
    history_helps_and_shows_the_walk();
    a_step_is_told();
    a_stall_is_no_step();
    long_sweeps_settle();
    a_small_step_is_told();
    hours_pass();
    old_sweeps_go();
    bad_input_is_told();
    return check_result();
}
