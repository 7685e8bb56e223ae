/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweeps of the mesh over MPI: planning, exchanging, gathering. */
#include "sync/mesh_rounds.h"
#include "core/adaptive.h"
#include "core/estimator.h"
#include "core/stats.h"
#include "sync/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longest windows that are chosen automatically, in s. */
static const double window_most_s = 3.0;
static const double window_crowded_s = 1.5;

/*
 * A long burst is made in parts. After each part its client, which knows the elapsed time, tells
 * the server how many exchanges follow, and 0 at the end. Otherwise a burst would take many times
 * the planned time when other programs occupy the cores, and every later sweep would have to wait
 * for it. The first part is short, because an exchange may then take milliseconds. Each further
 * part is as long as all parts before it together.
 */
enum {
    BURST_WHOLE = 128, /* up to this many exchanges, a message in between is not worth its cost */
    BURST_FIRST = 16,
    BURST_PART = 512
};

/* In the order of enum mesh_pair. */
const char *const ictusi_rounds_pair_names[] = {"auto", "adaptive", "skampi", "min-rtt", NULL};

enum mesh_calibrate { CALIBRATE_AUTO, CALIBRATE_NO };
const char *const ictusi_rounds_calibrate_names[] = {"auto", "no", NULL};

/*
 * Tell the mesh which processes share a node. If all share a counter, it is a single node, and two
 * processes have a single path. Collective.
 */
static int mesh_rounds_set_nodes(struct mesh_rounds *s, struct sync_run *run)
{
    if (s->size < 3 || ictusi_mesh_counter_common(&s->counter, s->size)) {
        return ICTUS_OK;
    }
    int *nodes = s->rank == 0 ? malloc((size_t)s->size * sizeof(*nodes)) : NULL;
    int err = s->rank == 0 && !nodes ? ICTUS_ERR_NOMEM : ICTUS_OK;
    err = ictusi_sync_agree(run->comm, err, &run->why);
    err = err ? err : ictusi_place_gather_nodes(run->comm, nodes);
    if (!err && s->rank == 0) {
        err = ictusi_mesh_set_nodes(s->mesh, nodes);
    }
    free(nodes);
    return ictusi_sync_agree(run->comm, err, &run->why);
}

int ictusi_rounds_open(struct mesh_rounds *s, const struct mesh_options *options,
                       struct sync_run *run)
{
    if (s->opened) {
        return ICTUS_OK;
    }
    s->options = options;
    PMPI_Comm_rank(run->comm, &s->rank);
    PMPI_Comm_size(run->comm, &s->size);
    int err = ICTUS_OK;
    if (s->rank == 0) {
        s->lines = calloc((size_t)s->size, sizeof(*s->lines));
        s->errors = calloc((size_t)s->size, sizeof(*s->errors));
        err = s->lines && s->errors ? ictusi_mesh_create(s->size, options->walk, &s->mesh)
                                    : ICTUS_ERR_NOMEM;
    }
    err = ictusi_sync_agree(run->comm, err, &run->why);
    if (!err) {
        err = ictusi_mesh_counter_open(&s->counter, options->calibrate == CALIBRATE_AUTO, run);
    }
    err = err ? err : mesh_rounds_set_nodes(s, run);
    s->opened = !err;
    return err;
}

static void mesh_rounds_release_call(struct mesh_rounds *s)
{
    ictusi_pairing_free(&s->pairing);
    free(s->edges);
    free(s->stamps);
    free(s->peers);
    free(s->done);
    free(s->seen);
    free(s->meetings);
    s->edges = NULL;
    s->stamps = NULL;
    s->peers = NULL;
    s->done = NULL;
    s->seen = NULL;
    s->meetings = NULL;
}

void ictusi_rounds_close(struct mesh_rounds *s)
{
    mesh_rounds_release_call(s);
    ictusi_mesh_free(s->mesh);
    ictusi_mesh_counter_close(&s->counter);
    free(s->lines);
    free(s->errors);
}

