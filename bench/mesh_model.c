/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mesh against HCA3 in the same virtual cluster, judged by known truth. Only the core is used,
 * without MPI, so that hundreds of synchronisations take seconds.
 *
 *     bench_mesh_model SIZE [key=value...]
 *
 * Prints the mean over repetitions of the largest error of any process, at the end and 10 s later,
 * with the ratio, the durations, the exchanges, how often the 95 % interval covered the truth, and
 * the ratio of the errors in 10 s if the clocks walked no farther (known). With each=1, it also
 * prints a line for each repetition: the same three errors of both algorithms.
 * HCA3 makes fitpoints= bursts of fitexchanges= exchanges, or with same=1 as many bursts as fit
 * into the time that the mesh takes. With paths=2, the exchanges of the mesh are divided between
 * two paths for each pair of processes, like a second rail, each with asymmetries of its own
 * (asymmetry=, nodeasymmetry=). With counter=NS all processes share a counter, and read their
 * clocks by it with an error of NS. With sharing=N, so many successive processes share a clock.
 */
#include "../tests/sim/world.h"
#include "core/estimator.h"
#include "core/fit.h"
#include "core/mesh_plan.h"
#include "core/pairing.h"

#include <ictus/error.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIT_TRIALS = 20 };

struct setup {
    struct world_options world;
    int repetitions, first_seed;
    int fit_points, fit_exchanges;
    double fit_s; /* if set, HCA3 makes as many fit points as fit into this time */
    bool same;    /* likewise, with the time that the mesh took */
    bool each;    /* print a line for each repetition */
    int rounds, exchanges, sweeps;
    int paths; /* paths that share the mesh's exchanges, each with its own asymmetries */
    double window_s, tolerance_s;
    double prior_walk;
    double counter_ns; /* error of a comparison by a shared counter; 0: there is none */
};

/* The results of one algorithm in one world. */
struct outcome {
    double max_ns[2], square[2]; /* the largest error; the mean of squares */
    double known_ns;             /* the largest error in 10 s of what could have been known */
    double duration_s;
    double started, started_max;
    double covered[2], bounded, beyond; /* beyond: the largest error in sigmas */
    double sigma_ns[2];
    struct mesh_quality quality;
};

static void *must(void *memory)
{
    if (!memory) {
        abort();
    }
    return memory;
}

static void check(int err)
{
    if (err) {
        (void)fprintf(stderr, "bench_mesh_model: %s\n", ictus_strerror(err));
        exit(1);
    }
}

static void count_exchanges(const struct world *w, struct outcome *out)
{
    for (int i = 0; i < w->options.size; i++) {
        out->started += (double)w->started[i] / w->options.size;
        out->started_max = fmax(out->started_max, (double)w->started[i]);
    }
}

/*
 * The largest error 10 s later if no drift changed from now on. How the clocks walk after a
 * synchronisation cannot be known by any algorithm, and is often most of the error.
 */
static double judge_known(struct world *w, const struct line *lines)
{
    const double end = world_now(w);
    double largest = 0.0;
    for (int i = 1; i < w->options.size; i++) {
        const double now = world_error(w, i, &lines[i], end);
        const double rate = world_clock(w, i)->rate * 1e-9;
        const double gains = (rate + lines[i].slope + rate * lines[i].slope) * 1e9;
        largest = fmax(largest, fabs(now + 10.0 * (gains - w->clocks[0].rate)));
    }
    return largest;
}

static void judge(struct world *w, const struct line *lines, const struct line_error *errors,
                  struct outcome *out)
{
    const double end = world_now(w);
    const int n = w->options.size;
    out->duration_s = end;
    count_exchanges(w, out);
    out->known_ns = judge_known(w, lines);
    for (int z = 0; z < 2; z++) {
        for (int i = 1; i < n; i++) {
            const double e = fabs(world_error(w, i, &lines[i], end + 10.0 * z));
            out->max_ns[z] = fmax(out->max_ns[z], e);
            out->square[z] += e * e / (n - 1);
            if (errors) {
                const double sigma = ictusi_line_error_sigma(&errors[i], 10.0 * z);
                out->covered[z] += (e <= 1.96 * sigma) / (double)(n - 1);
                out->sigma_ns[z] += sigma / (n - 1);
                out->beyond = fmax(out->beyond, sigma > 0.0 ? e / sigma : 0.0);
                out->bounded += z ? 0.0 : (e <= errors[i].bound_ns) / (double)(n - 1);
            }
        }
    }
}

