/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweeps of the mesh over MPI: planning, exchanging, gathering. */
#include "sync/mesh_rounds.h"
#include "core/adaptive.h"
#include "core/estimator.h"
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIAL_ROUNDS = 4,    /* of the first sweep's pairs, to see what an exchange takes */
    TRIAL_EXCHANGES = 6, /* the first of them is left out: connections are made there */
    EXCHANGES_MIN = 4,   /* of a round, where time is short */
    ROUNDS_MIN = 8,      /* of a sweep, where time is even shorter */
    SMALL = 32,          /* processes: fewer have fewer pairs to average over */
    ADAPTIVE_FROM = 200, /* exchanges: below, folds would say little */
    SWEEPS_MAX = 16
};

/* Sweeps keep all processes busy for at most this part of the window. */
static const double busy_share = 0.7;
/*
 * The default windows. Few processes have no other pairs to average a wandering path over, only
 * time; many are synchronised no longer than by a usual HCA3.
 */
static const double window_small_s = 1.5;
static const double window_large_s = 0.32;

enum pair_estimator { PAIR_AUTO, PAIR_ADAPTIVE, PAIR_SKAMPI, PAIR_MIN_RTT };
const char *const ictusi_rounds_pair_names[] = {"auto", "adaptive", "skampi", "min-rtt", NULL};

int ictusi_rounds_open(struct mesh_rounds *s, const struct mesh_options *options,
                       struct sync_run *run)
{
    if (s->opened) {
        return ICTUS_OK;
    }
    s->options = options;
    MPI_Comm_rank(run->comm, &s->rank);
    MPI_Comm_size(run->comm, &s->size);
    int err = ICTUS_OK;
    if (s->rank == 0) {
        s->lines = calloc((size_t)s->size, sizeof(*s->lines));
        s->errors = calloc((size_t)s->size, sizeof(*s->errors));
        err = s->lines && s->errors ? ictusi_mesh_create(s->size, options->walk, &s->mesh)
                                    : ICTUS_ERR_NOMEM;
    }
    err = ictusi_sync_agree(run->comm, err, &run->why);
    s->opened = !err;
    return err;
}

static void release_call(struct mesh_rounds *s)
{
    ictusi_matching_free(&s->matching);
    free(s->edges);
    free(s->stamps);
    free(s->peers);
    s->edges = NULL;
    s->stamps = NULL;
    s->peers = NULL;
}

void ictusi_rounds_close(struct mesh_rounds *s)
{
    release_call(s);
    ictusi_mesh_free(s->mesh);
    free(s->lines);
    free(s->errors);
}

/* One round: ask or answer or idle. `stamps` is where a client's go. */
static int rounds_meet(struct mesh_rounds *s, int round, int exchanges, struct stamp *stamps)
{
    const struct line bare = ictusi_line_identity();
    const int peer = ictusi_matching_partner(&s->matching, round, s->rank);
    if (peer < 0) {
        return ICTUS_OK;
    }
    if (ictusi_matching_asks(&s->matching, round, s->rank)) {
        return ictusi_exchange_ping(&s->exchange, peer, (size_t)exchanges, stamps);
    }
    return ictusi_exchange_pong(&s->exchange, peer, (size_t)exchanges, &bare);
}

/* The median round trip of a trial without its first, in s. */
static double median_rtt(const struct stamp *stamps)
{
    double rtts[TRIAL_EXCHANGES - 1];
    for (int i = 1; i < TRIAL_EXCHANGES; i++) {
        rtts[i - 1] = (double)(stamps[i].received - stamps[i].sent) * 1e-9;
    }
    ictusi_sort(rtts, TRIAL_EXCHANGES - 1);
    return ictusi_quantile(rtts, TRIAL_EXCHANGES - 1, 0.5);
}

/*
 * What an exchange takes here while all exchange at the same time; in s. On the slowest process,
 * but by medians: among a thousand there is always one that was kept from its core for a moment.
 */
static int try_exchanges(struct mesh_rounds *s, struct sync_run *run, double *seconds)
{
    struct stamp stamps[TRIAL_EXCHANGES] = {{0, 0, 0}};
    const int rounds = s->matching.rounds < TRIAL_ROUNDS ? s->matching.rounds : TRIAL_ROUNDS;
    double sum = 0.0;
    int count = 0;
    for (int r = 0; r < rounds; r++) {
        const int err = rounds_meet(s, r, TRIAL_EXCHANGES, stamps);
        if (err) {
            return err;
        }
        if (ictusi_matching_asks(&s->matching, r, s->rank)) {
            sum += median_rtt(stamps);
            count++;
        }
    }
    *seconds = count ? sum / count : 0.0;
    return MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, run->comm) == MPI_SUCCESS
               ? ICTUS_OK
               : ICTUS_ERR_MPI;
}

/* Cut the asked effort to what fits the window. The same on every process. */
static void rounds_plan(struct mesh_rounds *s, double exchange_s)
{
    const struct mesh_options *o = s->options;
    /*
     * Two sweeps make the best of independent noise. What is common to a burst asks for more of
     * them: as many as leave each pair bursts that the adaptive estimator can use.
     */
    const double per_pair = 2.0 * (double)o->rounds * (double)o->exchanges / s->matching.rounds;
    const int many = (int)fmin(fmax(per_pair / ADAPTIVE_FROM, 2.0), SWEEPS_MAX);
    s->sweeps = o->sweeps ? (int)o->sweeps : many;
    s->window_s = o->window_s > 0.0 ? o->window_s
                  : s->size > SMALL ? window_large_s
                                    : window_small_s;
    const double budget_s = busy_share * s->window_s / s->sweeps;
    const double asked = 2.0 * (double)o->rounds * (double)o->exchanges / s->sweeps;
    const double fitting = exchange_s > 0.0 ? budget_s / exchange_s : asked;
    const double pairs = fmin(asked, fitting);
    int rounds = s->matching.rounds;
    if (rounds > ROUNDS_MIN && pairs / rounds < EXCHANGES_MIN) {
        rounds = (int)fmax(pairs / EXCHANGES_MIN, ROUNDS_MIN);
    }
    s->rounds = rounds;
    s->exchanges = (int)fmax(fmin(pairs / rounds, 1e6), EXCHANGES_MIN);
    s->exchanges = s->exchanges > asked / rounds ? (int)fmax(asked / rounds, 1.0) : s->exchanges;
    s->length_s = (double)rounds * s->exchanges * exchange_s;
    s->planned = true;
}

