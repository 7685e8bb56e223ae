/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asymmetries that processes share. All pairs of processes on the same two nodes use one path, so
 * that their loops show nothing of its asymmetry, and the mean over them does not reduce it. What
 * is independent are the pairs of nodes, and the loops that these close.
 */
#include "core/fit.h"
#include "core/mesh_state.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pair of nodes: the mean residual from the lower node to the higher one. */
struct path {
    int32_t a, b;
    double sum;
    double count;
};

static int path_compare(const void *x, const void *y)
{
    const struct path *p = x;
    const struct path *q = y;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

/* List the residuals of all pending sweeps between nodes, and note the shortest round trip. Return
 * how many there are. */
static size_t paths_list(struct mesh *m, struct path *paths)
{
    size_t n = 0;
    for (int k = 0; k < m->pending_count; k++) {
        const struct mesh_sweep *s = &m->pending[k];
        for (size_t e = 0; e < s->count; e++) {
            const int a = m->node[s->graph[e].a];
            const int b = m->node[s->graph[e].b];
            if (a != b) {
                paths[n++] = (struct path){a < b ? a : b, a < b ? b : a,
                                           a < b ? s->residual[e] : -s->residual[e], 1.0};
                m->path_rtt_ns = fmin(m->path_rtt_ns, s->edges[e].rtt_ns);
            }
        }
    }
    return n;
}

/* Sort the residuals by pairs of nodes, and add up those of each. Return the number of pairs. */
static size_t paths_merge(struct path *paths, size_t n)
{
    size_t pairs = 0;
    qsort(paths, n, sizeof(*paths), path_compare);
    for (size_t i = 0; i < n; i++) {
        if (pairs > 0 && path_compare(&paths[pairs - 1], &paths[i]) == 0) {
            paths[pairs - 1].sum += paths[i].sum;
            paths[pairs - 1].count += paths[i].count;
        } else {
            paths[pairs++] = paths[i];
        }
    }
    return pairs;
}

/*
 * What the loops of nodes leave of the mean residuals, squared, and less what noise leaves in them.
 * x: room for a value for each node.
 */
static int paths_solve(struct mesh *m, const struct path *paths, struct graph_edge *edges,
                       size_t pairs, double noise, double *x, double *squares)
{
    for (size_t i = 0; i < pairs; i++) {
        edges[i] = (struct graph_edge){paths[i].a, paths[i].b, 1.0, paths[i].sum / paths[i].count};
    }
    memset(x, 0, (size_t)m->nodes * sizeof(*x));
    const int err = ictusi_laplacian_solve(&m->between, edges, pairs, x);
    const double left = ((double)pairs - (m->nodes - 1)) / (double)pairs;
    *squares = 0.0;
    for (size_t i = 0; i < pairs && !err; i++) {
        const double r = edges[i].y - (x[edges[i].b] - x[edges[i].a]);
        *squares += r * r - left * noise / paths[i].count;
    }
    return err;
}

/*
 * Add the part of the paths between nodes to that of the paths of processes: the variance of a
 * usual offset, and how those of the processes relate to it. resistance: of each node.
 */
static void paths_add(struct mesh *m, struct mesh_spread *spread, double bias,
                      const double *resistance)
{
    const double own = m->bias_gain * spread->bias;
    double usual = 0.0;
    for (int i = 1; i < m->size; i++) {
        m->relative[i] = m->relative[i] * own + resistance[m->node[i]] * bias;
        usual += m->relative[i] / (m->size - 1);
    }
    spread->bias = fmax(spread->bias, bias);
    if (usual > 0.0 && spread->bias > 0.0) {
        m->bias_gain = usual / spread->bias;
        for (int i = 1; i < m->size; i++) {
            m->relative[i] /= usual;
        }
    }
}

/* The variance of the asymmetry of a path between two nodes. *freedom: how well it is known; 0
 * between two nodes, which close no loop. */
static double paths_bias(const struct mesh *m, size_t pairs, double squares, double *freedom)
{
    const double usual = ICTUSI_ASYMMETRY_PER_RTT * m->path_rtt_ns;
    *freedom = (double)pairs - (m->nodes - 1);
    return *freedom > 0.0
               ? ictusi_mesh_admit_bias(fmax(squares / *freedom, 0.0), usual * usual, freedom)
               : usual * usual;
}

int ictusi_mesh_share_paths(struct mesh *m, struct mesh_spread *spread)
{
    size_t most = 1;
    for (int k = 0; k < m->pending_count; k++) {
        most += m->pending[k].count;
    }
    struct path *paths = malloc(most * sizeof(*paths));
    struct graph_edge *edges = malloc(most * sizeof(*edges));
    double *x = malloc((size_t)m->nodes * sizeof(*x));
    int err = paths && edges && x ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        double squares = 0.0;
        const size_t pairs = paths_merge(paths, paths_list(m, paths));
        err = paths_solve(m, paths, edges, pairs, spread->noise, x, &squares);
        err = err ? err : ictusi_laplacian_resistance(&m->between, edges, pairs, x, NULL);
        if (!err) {
            paths_add(m, spread, paths_bias(m, pairs, squares, &spread->bias_freedom), x);
        }
    }
    free(x);
    free(edges);
    free(paths);
    return err;
}

int ictusi_mesh_set_nodes(struct mesh *mesh, const int *nodes)
{
    int count = 0;
    for (int i = 0; i < mesh->size; i++) {
        if (nodes[i] < 0 || nodes[i] > count) {
            return ICTUS_ERR_ARG;
        }
        count += nodes[i] == count;
    }
    if (count < 2 || count == mesh->size) { /* no path is shared */
        return ICTUS_OK;
    }
    mesh->node = malloc((size_t)mesh->size * sizeof(*mesh->node));
    if (!mesh->node || ictusi_laplacian_create(count, &mesh->between)) {
        return ICTUS_ERR_NOMEM;
    }
    memcpy(mesh->node, nodes, (size_t)mesh->size * sizeof(*mesh->node));
    mesh->nodes = count;
    return ICTUS_OK;
}