/* H18 algorithm 2 for one pair: the client's line to the global clock. */
static struct line learn(struct world *w, const struct setup *s, int server, int client,
                         const struct line *server_line, struct stamp *stamps)
{
    struct offset *points = must(malloc((size_t)s->fit_points * sizeof(*points)));
    struct line line;
    for (int k = 0; k < s->fit_points; k++) {
        world_burst(w, client, server, s->fit_exchanges, stamps);
        for (int i = 0; i < s->fit_exchanges; i++) {
            stamps[i].remote = ictusi_line_map(server_line, stamps[i].remote);
        }
        check(ictusi_estimator_offset_skampi(stamps, (size_t)s->fit_exchanges, &points[k]));
    }
    check(ictusi_fit_ols(points, (size_t)s->fit_points, &line, NULL));
    free(points);
    return line;
}

/* How many fit points HCA3 has time for in each of its rounds. */
static int fitting_points(const struct setup *s)
{
    struct world *w = world_create(&s->world);
    struct stamp *stamps = must(malloc((size_t)s->fit_exchanges * sizeof(*stamps)));
    int rounds = 0;
    while (1 << rounds < s->world.size) {
        rounds++;
    }
    for (int k = 0; k < FIT_TRIALS; k++) {
        world_burst(w, s->world.size - 1, 0, s->fit_exchanges, stamps);
    }
    const double point_s = world_now(w) / FIT_TRIALS;
    free(stamps);
    world_free(w);
    return (int)fmax(s->fit_s / (rounds * point_s), 2.0);
}

static void run_hca3(const struct setup *given, struct outcome *out)
{
    struct setup timed = *given;
    const struct setup *s = &timed;
    timed.fit_points = given->fit_s > 0.0 ? fitting_points(given) : given->fit_points;
    const int n = s->world.size;
    struct world *w = world_create(&s->world);
    struct line *lines = must(calloc((size_t)n, sizeof(*lines)));
    struct stamp *stamps = must(malloc((size_t)s->fit_exchanges * sizeof(*stamps)));
    int power = 1;
    while (2 * power <= n) {
        power *= 2;
    }
    for (int step = power / 2; step > 0; step /= 2) {
        for (int r = 0; r < power; r += 2 * step) {
            lines[r + step] = learn(w, s, r, r + step, &lines[r], stamps);
        }
    }
    for (int r = power; r < n; r++) {
        lines[r] = learn(w, s, r - power, r, &lines[r - power], stamps);
    }
    judge(w, lines, NULL, out);
    free(stamps);
    free(lines);
    world_free(w);
}

/* Make the plan, as sync/mesh_rounds.c does with messages. */
static struct mesh_plan plan_mesh(struct world *w, const struct setup *s, const struct pairing *m)
{
    struct stamp stamps[MESH_TRIAL_EXCHANGES];
    struct mesh_trial trial = {.rtt_ns = INFINITY, .excess_ns = INFINITY};
    double logs = 0.0;
    int bursts = 0;
    for (int i = 0; i < s->world.size; i++) {
        double exchange_s = 0.0;
        int asked = 0;
        for (int r = 0; r < MESH_TRIAL_BURSTS; r++) {
            const int round = r % m->rounds;
            struct mesh_trial seen;
            if (ictusi_pairing_asks(m, round, i)) {
                const int peer = ictusi_pairing_partner(m, round, i);
                world_burst(w, i, peer, MESH_TRIAL_EXCHANGES, stamps);
                check(ictusi_mesh_trial(stamps, &seen));
                exchange_s += seen.exchange_s;
                logs += log(seen.scatter_ns + 1.0);
                trial.rtt_ns = fmin(trial.rtt_ns, seen.rtt_ns);
                trial.excess_ns =
                    i == 0 || peer == 0 ? fmin(trial.excess_ns, seen.excess_ns) : trial.excess_ns;
                asked++;
            }
        }
        bursts += asked;
        trial.exchange_s = asked ? fmax(trial.exchange_s, exchange_s / asked) : trial.exchange_s;
    }
    trial.scatter_ns = exp(logs / bursts);
    trial.excess_ns = isfinite(trial.excess_ns) ? trial.excess_ns : 0.0;
    const struct mesh_wish wish = {.size = s->world.size,
                                   .factors = m->rounds,
                                   .rounds = s->rounds,
                                   .exchanges = s->exchanges,
                                   .sweeps = s->sweeps,
                                   .window_s = s->window_s,
                                   .tolerance_s = s->tolerance_s,
                                   .horizon_s = 10.0,
                                   .limit_s = 3.0};
    return ictusi_mesh_plan(&wish, &trial);
}

