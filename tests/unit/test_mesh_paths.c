/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asymmetries of paths that all processes of two nodes share, against known truth: loops between
 * the same two nodes reveal nothing about it, and the mean over their pairs is no better than one.
 */
#include "core/fit.h"
#include "core/mesh.h"
#include "core/random.h"

#include <ictus/error.h>
#include <math.h>
#include <string.h>

#include "../check.h"

enum { NODES = 5, PER_NODE = 3, SIZE = NODES * PER_NODE, SWEEPS = 3 };

static const double half_asymmetry_ns = 50.0;
static const double rtt_ns = 2000.0;
static const double inner_rtt_ns = 200.0;

/* All clocks are right; what a pair measures is the asymmetry of its path, and a little noise. */
struct paths {
    int nodes, per_node;
    double asymmetry[NODES][NODES];
    struct rng rng;
};

static void paths_draw(struct paths *p, int nodes, int per_node, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->nodes = nodes;
    p->per_node = per_node;
    ictusi_random_seed(&p->rng, seed, 0);
    for (int a = 0; a < nodes; a++) {
        for (int b = a + 1; b < nodes; b++) {
            p->asymmetry[a][b] = half_asymmetry_ns * (2.0 * ictusi_random_uniform(&p->rng) - 1.0);
            p->asymmetry[b][a] = -p->asymmetry[a][b];
        }
    }
}

static void paths_sweep(struct paths *p, struct mesh *mesh, int64_t at)
{
    struct mesh_edge edges[SIZE * SIZE];
    const int size = p->nodes * p->per_node;
    size_t count = 0;
    for (int i = 0; i < size; i++) {
        for (int j = i + 1; j < size; j++) {
            const int a = i / p->per_node;
            const int b = j / p->per_node;
            const double noise = ictusi_random_uniform(&p->rng) - 0.5;
            edges[count++] = (struct mesh_edge){.client = i,
                                                .server = j,
                                                .at = at,
                                                .frac = p->asymmetry[a][b] + noise,
                                                .half_width_ns = rtt_ns / 2.0,
                                                .sigma_ns = 0.3,
                                                .rtt_ns = a == b ? inner_rtt_ns : rtt_ns};
        }
    }
    REQUIRE(!ictusi_mesh_add(mesh, edges, count));
}

/* The lines and errors of one synchronisation. */
struct outcome {
    struct line lines[SIZE];
    struct line_error errors[SIZE];
};

static void paths_solve(struct paths *p, const int *nodes, struct outcome *out)
{
    struct mesh *mesh = NULL;
    REQUIRE(!ictusi_mesh_create(p->nodes * p->per_node, 1e-9, &mesh));
    REQUIRE(!nodes || !ictusi_mesh_set_nodes(mesh, nodes));
    for (int k = 0; k < SWEEPS; k++) {
        paths_sweep(p, mesh, 500000000L * k);
    }
    REQUIRE(!ictusi_mesh_solve(mesh, out->lines, out->errors, 10.0, NULL));
    ictusi_mesh_free(mesh);
}

/* The node of each process, if each has so many. */
static void paths_nodes(int size, int per_node, int *nodes)
{
    for (int i = 0; i < size; i++) {
        nodes[i] = i / per_node;
    }
}

/* The share of clocks on other nodes that are inside their 95 % intervals. */
static double paths_cover(int count, const int *nodes, double *largest)
{
    double inside = 0.0;
    double all = 0.0;
    *largest = 0.0;
    for (uint64_t t = 1; t <= CHECK_TRIALS(100); t++) {
        struct paths p;
        struct outcome out;
        paths_draw(&p, count, PER_NODE, t);
        paths_solve(&p, nodes, &out);
        for (int i = PER_NODE; i < count * PER_NODE; i++) {
            const double off = (double)out.lines[i].offset + out.lines[i].frac;
            const double sigmas = fabs(off) / ictusi_line_error_sigma(&out.errors[i], 0.0);
            *largest = fmax(*largest, sigmas);
            inside += sigmas <= 1.96;
            all++;
        }
    }
    return inside / all;
}

/* Between two nodes, and among three and five. Taken for paths of their own, they claim far too
 * little. */
static void shared_paths_are_claimed(void)
{
    int nodes[SIZE];
    paths_nodes(SIZE, PER_NODE, nodes);
    for (int count = 2; count <= NODES; count += count - 1) {
        double largest = 0.0;
        CHECK_OF_TRIALS(paths_cover(count, NULL, &largest) < 0.8);
        CHECK_OF_TRIALS(largest > 4.0);
        CHECK_OF_TRIALS(paths_cover(count, nodes, &largest) > 0.91);
        CHECK_OF_TRIALS(largest < 6.0);
    }
}

