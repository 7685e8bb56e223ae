/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proofs that a clock stepped. Every exchange bounds the offset of its pair from both sides. If a
 * process loses its core in the middle, the bounds only move apart. A step is therefore claimed
 * only if no clocks within the drift limit satisfy all bounds:
 *   1. within one sweep: the bounds, added up along paths to the reference, contradict each other;
 *   2. between sweeps over the same pairs: the slopes that each pair leaves possible do;
 *   3. between calls: what a clock can be after the last one and what it is now are disjoint.
 * Each of these is a system of difference constraints. It has a solution unless one path proves a
 * value to be larger than another path permits (Bellman-Ford). Paths that are not followed to the
 * end can only miss a step but not invent one.
 */
#include "core/fit.h"
#include "core/mesh_state.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>

enum { RELAXATIONS = 64 }; /* a path in a mesh has two or three hops */

/* How fast two clocks may drift apart: twice the assumption, because each is within it. */
static const double parting = ICTUSI_PARTING_MAX_NS_PER_S;
/* How much a rate may change within one synchronisation, in ns per s; a daemon adjusts by less. */
static const double bending = 5000.0;
/* The clocks of two cores, or whole ticks of a coarse source, may contradict each other by this
 * much. */
static const double margin_ns = 100.0;

/* What is known about a quantity of each process: it is between low and high. */
struct span {
    double *low, *high;
};

/* value[b] - value[a] is within [low, high]. */
struct constraint {
    int a, b;
    double low, high;
};

/* Propagate the constraints from what is known. Return a process for which two paths prove
 * values that cannot both be true, or -1. */
static int steps_propagate(const struct constraint *c, size_t count, struct span *known)
{
    bool moved = true;
    for (int round = 0; round < RELAXATIONS && moved; round++) {
        moved = false;
        for (size_t e = 0; e < count; e++) {
            const int ends[2] = {c[e].a, c[e].b};
            for (int way = 0; way < 2; way++) {
                const int from = ends[way];
                const int to = ends[1 - way];
                /* Forward: value[b] <= value[a] + high. Backward: value[a] <= value[b] - low. */
                const double high = known->high[from] + (way ? -c[e].low : c[e].high);
                const double low = known->low[from] + (way ? -c[e].high : c[e].low);
                moved = moved || high < known->high[to] || low > known->low[to];
                known->high[to] = fmin(known->high[to], high);
                known->low[to] = fmax(known->low[to], low);
                if (known->low[to] > known->high[to]) {
                    return to;
                }
            }
        }
    }
    return -1;
}

static void steps_start(struct span *known, int size, double reach)
{
    for (int i = 0; i < size; i++) {
        known->low[i] = i ? -reach : 0.0;
        known->high[i] = i ? reach : 0.0;
    }
}

/* What one sweep alone proves about all offsets at its end. */
static int steps_within_sweep(const struct mesh *m, const struct mesh_sweep *s,
                              struct constraint *c, struct span *known)
{
    for (size_t e = 0; e < s->count; e++) {
        const struct mesh_edge *edge = &s->edges[e];
        /* All edges are moved to the end of the sweep without knowing a drift. The largest
         * possible drift of two clocks since then is added on both sides. */
        const double half = edge->half_width_ns + margin_ns + parting * fabs(s->t_last - s->t[e]);
        const double d = ictusi_mesh_difference(m, edge);
        c[e] = (struct constraint){edge->client, edge->server, d - half, d + half};
    }
    steps_start(known, m->size, INFINITY);
    return steps_propagate(c, s->count, known);
}

/* Narrow the range of slopes that two bursts of a pair leave possible. */
static void steps_narrow(const struct mesh *m, const struct mesh_sweep *s,
                         const struct mesh_sweep *later, size_t e, struct constraint *slope)
{
    const struct mesh_edge *x = &s->edges[e];
    const struct mesh_edge *y = &later->edges[e];
    const double gap_s = later->t[e] - s->t[e];
    const double turn = x->client == slope->a ? 1.0 : -1.0;
    const double turn_later = y->client == slope->a ? 1.0 : -1.0;
    const double change =
        turn_later * ictusi_mesh_difference(m, y) - turn * ictusi_mesh_difference(m, x);
    const double half = x->half_width_ns + y->half_width_ns + 2.0 * margin_ns;
    if (gap_s > 0.0) {
        /*
         * Each of the two offsets is within its half-width, so the mean slope between them is known
         * to within the sum of these over the gap. Rates may also have changed in between (a daemon
         * slews a clock), by `bending`.
         */
        slope->low = fmax(slope->low, (change - half) / gap_s - bending);
        slope->high = fmin(slope->high, (change + half) / gap_s + bending);
    }
}

/* Return the process in most of the pairs that no line fits, or -1. Of two equal ones the later
 * is taken, because it is not 0. */
