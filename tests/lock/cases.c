/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the network clock promises, under faults with known truth: each case runs the whole daemon
 * through hours of simulated time, over several seeds.
 *   lock-cases CASE [COUNT [FIRST]] [-v]
 */
#include "../check.h"
#include "lock/clockbound.h"
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char directory[] = "/tmp/ictus-world-XXXXXX";
static struct world world;
static int verbose;

static void tell(const char *what, uint64_t seed)
{
    const struct world_verdict *v = &world.verdict;
    if (verbose) {
        printf("%s, seed %d: %ld s, %ld locked, %ld unlocked, %ld holdover, outside %ld; rms %.0f "
               "ns, chi2 %.2f, worst %.0f ns, %.2f of the bound, widest %.0f ns; jumps %ld; first "
               "locked %.1f s\n%s",
               what, (int)seed, v->seconds, v->locked, v->unlocked, v->holdover, v->outside,
               world_rms(&world), v->sigma_squares / fmax(1.0, (double)(v->seconds - v->unlocked)),
               v->worst_ns, v->worst_share, v->widest_ns, v->jumps, (double)v->first_locked * 1e-9,
               world.said);
    }
}

static void begin(uint64_t seed, int servers)
{
    world_init(&world, seed, directory);
    for (int i = 0; i < servers; i++) {
        (void)world_add(&world);
    }
}

static const char *names(int count)
{
    static const char all[] = "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5";
    static char some[sizeof(all)];
    (void)snprintf(some, sizeof(some), "%.*s", count * 9 - 1, all);
    return some;
}

static void run(const char *what, uint64_t seed, double tmin_s, double seconds)
{
    struct ictus_lock_options o = world_options(&world, tmin_s);
    o.servers = names(world.server_count);
    (void)world_run(&world, &o, seconds);
    tell(what, seed);
    CHECK(world.verdict.outside == 0);
}

/* Nothing happens: the clock locks, stays locked, and knows how good it is. */
static void case_quiet(uint64_t seed)
{
    begin(seed, 1);
    run("quiet", seed, 4.0, 3600.0);
    CHECK(world.verdict.locked > 3500 && world.verdict.jumps == 0);
}

/* An honest server steps or slews its own error of 5 ms away, and says how wrong it is. */
static double moving_rate;

static void script_moving(struct world *w, double t)
{
    struct world_server *s = &w->servers[0];
    if (t == 600.0) {
        world_set_error(w, s, moving_rate == 0.0 ? 0.0 : 5e6, -moving_rate);
    }
    if (moving_rate > 0.0 && s->rate < 0.0 && world_error(w, s) <= 0.0) {
        world_set_error(w, s, 0.0, 0.0);
    }
}

static void case_moving(uint64_t seed)
{
    static const double rates[] = {0.0, 4e4, 5e5, 5e6};
    for (int i = 0; i < 8; i++) {
        begin(seed, 1);
        moving_rate = rates[i / 2];
        world.script = script_moving;
        world.servers[0].error_ns = 5e6;
        run("moving", seed, i % 2 ? 16.0 : 1.0, 1500.0);
        CHECK(world.verdict.jumps == 0);
        CHECK(fabs(world.last_error_ns) < 1e5);
    }
}

/* Two honest servers 2 ms away, one near and 700 us off. */
static void case_liar(uint64_t seed)
{
    begin(seed, 3);
    for (int i = 0; i < 2; i++) {
        world.servers[i].there.base_ns = 2e6;
        world.servers[i].back.base_ns = 2e6;
    }
    world.servers[2].error_ns = 7e5;
    world.servers[2].honest = false;
    world.servers[2].there.base_ns = world.servers[2].back.base_ns = 2e4;
    run("liar", seed, 1.0, 1200.0);
    CHECK(world.verdict.locked > 1000);
}

/* Two against two: the wrong pair answers first. */
static void script_late(struct world *w, double t)
{
    w->servers[0].dead = w->servers[1].dead = t < 60.0;
}

static void case_split(uint64_t seed)
{
    for (int late = 0; late < 2; late++) {
        begin(seed, 4);
        world.script = late ? script_late : NULL;
        world.judge_from_s = late ? 120.0 : 0.0;
        for (int i = 2; i < 4; i++) {
            world.servers[i].error_ns = 2e6;
            world.servers[i].honest = false;
        }
        run("split", seed, 1.0, 2400.0);
        CHECK(world.verdict.locked == 0 && world.verdict.holdover == 0);
        CHECK(strstr(world.said, "no majority") != NULL);
    }
}

