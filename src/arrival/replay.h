/* SPDX-License-Identifier: BSD-3-Clause */
/* What one process of a benchmark does to play its part of a pattern. */
#ifndef ICTUS_ARRIVAL_REPLAY_H
#define ICTUS_ARRIVAL_REPLAY_H

#include <ictus/arrivals.h>
#include <stdbool.h>

/*
 * The longest offset of a replay: with longer waits, processes would sleep, and that would be
 * measured.
 */
#define REPLAY_OFFSET_MAX_NS INT64_C(10000000000)

/* The longest gap: after computing for so long, nothing of the operation is left in the caches. */
#define REPLAY_GAP_MAX_NS INT64_C(10000000)

/* The number of instances that are drawn; then they are repeated. */
enum { REPLAY_DRAWN = 1024 };

struct replay_part {
    int rank, size; /* of the process in the benchmark */
    bool draw;      /* from the fitted model instead of the recorded instances in order */
    uint64_t seed;  /* for drawing */
    double scale;   /* factor for all offsets */
    int64_t gap_ns; /* computation before each arrival; negative: as recorded */
};

/* The instances of one process. All processes have the same leads. */
struct replay_track {
    int64_t *delays_ns; /* from when the first may arrive until this process arrives */
    /* until the first may arrive, so that all can compute; NULL: nobody computes */
    int64_t *leads_ns;
    int64_t *gaps_ns; /* how long it computes before it arrives; NULL: nobody computes */
    /* how long before it arrives it calls MPI while it computes; 0: not at all; NULL: nobody does
     */
    int64_t *silences_ns;
    int64_t count;
};

/* The rank of the pattern that a process plays, in proportion: rank * pattern's ranks / size. */
static inline int replay_rank(int rank, int size, int ranks)
{
    return (int)((int64_t)rank * ranks / size);
}

/*
 * Make the delays of one process, one per instance. The ranks that are played begin at 0, because
 * with fewer processes than ranks the first arrival may be another one. Drawn instances follow each
 * rank's quantiles (or a normal distribution, if they are unknown) and autocorrelation. Ranks are
 * drawn independently of each other, identically on all processes, with the gaps of recorded
 * instances in order. A pattern without a table is always drawn. The track is zero after an error,
 * else released by ictusi_replay_fini(). Errors: ICTUS_ERR_FORMAT (no signal, too long),
 * ICTUS_ERR_NOMEM.
 */
int ictusi_replay_make(const struct ictus_arrivals *arrivals, const struct replay_part *part,
                       struct replay_track *track, struct ictus_why *why);

void ictusi_replay_fini(struct replay_track *track);

#endif
