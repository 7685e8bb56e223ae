/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recorded instances in their order, or drawn ones. In the model, rank r has its own distribution,
 * given by quantiles Q_r, and a normal process z_r with lag-one correlation rho_r,
 *
 *     z(i) = rho z(i - 1) + sqrt(1 - rho²) e(i),     offset(i) = Q_r(Phi(z(i)))
 *
 * so that a late rank stays late for about as long as in the recording.
 */
#include "arrival/replay.h"

#include "core/random.h"

#include <ictus/text.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A correlation of 1 would draw the same value forever. With 0.99, half of it is forgotten after 69
 * instances.
 */
static const double rho_most = 0.99;

struct replay_model {
    const struct ictus_arrivals *arrivals;
    struct rng rng;
    double *z;      /* of each rank */
    double *drawn;  /* offsets of one instance */
    bool continued; /* z holds the previous instance */
};

/*
 * The value below which a share u = Phi(z) of the rank's offsets lies, interpolated linearly
 * between quantiles. z is a standard normal variate. u lies between the first and the last level,
 * which are 0 and 1.
 */
static double rank_value(const struct ictus_arrival_rank *rank, double z)
{
    if (isnan(rank->quantiles_ns[0])) {
        return fmax(0, rank->mean_ns + z * rank->sd_ns);
    }
    /*
     * If a file has no quantiles, its mean and standard deviation describe a normal distribution.
     * It is cut off at 0, because nobody arrives before the first.
     */
    const double u = 0.5 * erfc(-z * M_SQRT1_2);
    int q = 1;
    while (q < ICTUS_ARRIVALS_QUANTILES - 1 && u > ictus_arrival_levels[q]) {
        q++;
    }
    const double low = ictus_arrival_levels[q - 1];
    const double part = (u - low) / (ictus_arrival_levels[q] - low);
    return rank->quantiles_ns[q - 1] + part * (rank->quantiles_ns[q] - rank->quantiles_ns[q - 1]);
}

/*
 * Draw one instance of all ranks. Each process draws the offsets of all ranks although it plays
 * only one, because the first of the ranks that are played is at 0, and all processes must know
 * which one that is without a message.
 */
static void model_draw(struct replay_model *m)
{
    for (int r = 0; r < m->arrivals->ranks; r++) {
        const struct ictus_arrival_rank *rank = &m->arrivals->rank[r];
        const double known = isnan(rank->autocorrelation) ? 0 : rank->autocorrelation;
        const double rho = fmax(-rho_most, fmin(rho_most, known));
        const double e = ictusi_random_normal(&m->rng);
        /*
         * The factor keeps the variance of z at 1, so that Phi(z) is uniform in every instance. If
         * the quantiles are not normal, the correlation of the offsets is slightly below that of z.
         */
        m->z[r] = m->continued ? rho * m->z[r] + sqrt(1 - rho * rho) * e : e;
        m->drawn[r] = rank_value(rank, m->z[r]);
    }
    m->continued = true;
}

/*
 * Turn the offsets of one instance into the delays of the ranks that are played: the first of them
 * is at 0.
 */
static void instance_shift(const struct replay_part *part, int ranks, double *offsets)
{
    const int processes = part->size < ranks ? part->size : ranks;
    double least = INFINITY;
    for (int p = 0; p < processes; p++) {
        least = fmin(least, offsets[replay_rank(p, processes, ranks)]);
    }
    for (int r = 0; r < ranks; r++) {
        offsets[r] = (offsets[r] - least) * part->scale;
    }
}

/* How long a rank computes before it arrives: as recorded, unless another time is given. */
static int64_t rank_gap(const struct ictus_arrivals *a, const struct replay_part *part, int64_t row,
                        int rank)
{
    const int64_t recorded = a->gaps_ns ? a->gaps_ns[row * a->ranks + rank] : 0;
    const int64_t gap = part->gap_ns >= 0 ? part->gap_ns : recorded;
    return gap < REPLAY_GAP_MAX_NS ? gap : REPLAY_GAP_MAX_NS;
}

/*
 * How long a rank leaves MPI alone before it arrives. 0: as long as it computes, so that nothing
 * has to be called in between.
 */
static int64_t rank_silence(const struct ictus_arrivals *a, const struct replay_part *part,
                            int64_t row, int rank)
{
    const int64_t silence = a->silences_ns[row * a->ranks + rank];
    return silence < rank_gap(a, part, row, rank) ? silence : 0;
}

/*
 * How long after the common instant the first rank may arrive. A rank arrives at lead + delay and
 * computes for its gap before that, which must not begin before the common instant:
 *
 *     lead = max over the ranks that are played of (gap - delay), and at least 0
 *
 * All processes find the same lead, because all know all gaps and delays.
 */
static int64_t instance_lead(const struct ictus_arrivals *a, const struct replay_part *part,
                             int64_t row, const double *delays)
{
    const int processes = part->size < a->ranks ? part->size : a->ranks;
    int64_t lead = 0;
    for (int p = 0; p < processes; p++) {
        const int rank = replay_rank(p, processes, a->ranks);
        const int64_t needed = rank_gap(a, part, row, rank) - llround(delays[rank]);
        lead = needed > lead ? needed : lead;
    }
    return lead;
}

/*
 * Compute all instances of one process. Drawn instances use the recorded gaps in turn. The offsets
 * of all ranks are computed for each instance and one is kept: ranks x instances steps are the
 * price for needing no messages. The seed is the same on all processes, so the draws are too.
 */
