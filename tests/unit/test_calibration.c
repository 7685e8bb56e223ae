/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks compared through a counter that their processes share, on simulated clocks and counters:
 * the truth is known, and whatever happens to real processes happens here, too: cold caches, lost
 * cores, counters that advance in large steps, paths that are longer in one direction, and counters
 * that are not shared at all.
 */
#include "core/calibration.h"
#include "core/fit.h"
#include "core/mesh.h"
#include "core/mesh_plan.h"
#include "core/random.h"

#include "../check.h"

#include <ictus/error.h>
#include <math.h>
#include <stdbool.h>

enum { N = CALIBRATION_READINGS, EXCHANGES = 300, SWEEPS = 8 };

static const double ahead_ns = 7e15; /* of the server's clock; 7e6 s */

/* A process: its clock and its view of the counter, both functions of true time in ns. */
struct process {
    double offset_ns, drift;
    double bend;          /* relative change of the rate per second: a clock that walks */
    double coarse_ns;     /* step of the clock; 0: one ns */
    double slow_ns;       /* of a reading of the clock, on each side, exponential */
    double lost;          /* chance that a reading loses the core */
    double counter_ns;    /* how far ahead its counter is */
    double counter_drift; /* and how fast that grows */
    double place;         /* where in the bracket the clock is read, 0.5: in the middle */
    struct rng *rng;
};

static const double ticks_per_ns = 2.6;
static const double tick_step = 26.0; /* as on processors whose counter advances every 10 ns */

static double process_clock(const struct process *p, double t)
{
    const double whole = floor(t);
    return p->offset_ns + whole + (t - whole) + p->drift * t + 0.5 * p->bend * 1e-9 * t * t;
}

static int64_t process_read(const struct process *p, double t)
{
    const double step = p->coarse_ns > 0.0 ? p->coarse_ns : 1.0;
    /* The offset is added as an integer, because a double near 1e16 resolves only 2 ns. */
    const double small = process_clock(p, t) - p->offset_ns;
    return (int64_t)p->offset_ns + (int64_t)(floor(small / step) * step);
}

static int64_t process_count(const struct process *p, double t)
{
    const double own = t + p->counter_ns + p->counter_drift * t;
    return (int64_t)(floor(own * ticks_per_ns / tick_step) * tick_step);
}

/* What a reading takes: 50 ns, more in the beginning, and milliseconds without the core. */
static double process_delay(const struct process *p, double usual_ns, bool cold)
{
    const double away = (ictusi_random_uniform(p->rng) < p->lost ? 2e6 : 0.0) -
                        p->slow_ns * log(ictusi_random_uniform(p->rng) + 1e-12);
    return usual_ns * (0.8 + 0.4 * ictusi_random_uniform(p->rng)) * (cold ? 40.0 : 1.0) + away;
}

/* Read a series from time t. Return the time after it. */
static double process_series(const struct process *p, double t, struct calibration_reading *r)
{
    for (int i = 0; i < N; i++) {
        r[i].before = process_count(p, t);
        t += process_delay(p, 50.0 * p->place, i == 0);
        r[i].clock = process_read(p, t);
        t += process_delay(p, 50.0 * (1.0 - p->place), i == 0);
        r[i].after = process_count(p, t);
        t += process_delay(p, 20.0, false);
    }
    return t;
}

static struct process process_usual(struct rng *rng, double offset_ns, double drift)
{
    return (struct process){.offset_ns = offset_ns, .drift = drift, .place = 0.3, .rng = rng};
}

/* The best of three looks, as processes make them. */
static struct calibration_point process_look(const struct process *p, double t,
                                             const struct calibration_point *earlier)
{
    struct calibration_reading r[N];
    struct calibration_point best = {.sigma_ns = INFINITY};
    for (int i = 0; i < 3; i++) {
        struct calibration_point point;
        const double began = t;
        t = process_series(p, t, r);
        REQUIRE(!ictusi_calibration_point(r, earlier, &point));
        CHECK((point.rate_sigma == INFINITY) == !earlier);
        best = point.sigma_ns < best.sigma_ns ? point : best;
        if (t - began < 200e3) {
            break;
        }
    }
    return best;
}