/* Nothing shows the path between two nodes: a usual asymmetry is claimed, once, for each process of
 * the other node, and none for those beside the reference. */
static void two_nodes_claim_the_usual(void)
{
    struct paths p;
    struct outcome out;
    int nodes[SIZE];
    paths_draw(&p, 2, PER_NODE, 7);
    paths_nodes(2 * PER_NODE, PER_NODE, nodes);
    paths_solve(&p, nodes, &out);
    const double usual = ICTUSI_ASYMMETRY_PER_RTT * rtt_ns;
    for (int i = 1; i < 2 * PER_NODE; i++) {
        const double path = sqrt(out.errors[i].path_var_ns2);
        const double inner = ICTUSI_ASYMMETRY_PER_RTT * inner_rtt_ns;
        const double unseen = sqrt(out.errors[i].unseen_var_ns2);
        if (i < PER_NODE) {
            CHECK(path < 0.2 * usual);
            CHECK(hypot(path, unseen) < fmax(path, inner) + 1e-6);
        } else {
            CHECK(path > 0.95 * usual && path < 1.2 * usual);
        }
    }
}

/*
 * A node that is slower to send than to receive looks like an offset of its clock: no loop shows
 * it, sigma is small, and what it leaves out is stated beside it.
 */
static void nodes_of_their_own_are_told(void)
{
    struct paths p;
    struct outcome out;
    paths_draw(&p, NODES, 1, 5);
    for (int a = 0; a < NODES; a++) {
        for (int b = 0; b < NODES; b++) {
            p.asymmetry[a][b] = 50.0 * (b - a);
        }
    }
    paths_solve(&p, NULL, &out);
    const double usual = ICTUSI_ASYMMETRY_PER_RTT * rtt_ns;
    for (int i = 0; i < NODES; i++) {
        const struct line_error *e = &out.errors[i];
        const double off = fabs((double)out.lines[i].offset + out.lines[i].frac);
        CHECK_NEAR(off, 50.0 * i, 1.0);
        CHECK(i == 0 || ictusi_line_error_sigma(e, 0.0) < usual);
        CHECK_NEAR(sqrt(e->unseen_var_ns2 + e->path_var_ns2), i ? usual : 0.0, 1e-6);
    }
}

/* A process on each node, or one node: no path is shared, and nothing changes by a bit. */
static void paths_of_their_own_stay(void)
{
    const int apart[NODES] = {0, 1, 2, 3, 4};
    const int together[NODES] = {0};
    const int *const kinds[] = {apart, together};
    for (int k = 0; k < 2; k++) {
        struct paths p;
        struct outcome with;
        struct outcome without;
        memset(&with, 0, sizeof with);
        memset(&without, 0, sizeof without);
        paths_draw(&p, NODES, 1, 3);
        paths_solve(&p, kinds[k], &with);
        paths_draw(&p, NODES, 1, 3);
        paths_solve(&p, NULL, &without);
        for (int i = 0; i < NODES; i++) {
            CHECK(with.lines[i].frac == without.lines[i].frac);
            CHECK(with.errors[i].offset_var_ns2 == without.errors[i].offset_var_ns2);
        }
    }
}

/* Nodes have the numbers of their first processes, in order. */
static void other_numbers_are_refused(void)
{
    static const int wrong[][3] = {{1, 0, 1}, {0, 2, 1}, {0, 1, -1}, {0, 0, 2}};
    static const int right[][3] = {{0, 0, 1}, {0, 1, 0}, {0, 1, 1}, {0, 1, 2}};
    for (int i = 0; i < 4; i++) {
        struct mesh *mesh = NULL;
        REQUIRE(!ictusi_mesh_create(3, 1e-9, &mesh));
        CHECK(ictusi_mesh_set_nodes(mesh, wrong[i]) == ICTUS_ERR_ARG);
        CHECK(ictusi_mesh_set_nodes(mesh, right[i]) == ICTUS_OK);
        ictusi_mesh_free(mesh);
    }
}

int main(void)
{
    shared_paths_are_claimed();
    two_nodes_claim_the_usual();
    nodes_of_their_own_are_told();
    paths_of_their_own_stay();
    other_numbers_are_refused();
    return check_result();
}