/* An hour without network: locked again within three polls. */
static int64_t relocked_at;

static void script_outage(struct world *w, double t)
{
    w->servers[0].dead = t >= 1800.0 && t < 5400.0;
    if (t > 5400.0 && !relocked_at && w->last_state == ICTUS_LOCK_LOCKED) {
        relocked_at = w->now;
    }
}

static void case_outage(uint64_t seed)
{
    for (int i = 0; i < 2; i++) {
        begin(seed, 1);
        relocked_at = 0;
        world.script = script_outage;
        struct ictus_lock_options o = world_options(&world, 8.0);
        o.policy = i ? ICTUS_LOCK_BEST : ICTUS_LOCK_FIXED;
        (void)world_run(&world, &o, 9000.0);
        tell("outage", seed);
        CHECK(world.verdict.outside == 0);
        CHECK(relocked_at && (double)relocked_at * 1e-9 < 5400.0 + 3 * 8.0 + 2.0);
        CHECK(world.verdict.holdover < 3600 + 30);
    }
}

/* Three dead servers of four must not slow the good one. */
static void case_dead(uint64_t seed)
{
    begin(seed, 4);
    for (int i = 1; i < 4; i++) {
        world.servers[i].dead = true;
    }
    run("dead", seed, 1.0, 600.0);
    CHECK(world.servers[0].asked > 550 * 5);
    CHECK(world.verdict.locked > 580);
}

/* Spoofed requests in the client's name. */
static void script_spoof(struct world *w, double t)
{
    const bool attack = t >= 300.0 && t < 900.0;
    for (int i = 0; attack && i < 200; i++) {
        struct flight spoofed = {.server = 0, .fd = -1, .length = PACKET_BYTES};
        const struct packet request = {.version = 4, .mode = PACKET_CLIENT, .transmit = 4711};
        ictusi_packet_encode(&request, spoofed.bytes);
        spoofed.at = w->now + (int64_t)(1e9 * ictusi_random_uniform(&w->rng));
        if (w->flight_count < WORLD_FLIGHTS) {
            w->flights[w->flight_count++] = spoofed;
        }
    }
    if (t == 900.0) {
        w->context = (void *)(uintptr_t)w->servers[0].asked;
    }
}

static void case_spoofed(uint64_t seed)
{
    begin(seed, 1);
    ictusi_limiter_init(&world.servers[0].code.limiter, 8.0, 16.0, 7);
    world.script = script_spoof;
    run("spoofed", seed, 1.0, 1500.0);
    CHECK(world.verdict.locked > 600);
    /* Ten minutes after the attack the client asks as it did before. */
    CHECK(world.servers[0].asked - (uint64_t)(uintptr_t)world.context > 500 * 5);
}

/* Steered, the network goes away after a minute. */
static void script_unplug(struct world *w, double t)
{
    w->servers[0].dead = t >= 60.0;
}

static void case_steered(uint64_t seed)
{
    begin(seed, 1);
    world.script = script_unplug;
    world.real = 1e8;
    struct ictus_lock_options o = world_options(&world, 1.0);
    o.steer = true;
    (void)world_run(&world, &o, 2000.0);
    tell("steered", seed);
    CHECK(world.verdict.outside == 0);
    CHECK(fabs(world_real(&world) - (double)world.now) < 1e6);
    /* It ends at its frequency: an hour later the clock has hardly moved. */
    const double before = world_real(&world) - (double)world.now;
    world_advance(&world, world.now + INT64_C(3600000000000));
    CHECK(fabs(world_real(&world) - (double)world.now - before) < 1e6);
}

/*
 * ClockBound's clients, who read CLOCK_REALTIME and the segment: whoever steers it, here nobody,
 * and while the network is away.
 */
static const struct clockbound_segment *segment;
static long segment_seconds, segment_outside;

static void script_clockbound(struct world *w, double t)
{
    w->servers[0].dead = t >= 600.0 && t < 1200.0;
    if (t == 900.0) {
        w->kernel_frequency = 5e4; /* somebody else steers */
        w->real += 2e6;
        w->real_steps += 2e6;
    }
    const double mono = 5e12 + world_real(w) - w->real_steps;
    if (!segment || segment->version != CLOCKBOUND_VERSION || !segment->status) {
        return;
    }
    const double age = mono - ((double)segment->as_of_s * 1e9 + (double)segment->as_of_ns);
    const double bound = (double)segment->bound_ns + age * 1e-9 * segment->max_drift_ppb;
    const double error = world_real(w) - (double)(world_utc(w) - w->epoch);
    segment_seconds++;
    /* A step of somebody else's is seen within the second. */
    segment_outside += fabs(error) > bound && fabs(t - 900.0) > 1.5;
}

