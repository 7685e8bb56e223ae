/* SPDX-License-Identifier: BSD-3-Clause */
/* The mesh over time: the history of sweeps, drifts, lines and their errors. */
#include "core/mesh.h"
#include "core/fit.h"
#include "core/mesh_state.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITERATIONS = 64,  /* of times, offsets and drifts: a few, or dozens if a sweep was stalled */
    RELAXATIONS = 64, /* of hard bounds along paths; a path in a mesh has two or three hops */
    FREEDOM_TABLE = 3,
    FEW_CLOCKS = 8
};

/*
 * The iteration stops when no change of a drift moves an offset of the history by more than this
 * (ns). The edges' times on the reference's clock depend on the drifts of their clients, by 40 ns
 * per second at 200 ppm.
 */
static const double settled_ns = 0.01;
/* Before a second sweep no drift is known. This standard deviation is half of what the hard
 * bounds allow. */
static const double unknown_drift = ICTUSI_DRIFT_MAX_NS_PER_S / 2.0;
/* Between two processes nothing averages the path, unless it is calibrated. Its wander is at
 * least this part of the shortest round trip. */
static const double wander_per_rtt = 0.01;
/* How far the walks of oscillators are from the usual one (scale of the logarithm). */
static const double walk_log_scale = 2.3;
/* How many clocks that share a counter, and thus an oscillator, do not walk at all against each
 * other: they differ by a constant and a rate. */
static const double still_common = 0.8;
/*
 * Clocks are read in whole nanoseconds, the one that a line maps and the reference that it is
 * compared with, and both readings are uniformly distributed over one. Where messages are compared,
 * this is lost in their noise.
 */
static const double reading_var_ns2 = 2.0 / 12.0;
/* The number of independent clocks that each of fewer than FEW_CLOCKS processes counts as. */
static const double few_clocks_share = 0.7;

int ictusi_mesh_create(int size, double walk, struct mesh **mesh)
{
    const size_t n = (size_t)size;
    struct mesh *m = calloc(1, sizeof(*m));
    if (!m) {
        return ICTUS_ERR_NOMEM;
    }
    m->size = size;
    /* The walk of one clock relative to another, in ns per s per square root of a second. Each
     * walks by itself, so the variances add. */
    m->prior_walk = sqrt(2.0) * walk * 1e9;
    m->base = calloc(n, sizeof(*m->base));
    m->drift = calloc(8 * n, sizeof(double));
    m->x = malloc(TRACK_MAX * n * sizeof(double));
    if (!m->base || !m->drift || !m->x || ictusi_laplacian_create(size, &m->laplacian)) {
        ictusi_mesh_free(m);
        return ICTUS_ERR_NOMEM;
    }
    m->value = m->drift + n;
    m->relative = m->drift + 2 * n;
    m->bound = m->drift + 3 * n;
    m->low = m->drift + 4 * n;
    m->high = m->drift + 5 * n;
    m->noisy = m->drift + 6 * n;
    m->g = m->drift + 7 * n;
    ictusi_mesh_reset(m);
    *mesh = m;
    return ICTUS_OK;
}

static void mesh_drop_pending(struct mesh *m)
{
    for (int k = 0; k < m->pending_count; k++) {
        free(m->pending[k].edges);
        free(m->pending[k].graph);
        free(m->pending[k].t);
    }
    free(m->pending);
    m->pending = NULL;
    m->pending_count = 0;
}

void ictusi_mesh_reset(struct mesh *mesh)
{
    mesh_drop_pending(mesh);
    mesh->based = false;
    mesh->sweeps = 0;
    mesh->groups = 0;
    mesh->now = 0.0;
    mesh->known_s = 0.0;
    mesh->rtt_ns = INFINITY;
    mesh->path_rtt_ns = INFINITY;
    mesh->calibrated = true;
    mesh->bias_gain = 1.0;
    mesh->noise_gain = 1.0;
    for (int i = 0; i < mesh->size; i++) {
        mesh->drift[i] = 0.0;
        mesh->value[i] = 0.0;
        mesh->relative[i] = 1.0;
        mesh->noisy[i] = 1.0;
        mesh->bound[i] = i ? INFINITY : 0.0;
        mesh->low[i] = -mesh->bound[i];
        mesh->high[i] = mesh->bound[i];
    }
}