/* The offset of a pair right after a burst, as a shared counter shows it. */
static struct offset counter_look(struct world *w, double error_ns, const struct mesh_edge *edge)
{
    const struct line bare = ictusi_line_identity();
    const double now = w->busy_until[edge->client];
    const int64_t at = world_read(w, edge->client, now);
    const double apart =
        world_error(w, edge->server, &bare, now) - world_error(w, edge->client, &bare, now);
    const double offset = apart + (error_ns > 0.0 ? error_ns * ictusi_random_normal(&w->rng) : 0.0);
    return (struct offset){.at = at, .offset = llrint(offset), .frac = offset - nearbyint(offset)};
}

static void counter_replace(double error_ns, const struct offset *seen, struct mesh_edge *edge)
{
    edge->at = seen->at;
    edge->offset = seen->offset;
    edge->frac = seen->frac;
    edge->sigma_ns = error_ns;
    edge->path_ns = 0.25;
}

/*
 * Measure bursts of all pairs, one after another and on each path, and store which pairs they are,
 * and what a counter showed after each of them. Returns the number of bursts.
 */
static size_t measure_sweep(struct world *w, const struct setup *s, const struct pairing *m,
                            int exchanges, struct stamp *stamps, struct mesh_edge *edges,
                            struct offset *seen)
{
    size_t count = 0;
    for (int r = 0; r < m->rounds * s->paths; r++) {
        const int round = r / s->paths;
        w->path = r % s->paths;
        for (int i = 0; i < w->options.size; i++) {
            if (ictusi_pairing_asks(m, round, i)) {
                edges[count].client = i;
                edges[count].server = ictusi_pairing_partner(m, round, i);
                world_burst(w, i, edges[count].server, exchanges,
                            stamps + count * (size_t)exchanges);
                seen[count] = counter_look(w, s->counter_ns, &edges[count]);
                count++;
            }
        }
    }
    return count;
}