static void case_clockbound(uint64_t seed)
{
    char path[64];
    begin(seed, 1);
    (void)snprintf(path, sizeof(path), "%s/shm0", directory);
    FILE *file = fopen(path, "w+");
    REQUIRE(file && ftruncate(fileno(file), sizeof(struct clockbound_segment)) == 0);
    void *memory =
        mmap(NULL, sizeof(struct clockbound_segment), PROT_READ, MAP_SHARED, fileno(file), 0);
    REQUIRE(memory != MAP_FAILED && fclose(file) == 0);
    segment = memory;
    segment_seconds = 0;
    segment_outside = 0;
    world.script = script_clockbound;
    struct ictus_lock_options o = world_options(&world, 8.0);
    o.clockbound = path;
    (void)world_run(&world, &o, 1800.0);
    tell("clockbound", seed);
    CHECK(segment_seconds > 1700 && segment_outside == 0);
    CHECK(segment->magic[0] == 0x414d5a4e && segment->magic[1] == 0x43420200);
    CHECK(segment->size == 80 && segment->generation % 2 == 0);
    CHECK(segment->status == CLOCKBOUND_UNKNOWN); /* the daemon has ended */
    (void)munmap(memory, sizeof(struct clockbound_segment));
    segment = NULL;
}

/* A leap second, by the flag. */
static void leap(uint64_t seed, int sign, int servers, bool smearing)
{
    begin(seed, servers);
    world.leap = sign;
    world.epoch =
        INT64_C(1782864000000000000) - INT64_C(1800000000000); /* half an hour before July 2026 */
    world.leap_at = INT64_C(1782864000000000000);
    if (smearing) {
        world.servers[0].smear_s = 86400.0;
        world.servers[0].honest = false;
    }
    run(sign > 0 ? "inserted" : "deleted", seed, 4.0, 3600.0);
    CHECK(world.verdict.locked > 3500);
}

static void case_leap(uint64_t seed)
{
    leap(seed, 1, 1, false);
    leap(seed, -1, 1, false);
    leap(seed, 1, 3, false);
    leap(seed, 1, 4, true);
}

/* Names that do not resolve at the start, then do; a server that dies and whose name moves. */
static void script_names(struct world *w, double t)
{
    w->names_fail = t < 120.0;
    w->servers[0].dead = t >= 600.0;
}

static void case_names(uint64_t seed)
{
    begin(seed, 2);
    world.script = script_names;
    struct ictus_lock_options o = world_options(&world, 2.0);
    o.servers = "one.test";
    (void)world_run(&world, &o, 1200.0);
    tell("names", seed);
    CHECK(world.verdict.outside == 0 && world.verdict.locked > 900);
    CHECK(world.servers[1].asked > 100);
}

/* A pool of five addresses is followed by four sources; one that dies makes room for the fifth. */
static uint64_t pool_asked_before;

static void script_pool(struct world *w, double t)
{
    w->servers[1].dead = t >= 600.0;
    if (t == 600.0) {
        pool_asked_before = w->servers[4].asked;
    }
}

static void case_pool(uint64_t seed)
{
    begin(seed, 5);
    world.script = script_pool;
    world.servers[3].honest = false; /* one of four may lie */
    world.servers[3].error_ns = 3e6;
    struct ictus_lock_options o = world_options(&world, 2.0);
    o.servers = NULL;
    o.pool = "pool.test";
    (void)world_run(&world, &o, 1500.0);
    tell("pool", seed);
    CHECK(world.verdict.outside == 0 && world.verdict.locked > 1400);
    for (int i = 0; i < 4; i++) {
        CHECK(world.servers[i].asked > 250 * 5);
    }
    CHECK(pool_asked_before == 0 && world.servers[4].asked > 250 * 5);
}

/* What the oscillator did is kept in a file, and the next daemon begins with it. */
static double drift_rms(uint64_t seed, const char *path, double seconds)
{
    begin(seed, 1);
    world.walk = 0.1;
    world.frequency = 8e4;
    struct ictus_lock_options o = world_options(&world, 16.0);
    o.drift = path;
    (void)world_run(&world, &o, seconds);
    tell(path ? "with a drift file" : "without", seed);
    CHECK(world.verdict.outside == 0 && world.verdict.locked > 100);
    return world_rms(&world);
}