/* What both processes see at time t. Each first looked at 1 ms. The server looks `late_ns` later
 * than the client. */
static struct calibration_pair
processes_meet(const struct process *client, const struct process *server, double t, double late_ns)
{
    const struct calibration_point first[2] = {process_look(client, 1e6, NULL),
                                               process_look(server, 1e6, NULL)};
    return (struct calibration_pair){process_look(client, t, &first[0]),
                                     process_look(server, t + late_ns, &first[1])};
}

/* Exchanges until time t, with delays of 900 ns there and 500 ns back, and 30 ns more on average.
 */
static void processes_exchange(const struct process *client, const struct process *server, double t,
                               struct stamp *stamps)
{
    double now = t - EXCHANGES * 202e3;
    for (int i = 0; i < EXCHANGES; i++) {
        const double there = now + 900.0 - 30.0 * log(ictusi_random_uniform(client->rng) + 1e-9);
        const double back = there + 500.0 - 30.0 * log(ictusi_random_uniform(client->rng) + 1e-9);
        stamps[i] = (struct stamp){process_read(client, now), process_read(server, there),
                                   process_read(client, back)};
        now = back + 200e3;
    }
}

/* The error of an edge, in ns. */
static double edge_error(const struct process *client, const struct process *server,
                         const struct mesh_edge *edge)
{
    /* The true time at which the client's clock showed this; drifts are small. */
    double t = (double)(edge->at - (int64_t)client->offset_ns);
    for (int i = 0; i < 5; i++) {
        t -= process_clock(client, t) - client->offset_ns -
             (double)(edge->at - (int64_t)client->offset_ns);
    }
    const double truth = (process_clock(server, t) - server->offset_ns) -
                         (process_clock(client, t) - client->offset_ns);
    const int64_t whole = edge->offset - (int64_t)(server->offset_ns - client->offset_ns);
    return (double)whole + edge->frac - truth;
}

struct scene {
    struct stamp stamps[SWEEPS][EXCHANGES];
    struct calibration_burst bursts[SWEEPS];
    struct calibration_pair seen[SWEEPS][CALIBRATION_MEETINGS];
    struct mesh_edge edges[SWEEPS];
};

/* Sweeps 0.2 s apart, with so many meetings in each, and their edges by messages. */
static void scene_play_meetings(struct scene *s, const struct process *client,
                                const struct process *server, int meetings)
{
    for (int k = 0; k < SWEEPS; k++) {
        const double t = 1e8 + 2e8 * k;
        processes_exchange(client, server, t, s->stamps[k]);
        for (int i = 0; i < meetings; i++) {
            s->seen[k][i] = processes_meet(client, server, t + 30e3 * i, 400.0);
        }
        s->bursts[k] = (struct calibration_burst){s->stamps[k], EXCHANGES, s->seen[k], meetings};
        s->edges[k] = (struct mesh_edge){.server = 1};
        REQUIRE(!ictusi_mesh_burst(s->stamps[k], EXCHANGES, MESH_PAIR_AUTO, NULL, &s->edges[k]));
    }
}

static void scene_play(struct scene *s, const struct process *client, const struct process *server)
{
    scene_play_meetings(s, client, server, 1);
}

/* The counter shows the offset to a nanosecond or two, whatever the path's asymmetry is, and the
 * half-width still contains the truth. */
static void offsets_come_from_the_counter(void)
{
    struct rng rng;
    struct scene s;
    ictusi_random_seed(&rng, 3, 0);
    double square = 0.0;
    int replaced = 0;
    for (int trial = 0; trial < 20; trial++) {
        struct process client = process_usual(&rng, -3e14, 200e-6 * ictusi_random_uniform(&rng));
        struct process server = process_usual(&rng, ahead_ns, -200e-6);
        server.bend = 1e-8;
        client.lost = server.lost = trial % 2 ? 0.0005 : 0.0;
        scene_play(&s, &client, &server);
        CHECK(fabs(edge_error(&client, &server, &s.edges[0])) > 100.0); /* as messages show it */
        const bool seen = ictusi_calibration_replace(s.bursts, SWEEPS, s.edges);
        replaced += seen;
        CHECK(seen || trial % 2);
        for (int k = 0; k < SWEEPS && seen; k++) {
            const struct mesh_edge *e = &s.edges[k];
            const double error = edge_error(&client, &server, e);
            CHECK(fabs(error) <= 5.0 * hypot(e->sigma_ns, e->path_ns) + 1.0);
            CHECK(fabs(error) <= e->half_width_ns + 1.0);
            CHECK(e->half_width_ns >= 500.0 && e->rtt_ns >= 1400.0); /* those of the messages */
            CHECK(e->server == 1 && e->client == 0 && e->path_ns > 0.0);
            square += trial % 2 ? 0.0 : error * error / (10.0 * SWEEPS);
        }
    }
    CHECK(sqrt(square) < 1.5);
    CHECK(replaced >= 15);
}