/* Take part as client or server. The server also stamps with its bare clock, because no process
 * has a line before the end. */
static int rounds_exchange(struct exchange *x, int peer, bool asks, int n, struct stamp *stamps)
{
    const struct line bare = ictusi_line_identity();
    return asks ? ictusi_exchange_ping(x, peer, (size_t)n, stamps)
                : ictusi_exchange_pong(x, peer, (size_t)n, &bare);
}

/* Take part in one round as client or server, or idle. A client's stamps are written to
 * `stamps`. */
static int rounds_meet(struct mesh_rounds *s, int round, int exchanges, struct stamp *stamps)
{
    const int peer = ictusi_pairing_partner(&s->pairing, round, s->rank);
    const bool asks = ictusi_pairing_asks(&s->pairing, round, s->rank);
    return peer < 0 ? ICTUS_OK : rounds_exchange(&s->exchange, peer, asks, exchanges, stamps);
}

/* Return how many exchanges of the burst come next, given that the first `done` took this long. The
 * client decides. */
static int rounds_next(const struct mesh_rounds *s, int done, double took_s)
{
    const double left_s = s->plan.burst_s - took_s;
    const double fitting = took_s > 0.0 ? left_s / took_s * done : (double)s->plan.most;
    const int more = done < BURST_PART ? done : BURST_PART;
    const int most = more < s->plan.most - done ? more : s->plan.most - done;
    return fitting < most ? (int)fmax(fitting, 0.0) : most;
}

static int rounds_agree(struct mesh_rounds *s, int peer, bool asks, int *more)
{
    return asks ? ictusi_exchange_tell(&s->exchange, peer, more, sizeof(*more))
                : ictusi_exchange_hear(&s->exchange, peer, more, sizeof(*more));
}

/*
 * Make the exchanges of one round of a sweep. A client's stamps are written to `stamps`, and *done
 * is set to their number. The burst begins with the first reply, because until then the client may
 * have waited for a partner that still was in an earlier round, as with an odd number of processes.
 */
static int rounds_sweep_round(struct mesh_rounds *s, int round, struct stamp *stamps, int *done)
{
    const int peer = ictusi_pairing_partner(&s->pairing, round, s->rank);
    const bool asks = ictusi_pairing_asks(&s->pairing, round, s->rank);
    const int all = peer < 0 ? 0 : s->plan.most;
    int more = all > BURST_WHOLE ? BURST_FIRST : all;
    int err = ICTUS_OK;
    *done = 0;
    while (more > 0 && !err) {
        err = rounds_exchange(&s->exchange, peer, asks, more, asks ? stamps + *done : NULL);
        *done += more;
        more = 0;
        if (all > BURST_WHOLE && *done < all && !err) {
            const int64_t now = ictusi_source_read(s->exchange.source);
            more = asks ? rounds_next(s, *done, (double)(now - stamps->received) * 1e-9) : 0;
            err = rounds_agree(s, peer, asks, &more);
        }
    }
    return err;
}

/* After the exchanges of a round, both processes read their clocks by a counter that they share.
 * That takes at most as long as the exchanges may. */
static int mesh_rounds_calibrate(struct mesh_rounds *s, int round, struct mesh_meetings *meetings)
{
    const int peer = ictusi_pairing_partner(&s->pairing, round, s->rank);
    const bool asks = ictusi_pairing_asks(&s->pairing, round, s->rank);
    meetings->budget_s = s->plan.burst_s;
    return peer >= 0 && ictusi_mesh_counter_shared(&s->counter, peer)
               ? ictusi_mesh_counter_meet(&s->counter, &s->exchange, peer, asks, meetings)
               : ICTUS_OK;
}

/*
 * Find out how long an exchange takes and how much it scatters while all processes exchange at the
 * same time. The time is that of the slowest process, but taken from medians, because among a
 * thousand processes one always loses its core for a moment. The scatter is the geometric mean,
 * which a few noisy processes hardly change.
 */