static void case_drift(uint64_t seed)
{
    char path[64], text[128] = "";
    double ppm = 0.0, sd = 0.0;
    (void)snprintf(path, sizeof(path), "%s/drift", directory);
    (void)unlink(path);
    (void)drift_rms(seed, path, 7200.0);
    FILE *file = fopen(path, "r+");
    REQUIRE(file && fgets(text, sizeof(text), file));
    /* The raw clock gains 80 ppm: the correction takes them away. */
    CHECK(sscanf(text, "%lf %lf", &ppm, &sd) == 2 && fabs(ppm + 80.0) < 0.05 && sd < 1.0);
    CHECK(drift_rms(seed, path, 120.0) < 0.8 * drift_rms(seed, NULL, 120.0));
    rewind(file);
    CHECK(fputs("eighty\n", file) >= 0 && fclose(file) == 0);
    struct ictus_lock_options o = world_options(&world, 16.0);
    o.drift = path;
    CHECK(world_run(&world, &o, 10.0) == ICTUS_ERR_FORMAT);
    CHECK(strstr(world.said, "not a drift file") != NULL);
}

/* An honest server corrects itself by 5 ms: slewed below --makestep, the end above --maxchange. */
static void script_change(struct world *w, double t)
{
    if (t == 600.0) {
        world_set_error(w, &w->servers[0], 0.0, 0.0);
    }
}

/* What the daemon left for its readers. */
static void unchanged_page(void)
{
    struct ictus_lock *reader = NULL;
    struct ictus_lock_reading r = {0};
    const struct ictus_time raw = {(int64_t)llround(world_raw(&world))};
    REQUIRE(!ictus_lock_open("world", directory, &reader, NULL));
    CHECK(!ictus_lock_map(reader, raw, &r));
    CHECK(llabs(r.time.ns - world_utc(&world) - 5000000) < 1000000);
    CHECK(r.state == ICTUS_LOCK_UNLOCKED);
    ictus_lock_close(reader);
}

static int change_by_5ms(uint64_t seed, double makestep_s, double maxchange_s)
{
    begin(seed, 1);
    world.script = script_change;
    world.servers[0].error_ns = 5e6;
    struct ictus_lock_options o = world_options(&world, 4.0);
    o.makestep_s = makestep_s;
    o.maxchange_s = maxchange_s;
    const int err = world_run(&world, &o, 900.0);
    tell("change", seed);
    CHECK(world.verdict.outside == 0);
    return err;
}

static void case_change(uint64_t seed)
{
    CHECK(change_by_5ms(seed, 0.01, 0.0) == ICTUS_OK);
    CHECK(world.verdict.jumps == 0 && fabs(world.last_error_ns) < 1e5);
    CHECK(change_by_5ms(seed, 0.001, 0.0) == ICTUS_OK);
    CHECK(world.verdict.jumps == 1 && fabs(world.last_error_ns) < 1e5);
    CHECK(change_by_5ms(seed, 0.01, 0.1) == ICTUS_OK);
    CHECK(change_by_5ms(seed, 0.01, 0.001) == ICTUS_ERR_TOLERANCE);
    CHECK(strstr(world.said, "--maxchange") != NULL);
    CHECK(world.now > INT64_C(600000000000) && world.now < INT64_C(700000000000));
    unchanged_page();
}

/* A room that warms by steps and a day: no reading leaves its bound, and sigma notices. */
static void script_warm(struct world *w, double t)
{
    if (fmod(t, 3600.0) == 1800.0) {
        w->frequency += fmod(t, 7200.0) < 3600.0 ? 1000.0 : -1000.0;
    }
}

static void case_warm(uint64_t seed)
{
    for (int i = 0; i < 3; i++) {
        begin(seed, 1);
        world.script = script_warm;
        world.judge_from_s = 600.0;
        run("warm", seed, i == 0 ? 1.0 : i == 1 ? 16.0 : 64.0, 14400.0);
        const struct world_verdict *v = &world.verdict;
        /* A poll a minute apart can only notice afterwards. */
        CHECK(v->sigma_squares / (double)v->seconds < (i < 2 ? 4.0 : 10.0));
    }
}

/* Loss, heavy tails, another route each way. */
static void script_paths(struct world *w, double t)
{
    const double detour = fmod(t, 1800.0) < 300.0 ? 4e5 : 0.0;
    w->servers[0].there.base_ns = 1e5 + detour;
}