/*
 * Many meetings after each burst show the offset better than one does, by what is claimed, also if
 * some of them were interrupted or if one is far off without knowing. Their edge is dated to where
 * it holds: clocks drift by ten times the error between two meetings.
 */
static void many_meetings_are_averaged(void)
{
    enum { TRIALS = 6 };
    struct rng rng;
    struct scene s;
    ictusi_random_seed(&rng, 29, 0);
    double square[2] = {0.0, 0.0};
    int covered = 0;
    for (int trial = 0; trial < 2 * TRIALS; trial++) {
        const int many = trial % 2;
        struct process client = process_usual(&rng, 0.0, 200e-6 * ictusi_random_uniform(&rng));
        const struct process server = process_usual(&rng, 1e9, -100e-6);
        client.lost = many ? 0.0002 : 0.0;
        scene_play_meetings(&s, &client, &server, many ? 40 : 1);
        for (int k = 0; many && k < SWEEPS; k++) {
            s.seen[k][3].server.frac += 100.0;
            s.seen[k][4].server.sigma_ns = INFINITY;
        }
        REQUIRE(ictusi_calibration_replace(s.bursts, SWEEPS, s.edges));
        for (int k = 0; k < SWEEPS; k++) {
            const double error = edge_error(&client, &server, &s.edges[k]);
            square[many] += error * error / (TRIALS * SWEEPS);
            covered += many && fabs(error) <= 1.96 * hypot(s.edges[k].sigma_ns, s.edges[k].path_ns);
        }
        CHECK(!many || s.edges[0].sigma_ns < 0.3);
    }
    CHECK(sqrt(square[1]) < 0.6 * sqrt(square[0]));
    CHECK(covered >= TRIALS * SWEEPS * 8 / 10);
}

/* Two looks at different moments are brought together by the rate, and the claim grows with the
 * gap. */
static void gaps_cost_certainty(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 5, 0);
    const struct process client = process_usual(&rng, 0.0, 150e-6);
    const struct process server = process_usual(&rng, 1e9, -150e-6);
    for (double late_ns = 1.0; late_ns < 1e8; late_ns *= 1e3) {
        for (int way = -1; way <= 1; way += 2) {
            const struct calibration_pair pair =
                processes_meet(&client, &server, 3e8, way * late_ns);
            const double sigma = ictusi_calibration_sigma(&pair);
            const double t = 3e8;
            const double offset =
                (double)(pair.server.clock - pair.client.clock) + pair.server.frac -
                pair.client.frac +
                pair.server.ns_per_tick * (double)(pair.client.ticks - pair.server.ticks);
            CHECK_NEAR(offset, 1e9 - 300e-6 * t, 5.0 * sigma + 2.0);
            CHECK(sigma >= 1e-6 * late_ns && sigma <= 3.0 + 3e-6 * late_ns);
        }
    }
}

static bool edges_agree(const struct mesh_edge *a, const struct mesh_edge *b)
{
    return a->at == b->at && a->offset == b->offset && a->frac == b->frac &&
           a->half_width_ns == b->half_width_ns && a->sigma_ns == b->sigma_ns && b->path_ns <= 0.0;
}