static int mesh_rounds_try_exchanges(struct mesh_rounds *s, struct sync_run *run,
                                     struct mesh_trial *trial)
{
    struct stamp stamps[MESH_TRIAL_EXCHANGES] = {{0, 0, 0}};
    double exchange_s = 0.0;
    double logs[2] = {0.0, 0.0}; /* sum and count */
    double rtt_ns = INFINITY;
    double excess_ns = INFINITY;
    for (int r = 0; r < MESH_TRIAL_BURSTS; r++) {
        const int round = r % s->pairing.rounds;
        const int err = rounds_meet(s, round, MESH_TRIAL_EXCHANGES, stamps);
        struct mesh_trial seen;
        if (err) {
            return err;
        }
        if (ictusi_pairing_asks(&s->pairing, round, s->rank) && !ictusi_mesh_trial(stamps, &seen)) {
            exchange_s += seen.exchange_s;
            logs[0] += log(seen.scatter_ns + 1.0);
            logs[1] += 1.0;
            rtt_ns = fmin(rtt_ns, seen.rtt_ns);
            if (s->rank == 0 || ictusi_pairing_partner(&s->pairing, round, s->rank) == 0) {
                excess_ns = fmin(excess_ns, seen.excess_ns);
            }
        }
    }
    /* One reduction by MPI_MAX yields the largest time and, negated, the smallest round trip and
     * excess. A process that was only a server in the trial contributes 0 and -infinity. Of a noisy
     * reference all bursts are noisy, so the least shows it, and not a noisy partner. */
    double extremes[3] = {logs[1] > 0.0 ? exchange_s / logs[1] : 0.0, -rtt_ns, -excess_ns};
    if (PMPI_Allreduce(MPI_IN_PLACE, extremes, 3, MPI_DOUBLE, MPI_MAX, run->comm) != MPI_SUCCESS ||
        PMPI_Allreduce(MPI_IN_PLACE, logs, 2, MPI_DOUBLE, MPI_SUM, run->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    trial->exchange_s = extremes[0];
    trial->rtt_ns = logs[1] > 0.0 ? -extremes[1] : 0.0;
    trial->excess_ns = isfinite(extremes[2]) ? -extremes[2] : 0.0;
    trial->scatter_ns = logs[1] > 0.0 ? exp(logs[0] / logs[1]) : 0.0;
    return ICTUS_OK;
}

/* Make the plan, which is the same on every process. Where processes take turns on a core the
 * window is shorter, because a longer one would only add waiting. */
static int rounds_plan(struct mesh_rounds *s, struct sync_run *run)
{
    const struct mesh_options *o = s->options;
    struct mesh_trial trial;
    int crowded = run->crowded;
    const int err = mesh_rounds_try_exchanges(s, run, &trial);
    if (err) {
        return err;
    }
    trial.calibrated = ictusi_mesh_counter_common(&s->counter, s->size);
    if (PMPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_INT, MPI_MAX, run->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    const struct mesh_wish wish = {.size = s->size,
                                   .factors = s->pairing.rounds,
                                   .rounds = o->rounds,
                                   .exchanges = o->exchanges,
                                   .sweeps = o->sweeps,
                                   .window_s = o->window_s,
                                   .tolerance_s = o->tolerance_s,
                                   .horizon_s = o->horizon_s,
                                   .limit_s = crowded ? window_crowded_s : window_most_s};
    s->plan = ictusi_mesh_plan(&wish, &trial);
    s->planned = true;
    return ICTUS_OK;
}

/* Draw the matchings of this call. All ranks draw the same ones, because they share the seed. */
static int rounds_draw(struct mesh_rounds *s, int rounds, uint64_t seed)
{
    ictusi_pairing_free(&s->pairing);
    return ictusi_pairing_create(s->size, rounds, seed, &s->pairing);
}

/* The number of slots is that of the process that is a client most often. count: sweeps. */
static int mesh_rounds_make_room(struct mesh_rounds *s, struct sync_run *run, int count)
{
    int asked = 0;
    for (int r = 0; r < s->pairing.rounds; r++) {
        asked += ictusi_pairing_asks(&s->pairing, r, s->rank);
    }
    s->slots = asked;
    if (PMPI_Allreduce(MPI_IN_PLACE, &s->slots, 1, MPI_INT, MPI_MAX, run->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    const size_t slots = (size_t)s->slots;
    s->edges = calloc(slots * (size_t)count, sizeof(*s->edges));
    s->asked = (size_t)asked;
    s->stamps =
        calloc((size_t)(asked + 1) * (size_t)s->plan.most * (size_t)count, sizeof(*s->stamps));
    s->peers = calloc((size_t)asked + 1, sizeof(*s->peers));
    s->done = calloc((size_t)(asked + 1) * (size_t)count, sizeof(*s->done));
    s->meetings = calloc((size_t)(asked + 1) * (size_t)count, sizeof(*s->meetings));
    s->seen = s->counter.names ? calloc((size_t)(asked + 1) * (size_t)count * CALIBRATION_MEETINGS,
                                        sizeof(*s->seen))
                               : NULL;
    if (!s->edges || !s->stamps || !s->peers || !s->done || !s->meetings ||
        (s->counter.names && !s->seen)) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t e = 0; e < slots * (size_t)count; e++) {
        s->edges[e].server = -1; /* empty */
    }
    return ICTUS_OK;
}

int ictusi_rounds_begin(struct mesh_rounds *s, struct sync_run *run, uint64_t seed)
{
    s->exchange =
        (struct exchange){.comm = run->comm, .source = run->source, .crowded = run->crowded};
    int err = rounds_draw(s, s->planned ? s->plan.rounds : (int)s->options->rounds, seed);
    err = ictusi_sync_agree(run->comm, err, &run->why);
    if (!err && !s->planned) {
        err = rounds_plan(s, run);
        s->pairing.rounds = err ? s->pairing.rounds : s->plan.rounds;
    }
    if (!err) {
        err = ictusi_sync_agree(
            run->comm, mesh_rounds_make_room(s, run, s->solved ? 1 : s->plan.sweeps), &run->why);
    }
    return err;
}

/*
 * Take the stamps of one sweep, in the order of the rounds: first those of sweep 0 for all edges on
 * which this process is the client, then those of sweep 1, and so on. Nothing is computed here,
 * because a process that is late makes its partners wait.
 */
int ictusi_rounds_sweep(struct mesh_rounds *s, int k)
{
    const size_t burst = (size_t)s->plan.most;
    struct stamp *stamps = s->stamps + (size_t)k * s->asked * burst;
    size_t asked = 0;
    int err = ICTUS_OK;
    for (int r = 0; r < s->pairing.rounds && !err; r++) {
        const size_t at = (size_t)k * s->asked + asked;
        struct mesh_meetings meetings = {.seen =
                                             s->seen ? s->seen + at * CALIBRATION_MEETINGS : NULL};
        int done = 0;
        err = rounds_sweep_round(s, r, stamps + asked * burst, &done);
        err = err ? err : mesh_rounds_calibrate(s, r, &meetings);
        if (ictusi_pairing_asks(&s->pairing, r, s->rank)) {
            s->done[at] = done;
            s->meetings[at] = meetings.count;
            s->peers[asked++] = ictusi_pairing_partner(&s->pairing, r, s->rank);
        }
    }
    return err;
}

/*
 * Estimate the bursts of pair e from the stamps of all sweeps. The first and the last sweep yield a
 * slope, which the estimate of each burst uses. If the pair shares a counter, what it showed
 * replaces what the messages did.
 */
static int rounds_estimate_pair(struct mesh_rounds *s, size_t e, int count)
{
    const enum mesh_pair pair = (enum mesh_pair)s->options->pair;
    const size_t burst = (size_t)s->plan.most;
    struct calibration_burst bursts[CALIBRATION_SWEEPS_MAX] = {{.n = 0}};
    struct mesh_edge edges[CALIBRATION_SWEEPS_MAX];
    struct adaptive_slope slope;
    int failed = ICTUS_OK;
    for (int k = 0; k < count; k++) {
        const size_t at = (size_t)k * s->asked + e;
        const struct calibration_pair *seen = s->seen ? s->seen + at * CALIBRATION_MEETINGS : NULL;
        bursts[k] = (struct calibration_burst){s->stamps + at * burst, (size_t)s->done[at], seen,
                                               s->meetings[at]};
    }
    const struct calibration_burst *last = &bursts[count - 1];
    const size_t fewest = last->n < bursts[0].n ? last->n : bursts[0].n;
    const bool known = ictusi_mesh_slope(bursts[0].stamps, last->stamps, fewest, &slope);
    for (int k = 0; k < count; k++) {
        edges[k] = (struct mesh_edge){.client = s->rank, .server = s->peers[e]};
        const int bad = ictusi_mesh_burst(bursts[k].stamps, bursts[k].n, pair,
                                          known ? &slope : NULL, &edges[k]);
        edges[k].server = bad ? -1 : edges[k].server; /* empty */
        failed = failed ? failed : bad;
    }
    if (!failed && ictusi_mesh_counter_shared(&s->counter, s->peers[e])) {
        (void)ictusi_calibration_replace(bursts, count, edges);
    }
    for (int k = 0; k < count; k++) {
        s->edges[(size_t)k * (size_t)s->slots + e] = edges[k];
    }
    return failed;
}

int ictusi_rounds_estimate(struct mesh_rounds *s, int count)
{
    int failed = ICTUS_OK;
    for (size_t e = 0; e < s->asked; e++) {
        const int bad = rounds_estimate_pair(s, e, count);
        failed = failed ? failed : bad;
    }
    return failed;
}

/* Collect the edges of one sweep from those of all processes. Their order is that of ranks and
 * rounds, the same for all sweeps. */
static int mesh_add_sweep(struct mesh_rounds *s, const struct mesh_edge *all, int count, int k,
                          struct mesh_edge *packed)
{
    size_t n = 0;
    for (int i = 0; i < s->size; i++) {
        const size_t first = ((size_t)i * (size_t)count + (size_t)k) * (size_t)s->slots;
        for (int e = 0; e < s->slots; e++) {
            if (all[first + (size_t)e].server >= 0) {
                packed[n++] = all[first + (size_t)e];
            }
        }
    }
    return ictusi_mesh_add(s->mesh, packed, n);
}

/* Gather all edges at rank 0, which alone solves the mesh. Every process sends the same number
 * of slots, so that one MPI_Gather suffices. Empty slots are marked by server = -1. */
int ictusi_rounds_gather(struct mesh_rounds *s, struct sync_run *run, int count)
{
    const size_t mine = (size_t)count * (size_t)s->slots;
    struct mesh_edge *all = NULL;
    struct mesh_edge *packed = NULL;
    int err = ICTUS_OK;
    if (s->rank == 0) {
        all = malloc((size_t)s->size * mine * sizeof(*all));
        packed = malloc((size_t)s->size * (size_t)s->slots * sizeof(*packed));
        err = all && packed ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    err = ictusi_sync_agree(run->comm, err, &run->why);
    if (!err) {
        const int bytes = (int)(mine * sizeof(*all));
        const int sent = PMPI_Gather(s->edges, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, run->comm);
        err = sent == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
    }
    s->gather_err = err;
    for (int k = 0; all && packed && k < count && !s->gather_err; k++) {
        s->gather_err = mesh_add_sweep(s, all, count, k, packed);
    }
    free(packed);
    free(all);
    run->exchanges += s->exchange.started;
    run->messages += s->exchange.messages;
    mesh_rounds_release_call(s);
    return err;
}