static void case_paths(uint64_t seed)
{
    begin(seed, 1);
    world.script = script_paths;
    world.servers[0].loss = 0.1;
    world.servers[0].there.pareto_ns = 1e5;
    world.servers[0].there.shape = 1.5;
    run("paths", seed, 4.0, 7200.0);
}

/*
 * A day of everything at once, drawn from the seed: honest servers that step, slew and fall silent,
 * as many liars as may be, other routes, full queues, loss, an oscillator that warms and walks.
 */
static void disturb_server(struct world *w, struct world_server *s)
{
    const double u = ictusi_random_uniform(&w->rng);
    if (u < 0.2) {
        s->dead = !s->dead;
    } else if (u < 0.4) {
        world_set_error(w, s, (ictusi_random_uniform(&w->rng) - 0.5) * 1e7, 0.0);
    } else if (u < 0.6) {
        world_set_error(w, s, world_error(w, s), (ictusi_random_uniform(&w->rng) - 0.5) * 2e5);
    } else if (u < 0.7) {
        s->there.base_ns = 2e4 + 2e6 * ictusi_random_uniform(&w->rng);
    } else if (u < 0.8) {
        s->back.base_ns = 2e4 + 2e6 * ictusi_random_uniform(&w->rng);
    } else if (u < 0.9) {
        s->there.wait_ns = s->there.wait_ns > 1e5 ? 2e4 : 1e6;
    } else {
        s->loss = 0.5 * ictusi_random_uniform(&w->rng) * ictusi_random_uniform(&w->rng);
    }
}

static void script_day(struct world *w, double t)
{
    for (int i = 0; i < w->server_count; i++) {
        struct world_server *s = &w->servers[i];
        if (ictusi_random_uniform(&w->rng) < 1.0 / 3000.0) {
            disturb_server(w, s);
        }
        /* A slew ends where the error is gone, or has become too much to be honest about. */
        if (s->rate != 0.0 && fabs(world_error(w, s)) > 2e7) {
            world_set_error(w, s, 0.0, 0.0);
        }
    }
    if (fmod(t, 7200.0) == 3600.0) {
        w->frequency += 300.0 * ictusi_random_normal(&w->rng) / 3.0;
    }
}

static void case_day(uint64_t seed)
{
    begin(seed, 1 + (int)(seed % 5));
    world.script = script_day;
    world.warm = 100.0;
    world.warm_period_s = 43200.0;
    /* f of 2 f + 1 lie, one way or another. */
    for (int i = 0; i < (world.server_count - 1) / 2; i++) {
        world.servers[i].honest = false;
        world.servers[i].error_ns = 1e6 * (i + 1);
    }
    struct ictus_lock_options o = world_options(&world, seed % 2 ? 4.0 : 16.0);
    o.servers = names(world.server_count);
    o.policy = ICTUS_LOCK_BEST;
    (void)world_run(&world, &o, 86400.0);
    tell("day", seed);
    CHECK(world.verdict.outside == 0);
    CHECK(world.verdict.seconds > 86000);
}

static const struct {
    const char *name;
    void (*run)(uint64_t seed);
} cases[] = {
    {"day", case_day},         {"clockbound", case_clockbound},
    {"quiet", case_quiet},     {"moving", case_moving},
    {"liar", case_liar},       {"split", case_split},
    {"outage", case_outage},   {"dead", case_dead},
    {"spoofed", case_spoofed}, {"steered", case_steered},
    {"leap", case_leap},       {"names", case_names},
    {"warm", case_warm},       {"paths", case_paths},
    {"pool", case_pool},       {"drift", case_drift},
    {"change", case_change},
};

/* Seeds from the first on; those that fail are printed, so that each can be looked at alone. */
static void run_seeds(const char *name, void (*run_case)(uint64_t seed), uint64_t first,
                      uint64_t count)
{
    for (uint64_t seed = first; seed < first + count; seed++) {
        const int before = check_failures;
        run_case(seed);
        if (check_failures > before) {
            printf("FAILED\n    again: lock-cases %s 1 %llu -v\n", name, (unsigned long long)seed);
            (void)fflush(stdout);
        }
    }
}

int main(int argc, char **argv)
{
    bool found = false;
    char command[64];
    verbose = argc > 1 && strcmp(argv[argc - 1], "-v") == 0;
    argc -= verbose;
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 2;
    const uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    REQUIRE(argc > 1 && mkdtemp(directory) != NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            found = true;
            run_seeds(argv[1], cases[i].run, first, count);
        }
    }
    CHECK(found);
    (void)snprintf(command, sizeof(command), "rm -r %s", directory);
    CHECK(system(command) == 0);
    return check_result();
}