/* Play a scene in which the counter must not be believed. */
static void scene_is_refused(const struct process *client, const struct process *server)
{
    struct scene s;
    scene_play(&s, client, server);
    const struct mesh_edge first = s.edges[0];
    const struct mesh_edge last = s.edges[SWEEPS - 1];
    CHECK(!ictusi_calibration_replace(s.bursts, SWEEPS, s.edges));
    CHECK(edges_agree(&first, &s.edges[0]));
    CHECK(edges_agree(&last, &s.edges[SWEEPS - 1]));
}

/* Counters that differ by more than messages allow are not one. Neither are those whose difference
 * grows to this, though they agree in the beginning. */
static void other_counters_are_refused(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 11, 0);
    const struct process client = process_usual(&rng, -5e12, 30e-6);
    struct process server = process_usual(&rng, ahead_ns, 10e-6);
    static const double apart_ns[] = {-1e12, -1100.0, 700.0, 1e12};
    for (size_t i = 0; i < sizeof(apart_ns) / sizeof(apart_ns[0]); i++) {
        server.counter_ns = apart_ns[i];
        scene_is_refused(&client, &server);
    }
    server.counter_ns = 0.0;
    server.counter_drift = 1e-6;
    scene_is_refused(&client, &server);
}

/* One sweep in which the counter contradicts the messages, for example after the process moved to
 * another machine, makes all of the pair's sweeps those of messages. */
static void one_contradiction_refuses_all(void)
{
    struct rng rng;
    struct scene s;
    ictusi_random_seed(&rng, 13, 0);
    const struct process client = process_usual(&rng, -5e12, 30e-6);
    const struct process server = process_usual(&rng, ahead_ns, 10e-6);
    struct process moved = server;
    moved.counter_ns = 5e3;
    for (int bad = 0; bad < SWEEPS; bad++) {
        scene_play(&s, &client, &server);
        s.seen[bad][0] = processes_meet(&client, &moved, 1e8 + 2e8 * bad, 400.0);
        const struct mesh_edge before = s.edges[SWEEPS - 1 - bad];
        CHECK(!ictusi_calibration_replace(s.bursts, SWEEPS, s.edges));
        CHECK(edges_agree(&before, &s.edges[SWEEPS - 1 - bad]));
        s.seen[bad][0] = processes_meet(&client, &server, 1e8 + 2e8 * bad, 400.0);
        CHECK(ictusi_calibration_replace(s.bursts, SWEEPS, s.edges));
        /* A pair that did not meet in one sweep: its points are unusable. */
        s.seen[bad][0].server.sigma_ns = INFINITY;
        CHECK(!ictusi_calibration_replace(s.bursts, SWEEPS, s.edges));
    }
}

/* If a clock is slow to read, as devices are, messages are better. */
static void the_better_one_is_used(void)
{
    struct rng rng;
    struct scene s;
    ictusi_random_seed(&rng, 17, 0);
    const struct process client = process_usual(&rng, 0.0, 30e-6);
    struct process server = process_usual(&rng, ahead_ns, 10e-6);
    scene_play(&s, &client, &server);
    server.slow_ns = 30e3;
    for (int k = 0; k < SWEEPS; k++) {
        s.seen[k][0] = processes_meet(&client, &server, 1e8 + 2e8 * k, 400.0);
    }
    CHECK(ictusi_calibration_sigma(&s.seen[0][0]) > 100.0);
    CHECK(!ictusi_calibration_replace(s.bursts, SWEEPS, s.edges));
}

