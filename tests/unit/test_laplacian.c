/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares on graphs, against Gauss's elimination; resistances of series, of rings, of all
 * pairs. */
#include "core/laplacian.h"
#include "core/mesh.h"
#include "core/random.h"

#include "../check.h"
#include "dense.h"

#include <ictus/error.h>

enum { NODES = 9, EDGES_MAX = 2000 };

/* The inverse of the Laplacian without node 0. */
static void grounded_inverse(int nodes, const struct graph_edge *edges, size_t count,
                             dense_matrix inverse)
{
    dense_matrix l = {{0.0}};
    for (size_t e = 0; e < count; e++) {
        const int ends[2] = {edges[e].a - 1, edges[e].b - 1};
        for (int i = 0; i < 4; i++) {
            if (ends[i / 2] >= 0 && ends[i % 2] >= 0) {
                l[ends[i / 2]][ends[i % 2]] += edges[e].weight * (i % 3 == 0 ? 1.0 : -1.0);
            }
        }
    }
    (void)dense_invert(l, nodes - 1, inverse);
}

static size_t graph_draw(struct rng *rng, struct graph_edge *edges)
{
    size_t count = 0;
    for (int32_t i = 1; i < NODES; i++) { /* a tree, and more */
        const int32_t above = (int32_t)ictusi_random_below(rng, (uint64_t)i);
        for (int32_t j = 0; j < i; j++) {
            if (j == above || ictusi_random_uniform(rng) < 0.3) {
                const double y = 1e3 * ictusi_random_normal(rng);
                const struct graph_edge edge = {j, i, 0.1 + ictusi_random_uniform(rng), y};
                edges[count++] = edge;
            }
        }
    }
    return count;
}

/* The same solver again and again, from any first guess. */
static void solutions_are_those_of_elimination(void)
{
    struct rng rng;
    struct laplacian l;
    ictusi_random_seed(&rng, 51, 0);
    REQUIRE(!ictusi_laplacian_create(NODES, &l));
    for (int trial = 0; trial < 60; trial++) {
        struct graph_edge edges[NODES * NODES];
        dense_matrix g;
        double x[NODES], resistance[NODES], between = 0.0, all = 0.0;
        const size_t count = graph_draw(&rng, edges);
        grounded_inverse(NODES, edges, count, g);
        for (int i = 0; i < NODES; i++) {
            x[i] = trial % 2 ? 50.0 * ictusi_random_normal(&rng) : 0.0;
        }
        REQUIRE(!ictusi_laplacian_solve(&l, edges, count, x));
        REQUIRE(!ictusi_laplacian_resistance(&l, edges, count, resistance, &between));
        CHECK(x[0] == 0.0 && resistance[0] == 0.0);
        for (int i = 1; i < NODES; i++) {
            double wanted = 0.0;
            for (size_t e = 0; e < count; e++) {
                const double flow = edges[e].weight * edges[e].y;
                wanted += g[i - 1][edges[e].b - 1] * flow;
                wanted -= edges[e].a ? g[i - 1][edges[e].a - 1] * flow : 0.0;
            }
            CHECK_NEAR(x[i], wanted, 1e-6 * fmax(1.0, fabs(wanted)));
            CHECK_NEAR(resistance[i], g[i - 1][i - 1], 1e-6 * resistance[i]);
            for (int j = 0; j < i; j++) {
                const double to_j = j ? g[j - 1][j - 1] - 2.0 * g[i - 1][j - 1] : 0.0;
                all += (g[i - 1][i - 1] + to_j) / (NODES * (NODES - 1) / 2.0);
            }
        }
        CHECK_NEAR(between, all, 1e-6 * all);
    }
    ictusi_laplacian_free(&l);
    CHECK(!l.degree);
}

/* Nodes that no edge of weight reaches keep their guess. Weights of which no least
 * squares can be made are refused. */
static void lone_nodes_are_left_alone(void)
{
    struct graph_edge edges[] = {{0, 1, 2.0, 7.0}, {1, 2, 0.0, 9.0}};
    double x[4] = {1.0, 5.0, 6.0, -4.0};
    struct laplacian l;
    REQUIRE(!ictusi_laplacian_create(4, &l));
    REQUIRE(!ictusi_laplacian_solve(&l, edges, 2, x));
    CHECK(x[0] == 0.0 && x[2] == 5.0 && x[3] == -5.0);
    CHECK_NEAR(x[1], 7.0, 1e-9);
    edges[0].weight = -2.0;
    edges[1].weight = 3.0;
    CHECK(ictusi_laplacian_solve(&l, edges, 2, x) == ICTUS_ERR_CORRUPT);
    ictusi_laplacian_free(&l);
}

/* Many nodes are probed: of n that all meet with weight w, any two are 2 / (n w) apart. */
static void many_nodes_are_estimated(void)
{
    enum { MANY = 60 };
    static struct graph_edge edges[EDGES_MAX];
    double resistance[MANY], between = 0.0;
    struct laplacian l;
    size_t count = 0;
    for (int32_t i = 0; i < MANY; i++) {
        for (int32_t j = 0; j < i; j++) {
            const struct graph_edge edge = {j, i, 4.0, 0.0};
            edges[count++] = edge;
        }
    }
    REQUIRE(!ictusi_laplacian_create(MANY, &l));
    REQUIRE(!ictusi_laplacian_resistance(&l, edges, count, resistance, &between));
    CHECK_NEAR(between, 2.0 / (MANY * 4.0), 0.15 * between);
    for (int i = 1; i < MANY; i++) {
        CHECK_NEAR(resistance[i], 2.0 / (MANY * 4.0), 0.15 * resistance[i]);
    }
    REQUIRE(!ictusi_laplacian_resistance(&l, edges, count, resistance, NULL));
    ictusi_laplacian_free(&l);
}

/* What was added and never solved is released, too, or forgotten. */
static void sweeps_that_are_not_solved_are_released(void)
{
    const struct mesh_edge edge = {
        .client = 0, .server = 1, .half_width_ns = 100.0, .rtt_ns = 200.0};
    struct mesh *mesh = NULL;
    struct line lines[2];
    struct line_error errors[2];
    REQUIRE(!ictusi_mesh_create(2, 1e-9, &mesh));
    REQUIRE(!ictusi_mesh_add(mesh, &edge, 1) && !ictusi_mesh_add(mesh, &edge, 1));
    ictusi_mesh_reset(mesh);
    CHECK(ictusi_mesh_solve(mesh, lines, errors, 1.0, NULL) == ICTUS_ERR_SAMPLES);
    REQUIRE(!ictusi_mesh_add(mesh, &edge, 1));
    ictusi_mesh_free(mesh);
}

int main(void)
{
    solutions_are_those_of_elimination();
    lone_nodes_are_left_alone();
    many_nodes_are_estimated();
    sweeps_that_are_not_solved_are_released();
    return check_result();
}