void ictusi_mesh_free(struct mesh *mesh)
{
    if (mesh) {
        mesh_drop_pending(mesh);
        ictusi_laplacian_free(&mesh->laplacian);
        ictusi_laplacian_free(&mesh->between);
        free(mesh->node);
        free(mesh->base);
        free(mesh->drift);
        free(mesh->x);
        free(mesh);
    }
}

int ictusi_mesh_add(struct mesh *mesh, const struct mesh_edge *edges, size_t count)
{
    for (size_t e = 0; e < count; e++) {
        const struct mesh_edge *edge = &edges[e];
        if (edge->client < 0 || edge->client >= mesh->size || edge->server < 0 ||
            edge->server >= mesh->size || edge->client == edge->server) {
            return ICTUS_ERR_ARG;
        }
    }
    struct mesh_sweep *more =
        realloc(mesh->pending, (size_t)(mesh->pending_count + 1) * sizeof(*more));
    if (!more) {
        return ICTUS_ERR_NOMEM;
    }
    mesh->pending = more;
    struct mesh_sweep *s = &more[mesh->pending_count];
    const size_t room = count ? count : 1;
    *s = (struct mesh_sweep){.count = count};
    s->edges = malloc(room * sizeof(*s->edges));
    s->graph = malloc(room * sizeof(*s->graph));
    s->t = malloc((2 * room + (size_t)mesh->size) * sizeof(double));
    mesh->pending_count++;
    if (!s->edges || !s->graph || !s->t) {
        return ICTUS_ERR_NOMEM; /* the sweep is released with the rest */
    }
    s->residual = s->t + room;
    s->x = s->t + 2 * room;
    memcpy(s->edges, edges, count * sizeof(*edges));
    for (size_t e = 0; e < count; e++) {
        mesh->rtt_ns = edges[e].rtt_ns > 0.0 ? fmin(mesh->rtt_ns, edges[e].rtt_ns) : mesh->rtt_ns;
        mesh->calibrated = mesh->calibrated && edges[e].path_ns > 0.0;
    }
    return ICTUS_OK;
}

/* Find integer offsets of every clock from one path to the reference, so that all later
 * arithmetic uses small numbers. Clocks may be years apart, or negative. */
static int mesh_find_bases(struct mesh *m)
{
    const struct mesh_sweep *s = &m->pending[0];
    char *known = calloc((size_t)m->size, 1);
    if (!known) {
        return ICTUS_ERR_NOMEM;
    }
    known[0] = 1;
    m->base[0] = 0;
    /*
     * Pass over the edges until a pass adds no process, instead of using a queue. The graph is an
     * expander, so a few passes reach all processes. Those that remain cannot be reached by any
     * edge.
     */
    int left = m->size - 1;
    for (int before = left + 1; left && left < before;) {
        before = left;
        for (size_t e = 0; e < s->count; e++) {
            const struct mesh_edge *edge = &s->edges[e];
            if (known[edge->client] && !known[edge->server]) {
                m->base[edge->server] = m->base[edge->client] - edge->offset;
                known[edge->server] = 1;
                left--;
            } else if (known[edge->server] && !known[edge->client]) {
                m->base[edge->client] = m->base[edge->server] + edge->offset;
                known[edge->client] = 1;
                left--;
            }
        }
    }
    free(known);
    if (left) {
        return ICTUS_ERR_SAMPLES;
    }
    m->origin = s->edges[0].at + m->base[s->edges[0].client];
    m->based = true;
    return ICTUS_OK;
}

/*
 * Return the ratio of Student's 97.5 % quantile to the normal one. Widening a normal interval by it
 * gives Student's interval. Beyond the table a series in 1/freedom is used, which is within 2 %
 * there.
 */