/* A series is unusable if the clock stands still for most of it, or if anything runs backwards. */
static void unusable_series_are_refused(void)
{
    struct rng rng;
    struct calibration_reading r[N];
    struct calibration_point point;
    ictusi_random_seed(&rng, 19, 0);
    struct process p = process_usual(&rng, 1e12, 0.0);
    (void)process_series(&p, 1e6, r);
    REQUIRE(!ictusi_calibration_point(r, NULL, &point));
    CHECK_NEAR(point.bracket_ns, 50.0, 12.0);
    for (int i = 1; i < N; i++) {
        struct calibration_reading bad[N];
        memcpy(bad, r, sizeof(bad));
        bad[i].clock = r[i - 1].clock - 1;
        CHECK(ictusi_calibration_point(bad, NULL, &point) == ICTUS_ERR_CLOCK);
        memcpy(bad, r, sizeof(bad));
        bad[i].before = r[i - 1].after - 1;
        CHECK(ictusi_calibration_point(bad, NULL, &point) == ICTUS_ERR_CLOCK);
        memcpy(bad, r, sizeof(bad));
        bad[i].after = r[i].before - 1;
        CHECK(ictusi_calibration_point(bad, NULL, &point) == ICTUS_ERR_CLOCK);
    }
    static const double coarse_ns[] = {238.0, 1e3, 1e6};
    for (size_t i = 0; i < sizeof(coarse_ns) / sizeof(coarse_ns[0]); i++) {
        p.coarse_ns = coarse_ns[i];
        (void)process_series(&p, 1e6, r);
        CHECK(ictusi_calibration_point(r, NULL, &point) == ICTUS_ERR_SAMPLES);
    }
    /* Without an earlier point, or if the clock was set back since, its rate is unknown. */
    p.coarse_ns = 0.0;
    (void)process_series(&p, 1e6, r);
    REQUIRE(!ictusi_calibration_point(r, NULL, &point));
    struct calibration_point later = point;
    later.clock += 1000000000;
    struct calibration_pair pair = {point, point};
    CHECK(ictusi_calibration_sigma(&pair) == INFINITY);
    (void)process_series(&p, 1e8, r);
    REQUIRE(!ictusi_calibration_point(r, &later, &pair.server));
    CHECK(ictusi_calibration_sigma(&pair) == INFINITY);
    REQUIRE(!ictusi_calibration_point(r, &point, &pair.server));
    CHECK(ictusi_calibration_sigma(&pair) < INFINITY);
    CHECK_NEAR(pair.server.ns_per_tick * ticks_per_ns, 1.0, 1e-6);
}

/* A whole synchronisation of two processes: the line errs by as little as is claimed, also for
 * clocks that wander. */
static void lines_are_as_sure_as_they_say(void)
{
    enum { TRIALS = 40 };
    struct rng rng;
    struct scene s;
    int covered = 0;
    ictusi_random_seed(&rng, 23, 0);
    for (int trial = 0; trial < CHECK_TRIALS(TRIALS); trial++) {
        struct process client = process_usual(&rng, -3e14, 2e-4 * ictusi_random_uniform(&rng));
        struct process server = process_usual(&rng, 1e12, -2e-4 * ictusi_random_uniform(&rng));
        server.bend = trial % 2 ? 0.0 : 5e-9;
        client.lost = trial % 3 ? 0.0 : 0.0005;
        struct mesh *mesh = NULL;
        struct line lines[2];
        struct line_error errors[2];
        scene_play(&s, &client, &server);
        if (!ictusi_calibration_replace(s.bursts, SWEEPS, s.edges)) {
            CHECK(client.lost > 0.0);
            continue;
        }
        REQUIRE(!ictusi_mesh_create(2, 1e-9, &mesh));
        for (int k = 0; k < SWEEPS; k++) {
            REQUIRE(!ictusi_mesh_add(mesh, &s.edges[k], 1));
        }
        REQUIRE(!ictusi_mesh_solve(mesh, lines, errors, 10.0, NULL));
        ictusi_mesh_free(mesh);
        /* The line of the server at its anchor, judged by the edge of that moment. */
        struct mesh_edge edge = {.at = lines[1].anchor + lines[1].offset,
                                 .offset = -lines[1].offset,
                                 .frac = -lines[1].frac};
        const double error = edge_error(&client, &server, &edge);
        covered += fabs(error) <= 1.96 * ictusi_line_error_sigma(&errors[1], 0.0);
        CHECK(fabs(error) <= 5.0 * ictusi_line_error_sigma(&errors[1], 0.0) + 1.0);
        CHECK(fabs(error) <= ictusi_line_error_bound(&errors[1], 0.0));
        CHECK(ictusi_line_error_bound(&errors[1], 0.0) > 400.0); /* by messages */
    }
    CHECK_OF_TRIALS(covered >= TRIALS * 9 / 10);
}

/*
 * A series of readings of a clock that goes half a nanosecond per tick, by hand. Three kinds of
 * brackets take turns; the widest ones, in which the clock was read too late, do not count.
 */