static void run_mesh(const struct setup *s, struct outcome *out)
{
    const int n = s->world.size;
    struct world *w = world_create(&s->world);
    struct pairing m;
    struct mesh *mesh = NULL;
    check(ictusi_pairing_create(n, s->rounds, s->world.seed, &m));
    check(ictusi_mesh_create(n, s->prior_walk, &mesh));
    const struct mesh_plan plan = plan_mesh(w, s, &m);
    const double start = world_now(w);
    const int burst = plan.exchanges > s->paths ? plan.exchanges / s->paths : 1;
    const size_t exchanges = (size_t)burst;
    m.rounds = plan.rounds;
    const size_t pairs = (size_t)m.rounds * (size_t)(n / 2) * (size_t)s->paths;
    size_t count = 0;
    struct stamp *stamps = must(malloc((size_t)plan.sweeps * pairs * exchanges * sizeof(*stamps)));
    struct mesh_edge *edges = must(calloc(pairs, sizeof(*edges)));
    struct offset *seen = must(malloc((size_t)plan.sweeps * pairs * sizeof(*seen)));
    for (int k = 0; k < plan.sweeps; k++) {
        const size_t sweep = (size_t)k * pairs;
        world_wait(w, start + ictusi_mesh_plan_start(&plan, k));
        count = measure_sweep(w, s, &m, burst, stamps + sweep * exchanges, edges, seen + sweep);
    }
    for (int k = 0; k < plan.sweeps; k++) {
        for (size_t e = 0; e < count; e++) {
            const struct stamp *first = stamps + e * exchanges;
            const struct stamp *last = first + (size_t)(plan.sweeps - 1) * pairs * exchanges;
            struct adaptive_slope slope;
            const bool known = ictusi_mesh_slope(first, last, exchanges, &slope);
            check(ictusi_mesh_burst(first + (size_t)k * pairs * exchanges, exchanges,
                                    MESH_PAIR_AUTO, known ? &slope : NULL, &edges[e]));
            if (s->counter_ns > 0.0) {
                counter_replace(s->counter_ns, &seen[(size_t)k * pairs + e], &edges[e]);
            }
        }
        check(ictusi_mesh_add(mesh, edges, count));
    }
    struct line *lines = must(calloc((size_t)n, sizeof(*lines)));
    struct line_error *errors = must(calloc((size_t)n, sizeof(*errors)));
    check(ictusi_mesh_solve(mesh, lines, errors, 10.0, &out->quality));
    judge(w, lines, errors, out);
    free(errors);
    free(lines);
    free(edges);
    free(seen);
    free(stamps);
    ictusi_mesh_free(mesh);
    ictusi_pairing_free(&m);
    world_free(w);
}

/* A word that is true or false. Returns whether it is one. */
static int set_flag(struct setup *s, const char *word, size_t n, double v)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"same", &s->same}, {"each", &s->each}, {"noisyfirst", &s->world.noisy_first}};
    for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++) {
        if (strlen(flags[k].name) == n && strncmp(flags[k].name, word, n) == 0) {
            *flags[k].flag = v != 0.0;
            return 1;
        }
    }
    return 0;
}

static int set(struct setup *s, const char *word)
{
    const char *value = strchr(word, '=');
    if (!value) {
        return 0;
    }
    const size_t n = (size_t)(value - word);
    const double v = atof(value + 1);
    if (set_flag(s, word, n, v)) {
        return 1;
    }
    const struct {
        const char *name;
        double *real;
        int *integer;
    } keys[] = {
        {"asymmetry", &s->world.asymmetry_ns, NULL},
        {"nodeasymmetry", &s->world.node_asymmetry_ns, NULL},
        {"paths", NULL, &s->paths},
        {"jitter", &s->world.jitter_ns, NULL},
        {"walk", &s->world.walk, NULL},
        {"drift", &s->world.drift, NULL},
        {"window", &s->window_s, NULL},
        {"prior", &s->prior_walk, NULL},
        {"tail", &s->world.tail, NULL},
        {"reps", NULL, &s->repetitions},
        {"fitpoints", NULL, &s->fit_points},
        {"fitexchanges", NULL, &s->fit_exchanges},
        {"rounds", NULL, &s->rounds},
        {"exchanges", NULL, &s->exchanges},
        {"sweeps", NULL, &s->sweeps},
        {"noisy", NULL, &s->world.noisy},
        {"noise", &s->world.noise_ns, NULL},
        {"slow", &s->world.slow, NULL},
        {"slowby", &s->world.slow_ns, NULL},
        {"congested", &s->world.congested, NULL},
        {"stall", &s->world.stall, NULL},
        {"stallby", &s->world.stall_ns, NULL},
        {"tolerance", &s->tolerance_s, NULL},
        {"counter", &s->counter_ns, NULL},
        {"seed", NULL, &s->first_seed},
        {"shape", NULL, (int *)&s->world.shape},
        {"latency", &s->world.latency_ns, NULL},
        {"sharing", NULL, &s->world.sharing},
    };
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (strlen(keys[k].name) == n && !strncmp(keys[k].name, word, n)) {
            if (keys[k].real) {
                *keys[k].real = v;
            } else {
                *keys[k].integer = (int)v;
            }
            return 1;
        }
    }
    return 0;
}