static double mesh_few_freedoms(double freedom)
{
    /* t(0.975; 1, 2, 3) over 1.960. */
    static const double table[FREEDOM_TABLE] = {6.483, 2.195, 1.624};
    if (freedom < 0.5) {
        return 1.0; /* there are no residuals, so the estimators' own errors are used as they are */
    }
    if (freedom < FREEDOM_TABLE + 0.5) {
        return table[(int)(freedom - 0.5)];
    }
    return 1.0 + 1.21 / freedom + 1.4 / (freedom * freedom);
}

/* Make room for `count` sweeps in the history by dropping the oldest ones. */
static void mesh_make_room(struct mesh *m, int count)
{
    const int excess = m->sweeps + count - TRACK_MAX;
    if (excess > 0) {
        const int keep = m->sweeps - excess;
        memmove(m->sweep, m->sweep + excess, (size_t)keep * sizeof(m->sweep[0]));
        memmove(m->x, m->x + (size_t)excess * (size_t)m->size,
                (size_t)keep * (size_t)m->size * sizeof(double));
        m->sweeps = keep;
    }
}

/*
 * The mean over the clocks of the products of offsets minus each clock's own line, scaled for
 * pairs. The factor 2 is there because clocks are compared in pairs: the variance of a difference
 * is that of both. One degree of freedom is used by the mean.
 */
static void moments_of(const struct mesh *m, double *moments)
{
    const int n = m->sweeps;
    memset(moments, 0, (size_t)n * (size_t)n * sizeof(double));
    double mean[TRACK_MAX] = {0};
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < m->size; i++) {
            const double rest = m->x[(size_t)k * (size_t)m->size + (size_t)i] -
                                ictusi_mesh_at(m, i, m->sweep[k].t_s);
            mean[k] += rest / m->size;
        }
    }
    for (int i = 0; i < m->size; i++) {
        double rest[TRACK_MAX];
        for (int k = 0; k < n; k++) {
            rest[k] = m->x[(size_t)k * (size_t)m->size + (size_t)i] -
                      ictusi_mesh_at(m, i, m->sweep[k].t_s) - mean[k];
        }
        for (int k = 0; k < n; k++) {
            for (int l = 0; l < n; l++) {
                moments[k * n + l] += 2.0 * rest[k] * rest[l] / (m->size - 1);
            }
        }
    }
}

/*
 * Compute the present offsets and drifts of all clocks from the history. Return the largest change
 * of a drift. The smoother is linear and has the same weights for every clock, so it is computed
 * once and applied as two rows.
 */
static double mesh_follow(struct mesh *m, const struct track *t, double now)
{
    double moved = 0.0;
    for (int i = 0; i < m->size; i++) {
        double value = 0.0;
        double drift = 0.0;
        for (int k = 0; k < t->count; k++) {
            const double x = m->x[(size_t)k * (size_t)m->size + (size_t)i];
            value += t->offset_row[k] * x;
            drift += t->drift_row[k] * x;
        }
        moved = fmax(moved, fabs(drift - m->drift[i]));
        m->value[i] = value;
        m->drift[i] = drift;
    }
    m->now = now;
    return moved;
}

/*
 * Return the group of sweeps with the same pairs, and so with the same asymmetries of paths. It
 * consists of the sweeps since the last solve, and of all sweeps over every possible pair, as with
 * few processes.
 */
static int mesh_group_of(const struct mesh *m, const struct mesh_sweep *s)
{
    const size_t every = (size_t)m->size * (size_t)(m->size - 1) / 2;
    return s->count == every ? 0 : m->groups;
}

/*
 * Return the variance of what clocks compared by a counter have in all their pairs alike: where
 * in its bracket a process reads its clock. No loop shows it, and no average over pairs reduces
 * it. Two processes have no loop, and their bias contains it already.
 */
static double mesh_place_variance(const struct mesh *m)
{
    const struct mesh_sweep *s = &m->pending[0];
    double sum = 0.0;
    for (size_t e = 0; m->calibrated && m->size > 2 && e < s->count; e++) {
        sum += s->edges[e].path_ns * s->edges[e].path_ns / (double)s->count;
    }
    return sum;
}