static void series_are_by_hand(void)
{
    struct calibration_reading r[N];
    struct calibration_point point,
        earlier = {.ticks = 1000, .clock = 500, .frac = 0.5, .sigma_ns = 3.0};
    for (int wiggle = 0; wiggle < 2; wiggle++) {
        double moved = 0.0, count = 0.0, square = 0.0;
        for (int i = 0; i < N; i++) {
            const int width = i == 100 ? 16 : i % 8 < 3 ? 20 : i % 8 < 5 ? 28 : 40;
            const int off = width == 40 ? 50 : !wiggle ? 0 : i % 8 == 0 ? 1 : i % 8 == 1 ? -1 : 0;
            r[i] = (struct calibration_reading){1000000 + 200 * i,
                                                7 + 500000 + 100 * i + width / 4 + off,
                                                1000000 + 200 * i + width};
            if (width < 40) {
                count += 1.0;
                moved += fabs(100.0 * (i - 100) + width / 4.0);
                square += off * off;
            }
        }
        REQUIRE(!ictusi_calibration_point(r, NULL, &point));
        CHECK(point.ticks == r[100].before);
        CHECK(point.ns_per_tick == 0.5);
        CHECK_NEAR(point.bracket_ns, 8.0, 0.01);
        CHECK(point.rate_sigma == INFINITY);
        CHECK_NEAR((double)(point.clock - r[100].clock) + point.frac, -4.0, 1e-9);
        CHECK(fabs(point.frac) <= 0.5);
        CHECK_NEAR(point.sigma_ns, hypot(hypot(sqrt(square) / count, 0.1), 1e-3 * moved / count),
                   1e-9);
        REQUIRE(!ictusi_calibration_point(r, &earlier, &point));
        const double ns = (double)(point.clock - 500) + point.frac - 0.5;
        CHECK_NEAR(point.ns_per_tick, ns / (double)(r[100].before - 1000), 1e-7);
        CHECK_NEAR(point.rate_sigma, (3.0 + point.sigma_ns) / ns + 1e-6, 3e-7);
    }
    /* Half of the readings show a clock that moves; fewer are a clock too coarse for this. */
    for (int i = 0; i < N; i++) {
        r[i] = (struct calibration_reading){200 * i, 100 * (i < N / 2 - 1 ? i : N / 2 - 1),
                                            200 * i + 10};
    }
    CHECK(ictusi_calibration_point(r, NULL, &point) == ICTUS_OK);
    r[N / 2 - 1].clock = r[N / 2 - 2].clock + 100; /* as the rest */
    for (int i = N / 2 - 1; i < N; i++) {
        r[i].clock = r[N / 2 - 2].clock;
    }
    CHECK(ictusi_calibration_point(r, NULL, &point) == ICTUS_ERR_SAMPLES);
}

/* A pair whose counter says 1000.25 ns, give or take 3, and messages that leave [low, high]. */
static bool edge_replaced(double low, double high, double sigma_ns, struct mesh_edge *edge)
{
    const int64_t far = 1700000000000000000;
    const struct stamp stamps[2] = {{far - 50, far - 50 + 1000 + (int64_t)high, far + 1000000},
                                    {far - 1000000, far - 20 + 1000 + (int64_t)low, far - 20}};
    const struct calibration_point client = {.ticks = 500,
                                             .clock = far,
                                             .frac = 0.5,
                                             .sigma_ns = 3.0,
                                             .bracket_ns = 40.0},
                                   server = {.ticks = 100,
                                             .clock = far + 800,
                                             .frac = 0.75,
                                             .sigma_ns = 4.0,
                                             .bracket_ns = 60.0,
                                             .ns_per_tick = 0.5,
                                             .rate_sigma = 0.06};
    const struct calibration_pair seen = {client, server};
    const struct calibration_burst burst = {stamps, 2, &seen, 1};
    *edge = (struct mesh_edge){.server = 1,
                               .at = far - 77,
                               .offset = 5,
                               .half_width_ns = 1e4,
                               .sigma_ns = sigma_ns,
                               .rtt_ns = 900.0};
    return ictusi_calibration_replace(&burst, 1, edge);
}