static int replay_fill(struct replay_model *m, const struct replay_part *part, bool draw,
                       struct replay_track *track)
{
    const struct ictus_arrivals *a = m->arrivals;
    const int own = replay_rank(part->rank, part->size, a->ranks);
    ictusi_random_seed(&m->rng, part->seed, 0);
    for (int64_t i = 0; i < track->count; i++) {
        const int64_t row = a->recorded > 0 ? i % a->recorded : 0;
        if (draw) {
            model_draw(m);
        }
        for (int r = 0; r < a->ranks && !draw; r++) {
            m->drawn[r] = (double)a->offsets_ns[i * a->ranks + r];
        }
        instance_shift(part, a->ranks, m->drawn);
        track->delays_ns[i] = llround(m->drawn[own]);
        if (track->delays_ns[i] > REPLAY_OFFSET_MAX_NS) {
            return ICTUS_ERR_FORMAT;
        }
        if (track->gaps_ns) {
            track->gaps_ns[i] = rank_gap(a, part, row, own);
            track->leads_ns[i] = instance_lead(a, part, row, m->drawn);
        }
        if (track->silences_ns) {
            track->silences_ns[i] = rank_silence(a, part, row, own);
        }
    }
    return ICTUS_OK;
}

void ictusi_replay_fini(struct replay_track *track)
{
    free(track->delays_ns);
    free(track->leads_ns);
    free(track->gaps_ns);
    free(track->silences_ns);
    *track = (struct replay_track){.count = 0};
}

static int track_init(struct replay_track *track, int64_t count, bool computing, bool calling)
{
    const size_t n = (size_t)count;
    *track = (struct replay_track){.delays_ns = calloc(n, sizeof(int64_t)), .count = count};
    if (computing) {
        track->leads_ns = calloc(n, sizeof(int64_t));
        track->gaps_ns = calloc(n, sizeof(int64_t));
    }
    if (calling) {
        track->silences_ns = calloc(n, sizeof(int64_t));
    }
    return track->delays_ns && (!computing || (track->leads_ns && track->gaps_ns)) &&
                   (!calling || track->silences_ns)
               ? ICTUS_OK
               : ICTUS_ERR_NOMEM;
}

/*
 * The largest offset that a replay may need. Without a table the offsets are drawn: up to the last
 * quantile, or else by a normal distribution, of which 1024 instances stay within five standard
 * deviations.
 */
static double replay_reach(const struct ictus_arrivals *a)
{
    enum { BEYOND_SD = 5 };
    double most = 0;
    for (int64_t i = 0; i < a->recorded * a->ranks; i++) {
        most = fmax(most, (double)a->offsets_ns[i]);
    }
    for (int r = 0; r < a->ranks && a->recorded == 0; r++) {
        const struct ictus_arrival_rank *rank = &a->rank[r];
        const double last = rank->quantiles_ns[ICTUS_ARRIVALS_QUANTILES - 1];
        most = fmax(most, isnan(last) ? rank->mean_ns + BEYOND_SD * rank->sd_ns : last);
    }
    return most;
}

/* With this, the largest offset takes half of what is allowed or less. */
double ictus_arrivals_scale(const struct ictus_arrivals *a)
{
    const double most = replay_reach(a);
    if (!(most > (double)REPLAY_OFFSET_MAX_NS)) {
        return 1;
    }
    const double half = 0.5 * (double)REPLAY_OFFSET_MAX_NS / most;
    const double digit = pow(10, floor(log10(half)));
    return digit * floor(half / digit);
}

/* The result is the same on all processes, whichever rank they play. */
static int replay_check_reach(const struct ictus_arrivals *a, double scale, struct ictus_why *why)
{
    const double most = a->recorded > 0 ? replay_reach(a) : 0;
    if (scale * most > (double)REPLAY_OFFSET_MAX_NS) {
        return ictus_because(
            why, ICTUS_ERR_FORMAT,
            "%s: offsets reach %.3g s, but a replay allows only 10 s; shrink them, "
            "for example by scale=%.1g",
            a->site, 1e-9 * scale * most, ictus_arrivals_scale(a));
    }
    return ICTUS_OK;
}

int ictusi_replay_make(const struct ictus_arrivals *a, const struct replay_part *part,
                       struct replay_track *track, struct ictus_why *why)
{
    const bool draw = part->draw || a->recorded == 0;
    const bool computing = part->gap_ns > 0 || (part->gap_ns < 0 && a->gaps_ns);
    *track = (struct replay_track){.count = 0};
    int err = ictus_arrivals_signal(a, why);
    err = err ? err : replay_check_reach(a, part->scale, why);
    err = err ? err
              : track_init(track, draw ? REPLAY_DRAWN : a->recorded, computing,
                           computing && a->silences_ns);
    struct replay_model m = {.arrivals = a};
    if (!err) {
        m.z = calloc((size_t)a->ranks, sizeof *m.z);
        m.drawn = calloc((size_t)a->ranks, sizeof *m.drawn);
        err = m.z && m.drawn ? replay_fill(&m, part, draw, track) : ICTUS_ERR_NOMEM;
        if (err == ICTUS_ERR_FORMAT) {
            (void)ictus_because(
                why, err,
                "%s: drawn offsets exceed the 10 s of a replay; shrink them with scale=", a->site);
        }
    }
    free(m.z);
    free(m.drawn);
    if (err) {
        ictusi_replay_fini(track);
    }
    return err;
}