static int rounds_draw(struct mesh_rounds *s, int rounds, uint64_t seed)
{
    ictusi_matching_free(&s->matching);
    return ictusi_matching_create(s->size, rounds, seed, &s->matching);
}

static int make_room(struct mesh_rounds *s, struct sync_run *run, int count)
{
    int asked = 0;
    for (int r = 0; r < s->matching.rounds; r++) {
        asked += ictusi_matching_asks(&s->matching, r, s->rank);
    }
    s->slots = asked;
    if (MPI_Allreduce(MPI_IN_PLACE, &s->slots, 1, MPI_INT, MPI_MAX, run->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    const size_t slots = (size_t)s->slots;
    s->edges = calloc(slots * (size_t)count, sizeof(*s->edges));
    s->stamps = calloc((size_t)(asked + 1) * (size_t)s->exchanges, sizeof(*s->stamps));
    s->peers = calloc((size_t)asked + 1, sizeof(*s->peers));
    if (!s->edges || !s->stamps || !s->peers) {
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
    int err = rounds_draw(s, s->planned ? s->rounds : (int)s->options->rounds, seed);
    err = ictusi_sync_agree(run->comm, err, &run->why);
    if (!err && !s->planned) {
        double exchange_s = 0.0;
        err = try_exchanges(s, run, &exchange_s);
        if (!err) {
            rounds_plan(s, exchange_s);
            s->matching.rounds = s->rounds;
        }
    }
    if (!err) {
        err = ictusi_sync_agree(run->comm, make_room(s, run, s->solved ? 1 : s->sweeps), &run->why);
    }
    return err;
}

/* The offset at the middle of a burst, and what is known of its error. */
static int rounds_estimate(const struct mesh_rounds *s, const struct stamp *stamps,
                           struct mesh_edge *edge)
{
    const size_t n = (size_t)s->exchanges;
    struct offset o;
    const int pair = s->options->pair;
    int err = pair == PAIR_MIN_RTT ? ictusi_offset_min_rtt(stamps, n, &o)
                                   : ictusi_offset_skampi(stamps, n, &o);
    if (err) {
        return err;
    }
    edge->at = o.at;
    edge->offset = o.offset;
    edge->frac = o.frac;
    edge->rtt_ns = o.rtt_min_ns;
    if (pair == PAIR_ADAPTIVE || (pair == PAIR_AUTO && s->exchanges >= ADAPTIVE_FROM)) {
        struct line line;
        struct line_error error;
        err = ictusi_fit_adaptive(stamps, n, &line, &error, NULL);
        if (err) {
            return err;
        }
        const int64_t middle = stamps[0].sent + (stamps[n - 1].received - stamps[0].sent) / 2;
        error = ictusi_line_error_move(&error, (double)(middle - line.anchor) * 1e-9);
        line = ictusi_line_move(&line, middle);
        edge->at = middle;
        edge->offset = line.offset;
        edge->frac = line.frac;
        edge->sigma_ns = ictusi_line_error_sigma(&error, 0.0);
    }
    double low = 0.0;
    double high = 0.0;
    err = ictusi_offset_interval(stamps, n, edge->at, edge->offset, &low, &high);
    edge->half_width_ns = fmax(fabs(high - edge->frac), fabs(edge->frac - low));
    return err;
}

int ictusi_rounds_sweep(struct mesh_rounds *s, int k)
{
    const size_t burst = (size_t)s->exchanges;
    size_t asked = 0;
    int err = ICTUS_OK;
    for (int r = 0; r < s->matching.rounds && !err; r++) {
        err = rounds_meet(s, r, s->exchanges, s->stamps + asked * burst);
        if (ictusi_matching_asks(&s->matching, r, s->rank)) {
            s->peers[asked++] = ictusi_matching_partner(&s->matching, r, s->rank);
        }
    }
    /* A stamp that cannot be used leaves its slot empty; the others go on. */
    int failed = err;
    struct mesh_edge *edges = s->edges + (size_t)k * (size_t)s->slots;
    for (size_t e = 0; e < asked && !err; e++) {
        struct mesh_edge edge = {.client = s->rank, .server = s->peers[e]};
        const int bad = rounds_estimate(s, s->stamps + e * burst, &edge);
        if (!bad) {
            edges[e] = edge;
        }
        failed = failed ? failed : bad;
    }
    return failed;
}

/* The edges of one sweep out of what all processes sent. */
static int add_sweep(struct mesh_rounds *s, const struct mesh_edge *all, int count, int k,
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
        const int sent = MPI_Gather(s->edges, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, run->comm);
        err = sent == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
    }
    s->gather_err = err;
    for (int k = 0; all && packed && k < count && !s->gather_err; k++) {
        s->gather_err = add_sweep(s, all, count, k, packed);
    }
    free(packed);
    free(all);
    run->exchanges += s->exchange.started;
    run->messages += s->exchange.messages;
    release_call(s);
    return err;
}
