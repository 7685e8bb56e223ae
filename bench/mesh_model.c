/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mesh against HCA3 in the same virtual cluster, against known truth: the core alone, without
 * MPI, so that hundreds of synchronisations take seconds.
 *
 *     bench_mesh_model SIZE [key=value...]
 *
 * Prints the mean over repetitions of the largest error of any process at the end and 10 s later,
 * the ratio, durations, exchanges, and how often the 95 % interval covered.
 */
#include "../tests/sim/world.h"
#include "core/adaptive.h"
#include "core/estimator.h"
#include "core/fit.h"
#include "core/matching.h"
#include "core/mesh.h"

#include <ictus/error.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct setup {
    struct world_options world;
    int repetitions;
    int fit_points, fit_exchanges;
    int rounds, exchanges, sweeps;
    double window_s;
    int adaptive_from; /* exchanges from which the burst is fitted adaptively */
    double prior_walk;
};

/* One algorithm's outcome in one world. */
struct outcome {
    double max_ns[2];
    double duration_s;
    double started, started_max;
    double covered[2], bounded;
    double sigma_ns;
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

static void judge(struct world *w, const struct line *lines, const struct line_error *errors,
                  struct outcome *out)
{
    const double end = world_now(w);
    const int n = w->options.size;
    out->duration_s = end;
    count_exchanges(w, out);
    for (int z = 0; z < 2; z++) {
        for (int i = 1; i < n; i++) {
            const double e = fabs(world_error(w, i, &lines[i], end + 10.0 * z));
            out->max_ns[z] = fmax(out->max_ns[z], e);
            if (errors) {
                const double sigma = ictusi_line_error_sigma(&errors[i], 10.0 * z);
                out->covered[z] += (e <= 1.96 * sigma) / (double)(n - 1);
                out->sigma_ns += z ? 0.0 : sigma / (n - 1);
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
        check(ictusi_offset_skampi(stamps, (size_t)s->fit_exchanges, &points[k]));
    }
    check(ictusi_fit_ols(points, (size_t)s->fit_points, &line, NULL));
    free(points);
    return line;
}

static void run_hca3(const struct setup *s, struct outcome *out)
{
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

static struct mesh_edge burst(struct world *w, const struct setup *s, int client, int server,
                              int exchanges, struct stamp *stamps)
{
    struct mesh_edge edge = {.client = client, .server = server};
    struct offset found;
    world_burst(w, client, server, exchanges, stamps);
    check(ictusi_offset_skampi(stamps, (size_t)exchanges, &found));
    edge.at = found.at;
    edge.offset = found.offset;
    edge.frac = found.frac;
    edge.half_width_ns = found.half_width_ns;
    edge.rtt_ns = found.rtt_min_ns;
    if (exchanges >= s->adaptive_from) {
        struct line line;
        struct line_error error;
        check(ictusi_fit_adaptive(stamps, (size_t)exchanges, &line, &error, NULL));
        const int64_t middle =
            stamps[0].sent + (stamps[exchanges - 1].received - stamps[0].sent) / 2;
        const double back_s = (double)(middle - line.anchor) * 1e-9;
        line = ictusi_line_move(&line, middle);
        error = ictusi_line_error_move(&error, back_s);
        edge.at = middle;
        edge.offset = line.offset;
        edge.frac = line.frac;
        edge.sigma_ns = sqrt(error.offset_var_ns2);
    }
    return edge;
}

static void run_mesh(const struct setup *s, struct outcome *out)
{
    const int n = s->world.size;
    struct world *w = world_create(&s->world);
    struct matching m;
    struct mesh *mesh = NULL;
    check(ictusi_matching_create(n, s->rounds, s->world.seed, &m));
    check(ictusi_mesh_create(n, s->prior_walk, &mesh));
    const int exchanges = s->rounds / m.rounds * s->exchanges;
    struct stamp *stamps = must(malloc((size_t)exchanges * sizeof(*stamps)));
    struct mesh_edge *edges = must(malloc((size_t)m.rounds * (size_t)(n / 2 + 1) * sizeof(*edges)));
    double length = 0.0;
    for (int k = 0; k < s->sweeps; k++) {
        const double start = k ? k * (s->window_s - length) / (s->sweeps - 1) : 0.0;
        size_t count = 0;
        world_wait(w, start);
        for (int r = 0; r < m.rounds; r++) {
            for (int i = 0; i < n; i++) {
                if (ictusi_matching_asks(&m, r, i)) {
                    edges[count++] =
                        burst(w, s, i, ictusi_matching_partner(&m, r, i), exchanges, stamps);
                }
            }
        }
        length = k ? length : world_now(w);
        check(ictusi_mesh_add(mesh, edges, count));
    }
    struct line *lines = must(calloc((size_t)n, sizeof(*lines)));
    struct line_error *errors = must(calloc((size_t)n, sizeof(*errors)));
    check(ictusi_mesh_solve(mesh, lines, errors, 10.0, &out->quality));
    judge(w, lines, errors, out);
    free(errors);
    free(lines);
    free(edges);
    free(stamps);
    ictusi_mesh_free(mesh);
    ictusi_matching_free(&m);
    world_free(w);
}

static int set(struct setup *s, const char *word)
{
    const char *value = strchr(word, '=');
    if (!value) {
        return 0;
    }
    const size_t n = (size_t)(value - word);
    const double v = atof(value + 1);
    const struct {
        const char *name;
        double *real;
        int *integer;
    } keys[] = {
        {"asymmetry", &s->world.asymmetry_ns, NULL},
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
        {"adaptive", NULL, &s->adaptive_from},
        {"shape", NULL, (int *)&s->world.shape},
        {"latency", &s->world.latency_ns, NULL},
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

int main(int argc, char **argv)
{
    struct setup s = {.world = world_defaults(argc > 1 ? atoi(argv[1]) : 0, 1),
                      .repetitions = 5,
                      .fit_points = 100,
                      .fit_exchanges = 100,
                      .rounds = 50,
                      .exchanges = 100,
                      .sweeps = 2,
                      .window_s = 0.3,
                      .adaptive_from = 1 << 30,
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
        s.world.seed = 1000 + (uint64_t)k;
        for (int a = 0; a < 2; a++) {
            struct outcome one = {.duration_s = 0.0};
            if (a) {
                run_mesh(&s, &one);
                sum[1].quality = one.quality;
            } else if (s.fit_points > 0) {
                run_hca3(&s, &one);
            }
            for (int z = 0; z < 2; z++) {
                sum[a].max_ns[z] += one.max_ns[z] / s.repetitions;
                sum[a].covered[z] += one.covered[z] / s.repetitions;
            }
            sum[a].duration_s += one.duration_s / s.repetitions;
            sum[a].started += one.started / s.repetitions;
            sum[a].started_max += one.started_max / s.repetitions;
            sum[a].bounded += one.bounded / s.repetitions;
            sum[a].sigma_ns += one.sigma_ns / s.repetitions;
        }
    }
    printf(
        "p=%-5d asym %3.0f | hca3 %8.1f %8.0f ns, %.2f s, %6.0f/%6.0f exch | mesh %7.2f %7.1f ns, "
        "%.2f s, %6.0f/%6.0f exch | ratio %.3f %.3f | covered %.3f %.3f bound %.3f sigma %.2f "
        "noise %.2f asym %.1f its %d\n",
        s.world.size, s.world.asymmetry_ns, sum[0].max_ns[0], sum[0].max_ns[1], sum[0].duration_s,
        sum[0].started, sum[0].started_max, sum[1].max_ns[0], sum[1].max_ns[1], sum[1].duration_s,
        sum[1].started, sum[1].started_max, sum[1].max_ns[0] / sum[0].max_ns[0],
        sum[1].max_ns[1] / sum[0].max_ns[1], sum[1].covered[0], sum[1].covered[1], sum[1].bounded,
        sum[1].sigma_ns, sum[1].quality.noise_ns, sum[1].quality.asymmetry_ns,
        sum[1].quality.iterations);
    return 0;
}