/* sigma: 3 and 4 ns, and 200 ns of gap at 6 %: 13 ns in all; five of them and 2 ns are allowed. */
static void counters_are_by_hand(void)
{
    struct mesh_edge edge;
    REQUIRE(edge_replaced(-400.0, 700.0, 100.0, &edge));
    CHECK(edge.at == 1700000000000000000 && edge.offset == 1000);
    CHECK_NEAR(edge.frac, 0.25, 1e-9);
    CHECK_NEAR(edge.sigma_ns, 13.0, 1e-9);
    CHECK_NEAR(edge.path_ns, 0.25, 1e-9);
    CHECK_NEAR(edge.half_width_ns, 700.0 - 0.25, 0.1);
    CHECK(edge.rtt_ns == 900.0);
    REQUIRE(edge_replaced(-700.0, 400.0, 100.0, &edge));
    CHECK_NEAR(edge.half_width_ns, 700.0 + 0.25, 0.1);
    /* What is proven by messages is left by no offset. */
    REQUIRE(edge_replaced(67.0, 700.0, 100.0, &edge));
    CHECK_NEAR(edge.frac, 67.0, 0.1);
    CHECK(!edge_replaced(68.0, 700.0, 100.0, &edge));
    CHECK(edge.offset == 5 && edge.half_width_ns == 1e4 && edge.sigma_ns == 100.0);
    REQUIRE(edge_replaced(-700.0, -66.0, 100.0, &edge));
    CHECK_NEAR(edge.frac, -66.0, 0.1);
    CHECK(!edge_replaced(-700.0, -67.0, 100.0, &edge));
    /* Messages that are more certain stay: 13 ns against sigma and the path's usual asymmetry. */
    const double asymmetry = ICTUSI_ASYMMETRY_PER_RTT * 900.0;
    const double even = sqrt(fmax(13.0 * 13.0 + 0.25 * 0.25 - asymmetry * asymmetry, 0.0));
    if (even > 1.0) {
        CHECK(edge_replaced(-400.0, 400.0, even + 0.1, &edge));
        CHECK(!edge_replaced(-400.0, 400.0, even - 0.1, &edge));
    }
}

/* Eight meetings are averaged, and fewer are not: the surest one counts. */
static void meetings_are_by_hand(void)
{
    enum { MANY = 8 };
    static const double rests[4] = {0.1, 0.2, 0.3, 0.2};
    const int64_t far = 1700000000000000000;
    const struct stamp stamps[2] = {{far - 50, far + 1000 + 500, far + 1000000},
                                    {far - 1000000, far - 20 + 1000 - 500, far - 20}};
    for (int meetings = MANY - 1; meetings <= MANY; meetings++) {
        struct calibration_pair seen[MANY];
        struct mesh_edge edge = {.server = 1, .at = far, .half_width_ns = 1e4, .rtt_ns = 900.0};
        for (int i = 0; i < MANY; i++) {
            const struct calibration_point point = {.clock = far + 1000 * i,
                                                    .sigma_ns = i == 2 ? 0.5 : 0.6,
                                                    .bracket_ns = 40.0,
                                                    .ns_per_tick = 0.5};
            seen[i] = (struct calibration_pair){point, point};
            seen[i].server.clock += 1000;
            seen[i].server.frac = rests[i % 4];
        }
        const struct calibration_burst burst = {stamps, 2, seen, meetings};
        REQUIRE(ictusi_calibration_replace(&burst, 1, &edge));
        CHECK(edge.offset == 1000);
        CHECK_NEAR(edge.frac, meetings == MANY ? 0.2 : 0.3, 1e-9);
        CHECK(edge.at == far + (meetings == MANY ? 3500 : 2000));
    }
}

int main(void)
{
    meetings_are_by_hand();
    offsets_come_from_the_counter();
    many_meetings_are_averaged();
    gaps_cost_certainty();
    other_counters_are_refused();
    one_contradiction_refuses_all();
    the_better_one_is_used();
    unusable_series_are_refused();
    lines_are_as_sure_as_they_say();
    series_are_by_hand();
    counters_are_by_hand();
    return check_result();
}