/* Solve the pending sweeps with the known drifts, and set their rows of the history. */
static int mesh_solve_sweeps(struct mesh *m, struct mesh_spread *spread)
{
    int err = ictusi_mesh_group_solve(m, spread);
    err = err ? err : ictusi_mesh_errors(m, spread);
    if (!err && m->node) {
        err = ictusi_mesh_share_paths(m, spread);
    }
    const double place = mesh_place_variance(m);
    for (int k = 0; !err && k < m->pending_count; k++) {
        const int row = m->sweeps - m->pending_count + k;
        const struct mesh_sweep *s = &m->pending[k];
        m->sweep[row] =
            (struct track_sweep){s->t_mean, m->noise_gain * s->noise,
                                 m->bias_gain * spread->bias + place, mesh_group_of(m, s)};
        memcpy(m->x + (size_t)row * (size_t)m->size, s->x, (size_t)m->size * sizeof(double));
    }
    return err;
}

/* Give less weight to a sweep of the last group that is off the line through the others. */
static void mesh_doubt_sweeps(struct mesh *m)
{
    const int first = m->sweeps - m->pending_count;
    double offsets[TRACK_MAX];
    double variance[TRACK_MAX];
    double sum[TRACK_MAX] = {0.0};
    if (m->pending_count > m->sweeps) {
        return;
    }
    for (int i = 1; i < m->size; i++) {
        for (int k = 0; k < m->pending_count; k++) {
            offsets[k] = m->pending[k].x[i];
        }
        ictusi_track_unusual(m->sweep + first, m->pending_count, offsets, variance);
        for (int k = 0; k < m->pending_count; k++) {
            sum[k] += variance[k] / (m->size - 1);
        }
    }
    for (int k = 0; k < m->pending_count; k++) {
        m->sweep[first + k].noise_ns2 += sum[k];
    }
}

/* Few clocks are not independent, because all are compared with the same reference. */
static double mesh_independent_clocks(const struct mesh *m)
{
    const double clocks = m->size - 1;
    return m->size < FEW_CLOCKS ? few_clocks_share * clocks : clocks;
}

static double wander_floor(const struct mesh *m)
{
    const bool alone = m->size == 2 && !m->calibrated;
    return alone && m->rtt_ns < INFINITY ? wander_per_rtt * m->rtt_ns : 0.0;
}

/* Sweeps, times and drifts depend on each other, so iterate. Few rounds suffice, because sweeps
 * are short. */
static int mesh_settle(struct mesh *m, double horizon_s, struct track *track,
                       struct mesh_spread *spread, int *iterations)
{
    double moments[TRACK_MAX * TRACK_MAX];
    double change = INFINITY;
    const struct track_prior prior = {.walk = m->prior_walk,
                                      .walk_log_scale = walk_log_scale,
                                      .still = m->calibrated ? still_common : 0.0,
                                      .drift_var_ns2_per_s2 = unknown_drift * unknown_drift,
                                      .floor_ns = wander_floor(m),
                                      .horizon_s = horizon_s,
                                      .moments = moments,
                                      .clocks = mesh_independent_clocks(m)};
    for (int k = 0; k < m->pending_count; k++) {
        memset(m->pending[k].x, 0, (size_t)m->size * sizeof(double));
    }
    for (*iterations = 0; *iterations < ITERATIONS && change > settled_ns; ++*iterations) {
        int err = mesh_solve_sweeps(m, spread);
        if (err) {
            return err;
        }
        const struct mesh_sweep *last = &m->pending[m->pending_count - 1];
        /* All lines are anchored at the last exchange, because they are used after it. t_last is
         * below the mean only by rounding. */
        const double now = fmax(last->t_last, last->t_mean);
        mesh_doubt_sweeps(m);
        moments_of(m, moments);
        err = ictusi_track_fit(m->sweep, m->sweeps, now, &prior, track);
        if (err) {
            return err;
        }
        /* The change of a drift in ns/s times the length of the history: how far it moves an
         * offset at the oldest sweep. */
        change = mesh_follow(m, track, now) * (now - m->sweep[0].t_s);
    }
    return ICTUS_OK;
}