static void add_up(struct outcome *sum, const struct outcome *one, int repetitions)
{
    for (int z = 0; z < 2; z++) {
        sum->max_ns[z] += one->max_ns[z] / repetitions;
        sum->square[z] += one->square[z] / repetitions;
        sum->covered[z] += one->covered[z] / repetitions;
        sum->sigma_ns[z] += one->sigma_ns[z] / repetitions;
    }
    sum->known_ns += one->known_ns / repetitions;
    sum->duration_s += one->duration_s / repetitions;
    sum->started += one->started / repetitions;
    sum->started_max += one->started_max / repetitions;
    sum->bounded += one->bounded / repetitions;
    sum->beyond = fmax(sum->beyond, one->beyond);
}

static void print_each(const struct setup *s, const struct outcome *mesh,
                       const struct outcome *hca3)
{
    printf("seed %d: mesh %.2f %.2f %.2f hca3 %.2f %.2f %.2f | beyond %.2f | covered %.3f %.3f | "
           "sigma %.2f %.2f | walk %.2e noise %.2f\n",
           (int)s->world.seed, mesh->max_ns[0], mesh->max_ns[1], mesh->known_ns, hca3->max_ns[0],
           hca3->max_ns[1], hca3->known_ns, mesh->beyond, mesh->covered[0], mesh->covered[1],
           mesh->sigma_ns[0], mesh->sigma_ns[1], mesh->quality.walk, mesh->quality.noise_ns);
}

int main(int argc, char **argv)
{
    struct setup s = {.world = world_defaults(argc > 1 ? atoi(argv[1]) : 0, 1),
                      .repetitions = 5,
                      .fit_points = 100,
                      .fit_exchanges = 100,
                      .first_seed = 1000,
                      .rounds = 100,
                      .paths = 1,
                      .prior_walk = 1e-9};
    int good = s.world.size >= 2;
    for (int k = 2; k < argc; k++) {
        good = good && set(&s, argv[k]);
    }
    if (!good) {
        (void)fprintf(stderr, "usage: bench_mesh_model SIZE>=2 [key=value...]\n");
        return 2;
    }
    struct outcome sum[2] = {{.duration_s = 0.0}};
    for (int k = 0; k < s.repetitions; k++) {
        s.world.seed = (uint64_t)s.first_seed + (uint64_t)k;
        struct outcome mesh = {.duration_s = 0.0};
        struct outcome hca3 = {.duration_s = 0.0};
        run_mesh(&s, &mesh);
        if (s.same) {
            s.fit_s = mesh.duration_s;
        }
        if (s.fit_points > 0) {
            run_hca3(&s, &hca3);
        }
        sum[1].quality = mesh.quality;
        if (s.each) {
            print_each(&s, &mesh, &hca3);
        }
        add_up(&sum[0], &hca3, s.repetitions);
        add_up(&sum[1], &mesh, s.repetitions);
    }
    printf("p=%-5d asym %3.0f\n", s.world.size, s.world.asymmetry_ns);
    for (int a = 0; a < 2; a++) {
        printf("%s: largest %.2f %.1f ns, rms %.2f %.1f ns, %.2f s, %.0f/%.0f exch\n",
               a ? "mesh" : "hca3", sum[a].max_ns[0], sum[a].max_ns[1], sqrt(sum[a].square[0]),
               sqrt(sum[a].square[1]), sum[a].duration_s, sum[a].started, sum[a].started_max);
    }
    printf(
        "ratio %.3f %.3f | rms %.3f %.3f | covered %.3f %.3f bound %.3f beyond %.1f | sigma %.2f "
        "%.1f noise %.2f asym %.1f its %d known %.3f\n",
        sum[1].max_ns[0] / sum[0].max_ns[0], sum[1].max_ns[1] / sum[0].max_ns[1],
        sqrt(sum[1].square[0] / sum[0].square[0]), sqrt(sum[1].square[1] / sum[0].square[1]),
        sum[1].covered[0], sum[1].covered[1], sum[1].bounded, sum[1].beyond, sum[1].sigma_ns[0],
        sum[1].sigma_ns[1], sum[1].quality.noise_ns, sum[1].quality.asymmetry_ns,
        sum[1].quality.iterations, sum[1].known_ns / sum[0].known_ns);
    return 0;
}