static int mesh_steps_most_broken(const struct constraint *c, size_t count, int size, double *share)
{
    int suspect = -1;
    double most = 0.0;
    for (int i = 0; i < size; i++) {
        share[i] = 0.0;
    }
    for (size_t e = 0; e < count; e++) {
        if (c[e].low > c[e].high) {
            share[c[e].a] += 1.0;
            share[c[e].b] += 1.0;
        }
    }
    for (int i = 0; i < size; i++) {
        if (share[i] > 0.0 && share[i] >= most) {
            most = share[i];
            suspect = i;
        }
    }
    return suspect;
}

/* Sweeps over the same pairs: one line for each clock must satisfy all of them. */
static int steps_between_sweeps(const struct mesh *m, struct constraint *c, struct span *known)
{
    const struct mesh_sweep *first = &m->pending[0];
    for (size_t e = 0; e < first->count; e++) {
        c[e] = (struct constraint){first->edges[e].client, first->edges[e].server,
                                   -parting - bending, parting + bending};
        for (int k = 0; k < m->pending_count; k++) {
            for (int l = k + 1; l < m->pending_count; l++) {
                steps_narrow(m, &m->pending[k], &m->pending[l], e, &c[e]);
            }
        }
    }
    const int broken = mesh_steps_most_broken(c, first->count, m->size, known->low);
    if (broken >= 0) {
        return broken;
    }
    steps_start(known, m->size, parting + bending);
    return steps_propagate(c, first->count, known);
}

/*
 * Compare what is known about all offsets from before, widened to the end of the sweep, with what
 * the sweep itself proves. If most clocks moved relative to the reference, it is the reference that
 * did.
 */
static int steps_since_before(struct mesh *m, const struct mesh_sweep *s, const struct span *now)
{
    const double grown = parting * fmax(s->t_last - m->known_s, 0.0);
    int wrong = 0;
    int suspect = -1;
    double widest = 0.0;
    for (int i = 1; i < m->size; i++) {
        const double apart =
            fmax(now->low[i] - (m->high[i] + grown), (m->low[i] - grown) - now->high[i]);
        wrong += apart > 0.0;
        if (apart > widest) {
            widest = apart;
            suspect = i;
        }
        m->low[i] = fmax(m->low[i] - grown, now->low[i]);
        m->high[i] = fmin(m->high[i] + grown, now->high[i]);
    }
    m->known_s = fmax(m->known_s, s->t_last);
    return m->size > 2 && 2 * wrong > m->size - 1 ? 0 : suspect;
}

/* Return the process whose pairs, in a sweep that contradicts itself, most often deviate by more
 * than is possible. */
static int steps_accuse(const struct mesh *m, const struct mesh_sweep *s, int proven, double *share)
{
    int suspect = proven;
    double most = 0.0;
    double *seen = share + m->size;
    for (int i = 0; i < 2 * m->size; i++) {
        share[i] = 0.0;
    }
    for (size_t e = 0; e < s->count; e++) {
        const bool outside = fabs(s->residual[e]) > s->edges[e].half_width_ns + margin_ns;
        for (int end = 0; end < 2; end++) {
            const int i = end ? s->edges[e].server : s->edges[e].client;
            seen[i] += 1.0;
            share[i] += outside;
        }
    }
    for (int i = 0; i < m->size; i++) {
        if (share[i] > most * seen[i]) {
            most = share[i] / seen[i];
            suspect = i;
        }
    }
    return suspect;
}

static double steps_confined(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* Least squares over bursts without a good exchange may be where no clock can be. Then the limit
 * of what is proven is also the best estimate. */
static void mesh_steps_confine_drifts(struct mesh *m, const struct span *slopes)
{
    for (int i = 0; i < m->size; i++) {
        m->drift[i] = steps_confined(m->drift[i], slopes->low[i], slopes->high[i]);
    }
}

static int steps_find(struct mesh *m, struct constraint *c, double *room)
{
    struct span now = {room, room + m->size};
    steps_start(&now, m->size, parting);
    if (m->pending_count > 1 && ictusi_mesh_same_pairs(m)) {
        const int proven = steps_between_sweeps(m, c, &now);
        if (proven >= 0) {
            return proven ? proven : steps_accuse(m, &m->pending[0], proven, room);
        }
    }
    mesh_steps_confine_drifts(m, &now);
    for (int k = 0; k < m->pending_count; k++) {
        const struct mesh_sweep *s = &m->pending[k];
        const int proven = steps_within_sweep(m, s, c, &now);
        if (proven >= 0) {
            return steps_accuse(m, s, proven, room);
        }
        const int moved = steps_since_before(m, s, &now);
        if (moved >= 0) {
            return moved;
        }
    }
    for (int i = 1; i < m->size; i++) {
        m->value[i] = steps_confined(m->value[i], m->low[i], m->high[i]);
    }
    return -1;
}

int ictusi_mesh_stepped(struct mesh *mesh, int *suspect)
{
    size_t edges = 1;
    for (int k = 0; k < mesh->pending_count; k++) {
        edges = mesh->pending[k].count > edges ? mesh->pending[k].count : edges;
    }
    struct constraint *c = malloc(edges * sizeof(*c));
    double *room = malloc(2 * (size_t)mesh->size * sizeof(*room));
    int err = c && room ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        *suspect = steps_find(mesh, c, room);
    }
    free(room);
    free(c);
    return err;
}