/*
 * Compute the shortest paths of hard intervals to the reference, which no error exceeds at present.
 * The bounds of the last solution still hold for its lines, so the distance of the new lines from
 * them is added.
 */
static void bounds_now(struct mesh *m, const double *extrapolated, double grown_s)
{
    for (int i = 1; i < m->size; i++) {
        m->bound[i] += grown_s * (ICTUSI_PARTING_MAX_NS_PER_S + fabs(extrapolated[m->size + i]));
        m->bound[i] += fabs(m->value[i] - extrapolated[i]);
    }
    const struct mesh_sweep *s = &m->pending[m->pending_count - 1];
    bool better = true;
    for (int round = 0; round < RELAXATIONS && better; round++) {
        better = false;
        for (size_t e = 0; e < s->count; e++) {
            const int a = s->graph[e].a;
            const int b = s->graph[e].b;
            const double y = ictusi_mesh_difference(m, &s->edges[e]);
            const double off = fabs(m->value[b] - m->value[a] - y);
            /*
             * What the edge proves about b if a is known: the hard interval of the pair, the
             * distance of the solution from its middle, a nanosecond for rounding, and the largest
             * drift since the measurement.
             */
            const double length = off + s->edges[e].half_width_ns + 1.0 +
                                  (m->now - s->t[e]) * ICTUSI_PARTING_MAX_NS_PER_S;
            if (m->bound[a] + length < m->bound[b] || m->bound[b] + length < m->bound[a]) {
                const int to = m->bound[a] < m->bound[b] ? b : a;
                m->bound[to] = m->bound[a + b - to] + length;
                better = true;
            }
        }
    }
}

/*
 * Return the usual variance of an asymmetry that belongs to a process's node, less what its offset
 * is already claimed to err by. A node that is slower to send than to receive looks like another
 * offset to all its pairs, so that loops do not show it, however many there are. Where clocks were
 * compared by a counter, no message was involved.
 */
static double mesh_unseen(const struct mesh *m, int i, double path_var_ns2)
{
    const double rtt_ns = m->node && m->node[i] ? m->path_rtt_ns : m->rtt_ns;
    const double usual = ICTUSI_ASYMMETRY_PER_RTT * rtt_ns;
    const bool by_messages = i && !m->calibrated && rtt_ns < INFINITY;
    return by_messages ? fmax(usual * usual - path_var_ns2, 0.0) : 0.0;
}

static void mesh_write_lines(const struct mesh *m, const struct track *t, const double inflate[2],
                             struct line *lines, struct line_error *errors)
{
    const int64_t now = m->origin + (int64_t)nearbyint(m->now * 1e9);
    for (int i = 0; i < m->size; i++) {
        const int64_t anchor = now - m->base[i] - (int64_t)nearbyint(m->value[i]);
        /*
         * The history is kept over the reference's time t, with x = G - L, but a line is a function
         * of the local instant. From dx/dt = d follows dL/dt = 1 - d, and so dx/dL = d / (1 - d).
         */
        const double drift = m->drift[i] * 1e-9;
        const double slope = drift / (1.0 - drift);
        const double bias = i ? m->relative[i] * inflate[0] * inflate[0] : 0.0;
        const double noise = i ? m->noisy[i] * inflate[1] * inflate[1] : 0.0;
        const double wander = i ? 1.0 : 0.0;
        const double reading = i && m->calibrated ? reading_var_ns2 : 0.0;
        lines[i] = ictusi_line_make(anchor, m->base[i], m->value[i], slope);
        errors[i] = (struct line_error){
            .offset_var_ns2 =
                noise * t->noise[0] + bias * t->bias[0] + wander * t->wander[0] + reading,
            .covariance_ns2_per_s = noise * t->noise[1] + bias * t->bias[1] + wander * t->wander[1],
            .slope_var_ns2_per_s2 = noise * t->noise[2] + bias * t->bias[2] + wander * t->wander[2],
            .path_var_ns2 = bias * t->bias[0],
            .unseen_var_ns2 = mesh_unseen(m, i, bias * t->bias[0]),
            .walk_ns_per_s_sqrt_s = wander * t->walk,
            .bound_ns = m->bound[i],
            .bound_slope_ns_per_s = i ? ICTUSI_PARTING_MAX_NS_PER_S + fabs(slope) * 1e9 : 0.0,
        };
    }
}

static void mesh_judge(const struct mesh *m, const struct line_error *errors, double horizon_s,
                       const struct track *track, struct mesh_quality *q)
{
    const struct track_sweep *last = &m->sweep[m->sweeps - 1];
    q->noise_ns = sqrt(last->noise_ns2 * track->inflation / m->noise_gain);
    q->asymmetry_ns = sqrt(last->bias_ns2 / m->bias_gain);
    q->walk = track->walk * 1e-9;
    q->sigma_max_ns = 0.0;
    q->horizon_max_ns = 0.0;
    for (int i = 0; i < m->size; i++) {
        q->sigma_max_ns = fmax(q->sigma_max_ns, ictusi_line_error_sigma(&errors[i], 0.0));
        q->horizon_max_ns = fmax(q->horizon_max_ns, ictusi_line_error_sigma(&errors[i], horizon_s));
    }
}

/* Everything between the checked input and the lines. extrapolated: room for two values per
 * process. */
static int mesh_solve(struct mesh *m, double *extrapolated, double horizon_s, struct track *track,
                      struct mesh_spread *spread, struct mesh_quality *q)
{
    const double before = m->now;
    int err = m->based ? ICTUS_OK : mesh_find_bases(m);
    if (err) {
        return err;
    }
    mesh_make_room(m, m->pending_count);
    m->sweeps += m->pending_count;
    m->groups++;
    memcpy(extrapolated, m->value, (size_t)m->size * sizeof(double));
    memcpy(extrapolated + m->size, m->drift, (size_t)m->size * sizeof(double));
    err = mesh_settle(m, horizon_s, track, spread, &q->iterations);
    if (err) {
        return err;
    }
    const double grown_s = m->now - before;
    for (int i = 0; i < m->size; i++) {
        extrapolated[i] += extrapolated[m->size + i] * grown_s;
    }
    err = ictusi_mesh_stepped(m, &q->suspect);
    if (err || q->suspect >= 0) {
        return err ? err : ICTUS_ERR_CLOCK;
    }
    bounds_now(m, extrapolated, grown_s);
    return ICTUS_OK;
}

int ictusi_mesh_solve(struct mesh *mesh, struct line *lines, struct line_error *errors,
                      double horizon_s, struct mesh_quality *quality)
{
    struct mesh_quality found = {.suspect = -1};
    struct track track = {0};
    if (mesh->size == 1) {
        mesh_drop_pending(mesh);
        lines[0] = ictusi_line_identity();
        errors[0] = (struct line_error){0};
        if (quality) {
            *quality = found;
        }
        return ICTUS_OK;
    }
    struct mesh_spread spread = {0};
    bool empty = !mesh->pending_count;
    for (int k = 0; k < mesh->pending_count; k++) {
        empty = empty || !mesh->pending[k].count;
    }
    double *room = malloc(2 * (size_t)mesh->size * sizeof(*room));
    int err = !room ? ICTUS_ERR_NOMEM : empty ? ICTUS_ERR_SAMPLES : ICTUS_OK;
    if (!err) {
        err = mesh_solve(mesh, room, horizon_s, &track, &spread, &found);
    }
    free(room);
    if (!err) {
        const double inflate[2] = {mesh_few_freedoms(spread.bias_freedom),
                                   mesh_few_freedoms(spread.noise_freedom)};
        mesh_write_lines(mesh, &track, inflate, lines, errors);
        mesh_judge(mesh, errors, horizon_s, &track, &found);
    }
    if (quality && (!err || err == ICTUS_ERR_CLOCK)) {
        *quality = found;
    }
    if (err) {
        ictusi_mesh_reset(mesh);
    } else {
        mesh_drop_pending(mesh);
    }
    return err;
}
